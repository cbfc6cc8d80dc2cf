/* SPDX-License-Identifier: MIT */
/*
 * Strongly connected components by Tarjan's algorithm ("Depth-first search and linear graph
 * algorithms", 1972), with a list for a stack. Then everything lost is given to the first root that
 * leads to it.
 */
#include "scan/components.h"

#include "core/bits.h"

#define NONE UINT32_MAX

struct node {
	uint64_t next_edge; /* while it is on the path */
	uint32_t order;	    /* of discovery, from 1; 0: not yet */
	uint32_t low;	    /* least order that it and those behind it lead back to */
	uint32_t component; /* 1 + where its members begin; 0: it is not complete yet */
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
	uint32_t open_count, path_count, member_count, found;
};

static bool is_lost(const struct state *s, uint32_t block)
{
	return s->nodes[block].row != NONE;
}

static void take_arrays(struct state *s, struct seep_arena *arena)
{
	uint64_t n = s->result->block_count;
	uint32_t rows = 0;

	for (uint32_t i = 0; i < n; i++)
		rows = s->result->blocks[i].row > rows ? s->result->blocks[i].row : rows;
	s->nodes = seep_arena_calloc(arena, n, sizeof(*s->nodes));
	s->roles = seep_arena_calloc(arena, n, sizeof(*s->roles));
	s->leaders = seep_arena_calloc(arena, n, sizeof(*s->leaders));
	s->path = seep_arena_calloc(arena, n, sizeof(*s->path));
	s->members = seep_arena_calloc(arena, n, sizeof(*s->members));
	s->open = seep_arena_calloc(arena, n, sizeof(*s->open));
	s->of_row = seep_arena_calloc(arena, rows + UINT64_C(1), sizeof(*s->of_row));
}

static void discover(struct state *s, uint32_t block)
{
	s->nodes[block].order = s->nodes[block].low = ++s->found;
	s->nodes[block].next_edge = s->result->first_edge[block];
	s->path[s->path_count++] = block;
	s->open[s->open_count++] = block;
}

/* All open blocks from @block on are one component. */
static void close_component(struct state *s, uint32_t block)
{
	const uint32_t component = s->member_count + 1;
	uint32_t member;

	do {
		member = s->open[--s->open_count];
		s->nodes[member].component = component;
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
				node->low = (uint32_t)core_smaller(node->low, s->nodes[to].order);
			continue;
		}
		s->path_count--;
		if (node->low == node->order)
			close_component(s, block);
		if (s->path_count) {
			struct node *before = &s->nodes[s->path[s->path_count - 1]];

			before->low = (uint32_t)core_smaller(before->low, node->low);
		}
	}
}

/*
 * The one member of its row where another row has several; NONE if several rows have but one, or
 * none has.
 */
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

/*
 * A component is complete when all are that it leads to: seen from the last one to the first, what
 * no leader has led to is a root.
 */
static void choose_leaders(struct state *s)
{
	uint32_t end = s->member_count, first;

	for (; end > 0; end = first) {
		enum scan_role role;
		uint32_t leader;

		first = s->nodes[s->members[end - 1]].component - 1;
		if (s->leaders[s->members[first]] != NONE)
			continue;
		role = SCAN_ROLE_ROOT;
		leader = owner_of(s, &s->members[first], end - first);
		if (leader == NONE) {
			leader = first_of(s, &s->members[first], end - first);
			role = end - first > 1 ? SCAN_ROLE_CYCLE : SCAN_ROLE_ROOT;
		}
		s->roles[leader] = (uint8_t)role;
		s->leaders[leader] = leader;
		lead(s, leader);
	}
}

void scan_components(struct seep_arena *arena, const struct scan_result *result,
		     uint8_t **ret_roles, uint32_t **ret_leaders)
{
	struct state s = { .result = result };

	take_arrays(&s, arena);
	for (uint32_t i = 0; i < result->block_count; i++) {
		s.leaders[i] = NONE;
		s.nodes[i].row = result->blocks[i].state == SCAN_LOST ? result->blocks[i].row
								      : NONE;
	}
	/* Backwards, so that of two leaders the one at the lower address leads to what both do. */
	for (uint32_t i = (uint32_t)result->block_count; i-- > 0;)
		if (is_lost(&s, i) && !s.nodes[i].order)
			search_from(&s, i);
	choose_leaders(&s);
	*ret_roles = s.roles;
	*ret_leaders = s.leaders;
}
