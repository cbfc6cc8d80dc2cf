/* SPDX-License-Identifier: MIT */
/* key=value:key=value, as in SEEP_OPTIONS. */
#ifndef SEEP_RUNTIME_OPTIONS_H
#define SEEP_RUNTIME_OPTIONS_H

#include "runtime/rt.h"

struct rt_options {
	uint64_t mode; /* 0: all, 1: off */
	uint64_t tier; /* 0: exact, 1: counts, 2: sampled */
	uint64_t sample_rate;
	uint64_t size_min;
	uint64_t size_max;
	uint64_t depth;
	uint64_t verify;
	uint64_t ledger_max; /* 0 = by file system and control groups */
	uint64_t exit_wait_ms;
	uint64_t start_wait;	/* 1: wait at the start until a recorder is there */
	uint64_t argv;		/* 0: withhold the arguments */
	uint64_t by_thread;	/* 1: contexts by their thread's name */
	uint64_t forks;		/* so many allocations, and a forked child is not small */
	uint64_t leak_exitcode; /* of __lsan_do_leak_check(); 0: goes on */
	uint64_t fill;	    /* a byte that new memory is filled with; LEDGER_FILL_NONE: it is not */
	uint64_t fill_free; /* the same of freed memory */
	uint64_t guard;	    /* bytes on each side of a block */
	uint64_t quarantine;
	uint64_t free_stacks;
	uint64_t check_every;
	uint64_t guarded_sample;
	uint64_t abort_on_error;
	uint64_t help;
	const char *modules; /* globs with commas in between, or NULL */
	const char *text;    /* all of them as given, or NULL */
};

/* Of this process, once rt_options_read() has given them. */
extern RT_HIDDEN struct rt_options rt_options;

/* The bit of enum ledger_mode for the tier that is asked for. */
static inline uint32_t rt_options_tier(void)
{
	static const uint32_t bits[] = { 0, LEDGER_MODE_COUNTS, LEDGER_MODE_SAMPLED };

	return bits[rt_options.tier];
}

/* The bits of enum ledger_mode for the filters that are asked for. */
static inline uint32_t rt_options_filters(void)
{
	bool sizes = rt_options.size_min || rt_options.size_max != UINT64_MAX;

	return (sizes ? LEDGER_MODE_SIZES : 0) | (rt_options.modules ? LEDGER_MODE_MODULES : 0);
}

/* Blocks have headers of ours: each of these needs one. */
static inline bool rt_options_guards(void)
{
	return rt_options.guard || rt_options.quarantine || rt_options.free_stacks;
}

/*
 * Into rt_options. @text may be NULL, and may change afterwards. False when it has an error or asks for help: then
 * one line (or the list) was written to standard error, and the program is to run unrecorded.
 */
bool rt_options_read(const char *text);

/* A number as options have it: decimal, with K, M or G for powers of 1024. False: @text is none. */
bool rt_options_number(const char *text, uint64_t *ret_value);

#endif
