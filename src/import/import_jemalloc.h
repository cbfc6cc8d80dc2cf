/* SPDX-License-Identifier: MIT */
/* jemalloc's heap_v2, and the text that tcmalloc (gperftools) writes, which is its ancestor. */
#ifndef SEEP_IMPORT_IMPORT_JEMALLOC_H
#define SEEP_IMPORT_IMPORT_JEMALLOC_H

#include "import/import.h"

extern const struct seep_importer seep_import_jemalloc;

#endif
