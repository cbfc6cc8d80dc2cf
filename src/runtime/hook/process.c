/* SPDX-License-Identifier: MIT */
/*
 * The ends of a process, program replacement, and dlclose. They are noted only in the process that
 * owns the ledger: a vfork child shares all of our memory.
 */
#include "runtime/next/next.h"
#include "runtime/life/exit.h"
#include "runtime/life/start.h"
#include "runtime/rt.h"
#include "runtime/track/record.h"
#include "runtime/track/thread.h"

#include <stdarg.h>

int dlclose(void *handle);

enum { ARGUMENTS_MAX = 1 << 20 };

/*
 * What ends a process has two parts. The symbol itself notes what its caller has in registers, and
 * where it stands on the stack: what lies below is dead, whoever looks for pointers there. All else
 * is as it came when it goes on in a C function of the same parameters, as if that had been called.
 * No C function could do that: it does not know what its caller had.
 */
__asm__(".pushsection .text\n"
	".type rt_end_enter, @function\n"
	"rt_end_enter:\n"
	".cfi_startproc\n"
	"push %r15\n.cfi_adjust_cfa_offset 8\n"
	"push %r14\n.cfi_adjust_cfa_offset 8\n"
	"push %r13\n.cfi_adjust_cfa_offset 8\n"
	"push %r12\n.cfi_adjust_cfa_offset 8\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n"
	/* Arguments, of variable ones the number in vector registers too, and where to go on. */
	"push %rax\n.cfi_adjust_cfa_offset 8\n"
	"push %rdi\n.cfi_adjust_cfa_offset 8\n"
	"push %rsi\n.cfi_adjust_cfa_offset 8\n"
	"push %rdx\n.cfi_adjust_cfa_offset 8\n"
	"push %rcx\n.cfi_adjust_cfa_offset 8\n"
	"push %r8\n.cfi_adjust_cfa_offset 8\n"
	"push %r9\n.cfi_adjust_cfa_offset 8\n"
	"push %r11\n.cfi_adjust_cfa_offset 8\n"
	"lea 64(%rsp), %rdi\n"
	"mov %r10d, %esi\n"
	"sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
	"call rt_exit_enter\n"
	"add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
	"pop %r11\n.cfi_adjust_cfa_offset -8\n"
	"pop %r9\n.cfi_adjust_cfa_offset -8\n"
	"pop %r8\n.cfi_adjust_cfa_offset -8\n"
	"pop %rcx\n.cfi_adjust_cfa_offset -8\n"
	"pop %rdx\n.cfi_adjust_cfa_offset -8\n"
	"pop %rsi\n.cfi_adjust_cfa_offset -8\n"
	"pop %rdi\n.cfi_adjust_cfa_offset -8\n"
	"pop %rax\n.cfi_adjust_cfa_offset -8\n"
	/* The callee has left these as they were. */
	"add $48, %rsp\n.cfi_adjust_cfa_offset -48\n"
	"jmp *%r11\n"
	".cfi_endproc\n"
	".size rt_end_enter, . - rt_end_enter\n"
	".popsection\n");

/* @how: enum ledger_ended, as a number. The C function is end_SYMBOL(). */
#define END(symbol, how)                                       \
	__asm__(".pushsection .text\n"                         \
		".globl " #symbol "\n"                         \
		".type " #symbol ", @function\n" #symbol ":\n" \
		".cfi_startproc\n"                             \
		"endbr64\n"                                    \
		"lea end_" #symbol "(%rip), %r11\n"            \
		"mov $" #how ", %r10d\n"                       \
		"jmp rt_end_enter\n"                           \
		".cfi_endproc\n"                               \
		".size " #symbol ", . - " #symbol "\n"         \
		".popsection\n")
/* What rt_end_enter jumps to; "endbr64", since it jumps by a register. */
#define BODY __attribute__((used, noinline)) static

_Static_assert(LEDGER_ENDED_EXIT == 1 && LEDGER_ENDED_EXEC == 2 && LEDGER_ENDED_ABORT == 3,
	       "what END() is given");

RT_EXPORT int dlclose(void *handle)
{
	int failed;

	rt_next_find();
	/* The log's frames are looked up when it is replayed: before anything goes. */
	(void)rt_grow_up();
	failed = rt_next.dlclose(handle);
	if (rt_mine.control)
		rt_record_unload(__builtin_frame_address(0));
	return failed;
}

END(exit, 1);
/*
 * The end is noted when all handlers and destructors have run. A jump: no frame of ours is left
 * behind.
 */
BODY void end_exit(int status)
{
	rt_next.exit(status);
}

END(_exit, 1);
BODY void end__exit(int status)
{
	rt_exit_notice(LEDGER_ENDED_EXIT, status);
	rt_next.exit_now(status);
	__builtin_unreachable();
}

END(_Exit, 1);
BODY void end__Exit(int status)
{
	rt_exit_notice(LEDGER_ENDED_EXIT, status);
	rt_next.exit_now_c99(status);
	__builtin_unreachable();
}

END(quick_exit, 1);
BODY void end_quick_exit(int status)
{
	rt_exit_notice_quick(status);
	rt_next.quick_exit(status);
}

END(abort, 3);
BODY void end_abort(void)
{
	rt_exit_notice(LEDGER_ENDED_ABORT, 0);
	rt_next.abort();
	__builtin_unreachable();
}

#define EXEC_BODY(call)                               \
	do {                                          \
		int failed;                           \
                                                      \
		rt_exit_notice(LEDGER_ENDED_EXEC, 0); \
		failed = (call);                      \
		rt_exit_withdraw();                   \
		return failed;                        \
	} while (0)

#define EXEC(symbol, parameters, arguments)          \
	END(symbol, 2);                              \
	BODY int end_##symbol parameters             \
	{                                            \
		EXEC_BODY(rt_next.symbol arguments); \
	}

EXEC(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))
EXEC(execv, (const char *path, char *const argv[]), (path, argv))
EXEC(execvp, (const char *file, char *const argv[]), (file, argv))
EXEC(execvpe, (const char *file, char *const argv[], char *const envp[]), (file, argv, envp))
EXEC(fexecve, (int fd, char *const argv[], char *const envp[]), (fd, argv, envp))
EXEC(execveat, (int fd, const char *path, char *const argv[], char *const envp[], int flags),
     (fd, path, argv, envp, flags))

static size_t count_arguments(va_list list)
{
	size_t count = 1;

	while (count < ARGUMENTS_MAX && va_arg(list, char *))
		count++;
	return count;
}

/*
 * The arguments of an execl-like call as an array on the stack. libc declares the first one as
 * never NULL; callers do pass NULL, so the compiler must not know.
 */
#define GATHER(first)                                         \
	va_list list;                                         \
	char *seen = (char *)(uintptr_t)(first);              \
	size_t count = 0;                                     \
	char **argv;                                          \
                                                              \
	__asm__("" : "+r"(seen));                             \
	va_start(list, first);                                \
	if (seen)                                             \
		count = count_arguments(list);                \
	va_end(list);                                         \
	argv = __builtin_alloca((count + 1) * sizeof(*argv)); \
	va_start(list, first);                                \
	for (size_t i = 0; i < count; i++)                    \
		argv[i] = i ? va_arg(list, char *) : seen;    \
	argv[count] = NULL;                                   \
	if (count)                                            \
	(void)va_arg(list, char *)

END(execl, 2);
BODY int end_execl(const char *path, const char *first, ...)
{
	GATHER(first);
	va_end(list);
	EXEC_BODY(rt_next.execv(path, argv));
}

END(execlp, 2);
BODY int end_execlp(const char *file, const char *first, ...)
{
	GATHER(first);
	va_end(list);
	EXEC_BODY(rt_next.execvp(file, argv));
}

END(execle, 2);
BODY int end_execle(const char *path, const char *first, ...)
{
	char *const *envp;

	GATHER(first);
	envp = va_arg(list, char *const *);
	va_end(list);
	EXEC_BODY(rt_next.execve(path, argv, envp));
}
