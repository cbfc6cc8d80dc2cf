/* SPDX-License-Identifier: MIT */
/*
 * Signals while seep stands between a shell and the target. What the terminal sends reaches the
 * target by itself, because both are in one process group; what somebody sends to seep alone is
 * passed on; a target that stops stops seep, so that the shell gets its prompt back.
 */
#ifndef SEEP_RECORDER_RUN_SIGNALS_H
#define SEEP_RECORDER_RUN_SIGNALS_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct seep_run_signals {
	int fd; /* readable when a signal has come; -1 once ended */
};

/* Block the signals concerned and open the descriptor. Returns 0 or -SEEP_ESYS. */
SEEP_NODISCARD int seep_run_signals_begin(struct seep_run_signals *signals, pid_t target,
					  struct seep_error *err);

/**
 * seep_run_signals_pass_on - deal with the signals that have come
 * @target: 0 when it has ended
 *
 * Returns: true if one of them asks to end.
 */
bool seep_run_signals_pass_on(struct seep_run_signals *signals, pid_t target);

/*
 * The next child of this thread that has ended, and is left to be waited for; 0 none. If @target
 * was stopped meanwhile, stop as well, and continue it when we are continued.
 */
pid_t seep_run_signals_next_dead(pid_t target);

/*
 * By a thread that traces @child: it was stopped by job control, or goes on. Of a child that is
 * traced by us the kernel does not say so. Others than the target do not count. Any thread.
 */
void seep_run_signals_note_stop(pid_t child, bool stopped);

/*
 * The target has ended and what came up to then has had its effect. From here on the terminal stops
 * and continues this process as any other; what asks to end still waits for _pass_on.
 */
void seep_run_signals_target_gone(struct seep_run_signals *signals);

/* From here on a signal does to this process what it usually does. Twice is harmless. */
void seep_run_signals_end(struct seep_run_signals *signals);

#endif
