/* SPDX-License-Identifier: MIT */
/* heaptrack's interpreted files, of formats 2 and 3 (versions 1.2 to 1.5). */
#ifndef SEEP_IMPORT_IMPORT_HEAPTRACK_H
#define SEEP_IMPORT_IMPORT_HEAPTRACK_H

#include "import/import.h"

extern const struct seep_importer seep_import_heaptrack;

#endif
