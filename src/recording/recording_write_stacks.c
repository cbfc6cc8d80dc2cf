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

static uint64_t key_of(const struct seep_profile_stack_entry *entry)
{
	return (uint64_t)entry->repeats << 40 | (uint64_t)entry->period << 32 | entry->frame;
}

/* How many entries from the root on both stacks have. */
static uint32_t shared_by(const struct stack *a, const struct stack *b)
{
	const struct seep_profile_stack_entry *x = a->entries + a->count,
					      *y = b->entries + b->count;

	while (x > a->entries && y > b->entries && key_of(x - 1) == key_of(y - 1)) {
		x--;
		y--;
	}
	return (uint32_t)(a->entries + a->count - x);
}

/* One that is over comes first. */
static int from_the_root(const void *left, const void *right)
{
	const struct stack *a = left, *b = right;
	const uint32_t depth = shared_by(a, b);
	const uint64_t x = depth < a->count ? key_of(&a->entries[a->count - 1 - depth]) + 1 : 0;
	const uint64_t y = depth < b->count ? key_of(&b->entries[b->count - 1 - depth]) + 1 : 0;

	return (x > y) - (x < y);
}

static void order_stacks(struct tree *tree)
{
	const uint32_t count = tree->profile->context_count;

	for (uint32_t i = 0; i < count; i++)
		tree->stacks[i] = (struct stack){ .entries = tree->profile->contexts[i].stack,
						  .count = tree->profile->contexts[i].stack_count,
						  .context = i };
	qsort(tree->stacks, count, sizeof(*tree->stacks), from_the_root);
	for (uint32_t i = 1; i < count; i++)
		tree->stacks[i].shared = shared_by(&tree->stacks[i], &tree->stacks[i - 1]);
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
