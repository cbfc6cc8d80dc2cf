/* SPDX-License-Identifier: MIT */
/* For commands that read recordings, when they are given something else. */
#ifndef SEEP_CLI_IMPORT_HINT_H
#define SEEP_CLI_IMPORT_HINT_H

#include "base/error.h"

/* Say that "seep import" reads @path, if it does; else nothing. */
void seep_import_hint(const char *path);

/* What to do after @err, with which @path was not read as a recording. */
void seep_open_hint(const char *path, const struct seep_error *err);

#endif
