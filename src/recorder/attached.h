/* SPDX-License-Identifier: MIT */
/*
 * The recorder of one process that was attached to: follows its ledger until it ends or we leave it,
 * looks for leaks and writes the recording.
 */
#ifndef SEEP_RECORDER_ATTACHED_H
#define SEEP_RECORDER_ATTACHED_H

#include "base/error.h"
#include "recorder/leak_check.h"
#include "recorder/recorder.h"
#include "target/attach.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct seep_attached_plan {
	struct seep_recorder_plan
		recorder; /* of it: output, force, leak_check, growth_after_ns, symbols */
	const struct seep_attach_plan *attach; /* with a session */
	uint64_t for_ns;		       /* leave it then; 0: never */
};

/* What came of it. */
struct seep_attached_result {
	bool ended;		    /* the process has */
	struct seep_error not_left; /* code 0: it has ended, or was left */
	struct seep_attach_result detach;
	struct seep_profile *profile; /* of the recording; the caller's */
};

/**
 * seep_attached_record - follow process @pid, and leave it after a time or on SIGINT, SIGTERM or SIGHUP
 * @ledger: its path as the process has it
 *
 * These signals are blocked.
 *
 * Returns: 0 with a recording written, or as seep_ledger_open(), seep_watch_follow() and the writing of
 * recordings: then the ledger stays.
 */
SEEP_NODISCARD int seep_attached_record(const struct seep_attached_plan *plan, pid_t pid,
					const char *ledger, struct seep_attached_result *ret_result,
					struct seep_error *err);

/* Make the recording of a process that was left, and remove its ledger. @ledger as above. */
SEEP_NODISCARD int seep_attached_save(const struct seep_recorder_plan *plan, pid_t pid,
				      const char *ledger, struct seep_profile **ret_profile,
				      struct seep_error *err);

#endif
