/* SPDX-License-Identifier: MIT */
/*
 * What ends a process or replaces its program, _Fork, vfork, clone, and dlclose; fork() comes by
 * pthread_atfork (life/fork.c). Of what is done by syscall(), sandboxes and what shares memory. Ends
 * are noted only in the process that owns the ledger: a vfork child shares all of our memory.
 */
#include "runtime/hook/exported.h"
#include "runtime/life/exit.h"
#include "runtime/life/fork.h"
#include "runtime/track/record.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/syscall.h>

enum { ARGUMENTS_MAX = 1 << 20 };

/*
 * What ends a process has two parts. The symbol itself notes what its caller has in registers, and
 * where it stands on the stack: what lies below is dead, whoever looks for pointers there. All else
 * is as it came when it goes on in a C function of the same parameters, as if that had been called:
 * arguments, of variable ones the number in vector registers too, and where to go on.
 */
#define SAVE                   \
	PUSH_CALLERS PUSH(rax) \
	PUSH_ARGUMENTS PUSH(r11)
/* The callee has left the caller's registers as they were. */
#define RESTORE POP(r11) POP_ARGUMENTS POP(rax) GIVE_STACK(48)
ASM_FUNCTION(rt_end_enter, SAVE "lea 64(%rsp), %rdi\nmov %r10d, %esi\n" CALL(rt_exit_enter) RESTORE
	     "jmp *%r11\n");

/* @how: enum ledger_ended, as a number. The C function is end_SYMBOL(). */
#define END(symbol, how)                                       \
	ASM_EXPORT(symbol, "lea end_" #symbol "(%rip), %r11\n" \
			   "mov $" #how ", %r10d\n"            \
			   "jmp rt_end_enter\n")

_Static_assert(LEDGER_ENDED_EXIT == 1 && LEDGER_ENDED_EXEC == 2 && LEDGER_ENDED_ABORT == 3,
	       "what END() is given");

RT_EXPORT int dlclose(void *handle)
{
	int failed;

	rt_next_find();
	failed = rt_next.dlclose(handle);
	rt_modules_unloaded(__builtin_frame_address(0));
	return failed;
}

/* fork() for signal handlers, which calls no handlers of forks: ours is called here. */
RT_EXPORT int _Fork(void)
{
	int pid;

	rt_next_find();
	rt_fork_prepare(__builtin_frame_address(0));
	pid = rt_next._Fork();
	if (pid == 0)
		rt_forked_child();
	return pid;
}

/* What may share our memory with another process from now on. vfork() returns twice, on one stack. */
#define SHARES(symbol) JUMP_TO_NEXT(symbol, "movl $1, rt_exit_is_shared(%rip)\n")

SHARES(vfork)
SHARES(clone)

/* As libseccomp calls it; and those who fork by themselves. */
JUMP(syscall, "");
FROM_ASM void *next_syscall(long number, long first, unsigned long second, unsigned long third)
{
	rt_next_find();
	if (number == SYS_prctl)
		rt_before_prctl(first, second, third);
	else if (number == SYS_seccomp &&
		 (first == SECCOMP_SET_MODE_STRICT || (first == SECCOMP_SET_MODE_FILTER && third)))
		rt_confine(first == SECCOMP_SET_MODE_STRICT);
	else if (number == SYS_vfork || number == SYS_clone || number == SYS_clone3)
		rt_store(&rt_exit_is_shared, 1);
	return (void *)(uintptr_t)rt_next.syscall;
}

END(exit, 1);
/*
 * The end is noted when all handlers and destructors have run. A jump: no frame of ours is left
 * behind.
 */
FROM_ASM void end_exit(int status)
{
	rt_next.exit(status);
}

#define END_AT_ONCE(symbol)                                \
	END(symbol, 1);                                    \
	FROM_ASM void end_##symbol(int status)             \
	{                                                  \
		rt_exit_notice(LEDGER_ENDED_EXIT, status); \
		rt_next.symbol(status);                    \
		__builtin_unreachable();                   \
	}

END_AT_ONCE(_exit)
END_AT_ONCE(_Exit)

END(quick_exit, 1);
FROM_ASM void end_quick_exit(int status)
{
	rt_exit_notice_quick(status);
	rt_next.quick_exit(status);
}

END(abort, 3);
FROM_ASM void end_abort(void)
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
	FROM_ASM int end_##symbol parameters         \
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
FROM_ASM int end_execl(const char *path, const char *first, ...)
{
	GATHER(first);
	va_end(list);
	EXEC_BODY(rt_next.execv(path, argv));
}

END(execlp, 2);
FROM_ASM int end_execlp(const char *file, const char *first, ...)
{
	GATHER(first);
	va_end(list);
	EXEC_BODY(rt_next.execvp(file, argv));
}

END(execle, 2);
FROM_ASM int end_execle(const char *path, const char *first, ...)
{
	char *const *envp;

	GATHER(first);
	envp = va_arg(list, char *const *);
	va_end(list);
	EXEC_BODY(rt_next.execve(path, argv, envp));
}
