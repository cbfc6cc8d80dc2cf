/* SPDX-License-Identifier: MIT */
/* What valgrind's formats and heaptrack's have in common. */
#ifndef SEEP_EXPORT_EXPORT_COMMON_H
#define SEEP_EXPORT_EXPORT_COMMON_H

#include "export/export_names.h"

/*
 * A frame as valgrind writes it: "0x401136: main (src/main.c:3)", or "(in MODULE)" where no file
 * is known. The address is as linked. For a number behind those of frames, what seep_trie_no_stack()
 * stands for. Not escaped. Release with free().
 */
char *seep_export_frame_text(const struct seep_profile *profile,
			     uint32_t frame) SEEP_RETURNS_MEMORY;

/* The command line, as a shell reads it; the program alone where it was withheld. Not escaped. */
char *seep_export_command(const struct seep_profile *profile) SEEP_RETURNS_MEMORY;

/* Nanoseconds from the start of the process to @at_ns; 0 for what is before it. */
uint64_t seep_export_elapsed_ns(const struct seep_profile *profile, uint64_t at_ns);

/* To its end; while it runs, to the last thing that is known of it. */
uint64_t seep_export_duration_ns(const struct seep_profile *profile);

/* To its peak; to its end where nobody knows. */
uint64_t seep_export_peak_ns(const struct seep_profile *profile);

#endif
