/* SPDX-License-Identifier: MIT */
/* What "seep top" says of findings, and of rows that would read alike. */
#include <stdlib.h>

#include "ledger/finding.h"
#include "view/live_view.h"
#include "sample_profile.h"
#include "unit.h"

static struct seep_live_process processes[2];
static struct seep_live_process *const list[] = { &processes[0], &processes[1] };
static const struct seep_live live = { .processes = (struct seep_live_process **)list, .count = 2 };

static int begin(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct seep_profile *profile = sample_profile();

		processes[i] = (struct seep_live_process){
			.profile = profile,
			.sites = seep_sites_new(profile),
			.named_contexts = profile->context_count,
			.named_frames = profile->frame_count,
		};
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		seep_sites_free(processes[i].sites);
		seep_profile_free(processes[i].profile);
	}
	return 0;
}

static void add_finding(int process, uint32_t here, uint32_t block)
{
	struct seep_profile_finding *finding = seep_profile_add(processes[process].profile,
								SEEP_ARRAY_FINDINGS);

	*finding = (struct seep_profile_finding){ .kind = LEDGER_FINDING_MISMATCHED_FREE,
						  .freeing = LEDGER_FREEING_DELETE,
						  .family = LEDGER_FAMILY_NEW_ARRAY,
						  .here = here,
						  .block = block,
						  .count = 1 };
}

TEST_WITH(begin, nothing_is_said_where_nothing_was_found, end)
{
	SEEP_RELEASED(seep_lines_done) struct seep_lines lines = { 0 };

	seep_live_findings(&live, &lines);
	assert_int_equal(lines.count, 0);
}

TEST_WITH(begin, findings_of_all_processes_are_listed, end)
{
	SEEP_RELEASED(seep_lines_done) struct seep_lines lines = { 0 };

	add_finding(1, 3, 5);
	seep_live_findings(&live, &lines);
	assert_int_equal(lines.count, 1);
	seep_lines_cut(&lines, 0);
	add_finding(0, 0, 0);
	seep_live_findings(&live, &lines);
	assert_int_equal(lines.count, 2);
	assert_null(strstr(lines.items[0].text, ", in "));
	assert_non_null(strstr(lines.items[1].text,
			       ", in app::load_rows, of app::Row (src/load.cc:131), "
			       "allocated in visit (src/tree.c:71)"));
}

static void add_context(struct seep_profile *profile, uint8_t kind, uint64_t address)
{
	struct seep_profile_frame *frame = seep_profile_add(profile, SEEP_ARRAY_FRAMES);
	struct seep_profile_stack_entry *stack = seep_profile_calloc(profile, 1, sizeof(*stack));

	*frame = (struct seep_profile_frame){ .address = address,
					      .function = seep_profile_strdup(profile, "fill"),
					      .file = seep_profile_strdup(profile, "fill.c"),
					      .line = 7 };
	stack->frame = profile->frame_count - 1;
	*(struct seep_profile_context *)seep_profile_add(profile, SEEP_ARRAY_CONTEXTS) =
		(struct seep_profile_context){ .kind = kind, .stack = stack, .stack_count = 1 };
}

/* Two calls of malloc and one of calloc, all of one line. */
TEST(a_line_for_several_addresses_names_none_of_them)
{
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *profile = seep_profile_new();
	struct seep_live_process process = { .profile = profile }, *only = &process;
	const struct seep_live one = { .processes = &only, .count = 1 };
	struct seep_live_line lines[2] = { 0 };
	struct seep_live_texts *texts;

	add_context(profile, LEDGER_KIND_MALLOC, 0x10);
	add_context(profile, LEDGER_KIND_MALLOC, 0x20);
	add_context(profile, LEDGER_KIND_CALLOC, 0x30);
	process.sites = seep_sites_new(profile);
	process.groups = seep_groups_new(process.sites, true, true);
	assert_int_equal(process.groups->count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		lines[i] = (struct seep_live_line){ .process = &process,
						    .context = process.groups->items[i].context };
		lines[i].sum = profile->contexts[lines[i].context];
	}
	texts = seep_live_table(&one, lines, 2, true);
	assert_string_equal(texts[0].name, "fill");
	assert_string_equal(texts[1].name, "fill, at 0x30");
	seep_live_table_free(texts, 2);
	seep_groups_free(process.groups);
	seep_sites_free(process.sites);
}
