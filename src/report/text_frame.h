/* SPDX-License-Identifier: MIT */
/* One frame in words: what it is called and where it stands, in the room there is. */
#ifndef SEEP_REPORT_TEXT_FRAME_H
#define SEEP_REPORT_TEXT_FRAME_H

#include "base/strbuf.h"
#include "profile/profile.h"

/* No name takes more, not even where the width is unlimited: compilers make them of any length. */
enum { SEEP_NAME_COLUMNS_MAX = 500 };

/**
 * seep_frame_name - append what @frame is called, escaped
 * @columns: room for it; 0 = SEEP_NAME_COLUMNS_MAX, with @full no limit
 * @full:    with return type, parameters and template arguments
 *
 * Without a name: module and offset, "libfoo.so + 0x1a2b", or the bare address. Too long names
 * lose their template arguments first ("vector<…>::push_back"), then their end.
 */
void seep_frame_name(struct seep_strbuf *buf, const struct seep_profile *profile,
		     const struct seep_profile_frame *frame, size_t columns, bool full);

/**
 * seep_frame_place - append where @frame stands, escaped
 * @columns: room for it; 0 = no limit. Too long paths lose their beginning.
 * @line:    with the line number
 *
 * "src/load.c:12", relative to the directory the program was started in where it is below that;
 * the module for a frame whose file is not known; nothing for one that is named by its module.
 */
void seep_frame_place(struct seep_strbuf *buf, const struct seep_profile *profile,
		      const struct seep_profile_frame *frame, size_t columns, bool line);

/* Append how often recursion was folded: "×17", "×18 (period 2)", "×≤40"; nothing when not. */
void seep_frame_repeats(struct seep_strbuf *buf, unsigned period, unsigned repeats);

/* The module's path, or NULL when it is not known. */
const char *seep_frame_module_path(const struct seep_profile *profile,
				   const struct seep_profile_frame *frame);

#endif
