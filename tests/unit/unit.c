/* SPDX-License-Identifier: MIT */
/* Runs the tests that one executable has. */
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "unit.h"

enum { CASES_MAX = 100, NOBODY = 65534 };

extern const struct unit_case *const __start_unit_cases[];
extern const struct unit_case *const __stop_unit_cases[];

static int compare_lines(const void *a, const void *b)
{
	const struct unit_case *const *one = a, *const *other = b;

	return (*one)->line - (*other)->line;
}

int unit_run(CMFixtureFunction before, CMFixtureFunction after)
{
	const size_t count = (size_t)(__stop_unit_cases - __start_unit_cases);
	const struct unit_case *cases[CASES_MAX];
	struct CMUnitTest tests[CASES_MAX];

	if (count > CASES_MAX)
		abort();
	for (size_t i = 0; i < count; i++)
		cases[i] = __start_unit_cases[i];
	qsort(cases, count, sizeof(*cases), compare_lines);
	for (size_t i = 0; i < count; i++)
		tests[i] = cases[i]->test;
	return _cmocka_run_group_tests("tests", tests, count, before, after);
}

int unit_run_as_nobody_too(void)
{
	int failed = unit_run(NULL, NULL);

	if (geteuid() == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0 &&
	    prctl(PR_SET_DUMPABLE, 1) == 0)
		failed += unit_run(NULL, NULL);
	return failed;
}

/* Of a file that has none. */
__attribute__((weak)) int main(void)
{
	return unit_run(NULL, NULL);
}
