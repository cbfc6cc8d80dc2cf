/* SPDX-License-Identifier: MIT */
/*
 * The default view. Each stack starts at the function to blame, in bold; what lies between it and
 * the allocator (containers, wrappers) is one dim line in front, what lies before main is left out,
 * and the middle of a long stack gives way. --full prints everything.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/sites.h"
#include "analysis/threads.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "profile/kind_name.h"
#include "report/text_foot.h"
#include "report/text_frame.h"
#include "report/text_head.h"
#include "report/text_style.h"
#include "report/text_threads.h"

enum {
	TOP_DEFAULT = 10,
	FRAMES_SHOWN = 9, /* a longer stack loses its middle */
	FRAMES_INNER = 6, /* of these many, then */
	FRAMES_OUTER = 2, /* and these many */
	INDENT = 5,
	THREADS_SHOWN = 3,
	NAME_COLUMNS_MIN = 24,
};

struct view {
	FILE *out;
	const struct seep_profile *profile;
	const struct seep_report_options *options;
	struct seep_sites *sites;
	struct seep_groups *groups;
	enum seep_measure measure;
};

/* Room for names and for places in one stack. */
struct columns {
	size_t name; /* 0 = no limit */
	size_t place;
	size_t pad; /* names are padded to this */
};

static size_t name_width(const struct view *view, const struct seep_profile_stack_entry *entry)
{
	struct seep_strbuf name;
	size_t width;

	seep_strbuf_init(&name, SEEP_LINE_BYTES_MAX);
	seep_frame_name(&name, view->profile, &view->profile->frames[entry->frame], 0,
			view->options->full);
	seep_frame_repeats(&name, entry->period, entry->repeats);
	width = seep_display_width(name.text, name.length) + (entry->period > 0);
	seep_strbuf_done(&name);
	return width;
}

static struct columns choose_columns(const struct view *view, const struct seep_group *group,
				     uint32_t first, uint32_t end)
{
	const size_t width = view->options->full ? 0 : view->options->width;
	struct columns columns = { 0 };

	for (uint32_t i = first; i < end; i++) {
		const size_t name = name_width(view, &group->stack[i]);

		if (name > columns.pad)
			columns.pad = name;
	}
	if (width > 0) {
		const size_t room = width > INDENT + 2 ? width - INDENT - 2 : 1;

		columns.name = room * 3 / 5;
		if (columns.name < NAME_COLUMNS_MIN)
			columns.name = NAME_COLUMNS_MIN;
		if (columns.pad > columns.name)
			columns.pad = columns.name;
		columns.place = room > columns.pad ? room - columns.pad : 1;
	}
	if (columns.pad > 60) /* one giant must not push all places away */
		columns.pad = 60;
	return columns;
}

static void print_frame(const struct view *view, const struct seep_profile_stack_entry *entry,
			const struct columns *columns, enum seep_style style)
{
	const struct seep_profile_frame *frame = &view->profile->frames[entry->frame];
	struct seep_strbuf name;
	struct seep_strbuf repeats;
	struct seep_strbuf place;
	size_t room = columns->name;
	size_t repeats_width;

	seep_strbuf_init(&name, SEEP_LINE_BYTES_MAX);
	seep_strbuf_init(&repeats, SEEP_LINE_BYTES_MAX);
	seep_strbuf_init(&place, SEEP_LINE_BYTES_MAX);
	if (entry->period > 0)
		seep_strbuf_addc(&repeats, ' ');
	seep_frame_repeats(&repeats, entry->period, entry->repeats);
	repeats_width = seep_display_width(repeats.text, repeats.length);
	if (room > 0)
		room = room > repeats_width + 1 ? room - repeats_width : 1;
	seep_frame_name(&name, view->profile, frame, room, view->options->full);
	seep_frame_place(&place, view->profile, frame, columns->place, true);
	fprintf(view->out, "%*s%s%s%s%s", INDENT, "", seep_style_on(view->options, style),
		name.text, seep_style_off(view->options, style), repeats.text);
	if (place.length > 0) {
		const size_t width = seep_display_width(name.text, name.length) + repeats_width;

		fprintf(view->out, "%*s  %s",
			width < columns->pad ? (int)(columns->pad - width) : 0, "", place.text);
	}
	if (view->options->full && frame->inlined)
		fputs("  (inlined)", view->out);
	fputc('\n', view->out);
	seep_strbuf_done(&place);
	seep_strbuf_done(&repeats);
	seep_strbuf_done(&name);
}

static void print_dim(const struct view *view, const char *text)
{
	struct seep_strbuf line;

	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	seep_text_fit(&line, text,
		      view->options->width > INDENT ? view->options->width - INDENT : 0, false);
	fprintf(view->out, "%*s%s%s%s\n", INDENT, "", seep_style_on(view->options, SEEP_STYLE_DIM),
		line.text, seep_style_off(view->options, SEEP_STYLE_DIM));
	seep_strbuf_done(&line);
}

/* What the function to blame called: "via std::vector<int>::push_back + 3 more frames". */
static void print_plumbing(const struct view *view, const struct seep_group *group, uint32_t first)
{
	struct seep_strbuf line;

	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	seep_strbuf_adds(&line, "via ");
	seep_frame_name(&line, view->profile, &view->profile->frames[group->stack[first - 1].frame],
			view->options->width > 40 ? view->options->width - 30 : 0, false);
	if (first > 1)
		seep_strbuf_addf(&line, " + %" PRIu32 " more frame%s", first - 1,
				 first == 2 ? "" : "s");
	print_dim(view, line.text);
	seep_strbuf_done(&line);
}

static void print_outer_end(const struct view *view, const struct seep_profile_context *context)
{
	if (context->truncated)
		print_dim(view, "… callers unknown: too deep, or no unwind information");
	else if (context->cut)
		print_dim(view, "… callers not stored (depth=)");
	else if (context->by_frame_pointer)
		print_dim(view, "… assumed: a frame has no unwind information");
}

static void print_frames(const struct view *view, const struct seep_group *group)
{
	struct columns columns;
	uint32_t gap_from;
	uint32_t gap_to;
	uint32_t first;
	uint32_t end;

	seep_sites_trim(view->sites, group->stack, group->stack_count, &first, &end);
	if (view->options->full) {
		first = 0;
		end = group->stack_count;
	}
	gap_from = gap_to = end;
	if (!view->options->full && end - first > FRAMES_SHOWN) {
		gap_from = first + FRAMES_INNER;
		gap_to = end - FRAMES_OUTER;
	}
	columns = choose_columns(view, group, first, end);
	if (first > 0)
		print_plumbing(view, group, first);
	for (uint32_t i = first; i < end; i++) {
		if (i == gap_from) {
			char *gap = seep_xasprintf("… %" PRIu32 " frames", gap_to - gap_from);

			print_dim(view, gap);
			free(gap);
			i = gap_to;
		}
		print_frame(view, &group->stack[i], &columns,
			    i == first ? SEEP_STYLE_BOLD : SEEP_STYLE_PLAIN);
	}
}

static void print_stack(const struct view *view, const struct seep_group *group)
{
	const struct seep_profile_context *context = &view->profile->contexts[group->context];

	if (group->stack_count > 0)
		print_frames(view, group);
	else if (context->other)
		print_dim(view, "stacks met after the ledger was full, together");
	else
		print_dim(view, "no stack: allocated where no walk was possible");
	if (group->stack_count > 0)
		print_outer_end(view, context);
}

static void add_allocs_figures(struct seep_strbuf *line, const struct view *view,
			       const struct seep_counts *counts)
{
	if (view->measure == SEEP_BY_TEMPORARY)
		seep_strbuf_addf(line, " of its %s allocations",
				 seep_digits_text(counts->allocs).text);
	else if (counts->temporary > 0)
		seep_strbuf_addf(line, ", %s temporary",
				 seep_percent_text(counts->temporary, counts->allocs).text);
	if (counts->allocs > 0)
		seep_strbuf_addf(line, ", avg %s",
				 seep_bytes_text(counts->alloc_bytes / counts->allocs).text);
}

/* "Never freed" is the plainest sign of a leak. */
static void add_freed(struct seep_strbuf *line, const struct seep_counts *counts)
{
	if (counts->frees == 0)
		seep_strbuf_adds(line, counts->allocs == 1 ? ", not freed" : ", none ever freed");
	else
		seep_strbuf_addf(line, ", %s of %s freed", seep_digits_text(counts->frees).text,
				 seep_digits_text(counts->allocs).text);
}

static void add_bytes_figures(struct seep_strbuf *line, const struct view *view,
			      const struct seep_counts *counts)
{
	const uint64_t blocks = seep_counts_blocks(counts, view->measure);

	seep_strbuf_addf(line, " in %s block%s", seep_digits_text(blocks).text,
			 blocks == 1 ? "" : "s");
	if (blocks > 1)
		seep_strbuf_addf(
			line, ", avg %s",
			seep_bytes_text(seep_counts_value(counts, view->measure) / blocks).text);
	if (view->measure == SEEP_BY_LIVE)
		add_freed(line, counts);
}

static void add_name(struct seep_strbuf *line, const char *what, const char *name)
{
	if (name == NULL)
		return;
	seep_strbuf_adds(line, what);
	seep_escapes(line, name);
}

/* Whose the stack is, when it is several threads': those with most of it. */
static void print_threads(const struct view *view, const struct seep_group *group,
			  const struct seep_threads *threads)
{
	const uint64_t all = seep_counts_value(&group->counts, view->measure);
	const uint32_t shown = view->options->full || threads->count <= THREADS_SHOWN
				       ? threads->count
				       : THREADS_SHOWN;
	struct seep_strbuf line;

	if (threads->count < 2)
		return;
	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	for (uint32_t i = 0; i < shown; i++) {
		const struct seep_thread *thread = &threads->items[i];
		const uint64_t value = seep_counts_value(&thread->counts, view->measure);

		add_name(&line, i == 0 ? "threads: " : ", ", thread->name ? thread->name : "?");
		seep_strbuf_addf(&line, " %s", seep_percent_text(value, all).text);
	}
	if (shown < threads->count)
		seep_strbuf_addf(&line, " and %" PRIu32 " more", threads->count - shown);
	print_dim(view, line.text);
	seep_strbuf_done(&line);
}

/* "3. 4.2 MB (34.1%) in 1,024 blocks, avg 4.1 KB, 20 of 1,044 freed, malloc" */
static void print_figures(const struct view *view, unsigned number, const struct seep_group *group,
			  const struct seep_threads *threads)
{
	const struct seep_profile_context *context = &view->profile->contexts[group->context];
	const uint64_t value = seep_counts_value(&group->counts, view->measure);
	const uint64_t total = seep_counts_value(&view->groups->total, view->measure);
	const bool bytes = seep_measure_is_bytes(view->measure);
	struct seep_strbuf line;

	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	seep_strbuf_addf(&line, "%s (%s)",
			 bytes ? seep_bytes_text(value).text : seep_digits_text(value).text,
			 seep_percent_text(value, total).text);
	if (bytes)
		add_bytes_figures(&line, view, &group->counts);
	else
		add_allocs_figures(&line, view, &group->counts);
	seep_strbuf_addf(&line, ", %s", seep_profile_kind_name(context->kind));
	if (threads->count == 1)
		add_name(&line, ", thread ", threads->items[0].name);
	add_name(&line, ", scope ", context->scope);
	fprintf(view->out, "%3u. ", number);
	seep_text_fold(view->out, view->options, SEEP_STYLE_BOLD, INDENT, INDENT, line.text);
	seep_strbuf_done(&line);
}

static void print_title(const struct view *view, const uint32_t *top, uint32_t shown)
{
	const uint32_t count = seep_groups_count(view->groups, view->measure);
	uint64_t sum = 0;
	struct seep_strbuf line;

	for (uint32_t i = 0; i < shown; i++)
		sum += seep_counts_value(&view->groups->items[top[i]].counts, view->measure);
	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	seep_strbuf_addf(
		&line, "Call stacks by %s: %s of %s, %s of all",
		seep_head_measure_words(view->profile, view->measure), seep_digits_text(shown).text,
		seep_digits_text(count).text,
		seep_percent_text(sum, seep_counts_value(&view->groups->total, view->measure))
			.text);
	seep_text_fold(view->out, view->options, SEEP_STYLE_PLAIN, 0, 2, line.text);
	seep_strbuf_done(&line);
}

static void print_top(const struct view *view)
{
	const uint32_t wanted = view->options->top > 0 ? view->options->top : TOP_DEFAULT;
	uint32_t *top = seep_xcalloc(wanted < view->groups->count ? wanted : view->groups->count,
				     sizeof(*top));
	const uint32_t shown = seep_groups_top(view->groups, view->profile, view->measure, wanted,
					       top);

	if (shown > 0)
		print_title(view, top, shown);
	else
		fprintf(view->out, "There are no %s%s.\n",
			seep_head_measure_words(view->profile, view->measure),
			view->options->shown ? " among what is shown" : "");
	for (uint32_t i = 0; i < shown; i++) {
		const struct seep_group *group = &view->groups->items[top[i]];

		struct seep_threads *threads = seep_threads_new(view->groups, view->profile, group,
								view->measure);

		fputc('\n', view->out);
		print_figures(view, i + 1, group, threads);
		print_stack(view, group);
		print_threads(view, group, threads);
		seep_threads_free(threads);
	}
	free(top);
}

static void print_next(const struct view *view)
{
	const struct seep_next_command commands[] = {
		{ " --tree", "who called whom" },
		view->measure == SEEP_BY_PEAK
			? (struct seep_next_command){ " --by live", "what is left" }
			: (struct seep_next_command){ " --by peak", "what was alive at the peak" },
	};

	seep_foot_next(view->out, view->options, commands, 2);
}

void seep_report_stacks(FILE *out, const struct seep_profile *profile,
			const struct seep_report_options *options)
{
	struct view view = {
		.out = out,
		.profile = profile,
		.options = options,
		.sites = seep_sites_new(profile),
		.measure = seep_report_measure(profile, options),
	};

	view.groups = seep_groups_new(view.sites, !options->full, options->by_thread);
	seep_head_process(out, profile, options, "", true);
	fputc('\n', out);
	seep_head_lead(out, profile, options);
	seep_head_shown(out, profile, options, view.measure);
	seep_head_start_at(out, view.sites, options, view.measure);
	fputc('\n', out);
	if (seep_threads_known(profile))
		seep_report_threads(out, view.groups, profile, options, view.measure);
	print_top(&view);
	fputc('\n', out);
	seep_foot_unseen(out, profile, options, 0);
	seep_foot_own(out, profile, options);
	print_next(&view);
	seep_groups_free(view.groups);
	seep_sites_free(view.sites);
}
