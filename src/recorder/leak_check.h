/* SPDX-License-Identifier: MIT */
/*
 * From a leak scan to the leaks of a profile: what whoever scans, at a process's end or on request,
 * does with what was found.
 *
 *	seep_leak_check_scan(ledger, pid, moment, plan, &scan, &err);
 *	seep_profile_load_ledger(path, ...);			afterwards: it has all rows of the scan
 *	seep_profile_symbolise(profile, ...);			names first: suppressions match them
 *	seep_profile_hash_contexts(profile);
 *	seep_leak_check_fill(profile, scan, plan);
 */
#ifndef SEEP_RECORDER_LEAK_CHECK_H
#define SEEP_RECORDER_LEAK_CHECK_H

#include "analysis/suppressions.h"
#include "profile/profile.h"
#include "recorder/ledger_control.h"
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
	/*
	 * Show what a process asked to be told while it runs; any thread; NULL: nobody. @profile is
	 * NULL if it could not be scanned, since @why_not.
	 */
	void (*report)(const struct seep_profile *profile, const char *why_not);
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
 * seep_leak_check_fill - fill in @profile->leaks and @profile->scan
 * @profile: of the scanned process, loaded after the scan, with names and hashes
 * @scan:    the states of suppressed blocks change
 *
 * Suppressions that cannot be read any more become a caveat.
 */
void seep_leak_check_fill(struct seep_profile *profile, struct seep_leak_scan *scan,
			  const struct seep_leak_check_plan *plan);

/**
 * seep_leak_check_suppress - apply the plan's files to leaks that were judged before
 * @profile: of a recording; leaks change their verdict, not their place
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
void seep_leak_check_none(struct seep_profile *profile, const char *why, ...) SEEP_PRINTF(2, 3);

/* The verdicts of @profile's leaks: bits of enum seep_verdict. */
uint32_t seep_leak_check_verdicts(const struct seep_profile *profile);

#endif
