/* SPDX-License-Identifier: MIT */
/* All that is known of one call stack, and the line of source that allocates. */
#include <string.h>

#include "analysis/growth_text.h"
#include "base/file.h"
#include "base/units.h"
#include "profile/kind_name.h"
#include "tui/screens.h"
#include "tui/tui_draw.h"
#include "view/frame_text.h"
#include "view/live_view.h"

enum { SOURCE_AROUND = 3, SOURCE_LINE_BYTES = 200, SOURCE_INDENT = 4, AGES_SHOWN = 8 };
#define SOURCE_BYTES_MAX (8u << 20)

void seep_screen_detail_choose(struct seep_tui *tui, const struct seep_live_line *line)
{
	tui->detailed = line->process->number;
	tui->context = line->context;
	tui->page_first = 0;
	seep_lines_done(&tui->source);
	tui->source_read = false;
}

static void heading(struct seep_lines *page, const char *text)
{
	(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "%s", "");
	(void)seep_lines_add(page, SEEP_STYLE_BOLD, "%s", text);
}

static void add_figures(struct seep_lines *page, const struct seep_live_line *line, uint64_t total)
{
	const struct seep_profile *profile = line->process->profile;
	const struct seep_profile_context *context = &line->sum;
	const struct seep_counts counts = seep_counts_of(context);

	(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "  live     %s in %s, %s of all",
			     seep_figure_text(&counts, SEEP_FIGURE_live_bytes).text,
			     seep_counted_text(&counts, SEEP_FIGURE_live_blocks, "block").text,
			     seep_percent_text(context->live_bytes, total).text);
	(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "  change   %s, %s allocs/s, %s frees/s",
			     seep_change_text(line->change_bytes, seep_bytes_text).text,
			     seep_count_text(line->allocs_per_s).text,
			     seep_count_text(line->frees_per_s).text);
	(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "  ever     %s of %s, %s freed",
			     seep_counted_text(&counts, SEEP_FIGURE_allocs, "allocation").text,
			     seep_figure_text(&counts, SEEP_FIGURE_alloc_bytes).text,
			     seep_percent_text(context->frees, context->allocs).text);
	(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "  by       %s in process %u%s%s",
			     seep_profile_kind_name(context->kind), profile->process.pid,
			     context->thread ? ", thread " : "",
			     context->thread ? context->thread : "");
}

static void add_growth(struct seep_lines *page, const struct seep_live_line *line, bool utf8)
{
	char spark[SEEP_SPARK_BYTES] = "did not change";
	SEEP_FREED char *evidence = NULL;

	heading(page, "Growth");
	if (line->changed)
		seep_spark(line->recent, utf8, spark);
	(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "  %s", spark);
	if (!line->judged) {
		(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "  nothing speaks for a leak so far");
		return;
	}
	evidence = seep_growth_evidence(line->process->profile, &line->sum, &line->growth);
	(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "  %s%s%s (confidence: %s)",
			     seep_live_verdict(line), *seep_live_verdict(line) ? ": " : "",
			     evidence, seep_growth_confidence_name(line->growth.confidence));
}

/* Blocks by when they were allocated; the epochs between are many, so some go together. */
static void add_ages(struct seep_lines *page, const struct seep_live_line *line)
{
	const struct seep_profile *profile = line->process->profile;
	const struct seep_profile_context *context = &line->sum;
	const uint32_t step = (context->epoch_count + AGES_SHOWN - 1) / AGES_SHOWN;

	if (context->epoch_count == 0)
		return;
	heading(page, "Age of the live blocks");
	for (uint32_t i = 0; i < context->epoch_count; i += step) {
		const uint32_t end = i + step < context->epoch_count ? i + step
								     : context->epoch_count;
		uint64_t from_ns = seep_live_epoch_ns(profile, context->epochs[i].epoch);
		uint64_t blocks = 0, bytes = 0;

		if (from_ns < context->first_ns)
			from_ns = context->first_ns;
		for (uint32_t k = i; k < end; k++) {
			blocks += context->epochs[k].blocks;
			bytes += context->epochs[k].bytes;
		}
		(void)seep_lines_add(
			page, SEEP_STYLE_PLAIN, "  up to %-12s %s in %s",
			line->process->read_ns > from_ns
				? seep_duration_text(line->process->read_ns - from_ns).text
				: "0 s",
			seep_bytes_text(bytes).text, seep_things_text(blocks, "block").text);
	}
}

static void add_stack(struct seep_lines *page, const struct seep_profile *profile,
		      const struct seep_profile_context *context)
{
	heading(page, "Call stack");
	for (uint32_t i = 0; i < context->stack_count; i++) {
		const struct seep_profile_stack_entry *entry = &context->stack[i];
		const struct seep_profile_frame *frame = &profile->frames[entry->frame];
		SEEP_FREED char *name = seep_frame_name(profile, frame, SEEP_NAME_SHORT);
		SEEP_FREED char *place = seep_frame_place(profile, frame, true);
		SEEP_FREED char *repeats = seep_frame_repeats(entry);

		(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "  %2u  %s%s%s  %s", i, name, repeats,
				     frame->inlined ? " (inlined)" : "", place);
	}
	if (context->stack_count == 0)
		(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "  no call stack is known");
	if (context->truncated)
		(void)seep_lines_add(page, SEEP_STYLE_PLAIN, "  (outer frames are not known)");
}

/* The path is the program's word: what its user may not read is not shown. NULL: there is none. */
static char *read_source(const char *path, uid_t user)
{
	SEEP_CLOSED const int fd = seep_file_open_regular(path, user);
	char *text = NULL;

	if (fd >= 0)
		(void)!seep_file_read_fd(fd, path, SOURCE_BYTES_MAX, &text, NULL, NULL);
	return text;
}

static void read_lines(struct seep_lines *lines, const struct seep_profile_frame *frame, uid_t user)
{
	SEEP_FREED char *text = frame && frame->file && frame->line ? read_source(frame->file, user)
								    : NULL;
	uint32_t number = 1;
	char *next;

	if (!text)
		return;
	heading(lines, "Source");
	for (char *line = text; line && number <= frame->line + SOURCE_AROUND; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (number + SOURCE_AROUND >= frame->line) {
			/* What is a tab further in is an indent further in. */
			const int tabs = (int)strspn(line, "\t");

			seep_lines_add(lines, SEEP_STYLE_PLAIN, "  %c%5u  %*s%.*s",
				       number == frame->line ? '>' : ' ', number,
				       tabs * SOURCE_INDENT, "", SOURCE_LINE_BYTES, line + tabs)
				->cut = true;
		}
		number++;
	}
}

/* Read once: it may be long, and is drawn at each key. */
static void add_source(struct seep_tui *tui, const struct seep_profile_frame *frame, uid_t user)
{
	if (!tui->source_read)
		read_lines(&tui->source, frame, user);
	tui->source_read = true;
	for (size_t i = 0; i < tui->source.count; i++) {
		const struct seep_line *line = &tui->source.items[i];

		seep_lines_add(&tui->page, line->style, "%s", line->text)->cut = line->cut;
	}
}

static void draw(struct seep_tui *tui)
{
	struct seep_live_process *process = seep_live_find(tui->live, tui->detailed);
	struct seep_live_line line;
	SEEP_FREED char *name = NULL;

	seep_lines_done(&tui->page);
	if (!process) {
		tui->screen = &seep_screen_stacks;
		seep_tui_say(tui, "the process of that stack is not kept any more");
		tui->screen->draw(tui);
		return;
	}
	seep_live_name(tui->live, process);
	line = seep_live_line(tui->live, process, tui->context);
	name = seep_live_name_text(process, tui->context);
	seep_tui_row(tui, SEEP_TUI_BODY - 1, SEEP_LOOK_BOLD, " %s", name);
	add_figures(&tui->page, &line, seep_live_total(tui->live).live_bytes);
	add_growth(&tui->page, &line, tui->utf8);
	add_stack(&tui->page, process->profile, &line.sum);
	add_source(tui, seep_sites_blamed(process->sites, &line.sum), process->user);
	add_ages(&tui->page, &line);
	seep_tui_page_draw(tui, &tui->page);
}

const struct seep_tui_screen seep_screen_detail = {
	.name = "one stack",
	.keys = "Esc back  Up Down scroll",
	.draw = draw,
	.key = seep_tui_page_key,
};
