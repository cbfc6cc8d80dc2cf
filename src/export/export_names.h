/* SPDX-License-Identifier: MIT */
/* What frames, commands and moments are called in files for other programs: the same in all formats. */
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
 * The whole name of the frame with this index, and that of a report where that is another:
 * "main::{lambda()#2}" of what the library calls it by; without a name "libfoo.so + 0x1a2b", or the
 * bare address. UTF-8 without control bytes, since whoever reads the file may show it on a terminal; at
 * least one byte. It lives as long as @names.
 */
const char *seep_export_name(struct seep_export_names *names, uint32_t frame);

/* The same as it is, control bytes and all; release with free(). */
char *seep_export_raw_name(const struct seep_profile *profile,
			   const struct seep_profile_frame *frame) SEEP_RETURNS_MEMORY;

/* The words in place of a stack that is not there, by its context's @other: why. Static storage. */
const char *seep_export_no_stack(bool other);

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

/*
 * A frame as valgrind writes it: "0x401136: main (src/main.c:3)", or "(in MODULE)" where no file
 * is known. The address is as linked. For a number behind those of frames, what seep_trie_no_stack()
 * stands for. Not escaped. Release with free().
 */
char *seep_export_frame_text(const struct seep_profile *profile,
			     uint32_t frame) SEEP_RETURNS_MEMORY;

/* The command line, as a shell reads it; the program alone where it was withheld. Not escaped. */
char *seep_export_command(const struct seep_profile *profile) SEEP_RETURNS_MEMORY;

/*
 * "figures are estimates of tier sampled" where some are: what a format with a place for words says
 * of them. NULL: all are exact. Release with free().
 */
char *seep_export_estimates(const struct seep_profile *profile);

/* Nanoseconds from the start of the process to @at_ns; 0 for what is before it. */
uint64_t seep_export_elapsed_ns(const struct seep_profile *profile, uint64_t at_ns);

/* To its end; while it runs, to the last thing that is known of it. */
uint64_t seep_export_duration_ns(const struct seep_profile *profile);

/* To its peak; to its end where nobody knows. */
uint64_t seep_export_peak_ns(const struct seep_profile *profile);

#endif
