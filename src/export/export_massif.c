/* SPDX-License-Identifier: MIT */
/*
 * Massif's format, which ms_print and massif-visualizer read: live bytes over time, and who holds
 * them at the peak and at the end, as a tree that begins at the functions that allocated.
 */
#include "export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/search.h"
#include "base/terminal.h"
#include "base/xalloc.h"
#include "export/export_names.h"
#include "export/export_trie.h"

enum {
	DEPTH_MAX = 500,   /* of frames: valgrind's own limit; ms_print calls itself for each */
	NODES_MAX = 50000, /* of a tree: the smallest beyond that are summed up */
};

enum moment { AT_PEAK, AT_END, MOMENTS };

struct node {
	int64_t bytes[MOMENTS];
	uint32_t first_child; /* 0 none */
	uint32_t next;	      /* sibling; 0 last */
};

struct massif {
	FILE *out;
	const struct seep_profile *profile;
	struct seep_trie trie;	/* innermost frame first */
	struct node *nodes;	/* by node of it */
	int64_t least[MOMENTS]; /* what is below that is summed up */
	unsigned snapshots;
	uint64_t last_ms;
};

static void add_bytes(struct node *node, const int64_t bytes[MOMENTS])
{
	for (int i = 0; i < MOMENTS; i++)
		seep_counts_sum(&node->bytes[i], bytes[i]);
}

/* A parent has a lower number than its children: one pass from the last sums all up. */
static void grow(struct massif *m)
{
	const struct seep_profile *profile = m->profile;
	SEEP_FREED uint32_t *ends = seep_xcalloc(profile->context_count, sizeof(*ends));

	for (uint32_t i = 0; i < profile->context_count; i++)
		ends[i] = seep_trie_stack(&m->trie, profile, 0, &profile->contexts[i], DEPTH_MAX);
	m->nodes = seep_xcalloc(m->trie.count, sizeof(*m->nodes));
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_counts counts = seep_counts_of(&profile->contexts[i]);
		const int64_t bytes[] = {
			[AT_PEAK] = counts.peak_bytes, [AT_END] = counts.live_bytes
		};

		add_bytes(&m->nodes[ends[i]], bytes);
	}
	for (uint32_t i = m->trie.count - 1; i > 0; i--) {
		struct node *parent = &m->nodes[m->trie.nodes[i].parent];

		add_bytes(parent, m->nodes[i].bytes);
		m->nodes[i].next = parent->first_child;
		parent->first_child = i;
	}
}

/* Massif has a threshold in percent: here it is what leaves so many nodes. */
static void find_least(struct massif *m, enum moment moment)
{
	const uint32_t count = m->trie.count;
	SEEP_FREED int64_t *bytes = NULL;
	int64_t most;

	if (count <= NODES_MAX)
		return;
	bytes = seep_xcalloc(count, sizeof(*bytes));
	for (uint32_t i = 0; i < count; i++)
		bytes[i] = m->nodes[i].bytes[moment];
	seep_search_sort(bytes, count, sizeof(*bytes));
	most = bytes[count - 1 - NODES_MAX];
	m->least[moment] = most + (most < INT64_MAX);
}

/* A child that is written. */
struct branch {
	int64_t bytes;
	uint32_t node;
};

static int largest_first(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;

	return seep_search_order((uint64_t)y->bytes, (uint64_t)x->bytes)
		       ?: seep_search_order(x->node, y->node);
}

/* ms_print takes a "#" for the start of a comment; the wide form is a "#" for people. Frees @text. */
static void put_text(FILE *out, char *text)
{
	SEEP_FREED char *escaped = seep_escape_dup(text);
	char *from = escaped;

	for (char *hash; (hash = strchr(from, '#')) != NULL; from = hash + 1)
		(void)fprintf(out, "%.*s＃", (int)(hash - from), from);
	(void)fprintf(out, "%s\n", from);
	free(text);
}

/* @depth is DEPTH_MAX at most. */
static void put_node(struct massif *m, uint32_t node, enum moment moment, int depth)
{
	SEEP_FREED struct branch *branches = NULL;
	size_t count = 0;
	uint32_t small = 0;
	int64_t small_bytes = 0;
	char *text;

	for (uint32_t i = m->nodes[node].first_child; i != 0; i = m->nodes[i].next) {
		const int64_t bytes = m->nodes[i].bytes[moment];

		if (bytes != 0 && bytes < m->least[moment]) {
			small++;
			seep_counts_sum(&small_bytes, bytes);
		} else if (bytes != 0) {
			*SEEP_APPEND(branches, count) = (struct branch){ bytes, i };
		}
	}
	if (count > 0)
		qsort(branches, count, sizeof(*branches), largest_first);
	(void)fprintf(m->out, "%*sn%zu: %" PRId64 " ", depth, "", count + (small > 0),
		      m->nodes[node].bytes[moment]);
	text = node > 0
		       ? seep_export_frame_text(m->profile, m->trie.nodes[node].key)
		       : seep_xstrdup(
				 "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
	put_text(m->out, text);
	for (size_t i = 0; i < count; i++)
		put_node(m, branches[i].node, moment, depth + 1);
	if (small > 0)
		(void)fprintf(m->out,
			      "%*sn0: %" PRId64 " in %" PRIu32
			      " place%s below massif's threshold (%.2f%%)\n",
			      depth + 1, "", small_bytes, small, small > 1 ? "s, all" : ",",
			      100.0 * (double)m->least[moment] / (double)m->nodes[0].bytes[moment]);
}

/* What follows "heap_tree=" is for the caller to write. Times never go back. */
static void put_snapshot(struct massif *m, uint64_t elapsed_ns, uint64_t bytes)
{
	const uint64_t ms = elapsed_ns / SEEP_NS_PER_MS;

	m->last_ms = ms > m->last_ms ? ms : m->last_ms;
	(void)fprintf(m->out,
		      "#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64
		      "\nmem_heap_B=%" PRIu64 "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=",
		      m->snapshots++, m->last_ms, bytes);
}

static void put_tree(struct massif *m, uint64_t elapsed_ns, uint64_t bytes, enum moment moment)
{
	const uint64_t sum = (uint64_t)m->nodes[0].bytes[moment];

	/* Stacks may have been left out, whose bytes are in the total. */
	put_snapshot(m, elapsed_ns, bytes > sum ? bytes : sum);
	(void)fputs(moment == AT_PEAK ? "peak\n" : "detailed\n", m->out);
	put_node(m, 0, moment, 0);
}

static void put_snapshots(struct massif *m)
{
	const struct seep_profile *profile = m->profile;
	const uint64_t end_ns = seep_export_duration_ns(profile);
	const uint64_t peak_ns = seep_export_peak_ns(profile);
	bool before = true;

	for (uint32_t i = 0; i <= profile->sample_count; i++) {
		const struct seep_profile_sample *sample = &profile->timeline[i];
		const bool is_end = i == profile->sample_count;
		const uint64_t at_ns = is_end ? end_ns
					      : seep_export_elapsed_ns(profile, sample->at_ns);

		if (before && (is_end || at_ns > peak_ns)) {
			before = false;
			if (seep_profile_knows(profile, "peak_bytes"))
				put_tree(m, peak_ns, profile->totals.peak_bytes, AT_PEAK);
		}
		if (is_end)
			break;
		put_snapshot(m, at_ns < end_ns ? at_ns : end_ns, sample->live_bytes);
		(void)fputs("empty\n", m->out);
	}
	put_tree(m, end_ns, profile->totals.live_bytes, AT_END);
}

void seep_export_massif(FILE *out, const struct seep_profile *profile,
			const struct seep_view_options *options)
{
	struct massif m = { .out = out, .profile = profile };
	SEEP_FREED char *estimates = seep_export_estimates(profile);

	(void)options;
	seep_trie_init(&m.trie);
	grow(&m);
	find_least(&m, AT_PEAK);
	find_least(&m, AT_END);
	(void)fprintf(out, "desc: seep %s (extra-heap and stacks were not measured%s%s)\ncmd: ",
		      SEEP_VERSION, estimates ? "; " : "", estimates ? estimates : "");
	put_text(out, seep_export_command(profile));
	(void)fputs("time_unit: ms\n", out);
	put_snapshots(&m);
	free(m.nodes);
	seep_trie_done(&m.trie);
}
