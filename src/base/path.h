/* SPDX-License-Identifier: MIT */
/* Paths as text. */
#ifndef SEEP_BASE_PATH_H
#define SEEP_BASE_PATH_H

/* What follows the last slash of @path; @path itself when nothing does. */
const char *seep_path_base(const char *path);

#endif
