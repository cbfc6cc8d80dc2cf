/* SPDX-License-Identifier: MIT */
/* Paths as text. */
#ifndef SEEP_BASE_PATH_H
#define SEEP_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* What follows the last slash of @path; @path itself when nothing does. */
const char *seep_path_base(const char *path);

/* The folder that @path lies in, "." or "/" too. Release with free(). */
char *seep_path_folder(const char *path) __attribute__((returns_nonnull));

/*
 * @path without its @cut_bytes last ones, as much as leaves room for @suffix in a name, and @suffix.
 * Release with free().
 */
char *seep_path_with_suffix(const char *path, size_t cut_bytes, const char *suffix)
	__attribute__((returns_nonnull));

/* Do both name one place? It may be empty; links at its end are not followed. */
bool seep_path_is_same(const char *a, const char *b);

/* Do both lead to one file or folder, now, through whatever links? */
bool seep_path_is_same_file(const char *a, const char *b);

/* @path without "//", "/./" and "NAME/..", by its text alone. Release with free(). */
char *seep_path_normal(const char *path) __attribute__((returns_nonnull));

/* Does @text begin so, or as one of a list that NULL ends? */
bool seep_begins_with(const char *text, const char *begin);
bool seep_begins_among(const char *text, const char *const *begins);

#endif
