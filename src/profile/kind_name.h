/* SPDX-License-Identifier: MIT */
/* What the numbers that a profile takes over from the ledger are called. Stable: part of the JSON. */
#ifndef SEEP_PROFILE_KIND_NAME_H
#define SEEP_PROFILE_KIND_NAME_H

#include <stdint.h>

/* "malloc", "calloc", ... "aligned new[]"; "unknown" for a number from a newer ledger. */
const char *seep_profile_kind_name(uint8_t kind);

/* "all", "scoped", "off" or "unknown". */
const char *seep_profile_mode_name(uint32_t mode);

#endif
