/* SPDX-License-Identifier: MIT */
/* Text in rows and columns, lists and pages. Nothing here is written beyond the screen. */
#ifndef SEEP_TUI_TUI_DRAW_H
#define SEEP_TUI_TUI_DRAW_H

#include "tui/screens.h"

/* What getch() gives for keys, so that screens need not know ncurses. */
enum seep_tui_key {
	SEEP_KEY_UP = 0x10000,
	SEEP_KEY_DOWN,
	SEEP_KEY_LEFT,
	SEEP_KEY_RIGHT,
	SEEP_KEY_PAGE_UP,
	SEEP_KEY_PAGE_DOWN,
	SEEP_KEY_HOME,
	SEEP_KEY_END,
	SEEP_KEY_ENTER,
	SEEP_KEY_BACK, /* Escape and Backspace */
};

/*
 * Any @text from @column on, escaped, cut to @width columns and filled up to them; a negative
 * @width aligns to the right. @keep_end: what is too long loses its start.
 */
void seep_tui_put(struct seep_tui *tui, int row, int column, int width, enum seep_look look,
		  bool keep_end, const char *text);

/* The whole row. */
void seep_tui_row(struct seep_tui *tui, int row, enum seep_look look, const char *fmt, ...)
	SEEP_PRINTF(4, 5);

/* Rows for a screen's own part below its headings. */
int seep_tui_room(const struct seep_tui *tui);

/* Move in the list, or in what seep_tui_page_draw() drew, if @key does that. */
bool seep_tui_list_key(const struct seep_tui *tui, struct seep_tui_list *list, int key);

/* There are @count now: keep the chosen one in sight. */
void seep_tui_list_fit(const struct seep_tui *tui, struct seep_tui_list *list, uint32_t count);

/* Draw @page from SEEP_TUI_BODY on, folded, as far as it is scrolled. */
void seep_tui_page_draw(struct seep_tui *tui, const struct seep_lines *page);
bool seep_tui_page_key(struct seep_tui *tui, int key);

#endif
