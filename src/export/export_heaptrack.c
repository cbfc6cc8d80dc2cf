/* SPDX-License-Identifier: MIT */
/*
 * Heaptrack's format, version 3, which heaptrack_print and heaptrack_gui read: a log of allocations
 * and frees; heaptrack_plan.h says of which. Times follow the timeline as far as live bytes rise to
 * the peak and fall behind it.
 *
 * To a reader a free is temporary if the line before it allocated by the same number of a stack and
 * size. "- 0" stands between where it is not: number 0 is the spare block's size, of 0 bytes. The
 * window wants numbers to be allocated by in their order.
 */
#include "export/export.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/encode.h"
#include "base/terminal.h"
#include "base/texts.h"
#include "base/xalloc.h"
#include "export/export_names.h"
#include "export/export_trie.h"
#include "export/heaptrack_plan.h"

enum {
	FORMAT_VERSION = 3,
	HEAPTRACK_VERSION = 0x10400,
	PAGE_BYTES = 4096,
	ALLOCS_MAX = 50000000,
};

#define NONE UINT32_MAX

struct heaptrack {
	FILE *out;
	const struct seep_profile *profile;
	struct seep_plans plans;
	struct seep_texts strings;  /* [i] is number i + 1 */
	struct seep_trie runs;	    /* frames of one address */
	struct seep_trie addresses; /* the node of such a run; a node is its own number */
	struct seep_trie traces;    /* addresses from the outermost on; likewise */
	uint32_t size_count;
	uint32_t last;	/* the number that was allocated by in the line before; else NONE */
	uint64_t level; /* bytes live */
	uint64_t last_ms;
	uint32_t sample; /* the next one of the timeline */
};

/* The number of a text, which is written when it is new; 0 for none. */
static uint32_t number_text(struct heaptrack *h, const char *text)
{
	const size_t known = h->strings.count;
	uint32_t id;
	SEEP_FREED char *escaped = NULL;

	if (text == NULL || *text == '\0')
		return 0;
	id = seep_texts_number(&h->strings, text);
	if (id < known)
		return id + 1;
	escaped = seep_escape_dup(text);
	(void)fprintf(h->out, "s %zx %s\n", strlen(escaped), escaped);
	return id + 1;
}

/* An address with the calls inlined there, innermost first; all texts before its line. */
static void put_address(struct heaptrack *h, const struct seep_profile_stack_entry *stack,
			uint32_t count)
{
	const struct seep_profile_frame *frames = h->profile->frames;
	const struct seep_profile_frame *outer = &frames[stack[count - 1].frame];
	const uint32_t module = number_text(h, seep_profile_frame_path(h->profile, outer));
	SEEP_FREED uint32_t *numbers = seep_xcalloc(count, 2 * sizeof(*numbers));

	for (uint32_t i = 0; i < count; i++) {
		SEEP_FREED char *name = seep_export_raw_name(h->profile, &frames[stack[i].frame]);

		numbers[2 * i] = number_text(h, name);
		numbers[2 * i + 1] = number_text(h, frames[stack[i].frame].file);
	}
	(void)fprintf(h->out, "i %" PRIx64 " %" PRIx32, outer->address, module);
	for (uint32_t i = 0; i < count; i++)
		(void)fprintf(h->out, " %" PRIx32 " %" PRIx32 " %" PRIx32, numbers[2 * i],
			      numbers[2 * i + 1],
			      numbers[2 * i + 1] > 0 ? frames[stack[i].frame].line : 0);
	(void)fputc('\n', h->out);
}

static uint32_t number_address(struct heaptrack *h, const struct seep_profile_stack_entry *stack,
			       uint32_t count)
{
	const uint32_t known = h->addresses.count;
	uint32_t run = 0, address;

	for (uint32_t i = 0; i < count; i++)
		run = seep_trie_child(&h->runs, run, stack[i].frame);
	address = seep_trie_child(&h->addresses, 0, run);
	if (address == known)
		put_address(h, stack, count);
	return address;
}

static uint32_t number_trace(struct heaptrack *h, uint32_t outer, uint32_t address)
{
	const uint32_t known = h->traces.count;
	const uint32_t trace = seep_trie_child(&h->traces, outer, address);

	if (trace == known)
		(void)fprintf(h->out, "t %" PRIx32 " %" PRIx32 "\n", address, outer);
	return trace;
}

/* In place of a stack that is not there: the words for that, as a function. */
static uint32_t number_no_stack(struct heaptrack *h, const struct seep_profile_context *context)
{
	const uint32_t known = h->addresses.count;
	const uint32_t run = seep_trie_child(&h->runs, 0, seep_trie_no_stack(h->profile, context));
	const uint32_t address = seep_trie_child(&h->addresses, 0, run);

	if (address == known) {
		const uint32_t name = number_text(h, seep_export_no_stack(context->other));

		(void)fprintf(h->out, "i 0 0 %" PRIx32 " 0 0\n", name);
	}
	return number_trace(h, 0, address);
}

static uint32_t number_stack(struct heaptrack *h, const struct seep_profile_context *context)
{
	const struct seep_profile_stack_entry *stack = context->stack;
	uint32_t count = 0, trace = 0;
	SEEP_FREED uint32_t *addresses = NULL;

	if (context->stack_count == 0)
		return number_no_stack(h, context);
	addresses = seep_xcalloc(context->stack_count, sizeof(*addresses));
	for (uint32_t i = 0, run; i < context->stack_count; i += run) {
		run = seep_export_address(h->profile, stack + i, context->stack_count - i);
		addresses[count++] = number_address(h, stack + i, run);
	}
	while (count > 0)
		trace = number_trace(h, trace, addresses[--count]);
	return trace;
}

static void put_time(struct heaptrack *h, uint64_t elapsed_ns)
{
	const uint64_t ms = elapsed_ns / SEEP_NS_PER_MS;

	if (ms > h->last_ms) {
		h->last_ms = ms;
		(void)fprintf(h->out, "c %" PRIx64 "\n", ms);
	}
}

static void put_resident(struct heaptrack *h, uint64_t bytes)
{
	(void)fprintf(h->out, "R %" PRIx64 "\n", bytes / PAGE_BYTES);
}

/* On to the next sample up to @until_ns; false: there is none. */
static bool put_sample(struct heaptrack *h, uint64_t until_ns)
{
	const struct seep_profile_sample *sample = &h->profile->timeline[h->sample];
	uint64_t at_ns;

	if (h->sample == h->profile->sample_count)
		return false;
	at_ns = seep_export_elapsed_ns(h->profile, sample->at_ns);
	if (at_ns > until_ns)
		return false;
	put_time(h, at_ns);
	put_resident(h, sample->rss_bytes);
	h->sample++;
	return true;
}

static void put_time_of_peak(struct heaptrack *h)
{
	const uint64_t peak_ns = seep_export_peak_ns(h->profile);

	while (put_sample(h, peak_ns))
		;
	put_time(h, peak_ns);
}

/* When so many bytes were live: at the next sample that has them, up to @until_ns. */
static void put_time_of_level(struct heaptrack *h, uint64_t until_ns)
{
	const struct seep_profile *profile = h->profile;
	uint64_t at_ns = until_ns;

	if (h->level == h->plans.peak_bytes)
		put_time_of_peak(h);
	while (h->sample < profile->sample_count &&
	       profile->timeline[h->sample].live_bytes < h->level && put_sample(h, until_ns))
		;
	if (h->sample < profile->sample_count)
		at_ns = seep_export_elapsed_ns(profile, profile->timeline[h->sample].at_ns);
	put_time(h, at_ns < until_ns ? at_ns : until_ns);
}

/* The number for a plan's blocks, written before it is used first. */
static uint32_t number_blocks(struct heaptrack *h, const struct seep_plan *plan,
			      struct seep_plan_blocks *blocks, bool larger)
{
	/* 0 is none that has been numbered: it is the first of all. */
	if (blocks->ids[larger] == 0) {
		(void)fprintf(h->out, "a %" PRIx64 " %" PRIx32 "\n", blocks->size + larger,
			      plan->id);
		blocks->ids[larger] = ++h->size_count;
	}
	return blocks->ids[larger] - 1;
}

static void put_spare(struct heaptrack *h)
{
	struct seep_plan_blocks none = { .count = 1 };

	if (h->plans.spare < h->plans.count)
		(void)fprintf(h->out, "+ %" PRIx32 "\n",
			      number_blocks(h, &h->plans.items[h->plans.spare], &none, false));
}

static void put_free(struct heaptrack *h, uint32_t number, bool temporary)
{
	if (h->last == number && !temporary && h->plans.spare < h->plans.count)
		(void)fputs("- 0\n", h->out);
	(void)fprintf(h->out, "- %" PRIx32 "\n", number);
	h->last = NONE;
}

static void put_repeated(FILE *out, const char *text, uint64_t times)
{
	while (times-- > 0)
		(void)fputs_unlocked(text, out);
}

/* Allocate and free; the smaller ones first, and first those that are temporary. */
static void put_passing(struct heaptrack *h, struct seep_plan *plan)
{
	struct seep_plan_blocks *blocks = &plan->parts[SEEP_PLAN_PASSING];
	uint64_t temporary = plan->temporary;

	for (int larger = 0; larger < 2; larger++) {
		const uint64_t count = larger ? blocks->larger_count
					      : blocks->count - blocks->larger_count;
		const uint64_t at_once = count < temporary ? count : temporary;
		uint32_t number;
		char text[64];

		if (count == 0)
			continue;
		number = number_blocks(h, plan, blocks, larger);
		(void)snprintf(text, sizeof(text), "+ %" PRIx32 "\n- %" PRIx32 "\n", number,
			       number);
		put_repeated(h->out, text, at_once);
		(void)snprintf(text, sizeof(text), "+ %" PRIx32 "\n- 0\n- %" PRIx32 "\n", number,
			       number);
		put_repeated(h->out, text, count - at_once);
		temporary -= at_once;
		h->last = NONE;
	}
}

static void put_up(struct heaptrack *h, struct seep_plan *plan, enum seep_plan_part part,
		   uint64_t until_ns)
{
	struct seep_plan_blocks *blocks = &plan->parts[part];

	for (uint64_t i = 0; i < blocks->count; i++) {
		const bool larger = i >= blocks->count - blocks->larger_count;

		h->level += blocks->size + larger;
		put_time_of_level(h, until_ns);
		h->last = number_blocks(h, plan, blocks, larger);
		(void)fprintf(h->out, "+ %" PRIx32 "\n", h->last);
	}
}

static void put_down(struct heaptrack *h, struct seep_plan *plan)
{
	const struct seep_profile_sample *timeline = h->profile->timeline;
	struct seep_plan_blocks *blocks = &plan->parts[SEEP_PLAN_AT_PEAK];

	for (uint64_t i = 0; i < blocks->count; i++) {
		const bool larger = i >= blocks->count - blocks->larger_count;

		while (h->sample < h->profile->sample_count &&
		       timeline[h->sample].live_bytes >= h->level && put_sample(h, UINT64_MAX))
			;
		h->level -= blocks->size + larger;
		put_free(h, number_blocks(h, plan, blocks, larger), false);
	}
}

/* The last block that went up, freed at once. */
static void put_last_free(struct heaptrack *h, struct seep_plan *plan)
{
	struct seep_plan_blocks *blocks = &plan->parts[SEEP_PLAN_AT_PEAK];
	const bool larger = blocks->larger_count > 0;

	h->level -= blocks->size + larger;
	put_free(h, number_blocks(h, plan, blocks, larger), true);
	blocks->larger_count -= larger;
	blocks->count--;
}

static void put_events(struct heaptrack *h)
{
	const uint64_t peak_ns = seep_export_peak_ns(h->profile);
	struct seep_plan *plans = h->plans.items;
	const uint32_t count = h->plans.count;

	put_spare(h);
	for (uint32_t i = 0; i < count; i++)
		if (plans[i].early)
			put_passing(h, &plans[i]);
	for (uint32_t i = 0; i < count; i++) {
		if (!plans[i].early)
			put_passing(h, &plans[i]);
		if (!plans[i].last_is_freed)
			put_up(h, &plans[i], SEEP_PLAN_AT_PEAK, peak_ns);
	}
	/* Behind those that are freed first, which are not temporary. */
	for (uint32_t i = 0; i < count; i++)
		put_up(h, &plans[i], SEEP_PLAN_KEPT, peak_ns);
	if (count > 0 && plans[count - 1].last_is_freed) {
		put_up(h, &plans[count - 1], SEEP_PLAN_AT_PEAK, peak_ns);
		put_last_free(h, &plans[count - 1]);
	}
	put_time_of_peak(h);
	for (uint32_t i = 0; i < count; i++)
		put_down(h, &plans[i]);
	for (uint32_t i = 0; i < count; i++)
		put_up(h, &plans[i], SEEP_PLAN_AT_END, seep_export_duration_ns(h->profile));
	while (put_sample(h, UINT64_MAX))
		;
	put_resident(h, h->profile->process.peak_rss_bytes);
	put_time(h, seep_export_duration_ns(h->profile));
}

static void put_head(const struct heaptrack *h)
{
	SEEP_FREED char *command = seep_export_command(h->profile);
	SEEP_FREED char *escaped = seep_escape_dup(command);
	SEEP_FREED char *estimates = seep_export_estimates(h->profile);

	(void)fprintf(h->out, "v %x %x\nX %s", HEAPTRACK_VERSION, FORMAT_VERSION, escaped);
	if (h->plans.divisor > 1)
		(void)fprintf(h->out, " (1 allocation stands for %" PRIu64 ")", h->plans.divisor);
	if (estimates)
		(void)fprintf(h->out, " (%s)", estimates);
	(void)fprintf(h->out, "\nI %x 0\n", PAGE_BYTES);
}

void seep_export_heaptrack(FILE *out, const struct seep_profile *profile,
			   const struct seep_view_options *options)
{
	struct heaptrack h = { .out = seep_gzip_open(out, SEEP_GZIP_FAST),
			       .profile = profile,
			       .last = NONE };

	(void)options;
	seep_plans_init(&h.plans, profile, ALLOCS_MAX);
	seep_trie_init(&h.runs);
	seep_trie_init(&h.addresses);
	seep_trie_init(&h.traces);
	put_head(&h);
	for (uint32_t i = 0; i < h.plans.count; i++)
		h.plans.items[i].id = number_stack(&h,
						   &profile->contexts[h.plans.items[i].context]);
	put_events(&h);
	(void)fclose(h.out);
	seep_texts_done(&h.strings);
	seep_trie_done(&h.runs);
	seep_trie_done(&h.addresses);
	seep_trie_done(&h.traces);
	seep_plans_done(&h.plans);
}
