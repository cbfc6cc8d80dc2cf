/* SPDX-License-Identifier: MIT */
/*
 * Callgrind's format, which callgrind_annotate and KCachegrind read: what each line of a function
 * allocated itself, and what was allocated in each of its calls.
 *
 * To a reader a function's inclusive figures are the sum of the calls to it. So of each stack only
 * the outermost call of a function has figures, and recursive ones further in have none; and a
 * function "(root)" calls the outermost ones, which others may call elsewhere.
 */
#include "export/export.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/search.h"
#include "base/terminal.h"
#include "base/xalloc.h"
#include "export/export_names.h"
#include "export/export_trie.h"
#include "view/frame_text.h"

/* Functions that are none, and their only lines: behind those of the sites. */
enum { ROOT, NO_STACK, OTHER, SPECIALS };

/* A line's own costs, in place of the function that it calls. */
#define SELF UINT32_MAX

struct callgrind {
	FILE *out;
	const struct seep_profile *profile;
	const struct seep_sites *sites;
	uint32_t *function_of;	    /* by that of the sites; see merge_modules() */
	uint32_t *frame_of_line;    /* one frame of each line of the sites */
	struct seep_trie costs;	    /* from a line to a function, or SELF; not from its root */
	struct seep_counts *counts; /* by node of it - 1 */
	uint32_t count;
	uint32_t *met_in;      /* by function: the last context + 1 that it was met in */
	bool *is_named;	       /* by function: its name has its number */
	bool *is_module_named; /* by number of the module; 0: none */
	enum seep_measure first;
};

#define EVENT(event, text, measure)                                                 \
	{                                                                           \
		.name = #event, .long_name = (text), .figure = SEEP_FIGURE_##event, \
		.by = (measure)                                                     \
	}

static const struct {
	const char *name;
	const char *long_name;
	int figure;
	enum seep_measure by;
} events[] = {
	EVENT(live_bytes, "Bytes live at the end", SEEP_BY_LIVE),
	EVENT(live_blocks, "Blocks live at the end", SEEP_BY_LIVE),
	EVENT(peak_bytes, "Bytes live at the peak", SEEP_BY_PEAK),
	EVENT(peak_blocks, "Blocks live at the peak", SEEP_BY_PEAK),
	EVENT(allocs, "Allocations", SEEP_BY_ALLOCS),
	EVENT(alloc_bytes, "Bytes allocated", SEEP_BY_ALLOCS),
	EVENT(temporary, "Temporary allocations", SEEP_BY_TEMPORARY),
};
enum { EVENTS = sizeof(events) / sizeof(events[0]) };

static struct seep_counts *cost_of(struct callgrind *c, uint32_t line, uint32_t function)
{
	const uint32_t index = seep_trie_child(&c->costs, line, function) - 1;

	if (index == c->count)
		*SEEP_APPEND(c->counts, c->count) = (struct seep_counts){ 0 };
	return &c->counts[index];
}

static uint32_t site_function(const struct callgrind *c, uint32_t frame)
{
	return c->function_of[c->sites->of_frame[frame].function];
}

/* A template's function may be in several modules: by its name and file it is one to a reader. */
static void merge_modules(struct callgrind *c)
{
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable table;

	seep_idtable_init(&table, c->sites->function_count);
	for (uint32_t i = 0; i < c->sites->function_count; i++) {
		const uint32_t *frames = c->sites->frame_of_function;
		const struct seep_profile_frame *frame = &c->profile->frames[frames[i]];
		const uint64_t hash = seep_hash_text(seep_hash_text(0, frame->function),
						     frame->file);
		size_t at = SEEP_IDTABLE_START;
		uint32_t id;

		while ((id = seep_idtable_find(&table, hash, &at)) != SEEP_IDTABLE_NONE) {
			const struct seep_profile_frame *same = &c->profile->frames[frames[id]];

			if (frame->function != NULL && frame->file != NULL &&
			    seep_text_equal(same->function, frame->function) &&
			    seep_text_equal(same->file, frame->file))
				break;
		}
		c->function_of[i] = id != SEEP_IDTABLE_NONE ? id : i;
		if (id == SEEP_IDTABLE_NONE)
			seep_idtable_add(&table, hash, i);
	}
}

static void add_context(struct callgrind *c, uint32_t index)
{
	const struct seep_profile_context *context = &c->profile->contexts[index];
	uint32_t line = c->sites->line_count + ROOT;

	for (uint32_t i = context->stack_count; i > 0; i--) {
		const uint32_t frame = context->stack[i - 1].frame;
		const uint32_t function = site_function(c, frame);
		struct seep_counts *cost = cost_of(c, line, function);

		if (c->met_in[function] != index + 1)
			seep_counts_add_context(cost, context);
		c->met_in[function] = index + 1;
		line = c->sites->of_frame[frame].line;
	}
	if (context->stack_count == 0) {
		const uint32_t special = context->other ? OTHER : NO_STACK;

		seep_counts_add_context(cost_of(c, line, c->sites->function_count + special),
					context);
		line = c->sites->line_count + special;
	}
	seep_counts_add_context(cost_of(c, line, SELF), context);
}

static uint32_t function_of(const struct callgrind *c, uint32_t line)
{
	return line < c->sites->line_count
		       ? site_function(c, c->frame_of_line[line])
		       : c->sites->function_count + (line - c->sites->line_count);
}

static uint32_t number_of(const struct callgrind *c, uint32_t line)
{
	return line < c->sites->line_count ? c->profile->frames[c->frame_of_line[line]].line : 0;
}

static char *special_name(uint32_t special)
{
	return seep_xstrdup(special == ROOT ? "(root)" : seep_export_no_stack(special == OTHER));
}

static void put_text(FILE *out, const char *text)
{
	SEEP_FREED char *escaped = seep_escape_dup(text);

	(void)fprintf(out, "%s\n", escaped);
}

/* A name with its number; @text NULL: it has one already. */
static void put_name(FILE *out, const char *key, uint32_t number, const char *text)
{
	(void)fprintf(out, "%s=(%" PRIu32 ")%s", key, number, text != NULL ? " " : "");
	put_text(out, text != NULL ? text : "");
}

static void put_function(struct callgrind *c, uint32_t function, bool called)
{
	const bool special = function >= c->sites->function_count;
	const struct seep_profile_frame *frame =
		special ? NULL : &c->profile->frames[c->sites->frame_of_function[function]];
	const char *path = special ? NULL : seep_profile_frame_path(c->profile, frame);
	const uint32_t module = path != NULL ? frame->module : 0;
	SEEP_FREED char *place = special ? NULL : seep_frame_place(c->profile, frame, false);
	const char *file = place != NULL && *place != '\0' ? place : "???";
	SEEP_FREED char *name = NULL;

	if (!c->is_named[function])
		name = special ? special_name(function - c->sites->function_count)
			       : seep_export_raw_name(c->profile, frame);
	if (c->is_module_named[module])
		path = NULL;
	else if (module == 0)
		path = "???";
	put_name(c->out, called ? "cob" : "ob", module, path);
	/* By a path below the program's folder: callgrind_annotate takes its own off some only. */
	put_name(c->out, called ? "cfi" : "fl", function + 1, name != NULL ? file : NULL);
	put_name(c->out, called ? "cfn" : "fn", function + 1, name);
	c->is_module_named[module] = true;
	c->is_named[function] = true;
}

/* What is known of @counts, what is ordered by first; NULL: what its figures are called. */
static void put_figures(const struct callgrind *c, const struct seep_counts *counts)
{
	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < EVENTS; i++) {
			if ((events[i].by != c->first) != pass ||
			    !seep_measure_is_known(c->profile, events[i].by))
				continue;
			if (counts)
				(void)fprintf(c->out, " %" PRId64,
					      counts->figures[events[i].figure]);
			else
				(void)fprintf(c->out, " %s", events[i].name);
		}
	(void)fputc('\n', c->out);
}

static void put_cost(struct callgrind *c, uint32_t node)
{
	const struct seep_trie_node *cost = &c->costs.nodes[node];
	const struct seep_counts *counts = &c->counts[node - 1];

	if (cost->key != SELF) {
		put_function(c, cost->key, true);
		/* How often it was called is not known; a reader overlooks a call of 0 times. */
		(void)fprintf(c->out, "calls=%" PRId64 " 0\n",
			      counts->allocs > 0 ? counts->allocs : 1);
	}
	(void)fprintf(c->out, "%" PRIu32, number_of(c, cost->parent));
	put_figures(c, counts);
}

/* By function that they are costs of, then line; its own ones first. */
static int in_order(const void *a, const void *b, void *value)
{
	const struct callgrind *c = value;
	const struct seep_trie_node *x = &c->costs.nodes[*(const uint32_t *)a];
	const struct seep_trie_node *y = &c->costs.nodes[*(const uint32_t *)b];

	return seep_search_order(function_of(c, x->parent), function_of(c, y->parent))
		       ?: seep_search_order(number_of(c, x->parent), number_of(c, y->parent))
		       ?: seep_search_order(x->key + 1, y->key + 1);
}

static void put_costs(struct callgrind *c)
{
	SEEP_FREED uint32_t *order = seep_xcalloc(c->count, sizeof(*order));
	uint32_t function = UINT32_MAX, line = UINT32_MAX;

	for (uint32_t i = 0; i < c->count; i++)
		order[i] = i + 1;
	qsort_r(order, c->count, sizeof(*order), in_order, c);
	for (uint32_t i = 0; i < c->count; i++) {
		const struct seep_trie_node *cost = &c->costs.nodes[order[i]];
		const uint32_t next = function_of(c, cost->parent);

		if (next != function) {
			(void)fputc('\n', c->out);
			put_function(c, next, false);
		}
		/* Calls of a line without costs of its own would not be shown beside the source. */
		if (cost->parent != line && cost->key != SELF)
			(void)fprintf(c->out, "%" PRIu32 " 0\n", number_of(c, cost->parent));
		function = next;
		line = cost->parent;
		put_cost(c, order[i]);
	}
}

static void put_head(const struct callgrind *c)
{
	SEEP_FREED char *command = seep_export_command(c->profile);
	SEEP_FREED char *estimates = seep_export_estimates(c->profile);

	(void)fprintf(c->out,
		      "# callgrind format\nversion: 1\ncreator: seep " SEEP_VERSION
		      "\npid: %" PRIu32 "\ncmd: ",
		      c->profile->process.pid);
	put_text(c->out, command);
	if (estimates)
		(void)fprintf(c->out, "desc: Note: %s\n", estimates);
	(void)fputs("part: 1\npositions: line\n", c->out);
	for (size_t i = 0; i < EVENTS; i++)
		if (seep_measure_is_known(c->profile, events[i].by))
			(void)fprintf(c->out, "event: %s : %s\n", events[i].name,
				      events[i].long_name);
	(void)fputs("events:", c->out);
	put_figures(c, NULL);
}

void seep_export_callgrind(FILE *out, const struct seep_profile *profile,
			   const struct seep_view_options *options)
{
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = seep_sites_new(profile);
	SEEP_RELEASED(seep_arena_free_at) struct seep_arena *arena = seep_arena_new();
	struct callgrind c = { .out = out, .profile = profile, .sites = sites };
	struct seep_counts total = { 0 };

	c.first = seep_view_measure(profile, options->by);
	c.function_of = seep_arena_calloc(arena, sites->function_count, sizeof(*c.function_of));
	c.frame_of_line = seep_arena_calloc(arena, sites->line_count, sizeof(*c.frame_of_line));
	c.met_in = seep_arena_calloc(arena, sites->function_count, sizeof(*c.met_in));
	c.is_named = seep_arena_calloc(arena, (size_t)sites->function_count + SPECIALS,
				       sizeof(*c.is_named));
	c.is_module_named = seep_arena_calloc(arena, (size_t)profile->module_count + 1,
					      sizeof(*c.is_module_named));
	seep_trie_init(&c.costs);
	merge_modules(&c);
	for (uint32_t i = profile->frame_count; i > 0; i--)
		c.frame_of_line[sites->of_frame[i - 1].line] = i - 1;
	for (uint32_t i = 0; i < profile->context_count; i++) {
		add_context(&c, i);
		seep_counts_add_context(&total, &profile->contexts[i]);
	}
	put_head(&c);
	put_costs(&c);
	(void)fputs("\ntotals:", out);
	put_figures(&c, &total);
	free(c.counts);
	seep_trie_done(&c.costs);
}
