/* SPDX-License-Identifier: MIT */
/*
 * The command of --on-growth: run by /bin/sh -c, once for each context that grows. What it is told
 * stands in its environment (SEEP_PID, SEEP_EXE, SEEP_FUNCTION, SEEP_FILE, SEEP_LINE,
 * SEEP_CALLERS, SEEP_GROWN_BYTES, SEEP_BYTES_PER_HOUR, SEEP_EVIDENCE, SEEP_HASH), as names come from
 * the program under study; at most 4 KB of each. One runs at a time; the next ones wait for it.
 *
 *	struct seep_on_growth on = { .command = "logger \"$SEEP_EVIDENCE\"" };
 *
 *	seep_on_growth_add(&on, sites, list);
 *	seep_on_growth_poll(&on);		now and then
 *	seep_on_growth_done(&on, "top");
 */
#ifndef SEEP_CLI_ON_GROWTH_H
#define SEEP_CLI_ON_GROWTH_H

#include "analysis/sites.h"
#include "profile/ledger_growth.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SEEP_ON_GROWTH_WAITING_MAX = 256 };

/* Zeroed but for these two; one thread. */
struct seep_on_growth {
	const char *command; /* NULL: nothing is to be added */
	bool quiet;	     /* what it prints goes to /dev/null, else to standard error */
	pid_t pid;	     /* the one that runs; 0 none */
	char **waiting[SEEP_ON_GROWTH_WAITING_MAX]; /* environments */
	size_t waiting_count;
	size_t left_out_count; /* for want of room, or of time at the end */
};

/*
 * Run it, now or when those before it have ended, for each of @list that is news. The profile of
 * @sites has names and hashes.
 */
void seep_on_growth_add(struct seep_on_growth *on, const struct seep_sites *sites,
			const struct seep_growth_list *list);

/* As struct seep_recorder_plan has it: start the next one of @on, a struct of these, if none runs. */
void seep_on_growth_poll(void *on);

/*
 * Start those that wait, for 5 seconds at most; whichever runs then runs on. Gives up the rest, and
 * complains for @command.
 */
void seep_on_growth_done(struct seep_on_growth *on, const char *command);

#endif
