/* SPDX-License-Identifier: MIT */
#include "analysis/leak_evidence.h"

#include "base/path.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "profile/verdict.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	const char *pointer; /* "a pointer ..." */
} rules[SCAN_RULE_COUNT] = {
	[SCAN_RULE_START] = { "start", "to its start" },
	[SCAN_RULE_NEW_ARRAY] = { "new-array", "behind the count of a new[]" },
	[SCAN_RULE_ZERO_ARRAY] = { "zero-array", "behind the count of a new[] of nothing" },
	[SCAN_RULE_SECOND_BASE] = { "second-base", "to another base class of a C++ object" },
	[SCAN_RULE_STRING] = { "string", "to the text behind a string's header" },
	[SCAN_RULE_LENGTH] = { "length", "behind a word that holds its length" },
	[SCAN_RULE_HASH_TABLE] = { "hash-table", "behind the buckets of a hash table of Rust's" },
	[SCAN_RULE_STACK_POINTER] = { "stack-pointer", "of a thread whose stack it is" },
	[SCAN_RULE_THREAD_VECTOR] = { "thread-vector",
				      "of a thread, whose vector of thread-local storage it is" },
	[SCAN_RULE_INTERIOR] = { "interior", "into its middle" },
	[SCAN_RULE_LOW_TAG] = { "low-tag", "to its start with low bits set" },
	[SCAN_RULE_UNREADABLE] = { "unreadable", "that the program may not read" },
	[SCAN_RULE_UNREAD] = { "unread", NULL },
	[SCAN_RULE_HIGH_TAG] = { "high-tag", "to its start with other upper bits" },
	[SCAN_RULE_UNALIGNED] = { "unaligned", "to its start" },
	[SCAN_RULE_LOST_BEFORE] = { "lost-before", "to its start" },
};

static const char *const roots[SCAN_ROOT_COUNT] = {
	[SCAN_ROOT_GLOBAL] = "the data of a module",
	[SCAN_ROOT_TLS] = "thread-local storage",
	[SCAN_ROOT_REGION] = "memory that the program registered as a root",
	[SCAN_ROOT_MAPPING] = "a mapping outside the heap",
	[SCAN_ROOT_EPOLL] = "what the kernel keeps for epoll",
	[SCAN_ROOT_TIMER] = "what the kernel keeps for a timer",
	[SCAN_ROOT_REGISTER] = "a register of a thread",
	[SCAN_ROOT_STACK] = "the stack of a thread",
	[SCAN_ROOT_IGNORED] = "an ignored block",
};

const char *seep_scan_rule_name(unsigned rule)
{
	return rule < SCAN_RULE_COUNT ? rules[rule].name : NULL;
}

/* The live block that @address is in, NULL: none. */
static const struct scan_block *block_at(const struct scan_result *result, uint64_t address)
{
	const size_t upto = seep_search_upto(result->all, result->all_count, sizeof(*result->all),
					     address);
	const struct scan_block *block = upto ? &result->all[upto - 1] : NULL;

	return block && address - block->address < block->size ? block : NULL;
}

_Static_assert(offsetof(struct scan_block, address) == 0, "for seep_search_upto()");

char *seep_leak_evidence(const struct scan_result *result, uint64_t block, unsigned verdict)
{
	const struct scan_block *lost = scan_result_block(result, block), *holder;
	const char *pointer = rules[lost->rule].pointer, *root = roots[lost->root];
	const uint64_t from = scan_result_from(result, block);
	char at[64];

	if (lost->rule == SCAN_RULE_UNREAD && verdict == SEEP_VERDICT_MAYBE_LOST)
		return seep_xstrdup(
			"no pointer to it was found, but not all that may hold one could be "
			"read");
	if (lost->rule == SCAN_RULE_NONE || from == 0 || verdict == SEEP_VERDICT_RUNTIME ||
	    (lost->rule < SCAN_RULE_HINTS && verdict != SEEP_VERDICT_MAYBE_LOST))
		return NULL;
	/* A register has no address, nor has what the kernel keeps. */
	if (from >> LEDGER_ADDRESS_BITS)
		snprintf(at, sizeof(at), "in %s", root ? root : roots[SCAN_ROOT_REGISTER]);
	else
		snprintf(at, sizeof(at), "at 0x%" PRIx64, from);
	if (lost->rule >= SCAN_RULE_HINTS)
		return seep_xasprintf(
			"a pointer %s is %s; %s", pointer, at,
			lost->rule == SCAN_RULE_LOST_BEFORE
				? "it was lost in an earlier scan and has not changed "
				  "since, so that the word may be an old one"
			: lost->rule == SCAN_RULE_UNALIGNED
				? "pointers are followed only where their address "
				  "is a multiple of 8"
				: "tagged pointers are not followed");
	holder = scan_result_in_root(result, block) ? NULL : block_at(result, from);
	if (holder)
		return seep_xasprintf(
			"a pointer %s is %s, %" PRIu64 " bytes into a block that is %s", pointer,
			at, from - holder->address,
			holder->state == SCAN_REACHABLE ? "reachable" : "itself not surely held");
	if (!root || from >> LEDGER_ADDRESS_BITS)
		return seep_xasprintf("a pointer %s is %s", pointer, at);
	return seep_xasprintf("a pointer %s is %s, in %s", pointer, at, root);
}

char *seep_reach_evidence(unsigned rule, unsigned root)
{
	if (!rules[rule].pointer || !roots[root])
		return NULL;
	return seep_xasprintf("a pointer %s; the chain of pointers begins in %s",
			      rules[rule].pointer, roots[root]);
}

bool seep_leak_is_startup(const struct seep_profile *profile,
			  const struct seep_profile_context *context)
{
	bool started = false;

	if (context->truncated || context->cut)
		return false;
	for (uint32_t i = context->stack_count; i-- > 0;) {
		const struct seep_profile_frame *frame = &profile->frames[context->stack[i].frame];
		const char *name = frame->function ? frame->function : "";
		const char *path = seep_profile_frame_path(profile, frame);
		const char *file = path ? seep_path_base(path) : "";

		/* A library's constructor, before anything of the program has run. */
		if (i + 1 == context->stack_count && seep_begins_with(file, "ld-"))
			return true;
		if (seep_begins_with(name, "__libc_csu_init") ||
		    seep_begins_with(name, "call_init"))
			return true;
		if (seep_begins_with(name, "__libc_start_main"))
			started = true;
		else if (strcmp(name, "_start") != 0)
			/*
			 * Since glibc 2.34 another function of it stands between here and main().
			 */
			return started && *name && strcmp(name, "main") != 0 &&
			       !seep_begins_with(file, "libc");
	}
	return false;
}
