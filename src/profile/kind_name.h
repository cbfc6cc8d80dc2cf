/* SPDX-License-Identifier: MIT */
/* What the numbers of a profile are called. Stable: part of the JSON and of recordings. */
#ifndef SEEP_PROFILE_KIND_NAME_H
#define SEEP_PROFILE_KIND_NAME_H

#include "profile/profile.h"

#include <stdint.h>

/* "malloc", "calloc", ... "aligned new[]"; "unknown kind 9" of a newer seep. Static storage. */
const char *seep_profile_kind_name(uint8_t kind);

/* "all", "off" or "unknown". */
const char *seep_profile_mode_name(uint32_t mode);

/* "exact", "counts", "sampled"; "mixed": the last two, one after the other. */
const char *seep_profile_tier_name(uint32_t tiers);
uint32_t seep_profile_tiers_value(const char *name);

/* "exit", "killed", ...; "unknown" for a number out of range. */
const char *seep_profile_ended_name(enum seep_profile_ended ended);

/* The reverse; SEEP_ENDED_UNKNOWN for any other name, and for NULL. */
enum seep_profile_ended seep_profile_ended_value(const char *name);

/* "start", "fork", "attach"; NULL: it is not known. And the reverse. */
const char *seep_profile_origin_name(enum seep_profile_origin origin);
enum seep_profile_origin seep_profile_origin_value(const char *name);

#endif
