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
#include "import/import_jemalloc.h"

#include "base/xalloc.h"
#include "import/line_reader.h"
#include "profile/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (UINT64_C(2) << 30)

static const char jemalloc_magic[] = "heap_v2/";
static const char tcmalloc_magic[] = "heap profile:";
static const char deleted[] = " (deleted)";

/* Executable memory. */
struct mapping {
	uint64_t start, end;
	uint32_t module; /* as in a frame */
};

struct jemalloc {
	struct seep_line_reader lines;
	struct seep_builder *builder;
	struct seep_error *err;
	uint64_t period; /* bytes between samples on average; 0: each allocation was recorded */
	bool in_tcmalloc;
	bool has_stack; /* one was read, whose figures come next */
	uint32_t piece;
	bool knows_allocs;
	uint64_t mended;
	struct mapping *mappings;
	size_t mapping_count, mapping_capacity;
};

static int wrong(struct jemalloc *j, const char *what)
{
	return seep_line_wrong(&j->lines, what, j->err);
}

/* ---- figures ------------------------------------------------------------------------------- */

static bool skip(const char **at, char c)
{
	*at += strspn(*at, " \t");
	if (**at != c)
		return false;
	++*at;
	return true;
}

/* "3: 300 [9: 900]" */
static bool parse_figures(const char **at, struct seep_import_figures *ret)
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
	const double mean = *blocks ? (double)*bytes / (double)*blocks : 0.0;
	const double factor = 1.0 / (1.0 - exp(-mean / (double)period));
	const double scaled[2] = { (double)*blocks * factor, (double)*bytes * factor };

	if (*blocks == 0)
		return true;
	if (!(scaled[0] < 0x1p63) || !(scaled[1] < 0x1p63))
		return false;
	*blocks = (uint64_t)llround(scaled[0]);
	*bytes = (uint64_t)llround(scaled[1]);
	return true;
}

static int add_context(struct jemalloc *j, struct seep_import_figures *figures)
{
	if (j->period > 0 && (!scale(&figures->live_blocks, &figures->live_bytes, j->period) ||
			      !scale(&figures->allocs, &figures->alloc_bytes, j->period)))
		return wrong(j, "its samples stand for more than can be");
	j->knows_allocs |= figures->allocs > 0;
	seep_import_add(j->builder, figures, j->piece, &j->mended);
	return 0;
}

/* ---- stacks -------------------------------------------------------------------------------- */

/* "0x7fbea1aa2d21 0x55a849d4a58b" */
static int take_stack(struct jemalloc *j, const char *at)
{
	/* No address is shorter than " 1". */
	struct seep_profile_stack_entry *to = seep_builder_room(j->builder, strlen(at) / 2 + 1);
	uint32_t count = 0;

	if (j->builder->piece_entry_count > j->builder->entries_max)
		return seep_fail(j->err, SEEP_ELIMIT, "its call stacks have over %llu frames",
				 (unsigned long long)j->builder->entries_max);
	while (at[strspn(at, " \t\r")]) {
		struct seep_profile_frame frame = { 0 };

		if (!seep_line_hex(&at, &frame.address) || !strchr(" \t\r", *at))
			return wrong(j, "a call stack has what is no address");
		to[count++].frame = seep_builder_frame(j->builder, &frame);
	}
	j->piece = count ? seep_builder_piece(j->builder, 0, count) : 0;
	j->has_stack = true;
	return 0;
}

/* Of jemalloc: "@ ADDRESS...", then "t*: FIGURES" and the same of each thread. */
static int take_jemalloc(struct jemalloc *j, const char *at)
{
	struct seep_import_figures figures;

	if (*at == '@')
		return take_stack(j, at + 1);
	if (*at++ != 't')
		return wrong(j, "neither a call stack nor figures");
	if (*at != '*' || !j->has_stack)
		return 0;
	at++;
	if (!skip(&at, ':') || !parse_figures(&at, &figures))
		return wrong(j, "no figures in the form of \"t*: 3: 300 [9: 900]\"");
	j->has_stack = false;
	return add_context(j, &figures);
}

/* Of tcmalloc: "FIGURES @ ADDRESS...". */
static int take_tcmalloc(struct jemalloc *j, const char *at)
{
	struct seep_import_figures figures;
	int r;

	if (!parse_figures(&at, &figures) || !skip(&at, '@'))
		return wrong(j, "no figures in the form of \"3: 300 [9: 900] @ ADDRESSES\"");
	r = take_stack(j, at);
	return r == 0 ? add_context(j, &figures) : r;
}

/* ---- modules ------------------------------------------------------------------------------- */

/* "55a849d4a000-55a849d4b000 r-xp 00001000 fe:00 10970738   PATH"; other lines are left out. */
static void take_mapping(struct jemalloc *j, const char *at)
{
	struct seep_profile *profile = j->builder->profile;
	struct mapping mapping;
	uint64_t offset, inode;
	bool executable;
	size_t bytes;
	char *path;

	if (!seep_line_hex(&at, &mapping.start) || !skip(&at, '-') ||
	    !seep_line_hex(&at, &mapping.end))
		return;
	at += strspn(at, " ");
	executable = at[0] && at[1] && at[2] == 'x';
	at += strcspn(at, " ");
	if (!seep_line_hex(&at, &offset))
		return;
	at += strspn(at, " ");
	at += strcspn(at, " "); /* device */
	if (!seep_line_decimal(&at, &inode))
		return;
	at += strspn(at, " \t");
	bytes = strcspn(at, "\r");
	if (bytes > strlen(deleted) &&
	    memcmp(at + bytes - strlen(deleted), deleted, strlen(deleted)) == 0)
		bytes -= strlen(deleted);
	path = bytes ? seep_builder_text(j->builder, at, bytes) : NULL;
	/* The program comes first, unless it lies above its libraries. */
	if (path && !profile->process.exe && path[0] == '/' && !strstr(path, ".so"))
		profile->process.exe = path;
	if (!path || !executable)
		return;
	mapping.module = seep_import_module(profile, path, mapping.start, mapping.end, offset);
	j->mappings = seep_xgrow(j->mappings, &j->mapping_capacity, j->mapping_count + 1,
				 sizeof(mapping));
	j->mappings[j->mapping_count++] = mapping;
}

static int by_start(const void *a, const void *b)
{
	const struct mapping *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

/* A return address may lie behind the last instruction. */
static int by_address(const void *key, const void *item)
{
	const uint64_t address = *(const uint64_t *)key - 1;
	const struct mapping *mapping = item;

	return address < mapping->start ? -1 : address >= mapping->end;
}

static void place_frames(struct jemalloc *j)
{
	struct seep_profile *profile = j->builder->profile;

	if (j->mapping_count == 0)
		return;
	qsort(j->mappings, j->mapping_count, sizeof(*j->mappings), by_start);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		struct seep_profile_frame *frame = &profile->frames[i];
		const struct mapping *mapping = bsearch(&frame->address, j->mappings,
							j->mapping_count, sizeof(*j->mappings),
							by_address);

		if (!mapping)
			continue;
		frame->module = mapping->module;
		frame->address -= profile->modules[mapping->module - 1].bias;
	}
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool begins(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

/* "heap profile: 3: 300 [9: 900] @ heap_v2/524288": without "_v2/" nothing is scaled. */
static int take_tcmalloc_head(struct jemalloc *j, const char *line)
{
	const char *type = strchr(line, '@');
	const char *period = type ? strstr(type, "_v2/") : NULL;
	const char *at = line + strlen(tcmalloc_magic);
	struct seep_import_figures figures;

	if (!parse_figures(&at, &figures))
		return wrong(j, "no figures behind \"heap profile:\"");
	j->in_tcmalloc = true;
	if (type)
		type += 1 + strspn(type + 1, " ");
	if (period) {
		period += strlen("_v2/");
		return seep_line_decimal(&period, &j->period)
			       ? 0
			       : wrong(j, "no number behind \"_v2/\"");
	}
	if (type && (begins(type, "heapprofile") || !begins(type, "heap")))
		return 0;
	return seep_fail(j->err, SEEP_EUNSUPPORTED,
			 "its samples are of a form that tcmalloc gave up in 2012");
}

static int take_head(struct jemalloc *j)
{
	const char *at = j->lines.line + strlen(jemalloc_magic);

	if (begins(j->lines.line, tcmalloc_magic))
		return take_tcmalloc_head(j, j->lines.line);
	if (!begins(j->lines.line, jemalloc_magic) || !seep_line_decimal(&at, &j->period))
		return wrong(j, "neither \"heap_v2/NUMBER\" nor \"heap profile:\"");
	return 0;
}

static int take_stacks(struct jemalloc *j, bool *ret_any)
{
	int r = seep_line_next(&j->lines, ret_any, j->err);

	while (r == 0 && *ret_any && !begins(j->lines.line, "MAPPED_LIBRARIES:")) {
		const char *at = j->lines.line + strspn(j->lines.line, " \t\r");

		if (*at)
			r = j->in_tcmalloc ? take_tcmalloc(j, at) : take_jemalloc(j, at);
		if (r == 0) {
			seep_builder_hold(j->builder, seep_line_given(&j->lines));
			r = seep_line_next(&j->lines, ret_any, j->err);
		}
	}
	return r;
}

static int read_all(struct jemalloc *j)
{
	bool any;
	int r = seep_line_next(&j->lines, &any, j->err);

	if (r == 0)
		r = any ? take_head(j) : seep_fail(j->err, SEEP_ETRUNC, "it is empty");
	if (r == 0)
		r = take_stacks(j, &any);
	if (r == 0 && !any)
		return seep_fail(j->err, SEEP_ETRUNC,
				 "its end is missing, and with it MAPPED_LIBRARIES");
	while (r == 0 && any) {
		r = seep_line_next(&j->lines, &any, j->err);
		seep_builder_hold(j->builder, seep_line_given(&j->lines));
		if (r == 0 && any)
			take_mapping(j, j->lines.line);
	}
	return r;
}

static int read_jemalloc(struct seep_decoder *source, struct seep_builder *builder,
			 struct seep_error *err)
{
	struct jemalloc j = { .lines.source = source, .builder = builder, .err = err };
	int r = read_all(&j);

	if (r == 0) {
		place_frames(&j);
		seep_import_tell(builder->profile, (struct seep_import_knowledge){
							   .allocs = j.knows_allocs,
							   .live = true,
							   .period_bytes = j.period,
							   .mended = j.mended,
						   });
	}
	free(j.mappings);
	seep_line_reader_done(&j.lines);
	return r;
}

static bool is_jemalloc(const uint8_t *head, size_t bytes)
{
	return (bytes > strlen(jemalloc_magic) &&
		memcmp(head, jemalloc_magic, strlen(jemalloc_magic)) == 0) ||
	       (bytes > strlen(tcmalloc_magic) &&
		memcmp(head, tcmalloc_magic, strlen(tcmalloc_magic)) == 0);
}

const struct seep_importer seep_import_jemalloc = {
	.name = "jemalloc",
	.lacks = "the process, and not always by which function it allocated",
	.max_bytes = MAX_BYTES,
	.detects = is_jemalloc,
	.read = read_jemalloc,
};
