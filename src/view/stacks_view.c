/* SPDX-License-Identifier: MIT */
#include "view/stacks_view.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/scope_sums.h"
#include "analysis/threads.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "profile/kind_name.h"
#include "view/alike.h"
#include "view/frame_text.h"

enum {
	FRAMES_SHOWN = 9, /* a longer stack loses its middle */
	FRAMES_INNER = 6, /* of these many, then */
	FRAMES_OUTER = 2, /* and these many */
	OWN_SHOWN = 40,	  /* and this many of the program's own code */
	THREADS_SHOWN = 3,
	READ_BYTES_MAX = 1 << 16,
};

static void add_allocs_figures(struct seep_strbuf *line, const struct seep_view *view,
			       const struct seep_counts *counts)
{
	if (view->measure == SEEP_BY_TEMPORARY)
		seep_strbuf_addf(line, " of its %s",
				 seep_counted_text(counts, SEEP_FIGURE_allocs, "allocation").text);
	else if (counts->temporary > 0)
		seep_strbuf_addf(
			line, ", %s temporary",
			seep_percent_text((uint64_t)counts->temporary, (uint64_t)counts->allocs)
				.text);
	if (counts->allocs > 0)
		seep_strbuf_addf(
			line, ", avg %s",
			seep_bytes_text((uint64_t)(counts->alloc_bytes / counts->allocs)).text);
}

/* "Never freed" is the plainest sign of a leak. */
static void add_bytes_figures(struct seep_strbuf *line, const struct seep_view *view,
			      const struct seep_counts *counts)
{
	const int64_t blocks = seep_counts_blocks(counts, view->measure);
	const int64_t value = seep_counts_value(counts, view->measure);

	seep_strbuf_addf(
		line, " in %s",
		seep_counted_text(counts, seep_measure_blocks(view->measure), "block").text);
	if (blocks > 1)
		seep_strbuf_addf(line, ", avg %s",
				 seep_bytes_text((uint64_t)(value / blocks)).text);
	if (view->measure != SEEP_BY_LIVE || !seep_profile_knows(view->profile, "frees"))
		return;
	if (counts->frees == 0)
		seep_strbuf_adds(line, counts->allocs == 1 ? ", not freed" : ", none ever freed");
	else if (seep_counts_figure_error(counts, SEEP_FIGURE_frees))
		seep_strbuf_addf(
			line, ", about %s freed",
			seep_percent_text((uint64_t)counts->frees, (uint64_t)counts->allocs).text);
	else
		seep_strbuf_addf(line, ", %s of %s freed",
				 seep_digits_text((uint64_t)counts->frees).text,
				 seep_digits_text((uint64_t)counts->allocs).text);
}

static char *figures_of(const struct seep_view *view, const struct seep_group *group,
			const struct seep_threads *threads, const struct seep_threads *scopes)
{
	const struct seep_profile_context *context = &view->profile->contexts[group->context];
	const int64_t value = seep_counts_value(&group->counts, view->measure);
	const bool bytes = seep_measure_is_bytes(view->measure);
	struct seep_unit_text (*const text)(uint64_t) = bytes ? seep_bytes_text : seep_digits_text;
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	seep_strbuf_addf(&line, "%s (%s)",
			 seep_estimate_text(text((uint64_t)value),
					    seep_counts_error(&group->counts, view->measure), text)
				 .text,
			 seep_view_share(view, value).text);
	(bytes ? add_bytes_figures : add_allocs_figures)(&line, view, &group->counts);
	seep_strbuf_addf(&line, ", %s", seep_profile_kind_name(context->kind));
	if (threads->count == 1 && threads->items[0].name != NULL)
		seep_strbuf_addf(&line, ", thread %s", threads->items[0].name);
	if (scopes->count == 1 && scopes->items[0].scope) {
		SEEP_FREED char *path = seep_scope_path(view->profile, scopes->items[0].scope);

		seep_strbuf_addf(&line, ", scope %s", path);
	}
	return seep_escape_dup(line.text);
}

/* @note becomes the line's. */
static void add_line(struct seep_stack_lines *lines, const struct seep_profile_stack_entry *entry,
		     char *note)
{
	*SEEP_APPEND(lines->items, lines->count) = (struct seep_stack_line){ entry, note };
}

/* What stands further in than entry @to: "via std::vector<int>::push_back + 3 more frames". */
static void add_via(struct seep_stack_lines *lines, const struct seep_view *view,
		    const struct seep_profile_stack_entry *stack, uint32_t from, uint32_t to)
{
	const struct seep_profile *profile = view->profile;
	const uint32_t more = to - from - 1;
	SEEP_FREED char *name = seep_frame_name(profile, &profile->frames[stack[to - 1].frame],
						SEEP_NAME_BRIEF);

	add_line(lines, NULL,
		 more == 0 ? seep_xasprintf("via %s", name)
			   : seep_xasprintf("via %s + %s", name,
					    seep_things_text(more, "more frame").text));
}

static void add_gap(struct seep_stack_lines *lines, uint32_t frames)
{
	add_line(lines, NULL, seep_xasprintf("… %s", seep_things_text(frames, "frame").text));
}

static void add_frames(struct seep_stack_lines *lines, const struct seep_view *view,
		       const struct seep_profile_stack_entry *stack, struct seep_stack_part part)
{
	const struct seep_site *of_frame = view->sites->of_frame;
	SEEP_FREED uint32_t *kept = seep_xcalloc(part.end, sizeof(*kept));
	uint32_t count = 0, own = 0, next = part.first;
	bool whole;

	for (uint32_t i = part.first; i < part.end; i++)
		if (view->options->full || !seep_sites_passes(view->sites, stack, part, i))
			kept[count++] = i;
	whole = view->options->full || count <= FRAMES_SHOWN;
	for (uint32_t k = 0; k < count; next = kept[k++] + 1) {
		uint32_t gap = k;

		while (!whole && gap >= FRAMES_INNER && gap + FRAMES_OUTER < count &&
		       (!of_frame[stack[kept[gap]].frame].own || own >= OWN_SHOWN))
			gap++;
		/* One line says no more than the frame that it stands for. */
		if (gap > k + 1) {
			k = gap;
			add_gap(lines, kept[k] - next);
		} else if (kept[k] > next) {
			add_via(lines, view, stack, next, kept[k]);
		}
		own += of_frame[stack[kept[k]].frame].own;
		add_line(lines, &stack[kept[k]], NULL);
	}
	if (next < part.end)
		add_gap(lines, part.end - next);
}

/* The program was stopped by a signal there: what is further in is the way back from that. */
static bool is_trapped(const struct seep_view *view, const struct seep_profile_stack_entry *stack)
{
	return view->profile->frames[stack[1].frame].exact;
}

void seep_stack_lines_init(struct seep_stack_lines *lines, const struct seep_view *view,
			   const struct seep_profile_context *context,
			   const struct seep_profile_stack_entry *stack, uint32_t stack_count)
{
	struct seep_stack_part part = seep_sites_trim(view->sites, stack, stack_count);
	const char *note = NULL;

	*lines = (struct seep_stack_lines){ 0 };
	if (view->options->full)
		part = (struct seep_stack_part){ 0, stack_count };
	if (part.first > 1 || (part.first == 1 && !is_trapped(view, stack)))
		add_via(lines, view, stack, 0, part.first);
	lines->blamed = lines->count;
	add_frames(lines, view, stack, part);
	if (stack_count == 0)
		note = context->other ? "stacks met after the ledger was full, together"
				      : "no stack: allocated where no walk was possible";
	else if (context->site)
		note = "… callers unknown: these stacks were not walked (tier counts)";
	else if (context->truncated)
		note = "… callers unknown: too deep, or no unwind information";
	else if (context->cut)
		note = "… callers not stored (--depth)";
	else if (context->by_frame_pointer)
		note = "… some callers found by frame pointer, without unwind information";
	if (note)
		add_line(lines, NULL, seep_xstrdup(note));
}

void seep_stack_lines_fold(struct seep_stack_lines *lines, struct seep_view *view,
			   const struct seep_profile_context *context)
{
	const struct seep_profile_stack_entry *stack = context->stack;
	struct seep_profile_stack_entry *folded = NULL;
	uint32_t count = context->stack_count;

	if (!view->options->full)
		count = seep_fold(&view->folder, &stack, count);
	/* The folder's memory holds until the next one is folded only. */
	if (stack != context->stack)
		stack = folded = seep_xmemdup(stack, count * sizeof(*stack));
	seep_stack_lines_init(lines, view, context, stack, count);
	lines->folded = folded;
}

void seep_stack_lines_done(struct seep_stack_lines *lines)
{
	free(lines->figures);
	free(lines->folded);
	for (uint32_t i = 0; i < lines->count; i++)
		free(lines->items[i].note);
	free(lines->items);
}

/* @word: what they are, "threads" or "scopes". */
static char *threads_note(const struct seep_view *view, const struct seep_group *group,
			  const struct seep_threads *threads, const char *word)
{
	const uint64_t all = (uint64_t)seep_counts_value(&group->counts, view->measure);
	const uint32_t shown = view->options->full || threads->count <= THREADS_SHOWN
				       ? threads->count
				       : THREADS_SHOWN;
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	for (uint32_t i = 0; i < shown; i++) {
		const struct seep_thread *thread = &threads->items[i];
		const int64_t value = seep_counts_value(&thread->counts, view->measure);

		SEEP_FREED char *path = thread->scope
						? seep_scope_path(view->profile, thread->scope)
						: seep_xstrdup(thread->name ? thread->name : "?");

		seep_strbuf_addf(&line, "%s%s%s %s", i == 0 ? word : "", i == 0 ? ": " : ", ", path,
				 seep_percent_text((uint64_t)value, all).text);
	}
	if (shown < threads->count)
		seep_strbuf_addf(&line, " and %" PRIu32 " more", threads->count - shown);
	return seep_strbuf_take(&line);
}

static void build_stack(const struct seep_view *view, const struct seep_groups *groups,
			struct seep_stack_view *item)
{
	const struct seep_group *group = item->group;
	SEEP_FREED struct seep_threads *threads = seep_threads_new(groups, view->profile, group,
								   view->measure, false);
	SEEP_FREED struct seep_threads *scopes = seep_threads_new(groups, view->profile, group,
								  view->measure, true);

	seep_stack_lines_init(&item->stack, view, &view->profile->contexts[group->context],
			      group->stack, group->stack_count);
	item->stack.figures = figures_of(view, group, threads, scopes);
	if (threads->count > 1)
		add_line(&item->stack, NULL, threads_note(view, group, threads, "threads"));
	if (scopes->count > 1)
		add_line(&item->stack, NULL, threads_note(view, group, scopes, "scopes"));
}

static char *read_as(const struct seep_view *view, const struct seep_stack_lines *lines)
{
	SEEP_STRBUF(text, READ_BYTES_MAX);

	for (uint32_t i = 0; i < lines->count; i++) {
		const struct seep_stack_line *line = &lines->items[i];
		const struct seep_profile_frame *frame;
		SEEP_FREED char *name = NULL, *place = NULL, *repeats = NULL;

		if (!line->entry) {
			seep_strbuf_addf(&text, "%s\n", line->note);
			continue;
		}
		frame = &view->profile->frames[line->entry->frame];
		name = seep_frame_name(view->profile, frame, SEEP_NAME_BRIEF);
		place = seep_frame_place(view->profile, frame, true);
		repeats = seep_frame_repeats(line->entry);
		seep_strbuf_addf(&text, "%s%s %s\n", name, repeats, place);
	}
	return seep_strbuf_take(&text);
}

/*
 * Where those that are shown differ in frames that are not, the figures name one of these. The kind
 * is told already, and the thread, where threads are told apart.
 */
static void tell_apart(struct seep_stacks_view *stacks, const struct seep_view *view)
{
	struct seep_row *rows = seep_xcalloc(stacks->count, sizeof(*rows));

	for (uint32_t i = 0; i < stacks->count; i++) {
		const struct seep_group *group = stacks->items[i].group;
		const struct seep_profile_context *context =
			&view->profile->contexts[group->context];
		const char *thread = view->options->by_thread ? context->thread : NULL;

		rows[i] = (struct seep_row){
			.sites = view->sites,
			.context = context,
			.name = seep_xstrdup(""),
			.callers = read_as(view, &stacks->items[i].stack),
			.place = seep_xasprintf("%d %s", context->kind, thread ? thread : ""),
			.many = group->context_count > 1,
		};
	}
	seep_rows_tell_apart(rows, stacks->count, false);
	for (uint32_t i = 0; i < stacks->count; i++) {
		SEEP_FREED char *figures = stacks->items[i].stack.figures;
		SEEP_FREED char *told = seep_escape_dup(rows[i].name);

		stacks->items[i].stack.figures = seep_xasprintf("%s%s", figures, told);
	}
	seep_rows_free(rows, stacks->count);
}

void seep_stacks_view_init(struct seep_stacks_view *stacks, const struct seep_view *view,
			   uint32_t top)
{
	struct seep_groups *groups = seep_groups_new(view->sites, !view->options->full,
						     view->options->by_thread);
	SEEP_FREED uint32_t *order = seep_xcalloc(top < groups->count ? top : groups->count,
						  sizeof(*order));

	*stacks = (struct seep_stacks_view){
		.groups = groups,
		.all = seep_groups_top(groups, view->profile, view->measure, top, order),
	};
	stacks->count = top < stacks->all ? top : stacks->all;
	stacks->items = seep_xcalloc(stacks->count, sizeof(*stacks->items));
	for (uint32_t i = 0; i < stacks->count; i++) {
		stacks->items[i].group = &groups->items[order[i]];
		stacks->value += seep_counts_value(&groups->items[order[i]].counts, view->measure);
		build_stack(view, groups, &stacks->items[i]);
	}
	if (!view->options->full)
		tell_apart(stacks, view);
}

void seep_stacks_view_done(struct seep_stacks_view *stacks)
{
	for (uint32_t i = 0; i < stacks->count; i++)
		seep_stack_lines_done(&stacks->items[i].stack);
	free(stacks->items);
	seep_groups_free(stacks->groups);
}
