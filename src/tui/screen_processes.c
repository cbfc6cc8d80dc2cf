/* SPDX-License-Identifier: MIT */
/* The processes of the tree. */

#include "base/path.h"
#include "base/units.h"
#include "tui/screens.h"
#include "tui/tui_draw.h"
#include "view/live_view.h"

enum { TREND = SEEP_GROWTH_RECENT + 2, TREND_NEEDS = 100 };

static void draw(struct seep_tui *tui)
{
	const struct seep_live *live = tui->live;
	const bool trend = tui->columns >= TREND_NEEDS;

	seep_tui_list_fit(tui, &tui->processes, live->count);
	seep_tui_row(tui, SEEP_TUI_BODY - 1, SEEP_LOOK_BOLD,
		     "       PID     LIVE    CHANGE  ALLOC/s  %-*sPROGRAM", trend ? TREND : 0,
		     trend ? "TREND" : "");
	for (uint32_t i = tui->processes.first;
	     i < live->count && i < tui->processes.first + (uint32_t)seep_tui_room(tui); i++) {
		const struct seep_live_process *process = live->processes[i];
		const struct seep_live_totals sum = seep_live_process_total(live, process);
		char spark[SEEP_SPARK_BYTES];

		seep_spark(process->recent, tui->utf8, spark);
		if (!trend)
			spark[0] = '\0';
		seep_tui_row(tui, SEEP_TUI_BODY + (int)(i - tui->processes.first),
			     i == tui->processes.chosen		? SEEP_LOOK_BAR
			     : process->state == SEEP_LIVE_RUNS ? SEEP_LOOK_PLAIN
								: SEEP_LOOK_DIM,
			     "%c%9u %8s %9s %8s  %s%s%s %s", process == live->only ? '*' : ' ',
			     process->profile->process.pid, seep_bytes_text(sum.live_bytes).text,
			     seep_change_text(sum.change_bytes, seep_bytes_text).text,
			     seep_count_text(sum.allocs_per_s).text, spark, trend ? "  " : "",
			     process->profile->process.exe
				     ? seep_path_base(process->profile->process.exe)
				     : "?",
			     process->fate ? process->fate : "runs");
	}
	if (live->left_out_count > 0)
		seep_tui_row(tui, SEEP_TUI_BODY + seep_tui_room(tui), SEEP_LOOK_DIM,
			     " and %u that ended earlier", live->left_out_count);
}

static bool key(struct seep_tui *tui, int key)
{
	struct seep_live_process *process;

	if (key != SEEP_KEY_ENTER)
		return seep_tui_list_key(tui, &tui->processes, key);
	if (tui->processes.count == 0)
		return true;
	process = tui->live->processes[tui->processes.chosen];
	seep_live_choose(tui->live, tui->live->only == process ? NULL : process);
	seep_tui_say(tui,
		     tui->live->only ? "only process %u is shown; Enter: all of them again"
				     : "all processes are shown",
		     process->profile->process.pid);
	return true;
}

const struct seep_tui_screen seep_screen_processes = {
	.name = "processes",
	.keys = "Enter limit to one  Up Down",
	.draw = draw,
	.key = key,
};
