/* SPDX-License-Identifier: MIT */
/*
 * From a leak scan to the leaks of a profile: what whoever scans, at a process's end or on request,
 * does with what was found. The profile is loaded after the scan, so that it has all rows of what was
 * found, and has names before it is judged: suppressions match them.
 */
#ifndef SEEP_RECORDER_LEAK_CHECK_H
#define SEEP_RECORDER_LEAK_CHECK_H

#include "analysis/suppressions.h"
#include "profile/ledger_file.h"
#include "profile/profile.h"
#include "symbol/symbol.h"
#include "target/leak_scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What to look for, and what to keep of it. Strings are borrowed. */
struct seep_leak_check_plan {
	bool trace_exit;	 /* scan what a signal kills, too */
	bool small_forks;	 /* and forks with few allocations */
	bool chains;		 /* keep what leads to the first block of each leak */
	uint64_t why;		 /* instead, what leads to the block at this address; 0 none */
	uint32_t dump_bytes;	 /* of each named block's contents; 0 none */
	uint32_t block_list_max; /* blocks named per leak */
	const char *const *suppressions; /* files, which could be read when the plan was made */
	size_t suppression_count;
	const struct seep_symbols_options *symbols; /* where names are looked for; NULL = default */
	/* Give a profile its names instead; NULL: those that @symbols leads to. */
	int (*name)(void *user, struct seep_profile *profile, struct seep_error *err);
	void *user;
	/* Show what a process asked to be told while it runs; any thread; NULL: nobody. */
	void (*report)(const struct seep_profile *profile);
};

/**
 * seep_leak_check_suppressions - the default suppressions, and those of the plan's files
 * @ret: release with seep_suppressions_free()
 *
 * Returns: 0, or as seep_suppressions_read(); the sentence names the file.
 */
SEEP_NODISCARD int seep_leak_check_suppressions(const struct seep_leak_check_plan *plan,
						struct seep_suppressions **ret,
						struct seep_error *err);

/* seep_leak_scan() of the process of @ledger, which is @pid here, as the plan asks. */
SEEP_NODISCARD int seep_leak_check_scan(const struct seep_ledger *ledger, uint32_t pid,
					enum seep_scan_moment moment,
					const struct seep_leak_check_plan *plan,
					struct seep_leak_scan **ret_scan, struct seep_error *err);

/**
 * seep_leak_check_now - scan the process of @ledger, which is @pid here, and judge what is found
 * @ret_scan:    what was found, its states judged; NULL where it could not be scanned; the argument
 *               may be NULL
 * @ret_profile: set on success only; of a process that could not be scanned it says why
 *
 * Returns: 0, or as seep_profile_load_ledger() and plan->name.
 */
SEEP_NODISCARD int seep_leak_check_now(const struct seep_ledger *ledger, uint32_t pid,
				       enum seep_scan_moment moment,
				       const struct seep_leak_check_plan *plan,
				       struct seep_leak_scan **ret_scan,
				       struct seep_profile **ret_profile, struct seep_error *err);

/**
 * seep_leak_check_fill - fill in @profile->leaks and @profile->scan
 * @profile: of the scanned process, loaded after the scan, with names and hashes
 * @scan:    the states of suppressed blocks change
 *
 * Suppressions that cannot be read any more become a caveat.
 */
void seep_leak_check_fill(struct seep_profile *profile, struct seep_leak_scan *scan,
			  const struct seep_leak_check_plan *plan);

/**
 * seep_leak_check_suppress - apply the plan's files to leaks that were judged before, and findings
 * @profile: of a recording, or not scanned; leaks change their verdict, not their place
 *
 * What can be reached from suppressed blocks is suppressed where a leak names them as its root.
 * Errors as seep_leak_check_suppressions().
 */
SEEP_NODISCARD int seep_leak_check_suppress(struct seep_profile *profile,
					    const struct seep_leak_check_plan *plan,
					    struct seep_error *err);

/*
 * There was no scan, since @why: "it was killed by SIGSEGV". One sentence without a full stop,
 * which follows "not scanned: ". What the profile says already stays.
 */
void seep_leak_check_none(struct seep_profile *profile, const char *why);

/* The verdicts of @profile's leaks: bits of enum seep_verdict. */
uint32_t seep_leak_check_verdicts(const struct seep_profile *profile);

#endif
