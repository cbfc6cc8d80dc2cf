/* SPDX-License-Identifier: MIT */
/*
 * A check's result in each format, of a program with hostile names, compared with what it should look
 * like. To accept a change: SEEP_UPDATE=1 ctest -R test_check_report, then read the difference.
 * tests/e2e/test_check.py gives the same files to readers of the formats.
 */
#include <stdio.h>
#include <stdlib.h>

#include "golden.h"
#include "ledger/finding.h"
#include "profile/verdict.h"
#include "report/check.h"
#include "sample_leaks.h"
#include "unit.h"

/* What ends, begins or means something in any of the formats; of XML's characters one it lacks. */
#define HOSTILE                                                                            \
	"::error::a%0A]]><!--</failure></code>|`x`**b**[l](http://e)##[group]\033[31m\xff" \
	"\xef\xbf\xbe\n::stop-commands::x\r"

static struct seep_budgets budgets;
static struct seep_check check;

static struct seep_profile *hostile_profile(void)
{
	struct seep_profile *p = sample_profile_with_leaks();
	struct seep_profile_leak *leak = &p->leaks[1];

	/* Of code outside the source's root, without any name that is not hostile. */
	p->frames[S_HOSTILE].function = HOSTILE;
	p->process.exe = seep_profile_strdup(p, HOSTILE);
	p->frames[S_HOSTILE].file = "/home/kim/server/src/a:b,c%\n::error::d.c";
	leak->context = 8;
	leak->hash = p->contexts[7].hash;
	p->totals.peak_error_bytes = 0;
	return p;
}

static void add_finding(struct seep_profile *p, uint8_t kind, uint32_t here, uint32_t block)
{
	struct seep_profile_finding *finding = seep_profile_add(p, SEEP_ARRAY_FINDINGS);

	p->knows_findings = true;
	*finding = (struct seep_profile_finding){ .kind = kind,
						  .freeing = LEDGER_FREEING_FREE,
						  .family = LEDGER_FAMILY_NEW,
						  .here = here,
						  .block = block,
						  .hash = UINT64_C(0xf) << 60 | here,
						  .pointer = 0x5000,
						  .block_bytes = 24,
						  .count = here };
}

static int begin(void **state)
{
	static const char *const texts[] = { "leaks<=0",
					     "peak<=1MB",
					     "live<=1GB",
					     "function:::error::a*:allocs<=3",
					     "module:" HOSTILE ":live<=1",
					     "growth<=0",
					     "findings<=0" };
	struct seep_baseline none = { 0 };
	const struct seep_budget_plan plan = { .baseline = &none };
	struct seep_profile *profile = hostile_profile();
	struct seep_budget_side side = { profile, seep_sites_new(profile) };

	(void)state;
	add_finding(profile, LEDGER_FINDING_DOUBLE_FREE, 3, 1);
	profile->findings[0].freed = 5;
	add_finding(profile, LEDGER_FINDING_MISMATCHED_FREE, 5, 9);
	add_finding(profile, LEDGER_FINDING_UNKNOWN_FREE, 8, 0);
	add_finding(profile, LEDGER_FINDING_COUNT + 9, 0, 4);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(seep_budgets_add(&budgets, texts[i], NULL), 0);
	check = (struct seep_check){ .budgets = &budgets, .root = "/home/kim/server" };
	seep_check_add(&check, "run\n::error::" HOSTILE ".seep", &side, &plan);
	seep_budget_side_done(&side);
	return 0;
}

static int end(void **state)
{
	(void)state;
	seep_check_done(&check);
	seep_budgets_done(&budgets);
	return 0;
}

static void compare(const char *name, void (*write)(FILE *, const struct seep_check *))
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	write(out, &check);
	assert_int_equal(fclose(out), 0);
	/* Whatever the format: nothing that steers a terminal. */
	for (size_t i = 0; i < bytes; i++)
		assert_false((unsigned char)text[i] < ' ' && text[i] != '\n');
	expect_golden(name, text);
	free(text);
}

TEST(each_format_looks_as_agreed)
{
	compare("check.txt", seep_check_text);
	compare("check_junit.xml", seep_check_junit);
	compare("check.sarif", seep_check_sarif);
	compare("check_github.txt", seep_check_github);
	compare("check_summary.md", seep_check_markdown);
}

TEST(what_is_not_known_passes_only_where_it_is_allowed)
{
	struct seep_check some = { .results = { [SEEP_BUDGET_KEPT] = 1 } };

	assert_int_equal(seep_check_result(&some), SEEP_BUDGET_KEPT);
	some.results[SEEP_BUDGET_NOT_KNOWN] = 1;
	assert_int_equal(seep_check_result(&some), SEEP_BUDGET_NOT_KNOWN);
	some.allow_unknown = true;
	assert_int_equal(seep_check_result(&some), SEEP_BUDGET_KEPT);
	some.results[SEEP_BUDGET_BROKEN] = 1;
	assert_int_equal(seep_check_result(&some), SEEP_BUDGET_BROKEN);
}

TEST(paths_are_below_the_root)
{
	static const struct {
		const char *file, *path;
	} cases[] = {
		{ "/home/kim/server/src/a.c", "src/a.c" },
		{ "/home/kim/server/build/../src//./a.c", "src/a.c" },
		{ "/home/kim/server2/a.c", NULL },
		{ "/home/kim/server/../other/a.c", NULL },
		{ "/../../a.c", NULL },
		{ "./src/a.c", "src/a.c" },
		{ "src/../../a.c", NULL },
		{ "", "." },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path = seep_check_path_below(check.root, cases[i].file);

		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
		else
			assert_null(path);
		free(path);
	}
}

int main(void)
{
	return unit_run(begin, end);
}
