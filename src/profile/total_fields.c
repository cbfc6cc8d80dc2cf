/* SPDX-License-Identifier: MIT */
#include "profile/total_fields.h"

#include "profile/profile.h"

#include <string.h>

/* clang-format off */
#define AT(field) offsetof(struct seep_profile_totals, field)
#define TOTAL(field, since) { #field, AT(field), since, false }
#define VERIFY(field, since) { "verify_" #field, AT(verify.field), since, false }
/* clang-format on */

const struct seep_total_field seep_total_fields[] = {
	TOTAL(allocs, 2),
	TOTAL(alloc_bytes, 2),
	TOTAL(frees, 2),
	TOTAL(freed_bytes, 2),
	TOTAL(live_blocks, 2),
	TOTAL(live_bytes, 2),
	TOTAL(usable_bytes, 2),
	TOTAL(peak_bytes, 2),
	TOTAL(peak_at_ns, 2),
	{ "peak_exact", AT(peak_exact), 2, true },
	TOTAL(peak_error_bytes, 2),
	TOTAL(temporary, 2),
	TOTAL(temporary_bytes, 2),
	TOTAL(threads, 2),
	TOTAL(untracked_frees, 2),
	TOTAL(missed_frees, 2),
	TOTAL(inherited_frees, 2),
	TOTAL(inherited_freed_bytes, 2),
	TOTAL(dropped, 2),
	TOTAL(in_doubt, 2),
	TOTAL(abandoned, 2),
	TOTAL(unrecorded_children, 2),
	TOTAL(own_bytes, 2),
	TOTAL(walks, 2),
	TOTAL(walks_landed, 2),
	TOTAL(walks_truncated, 2),
	TOTAL(counted_allocs, 4),
	TOTAL(counted_alloc_bytes, 4),
	TOTAL(counted_frees, 4),
	{ "verify_asked", AT(verify.asked), 2, true },
	VERIFY(walks, 2),
	VERIFY(landed, 2),
	VERIFY(truncated, 2),
	VERIFY(differences, 2),
};
const size_t seep_total_field_count = sizeof(seep_total_fields) / sizeof(seep_total_fields[0]);

const struct seep_total_field *seep_total_named(const char *name)
{
	for (size_t i = 0; i < seep_total_field_count; i++)
		if (strcmp(seep_total_fields[i].name, name) == 0)
			return &seep_total_fields[i];
	return NULL;
}

uint64_t seep_total_get(const struct seep_profile_totals *totals,
			const struct seep_total_field *field)
{
	const void *at = (const char *)totals + field->offset;

	return field->is_flag ? *(const bool *)at : *(const uint64_t *)at;
}

void seep_total_set(struct seep_profile_totals *totals, const struct seep_total_field *field,
		    uint64_t value)
{
	void *at = (char *)totals + field->offset;

	if (field->is_flag)
		*(bool *)at = value != 0;
	else
		*(uint64_t *)at = value;
}
