/* SPDX-License-Identifier: MIT */
/*
 * The screens of "seep top": tui.c has the terminal, the keys and what all screens share; each
 * screen is a file, screen_NAME.c. What changes anything outside is done by the caller's functions.
 */
#ifndef SEEP_TUI_TUI_H
#define SEEP_TUI_TUI_H

#include "analysis/live.h"
#include "base/error.h"

#include <signal.h>
#include <stdint.h>

struct seep_tui_actions {
	/* What is to be done several times a second, also while nothing is read. */
	void (*poll)(void *user);
	/* Begin an epoch of @process called @name, "" for none. */
	int (*mark)(void *user, struct seep_live_process *process, const char *name,
		    struct seep_error *err);
	/* Scan @process for leaks: its profile, with names and leaks. */
	int (*check_leaks)(void *user, struct seep_live_process *process,
			   struct seep_profile **ret_profile, struct seep_error *err);
	void *user;
};

struct seep_tui_options {
	uint64_t interval_ns;
	uint64_t for_ns; /* 0: until somebody ends it */
	enum seep_live_sort sort;
	const volatile sig_atomic_t *stopped; /* set by a signal's handler */
	struct seep_tui_actions actions;
};

/* Whether there is a terminal for screens. -SEEP_EUNSUPPORTED says why there is none. */
SEEP_NODISCARD int seep_tui_check(struct seep_error *err);

/*
 * Show @live until a key, options->stopped, the time or the terminal's end; it is refreshed at the
 * interval. The terminal is as before in the end. Errors as seep_tui_check().
 */
SEEP_NODISCARD int seep_tui_run(struct seep_live *live, const struct seep_tui_options *options,
				struct seep_error *err);

#endif
