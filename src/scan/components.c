/* SPDX-License-Identifier: MIT */
/*
 * Strongly connected components by Tarjan's algorithm ("Depth-first search and linear graph algorithms",
 * 1972), with a list for a stack. Then everything lost is given to the first root that leads to it.
 */
#include "scan/components.h"

#include "core/bits.h"

#define NONE UINT32_MAX

struct node {
	uint64_t next_edge; /* while it is on the path */
	uint32_t order;	    /* of discovery, from 1; 0: not yet */
	uint32_t low;	    /* least order that it and those behind it lead back to */
	uint32_t component; /* its number, from 1; 0: not known yet */
	uint32_t row;	    /* of a lost block; NONE of another */
};

struct state {
	const struct scan_result *result;
	struct node *nodes; /* by block */
	uint8_t *roles;
	uint32_t *leaders; /* of a block, or NONE */
	uint32_t *path;	   /* from where the search began to where it is */
	uint32_t *members; /* of components that are complete, one after the other */
	uint32_t *open;	   /* blocks whose component is not complete */
	uint32_t *of_row;  /* how many of a row are in the component at hand */
	uint8_t *is_led;   /* by component: another one points to it */
	uint32_t open_count, path_count, member_count, component_count, found;
};

static bool is_lost(const struct state *s, uint32_t block)
{
	return s->nodes[block].row != NONE;
}

static void *take(const struct scan_memory *memory, uint64_t count, uint64_t size)
{
	return memory->allocate(memory->user, (count + 1) * size);
}

static bool take_arrays(struct state *s, const struct scan_memory *memory)
{
	uint64_t n = s->result->block_count;
	uint32_t rows = 0;

	for (uint32_t i = 0; i < n; i++)
		rows = s->result->blocks[i].row > rows ? s->result->blocks[i].row : rows;
	s->nodes = take(memory, n, sizeof(*s->nodes));
	s->roles = take(memory, n, sizeof(*s->roles));
	s->leaders = take(memory, n, sizeof(*s->leaders));
	s->path = take(memory, n, sizeof(*s->path));
	s->members = take(memory, n, sizeof(*s->members));
	s->open = take(memory, n, sizeof(*s->open));
	s->is_led = take(memory, n, sizeof(*s->is_led));
	s->of_row = take(memory, rows, sizeof(*s->of_row));
	return s->nodes && s->roles && s->leaders && s->path && s->members && s->open &&
	       s->is_led && s->of_row;
}

static void discover(struct state *s, uint32_t block)
{
	s->nodes[block].order = s->nodes[block].low = ++s->found;
	s->nodes[block].next_edge = s->result->first_edge[block];
	s->path[s->path_count++] = block;
	s->open[s->open_count++] = block;
}

static void lead_back(struct state *s, uint32_t block, uint32_t order)
{
	if (order < s->nodes[block].low)
		s->nodes[block].low = order;
}

/* All open blocks from @block on are one component. */
static void close_component(struct state *s, uint32_t block)
{
	uint32_t member;

	s->component_count++;
	do {
		member = s->open[--s->open_count];
		s->nodes[member].component = s->component_count;
		s->members[s->member_count++] = member;
	} while (member != block);
}

static void search_from(struct state *s, uint32_t start)
{
	discover(s, start);
	while (s->path_count) {
		uint32_t block = s->path[s->path_count - 1];
		struct node *node = &s->nodes[block];

		if (node->next_edge < s->result->first_edge[block + 1]) {
			uint32_t to = s->result->edges[node->next_edge++];

			if (!is_lost(s, to) || s->nodes[to].component)
				continue;
			if (!s->nodes[to].order)
				discover(s, to);
			else
				lead_back(s, block, s->nodes[to].order);
			continue;
		}
		s->path_count--;
		if (node->low == node->order)
			close_component(s, block);
		if (s->path_count)
			lead_back(s, s->path[s->path_count - 1], node->low);
	}
}

static void note_led(struct state *s)
{
	const struct scan_result *r = s->result;

	for (uint32_t i = 0; i < r->block_count; i++)
		for (uint64_t e = r->first_edge[i]; is_lost(s, i) && e < r->first_edge[i + 1];
		     e++) {
			const struct node *to = &s->nodes[r->edges[e]];

			/* 0 of what is not lost. */
			s->is_led[to->component] |= s->nodes[i].component != to->component;
		}
}

/* The one member of its row where another row has several; NONE if several rows have but one, or none has. */
static uint32_t owner_of(struct state *s, const uint32_t *members, uint32_t count)
{
	uint32_t owner = NONE, singles = 0;

	for (uint32_t k = 0; k < count; k++)
		s->of_row[s->nodes[members[k]].row]++;
	for (uint32_t k = 0; k < count; k++)
		if (s->of_row[s->nodes[members[k]].row] == 1) {
			owner = members[k];
			singles++;
		}
	for (uint32_t k = 0; k < count; k++)
		s->of_row[s->nodes[members[k]].row] = 0;
	return singles == 1 && count > 1 ? owner : NONE;
}

static uint32_t first_of(const struct state *s, const uint32_t *members, uint32_t count)
{
	uint32_t first = members[0];

	for (uint32_t k = 1; k < count; k++) {
		uint32_t row = s->nodes[members[k]].row;

		if (row < s->nodes[first].row || (row == s->nodes[first].row && members[k] < first))
			first = members[k];
	}
	return first;
}

/* Leaders of components that no other one points to. */
static void choose_leaders(struct state *s)
{
	uint32_t count;

	for (uint32_t at = 0; at < s->member_count; at += count) {
		const uint32_t *members = &s->members[at];
		uint32_t component = s->nodes[members[0]].component, leader;

		for (count = 1; at + count < s->member_count; count++)
			if (s->nodes[members[count]].component != component)
				break;
		if (s->is_led[component])
			continue;
		leader = owner_of(s, members, count);
		if (leader == NONE) {
			leader = first_of(s, members, count);
			s->roles[leader] = count > 1 ? SCAN_ROLE_CYCLE : SCAN_ROLE_ROOT;
		} else {
			s->roles[leader] = SCAN_ROLE_ROOT;
		}
		s->leaders[leader] = leader;
	}
}

/* Everything that can be reached from a leader and has none. */
static void lead(struct state *s, uint32_t leader)
{
	uint32_t todo = 0;

	s->path[todo++] = leader;
	while (todo) {
		uint32_t block = s->path[--todo];

		for (uint64_t e = s->result->first_edge[block];
		     e < s->result->first_edge[block + 1]; e++) {
			uint32_t to = s->result->edges[e];

			if (!is_lost(s, to) || s->leaders[to] != NONE)
				continue;
			s->leaders[to] = leader;
			s->roles[to] = SCAN_ROLE_WITH;
			s->path[todo++] = to;
		}
	}
}

int scan_components(const struct scan_memory *memory, const struct scan_result *result,
		    uint8_t **ret_roles, uint32_t **ret_leaders)
{
	struct state s = { .result = result };

	if (!take_arrays(&s, memory))
		return -SCAN_ENOMEM;
	for (uint32_t i = 0; i < result->block_count; i++) {
		s.leaders[i] = NONE;
		s.nodes[i].row = result->blocks[i].state == SCAN_LOST ? result->blocks[i].row
								      : NONE;
	}
	for (uint32_t i = 0; i < result->block_count; i++)
		if (is_lost(&s, i) && !s.nodes[i].order)
			search_from(&s, i);
	note_led(&s);
	choose_leaders(&s);
	for (uint32_t i = 0; i < result->block_count; i++)
		if (s.leaders[i] == i)
			lead(&s, i);
	*ret_roles = s.roles;
	*ret_leaders = s.leaders;
	return 0;
}
