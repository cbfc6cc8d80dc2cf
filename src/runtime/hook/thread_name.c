/* SPDX-License-Identifier: MIT */
/*
 * The two ways to name a thread. Both are forwarded as they came; afterwards whoever counts
 * by thread name is told. A name that was written to /proc or set by a raw system call is noticed at
 * the thread's next change only.
 */
#include "runtime/next/next.h"
#include "runtime/track/thread_names.h"

#include <linux/prctl.h>
#include <stdarg.h>

int pthread_setname_np(uintptr_t thread, const char *name);
int prctl(int option, ...);

RT_EXPORT int pthread_setname_np(uintptr_t thread, const char *name)
{
	int failed;

	rt_next_find();
	failed = rt_next.name_thread(thread, name);
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
	result = rt_next.prctl(option, arguments[0], arguments[1], arguments[2], arguments[3]);
	if (RT_UNLIKELY(option == PR_SET_NAME))
		rt_name_changed(true);
	return result;
}
