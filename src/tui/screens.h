/* SPDX-License-Identifier: MIT */
/* What the screens share, and their list: screen_NAME.c defines seep_screen_NAME. */
#ifndef SEEP_TUI_SCREENS_H
#define SEEP_TUI_SCREENS_H

#include "base/text.h"
#include "tui/tui.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	SEEP_TUI_BODY = 4, /* the first row of a screen's own part, its headings */
	SEEP_TUI_LINES = 500,
	SEEP_TUI_TEXT_BYTES = 256,
};

/* How a text looks, apart from SEEP_LOOK_PLAIN also without colours. */
enum seep_look {
	SEEP_LOOK_PLAIN,
	SEEP_LOOK_BOLD,
	SEEP_LOOK_DIM,
	SEEP_LOOK_BAR, /* reversed */
	SEEP_LOOK_BAD,
	SEEP_LOOK_WARN,
	SEEP_LOOK_GOOD,
};

/* A list of which one line is chosen, and the rows are a part. */
struct seep_tui_list {
	uint32_t count;
	uint32_t chosen;
	uint32_t first; /* in the topmost row */
};

struct seep_tui;
struct seep_tui_branches;

struct seep_tui_screen {
	const char *name;
	const char *keys; /* its own, for the last row */
	void (*draw)(struct seep_tui *tui);
	bool (*key)(struct seep_tui *tui, int key); /* NULL: it has none. False: not its own */
};

struct seep_tui {
	struct seep_live *live;
	const struct seep_tui_options *options;
	const struct seep_tui_screen *screen;
	const struct seep_tui_screen *back; /* from a detail or help */
	int rows;
	int columns;
	bool utf8;
	bool color;
	bool quit;
	bool frozen;
	uint64_t interval_ns;
	char status[SEEP_TUI_TEXT_BYTES];
	uint64_t said_ns;
	/* What is being typed; NULL: nothing. */
	const char *prompt;
	void (*typed)(struct seep_tui *tui, const char *text);
	char text[SEEP_TUI_TEXT_BYTES];

	enum seep_live_sort sort;
	char filter[SEEP_TUI_TEXT_BYTES];
	struct seep_live_line *lines;
	struct seep_tui_list stacks;
	const struct seep_live_process *followed; /* only compared */
	uint32_t followed_context;
	struct seep_tui_list processes;
	/* Of the detail. */
	struct seep_live_process *process;
	uint32_t context;
	/* A text to scroll in: detail, leaks, help. */
	struct seep_lines page;
	int page_first;
	struct seep_profile *leaks; /* of the last check */
	char *leaks_refused;	    /* why there is none */
	struct seep_tui_branches *branches;
	struct seep_tui_list tree;
};

extern const struct seep_tui_screen seep_screen_stacks, seep_screen_detail, seep_screen_tree,
	seep_screen_timeline, seep_screen_leaks, seep_screen_processes, seep_screen_help;

/* Whose tree, leaks and marks are meant: the only one, or the first that is current; or NULL. */
struct seep_live_process *seep_tui_process(const struct seep_tui *tui);

/* What happened, for the status line. */
void seep_tui_say(struct seep_tui *tui, const char *fmt, ...) SEEP_PRINTF(2, 3);

/* Forget what is kept of the tree. */
void seep_screen_tree_done(struct seep_tui *tui);

#endif
