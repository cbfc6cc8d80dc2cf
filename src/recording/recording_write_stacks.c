/* SPDX-License-Identifier: MIT */
/*
 * Stacks as a tree whose edges are pieces of stacks: what contexts share near the root is written
 * once, and a row for each fork instead of each frame. In the order of the stacks from the root on,
 * a context shares nothing with an earlier one that it does not share with the one before it, and
 * where later ones will leave it is known from what neighbours share. So every piece is written at
 * once.
 */
#include "recording/recording_write_stacks.h"

#include "base/xalloc.h"

#include <stdlib.h>

enum {
	ENTRIES_MAX = 4096,	   /* of one segment, so that no row is very long */
	ENTRY_TEXT_BYTES_MAX = 24, /* "[4294967295,255,65535]," */
};

struct stack {
	const struct seep_profile_stack_entry *entries; /* innermost first */
	uint32_t count;
	uint32_t shared; /* entries from the root that the stack before it has as well */
	uint32_t context;
};

/* A segment that the present stack passes through. */
struct step {
	uint32_t segment;
	uint32_t end; /* entries from the root up to its innermost */
};

struct tree {
	const struct seep_profile *profile;
	struct stack *stacks; /* in order */
	uint32_t *leaves;     /* by context: its innermost segment, 0 = none */
	struct step *path;
	size_t path_count;
	uint32_t *cuts; /* where later stacks leave the present one */
	char *text;
	size_t text_capacity;
	struct seep_row_writer *rows;
};

/* What @stack has at @depth from the root, as a number; 0 = it is over. */
static uint64_t key_at(const struct stack *stack, uint32_t depth)
{
	const struct seep_profile_stack_entry *entry;

	if (depth >= stack->count)
		return 0;
	entry = &stack->entries[stack->count - 1 - depth];
	return ((uint64_t)entry->repeats << 40 | (uint64_t)entry->period << 32 | entry->frame) + 1;
}

static void swap(struct stack *a, struct stack *b)
{
	const struct stack held = *a;

	*a = *b;
	*b = held;
}

/* Those before the middle one's key come first, then its equals. Returns how many of each. */
static void part(struct stack *stacks, uint32_t count, uint32_t depth, uint32_t *ret_less,
		 uint32_t *ret_equal)
{
	const uint64_t pivot = key_at(&stacks[count / 2], depth);
	uint32_t less = 0, at = 0, more = count;

	while (at < more) {
		uint64_t key = key_at(&stacks[at], depth);

		if (key < pivot)
			swap(&stacks[less++], &stacks[at++]);
		else if (key > pivot)
			swap(&stacks[--more], &stacks[at]);
		else
			at++;
	}
	*ret_less = less;
	*ret_equal = more - less;
}

/*
 * Multikey quicksort (Bentley and Sedgewick, 1997): stacks that are equal so far are compared from
 * there on. The largest part is left to the loop, so that the calls nest log2(count) deep at most.
 */
static void sort(struct stack *stacks, uint32_t count, uint32_t depth)
{
	while (count > 1) {
		struct {
			uint32_t first, count, depth;
		} parts[3] = { { .depth = depth }, { .depth = depth + 1 }, { .depth = depth } };
		int largest = 0;

		part(stacks, count, depth, &parts[0].count, &parts[1].count);
		parts[1].first = parts[0].count;
		parts[2].first = parts[0].count + parts[1].count;
		parts[2].count = count - parts[2].first;
		if (key_at(&stacks[parts[1].first], depth) == 0)
			parts[1].count = 0;
		for (int i = 1; i < 3; i++)
			if (parts[i].count > parts[largest].count)
				largest = i;
		for (int i = 0; i < 3; i++)
			if (i != largest)
				sort(stacks + parts[i].first, parts[i].count, parts[i].depth);
		stacks += parts[largest].first;
		count = parts[largest].count;
		depth = parts[largest].depth;
	}
}

static void order_stacks(struct tree *tree)
{
	const uint32_t count = tree->profile->context_count;

	for (uint32_t i = 0; i < count; i++)
		tree->stacks[i] = (struct stack){ .entries = tree->profile->contexts[i].stack,
						  .count = tree->profile->contexts[i].stack_count,
						  .context = i };
	sort(tree->stacks, count, 0);
	for (uint32_t i = 1; i < count; i++) {
		struct stack *stack = &tree->stacks[i];

		while (stack->shared < stack->count &&
		       key_at(stack, stack->shared) == key_at(&stack[-1], stack->shared))
			stack->shared++;
	}
}

static char *add_number(char *at, uint32_t number)
{
	char digits[16];
	int count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (count)
		*at++ = digits[--count];
	return at;
}

/* "[7,12,[5,1,300]]": see docs/recording.md. @text has room. */
static void frames_text(const struct seep_profile_stack_entry *entries, uint32_t count, char *text)
{
	char *at = text;

	for (uint32_t i = 0; i < count; i++) {
		const struct seep_profile_stack_entry *entry = &entries[i];

		*at++ = i ? ',' : '[';
		if (entry->period)
			*at++ = '[';
		at = add_number(at, entry->frame + 1);
		if (entry->period) {
			*at++ = ',';
			at = add_number(at, entry->period);
			*at++ = ',';
			at = add_number(at, entry->repeats);
			*at++ = ']';
		}
	}
	*at++ = ']';
	*at = '\0';
}

/* What @stack has from where the path ends up to @end, counted from the root. */
static void write_segment(struct tree *tree, const struct stack *stack, uint32_t end)
{
	struct step last = { 0, 0 };
	struct seep_segment_row row;
	uint32_t count, id;

	if (tree->path_count)
		last = tree->path[tree->path_count - 1];
	count = end - last.end;
	if (count > ENTRIES_MAX) {
		end -= count - ENTRIES_MAX;
		count = ENTRIES_MAX;
	}
	tree->text = seep_xgrow(tree->text, &tree->text_capacity, count + 1, ENTRY_TEXT_BYTES_MAX);
	row.parent = last.segment;
	row.frames = tree->text;
	frames_text(stack->entries + (stack->count - end), count, tree->text);
	id = (uint32_t)seep_row_put(tree->rows, SEEP_TABLE_SEGMENT, &row);
	*SEEP_APPEND(tree->path, tree->path_count) = (struct step){ id, end };
}

/* From the innermost on: where the stack ends, and where those after it leave what is new in it. */
static size_t find_cuts(struct tree *tree, uint32_t index)
{
	const struct stack *stack = &tree->stacks[index];
	uint32_t end = stack->count;
	size_t count = 0;

	while (end > stack->shared) {
		if (count == 0 || tree->cuts[count - 1] > end)
			*SEEP_APPEND(tree->cuts, count) = end;
		if (++index == tree->profile->context_count)
			break;
		if (tree->stacks[index].shared < end)
			end = tree->stacks[index].shared;
	}
	return count;
}

static void write_stack(struct tree *tree, uint32_t index)
{
	const struct stack *stack = &tree->stacks[index];
	size_t cuts;

	while (tree->path_count && tree->path[tree->path_count - 1].end > stack->shared)
		tree->path_count--;
	for (cuts = find_cuts(tree, index); cuts > 0; cuts--)
		while (!tree->path_count ||
		       tree->path[tree->path_count - 1].end < tree->cuts[cuts - 1])
			write_segment(tree, stack, tree->cuts[cuts - 1]);
	tree->leaves[stack->context] = tree->path_count ? tree->path[tree->path_count - 1].segment
							: 0;
}

static void write_segments(struct seep_row_writer *rows, const struct seep_profile *profile,
			   uint32_t *leaves)
{
	struct tree tree = { .profile = profile, .leaves = leaves, .rows = rows };

	tree.stacks = seep_xcalloc(profile->context_count, sizeof(*tree.stacks));
	order_stacks(&tree);
	for (uint32_t i = 0; i < profile->context_count; i++)
		write_stack(&tree, i);
	free(tree.stacks);
	free(tree.path);
	free(tree.cuts);
	free(tree.text);
}

/* With its innermost segment; 0 = none. */
static void write_context(struct seep_row_writer *rows, const struct seep_profile_context *context,
			  uint32_t leaf)
{
	const struct seep_context_row row = {
		.context = *context,
		.frame = leaf ? context->stack[0].frame + 1 : 0,
		.leaf = leaf,
	};

	(void)seep_row_put(rows, SEEP_TABLE_CONTEXT, &row);
	for (uint32_t e = 0; e < context->epoch_count; e++)
		(void)seep_row_put(rows, SEEP_TABLE_EPOCH,
				   &(struct seep_epoch_row){ context->id, context->epochs[e] });
	if (context->growth)
		(void)seep_row_put(rows, SEEP_TABLE_GROWTH,
				   &(struct seep_growth_row){ context->id, *context->growth });
}

void seep_recording_write_stacks(struct seep_row_writer *rows, const struct seep_profile *profile)
{
	SEEP_FREED uint32_t *leaves = seep_xcalloc(profile->context_count, sizeof(*leaves));

	write_segments(rows, profile, leaves);
	for (uint32_t i = 0; i < profile->context_count; i++)
		write_context(rows, &profile->contexts[i], leaves[i]);
}
