/* SPDX-License-Identifier: MIT */
/* Memory of the runtime's own, where the kernel does not let it have its way; and the time. */
#include "../programs/seccomp_filter.h"
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { TABLE_BYTES = 5 * 4096, KEPT_BYTES = 64 };

struct rt_global rt_global;
struct rt_mine rt_mine;

static bool refuse_madvise(void)
{
	const int call = SYS_madvise;

	return set_filter(&call, 1, SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ALLOW) == 0;
}

/* The exit status of a child: 0 if all but the first bytes read zero. */
static int empty_in_child(bool refused)
{
	uint8_t *table = rt_mmap(TABLE_BYTES);
	int wrong = 0;

	memset(table, 7, TABLE_BYTES);
	if (refused && !refuse_madvise())
		return 2;
	rt_empty_table(table, KEPT_BYTES, TABLE_BYTES);
	for (unsigned i = 0; i < TABLE_BYTES; i++)
		wrong += table[i] != (i < KEPT_BYTES ? 7 : 0);
	return wrong != 0;
}

static void check(bool refused)
{
	pid_t child = fork();
	int status = 0;

	assert_true(child >= 0);
	if (child == 0)
		_exit(empty_in_child(refused));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void an_emptied_table_reads_zero(void **state)
{
	(void)state;
	check(false);
}

static void an_emptied_table_reads_zero_though_its_pages_stay(void **state)
{
	(void)state;
	check(true);
}

static int clock_of_ours(clockid_t clock, struct timespec *ret)
{
	*ret = (struct timespec){ .tv_sec = 7, .tv_nsec = clock };
	return 0;
}

static void the_time_is_the_vdsos_or_else_the_kernels(void **state)
{
	struct timespec before, after;
	uint64_t now;

	(void)state;
	rt_vdso_clock = clock_of_ours;
	assert_int_equal(rt_now_ns(), 7000000000 + CLOCK_MONOTONIC);
	assert_int_equal(rt_realtime_ns(), 7000000000 + CLOCK_REALTIME);
	rt_vdso_clock = NULL;
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &before), 0);
	now = rt_now_ns();
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &after), 0);
	assert_in_range(now, (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec,
			(uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_emptied_table_reads_zero),
		cmocka_unit_test(an_emptied_table_reads_zero_though_its_pages_stay),
		cmocka_unit_test(the_time_is_the_vdsos_or_else_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
