/* SPDX-License-Identifier: MIT */
/* What is done under the tags that the program gives to its work. */
#include "tui/screens.h"
#include "tui/tui_draw.h"
#include "view/live_view.h"

static void draw(struct seep_tui *tui)
{
	struct seep_live_tag tags[SEEP_TUI_LINES];
	const uint32_t count = seep_live_tags(tui->live, tui->sort, SEEP_TUI_LINES, tags);
	const uint32_t room = (uint32_t)seep_tui_room(tui);
	const bool estimates = seep_live_total(tui->live).errors[SEEP_FIGURE_live_bytes];
	SEEP_FREED char *headings = seep_tag_line(NULL, estimates),
			*old = seep_tags_old(tags, count);

	seep_tui_list_fit(tui, &tui->scopes, count);
	seep_tui_row(tui, SEEP_TUI_BODY - 1, SEEP_LOOK_BOLD, "%s", headings);
	for (uint32_t i = tui->scopes.first; i < count && i < tui->scopes.first + room; i++) {
		SEEP_FREED char *line = seep_tag_line(&tags[i], estimates);

		seep_tui_row(tui, SEEP_TUI_BODY + (int)(i - tui->scopes.first),
			     i == tui->scopes.chosen ? SEEP_LOOK_BAR : SEEP_LOOK_PLAIN, "%s", line);
	}
	seep_tui_row(tui, SEEP_TUI_BODY + (count ? (int)room : 0), SEEP_LOOK_DIM, " %s",
		     old     ? old
		     : count ? ""
			     : "no scope was opened; <seep/seep.h> has SEEP_SCOPE()");
}

static bool key(struct seep_tui *tui, int key)
{
	return seep_tui_list_key(tui, &tui->scopes, key);
}

const struct seep_tui_screen seep_screen_scopes = {
	.name = "scopes",
	.keys = "s sort  Up Down",
	.draw = draw,
	.key = key,
};
