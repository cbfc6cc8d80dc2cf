/* SPDX-License-Identifier: MIT */
/* What "seep top" says of findings. */
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
