/* SPDX-License-Identifier: MIT */
/* For commands that read recordings, when they are given something else. */
#ifndef SEEP_CLI_IMPORT_HINT_H
#define SEEP_CLI_IMPORT_HINT_H

/* Say that "seep import" reads @path, if it does; else nothing. */
void seep_import_hint(const char *path);

#endif
