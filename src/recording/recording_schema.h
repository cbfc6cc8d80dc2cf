/* SPDX-License-Identifier: MIT */
/* The schema of version 2, as SQL, and the words and names that writer and reader share. */
#ifndef SEEP_RECORDING_RECORDING_SCHEMA_H
#define SEEP_RECORDING_RECORDING_SCHEMA_H

#include "profile/profile.h"

#include <stddef.h>

extern const char seep_recording_tables_sql[];
extern const char seep_recording_views_sql[];

/* The tables that every recording has, NULL-terminated. */
extern const char *const seep_recording_table_names[];

/* Rows of the table "total": every uint64_t of struct seep_profile_totals, by name. */
struct seep_recording_total {
	const char *name;
	size_t offset;
};
extern const struct seep_recording_total seep_recording_totals[];
extern const size_t seep_recording_total_count;

#endif
