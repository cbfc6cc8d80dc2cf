/* SPDX-License-Identifier: MIT */
/*
 * Loads libseep.so into a process that runs, and has it record from then on; and has it leave again.
 * One thread at a time is stopped, for a moment: at a point where it may be led into the loader
 * (safe_point.h), and so that it finds back by itself (divert.h). If no such point is found in time
 * nothing is done.
 */
#ifndef SEEP_TARGET_ATTACH_H
#define SEEP_TARGET_ATTACH_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct seep_attach_plan {
	const char *library;  /* libseep.so */
	const char *options;  /* as SEEP_OPTIONS; "" none */
	const char *dir;      /* as SEEP_DIR in the process; "" the usual place */
	uint64_t session;     /* of a recorder that it is to wait for at its end; 0 none */
	uint64_t deadline_ns; /* how long to look for a point, and wait for a program that begins */
	bool entries;	      /* allocators inside modules are recorded, too: entries.h */
};

struct seep_attach_result {
	char *ledger;	 /* path as the process has it, of attach and detach; release with free() */
	char *allocator; /* a sentence, of an allocator inside a module; NULL; release with free() */
	uint64_t stopped_ns; /* for how long threads were kept from what they did, together */
	uint64_t longest_ns; /* the longest of these */
	uint32_t tries;	     /* threads that were stopped */
};

/**
 * seep_attach - join process @pid
 *
 * Threads: any; it must be one that does not trace anybody.
 *
 * Returns: 0, or with the process as it was
 *   -SEEP_ENOTFOUND  there is no such process
 *   -SEEP_EREFUSED   it cannot be joined, or not now; the sentence says why
 *   -SEEP_EEXIST     it is recorded already
 *   -SEEP_ESYS       anything else
 */
SEEP_NODISCARD int seep_attach(pid_t pid, const struct seep_attach_plan *plan,
			       struct seep_attach_result *ret_result, struct seep_error *err);

/*
 * Leave it again. Of the plan only the deadline is used. Returns the same; ENOTFOUND: also not joined.
 * Without a ledger in the result it had been left before, but for what could not be put back then.
 */
SEEP_NODISCARD int seep_detach(pid_t pid, const struct seep_attach_plan *plan,
			       struct seep_attach_result *ret_result, struct seep_error *err);

#endif
