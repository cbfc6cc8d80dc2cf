/* SPDX-License-Identifier: MIT */
/* The first call stacks, a line each. */
#include <string.h>

#include "base/path.h"
#include "base/terminal.h"
#include "tui/screens.h"
#include "tui/tui_draw.h"
#include "view/live_view.h"

/* Columns but the last two, which share what is left; wide ones only where there is room. */
static const struct column {
	const char *heading;
	int width;
	int needs;   /* columns of the terminal */
	size_t text; /* in struct seep_live_texts */
	enum seep_live_sort sort;
} columns[] = {
	{ "LIVE", 8, 0, offsetof(struct seep_live_texts, live), SEEP_LIVE_BY_BYTES },
	{ "SHARE", 6, 100, offsetof(struct seep_live_texts, share), SEEP_LIVE_SORTS },
	{ "CHANGE", 9, 0, offsetof(struct seep_live_texts, change), SEEP_LIVE_BY_CHANGE },
	{ "ALLOC/s", 7, 60, offsetof(struct seep_live_texts, allocs), SEEP_LIVE_BY_ALLOCS },
	{ "FREE/s", 7, 100, offsetof(struct seep_live_texts, frees), SEEP_LIVE_SORTS },
	{ "BLOCKS", 7, 110, offsetof(struct seep_live_texts, blocks), SEEP_LIVE_BY_BLOCKS },
	{ "AGE", 11, 130, offsetof(struct seep_live_texts, age), SEEP_LIVE_BY_AGE },
};

enum { ERROR = 10, TREND_NARROW = 8, VERDICT = 7, NAME_LEAST = 12, WIDE = 120 };

static int draw_columns(struct seep_tui *tui, int row, const struct seep_live_texts *texts,
			enum seep_look look)
{
	int at = 0;

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		const struct column *column = &columns[i];
		const char *text = texts ? (const char *)texts + column->text : column->heading;
		const bool sorted = !texts && column->sort == tui->sort;
		int width;

		if (tui->columns < column->needs)
			continue;
		width = column->width +
			(i == 0 && seep_live_total(tui->live).errors[SEEP_FIGURE_live_bytes] ? ERROR
											     : 0);
		seep_tui_put(tui, row, at, -width, sorted ? SEEP_LOOK_BAR : look, false, text);
		at += width + 1;
	}
	return at;
}

static const char *end_of(const struct seep_tui *tui, const char *spark, int width)
{
	const size_t skip = (size_t)(SEEP_GROWTH_RECENT - width) * (tui->utf8 ? 3 : 1);

	return strlen(spark) > skip ? spark + skip : spark;
}

/* What one does not need the other has. A wide terminal has places in a column of their own. */
static void draw_name(struct seep_tui *tui, int row, int at, enum seep_look look, const char *name,
		      const char *place)
{
	const bool wide = tui->columns >= WIDE;
	const int room = tui->columns - at;
	const char *shown = wide ? place : seep_path_base(place);
	const int needs = (int)seep_display_width(name, strlen(name));
	int width = (int)seep_display_width(shown, strlen(shown));

	if (room < NAME_LEAST)
		width = 0;
	else if (wide)
		width = room / 2;
	else if (width > room / 2 && needs + 1 + width > room)
		width = needs < room / 2 ? room - needs - 1 : room / 2;
	seep_tui_put(tui, row, at, room - width - 1, look, false, name);
	seep_tui_put(tui, row, tui->columns - width, width,
		     look == SEEP_LOOK_BAR ? look : SEEP_LOOK_DIM, true, shown);
}

static enum seep_look look_of(const char *verdict)
{
	if (strcmp(verdict, "GROWING") == 0)
		return SEEP_LOOK_BAD;
	return *verdict ? SEEP_LOOK_WARN : SEEP_LOOK_PLAIN;
}

static void draw_line(struct seep_tui *tui, int row, const struct seep_live_texts *texts,
		      bool chosen)
{
	const int trend = tui->columns < WIDE ? TREND_NARROW : SEEP_GROWTH_RECENT;
	const enum seep_look look = chosen ? SEEP_LOOK_BAR : SEEP_LOOK_PLAIN;
	int at;

	seep_tui_row(tui, row, look, "%s", "");
	at = draw_columns(tui, row, texts, look);
	seep_tui_put(tui, row, at, trend, look, false, end_of(tui, texts->spark, trend));
	at += trend + 1;
	seep_tui_put(tui, row, at, VERDICT, chosen ? look : look_of(texts->verdict), false,
		     texts->verdict);
	draw_name(tui, row, at + VERDICT + 1, look, texts->name, texts->place);
}

/* The chosen stack stays chosen wherever it goes, but for the first one. */
static void follow(struct seep_tui *tui, uint32_t count)
{
	for (uint32_t i = 0; i < count && tui->stacks.chosen > 0 && tui->followed; i++)
		if (tui->lines[i].process->number == tui->followed &&
		    tui->lines[i].context == tui->followed_context)
			tui->stacks.chosen = i;
}

static void draw(struct seep_tui *tui)
{
	const int trend = tui->columns < WIDE ? TREND_NARROW : SEEP_GROWTH_RECENT;
	const int heading = SEEP_TUI_BODY - 1;
	const uint32_t count = seep_live_top(tui->live, tui->sort, tui->filter, SEEP_TUI_LINES,
					     tui->lines);
	struct seep_live_texts *texts;
	uint32_t first, shown;
	int at;

	follow(tui, count);
	seep_tui_list_fit(tui, &tui->stacks, count);
	first = tui->stacks.first;
	shown = first + (uint32_t)seep_tui_room(tui) + 1;
	shown = (shown < count ? shown : count) - first;
	texts = seep_live_table(tui->live, &tui->lines[first], shown, tui->utf8);
	seep_tui_row(tui, heading, SEEP_LOOK_BOLD, "%s", "");
	at = draw_columns(tui, heading, NULL, SEEP_LOOK_BOLD);
	seep_tui_put(tui, heading, at, trend, SEEP_LOOK_BOLD, false, "TREND");
	seep_tui_put(tui, heading, at + trend + 1, VERDICT,
		     tui->sort == SEEP_LIVE_BY_GROWTH ? SEEP_LOOK_BAR : SEEP_LOOK_BOLD, false,
		     "VERDICT");
	seep_tui_put(tui, heading, at + trend + VERDICT + 2, tui->columns, SEEP_LOOK_BOLD, false,
		     "FUNCTION");
	if (count == 0)
		seep_tui_row(tui, SEEP_TUI_BODY, SEEP_LOOK_DIM, " %s",
			     *tui->filter ? "no stack has the text of the filter"
					  : "nothing is alive");
	for (uint32_t i = 0; i < shown; i++)
		draw_line(tui, SEEP_TUI_BODY + (int)i, &texts[i], first + i == tui->stacks.chosen);
	seep_live_table_free(texts, shown);
}

static bool key(struct seep_tui *tui, int key)
{
	const bool moved = seep_tui_list_key(tui, &tui->stacks, key);

	if (moved && tui->stacks.count > 0) {
		tui->followed = tui->lines[tui->stacks.chosen].process->number;
		tui->followed_context = tui->lines[tui->stacks.chosen].context;
	}
	if (key != SEEP_KEY_ENTER || tui->stacks.count == 0)
		return moved;
	seep_screen_detail_choose(tui, &tui->lines[tui->stacks.chosen]);
	tui->back = &seep_screen_stacks;
	tui->screen = &seep_screen_detail;
	return true;
}

const struct seep_tui_screen seep_screen_stacks = {
	.name = "stacks",
	.keys = "Enter detail  s sort  / filter  m mark  l leaks",
	.draw = draw,
	.key = key,
};
