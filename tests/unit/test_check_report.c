/* SPDX-License-Identifier: MIT */
/*
 * A check's result in each format, of a program with hostile names, compared with what it should look
 * like. To accept a change: SEEP_UPDATE=1 ctest -R test_check_report, then read the difference.
 * tests/e2e/test_check.py gives the same files to readers of the formats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "profile/verdict.h"
#include "report/check.h"
#include "sample_leaks.h"

/* What ends, begins or means something in any of the formats; of XML's characters one it lacks. */
#define HOSTILE                                                                            \
	"::error::a%0A]]><!--</failure></code>|`x`**b**[l](http://e)##[group]\033[31m\xff" \
	"\xef\xbf\xbe\n::stop-commands::x\r"

static struct seep_budgets budgets;
static struct seep_checked_file files[3];
static struct seep_check check;

static void add(const char *text)
{
	struct seep_error err = { 0 };

	if (seep_budgets_add(&budgets, text, &err) != 0)
		fail_msg("%s: %s", text, err.text);
}

static void add_file(const char *path, const char *name, struct seep_profile *profile)
{
	struct seep_budget_plan plan = { .leak_kinds = SEEP_LEAK_KINDS };
	struct seep_checked_file *file = &files[check.count++];

	*file = (struct seep_checked_file){
		.path = seep_xstrdup(path),
		.name = seep_xstrdup(name),
		.pid = profile ? profile->process.pid : 0,
		.side = { profile, profile ? seep_sites_new(profile) : NULL },
		.outcomes = seep_xcalloc(budgets.count, sizeof(*file->outcomes)),
	};
	for (size_t i = 0; i < budgets.count; i++)
		file->outcomes[i] =
			profile ? seep_budget_check(&budgets.items[i], &file->side, &plan)
				: (struct seep_budget_outcome){
					  .budget = &budgets.items[i],
					  .result = SEEP_BUDGET_NOT_KNOWN,
					  .code = "unreadable",
					  .reason = seep_xstrdup("gone.seep: no such file"),
				  };
}

static struct seep_profile *hostile_profile(void)
{
	struct seep_profile *p = sample_profile_with_leaks();
	struct seep_profile_leak *leak = &p->leaks[1];

	/* Of code outside the source's root, without any name that is not hostile. */
	p->frames[S_HOSTILE].function = HOSTILE;
	p->frames[S_HOSTILE].file = "/home/kim/server/src/a:b,c%\n::error::d.c";
	leak->context = 8;
	leak->hash = p->contexts[7].hash;
	p->totals.peak_error_bytes = 0;
	return p;
}

static int begin(void **state)
{
	(void)state;
	add("leaks<=0");
	add("peak<1MB");
	add("live<1GB");
	add("function:::error::a*:allocs<3");
	add("module:" HOSTILE ":live<1");
	add("growth<=0");
	check = (struct seep_check){
		.budgets = &budgets,
		.files = files,
		.root.paths[1] = seep_xstrdup("/home/kim/server"),
		.top = 3,
	};
	add_file("run\n::error::" HOSTILE ".seep", HOSTILE, hostile_profile());
	add_file("gone.seep", "", NULL);
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (size_t i = 0; i < check.count; i++) {
		for (size_t k = 0; k < budgets.count; k++)
			seep_budget_outcome_done(&files[i].outcomes[k]);
		seep_sites_free(files[i].side.sites);
		seep_profile_free(files[i].side.profile);
		free(files[i].outcomes);
		free(files[i].path);
		free(files[i].name);
	}
	seep_source_root_done(&check.root);
	seep_budgets_done(&budgets);
	return 0;
}

static void write_text(FILE *out, const struct seep_check *what)
{
	const struct seep_printer printer = { .out = out };

	seep_check_text(&printer, what);
}

static void write_json(FILE *out, const struct seep_check *what)
{
	seep_check_json(out, what, false);
}

static void compare(const char *name, void (*write)(FILE *, const struct seep_check *))
{
	const char *source = getenv("SEEP_SOURCE");
	struct seep_error err = { 0 };
	char *text = NULL, *expected;
	size_t bytes = 0;
	char path[4096];
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	write(out, &check);
	assert_int_equal(fclose(out), 0);
	/* Whatever the format: nothing that steers a terminal. */
	for (size_t i = 0; i < bytes; i++)
		assert_false((unsigned char)text[i] < ' ' && text[i] != '\n');
	(void)snprintf(path, sizeof(path), "%s/tests/unit/golden/%s", source ? source : "..", name);
	if (getenv("SEEP_UPDATE")) {
		out = fopen(path, "w");
		assert_non_null(out);
		assert_int_equal(fwrite(text, 1, bytes, out), bytes);
		assert_int_equal(fclose(out), 0);
	} else {
		assert_int_equal(seep_file_read(path, 1 << 20, &expected, NULL, &err), 0);
		assert_string_equal(text, expected);
		free(expected);
	}
	free(text);
}

static void each_format_looks_as_agreed(void **state)
{
	(void)state;
	compare("check.txt", write_text);
	compare("check.json", write_json);
	compare("check_junit.xml", seep_check_junit);
	compare("check.sarif", seep_check_sarif);
	compare("check_github.txt", seep_check_github);
	compare("check_summary.md", seep_check_markdown);
}

static void what_is_not_known_passes_only_where_it_is_allowed(void **state)
{
	const struct seep_budget_outcome *growth = &files[0].outcomes[5];

	(void)state;
	assert_string_equal(growth->code, "no-growth");
	assert_int_equal(seep_check_result(&check, growth), SEEP_BUDGET_NOT_KNOWN);
	check.allowed = "";
	assert_int_equal(seep_check_result(&check, growth), SEEP_BUDGET_KEPT);
	/* Never a file that is not there. */
	assert_int_equal(seep_check_result(&check, &files[1].outcomes[5]), SEEP_BUDGET_NOT_KNOWN);
	check.allowed = "no-scan,no-growths,no-growt";
	assert_int_equal(seep_check_result(&check, growth), SEEP_BUDGET_NOT_KNOWN);
	check.allowed = "no-scan,no-growth";
	assert_int_equal(seep_check_result(&check, growth), SEEP_BUDGET_KEPT);
	assert_int_equal(seep_check_all(&check), SEEP_BUDGET_BROKEN);
	check.allowed = NULL;
}

static void places_are_below_the_root_or_absolute(void **state)
{
	static const struct {
		const char *file, *path;
		bool is_inside;
	} cases[] = {
		{ "/home/kim/server/src/a.c", "src/a.c", true },
		{ "/home/kim/server/build/../src//./a.c", "src/a.c", true },
		{ "/home/kim/server2/a.c", "/home/kim/server2/a.c", false },
		{ "/home/kim/server/../other/a.c", "/home/kim/other/a.c", false },
		{ "/../../a.c", "/a.c", false },
		{ "./src/a.c", "src/a.c", true },
		{ "src/../../a.c", "../a.c", false },
		{ "", ".", true },
	};
	struct seep_profile_frame frame = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_source_place place;

		frame.file = cases[i].file;
		place = seep_source_place(&check.root, files[0].side.profile, &frame);
		assert_string_equal(place.path, cases[i].path);
		assert_int_equal(place.is_inside, cases[i].is_inside);
		seep_source_place_done(&place);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_looks_as_agreed),
		cmocka_unit_test(what_is_not_known_passes_only_where_it_is_allowed),
		cmocka_unit_test(places_are_below_the_root_or_absolute),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
