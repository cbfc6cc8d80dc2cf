/* SPDX-License-Identifier: MIT */
/*
 * DHAT's JSON, version 2, which valgrind's dh_view.html reads. It shows figures at the peak and the
 * end only for files with lifetimes (bklt). These are not known, and left out: it shows NaN.
 */
#include "export/export.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/xalloc.h"
#include "export/export_names.h"
#include "export/export_trie.h"
#include "profile/kind_name.h"

enum {
	FILE_VERSION = 2,
	NO_STACKS = 2, /* see seep_trie_no_stack() */
};

/* A program point: all contexts of one kind and call stack. The viewer takes each stack once. */
struct point {
	struct seep_counts counts;
	const struct seep_profile_context *context; /* the first */
};

struct dhat {
	const struct seep_profile *profile;
	struct point *points;
	uint32_t point_count;
	struct seep_trie places; /* single keys; a node is its own place in the table of frames */
};

/* Keys are those of seep_trie_stack(), then kinds. */
static uint32_t kind_key(const struct dhat *d, const struct seep_profile_context *context)
{
	return d->profile->frame_count + NO_STACKS + context->kind;
}

static void add_contexts(struct dhat *d)
{
	SEEP_RELEASED(seep_trie_done) struct seep_trie stacks;
	SEEP_RELEASED(seep_trie_done) struct seep_trie points; /* nodes: index of the point + 1 */

	seep_trie_init(&stacks);
	seep_trie_init(&points);
	for (uint32_t i = 0; i < d->profile->context_count; i++) {
		const struct seep_profile_context *context = &d->profile->contexts[i];
		const uint32_t kind = seep_trie_child(&stacks, 0, kind_key(d, context));
		const uint32_t stack = seep_trie_stack(&stacks, d->profile, kind, context,
						       UINT32_MAX);
		const uint32_t point = seep_trie_child(&points, 0, stack) - 1;

		if (point == d->point_count)
			*SEEP_APPEND(d->points, d->point_count) = (struct point){
				.context = context,
			};
		seep_counts_add_context(&d->points[point].counts, context);
	}
}

static void put_place(struct dhat *d, struct seep_json *json, uint32_t key)
{
	seep_json_int(json, NULL, seep_trie_child(&d->places, 0, key));
}

static void put_point(struct dhat *d, struct seep_json *json, const struct point *point)
{
	const struct seep_counts *c = &point->counts;
	const struct seep_profile_context *context = point->context;
	const bool peak = c->peak_bytes > c->live_bytes;
	const uint64_t mean = (uint64_t)(c->allocs > 0 ? c->alloc_bytes / c->allocs : 0);
	uint64_t most = (uint64_t)(peak ? c->peak_bytes : c->live_bytes);
	uint64_t most_blocks = (uint64_t)(peak ? c->peak_blocks : c->live_blocks);

	/* The most it had at once is not known: what it had at one of two moments, or one block. */
	if (most_blocks == 0 && c->allocs > 0) {
		most = mean;
		most_blocks = 1;
	}
	seep_json_u64(json, "tb", (uint64_t)c->alloc_bytes);
	seep_json_u64(json, "tbk", (uint64_t)c->allocs);
	seep_json_u64(json, "mb", most);
	seep_json_u64(json, "mbk", most_blocks);
	seep_json_u64(json, "gb", (uint64_t)c->peak_bytes);
	seep_json_u64(json, "gbk", (uint64_t)c->peak_blocks);
	seep_json_u64(json, "eb", (uint64_t)c->live_bytes);
	seep_json_u64(json, "ebk", (uint64_t)c->live_blocks);
	seep_json_open_array(json, "fs");
	put_place(d, json, kind_key(d, context));
	for (uint32_t i = 0; i < context->stack_count; i++)
		put_place(d, json, context->stack[i].frame);
	if (context->stack_count == 0)
		put_place(d, json, seep_trie_no_stack(d->profile, context));
	seep_json_close(json);
}

static void put_frames(const struct dhat *d, struct seep_json *json)
{
	const uint32_t kinds = d->profile->frame_count + NO_STACKS;

	seep_json_open_array(json, "ftbl");
	seep_json_text(json, NULL, "[root]");
	for (uint32_t i = 1; i < d->places.count; i++) {
		const uint32_t key = d->places.nodes[i].key;
		SEEP_FREED char *text = key < kinds ? seep_export_frame_text(d->profile, key)
						    : NULL;

		seep_json_text(json, NULL,
			       text != NULL ? text
					    : seep_profile_kind_name((uint8_t)(key - kinds)));
	}
	seep_json_close(json);
}

static void put_head(const struct seep_profile *profile, struct seep_json *json)
{
	SEEP_FREED char *command = seep_export_command(profile);
	SEEP_FREED char *estimates = seep_export_estimates(profile);
	SEEP_FREED char *mode =
		seep_xasprintf("heap, by seep %s (lifetimes are not known, Max may be more%s%s)",
			       SEEP_VERSION, estimates ? "; " : "", estimates ? estimates : "");

	seep_json_int(json, "dhatFileVersion", FILE_VERSION);
	seep_json_text(json, "mode", mode);
	seep_json_text(json, "verb", "Allocated");
	seep_json_bool(json, "bklt", true);
	seep_json_bool(json, "bkacc", false);
	seep_json_text(json, "tu", "µs");
	seep_json_text(json, "Mtu", "s");
	seep_json_int(json, "tuth", 0);
	seep_json_text(json, "cmd", command);
	seep_json_int(json, "pid", profile->process.pid);
	seep_json_u64(json, "te", seep_export_duration_ns(profile) / SEEP_NS_PER_US);
	seep_json_u64(json, "tg", seep_export_peak_ns(profile) / SEEP_NS_PER_US);
}

void seep_export_dhat(FILE *out, const struct seep_profile *profile,
		      const struct seep_view_options *options)
{
	struct dhat d = { .profile = profile };
	struct seep_json *json = seep_json_new(out, false);

	(void)options;
	seep_trie_init(&d.places);
	add_contexts(&d);
	seep_json_open_object(json, NULL);
	put_head(profile, json);
	for (uint32_t i = 0; seep_json_each_object(json, "pps", i, d.point_count); i++)
		put_point(&d, json, &d.points[i]);
	put_frames(&d, json);
	seep_json_finish(json);
	seep_trie_done(&d.places);
	free(d.points);
}
