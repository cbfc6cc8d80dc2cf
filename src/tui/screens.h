/* SPDX-License-Identifier: MIT */
/* What the screens share, and their list: screen_NAME.c defines seep_screen_NAME. */
#ifndef SEEP_TUI_SCREENS_H
#define SEEP_TUI_SCREENS_H

#include "base/text.h"
#include "tui/tui.h"

#include <stdbool.h>

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
	bool too_small; /* the terminal: nothing else is drawn */
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
	uint64_t followed; /* the number of a process */
	uint32_t followed_context;
	struct seep_tui_list processes;
	struct seep_tui_list scopes;
	/* Of the detail. */
	uint64_t detailed; /* the number of a process */
	uint32_t context;
	struct seep_lines source; /* around the line that allocates; empty: there is none */
	bool source_read;
	struct seep_lines page; /* a text to scroll in: detail, help */
	int page_first;
	struct seep_lines leaks; /* of the last check; empty: there was none */
	char *leaks_of;		 /* whose that was */
	uint64_t leaks_ns;	 /* and when */
	struct seep_tui_branches *branches;
	struct seep_tui_list tree;
};

extern const struct seep_tui_screen seep_screen_stacks, seep_screen_detail, seep_screen_tree,
	seep_screen_timeline, seep_screen_leaks, seep_screen_processes, seep_screen_scopes,
	seep_screen_help;

/* What happened, for the status line. */
void seep_tui_say(struct seep_tui *tui, const char *fmt, ...) SEEP_PRINTF(2, 3);

/* The stack to show in detail. */
void seep_screen_detail_choose(struct seep_tui *tui, const struct seep_live_line *line);

/* The text of a leak check. @profile: with leaks, NULL: there was no check since @why_not. */
void seep_screen_leaks_set(struct seep_tui *tui, const struct seep_live_process *process,
			   const struct seep_profile *profile, const char *why_not);

/* Forget what is kept of the tree. */
void seep_screen_tree_done(struct seep_tui *tui);

#endif
