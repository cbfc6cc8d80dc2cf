/* SPDX-License-Identifier: MIT */
#include "analysis/leak_evidence.h"

#include "base/search.h"
#include "base/xalloc.h"
#include "profile/verdict.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	const char *pointer; /* "a pointer ..." */
} rules[SCAN_RULE_COUNT] = {
	[SCAN_RULE_START] = { "start", "to its begin" },
	[SCAN_RULE_NEW_ARRAY] = { "new-array", "behind the count of a new[]" },
	[SCAN_RULE_ZERO_ARRAY] = { "zero-array", "behind the count of a new[] of nothing" },
	[SCAN_RULE_SECOND_BASE] = { "second-base", "to another base class of a C++ object" },
	[SCAN_RULE_STRING] = { "string", "to the text of a reference-counted string" },
	[SCAN_RULE_LENGTH] = { "length", "behind a word that holds its length" },
	[SCAN_RULE_STACK_POINTER] = { "stack-pointer", "of a thread whose stack it is" },
	[SCAN_RULE_THREAD_VECTOR] = { "thread-vector",
				      "of a thread, whose vector of thread-local storage it is" },
	[SCAN_RULE_INTERIOR] = { "interior", "into its middle" },
	[SCAN_RULE_LOW_TAG] = { "low-tag", "to its begin with low bits set" },
	[SCAN_RULE_HIGH_TAG] = { "high-tag", "to its begin with other upper bits" },
	[SCAN_RULE_UNALIGNED] = { "unaligned", "to its begin" },
	[SCAN_RULE_PAST_END] = { "past-end", "to the byte behind it" },
};

static const char *const roots[SCAN_ROOT_COUNT] = {
	[SCAN_ROOT_GLOBAL] = "the data of a module",
	[SCAN_ROOT_TLS] = "thread-local storage",
	[SCAN_ROOT_REGION] = "memory that the program registered as a root",
	[SCAN_ROOT_MAPPING] = "a mapping outside the heap",
	[SCAN_ROOT_REGISTER] = "a register of a thread",
	[SCAN_ROOT_STACK] = "the stack of a thread",
	[SCAN_ROOT_IGNORED] = "an ignored block",
};

const char *seep_scan_rule_name(unsigned rule)
{
	return rule < SCAN_RULE_COUNT ? rules[rule].name : NULL;
}

static const char *root_name(unsigned root)
{
	return root < SCAN_ROOT_COUNT ? roots[root] : NULL;
}

/* The block of the result that @address is in, NULL: none. */
static const struct scan_block *block_at(const struct scan_result *result, uint64_t address)
{
	const size_t upto = seep_search_upto(result->blocks, result->block_count,
					     sizeof(*result->blocks), address);
	const struct scan_block *block = upto ? &result->blocks[upto - 1] : NULL;

	return block && address - block->address < block->size ? block : NULL;
}

_Static_assert(offsetof(struct scan_block, address) == 0, "for seep_search_upto()");

/* Hints: never followed. */
static char *hint_evidence(unsigned rule, uint64_t from)
{
	const char *why = "tagged pointers are not followed";

	if (rule == SCAN_RULE_UNALIGNED)
		why = "pointers are followed only where their address is a multiple of 8";
	else if (rule == SCAN_RULE_PAST_END)
		why = "such pointers are not followed";
	return seep_xasprintf("a pointer %s is at 0x%" PRIx64 "; %s", rules[rule].pointer, from,
			      why);
}

char *seep_leak_evidence(const struct scan_result *result, uint64_t block, unsigned verdict)
{
	const struct scan_block *lost = &result->blocks[block];
	const uint64_t from = result->from[block];
	const char *root = root_name(lost->root);
	const struct scan_block *holder;

	if (!seep_scan_rule_name(lost->rule) || from == 0 || verdict == SEEP_VERDICT_RUNTIME)
		return NULL;
	if (lost->rule >= SCAN_RULE_HINTS)
		return hint_evidence(lost->rule, from);
	if (verdict != SEEP_VERDICT_MAYBE_LOST && verdict != SEEP_VERDICT_STACK_ONLY)
		return NULL;
	holder = block_at(result, from);
	if (holder)
		return seep_xasprintf("a pointer %s is at 0x%" PRIx64 ", %" PRIu64
				      " bytes into a block that is itself not surely held",
				      rules[lost->rule].pointer, from, from - holder->address);
	/* A register has no address. */
	if (lost->root == SCAN_ROOT_REGISTER)
		return seep_xasprintf("a pointer %s is in %s", rules[lost->rule].pointer, root);
	return seep_xasprintf("a pointer %s is at 0x%" PRIx64 "%s%s", rules[lost->rule].pointer,
			      from, root ? ", in " : "", root ? root : "");
}

char *seep_reach_evidence(unsigned rule, unsigned root)
{
	const char *place = root_name(root);

	if (!seep_scan_rule_name(rule) || !place)
		return NULL;
	return seep_xasprintf("a pointer %s; the chain of pointers begins in %s",
			      rules[rule].pointer, place);
}

static const char *file_of(const struct seep_profile *profile,
			   const struct seep_profile_frame *frame)
{
	const char *path = NULL;
	const char *slash;

	if (frame->module > 0 && frame->module <= profile->module_count)
		path = profile->modules[frame->module - 1].path;
	slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path ? path : "";
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
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

		/* A library's constructor, before anything of the program has run. */
		if (i + 1 == context->stack_count && starts_with(file_of(profile, frame), "ld-"))
			return true;
		if (starts_with(name, "__libc_csu_init") || starts_with(name, "call_init"))
			return true;
		if (starts_with(name, "__libc_start_main"))
			started = true;
		else if (strcmp(name, "_start") != 0)
			/* Since glibc 2.34 another function of it stands between here and main(). */
			return started && *name && strcmp(name, "main") != 0 &&
			       !starts_with(file_of(profile, frame), "libc");
	}
	return false;
}
