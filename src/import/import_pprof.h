/* SPDX-License-Identifier: MIT */
/* profile.proto, as "go tool pprof" reads it; see base/pprof.proto. */
#ifndef SEEP_IMPORT_IMPORT_PPROF_H
#define SEEP_IMPORT_IMPORT_PPROF_H

#include "import/import.h"

extern const struct seep_importer seep_import_pprof;

#endif
