/* SPDX-License-Identifier: MIT */
#include "tui/tui_draw.h"

#include <ncurses.h>
#include <stdarg.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/terminal.h"
#include "base/xalloc.h"

static attr_t attribute(const struct seep_tui *tui, enum seep_look look)
{
	static const struct {
		attr_t always, plain;
		short pair;
	} looks[] = {
		[SEEP_LOOK_PLAIN] = { A_NORMAL, A_NORMAL, 0 },
		[SEEP_LOOK_BOLD] = { A_BOLD, A_NORMAL, 0 },
		[SEEP_LOOK_DIM] = { A_DIM, A_NORMAL, 0 },
		[SEEP_LOOK_BAR] = { A_REVERSE, A_NORMAL, 0 },
		[SEEP_LOOK_BAD] = { A_BOLD, A_NORMAL, 1 },
		[SEEP_LOOK_WARN] = { A_NORMAL, A_BOLD, 2 },
		[SEEP_LOOK_GOOD] = { A_NORMAL, A_NORMAL, 3 },
	};

	return looks[look].always |
	       (tui->color ? (attr_t)COLOR_PAIR(looks[look].pair) : looks[look].plain);
}

/* For a terminal that has no more than ASCII. */
static void to_ascii(char *text)
{
	char *to = text;

	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		if (*at < 0x80)
			*to++ = (char)*at;
		else if (*at >= 0xc0)
			*to++ = '?';
	*to = '\0';
}

void seep_tui_put(struct seep_tui *tui, int row, int column, int width, enum seep_look look,
		  bool keep_end, const char *text)
{
	const int room = width < 0 ? -width : width;
	const size_t columns = (size_t)(room < tui->columns - column ? room
								     : tui->columns - column);
	SEEP_FREED char *escaped = seep_escape_dup(text);
	SEEP_STRBUF(cut, SEEP_LINE_BYTES_MAX);
	int pad;

	if (row >= tui->rows || column >= tui->columns || columns == 0)
		return;
	if (!tui->utf8)
		to_ascii(escaped);
	seep_text_fit(&cut, escaped, columns, keep_end);
	if (!tui->utf8)
		to_ascii(cut.text);
	pad = (int)columns - (int)seep_display_width(cut.text, strlen(cut.text));
	(void)attrset(attribute(tui, look));
	(void)mvprintw(row, column, "%*s%s%*s", width < 0 ? pad : 0, "", cut.text,
		       width < 0 ? 0 : pad, "");
	(void)attrset(A_NORMAL);
}

void seep_tui_row(struct seep_tui *tui, int row, enum seep_look look, const char *fmt, ...)
{
	SEEP_FREED char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = seep_xvasprintf(fmt, args);
	va_end(args);
	seep_tui_put(tui, row, 0, tui->columns, look, false, text);
}

int seep_tui_room(const struct seep_tui *tui)
{
	return tui->rows - SEEP_TUI_BODY - 3 > 1 ? tui->rows - SEEP_TUI_BODY - 3 : 1;
}

/* False: @key does not move. */
static bool moves(const struct seep_tui *tui, int key, int64_t end, int64_t *at)
{
	const int64_t page = seep_tui_room(tui);

	switch (key) {
	case SEEP_KEY_UP:
		--*at;
		return true;
	case SEEP_KEY_DOWN:
		++*at;
		return true;
	case SEEP_KEY_PAGE_UP:
		*at -= page;
		return true;
	case SEEP_KEY_PAGE_DOWN:
		*at += page;
		return true;
	case SEEP_KEY_HOME:
		*at = 0;
		return true;
	case SEEP_KEY_END:
		*at = end;
		return true;
	default:
		return false;
	}
}

bool seep_tui_list_key(const struct seep_tui *tui, struct seep_tui_list *list, int key)
{
	int64_t to = list->chosen;

	if (!moves(tui, key, list->count, &to))
		return false;
	if (to >= list->count)
		to = (int64_t)list->count - 1;
	list->chosen = to > 0 ? (uint32_t)to : 0;
	return true;
}

void seep_tui_list_fit(const struct seep_tui *tui, struct seep_tui_list *list, uint32_t count)
{
	const uint32_t room = (uint32_t)seep_tui_room(tui);

	list->count = count;
	if (list->chosen >= count)
		list->chosen = count ? count - 1 : 0;
	if (list->first > list->chosen)
		list->first = list->chosen;
	if (list->first + room <= list->chosen)
		list->first = list->chosen - room + 1;
	if (list->first + room > count)
		list->first = count > room ? count - room : 0;
}

/* How much of @text goes into one row; it breaks at a space behind @indent where there is one. */
static size_t row_bytes(const char *text, size_t columns, size_t indent)
{
	const size_t bytes = strlen(text);
	const size_t fit = seep_display_fit(text, bytes, columns, NULL);
	size_t end = fit;

	if (fit == bytes)
		return bytes;
	while (end > indent && text[end] != ' ')
		end--;
	return end > indent ? end : fit;
}

/* Its rows, folded behind two columns more than it begins with. Returns how many it has. */
static int draw_folded(struct seep_tui *tui, const struct seep_line *line, int row, int room)
{
	const char *text = line->text;
	const size_t begin = strspn(text, " "), columns = (size_t)tui->columns;
	size_t indent = 0;
	int count = 0;

	do {
		const size_t bytes = line->cut ? strlen(text)
					       : row_bytes(text, columns - indent, begin);
		const int at = row + count++;

		if (at >= 0 && at < room)
			seep_tui_row(tui, SEEP_TUI_BODY + at,
				     line->style == SEEP_STYLE_BOLD ? SEEP_LOOK_BOLD
								    : SEEP_LOOK_PLAIN,
				     "%*s%.*s", (int)indent, "", (int)bytes, text);
		text += bytes;
		text += strspn(text, " ");
		indent = begin + 2 < columns / 2 ? begin + 2 : 0;
	} while (*text);
	return count;
}

void seep_tui_page_draw(struct seep_tui *tui, const struct seep_lines *page)
{
	const int room = seep_tui_room(tui) + 1;
	int count = 0;

	for (size_t i = 0; i < page->count; i++)
		count += draw_folded(tui, &page->items[i], INT32_MIN / 2, 0);
	if (tui->page_first > count - room)
		tui->page_first = count - room;
	if (tui->page_first < 0)
		tui->page_first = 0;
	count = -tui->page_first;
	for (size_t i = 0; i < page->count; i++)
		count += draw_folded(tui, &page->items[i], count, room);
}

bool seep_tui_page_key(struct seep_tui *tui, int key)
{
	int64_t to = tui->page_first;
	const bool moved = moves(tui, key, INT32_MAX / 2, &to);

	tui->page_first = (int)to;
	return moved;
}
