/* SPDX-License-Identifier: MIT */
/* What frames are called in files for other programs: the same in all formats. */
#ifndef SEEP_EXPORT_EXPORT_NAMES_H
#define SEEP_EXPORT_EXPORT_NAMES_H

#include <stdio.h>

#include "base/xalloc.h"
#include "profile/profile.h"

/* Names, made once each: stacks share frames. */
struct seep_export_names {
	const struct seep_profile *profile;
	char **of_frame;
};

/* @profile must outlive it. */
void seep_export_names_init(struct seep_export_names *names, const struct seep_profile *profile);
void seep_export_names_done(struct seep_export_names *names);

/*
 * The whole name of the frame with this index; without a name "libfoo.so + 0x1a2b", or the bare
 * address. UTF-8 without control bytes, since whoever reads the file may show it on a terminal; at
 * least one byte. It lives as long as @names.
 */
const char *seep_export_name(struct seep_export_names *names, uint32_t frame);

/* The same as it is, control bytes and all; release with free(). */
char *seep_export_raw_name(const struct seep_profile *profile,
			   const struct seep_profile_frame *frame) SEEP_RETURNS_MEMORY;

/* The words in place of a stack that has no frames: why; NULL: it has some. Static storage. */
const char *seep_export_no_stack(const struct seep_profile_context *context);

/*
 * Write @text as an item of a list that has ';' between: with ':' for each of its own; and @twice
 * doubled, unless that is 0.
 */
void seep_export_put(FILE *out, const char *text, char twice);

/*
 * How many of the entries from @stack on are of one address: calls inlined there, then the function
 * that is on the stack. At most @count, which is at least 1.
 */
uint32_t seep_export_address(const struct seep_profile *profile,
			     const struct seep_profile_stack_entry *stack, uint32_t count);

/* An address in the process that is inside of @frame's call: return addresses are behind it. */
uint64_t seep_export_pc(const struct seep_profile *profile, const struct seep_profile_frame *frame);

#endif
