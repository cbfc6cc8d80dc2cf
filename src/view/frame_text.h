/* SPDX-License-Identifier: MIT */
/* One frame as text: its name and its place in the source. Not escaped: the printer does that. */
#ifndef SEEP_VIEW_FRAME_TEXT_H
#define SEEP_VIEW_FRAME_TEXT_H

#include "base/xalloc.h"
#include "profile/profile.h"

enum seep_name_form {
	SEEP_NAME_WHOLE, /* with return type, parameters and template arguments */
	SEEP_NAME_SHORT, /* the name alone, 500 bytes of it at most: compilers make any length */
	SEEP_NAME_BRIEF, /* with one template argument at most: "map<int, …>::at" */
};

/*
 * What @frame, one of the profile's, is called; without a name "libfoo.so + 0x1a2b", or the bare
 * address. What libstdc++ allocates as it starts is called "C++ emergency pool".
 */
char *seep_frame_name(const struct seep_profile *profile, const struct seep_profile_frame *frame,
		      enum seep_name_form form) SEEP_RETURNS_MEMORY;

/*
 * Where @frame stands: "src/load.c:12", relative to the directory the program was started in where
 * it is below that; the module for a frame whose file is not known; "" for one that is named by its
 * module.
 */
char *seep_frame_place(const struct seep_profile *profile, const struct seep_profile_frame *frame,
		       bool line) SEEP_RETURNS_MEMORY;

/*
 * How often recursion was folded, with a space before it: " ×17", " ×18 (period 2)", " ×65536+"
 * when that or more; "" when it was not, or not in the deepest stack.
 */
char *seep_frame_repeats(const struct seep_profile_stack_entry *entry) SEEP_RETURNS_MEMORY;

#endif
