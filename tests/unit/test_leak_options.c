/* SPDX-License-Identifier: MIT */
/* What --leak-kinds may say, and the scan that the options ask for. */
#include <string.h>

#include "cli/leak_options.h"
#include "profile/verdict.h"
#include "unit.h"

#define BIT(verdict) (1u << SEEP_VERDICT_##verdict)

TEST(kinds_are_names_of_verdicts_and_valgrinds)
{
	static const struct {
		const char *list;
		uint32_t kinds;
	} cases[] = {
		{ NULL, 0 },
		{ "lost", BIT(LOST) },
		{ "LOST-CYCLE,Maybe-Lost", BIT(LOST_CYCLE) | BIT(MAYBE_LOST) },
		{ "lost,lost", BIT(LOST) },
		{ "all", (1u << SEEP_VERDICT_COUNT) - 1 },
		{ "definite", BIT(LOST) | BIT(LOST_CYCLE) },
		{ "indirect,reachable", BIT(LOST_WITH) | BIT(REACHABLE) },
		{ "possible", BIT(MAYBE_LOST) },
		/* Refused. */
		{ "", 0 },
		{ "los", 0 },
		{ "lost,", 0 },
		{ ",lost", 0 },
		{ "lost lost-cycle", 0 },
		{ "alll", 0 },
		{ "a", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_error err = { 0 };
		const struct seep_leak_option_values values = { .kinds = cases[i].list };
		struct seep_leak_check_plan plan;
		struct seep_view_options view;
		const int rc = seep_leak_options_read(&values, &plan, &view, &err);

		if (rc != (cases[i].kinds || !cases[i].list ? 0 : -SEEP_EUSAGE) ||
		    (rc == 0 && view.leak_kinds != cases[i].kinds))
			fail_msg("case %zu: %d, %x", i, rc, view.leak_kinds);
		if (rc < 0)
			assert_non_null(strstr(err.text, "LOST-WITH, MAYBE-LOST"));
	}
}

TEST(the_plan_is_what_was_asked_for)
{
	struct seep_leak_option_values values = { .why = "", .dump_bytes = 32, .blocks = 1000 };
	struct seep_leak_check_plan plan;
	struct seep_error err = { 0 };
	struct seep_view_options view;

	assert_int_equal(seep_leak_options_read(&values, &plan, &view, &err), 0);
	assert_true(plan.chains);
	assert_int_equal(plan.dump_bytes, 32);
	assert_int_equal(plan.block_list_max, 1000);
	assert_false(plan.trace_exit);
	/* Some are kept for JSON and recordings in any case. */
	values.blocks = 0;
	assert_int_equal(seep_leak_options_read(&values, &plan, &view, &err), 0);
	assert_true(plan.block_list_max > 0);
}

TEST(an_address_is_hexadecimal_or_decimal)
{
	static const struct {
		const char *why;
		uint64_t address;
		int ret;
	} cases[] = {
		{ NULL, 0, 0 },
		{ "", 0, 0 },
		{ "0x7f00000010", 0x7f00000010, 0 },
		{ "4096", 4096, 0 },
		{ "0", 0, -SEEP_EUSAGE },
		{ "-1", UINT64_MAX, -SEEP_EUSAGE },
		{ "here", 0, -SEEP_EUSAGE },
		{ "0x", 0, -SEEP_EUSAGE },
		{ "0x10000000000000000", UINT64_MAX, -SEEP_EUSAGE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_error err = { 0 };
		const struct seep_leak_option_values values = { .why = cases[i].why };
		struct seep_leak_check_plan plan;
		struct seep_view_options view;

		if (seep_leak_options_read(&values, &plan, &view, &err) != cases[i].ret ||
		    (cases[i].ret == 0 &&
		     (plan.why != cases[i].address || view.why_address != cases[i].address)))
			fail_msg("case %zu", i);
	}
}

TEST(suppressions_are_read_before_anything_starts)
{
	struct seep_leak_option_values values = {
		.suppressions = { { "/nonexistent/known.supp" }, 1 },
	};
	struct seep_leak_check_plan plan;
	struct seep_error err = { 0 };
	struct seep_view_options view;

	assert_int_equal(seep_leak_options_read(&values, &plan, &view, &err), -SEEP_ENOTFOUND);
	assert_non_null(strstr(err.text, "/nonexistent/known.supp"));
}
