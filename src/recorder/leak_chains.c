/* SPDX-License-Identifier: MIT */
#include "recorder/leak_chains.h"

#include "analysis/sites.h"
#include "base/xalloc.h"
#include "profile/verdict.h"

#include <stdlib.h>
#include <string.h>

enum { LINKS_MAX = 64 };

struct chains {
	struct seep_profile *profile;
	const struct seep_leak_scan *scan;
	const struct scan *marked;
	struct seep_sites *sites;
};

/* Index + 1, or 0. */
static uint32_t context_of(const struct seep_profile *profile, const struct scan_block *block)
{
	return block->row >= profile->first_row &&
			       block->row - profile->first_row < profile->row_count
		       ? profile->rows[block->row - profile->first_row]
		       : 0;
}

/* What allocated it, or NULL. */
static const char *function_of(const struct chains *c, const struct scan_block *block)
{
	const uint32_t number = context_of(c->profile, block);
	const struct seep_profile_context *context;
	uint32_t first;
	uint32_t end;

	if (number == 0 || c->profile->contexts[number - 1].stack_count == 0)
		return NULL;
	context = &c->profile->contexts[number - 1];
	seep_sites_trim(c->sites, context->stack, context->stack_count, &first, &end);
	return c->profile->frames[context->stack[first].frame].function;
}

static void name_link(const struct chains *c, const struct scan_link *link,
		      struct seep_profile_link *ret)
{
	struct seep_leak_place place;

	*ret = (struct seep_profile_link){ .address = link->from };
	if (link->block) {
		const struct scan_block *block = scan_find(c->marked, link->block);
		const char *function = block ? function_of(c, block) : NULL;

		ret->from = seep_profile_strdup(c->profile, "block");
		ret->name = function ? seep_profile_strdup(c->profile, function) : NULL;
		ret->offset = link->from - link->block;
		return;
	}
	seep_leak_scan_place(c->scan, link, &place);
	ret->from = seep_profile_strdup(c->profile, place.from);
	ret->name = place.name ? seep_profile_strdup(c->profile, place.name) : NULL;
	ret->offset = place.offset;
	ret->address = place.address;
	free(place.from);
	free(place.name);
}

static void add_chain(const struct chains *c, struct seep_profile_leak *leak, uint64_t address)
{
	struct scan_link links[LINKS_MAX];
	const size_t count = scan_chain(c->marked, address, links, LINKS_MAX);

	leak->chain = seep_profile_calloc(c->profile, count + 1, sizeof(*leak->chain));
	leak->chain_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++)
		name_link(c, &links[i], &leak->chain[i]);
}

/* It has no list: any block that is reached and of its context will do. */
static void add_reachable(const struct chains *c)
{
	struct seep_profile *profile = c->profile;
	/* By context: index + 1 of its leak whose chain is missing; the first of several rules. */
	uint32_t *wanted = seep_xcalloc((size_t)profile->context_count + 1, sizeof(*wanted));

	for (uint32_t i = profile->leak_count; i > 0; i--)
		if (profile->leaks[i - 1].verdict == SEEP_VERDICT_REACHABLE)
			wanted[profile->leaks[i - 1].context] = i;
	for (uint64_t i = 0; i < c->marked->block_count; i++) {
		const struct scan_block *block = &c->marked->blocks[i];
		const uint32_t context = context_of(profile, block);

		if (block->state != SCAN_REACHABLE || wanted[context] == 0)
			continue;
		add_chain(c, &profile->leaks[wanted[context] - 1], block->address);
		wanted[context] = 0;
	}
	free(wanted);
}

static bool lists(const struct seep_profile_leak *leak, uint64_t address)
{
	for (uint32_t i = 0; i < leak->block_list_count; i++)
		if (leak->block_list[i].address == address)
			return true;
	return false;
}

/* The leak that this block is part of: it is listed there, or of the same context and reachable. */
static void add_asked(const struct chains *c, uint64_t address)
{
	const struct scan_block *block = scan_find(c->marked, address);
	struct seep_profile_leak *leak = NULL;
	struct seep_profile_leak_block *listed;

	for (uint32_t i = 0; block && !leak && i < c->profile->leak_count; i++) {
		struct seep_profile_leak *other = &c->profile->leaks[i];

		if (block->state == SCAN_REACHABLE
			    ? other->verdict == SEEP_VERDICT_REACHABLE &&
				      other->context == context_of(c->profile, block)
			    : lists(other, block->address))
			leak = other;
	}
	if (!leak)
		return;
	listed = seep_profile_calloc(c->profile, 1, sizeof(*listed));
	listed->address = block->address;
	listed->size = block->size;
	leak->block_list = listed;
	leak->block_list_count = 1;
	add_chain(c, leak, block->address);
}

void seep_leak_chains_add(struct seep_profile *profile, const struct seep_leak_scan *scan,
			  uint64_t address)
{
	const struct chains c = {
		.profile = profile,
		.scan = scan,
		.marked = seep_leak_scan_marked(scan),
		.sites = seep_sites_new(profile),
	};

	for (uint32_t i = 0; i < profile->leak_count && address == 0; i++)
		if (profile->leaks[i].block_list_count > 0)
			add_chain(&c, &profile->leaks[i], profile->leaks[i].block_list[0].address);
	if (address == 0)
		add_reachable(&c);
	else
		add_asked(&c, address);
	seep_sites_free(c.sites);
}
