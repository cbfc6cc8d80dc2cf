/* SPDX-License-Identifier: MIT */
/* Live bytes over the time that was watched, with marks and the most that was seen. */
#include <string.h>

#include "base/units.h"
#include "base/xalloc.h"
#include "tui/screens.h"
#include "tui/tui_draw.h"

enum { LABEL = 10, EIGHTHS = 8 };

/* Which of @width columns @at_ns falls into; -1: none. */
static int column_of(const struct seep_live *live, uint64_t at_ns, int width)
{
	const uint64_t from_ns = live->samples[0].at_ns;
	const uint64_t span_ns = live->samples[live->sample_count - 1].at_ns - from_ns;

	if (at_ns < from_ns || at_ns - from_ns > span_ns)
		return -1;
	/* As doubles, times of months would be rounded beyond the last one. */
	return (int)((unsigned __int128)(at_ns - from_ns) * (unsigned)(width - 1) /
		     (span_ns ? span_ns : 1));
}

/* The most of each column's time; what has no reading has the one before. */
static uint64_t *columns_of(const struct seep_live *live, int width, uint64_t *ret_most)
{
	uint64_t *most = seep_xcalloc((size_t)width, sizeof(*most));
	int reached = -1;

	*ret_most = 1;
	for (uint32_t i = 0; i < live->sample_count; i++) {
		const uint64_t bytes = live->samples[i].live_bytes;
		const int column = column_of(live, live->samples[i].at_ns, width);

		for (int k = reached + 1; k < column; k++)
			most[k] = most[reached];
		if (column > reached || bytes > most[reached])
			most[column] = bytes;
		reached = column;
		if (bytes > *ret_most)
			*ret_most = bytes;
	}
	return most;
}

static void draw_row(struct seep_tui *tui, int row, int height, const uint64_t *values, int width,
		     uint64_t most)
{
	static const char *const bars[EIGHTHS + 1] = {
		" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"
	};
	SEEP_FREED char *text = seep_xcalloc((size_t)width + 1, 3);
	char *at = text;

	for (int i = 0; i < width; i++) {
		/* In eighths of a row, from the bottom. */
		const int filled = (int)((double)values[i] / (double)most * height * EIGHTHS + 0.5);
		int here = filled - (height - 1 - row) * EIGHTHS;

		here = here < 0 ? 0 : here > EIGHTHS ? EIGHTHS : here;
		at = stpcpy(at, tui->utf8 ? bars[here] : here >= EIGHTHS / 2 ? "#" : " ");
	}
	seep_tui_put(tui, SEEP_TUI_BODY + row, LABEL, width, SEEP_LOOK_GOOD, false, text);
}

static void draw_marks(struct seep_tui *tui, int row, int width)
{
	const struct seep_live *live = tui->live;
	const struct seep_live_process *process = seep_live_first(live);

	for (uint32_t i = 0; process && i < process->profile->mark_count; i++) {
		const struct seep_profile_mark *mark = &process->profile->marks[i];
		int column = column_of(live, mark->at_ns, width);

		/* Automatic ones are of no interest here. */
		if (column < 0 || !mark->name)
			continue;
		column += LABEL;
		seep_tui_put(tui, row, column, tui->columns, SEEP_LOOK_BOLD, false, "^");
		seep_tui_put(tui, row, column + 1, tui->columns, SEEP_LOOK_BOLD, false, mark->name);
	}
}

static void draw(struct seep_tui *tui)
{
	const struct seep_live *live = tui->live;
	const int width = tui->columns - LABEL - 1, height = seep_tui_room(tui) - 1;
	SEEP_FREED uint64_t *values = NULL;
	uint64_t most, span_ns;

	seep_tui_row(tui, SEEP_TUI_BODY - 1, SEEP_LOOK_BOLD, "%s", " live bytes while watched");
	if (live->sample_count == 0 || width < 2 || height < 2)
		return;
	values = columns_of(live, width, &most);
	span_ns = live->samples[live->sample_count - 1].at_ns - live->samples[0].at_ns;
	for (int row = 0; row < height; row++)
		draw_row(tui, row, height, values, width, most);
	seep_tui_put(tui, SEEP_TUI_BODY, 0, -LABEL + 1, SEEP_LOOK_BOLD, false,
		     seep_bytes_text(most).text);
	seep_tui_put(tui, SEEP_TUI_BODY + height / 2, 0, -LABEL + 1, SEEP_LOOK_PLAIN, false,
		     seep_bytes_text(most / 2).text);
	seep_tui_put(tui, SEEP_TUI_BODY + height - 1, 0, -LABEL + 1, SEEP_LOOK_PLAIN, false, "0 B");
	draw_marks(tui, SEEP_TUI_BODY + height, width);
	seep_tui_row(tui, SEEP_TUI_BODY + height + 1, SEEP_LOOK_PLAIN,
		     "%*s%s ago   most seen %s   peak ever %s   ^ marks", LABEL, "",
		     seep_duration_text(span_ns).text, seep_bytes_text(most).text,
		     seep_bytes_text(seep_live_total(live).peak_bytes).text);
}

const struct seep_tui_screen seep_screen_timeline = {
	.name = "timeline",
	.keys = "m mark  +/- interval",
	.draw = draw,
};
