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
#include "import/import.h"

#include "base/clock.h"
#include "base/decode.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "import/line_reader.h"
#include "profile/builder.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (UINT64_C(1) << 40)
/*
 * Of all lines that are no events, and of text: what any file may have, and what it may have more
 * for each of its bytes, which are compressed as a rule.
 */
#define KEPT_MIN (UINT64_C(1) << 24)
#define KEPT_MAX (UINT64_C(1) << 30)
#define TEXT_MIN_BYTES (UINT64_C(256) << 20)

enum {
	FORMAT_MIN = 2,
	FORMAT_MAX = 3,
	SAMPLES_PER_TIME = 1024,
	INLINED_MAX = 64,
	TEXT_PER_BYTE = 32
};

struct string {
	char *text;
	uint32_t module; /* of that path, as in a frame; 0: none yet */
};

/* The frames of an instruction pointer. */
struct ip {
	uint32_t first, count;
};

/* A piece of the builder's with the same number, and what allocated there. */
struct trace {
	uint32_t context; /* index + 1, 0 = none yet */
	uint64_t turn;	  /* of the peak that the context's peak_bytes are of */
};

struct allocation {
	uint64_t bytes;
	uint64_t live; /* how many */
	uint32_t trace;
};

struct heaptrack {
	struct seep_line_reader lines;
	struct seep_builder *builder;
	struct seep_profile *profile;
	uint64_t format, kept, kept_max, text_max;
	struct string *strings;
	struct ip *ips;
	struct trace *traces;
	struct allocation *allocations;
	size_t string_count, ip_count, trace_count, allocation_count;
	uint64_t turn; /* how many times there was a new peak */
	uint64_t peak_bytes, peak_ns;
	struct seep_profile_sample now;
	uint64_t page_bytes;
	const struct allocation *last; /* made by the line before */
};

static int wrong(struct heaptrack *h, const char *what)
{
	return seep_line_fail(&h->lines, SEEP_ECORRUPT, what);
}

static int too_much(struct heaptrack *h, const char *what)
{
	return seep_line_fail(&h->lines, SEEP_ELIMIT, what);
}

static bool at_end(const char *at)
{
	return at[strspn(at, " ")] == '\0';
}

static int take_string(struct heaptrack *h, char *at)
{
	uint64_t bytes;
	char *text;

	/* A text with an end of line in it is refused: no program has such. */
	if (h->format >= 3 && (!seep_line_hex(&at, &bytes) || *at++ != ' ' || bytes != strlen(at)))
		return wrong(h, "a string without its length, or of another one");
	text = seep_builder_text(h->builder, at, strlen(at));
	if (!text)
		return too_much(h, "its strings are too long");
	*SEEP_APPEND(h->strings, h->string_count) = (struct string){ text, 0 };
	return 0;
}

/* *@ret: NULL for the number 0 and the empty string, which stand for what is not known. */
static bool string(const struct heaptrack *h, char **at, struct string **ret)
{
	uint64_t number;

	if (!seep_line_hex(at, &number) || number > h->string_count)
		return false;
	*ret = number && *h->strings[number - 1].text ? &h->strings[number - 1] : NULL;
	return true;
}

/* Where it was loaded is not said. */
static uint32_t module_of(struct heaptrack *h, struct string *path)
{
	if (path && path->module == 0) {
		struct seep_profile_module *module = seep_profile_add(h->profile,
								      SEEP_ARRAY_MODULES);

		module->path = path->text;
		path->module = h->profile->module_count;
	}
	return path ? path->module : 0;
}

/* "FUNCTION FILE LINE", or of a symbol of the linker's FUNCTION alone. */
static bool take_name(struct heaptrack *h, char **at, struct seep_profile_frame *frame)
{
	struct string *function = NULL, *file = NULL;
	uint64_t line = 0;

	if (!at_end(*at) && !string(h, at, &function))
		return false;
	if (!at_end(*at) && (!string(h, at, &file) || !seep_line_hex(at, &line)))
		return false;
	frame->function = function ? function->text : NULL;
	frame->file = file ? file->text : NULL;
	frame->line = line <= UINT32_MAX ? (uint32_t)line : 0;
	return true;
}

static int take_ip(struct heaptrack *h, char *at)
{
	struct seep_profile_frame frame = { .inlined = false };
	struct ip ip = { .first = h->profile->frame_count };
	struct string *path;

	if (!seep_line_hex(&at, &frame.address) || !string(h, &at, &path))
		return wrong(h, "an instruction pointer in no module");
	frame.module = module_of(h, path);
	do {
		struct seep_profile_frame *to;

		if (!take_name(h, &at, &frame))
			return wrong(h, "a function without its name, file and line");
		if (ip.count == INLINED_MAX)
			return too_much(h, "too many functions are inlined");
		to = seep_profile_add(h->profile, SEEP_ARRAY_FRAMES);
		*to = frame;
		if (ip.count++ > 0)
			to[-1].inlined = true;
	} while (!at_end(at));
	*SEEP_APPEND(h->ips, h->ip_count) = ip;
	return 0;
}

static int take_trace(struct heaptrack *h, char *at)
{
	uint64_t number, caller;
	struct seep_profile_stack_entry *to;
	const struct ip *ip;

	if (!seep_line_hex(&at, &number) || number == 0 || number > h->ip_count)
		return wrong(h, "a trace through an instruction pointer that was not there before");
	if (!seep_line_hex(&at, &caller) || caller > h->trace_count)
		return wrong(h, "a trace whose caller was not there before");
	ip = &h->ips[number - 1];
	to = seep_builder_room(h->builder, ip->count);
	for (uint32_t i = 0; i < ip->count; i++)
		to[i] = (struct seep_profile_stack_entry){ ip->first + i, 0, 0 };
	if (seep_builder_piece(h->builder, (uint32_t)caller, ip->count) == 0 ||
	    h->builder->piece_entry_count > h->builder->entries_max)
		return too_much(h, "its traces are too long");
	*SEEP_APPEND(h->traces, h->trace_count) = (struct trace){ 0 };
	return 0;
}

static int take_allocation(struct heaptrack *h, char *at)
{
	uint64_t bytes, trace;

	if (!seep_line_hex(&at, &bytes) || !seep_line_hex(&at, &trace) || trace == 0 ||
	    trace > h->trace_count)
		return wrong(h, "an allocation by a trace that was not there before");
	*SEEP_APPEND(h->allocations, h->allocation_count) = (struct allocation){ bytes, 0,
										 (uint32_t)trace };
	h->last = NULL; /* They may have moved. */
	return 0;
}

static struct seep_profile_context *new_context(struct heaptrack *h, uint32_t trace)
{
	struct seep_profile_context *context = seep_profile_add(h->profile, SEEP_ARRAY_CONTEXTS);

	context->id = h->traces[trace - 1].context = h->profile->context_count;
	context->first_ns = h->now.at_ns;
	seep_builder_stack(h->builder, context, trace);
	return context;
}

/* The context that allocates by @trace, before it changes: what it had at the peak is kept. */
static struct seep_profile_context *context_of(struct heaptrack *h, uint32_t number)
{
	struct trace *trace = &h->traces[number - 1];
	struct seep_profile_context *c = trace->context ? &h->profile->contexts[trace->context - 1]
							: new_context(h, number);

	if (trace->turn != h->turn) {
		trace->turn = h->turn;
		c->peak_blocks = c->live_blocks;
		c->peak_bytes = c->live_bytes;
	}
	return c;
}

/* The one that a "+" or "-" line names. */
static struct allocation *allocation_at(struct heaptrack *h, char *at)
{
	uint64_t number;

	return seep_line_hex(&at, &number) && number < h->allocation_count ? &h->allocations[number]
									   : NULL;
}

static int take_alloc(struct heaptrack *h, char *at)
{
	struct allocation *a = allocation_at(h, at);
	struct seep_profile_context *c;
	uint64_t bucket;

	if (!a)
		return wrong(h, "\"+\" of an allocation that was not there before");
	c = context_of(h, a->trace);
	/* What one context allocates bounds all that is derived from it. */
	if (__builtin_add_overflow(c->alloc_bytes, a->bytes, &c->alloc_bytes) ||
	    __builtin_add_overflow(h->now.live_bytes, a->bytes, &h->now.live_bytes))
		return wrong(h, "more was allocated than any machine can");
	c->allocs++;
	c->live_blocks++;
	c->live_bytes += a->bytes;
	a->live++;
	h->now.allocs++;
	/* The last has the requests of 2^46 bytes and more. */
	bucket = core_smaller(core_bit_width(a->bytes), SEEP_PROFILE_HISTOGRAM_BUCKETS - 1);
	h->profile->totals.histogram[bucket]++;
	h->last = a;
	if (h->now.live_bytes > h->peak_bytes) {
		h->peak_bytes = h->now.live_bytes;
		h->peak_ns = h->now.at_ns;
		h->turn++;
	}
	return 0;
}

static int take_free(struct heaptrack *h, char *at)
{
	struct allocation *a = allocation_at(h, at);
	struct seep_profile_context *c;

	/* Our export frees its block of 0 bytes to say that what follows is not temporary. */
	if (a && a->live == 0 && a->bytes == 0) {
		h->last = NULL;
		return 0;
	}
	if (!a || a->live == 0)
		return wrong(h, "\"-\" of an allocation of which nothing is live");
	c = context_of(h, a->trace);
	c->frees++;
	c->freed_bytes += a->bytes;
	c->live_blocks--;
	c->live_bytes -= a->bytes;
	a->live--;
	h->now.frees++;
	h->now.live_bytes -= a->bytes;
	c->temporary += h->last == a;
	h->last = NULL;
	return 0;
}

static void add_sample(struct heaptrack *h)
{
	*(struct seep_profile_sample *)seep_profile_add(h->profile, SEEP_ARRAY_SAMPLES) = h->now;
}

/* The longer it ran, the rarer samples are: in all no more than 2^15 however late it is. */
static int take_time(struct heaptrack *h, char *at)
{
	const struct seep_profile *profile = h->profile;
	uint64_t ms, ns, before = 0;

	if (!seep_line_hex(&at, &ms) || __builtin_mul_overflow(ms, SEEP_NS_PER_MS, &ns) ||
	    ns < h->now.at_ns)
		return wrong(h, "the time goes back");
	h->now.at_ns = ns;
	if (profile->sample_count > 0)
		before = profile->timeline[profile->sample_count - 1].at_ns;
	if (ns > before + before / SAMPLES_PER_TIME)
		add_sample(h);
	return 0;
}

static int take_resident(struct heaptrack *h, char *at)
{
	uint64_t *peak = &h->profile->process.peak_rss_bytes;
	uint64_t pages;

	if (!seep_line_hex(&at, &pages) ||
	    __builtin_mul_overflow(pages, h->page_bytes, &h->now.rss_bytes))
		return wrong(h, "no number of resident pages");
	*peak = h->now.rss_bytes > *peak ? h->now.rss_bytes : *peak;
	return 0;
}

static int take_version(struct heaptrack *h, char *at)
{
	uint64_t version;

	if (!seep_line_hex(&at, &version) || !seep_line_hex(&at, &h->format))
		return wrong(h, "no version of heaptrack");
	if (h->format >= FORMAT_MIN && h->format <= FORMAT_MAX)
		return 0;
	return seep_line_fail(&h->lines, SEEP_EUNSUPPORTED,
			      "another format of heaptrack than 2 and 3");
}

static int take_pages(struct heaptrack *h, char *at)
{
	return seep_line_hex(&at, &h->page_bytes) ? 0 : wrong(h, "no size of pages");
}

/* Words are not told apart there; the first one most often ends at a blank. */
static int take_command(struct heaptrack *h, char *at)
{
	const size_t bytes = strcspn(at, " ");

	if (bytes && !h->profile->process.exe)
		h->profile->process.exe = seep_builder_text(h->builder, at, bytes);
	return 0;
}

static int take_attached(struct heaptrack *h, char *at)
{
	(void)at;
	seep_profile_add_unseen(h->profile, "attached",
				"heaptrack was attached to a process that ran already: what it "
				"had allocated before is not in it");
	return 0;
}

static int refuse_raw(struct heaptrack *h, char *at)
{
	(void)at;
	return seep_line_fail(&h->lines, SEEP_EUNSUPPORTED,
			      "raw output (of \"heaptrack --raw\"); "
			      "/usr/lib/heaptrack/libexec/heaptrack_interpret makes a file with "
			      "names of it");
}

static int take_line(struct heaptrack *h)
{
	static const struct {
		int (*take)(struct heaptrack *, char *); /* NULL: left out */
		bool is_kept;
	} letters[128] = {
		['+'] = { take_alloc, false },	 ['-'] = { take_free, false },
		['c'] = { take_time, false },	 ['R'] = { take_resident, false },
		['s'] = { take_string, true },	 ['i'] = { take_ip, true },
		['t'] = { take_trace, true },	 ['a'] = { take_allocation, true },
		['v'] = { take_version, false }, ['I'] = { take_pages, false },
		['X'] = { take_command, false }, ['A'] = { take_attached, false },
		['x'] = { refuse_raw, false },	 ['m'] = { refuse_raw, false },
	};
	char *line = h->lines.line;
	const unsigned char letter = (unsigned char)line[0];

	if (h->lines.number == 1 && letter != 'v')
		return wrong(h, "there is no version of heaptrack before it");
	/* Suppressions of the program's own, comments. */
	if (letter == '\0' || letter == 'S' || letter == '#')
		return 0;
	if (letter >= 128 || !letters[letter].take)
		return wrong(h, "it begins with no letter that heaptrack writes");
	if (letters[letter].is_kept && h->kept++ == h->kept_max)
		return too_much(h, "too many call stacks, or allocations of different sizes");
	return letters[letter].take(h, line + 1 + (line[1] == ' '));
}

static void finish(struct heaptrack *h)
{
	struct seep_profile *profile = h->profile;

	for (size_t i = 0; i < h->trace_count; i++)
		if (h->traces[i].context)
			(void)context_of(h, (uint32_t)i + 1);
	profile->totals.peak_at_ns = h->peak_ns;
	profile->process.end_ns = h->now.at_ns;
	profile->named_count = profile->frame_count;
	if (h->now.at_ns > 0)
		add_sample(h);
}

static int read_heaptrack(struct seep_decoder *source, struct seep_builder *builder,
			  struct seep_error *err)
{
	struct heaptrack h = {
		.lines = { .source = source, .err = err },
		.builder = builder,
		.profile = builder->profile,
		.kept_max = core_smaller(KEPT_MIN + builder->held_bytes, KEPT_MAX),
		.text_max = TEXT_MIN_BYTES + TEXT_PER_BYTE * builder->held_bytes,
	};
	bool any = true;
	int r = 0;

	while (r == 0 && (r = seep_line_next(&h.lines, &any)) == 0 && any) {
		seep_builder_hold(builder, core_smaller(seep_decoder_given(source), h.text_max));
		r = take_line(&h);
	}
	if (r == 0 && h.format == 0)
		r = seep_fail(err, SEEP_ETRUNC, "it is empty");
	if (r == 0)
		finish(&h);
	free(h.strings);
	free(h.ips);
	free(h.traces);
	free(h.allocations);
	seep_line_reader_done(&h.lines);
	return r;
}

/* "v 10400 3" on a line of its own. */
static bool is_heaptrack(const char *head, size_t bytes)
{
	return bytes > 2 && head[0] == 'v' && head[1] == ' ' &&
	       head[2 + strspn(head + 2, "0123456789abcdef ")] == '\n';
}

const struct seep_importer seep_import_heaptrack = {
	.name = "heaptrack",
	.lacks = "the process's id, its allocator, its threads, and not always by which function "
		 "it allocated",
	.max_bytes = MAX_BYTES,
	.detects = is_heaptrack,
	.read = read_heaptrack,
};
