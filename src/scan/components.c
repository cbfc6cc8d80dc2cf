/* SPDX-License-Identifier: MIT */
/*
 * Strongly connected components by Pearce's variant of Tarjan's algorithm ("A space-efficient
 * algorithm for finding strongly connected components", 2016), with a list for a stack. Then
 * everything lost is given to the first root that leads to it.
 */
#include "scan/components.h"

#include "core/bits.h"

#define NONE UINT32_MAX
#define DONE (UINT32_C(1) << 31)

/* There may be many millions of blocks: 17 bytes each. */
struct state {
	const struct scan_result *result;
	/*
	 * By block. 0: not discovered; the order of its discovery, from 1, or the least one that it
	 * leads back to; DONE | where its component's members begin; NONE: it is not lost.
	 */
	uint32_t *index;
	/* From the begin the path of the search, from the end what no component has yet. */
	uint32_t *stack;
	uint32_t *next_edge; /* of the path; when all are searched the leaders, by block, or NONE */
	uint8_t *roles;	     /* of the path: it leads back to a block before it */
	uint32_t *members;   /* of components that are complete, one after the other */
	uint32_t *of_row;    /* how many of a row are in the component at hand */
	uint32_t path_count, left_count, member_count, found;
};

static uint32_t row_of(const struct state *s, uint32_t block)
{
	return scan_result_block(s->result, block)->row;
}

static void take_arrays(struct state *s, struct seep_arena *kept, struct seep_arena *own)
{
	const uint64_t n = s->result->block_count;
	uint32_t rows = 0;

	s->roles = seep_arena_calloc(kept, n, sizeof(*s->roles));
	s->next_edge = seep_arena_calloc(kept, n, sizeof(*s->next_edge));
	s->index = seep_arena_calloc(own, n, sizeof(*s->index));
	s->stack = seep_arena_calloc(own, n, sizeof(*s->stack));
	s->members = seep_arena_calloc(own, n, sizeof(*s->members));
	for (uint32_t i = 0; i < n; i++) {
		rows = (uint32_t)core_larger(rows, row_of(s, i));
		if (scan_result_block(s->result, i)->state != SCAN_LOST)
			s->index[i] = NONE;
	}
	s->of_row = seep_arena_calloc(own, rows + UINT64_C(1), sizeof(*s->of_row));
}

static void discover(struct state *s, uint32_t block)
{
	s->index[block] = ++s->found;
	s->next_edge[s->path_count] = s->result->first_edge[block];
	s->stack[s->path_count++] = block;
}

/* Where the last block without a component is on the stack. */
static uint32_t *last_left(const struct state *s)
{
	return &s->stack[s->result->block_count - s->left_count];
}

/* @block and what was left behind it are one component. */
static void close_component(struct state *s, uint32_t block)
{
	const uint32_t component = DONE | s->member_count, first = s->index[block];

	for (; s->left_count && s->index[*last_left(s)] >= first; s->left_count--) {
		s->index[*last_left(s)] = component;
		s->members[s->member_count++] = *last_left(s);
	}
	s->index[block] = component;
	s->members[s->member_count++] = block;
}

/* The last block of the path has no more edges. */
static void leave(struct state *s, uint32_t block)
{
	s->path_count--;
	if (s->roles[block]) {
		s->left_count++;
		*last_left(s) = block;
	} else {
		close_component(s, block);
	}
}

static void search_from(struct state *s, uint32_t start)
{
	discover(s, start);
	while (s->path_count) {
		const uint32_t block = s->stack[s->path_count - 1];
		uint32_t *edge = &s->next_edge[s->path_count - 1], to;

		if (*edge == s->result->first_edge[block + 1]) {
			leave(s, block);
			continue;
		}
		to = s->result->edges[*edge];
		if (!s->index[to]) {
			discover(s, to); /* and to this edge again, when it is searched */
			continue;
		}
		if (s->index[to] < s->index[block]) {
			s->index[block] = s->index[to];
			s->roles[block] = true;
		}
		(*edge)++;
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
		s->of_row[row_of(s, members[k])]++;
	for (uint32_t k = 0; k < count; k++)
		if (s->of_row[row_of(s, members[k])] == 1) {
			owner = members[k];
			singles++;
		}
	for (uint32_t k = 0; k < count; k++)
		s->of_row[row_of(s, members[k])] = 0;
	return singles == 1 && count > 1 ? owner : NONE;
}

static uint32_t first_of(const struct state *s, const uint32_t *members, uint32_t count)
{
	uint32_t first = members[0];

	for (uint32_t k = 1; k < count; k++) {
		const uint32_t row = row_of(s, members[k]);

		if (row < row_of(s, first) || (row == row_of(s, first) && members[k] < first))
			first = members[k];
	}
	return first;
}

/* Everything that can be reached from a leader and has none. */
static void lead(struct state *s, uint32_t *leaders, uint32_t leader)
{
	uint32_t todo = 0;

	s->stack[todo++] = leader;
	while (todo) {
		const uint32_t block = s->stack[--todo];

		for (uint32_t e = s->result->first_edge[block];
		     e < s->result->first_edge[block + 1]; e++) {
			const uint32_t to = s->result->edges[e];

			if (s->index[to] == NONE || leaders[to] != NONE)
				continue;
			leaders[to] = leader;
			s->roles[to] = SCAN_ROLE_WITH;
			s->stack[todo++] = to;
		}
	}
}

/*
 * A component is complete when all are that it leads to: seen from the last one to the first, what
 * no leader has led to is a root.
 */
static void choose_leaders(struct state *s, uint32_t *leaders)
{
	uint32_t end = s->member_count, first;

	for (; end > 0; end = first) {
		enum scan_role role;
		uint32_t leader;

		first = s->index[s->members[end - 1]] & ~DONE;
		if (leaders[s->members[first]] != NONE)
			continue;
		role = SCAN_ROLE_ROOT;
		leader = owner_of(s, &s->members[first], end - first);
		if (leader == NONE) {
			leader = first_of(s, &s->members[first], end - first);
			role = end - first > 1 ? SCAN_ROLE_CYCLE : SCAN_ROLE_ROOT;
		}
		s->roles[leader] = (uint8_t)role;
		leaders[leader] = leader;
		lead(s, leaders, leader);
	}
}

void scan_components(struct seep_arena *arena, const struct scan_result *result,
		     uint8_t **ret_roles, uint32_t **ret_leaders)
{
	struct seep_arena *own = seep_arena_new();
	struct state s = { .result = result };

	take_arrays(&s, arena, own);
	/* Backwards, so that of two leaders the one at the lower address leads to what both do. */
	for (uint32_t i = (uint32_t)result->block_count; i-- > 0;)
		if (!s.index[i])
			search_from(&s, i);
	for (uint32_t i = 0; i < result->block_count; i++)
		s.next_edge[i] = NONE;
	choose_leaders(&s, s.next_edge);
	*ret_roles = s.roles;
	*ret_leaders = s.next_edge;
	seep_arena_free(own);
}
