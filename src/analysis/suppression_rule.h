/* SPDX-License-Identifier: MIT */
/* Rules of suppressions: from text, and compared with call stacks. */
#ifndef SEEP_ANALYSIS_SUPPRESSION_RULE_H
#define SEEP_ANALYSIS_SUPPRESSION_RULE_H

#include "base/arena.h"
#include "base/error.h"
#include "core/glob.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seep_suppression_line {
	enum { SEEP_LINE_FUN, SEEP_LINE_OBJ, SEEP_LINE_SRC, SEEP_LINE_ANY } what;
	struct core_glob pattern;
	const char *demangled; /* of a mangled name without wildcards; else NULL */
};

struct seep_suppression_rule {
	/* SEEP_RULE_RUNTIME: of the default list, runtime_blocks.h. */
	enum { SEEP_RULE_PATTERN, SEEP_RULE_STACK, SEEP_RULE_HASH, SEEP_RULE_RUNTIME } syntax;
	const char *text;	       /* as in the file: "leak:foo"; of a block its name */
	const char *file;	       /* NULL: the default list */
	uint64_t leaks, blocks, bytes; /* that it hit; a finding counts as a leak */
	uint32_t verdicts;	       /* bit by enum seep_verdict: those that it speaks of */
	uint32_t findings; /* bit by enum ledger_finding_kind, 0 for all later ones: the same */
	uint64_t hash;
	struct core_glob pattern; /* SEEP_RULE_PATTERN: of a whole name or path */
	struct seep_suppression_line *lines;
	size_t line_count;
};

struct seep_suppression_rules {
	struct seep_suppression_rule *items;
	size_t count;
};

/**
 * seep_suppression_read - append the rules in a text
 * @name:  of the file, for errors
 * @arena: receives the texts; items are released with free()
 *
 * Returns: 0, or -SEEP_ECORRUPT: nothing was appended, and the sentence names the line.
 */
SEEP_NODISCARD int seep_suppression_read(struct seep_suppression_rules *rules,
					 struct seep_arena *arena, const char *text, size_t bytes,
					 const char *name, struct seep_error *err);

/* A rule with a pattern: it is found in the function, file or module of @frame. */
bool seep_suppression_fits_frame(const struct seep_suppression_rule *rule,
				 const struct seep_profile *profile,
				 const struct seep_profile_frame *frame);

/*
 * A valgrind block: its lines are the innermost frames of @context. valgrind's own stacks begin
 * with the allocation function, ours with its caller: a block may have it or not.
 */
bool seep_suppression_fits_stack(const struct seep_suppression_rule *rule,
				 const struct seep_profile *profile,
				 const struct seep_profile_context *context);

/*
 * Any rule. Patterns match a frame of where @finding was made or its block was allocated; blocks and
 * hashes are compared with the former, and with its own.
 */
bool seep_suppression_fits_finding(const struct seep_suppression_rule *rule,
				   const struct seep_profile *profile,
				   const struct seep_profile_finding *finding);

/* The linkage name of the most usual function of this kind: "malloc", "_Znwm". Static storage. */
const char *seep_suppression_allocation(unsigned kind);

#endif
