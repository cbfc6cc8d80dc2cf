/* SPDX-License-Identifier: MIT */
/* The fields of struct seep_profile_totals by name, for who handles all of them alike. */
#ifndef SEEP_PROFILE_TOTAL_FIELDS_H
#define SEEP_PROFILE_TOTAL_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seep_profile_totals;

/* All but the histogram. The names are part of recordings and of JSON. */
struct seep_total_field {
	const char *name;
	size_t offset;
	unsigned since; /* the schema of recordings that brought it */
	bool is_flag;	/* a bool; else a uint64_t, never more than INT64_MAX */
};
extern const struct seep_total_field seep_total_fields[];
extern const size_t seep_total_field_count;

/* The one with this name; NULL: none has it. */
const struct seep_total_field *seep_total_named(const char *name);

/* A flag is 0 or 1. */
uint64_t seep_total_get(const struct seep_profile_totals *totals,
			const struct seep_total_field *field);
void seep_total_set(struct seep_profile_totals *totals, const struct seep_total_field *field,
		    uint64_t value);

#endif
