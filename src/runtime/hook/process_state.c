/* SPDX-License-Identifier: MIT */
/*
 * What a process says to the kernel about itself. Calls are forwarded as they came.
 *
 * The heap's end: memory that the program takes there by itself is no allocator's, and a leak scan
 * looks for pointers in it. What libc takes does not come this way.
 *
 * Names of threads: afterwards whoever counts by thread name is told. A name that was written to
 * /proc or set by a raw system call is noticed at the thread's next change only.
 *
 * Another user or root directory, a sandbox, or a limit: before that, a forked child gets
 * its ledger, and that its name. Afterwards it might not, or would be killed for trying.
 *
 * The handler of SIGSEGV: with guarded samples it is ours, and the program's is called from there.
 */
#include "runtime/guard/sample.h"
#include "runtime/hook/exported.h"
#include "runtime/life/exit.h"
#include "runtime/life/fork.h"
#include "runtime/life/start.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/sys.h"
#include "runtime/track/thread_names.h"

#include <linux/prctl.h>
#include <stdarg.h>

RT_EXPORT int pthread_setname_np(uintptr_t thread, const char *name)
{
	int failed;

	rt_next_find();
	failed = rt_next.pthread_setname_np(thread, name);
	/* glibc's pthread_t is the thread pointer. */
	rt_name_changed(thread == (uintptr_t)__builtin_thread_pointer());
	return failed;
}

RT_EXPORT int prctl(int option, ...)
{
	unsigned long arguments[4];
	va_list list;
	int result;

	/* As many as the system call takes; the callee cannot know how many were given. */
	va_start(list, option);
	for (unsigned i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	rt_next_find();
	rt_before_prctl(option, arguments[0], arguments[1]);
	result = rt_next.prctl(option, arguments[0], arguments[1], arguments[2], arguments[3]);
	if (RT_UNLIKELY(option == PR_SET_NAME))
		rt_name_changed(true);
	return result;
}

#define FORWARD(symbol, parameters, arguments)   \
	RT_EXPORT int symbol parameters          \
	{                                        \
		rt_next_find();                  \
		rt_fork_give_name();             \
		return rt_next.symbol arguments; \
	}

FORWARD(chroot, (const char *path), (path))
FORWARD(setuid, (unsigned user), (user))
FORWARD(seteuid, (unsigned user), (user))
FORWARD(setreuid, (unsigned real, unsigned effective), (real, effective))
FORWARD(setresuid, (unsigned real, unsigned effective, unsigned saved), (real, effective, saved))
FORWARD(setrlimit, (int resource, const void *limit), (resource, limit))
FORWARD(setrlimit64, (int resource, const void *limit), (resource, limit))
FORWARD(prlimit, (int pid, int resource, const void *limit, void *ret_before),
	(pid, resource, limit, ret_before))
FORWARD(prlimit64, (int pid, int resource, const void *limit, void *ret_before),
	(pid, resource, limit, ret_before))

RT_EXPORT int brk(void *end)
{
	uintptr_t before;
	int failed;

	rt_next_find();
	before = (uintptr_t)rt_next.sbrk(0);
	failed = rt_next.brk(end);
	if (!failed)
		rt_facts_brk(before, (uintptr_t)end);
	return failed;
}

RT_EXPORT void *sbrk(intptr_t change)
{
	void *before;

	rt_next_find();
	before = rt_next.sbrk(change);
	if (before != (void *)-1)
		rt_facts_brk((uintptr_t)before, (uintptr_t)before + (uintptr_t)change);
	return before;
}

/*
 * A vfork child has our memory, and handlers of its own. A forked one gets its ledger first, which says
 * whose memory this is, but not where another process may share that already.
 */
static bool is_ours(int number)
{
	if (!rt_sample_handles(number))
		return false;
	if (!rt_load(&rt_exit_is_shared))
		(void)rt_control();
	return rt_getpid() == rt_header.pid;
}

RT_EXPORT int sigaction(int number, const void *action, void *ret_before)
{
	rt_next_find();
	return is_ours(number) ? rt_sample_sigaction(action, ret_before)
			       : rt_next.sigaction(number, action, ret_before);
}

RT_EXPORT void *signal(int number, void *handler)
{
	rt_next_find();
	return is_ours(number) ? rt_sample_signal(handler) : rt_next.signal(number, handler);
}
