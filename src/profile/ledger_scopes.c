/* SPDX-License-Identifier: MIT */
/* Scopes of a ledger: equal ones, which threads that met them at once may have added, are one. */
#include "base/idtable.h"
#include "core/bits.h"
#include "profile/ledger_figure.h"
#include "profile/ledger_parts.h"

#include <string.h>

enum { TAG_BYTES_MAX = 64 };
_Static_assert((int)SEEP_PROFILE_DURATION_BUCKETS == (int)LEDGER_DURATION_BUCKETS, "durations");

/* The place of the scope; 0: there is none. */
uint32_t seep_ledger_scope(const struct seep_ledger_load *load, uint32_t number)
{
	return number && number <= load->scope_count ? load->scopes[number - 1] : 0;
}

static uint32_t add_scope(struct seep_ledger_load *load, uint32_t parent, char *tag)
{
	struct seep_profile *profile = load->profile;
	const uint64_t hash = seep_hash_text(seep_hash_mix(1, parent), tag);
	size_t at = SEEP_IDTABLE_START;
	struct seep_profile_scope *scope;
	uint32_t index;

	while ((index = seep_idtable_find(&load->scope_ids, hash, &at)) != SEEP_IDTABLE_NONE)
		if (profile->scopes[index].parent == parent &&
		    strcmp(profile->scopes[index].tag, tag) == 0)
			return index + 1;
	scope = seep_profile_add(profile, SEEP_ARRAY_SCOPES);
	scope->parent = parent;
	scope->tag = tag;
	seep_idtable_add(&load->scope_ids, hash, profile->scope_count - 1);
	return profile->scope_count;
}

/* A parent comes before its children: one that does not is damage, and no parent. */
void seep_ledger_load_scopes(struct seep_ledger_load *load)
{
	const uint64_t count = load->view.count[LEDGER_TABLE_SCOPES];

	load->scopes = seep_ledger_grow(load->scopes, &load->scope_count, count,
					sizeof(*load->scopes));
	for (uint32_t i = 0; i < load->scope_count; i++) {
		const struct ledger_scope *item = ledger_view_scope(&load->view, i);
		uint32_t parent;
		char *tag;

		if (load->scopes[i] || !item || !LEDGER_GET(item->ready))
			continue;
		parent = item->parent <= i ? seep_ledger_scope(load, item->parent) : 0;
		tag = seep_ledger_text(load, item->tag, TAG_BYTES_MAX);
		load->scopes[i] = add_scope(load, parent,
					    tag ? tag : seep_profile_strdup(load->profile, "?"));
	}
}

static void add_times(struct seep_profile_scope *to, const struct ledger_entries *from)
{
	const uint64_t least = LEDGER_GET(from->least_ns), most = LEDGER_GET(from->most_ns);
	const uint64_t first = LEDGER_GET(from->first_ns), last = LEDGER_GET(from->last_ns);

	if (least && (!to->least_ns || least - 1 < to->least_ns - 1))
		to->least_ns = least;
	to->most_ns = core_larger(to->most_ns, most);
	if (first && (!to->first_ns || first < to->first_ns))
		to->first_ns = first;
	to->last_ns = core_larger(to->last_ns, last);
}

void seep_ledger_load_entries(struct seep_ledger_load *load)
{
	struct seep_profile *profile = load->profile;
	const uint64_t count = load->view.count[LEDGER_TABLE_ENTRIES];

	for (uint32_t i = 0; i < profile->scope_count; i++)
		profile->scopes[i] = (struct seep_profile_scope){
			.tag = profile->scopes[i].tag, .parent = profile->scopes[i].parent
		};
	for (uint64_t i = 0; i < count; i++) {
		const struct ledger_entries *from = ledger_view_entries(&load->view, i);
		const uint32_t place = from ? seep_ledger_scope(load, LEDGER_GET(from->scope)) : 0;
		struct seep_profile_scope *to = place ? &profile->scopes[place - 1] : NULL;
		bool possible = true;

		if (!to)
			continue;
#define ADD(name) possible &= seep_ledger_add(&to->name, LEDGER_GET(from->name));
		SEEP_SCOPE_SUMS(ADD)
#undef ADD
		for (int b = 0; b < LEDGER_DURATION_BUCKETS; b++)
			possible &= seep_ledger_add(&to->histogram[b],
						    LEDGER_GET(from->histogram[b]));
		add_times(to, from);
		load->impossible += !possible;
	}
	/* A handler that leaves the library by longjmp() amid an entry leaves one without. */
	for (uint32_t i = 0; i < profile->scope_count; i++) {
		struct seep_profile_scope *scope = &profile->scopes[i];

		scope->entries = core_larger(scope->entries, scope->exits);
	}
}
