/* SPDX-License-Identifier: MIT */
/*
 * The profile of a process that runs, kept up to date: for who looks again and again. A refresh
 * reads the counters anew and adds what is new; stacks, frames and names that are there stay as
 * they are.
 *
 *	seep_ledger_live_open(path, &live, err);
 *	for (;;) {
 *		show(seep_ledger_live_profile(live));
 *		sleep(1);
 *		if (seep_ledger_live_refresh(live, err) < 0)
 *			break;
 *	}
 *	seep_ledger_live_close(live);
 */
#ifndef SEEP_PROFILE_LEDGER_LIVE_H
#define SEEP_PROFILE_LEDGER_LIVE_H

#include "base/error.h"
#include "profile/ledger_growth.h"

#include <stdbool.h>

struct seep_ledger_live;

/**
 * seep_ledger_live_open - map the ledger at @path and read it for the first time
 * @ret_live: set on success only; release with seep_ledger_live_close()
 *
 * Returns: 0, or the errors of seep_ledger_open() and seep_ledger_live_refresh().
 */
SEEP_NODISCARD int seep_ledger_live_open(const char *path, struct seep_ledger_live **ret_live,
					 struct seep_error *err);

/* Release it with its profile. NULL is a no-op. */
void seep_ledger_live_close(struct seep_ledger_live *live);

/*
 * As it was read last; figures are one reading per row, as seep_profile_load_ledger() says. It is
 * the live one's: names may be added (profile/symbolise.h), contexts hidden, nothing else changed.
 */
struct seep_profile *seep_ledger_live_profile(struct seep_ledger_live *live);

/**
 * seep_ledger_live_refresh - bring the profile up to date
 *
 * The indices of contexts, frames and modules stay; new ones come behind, and the arrays may move.
 * What is not of a process that can end (marks, epochs, unseen, totals) is made anew, and pointers
 * to it are void. New frames have no names yet. process.ended tells when the process has said that
 * it ended; one that was killed says nothing, and seep_process_life() knows. What was left
 * in the middle of an operation is finished only by seep_profile_load_ledger().
 *
 * Returns: 0, or
 *   -SEEP_ETRUNC    the file was cut: the profile is as it was read last, or of no use if that
 *                   happened in the middle of this reading
 *   -SEEP_ECORRUPT  the file was written over: the same
 */
SEEP_NODISCARD int seep_ledger_live_refresh(struct seep_ledger_live *live, struct seep_error *err);

/*
 * Does its process run its program? One that cannot be seen from here does until it says that it
 * ended. @ret_pid: its number here; 0: not known.
 */
bool seep_ledger_live_runs(const struct seep_ledger_live *live, uint32_t *ret_pid);

/*
 * What its recorder says of growth, as seep_ledger_growth_read(); nothing of one that has left or
 * died.
 */
struct seep_growth_list seep_ledger_live_growth(const struct seep_ledger_live *live,
						uint64_t now_ns);

/* Is there another file under the name of the one that was opened? None is no other. */
bool seep_ledger_live_is_replaced(const struct seep_ledger_live *live);

#endif
