/* SPDX-License-Identifier: MIT */
/*
 * What was done wrong with blocks; and what the last leak check found, or why there was none, which is
 * put into words once.
 */
#include <stdlib.h>

#include "analysis/sites.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "tui/screens.h"
#include "tui/tui_draw.h"
#include "view/frame_text.h"
#include "view/leaks_view.h"
#include "view/live_view.h"

static void add_stack(struct seep_lines *page, const struct seep_profile *profile,
		      const struct seep_stack_lines *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct seep_stack_line *line = &stack->items[i];
		SEEP_FREED char *name = NULL, *place = NULL;

		if (!line->entry) {
			(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "     %s", line->note);
			continue;
		}
		name = seep_frame_name(profile, &profile->frames[line->entry->frame],
				       SEEP_NAME_BRIEF);
		place = seep_frame_place(profile, &profile->frames[line->entry->frame], true);
		(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "     %s  %s", name, place);
	}
}

static void add_leaks(struct seep_lines *page, const struct seep_profile *profile)
{
	const struct seep_view_options options = { .by = SEEP_BY_LIVE };
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = seep_sites_new(profile);
	SEEP_RELEASED(seep_view_done) struct seep_view view;
	SEEP_RELEASED(seep_leaks_view_done) struct seep_leaks_view leaks;
	SEEP_FREED char *answer = seep_leaks_answer(profile);

	seep_view_init(&view, profile, sites, &options);
	seep_leaks_view_init(&leaks, &view, 0);
	(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "%s", answer);
	for (uint32_t i = 0; i < leaks.count; i++) {
		const struct seep_leak_view *leak = &leaks.items[i];

		(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "%s", "");
		(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "%u. %s", i + 1, leak->stack.figures);
		add_stack(page, profile, &leak->stack);
		for (size_t k = 0; k < leak->notes.count; k++)
			(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "     %s",
					     leak->notes.items[k].text);
	}
}

void seep_screen_leaks_set(struct seep_tui *tui, const struct seep_live_process *process,
			   const struct seep_profile *profile, const char *why_not)
{
	const char *exe = process->profile->process.exe;

	seep_lines_done(&tui->leaks);
	free(tui->leaks_of);
	tui->leaks_of = seep_xasprintf("%s (pid %u)", exe ? seep_path_base(exe) : "?",
				       process->profile->process.pid);
	tui->leaks_ns = seep_monotonic_ns();
	seep_live_findings(tui->live, &tui->leaks);
	if (profile)
		add_leaks(&tui->leaks, profile);
	else
		(void)seep_lines_add(&tui->leaks, SEEP_STYLE_PLAIN, "not checked: %s", why_not);
}

static void draw(struct seep_tui *tui)
{
	SEEP_RELEASED(seep_lines_done) struct seep_lines findings = { 0 };

	seep_live_findings(tui->live, &findings);
	if (tui->leaks_of)
		seep_tui_row(tui, SEEP_TUI_BODY - 1, SEEP_LOOK_BOLD, " leaks of %s, %s ago",
			     tui->leaks_of,
			     seep_duration_text(seep_monotonic_ns() - tui->leaks_ns).text);
	else
		seep_tui_row(tui, SEEP_TUI_BODY - 1, SEEP_LOOK_BOLD, "%s",
			     " not checked yet; l looks for leaks");
	seep_tui_page_draw(tui, tui->leaks_of ? &tui->leaks : &findings);
}

const struct seep_tui_screen seep_screen_leaks = {
	.name = "leaks",
	.keys = "l check again  Up Down scroll",
	.draw = draw,
	.key = seep_tui_page_key,
};
