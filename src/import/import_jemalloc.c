/* SPDX-License-Identifier: MIT */
/*
 *	heap_v2/524288				heap profile: 3: 300 [9: 900] @ heapprofile
 *	  t*: 3: 300 [9: 900]			 3: 300 [9: 900] @ 0x7fbea1aa2d21 0x55a849d4a58b
 *	@ 0x7fbea1aa2d21 0x55a849d4a58b		...
 *	  t*: 3: 300 [9: 900]
 *	  t0: 3: 300 [9: 900]
 *	...
 *	MAPPED_LIBRARIES:
 *	55a849d4a000-55a849d4b000 r-xp 00001000 fe:00 10970738	/usr/bin/program
 *
 * That is: live blocks and bytes, and [those ever allocated]. Which module an address is in is known
 * at the end only; until then frames have none.
 */
#include "import/import.h"

#include "base/decode.h"
#include "base/path.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "import/line_reader.h"
#include "profile/builder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (UINT64_C(2) << 30)

static const char jemalloc_magic[] = "heap_v2/";
static const char tcmalloc_magic[] = "heap profile:";

/* Executable memory. */
struct mapping {
	uint64_t start, end;
	uint32_t module; /* as in a frame */
};

struct jemalloc {
	struct seep_line_reader lines;
	struct seep_builder *builder;
	uint64_t period; /* bytes between samples on average; 0: each allocation was recorded */
	bool has_stack;	 /* one was read, whose figures come next */
	uint32_t piece;
	bool knows_allocs;
	struct mapping *mappings;
	size_t mapping_count;
};

static int wrong(struct jemalloc *j, const char *what)
{
	return seep_line_fail(&j->lines, SEEP_ECORRUPT, what);
}

static bool skip(char **at, char c)
{
	*at += strspn(*at, " \t");
	if (**at != c)
		return false;
	++*at;
	return true;
}

/* "3: 300 [9: 900]" */
static bool parse_figures(char **at, struct seep_import_figures *ret)
{
	return seep_line_decimal(at, &ret->live_blocks) && skip(at, ':') &&
	       seep_line_decimal(at, &ret->live_bytes) && skip(at, '[') &&
	       seep_line_decimal(at, &ret->allocs) && skip(at, ':') &&
	       seep_line_decimal(at, &ret->alloc_bytes) && skip(at, ']');
}

/*
 * As jeprof does it: samples are a Poisson process, so that an allocation of X bytes is met with the
 * probability 1 - exp(-X / period); X is taken for the same in all of these.
 */
static bool scale(uint64_t *blocks, uint64_t *bytes, uint64_t period)
{
	double mean, factor;

	if (*blocks == 0 || period == 0)
		return true;
	mean = (double)*bytes / (double)*blocks;
	factor = 1.0 / (1.0 - exp(-mean / (double)period));
	if (!((double)*blocks * factor < 0x1p63) || !((double)*bytes * factor < 0x1p63))
		return false;
	*blocks = (uint64_t)llround((double)*blocks * factor);
	*bytes = (uint64_t)llround((double)*bytes * factor);
	return true;
}

static int add_context(struct jemalloc *j, struct seep_import_figures *figures)
{
	if (!scale(&figures->live_blocks, &figures->live_bytes, j->period) ||
	    !scale(&figures->allocs, &figures->alloc_bytes, j->period))
		return wrong(j, "its samples stand for more than can be");
	j->knows_allocs |= figures->allocs > 0;
	(void)seep_import_add(j->builder, figures, j->piece);
	return 0;
}

/* "0x7fbea1aa2d21 0x55a849d4a58b" */
static int take_stack(struct jemalloc *j, char *at)
{
	/* No address is shorter than " 1". */
	struct seep_profile_stack_entry *to = seep_builder_room(j->builder, strlen(at) / 2 + 1);
	uint32_t count = 0;

	if (j->builder->piece_entry_count > j->builder->entries_max)
		return seep_line_fail(&j->lines, SEEP_ELIMIT, "its call stacks are too many");
	while (at[strspn(at, " \t\r")]) {
		struct seep_profile_frame frame = { 0 };

		if (!seep_line_hex(&at, &frame.address) || !strchr(" \t\r", *at))
			return wrong(j, "a call stack has what is no address");
		to[count] = (struct seep_profile_stack_entry){ 0 };
		to[count++].frame = seep_builder_frame(j->builder, &frame);
	}
	j->piece = count ? seep_builder_piece(j->builder, 0, count) : 0;
	j->has_stack = true;
	return 0;
}

/*
 * Of jemalloc: "@ ADDRESS...", then "t*: FIGURES" and the same of each thread, which are left out;
 * of tcmalloc: "FIGURES @ ADDRESS...".
 */
static int take_line(struct jemalloc *j, char *at)
{
	const bool is_stack = *at == '@', is_thread = *at == 't' && at[1] != '*';
	struct seep_import_figures figures;
	int r = 0;

	if (is_thread || (*at == 't' && !j->has_stack))
		return 0;
	if (*at == 't')
		at += 2 + (at[2] == ':');
	if (!is_stack && !parse_figures(&at, &figures))
		return wrong(j, "neither a call stack nor figures like \"3: 300 [9: 900]\"");
	if (skip(&at, '@'))
		r = take_stack(j, at);
	if (r < 0 || is_stack)
		return r;
	if (!j->has_stack)
		return wrong(j, "figures without a call stack");
	j->has_stack = false;
	return add_context(j, &figures);
}

/* "55a849d4a000-55a849d4b000 r-xp 00001000 fe:00 10970738   PATH"; other lines are left out. */
static void take_mapping(struct jemalloc *j, char *line)
{
	struct seep_profile *profile = j->builder->profile;
	struct mapping mapping;
	uint64_t offset;
	char executable, *path, *deleted = strstr(line, " (deleted)");
	int path_at = 0;

	if (deleted)
		*deleted = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*2s%c%*s %" SCNx64 " %*s %*s %n", &mapping.start,
		   &mapping.end, &executable, &offset, &path_at) != 4 ||
	    path_at == 0 || line[path_at] == '\0')
		return;
	path = seep_builder_text(j->builder, line + path_at, strcspn(line + path_at, "\r"));
	/* The program comes first, unless it lies above its libraries. */
	if (path && !profile->process.exe && path[0] == '/' && !strstr(path, ".so"))
		profile->process.exe = path;
	if (!path || executable != 'x')
		return;
	mapping.module = seep_import_module(profile, path, mapping.start, mapping.end, offset);
	*SEEP_APPEND(j->mappings, j->mapping_count) = mapping;
}

static void place_frames(struct jemalloc *j)
{
	struct seep_profile *profile = j->builder->profile;

	seep_search_sort(j->mappings, j->mapping_count, sizeof(*j->mappings));
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		struct seep_profile_frame *frame = &profile->frames[i];
		/* A return address may lie behind the last instruction. */
		const size_t at = seep_search_upto(j->mappings, j->mapping_count,
						   sizeof(*j->mappings), frame->address - 1);

		if (at == 0 || frame->address > j->mappings[at - 1].end)
			continue;
		frame->module = j->mappings[at - 1].module;
		frame->address -= profile->modules[frame->module - 1].bias;
	}
}

/* "heap_v2/524288"; of tcmalloc "heap profile: FIGURES @ heapprofile": nothing was sampled. */
static int take_head(struct jemalloc *j)
{
	char *at = j->lines.line;
	struct seep_import_figures figures;

	if (seep_begins_with(at, tcmalloc_magic)) {
		at += strlen(tcmalloc_magic);
		if (!parse_figures(&at, &figures) || !skip(&at, '@'))
			return wrong(j, "no figures behind \"heap profile:\"");
		at += strspn(at, " ");
		if (seep_begins_with(at, "heapprofile"))
			return 0;
	}
	if (!seep_begins_with(at, jemalloc_magic))
		return seep_line_fail(
			&j->lines, SEEP_EUNSUPPORTED,
			"neither \"heap_v2\" of jemalloc nor \"heapprofile\" of tcmalloc");
	at += strlen(jemalloc_magic);
	return seep_line_decimal(&at, &j->period) ? 0 : wrong(j, "no number behind \"heap_v2/\"");
}

static int read_all(struct jemalloc *j)
{
	bool any = true, in_mappings = false;
	int r = 0;

	while (r == 0 && (r = seep_line_next(&j->lines, &any)) == 0 && any) {
		char *at = j->lines.line + strspn(j->lines.line, " \t\r");

		seep_builder_hold(j->builder, seep_decoder_given(j->lines.source));
		if (j->lines.number == 1)
			r = take_head(j);
		else if (in_mappings)
			take_mapping(j, at);
		else if (seep_begins_with(at, "MAPPED_LIBRARIES:"))
			in_mappings = true;
		else if (*at)
			r = take_line(j, at);
	}
	if (r == 0 && !in_mappings)
		r = seep_fail(j->lines.err, SEEP_ETRUNC,
			      "its end is missing, and with it MAPPED_LIBRARIES");
	return r;
}

static int read_jemalloc(struct seep_decoder *source, struct seep_builder *builder,
			 struct seep_error *err)
{
	struct jemalloc j = { .lines = { .source = source, .err = err }, .builder = builder };
	int r = read_all(&j);

	if (r == 0) {
		place_frames(&j);
		seep_import_tell(builder->profile, (struct seep_import_knowledge){
							   .allocs = j.knows_allocs,
							   .live = true,
							   .period_bytes = j.period,
						   });
	}
	free(j.mappings);
	seep_line_reader_done(&j.lines);
	return r;
}

static bool is_jemalloc(const char *head, size_t bytes)
{
	(void)bytes;
	return seep_begins_with(head, jemalloc_magic) || seep_begins_with(head, tcmalloc_magic);
}

const struct seep_importer seep_import_jemalloc = {
	.name = "jemalloc",
	.lacks = "the process, and not always by which function it allocated",
	.max_bytes = MAX_BYTES,
	.detects = is_jemalloc,
	.read = read_jemalloc,
};
