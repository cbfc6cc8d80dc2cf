/* SPDX-License-Identifier: MIT */
#include "view/live_view.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/growth_text.h"
#include "base/terminal.h"
#include "view/alike.h"
#include "view/finding_text.h"
#include "view/frame_text.h"
#include "view/leaks_view.h"

enum { SPARK_LEVELS = 8, MEAN = 9, EXACT = 8, ESTIMATE = 18 };

void seep_spark(const uint64_t values[SEEP_GROWTH_RECENT], bool utf8, char *ret)
{
	static const char *const bars[SPARK_LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char ascii[SPARK_LEVELS + 1] = "__..--==";
	uint64_t least = UINT64_MAX, most = 0;
	size_t used = 0;

	for (int i = 0; i < SEEP_GROWTH_RECENT; i++) {
		least = values[i] < least ? values[i] : least;
		most = values[i] > most ? values[i] : most;
	}
	for (int i = 0; i < SEEP_GROWTH_RECENT; i++) {
		const double part = most > least
					    ? (double)(values[i] - least) / (double)(most - least)
					    : 0;
		const int level = (int)(part * (SPARK_LEVELS - 1) + 0.5);

		if (utf8)
			used = (size_t)(stpcpy(ret + used, bars[level]) - ret);
		else
			ret[used++] = ascii[level];
	}
	ret[used] = '\0';
}

struct seep_estimate_text seep_tag_old_text(const struct seep_scope_sums *sums)
{
	return seep_estimate_text(seep_bytes_text((uint64_t)sums->old_bytes),
				  seep_counts_figure_error(&sums->all, SEEP_FIGURE_live_bytes),
				  seep_bytes_text);
}

/* For a column of so many characters; what is not ASCII has more bytes. */
static int padded(const char *text, int width)
{
	return width + (int)(strlen(text) - seep_display_width(text, strlen(text)));
}

char *seep_tag_line(const struct seep_live_tag *tag, bool estimates)
{
	static const char format[] = "%*s %9s %*s %8s %7s %*s  %s";
	const int width = estimates ? ESTIMATE : EXACT;
	const struct seep_profile_scope *figures;
	struct seep_estimate_text held, old = { "-" };
	struct seep_unit_text mean = { "-" };

	if (!tag)
		return seep_xasprintf(format, width, "HELD", "GROWTH/s", width, "OLD", "ENTRY/s",
				      "ACTIVE", MEAN, "MEAN", "TAG");
	figures = &tag->sum->figures;
	if (figures->exits)
		mean = seep_duration_text(seep_scope_mean_ns(figures));
	if (tag->process->old_ns)
		old = seep_tag_old_text(&tag->sum->sums);
	held = seep_figure_text(&tag->sum->sums.all, SEEP_FIGURE_live_bytes);
	return seep_xasprintf(format, padded(held.text, width), held.text,
			      seep_change_text(tag->held_per_s, seep_bytes_text).text,
			      padded(old.text, width), old.text,
			      seep_count_text((uint64_t)tag->entries_per_s).text,
			      seep_count_text(figures->entries - figures->exits).text,
			      padded(mean.text, MEAN), mean.text, tag->sum->tag);
}

char *seep_tags_old(const struct seep_live_tag *tags, uint32_t count)
{
	return count && tags[0].process->old_ns
		       ? seep_xasprintf("OLD: allocated %s ago or earlier",
					seep_duration_text(tags[0].process->old_ns).text)
		       : NULL;
}

char *seep_live_name_text(const struct seep_live_process *process, uint32_t index)
{
	const struct seep_profile_context *context = &process->profile->contexts[index];
	const struct seep_profile_frame *frame = seep_sites_blamed(process->sites, context);
	SEEP_FREED char *name = NULL, *type = NULL;

	if (!frame)
		return seep_xstrdup(context->other ? "(ledger full)" : "(no stack)");
	name = seep_frame_name(process->profile, frame, SEEP_NAME_BRIEF);
	type = seep_row_type(process->sites, context);
	return seep_xasprintf("%s%s", name, type);
}

const char *seep_live_verdict(const struct seep_live_line *line)
{
	if (!line->judged || (line->growth.verdict == SEEP_GROWTH_GROWING && line->growth.returned))
		return "";
	return seep_growth_verdict_name(line->growth.verdict);
}

static struct seep_live_texts texts_of(const struct seep_live *live,
				       const struct seep_live_line *line, uint64_t total, bool utf8)
{
	const struct seep_profile *profile = line->process->profile;
	const struct seep_profile_context *context = &line->sum;
	const struct seep_profile_frame *frame = seep_sites_blamed(line->process->sites,
								   &line->sum);
	struct seep_live_texts texts = {
		.live = seep_estimate_text(seep_bytes_text(context->live_bytes),
					   context->errors ? context->errors[SEEP_FIGURE_live_bytes]
							   : 0,
					   seep_bytes_text),
		.share = seep_percent_text(context->live_bytes, total),
		.change = seep_change_text(line->change_bytes, seep_bytes_text),
		.allocs = seep_count_text(line->allocs_per_s),
		.frees = seep_count_text(line->frees_per_s),
		.blocks = seep_count_text(context->live_blocks),
		.verdict = seep_live_verdict(line),
		.name = seep_live_name_text(line->process, line->context),
		.place = frame ? seep_frame_place(profile, frame, true) : seep_xstrdup(""),
	};

	if (live->count > 1 && !live->only) {
		SEEP_FREED char *name = texts.name;

		texts.name = seep_xasprintf("[%u] %s", profile->process.pid, name);
	}
	if (line->age_ns)
		texts.age = seep_duration_text(line->age_ns);
	if (line->changed)
		seep_spark(line->recent, utf8, texts.spark);
	return texts;
}

struct seep_live_texts *seep_live_table(const struct seep_live *live,
					const struct seep_live_line *lines, uint32_t count,
					bool utf8)
{
	const uint64_t total = seep_live_total(live).live_bytes;
	struct seep_live_texts *table = seep_xcalloc(count, sizeof(*table));
	SEEP_FREED struct seep_row *rows = seep_xcalloc(count, sizeof(*rows));

	for (uint32_t i = 0; i < count; i++) {
		const struct seep_live_process *process = lines[i].process;
		const uint32_t first = lines[i].context;

		table[i] = texts_of(live, &lines[i], total, utf8);
		rows[i] = (struct seep_row){ .sites = process->sites,
					     .context = &lines[i].sum,
					     .name = table[i].name,
					     .place = table[i].place,
					     .many = process->groups->next[first] != first };
	}
	seep_rows_tell_apart(rows, count, true);
	for (uint32_t i = 0; i < count; i++)
		table[i].name = rows[i].name;
	return table;
}

void seep_live_table_free(struct seep_live_texts *table, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		free(table[i].name);
		free(table[i].place);
	}
	free(table);
}

/* ", in close_db (db.c:12)", if that is known. */
static void add_place(struct seep_strbuf *text, const struct seep_live_process *process,
		      uint32_t place, const char *words)
{
	SEEP_FREED char *site = seep_site_text(process->sites,
					       seep_profile_context_at(process->profile, place));

	if (place)
		seep_strbuf_addf(text, ", %s %s", words, site);
}

static void add_findings(struct seep_lines *lines, const struct seep_live_process *process)
{
	for (uint32_t i = 0; i < process->profile->finding_count; i++) {
		const struct seep_profile_finding *finding = &process->profile->findings[i];
		SEEP_FREED char *headline = seep_finding_text(process->profile, finding);
		SEEP_STRBUF(text, SEEP_LINE_BYTES_MAX);

		seep_strbuf_adds(&text, headline);
		add_place(&text, process, finding->here, "in");
		add_place(&text, process, finding->block, "allocated in");
		(void)seep_lines_add(lines, SEEP_STYLE_PLAIN, "%s", text.text);
	}
}

void seep_live_findings(const struct seep_live *live, struct seep_lines *lines)
{
	for (uint32_t i = 0; i < live->count; i++) {
		struct seep_live_process *process = live->processes[i];

		if (process->profile->finding_count == 0 || !seep_live_is_current(live, process))
			continue;
		seep_live_name(live, process);
		add_findings(lines, process);
	}
}
