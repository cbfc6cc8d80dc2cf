/* SPDX-License-Identifier: MIT */
/*
 * Each line begins with a letter; numbers are hexadecimal. Strings, instruction pointers and traces
 * are counted from 1 in the order of their lines, allocations from 0:
 *
 *	v VERSION FORMAT	I PAGE_BYTES PAGES	X COMMAND LINE
 *	s BYTES TEXT		(format 2: "s TEXT")
 *	i ADDRESS MODULE [FUNCTION FILE LINE]...	strings; inlined functions first
 *	t IP CALLER		CALLER: the trace further out, 0 = none
 *	a BYTES TRACE		an allocation that can be made many times
 *	+ ALLOCATION		- ALLOCATION		made, and freed again
 *	c MILLISECONDS		since the start		R PAGES resident
 *
 * There is one line for each event. They are counted as they come by, and none is kept: what is
 * live at the peak is copied context by context, when one changes for the first time since.
 */
#include "import/import_heaptrack.h"

#include "base/path.h"
#include "base/xalloc.h"
#include "import/line_reader.h"
#include "profile/builder.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (UINT64_C(1) << 40)
/*
 * Of strings, instruction pointers, traces and allocations each, and of text: what any file may
 * have, and what it may have more for each of its bytes, which are compressed as a rule.
 */
#define TABLE_MIN (UINT64_C(1) << 24)
#define TABLE_MAX (UINT64_C(1) << 30)
#define TEXT_MIN_BYTES (UINT64_C(256) << 20)
#define NS_PER_MS UINT64_C(1000000)

enum {
	FORMAT_MIN = 2,
	FORMAT_MAX = 3,
	SAMPLES_MAX = 4096, /* of the timeline; then every second one is left out */
	INLINED_MAX = 64,
	TEXT_PER_BYTE = 32,
};

/* The frames of an instruction pointer. */
struct ip {
	uint32_t first, count;
};

struct allocation {
	uint64_t bytes;
	uint64_t live; /* how many */
	uint32_t trace;
};

/* What a context had at the peak, unless it has not changed since. */
struct at_peak {
	uint64_t turn;
	uint64_t blocks, bytes;
};

struct heaptrack {
	struct seep_line_reader lines;
	struct seep_builder *builder;
	struct seep_profile *profile;
	struct seep_error *err;
	uint64_t table_max, text_max;
	uint64_t format; /* 0: not read yet */
	char **strings;
	struct ip *ips;
	struct allocation *allocations;
	uint32_t *contexts;	 /* by trace: index + 1, 0 = none yet */
	uint32_t *modules;	 /* by string: as in a frame, 0 = none yet */
	struct at_peak *at_peak; /* by context */
	size_t string_count, ip_count, trace_count, allocation_count;
	size_t string_capacity, ip_capacity, trace_capacity, allocation_capacity;
	size_t module_capacity, at_peak_capacity;
	uint64_t turn; /* how many times there was a new peak */
	uint64_t live_bytes, peak_bytes, peak_ns;
	uint64_t allocs, frees;
	uint64_t now_ns, rss_bytes, page_bytes;
	uint64_t sample_every_ns;
	size_t last; /* the allocation made by the line before, or SIZE_MAX */
	bool is_attached;
};

static int wrong(struct heaptrack *h, const char *what)
{
	return seep_line_wrong(&h->lines, what, h->err);
}

static int too_many(struct heaptrack *h, const char *what)
{
	return seep_fail(h->err, SEEP_ELIMIT, "line %llu: it has more than %llu %s",
			 (unsigned long long)h->lines.number, (unsigned long long)h->table_max,
			 what);
}

/* ---- strings and stacks -------------------------------------------------------------------- */

static int take_string(struct heaptrack *h, const char *at)
{
	uint64_t bytes = strlen(at);
	char *text;
	int r;

	if (h->format >= 3) {
		size_t from;

		if (!seep_line_hex(&at, &bytes) || *at != ' ' || bytes > SEEP_LINE_READER_MAX_BYTES)
			return wrong(h, "a string without its length");
		from = (size_t)(at + 1 - h->lines.line);
		r = seep_line_extend(&h->lines, from + bytes, h->err);
		if (r < 0)
			return r;
		at = h->lines.line + from;
	}
	if (h->string_count == h->table_max)
		return too_many(h, "strings");
	text = seep_builder_text(h->builder, at, bytes);
	if (!text)
		return seep_fail(h->err, SEEP_ELIMIT, "line %llu: its strings are too long",
				 (unsigned long long)h->lines.number);
	h->strings = seep_xgrow(h->strings, &h->string_capacity, h->string_count + 1,
				sizeof(*h->strings));
	h->modules = seep_xgrow(h->modules, &h->module_capacity, h->string_count + 1,
				sizeof(*h->modules));
	h->modules[h->string_count] = 0;
	h->strings[h->string_count++] = text;
	return 0;
}

/* *@ret: NULL for 0, which stands for what is not known. */
static bool string(const struct heaptrack *h, const char **at, const char **ret)
{
	uint64_t number;

	if (!seep_line_hex(at, &number) || number > h->string_count)
		return false;
	*ret = number && *h->strings[number - 1] ? h->strings[number - 1] : NULL;
	return true;
}

/* Where it was loaded is not said. */
static uint32_t module_of(struct heaptrack *h, uint64_t string_number)
{
	if (string_number == 0 || !*h->strings[string_number - 1])
		return 0;
	if (h->modules[string_number - 1] == 0) {
		struct seep_profile_module *module = seep_profile_add(h->profile,
								      SEEP_ARRAY_MODULES);

		module->path = h->strings[string_number - 1];
		h->modules[string_number - 1] = h->profile->module_count;
	}
	return h->modules[string_number - 1];
}

static int take_ip(struct heaptrack *h, const char *at)
{
	struct seep_profile_frame frame = { .inlined = false };
	struct ip *ip;
	uint64_t module, line;

	if (!seep_line_hex(&at, &frame.address) || !seep_line_hex(&at, &module) ||
	    module > h->string_count)
		return wrong(h, "an instruction pointer in no module");
	if (h->ip_count == h->table_max)
		return too_many(h, "instruction pointers");
	frame.module = module_of(h, module);
	h->ips = seep_xgrow(h->ips, &h->ip_capacity, h->ip_count + 1, sizeof(*h->ips));
	ip = &h->ips[h->ip_count++];
	*ip = (struct ip){ .first = h->profile->frame_count };
	do {
		struct seep_profile_frame *to;

		frame.function = frame.file = NULL;
		frame.line = 0;
		if (at[strspn(at, " ")] && !string(h, &at, &frame.function))
			return wrong(h, "a function without a name");
		/* A symbol of the linker's has neither. */
		if (at[strspn(at, " ")]) {
			if (!string(h, &at, &frame.file) || !seep_line_hex(&at, &line))
				return wrong(h, "a function without its file and line");
			frame.line = line <= UINT32_MAX ? (uint32_t)line : 0;
		}
		if (ip->count == INLINED_MAX)
			continue;
		to = seep_profile_add(h->profile, SEEP_ARRAY_FRAMES);
		*to = frame;
		if (ip->count++ > 0)
			to[-1].inlined = true;
	} while (at[strspn(at, " ")]);
	return 0;
}

/* One piece of the builder's each, with the same number. */
static int take_trace(struct heaptrack *h, const char *at)
{
	uint64_t ip, caller;
	struct seep_profile_stack_entry *to;

	if (!seep_line_hex(&at, &ip) || ip == 0 || ip > h->ip_count)
		return wrong(h, "a trace through an instruction pointer that was not there before");
	if (!seep_line_hex(&at, &caller) || caller > h->trace_count)
		return wrong(h, "a trace whose caller was not there before");
	if (h->trace_count == h->table_max)
		return too_many(h, "traces");
	to = seep_builder_room(h->builder, h->ips[ip - 1].count);
	for (uint32_t i = 0; i < h->ips[ip - 1].count; i++)
		to[i].frame = h->ips[ip - 1].first + i;
	if (seep_builder_piece(h->builder, (uint32_t)caller, h->ips[ip - 1].count) == 0 ||
	    h->builder->piece_entry_count > h->builder->entries_max)
		return seep_fail(h->err, SEEP_ELIMIT, "line %llu: its traces are too long",
				 (unsigned long long)h->lines.number);
	h->contexts = seep_xgrow(h->contexts, &h->trace_capacity, h->trace_count + 1,
				 sizeof(*h->contexts));
	h->contexts[h->trace_count++] = 0;
	return 0;
}

/* The last has the requests of 2^46 bytes and more. */
static unsigned bucket_of(uint64_t bytes)
{
	const unsigned bits = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;

	return bits < SEEP_PROFILE_HISTOGRAM_BUCKETS ? bits : SEEP_PROFILE_HISTOGRAM_BUCKETS - 1;
}

/* ---- events -------------------------------------------------------------------------------- */

static int take_allocation(struct heaptrack *h, const char *at)
{
	uint64_t bytes, trace;

	if (!seep_line_hex(&at, &bytes) || !seep_line_hex(&at, &trace) || trace == 0 ||
	    trace > h->trace_count)
		return wrong(h, "an allocation by a trace that was not there before");
	if (h->allocation_count == h->table_max)
		return too_many(h, "allocations of different sizes or traces");
	if (h->allocation_count == h->table_max)
		return too_many(h, "allocations of different sizes or traces");
	h->allocations = seep_xgrow(h->allocations, &h->allocation_capacity,
				    h->allocation_count + 1, sizeof(*h->allocations));
	h->allocations[h->allocation_count++] = (struct allocation){ .bytes = bytes,
								     .trace = (uint32_t)trace };
	return 0;
}

static uint32_t context_of(struct heaptrack *h, uint32_t trace)
{
	struct seep_profile_context *context;

	if (h->contexts[trace - 1])
		return h->contexts[trace - 1] - 1;
	context = seep_profile_add(h->profile, SEEP_ARRAY_CONTEXTS);
	context->id = h->contexts[trace - 1] = h->profile->context_count;
	context->first_ns = h->now_ns;
	seep_builder_stack(h->builder, context, trace);
	h->at_peak = seep_xgrow(h->at_peak, &h->at_peak_capacity, context->id, sizeof(*h->at_peak));
	h->at_peak[context->id - 1] = (struct at_peak){ .turn = h->turn };
	return context->id - 1;
}

/* Before it changes. */
static struct seep_profile_context *keep_peak(struct heaptrack *h, uint32_t context)
{
	struct seep_profile_context *c = &h->profile->contexts[context];

	if (h->at_peak[context].turn != h->turn)
		h->at_peak[context] = (struct at_peak){ h->turn, c->live_blocks, c->live_bytes };
	return c;
}

/* The one that a "+" or "-" line names. */
static struct allocation *allocation_at(struct heaptrack *h, const char *at)
{
	uint64_t number;

	if (!seep_line_hex(&at, &number) || number >= h->allocation_count)
		return NULL;
	return &h->allocations[number];
}

static int take_alloc(struct heaptrack *h, const char *at)
{
	struct allocation *a = allocation_at(h, at);
	struct seep_profile_context *c;

	if (!a)
		return wrong(h, "\"+\" of an allocation that was not there before");
	c = keep_peak(h, context_of(h, a->trace));
	/* What one context allocates bounds all that is derived from it. */
	if (__builtin_add_overflow(c->alloc_bytes, a->bytes, &c->alloc_bytes) ||
	    __builtin_add_overflow(h->live_bytes, a->bytes, &h->live_bytes))
		return wrong(h, "more was allocated than any machine can");
	c->allocs++;
	c->live_blocks++;
	c->live_bytes += a->bytes;
	a->live++;
	h->allocs++;
	h->profile->totals.histogram[bucket_of(a->bytes)]++;
	h->last = (size_t)(a - h->allocations);
	if (h->live_bytes > h->peak_bytes) {
		h->peak_bytes = h->live_bytes;
		h->peak_ns = h->now_ns;
		h->turn++;
	}
	return 0;
}

static int take_free(struct heaptrack *h, const char *at)
{
	struct allocation *a = allocation_at(h, at);
	struct seep_profile_context *c;

	if (!a || a->live == 0)
		return wrong(h, "\"-\" of an allocation of which nothing is live");
	c = keep_peak(h, h->contexts[a->trace - 1] - 1);
	c->frees++;
	c->freed_bytes += a->bytes;
	c->live_blocks--;
	c->live_bytes -= a->bytes;
	a->live--;
	h->frees++;
	h->live_bytes -= a->bytes;
	if (h->last == (size_t)(a - h->allocations)) {
		c->temporary++;
		h->profile->totals.temporary_bytes += a->bytes;
	}
	h->last = SIZE_MAX;
	return 0;
}

/* ---- time ---------------------------------------------------------------------------------- */

static void thin_timeline(struct heaptrack *h)
{
	struct seep_profile *profile = h->profile;

	for (uint32_t i = 0; i < profile->sample_count / 2; i++)
		profile->timeline[i] = profile->timeline[2 * i];
	profile->sample_count /= 2;
	h->sample_every_ns = profile->timeline[profile->sample_count - 1].at_ns /
			     profile->sample_count;
}

static void add_sample(struct heaptrack *h)
{
	struct seep_profile *profile = h->profile;
	struct seep_profile_sample *sample;

	if (profile->sample_count == SAMPLES_MAX)
		thin_timeline(h);
	sample = seep_profile_add(profile, SEEP_ARRAY_SAMPLES);
	*sample = (struct seep_profile_sample){
		.at_ns = h->now_ns,
		.live_bytes = h->live_bytes,
		.rss_bytes = h->rss_bytes,
		.allocs = h->allocs,
		.frees = h->frees,
	};
}

static int take_time(struct heaptrack *h, const char *at)
{
	const struct seep_profile *profile = h->profile;
	uint64_t ms, ns;

	if (!seep_line_hex(&at, &ms) || __builtin_mul_overflow(ms, NS_PER_MS, &ns) ||
	    ns < h->now_ns)
		return wrong(h, "the time goes back");
	h->now_ns = ns;
	if (profile->sample_count == 0 ||
	    ns - profile->timeline[profile->sample_count - 1].at_ns >= h->sample_every_ns)
		add_sample(h);
	return 0;
}

static int take_resident(struct heaptrack *h, const char *at)
{
	uint64_t *peak = &h->profile->process.peak_rss_bytes;
	uint64_t pages;

	if (!seep_line_hex(&at, &pages) ||
	    __builtin_mul_overflow(pages, h->page_bytes, &h->rss_bytes))
		return wrong(h, "no number of resident pages");
	*peak = h->rss_bytes > *peak ? h->rss_bytes : *peak;
	return 0;
}

/* ---- what is there once -------------------------------------------------------------------- */

static int take_version(struct heaptrack *h, const char *at)
{
	uint64_t version;

	if (!seep_line_hex(&at, &version) || !seep_line_hex(&at, &h->format) || h->format == 0)
		return wrong(h, "no version of heaptrack");
	if (h->format < FORMAT_MIN || h->format > FORMAT_MAX)
		return seep_fail(h->err, SEEP_EUNSUPPORTED,
				 "format %llu of heaptrack; %d and %d are read",
				 (unsigned long long)h->format, FORMAT_MIN, FORMAT_MAX);
	return 0;
}

static int take_pages(struct heaptrack *h, const char *at)
{
	return seep_line_hex(&at, &h->page_bytes) ? 0 : wrong(h, "no size of pages");
}

/* Words are not told apart there; the first one most often ends at a blank. */
static int take_command(struct heaptrack *h, const char *at)
{
	const size_t bytes = strcspn(at, " ");

	if (bytes && !h->profile->process.exe)
		h->profile->process.exe = seep_builder_text(h->builder, at, bytes);
	return 0;
}

static int take_attached(struct heaptrack *h, const char *at)
{
	(void)at;
	seep_profile_add_unseen(h->profile, "attached",
				"heaptrack was attached to a process that ran already: what it "
				"had allocated before is not in it");
	return 0;
}

static int refuse_raw(struct heaptrack *h, const char *at)
{
	(void)at;
	return seep_fail(
		h->err, SEEP_EUNSUPPORTED,
		"it is raw output (of \"heaptrack --raw\"); "
		"/usr/lib/heaptrack/libexec/heaptrack_interpret makes a file with names of it");
}

static int ignore(struct heaptrack *h, const char *at)
{
	(void)h;
	(void)at;
	return 0;
}

static int take_line(struct heaptrack *h)
{
	static int (*const letters[128])(struct heaptrack *, const char *) = {
		['+'] = take_alloc, ['-'] = take_free,	   ['a'] = take_allocation,
		['t'] = take_trace, ['i'] = take_ip,	   ['s'] = take_string,
		['c'] = take_time,  ['R'] = take_resident, ['v'] = take_version,
		['I'] = take_pages, ['X'] = take_command,  ['A'] = take_attached,
		['S'] = ignore, /* suppressions of the program's own */
		['#'] = ignore,	    ['x'] = refuse_raw,	   ['m'] = refuse_raw,
	};
	const unsigned char letter = (unsigned char)h->lines.line[0];

	if (letter == '\0' && h->lines.bytes == 0)
		return 0;
	if (letter >= 128 || !letters[letter])
		return wrong(h, "it begins with no letter that heaptrack writes");
	if (h->format == 0 && letter != 'v')
		return wrong(h, "there is no version of heaptrack before it");
	return letters[letter](h, h->lines.line + 1 + (h->lines.line[1] == ' '));
}

/* The path of the program, where a module is called as it was started. */
static void find_program(struct heaptrack *h)
{
	struct seep_profile_process *process = &h->profile->process;

	for (uint32_t i = 0; i < h->profile->module_count && process->exe; i++)
		if (strcmp(seep_path_base(h->profile->modules[i].path),
			   seep_path_base(process->exe)) == 0) {
			process->exe = h->profile->modules[i].path;
			return;
		}
}

static void finish(struct heaptrack *h)
{
	struct seep_profile *profile = h->profile;

	for (uint32_t i = 0; i < profile->context_count; i++) {
		struct seep_profile_context *c = keep_peak(h, i);

		c->peak_blocks = h->at_peak[i].blocks;
		c->peak_bytes = h->at_peak[i].bytes;
	}
	profile->totals.peak_at_ns = h->peak_ns;
	profile->process.end_ns = h->now_ns;
	profile->named_count = profile->frame_count;
	if (h->now_ns > 0)
		add_sample(h);
	find_program(h);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int read_heaptrack(struct seep_decoder *source, struct seep_builder *builder,
			  struct seep_error *err)
{
	struct heaptrack h = {
		.lines.source = source,
		.builder = builder,
		.profile = builder->profile,
		.err = err,
		.last = SIZE_MAX,
		.table_max = smaller(TABLE_MIN + builder->held_bytes, TABLE_MAX),
		.text_max = TEXT_MIN_BYTES + TEXT_PER_BYTE * builder->held_bytes,
	};
	bool any = true;
	int r = 0;

	while (r == 0 && any) {
		r = seep_line_next(&h.lines, &any, err);
		seep_builder_hold(builder, smaller(seep_line_given(&h.lines), h.text_max));
		if (r == 0 && any)
			r = take_line(&h);
	}
	if (r == 0)
		finish(&h);
	free(h.strings);
	free(h.ips);
	free(h.allocations);
	free(h.contexts);
	free(h.modules);
	free(h.at_peak);
	seep_line_reader_done(&h.lines);
	return r;
}

/* "v 10400 3" on a line of its own. */
static bool is_heaptrack(const uint8_t *head, size_t bytes)
{
	static const char digits[] = "0123456789abcdef \n";

	if (bytes < sizeof("v 1 1\n") - 1 || head[0] != 'v' || head[1] != ' ')
		return false;
	for (size_t i = 2; i < bytes && head[i] != '\n'; i++)
		if (!memchr(digits, head[i], sizeof(digits) - 1) || i > 32)
			return false;
	return true;
}

const struct seep_importer seep_import_heaptrack = {
	.name = "heaptrack",
	.lacks = "the process's id, its allocator, its threads, and not always by which function "
		 "it allocated",
	.max_bytes = MAX_BYTES,
	.detects = is_heaptrack,
	.read = read_heaptrack,
};
