/* SPDX-License-Identifier: MIT */
/*
 * Recording a run: from the moment that the target waits at the gate until the last recording is
 * written. The recorder never decides over the target: whatever fails here, the target runs on, and
 * the failure becomes a line in the result.
 *
 * Threads: the caller's runs the event loop; one more per followed process (watch.h) and one that
 * writes recordings (finish.h), so that neither a process at its end nor a new one has to wait.
 */
#ifndef SEEP_RECORDER_RECORDER_H
#define SEEP_RECORDER_RECORDER_H

#include "base/error.h"
#include "profile/ledger_growth.h"
#include "recorder/recorder_result.h"
#include "symbol/symbol.h"

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SEEP_RECORDER_GRACE_MS = 1000 };

/* What to record. Strings are borrowed. */
struct seep_recorder_plan {
	const char *ledger_dir;
	int ledger_dir_fd;
	uint64_t session;   /* not 0 */
	const char *output; /* FILE, expanded */
	bool force;
	bool follow;		    /* children */
	const regex_t *follow_exe;  /* only those whose path matches; NULL = all */
	bool no_argv;		    /* withhold arguments from the recordings */
	uint64_t snapshot_every_ns; /* 0 = none */
	unsigned snapshot_keep;	    /* of each process, the newest; at least 1 */
	const struct seep_leak_check_plan *leak_check; /* of processes at their end; NULL = none */
	const struct seep_leak_check_plan *suppress;   /* findings, by its files; NULL = none */
	uint64_t growth_after_ns; /* as for seep_growth_new(); 0: growth is not looked for */
	/*
	 * Call stacks became GROWING: those of @list that are news, worst first; and a turn of the
	 * event loop, ten times a second. NULL: nobody wants to know.
	 */
	void (*grown)(void *user, struct seep_profile *profile,
		      const struct seep_growth_list *list);
	void (*turn)(void *user);
	void *user;
	uint64_t
		stop_hash; /* a call stack (profile/context_hash.h) whose allocations are counted; 0: none */
	bool quiet; /* no progress lines, not even when the program has ended */
	const struct seep_symbols_options *symbols; /* where names are looked for; NULL = default */
	void (*on_first_signal)(void); /* one that asks to end came while recordings are written */
};

struct seep_recorder;

/* A number for a session of this process, not 0. Returns: 0, or -SEEP_ESYS. */
SEEP_NODISCARD int seep_recorder_session(uint64_t *ret_session, struct seep_error *err);

/**
 * seep_recorder_new - be ready for a target that waits at the gate
 * @plan: copied, what it points to must outlive the recorder
 *
 * On success SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and those of job control
 * (SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT) are blocked. Those of job control are unblocked during
 * seep_recorder_run(), when the run is over and recordings are written; the others by
 * seep_recorder_free(), or when seep_recorder_run() gives up. What came until then has had its
 * effect. SIGXFSZ is ignored and SIGCHLD has its default action from here on, for good.
 *
 * Returns: 0, or -SEEP_ESYS with nothing blocked.
 */
SEEP_NODISCARD int seep_recorder_new(const struct seep_recorder_plan *plan, pid_t main_pid,
				     struct seep_recorder **ret_recorder, struct seep_error *err);

/**
 * seep_recorder_run - follow the run to its end and write the recordings
 * @ret_result: always filled; release with seep_recorder_result_done()
 *
 * Returns when the main program has ended, its remaining children have ended or have had
 * SEEP_RECORDER_GRACE_MS to do so, and everything is written; or when a second signal does not let
 * it be written (gave_up): then neither the recorder, its plan nor the result may be released, and
 * the process is to end.
 */
void seep_recorder_run(struct seep_recorder *recorder, struct seep_recorder_result *ret_result);

/* Waits for what is still being written, then unblocks the signals. NULL is a no-op. */
void seep_recorder_free(struct seep_recorder *recorder);

#endif
