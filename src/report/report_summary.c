/* SPDX-License-Identifier: MIT */
/*
 * What is printed when a run is over, between the program's own output and the prompt: small, and
 * the same size whatever happened. Every part has its most lines:
 *
 *	process 3, lead 3, empty line, title, stacks 5 (+1), unseen 5, own 3, next 2 = 24
 */
#include "report/report.h"

#include <stdlib.h>

#include "analysis/group.h"
#include "analysis/sites.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "report/text_foot.h"
#include "report/text_frame.h"
#include "report/text_head.h"
#include "report/text_style.h"

enum { STACKS = 5, STACKS_CROWDED = 3, UNSEEN_LINES = 4, FRAMES = 4, WIDTH_MIN = 40 };

/* "load_rows ← visit ×17 ← main", as many as fit. */
static void add_frames(struct seep_strbuf *line, const struct seep_profile *profile,
		       const struct seep_sites *sites, const struct seep_group *group, size_t room)
{
	const size_t start = line->length;
	uint32_t first;
	uint32_t end;

	if (group->stack_count == 0) {
		seep_strbuf_adds(line, profile->contexts[group->context].other
					       ? "(stacks met after the ledger was full)"
					       : "(no stack)");
		return;
	}
	seep_sites_trim(sites, group->stack, group->stack_count, &first, &end);
	for (uint32_t i = first; i < end && i < first + FRAMES; i++) {
		const struct seep_profile_stack_entry *entry = &group->stack[i];
		const size_t before = line->length;

		if (i > first)
			seep_strbuf_adds(line, " ← ");
		seep_frame_name(line, profile, &profile->frames[entry->frame],
				i == first ? room : 0, false);
		if (entry->period > 0)
			seep_strbuf_addc(line, ' ');
		seep_frame_repeats(line, entry->period, entry->repeats);
		if (i > first &&
		    seep_display_width(line->text + start, line->length - start) > room) {
			seep_strbuf_cut(line, before);
			return;
		}
	}
}

/* Where the first of them stands. */
static void add_place(struct seep_strbuf *line, const struct seep_profile *profile,
		      const struct seep_sites *sites, const struct seep_group *group,
		      size_t columns)
{
	uint32_t first;
	uint32_t end;

	if (group->stack_count == 0)
		return;
	seep_sites_trim(sites, group->stack, group->stack_count, &first, &end);
	seep_frame_place(line, profile, &profile->frames[group->stack[first].frame], columns, true);
}

static void print_stack(FILE *out, const struct seep_profile *profile,
			const struct seep_report_options *options, const struct seep_sites *sites,
			const struct seep_group *group, enum seep_measure measure, uint64_t total)
{
	const uint64_t value = seep_counts_value(&group->counts, measure);
	struct seep_strbuf line;
	struct seep_strbuf place;
	struct seep_strbuf frames;
	size_t room = options->width - 21; /* figures and gaps */
	size_t place_width;

	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	seep_strbuf_init(&place, SEEP_LINE_BYTES_MAX);
	seep_strbuf_init(&frames, SEEP_LINE_BYTES_MAX);
	add_place(&place, profile, sites, group, room * 2 / 5);
	place_width = seep_display_width(place.text, place.length);
	room -= place_width > 0 ? place_width + 2 : 0;
	add_frames(&frames, profile, sites, group, room);
	seep_text_fit(&line, frames.text, room, false);
	if (place_width > 0) {
		seep_text_pad(&line, 0, room);
		seep_strbuf_addf(&line, "  %s", place.text);
	}
	fprintf(out, "%10s %7s  %s\n",
		seep_measure_is_bytes(measure) ? seep_bytes_text(value).text
					       : seep_count_text(value).text,
		seep_percent_text(value, total).text, line.text);
	seep_strbuf_done(&frames);
	seep_strbuf_done(&place);
	seep_strbuf_done(&line);
}

static void print_stacks(FILE *out, const struct seep_profile *profile,
			 const struct seep_report_options *options)
{
	const enum seep_measure measure = seep_report_measure(profile, options);
	const uint32_t wanted = profile->unseen_count > 1 ? STACKS_CROWDED : STACKS;
	struct seep_sites *sites = seep_sites_new(profile);
	struct seep_groups *groups = seep_groups_new(sites, true, false);
	const uint64_t total = seep_counts_value(&groups->total, measure);
	uint32_t top[STACKS];
	const uint32_t shown = seep_groups_top(groups, profile, measure, wanted, top);

	seep_head_start_at(out, sites, options, measure);
	if (shown > 0)
		fprintf(out, "Largest of %s call stacks, by %s:\n",
			seep_digits_text(seep_groups_count(groups, measure)).text,
			seep_head_measure_words(profile, measure));
	for (uint32_t i = 0; i < shown; i++)
		print_stack(out, profile, options, sites, &groups->items[top[i]], measure, total);
	seep_groups_free(groups);
	seep_sites_free(sites);
}

void seep_report_summary(FILE *out, const struct seep_profile *profile,
			 const struct seep_report_options *options)
{
	static const struct seep_next_command next[] = {
		{ "", "the largest stacks in full" },
		{ " --tree", "who called whom" },
	};
	struct seep_report_options narrow = *options;

	if (narrow.width == 0 || narrow.width > 80)
		narrow.width = 80;
	if (narrow.width < WIDTH_MIN)
		narrow.width = WIDTH_MIN;
	seep_head_process(out, profile, &narrow, "seep: ", false);
	seep_head_lead(out, profile, &narrow);
	print_stacks(out, profile, &narrow);
	seep_foot_unseen(out, profile, &narrow, UNSEEN_LINES);
	seep_foot_own(out, profile, &narrow);
	seep_foot_next(out, &narrow, next, sizeof(next) / sizeof(next[0]));
}
