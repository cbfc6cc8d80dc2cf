/* SPDX-License-Identifier: MIT */
/* Where in the source a call stack is to be mended, as tools name it that have the source: by a
 * path below their root. */
#ifndef SEEP_VIEW_SOURCE_PLACE_H
#define SEEP_VIEW_SOURCE_PLACE_H

#include "analysis/sites.h"

#include <stdbool.h>

/* The folder of the source, under its names: as given, and without links. */
struct seep_source_root {
	char *paths[2];
};

/* Returns 0, or -SEEP_ESYS: there is no such folder. @folder NULL: the working directory. */
SEEP_NODISCARD int seep_source_root_find(struct seep_source_root *root, const char *folder,
					 struct seep_error *err);
void seep_source_root_done(struct seep_source_root *root);

struct seep_source_place {
	const struct seep_profile_frame *frame; /* NULL: there is none */
	char *path;	/* of the source file, or of the module; NULL: neither is known */
	uint32_t line;	/* 0: not known */
	bool is_inside; /* the path is below the root, and relative to it */
};

/* Of one frame. Release with seep_source_place_done(). */
struct seep_source_place seep_source_place(const struct seep_source_root *root,
					   const struct seep_profile *profile,
					   const struct seep_profile_frame *frame);

/*
 * Of a call stack: from its function to blame outwards, the first frame inside the root; else that
 * function. @context NULL: nowhere.
 */
struct seep_source_place seep_source_place_of(const struct seep_source_root *root,
					      const struct seep_sites *sites,
					      const struct seep_profile_context *context);
void seep_source_place_done(struct seep_source_place *place);

#endif
