/* SPDX-License-Identifier: MIT */
/* The keys. */
#include "tui/screens.h"
#include "tui/tui_draw.h"

static void draw(struct seep_tui *tui)
{
	static const char *const lines[] = {
		"Screens",
		"  1 ... 6     stacks, call tree, timeline, leaks, processes, scopes; Tab: the next",
		"  Enter       stacks: one stack in detail; tree: open or close a branch;",
		"              processes: show only this one, or all again",
		"  Esc         back",
		"  arrows, PgUp PgDn, Home End   move; in the tree Left closes and Right opens",
		"",
		"What is shown",
		"  s           sort by live, change, allocs, growth, age, blocks; tags by live,",
		"              change, or allocs, which are entries of them",
		"  /           only stacks with a text in a function, file or module",
		"  r           count changes from now on; R: from reading to reading again",
		"  Space       freeze: nothing is read until the next Space",
		"  + -         read half or twice as often",
		"",
		"What is done",
		"  m           mark this moment, with a name or without",
		"  l           look for leaks: the process is stopped for as long as a fork takes",
		"  q           quit; the process goes on",
		"",
		"Verdicts",
		"  GROWING     live bytes rise and do not come back",
		"  STALE       some blocks live far longer than the others of their stack",
	};

	seep_lines_done(&tui->page);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		(void)seep_lines_add(&tui->page, SEEP_STYLE_PLAIN, "%s", lines[i]);
	seep_tui_row(tui, SEEP_TUI_BODY - 1, SEEP_LOOK_BOLD, "%s", " keys");
	seep_tui_page_draw(tui, &tui->page);
}

const struct seep_tui_screen seep_screen_help = {
	.name = "help",
	.keys = "Esc back",
	.draw = draw,
	.key = seep_tui_page_key,
};
