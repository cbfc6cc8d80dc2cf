/* SPDX-License-Identifier: MIT */
/* The grammar of budgets, well and wrongly written. */
#include "analysis/budget.h"
#include "unit.h"

#include <string.h>

TEST(budgets_mean_what_they_say)
{
	static const struct {
		const char *text;
		const char *within;
		unsigned measure;
		bool is_relative, is_share;
		uint64_t limit;
	} cases[] = {
		{ "peak<=24MB", NULL, SEEP_BY_PEAK, false, false, 24 << 20 },
		{ "live<=1.5K", NULL, SEEP_BY_LIVE, false, false, 1536 },
		{ "lost<=0", NULL, SEEP_BY_LOST, false, false, 0 },
		{ "leaks<=0", NULL, SEEP_BUDGET_LEAKS, false, false, 0 },
		{ "growth<=1", NULL, SEEP_BY_GROWTH, false, false, 1 },
		{ "allocs<=1.5M", NULL, SEEP_BY_ALLOCS, false, false, 1500000 },
		{ "peak<=18446744073709551615", NULL, SEEP_BY_PEAK, false, false, UINT64_MAX },
		{ "temporary<=2G", NULL, SEEP_BY_TEMPORARY, false, false, 2000000000 },
		{ "live<=+5%", NULL, SEEP_BY_LIVE, true, true, 50000 },
		{ "peak<=+1MB", NULL, SEEP_BY_PEAK, true, false, 1 << 20 },
		{ "allocs<=+0", NULL, SEEP_BY_ALLOCS, true, false, 0 },
		{ "function:parse_*:allocs<=10k", "function:parse_*", SEEP_BY_ALLOCS, false, false,
		  10000 },
		{ "function:operator<=(A, B):live<=1", "function:operator<=(A, B)", SEEP_BY_LIVE,
		  false, false, 1 },
		{ "module:libfoo.so*:peak<=1", "module:libfoo.so*", SEEP_BY_PEAK, false, false, 1 },
		{ "function:a::b:leaks<=3", "function:a::b", SEEP_BUDGET_LEAKS, false, false, 3 },
		{ "held{within=handle_request}<=0", "handle_request", SEEP_BY_LIVE, false, false,
		  0 },
		{ "lost{within=a.c:12}<=+5%", "a.c:12", SEEP_BY_LOST, true, true, 50000 },
		{ "live{within=f::{lambda(A)}::operator<=(A)}<=1", "f::{lambda(A)}::operator<=(A)",
		  SEEP_BY_LIVE, false, false, 1 },
		{ "held{tag=tenant=*}<=1MB", NULL, SEEP_BY_LIVE, false, false, 1 << 20 },
	};
	struct seep_budgets budgets = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_error err = { 0 };
		const struct seep_budget *budget;

		if (seep_budgets_add(&budgets, cases[i].text, &err) != 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		budget = &budgets.items[i];
		assert_int_equal(budget->measure, cases[i].measure);
		assert_int_equal(budget->is_relative, cases[i].is_relative);
		assert_int_equal(budget->is_share, cases[i].is_share);
		assert_int_equal(budget->limit, cases[i].limit);
		assert_int_equal(budget->tag != NULL, strstr(cases[i].text, "{tag") != NULL);
		if (cases[i].within)
			assert_string_equal(budget->within, cases[i].within);
		else
			assert_null(budget->within);
		assert_int_equal(budget->is_part, strchr(cases[i].text, '{') != NULL);
	}
	seep_budgets_done(&budgets);
}

TEST(what_is_no_budget_is_refused_with_a_reason)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "write for example" },
		{ "peak", "write for example" },
		{ "peak>1", "write for example" },
		{ "peak<1", "write for example" },
		{ "<=1", "is no measure" },
		{ "peek<=1", "did you mean peak?" },
		{ "peak<=", "is not a size" },
		{ "peak<=-1", "is not a size" },
		{ "peak<=1x", "is not a size" },
		{ "peak<=5%", "write +5%" },
		{ "peak<=+", "is not a size" },
		{ "peak<=++1", "is not a size" },
		{ "peak<=17000000T", "too large" },
		{ "allocs<=20000000000G", "too large" },
		{ "allocs<=1KB", "is not a count" },
		{ "leaks<=0.5", "'leaks<=0.5': '0.5' is not a whole number" },
		{ "temporary<=+1.2345k", "is not a whole number" },
		{ "live<=+5%%", "is not a share" },
		{ "live<=+%", "is not a share" },
		{ "function:live<=1", "write function:NAME:MEASURE<=LIMIT" },
		{ "function::live<=1", "write function:NAME:MEASURE<=LIMIT" },
		{ "held{within=}<=0", "write held{within=FUNCTION}<=LIMIT" },
		{ "held{tag=}<=0", "or held{tag=TAG}<=LIMIT" },
		{ "held{tag=!x}<=0", "or held{tag=TAG}<=LIMIT" },
		{ "held{tagged=x}<=0", "or held{tag=TAG}<=LIMIT" },
		{ "held{}<=0", "write held{within=FUNCTION}<=LIMIT" },
		{ "hold{within=x}<=0", "is no measure" },
		{ "live <=1", "did you mean live?" },
		{ "fuction:a:live<=1", "'fuction' must be function or module" },
		{ ":live<=1", "'' must be function or module" },
		{ "\033[31m<=1", "is no measure" },
	};
	struct seep_budgets budgets = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_error err = { 0 };

		assert_int_equal(seep_budgets_add(&budgets, cases[i].text, &err), -SEEP_EUSAGE);
		if (!strstr(err.text, cases[i].why))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
	assert_int_equal(budgets.count, 0);
	seep_budgets_done(&budgets);
}
