/* SPDX-License-Identifier: MIT */
/*
 * The ends of a process that run no destructor, program replacement, and dlclose. exec and _exit
 * act only in the process that owns the ledger: a vfork child shares all of our memory.
 */
#include "runtime/next/next.h"
#include "runtime/life/exit.h"
#include "runtime/life/start.h"
#include "runtime/rt.h"
#include "runtime/track/record.h"
#include "runtime/track/thread.h"

#include <stdarg.h>
#include <unistd.h>

/* The C library's own declarations lack our attributes, and <stdlib.h> would poison the list. */
void _Exit(int status) __attribute__((noreturn));
void quick_exit(int status) __attribute__((noreturn));
void abort(void) __attribute__((noreturn));
int dlclose(void *handle);

enum { ARGUMENTS_MAX = 1 << 20 };

/* A constructor may come here before anything was allocated, hence before the search. */
static void notice(enum ledger_ended ended, int status)
{
	rt_next_find();
	/* The recorder tells of programs that were not recorded by the ledgers of who called exec. */
	if (ended == LEDGER_ENDED_EXEC)
		(void)rt_grow_up();
	rt_exit_notice(ended, status);
}

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

RT_EXPORT void _exit(int status)
{
	notice(LEDGER_ENDED_EXIT, status);
	rt_next.exit_now(status);
	__builtin_unreachable();
}

RT_EXPORT void _Exit(int status)
{
	notice(LEDGER_ENDED_EXIT, status);
	rt_next.exit_now_c99(status);
	__builtin_unreachable();
}

RT_EXPORT void quick_exit(int status)
{
	notice(LEDGER_ENDED_EXIT, status);
	rt_next.quick_exit(status);
	__builtin_unreachable();
}

RT_EXPORT void abort(void)
{
	notice(LEDGER_ENDED_ABORT, 0);
	rt_next.abort();
	__builtin_unreachable();
}

#define EXEC_BODY(call)                       \
	do {                                  \
		int failed;                   \
                                              \
		notice(LEDGER_ENDED_EXEC, 0); \
		failed = (call);              \
		rt_exit_withdraw();           \
		return failed;                \
	} while (0)

#define EXEC(symbol, parameters, arguments)          \
	RT_EXPORT int symbol parameters              \
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

RT_EXPORT int execl(const char *path, const char *first, ...)
{
	GATHER(first);
	va_end(list);
	EXEC_BODY(rt_next.execv(path, argv));
}

RT_EXPORT int execlp(const char *file, const char *first, ...)
{
	GATHER(first);
	va_end(list);
	EXEC_BODY(rt_next.execvp(file, argv));
}

RT_EXPORT int execle(const char *path, const char *first, ...)
{
	char *const *envp;

	GATHER(first);
	envp = va_arg(list, char *const *);
	va_end(list);
	EXEC_BODY(rt_next.execve(path, argv, envp));
}
