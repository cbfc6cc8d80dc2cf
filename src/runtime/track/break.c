/* SPDX-License-Identifier: MIT */
#include "runtime/track/break.h"

#include "runtime/sys/sys.h"

#include <signal.h>

struct rt_break rt_break;

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Of @base digits each; the end of the number, NULL: there is none, or it is too large. */
static const char *read_number(const char *text, unsigned base, uint64_t *ret_value)
{
	const char *at = text;
	uint64_t value = 0;

	for (int digit; (digit = digit_of(*at)) >= 0 && digit < (int)base; at++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return NULL;
	*ret_value = value;
	return at > text ? at : NULL;
}

void rt_break_start(const char *text)
{
	struct rt_break wanted = { .nth = 1 };
	const char *end = text ? read_number(text, 16, &wanted.hash) : NULL;

	if (end && *end == ':')
		end = read_number(end + 1, 10, &wanted.nth);
	if (end && !*end && wanted.hash && wanted.nth)
		rt_break = wanted;
	else if (text)
		rt_say("seep: SEEP_BREAK: bad value: ", text, "; it is HASH or HASH:N");
}

void rt_break_count(void)
{
	if (atomic_fetch_add_explicit(&rt_break.count, 1, memory_order_relaxed) + 1 == rt_break.nth)
		(void)rt_syscall3(SYS_tgkill, rt_getpid(), rt_gettid(), SIGTRAP);
}
