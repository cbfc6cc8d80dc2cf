/* SPDX-License-Identifier: MIT */
#include "recorder/leak_chains.h"

#include "analysis/sites.h"
#include "base/idtable.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/verdict.h"

#include <stdlib.h>

enum { HALF = 8 }; /* of the ends of a long chain so many are kept */

struct chains {
	struct seep_profile *profile;
	const struct seep_leak_scan *scan;
	const struct scan *marked;
	struct seep_sites *sites;
	struct seep_symbols *symbols; /* NULL: there are none */
	/* Of a search for a circle. By number of a block of the result, + 1: what it was met from. */
	uint32_t *came_from;
	uint32_t *queue, met; /* blocks that were met */
};

/* What allocated it, or NULL. */
static const char *function_of(const struct chains *c, const struct scan_block *block)
{
	const uint32_t number = seep_profile_row_context(c->profile, block->row);
	const struct seep_profile_frame *frame =
		number ? seep_sites_blamed(c->sites, &c->profile->contexts[number - 1]) : NULL;

	return frame ? frame->function : NULL;
}

/* "NAME (MODULE)" where a pointer lies in a variable of a module, and where in it. */
static void name_variable(struct chains *c, const char *path, struct seep_profile_link *link)
{
	const struct seep_profile_module *module = NULL;
	const char *name;

	for (uint32_t i = 0; i < c->profile->module_count && !module; i++)
		if (seep_text_equal(c->profile->modules[i].path, path))
			module = &c->profile->modules[i];
	if (!module || module->by_place || !c->symbols)
		return;
	name = seep_symbol_variable(
		seep_symbols_module(c->symbols, path, module->build_id, module->build_id_bytes),
		link->address - module->bias, &link->offset);
	if (name) {
		SEEP_FREED char *text = seep_xasprintf("%s (%s)", name, seep_path_base(path));

		link->name = seep_profile_strdup(c->profile, text);
	}
}

static void name_block(const struct chains *c, const struct scan_block *block,
		       struct seep_profile_link *ret)
{
	ret->from = seep_profile_strdup(c->profile, "block");
	ret->name = seep_profile_strdup(c->profile, block ? function_of(c, block) : NULL);
}

static void name_link(struct chains *c, const struct scan_link *link, struct seep_profile_link *ret)
{
	struct seep_leak_place place;

	*ret = (struct seep_profile_link){ .address = link->from };
	if (link->block) {
		name_block(c, scan_find(c->marked, link->block), ret);
		ret->offset = link->from - link->block;
		return;
	}
	seep_leak_scan_place(c->scan, link, &place);
	ret->from = seep_profile_strdup(c->profile, place.from);
	ret->name = seep_profile_strdup(c->profile, place.name);
	ret->offset = place.offset;
	ret->address = place.address;
	if (link->root == SCAN_ROOT_GLOBAL && place.name)
		name_variable(c, place.name, ret);
	free(place.from);
	free(place.name);
}

static int by_number(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The number of the block at @address, which is not reachable; block_count: there is none. */
static uint64_t number_of(const struct chains *c, uint64_t address)
{
	const struct scan_result *result = &c->scan->result;
	const struct scan_block *block = scan_find(c->marked, address);
	const uint32_t *at = block ? bsearch(&(uint32_t){ (uint32_t)(block - result->all) },
					     result->unreached, result->block_count, sizeof(*at),
					     by_number)
				   : NULL;

	return at ? (uint64_t)(at - result->unreached) : result->block_count;
}

/*
 * A shortest circle of pointers that leads from the block @start back to it: breadth first, as far
 * as lost blocks go. Its blocks are left in came_from, from @start inwards. Returns how many.
 */
static uint32_t find_circle(struct chains *c, uint32_t start)
{
	const struct scan_result *result = &c->scan->result;
	uint32_t *queue = c->queue, first = 0, end = 0, count = 1;

	/* What the search before has met. */
	while (c->met)
		c->came_from[queue[--c->met]] = 0;
	queue[end++] = start;
	for (; first < end && !c->came_from[start]; first++)
		for (uint32_t e = result->first_edge[queue[first]];
		     e < result->first_edge[queue[first] + 1]; e++) {
			const uint32_t to = result->edges[e];

			if (c->came_from[to])
				continue;
			c->came_from[to] = queue[first] + 1;
			if (to != start)
				queue[end++] = to;
		}
	c->met = end;
	if (!c->came_from[start])
		return 0;
	for (uint32_t i = c->came_from[start] - 1; i != start; i = c->came_from[i] - 1)
		count++;
	return count;
}

/* Room for a chain of @count links, of which the middle of a long one is left out and counted. */
static void begin_chain(const struct chains *c, struct seep_profile_leak *leak, size_t count)
{
	const bool is_long = count > 2 * (size_t)HALF;
	SEEP_STRBUF(more, 64);

	leak->chain_count = is_long ? 2 * HALF + 1 : (uint32_t)count;
	leak->chain = seep_profile_calloc(c->profile, leak->chain_count + 1, sizeof(*leak->chain));
	if (!is_long)
		return;
	seep_strbuf_addf(&more, "%zu more block%s", count - 2 * HALF,
			 count - 2 * HALF == 1 ? "" : "s");
	leak->chain[HALF].from = seep_profile_strdup(c->profile, more.text);
}

/* Link @i of @count; NULL: it is left out. */
static struct seep_profile_link *link_at(const struct seep_profile_leak *leak, size_t i,
					 size_t count)
{
	if (count <= 2 * (size_t)HALF || i < HALF)
		return &leak->chain[i];
	return i >= count - HALF ? &leak->chain[i + leak->chain_count - count] : NULL;
}

/* What points to the first block of a cycle, from there outward, back to the block itself. */
static void add_circle(struct chains *c, struct seep_profile_leak *leak, uint64_t address)
{
	const struct scan_result *result = &c->scan->result;
	const uint64_t start = number_of(c, address);
	uint32_t count, at = (uint32_t)start;

	if (start == result->block_count)
		return;
	count = find_circle(c, at);
	begin_chain(c, leak, count);
	for (uint32_t i = 0; i < count; i++) {
		struct seep_profile_link *link = link_at(leak, i, count);
		const struct scan_block *block;

		at = c->came_from[at] - 1;
		block = scan_result_block(result, at);
		if (!link)
			continue;
		name_block(c, block, link);
		link->address = block->address;
	}
}

static void add_chain(struct chains *c, struct seep_profile_leak *leak, uint64_t address)
{
	struct scan_link links[2 * HALF];
	size_t count;

	if (leak->verdict == SEEP_VERDICT_LOST_CYCLE) {
		add_circle(c, leak, address);
		return;
	}
	count = scan_chain(c->marked, address, links, HALF);
	begin_chain(c, leak, count);
	for (size_t i = 0; i < count; i++) {
		struct seep_profile_link *link = link_at(leak, i, count);

		if (link)
			name_link(c,
				  &links[i < HALF ? i : i + core_smaller(count, 2 * HALF) - count],
				  link);
	}
}

/* It has no list: any block that is reached and of its context will do. */
static void add_reachable(struct chains *c)
{
	struct seep_profile *profile = c->profile;
	/* By context: index + 1 of its leak whose chain is missing; the first of several rules. */
	SEEP_FREED uint32_t *wanted = seep_xcalloc((size_t)profile->context_count + 1,
						   sizeof(*wanted));

	for (uint32_t i = profile->leak_count; i > 0; i--)
		if (profile->leaks[i - 1].verdict == SEEP_VERDICT_REACHABLE)
			wanted[profile->leaks[i - 1].context] = i;
	for (uint64_t i = 0; i < c->marked->block_count; i++) {
		const struct scan_block *block = &c->marked->blocks[i];
		const uint32_t context = seep_profile_row_context(profile, block->row);

		if (block->state != SCAN_REACHABLE || wanted[context] == 0)
			continue;
		add_chain(c, &profile->leaks[wanted[context] - 1], block->address);
		wanted[context] = 0;
	}
}

static bool lists(const struct seep_profile_leak *leak, uint64_t address)
{
	for (uint32_t i = 0; i < leak->block_list_count; i++)
		if (leak->block_list[i].address == address)
			return true;
	return false;
}

/* The leak that this block is part of: it is listed there, or of the same context and reachable. */
static void add_asked(struct chains *c, uint64_t address)
{
	const struct scan_block *block = scan_find(c->marked, address);
	struct seep_profile_leak *leak = NULL;
	struct seep_profile_leak_block *listed;

	for (uint32_t i = 0; block && !leak && i < c->profile->leak_count; i++) {
		struct seep_profile_leak *other = &c->profile->leaks[i];

		if (block->state == SCAN_REACHABLE
			    ? other->verdict == SEEP_VERDICT_REACHABLE &&
				      other->context ==
					      seep_profile_row_context(c->profile, block->row)
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
			  const struct seep_symbols_options *symbols, uint64_t address)
{
	SEEP_FREED uint32_t *came_from = seep_xcalloc(scan->result.block_count, sizeof(*came_from));
	SEEP_FREED uint32_t *queue = seep_xcalloc(scan->result.block_count, sizeof(*queue));
	struct chains c = {
		.profile = profile,
		.scan = scan,
		.marked = &scan->marked,
		.sites = seep_sites_new(profile),
		.came_from = came_from,
		.queue = queue,
	};

	if (seep_symbols_new(symbols, &c.symbols, NULL) == 0)
		seep_symbols_begin(c.symbols);
	for (uint32_t i = 0; i < profile->leak_count && address == 0; i++)
		if (profile->leaks[i].block_list_count > 0)
			add_chain(&c, &profile->leaks[i], profile->leaks[i].block_list[0].address);
	if (address == 0)
		add_reachable(&c);
	else
		add_asked(&c, address);
	if (c.symbols)
		seep_symbols_end(c.symbols);
	seep_symbols_free(c.symbols);
	seep_sites_free(c.sites);
}
