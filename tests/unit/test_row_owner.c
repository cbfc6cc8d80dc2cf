/* SPDX-License-Identifier: MIT */
/* A row leads to its context, in the process's own ledger and in those of its ancestors. */
#include "profile/row_owner.h"
#include "profile_case.h"

enum { FORKED = 20 };

static struct seep_lineage *lineage;
static char folder[64];

static const char *in_folder(const char *name)
{
	static char file[128];

	(void)snprintf(file, sizeof(file), "%s/%s", folder, name);
	return file;
}

static int begin(void **state)
{
	strcpy(folder, "/tmp/seep_test_XXXXXX");
	lineage = NULL;
	return mkdtemp(folder) ? setup(state) : -1;
}

static int end(void **state)
{
	char command[128];

	seep_lineage_free(lineage);
	(void)teardown(state);
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

/* A ledger with one context more than the fixed ones, of @frames frames; its row's id. */
static uint32_t save(const char *name, const char *parent, uint32_t first_row, uint32_t frames)
{
	uint32_t node = 0, row;

	built_done(&ledger);
	built_init(&ledger, &built_small);
	ledger.header->first_row = first_row;
	ledger.header->parent_rows_end = first_row - FORKED;
	(void)snprintf(ledger.header->parent, sizeof(ledger.header->parent), "%s", parent);
	for (uint32_t i = 0; i < frames; i++)
		node = built_node(&ledger, node, 0, 0x1000 + i);
	row = built_row(&ledger, built_context(&ledger, node, LEDGER_KIND_CALLOC), 0);
	set_row(row, 3, 30, 0, 0);
	built_save(&ledger, in_folder(name), ledger.bytes);
	return row;
}

static void open_lineage(const char *name)
{
	struct seep_error err = { 0 };

	seep_lineage_free(lineage);
	seep_profile_free(profile);
	profile = NULL;
	if (seep_profile_load_ledger(in_folder(name), false, &profile, &err) != 0)
		fail_msg("%s", err.text);
	lineage = seep_lineage_new(in_folder(name), profile);
}

static void assert_frames(uint32_t row, uint32_t frames, const char *whose)
{
	const struct seep_profile *owner = NULL;
	const struct seep_profile_context *context;
	struct seep_error err = { 0 };

	context = seep_lineage_context(lineage, row, &owner, &err);
	if (!context) {
		fail_msg("row %u: %s", row, err.text);
		return;
	}
	assert_int_equal(context->stack_count, frames);
	assert_int_equal(context->live_bytes, 30);
	assert_true(owner->frame_count == frames);
	assert_string_equal(owner->process.exe, "/bin/prog");
	if (whose)
		assert_string_equal(owner->process.parent_ledger, whose);
	else
		assert_null(owner->process.parent_ledger);
}

static int refusal(uint32_t row)
{
	const struct seep_profile *owner = NULL;
	struct seep_error err = { 0 };

	assert_null(seep_lineage_context(lineage, row, &owner, &err));
	assert_null(owner);
	assert_true(err.text[0] != '\0');
	return err.code;
}

static void rows_lead_to_contexts_up_the_line_of_descent(void **state)
{
	uint32_t grandparents = save("a.ledger", "", 1, 2);
	uint32_t parents = save("b.ledger", "a.ledger", 100, 3);
	uint32_t own = save("c.ledger", "b.ledger", 200, 4);

	(void)state;
	open_lineage("c.ledger");
	assert_frames(own, 4, "b.ledger");
	assert_frames(grandparents, 2, NULL);
	assert_frames(parents, 3, "a.ledger");
	assert_frames(own, 4, "b.ledger");
}

/* Between the parent's rows and the child's are those of one that was forked in between. */
static void rows_of_an_ancestor_without_a_name_are_nobodys(void **state)
{
	uint32_t parents = save("b.ledger", "", 100, 3);

	(void)state;
	(void)save("c.ledger", "b.ledger", parents + 1 + FORKED, 4);
	open_lineage("c.ledger");
	assert_frames(parents, 3, NULL);
	for (uint32_t i = 1; i <= FORKED; i++)
		assert_int_equal(refusal(parents + i), SEEP_ENOTFOUND);
}

static void rows_without_figures_have_no_context(void **state)
{
	uint32_t own = save("a.ledger", "", 1, 2);

	(void)state;
	open_lineage("a.ledger");
	assert_int_equal(refusal(0), SEEP_ENOTFOUND);
	assert_int_equal(refusal(own - 1), SEEP_ENOTFOUND);
	assert_int_equal(refusal(own + 1), SEEP_ENOTFOUND);
	assert_int_equal(refusal(UINT32_MAX), SEEP_ENOTFOUND);
}

static void an_ancestor_that_is_gone_is_no_matter_for_own_rows(void **state)
{
	uint32_t own = save("c.ledger", "gone.ledger", 200, 4);

	(void)state;
	open_lineage("c.ledger");
	assert_int_equal(refusal(5), SEEP_ENOTFOUND);
	assert_frames(own, 4, "gone.ledger");
}

static void a_circle_of_ancestors_ends(void **state)
{
	(void)state;
	(void)save("a.ledger", "b.ledger", 150, 2);
	(void)save("b.ledger", "a.ledger", 200, 3);
	open_lineage("b.ledger");
	assert_int_equal(refusal(5), SEEP_ECORRUPT);
	(void)save("a.ledger", "a.ledger", 150, 2);
	open_lineage("a.ledger");
	assert_int_equal(refusal(5), SEEP_ECORRUPT);
}

static void a_parent_elsewhere_or_that_is_no_ledger_is_refused(void **state)
{
	int fd = open(in_folder("text"), O_WRONLY | O_CREAT, 0600);

	(void)state;
	assert_int_equal(write(fd, "no ledger at all", 16), 16);
	(void)close(fd);
	(void)save("a.ledger", "../etc/passwd", 150, 2);
	open_lineage("a.ledger");
	assert_int_equal(refusal(5), SEEP_ECORRUPT);
	(void)save("a.ledger", "text", 150, 2);
	open_lineage("a.ledger");
	assert_int_equal(refusal(5), SEEP_ETRUNC);
}

int main(void)
{
#define LINEAGE_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		LINEAGE_TEST(rows_lead_to_contexts_up_the_line_of_descent),
		LINEAGE_TEST(rows_of_an_ancestor_without_a_name_are_nobodys),
		LINEAGE_TEST(rows_without_figures_have_no_context),
		LINEAGE_TEST(an_ancestor_that_is_gone_is_no_matter_for_own_rows),
		LINEAGE_TEST(a_circle_of_ancestors_ends),
		LINEAGE_TEST(a_parent_elsewhere_or_that_is_no_ledger_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
