/* SPDX-License-Identifier: MIT */
/* What "seep top" prints without screens. */
#include "report/report.h"

#include <inttypes.h>

#include "analysis/growth_text.h"
#include "base/clock.h"
#include "base/encode.h"
#include "base/json_writer.h"
#include "base/path.h"
#include "base/table.h"
#include "base/terminal.h"
#include "base/xalloc.h"
#include "profile/context_hash.h"
#include "report/json_contexts.h"
#include "report/json_scopes.h"
#include "report/report_json.h"
#include "view/live_view.h"
#include "view/view_head.h"

enum { TAGS_SHOWN = 8, TAGS_WRITTEN = 100000 };

/*
 * "pc (pid 12): 1.2 MB live, +3.0 KB in 1.0 s, peak 2.0 MB, 12.3 k allocs/s, 4 threads, 1 growing";
 * not escaped. After one reading without the change.
 */
static char *headline_of(const struct seep_live *live)
{
	const struct seep_live_totals sum = seep_live_total(live);
	const struct seep_live_process *first = seep_live_first(live);
	const char *exe;
	const struct seep_profile_within *within = live->options.within;
	SEEP_STRBUF(text, SEEP_LINE_BYTES_MAX);

	if (!first)
		return seep_xstrdup("no process");
	exe = first->profile->process.exe;
	seep_strbuf_addf(&text, "%.200s (pid %u%s)%s%s: %s live", exe ? seep_path_base(exe) : "?",
			 first->profile->process.pid, sum.processes > 1 ? " and children" : "",
			 within ? ", " : "", within ? within->text : "",
			 seep_estimate_text(seep_bytes_text(sum.live_bytes),
					    sum.errors[SEEP_FIGURE_live_bytes], seep_bytes_text)
				 .text);
	if (first->span_ns)
		seep_strbuf_addf(&text, ", %s in %s",
				 seep_change_text(sum.change_bytes, seep_bytes_text).text,
				 seep_duration_text(first->span_ns).text);
	seep_strbuf_addf(&text, ", peak %s, %s allocs/s", seep_bytes_text(sum.peak_bytes).text,
			 seep_count_text(sum.allocs_per_s).text);
	if (sum.threads)
		seep_strbuf_addf(&text, ", %s", seep_things_text(sum.threads, "thread").text);
	seep_strbuf_addf(&text, ", %u growing", sum.grown.contexts);
	if (sum.grown.contexts)
		seep_strbuf_addf(&text, " (%s)",
				 seep_growth_rate_text(sum.grown.bytes_per_hour).text);
	return seep_strbuf_take(&text);
}

/* Whose words come first: the process of the first line. NULL: there is none. */
static const struct seep_live_process *leader_of(const struct seep_live *live,
						 const struct seep_live_line *lines, uint32_t count)
{
	return count > 0 ? lines[0].process : seep_live_first(live);
}

static const struct seep_view_options lead_options = { .by = SEEP_BY_CHOICE };

static void print_lead(const struct seep_printer *printer, const struct seep_live *live,
		       const struct seep_live_process *process)
{
	SEEP_RELEASED(seep_view_done) struct seep_view view;

	if (!process)
		return;
	seep_view_init(&view, process->profile, process->sites, &lead_options);
	seep_view_add_lead(&view, true);
	if (live->count > 1)
		fprintf(printer->out, "In process %u: ", process->profile->process.pid);
	seep_lines_cut(&view.head, 1);
	seep_lines_print(&view.head, printer);
}

static void print_processes(const struct seep_printer *printer, const struct seep_live *live)
{
	static const struct seep_column columns[] = {
		{ "PID", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "LIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "CHANGE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "STATE", SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ "PROGRAM", SEEP_ALIGN_LEFT, SEEP_CUT_START, 0 },
	};
	SEEP_TABLE(table, columns);

	for (uint32_t i = 0; i < live->count; i++) {
		const struct seep_live_process *process = live->processes[i];
		const struct seep_live_totals sum = seep_live_process_total(live, process);
		SEEP_FREED char *pid = seep_xasprintf("%u", process->profile->process.pid);

		seep_table_add(table, pid);
		seep_table_add(table, seep_estimate_text(seep_bytes_text(sum.live_bytes),
							 sum.errors[SEEP_FIGURE_live_bytes],
							 seep_bytes_text)
					      .text);
		seep_table_add(table, seep_change_text(sum.change_bytes, seep_bytes_text).text);
		seep_table_add(table, process->fate ? process->fate : "runs");
		seep_table_add(table, process->profile->process.exe);
	}
	seep_table_print(table, printer, 0);
	(void)fputc('\n', printer->out);
}

static void print_tags(const struct seep_printer *printer, const struct seep_live *live,
		       enum seep_live_sort sort)
{
	struct seep_live_tag tags[TAGS_SHOWN];
	const uint32_t count = seep_live_tags(live, sort, TAGS_SHOWN, tags);
	SEEP_FREED char *old = seep_tags_old(tags, count);

	for (uint32_t i = 0; count && i <= count; i++) {
		SEEP_FREED char *line =
			seep_tag_line(i ? &tags[i - 1] : NULL,
				      seep_live_total(live).errors[SEEP_FIGURE_live_bytes]);
		SEEP_FREED char *escaped = seep_escape_dup(line);

		(void)fprintf(printer->out, "%s\n", escaped);
	}
	if (old)
		seep_line_print(printer, "%s", old);
	if (count)
		(void)fputc('\n', printer->out);
}

static void print_evidence(const struct seep_printer *printer, const struct seep_live_line *line,
			   const char *name)
{
	SEEP_FREED char *evidence = NULL;

	if (!*seep_live_verdict(line))
		return;
	evidence = seep_growth_evidence(line->process->profile, &line->sum, &line->growth);
	seep_line_print(printer, "%s %s: %s (confidence: %s)", seep_live_verdict(line), name,
			evidence, seep_growth_confidence_name(line->growth.confidence));
}

void seep_report_live(const struct seep_printer *printer, const struct seep_live *live,
		      const struct seep_live_line *lines, uint32_t count, enum seep_live_sort sort)
{
	static const struct seep_column columns[] = {
		{ "LIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "SHARE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 3 },
		{ "CHANGE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "ALLOC/s", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 2 },
		{ "FREE/s", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 1 },
		{ "BLOCKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 4 },
		{ "AGE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 5 },
		{ "VERDICT", SEEP_ALIGN_LEFT, SEEP_CUT_NEVER, 0 },
		{ "FUNCTION", SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ "PLACE", SEEP_ALIGN_LEFT, SEEP_CUT_START, 0 },
	};
	struct seep_live_texts *all = seep_live_table(live, lines, count, true);
	SEEP_TABLE(table, columns);
	SEEP_FREED char *headline = headline_of(live);
	SEEP_RELEASED(seep_lines_done) struct seep_lines findings = { 0 };

	print_lead(printer, live, leader_of(live, lines, count));
	seep_line_print(printer, "%s", headline);
	seep_live_findings(live, &findings);
	seep_lines_print(&findings, printer);
	(void)fputc('\n', printer->out);
	if (live->count > 1 || !seep_live_runs(live))
		print_processes(printer, live);
	print_tags(printer, live, sort);
	for (uint32_t i = 0; i < count; i++) {
		const struct seep_live_texts *texts = &all[i];

		seep_table_add(table, texts->live.text);
		seep_table_add(table, texts->share.text);
		seep_table_add(table, texts->change.text);
		seep_table_add(table, texts->allocs.text);
		seep_table_add(table, texts->frees.text);
		seep_table_add(table, texts->blocks.text);
		seep_table_add(table, texts->age.text);
		seep_table_add(table, texts->verdict);
		seep_table_add_styled(table, SEEP_STYLE_BOLD, texts->name, NULL);
		seep_table_add(table, texts->place);
	}
	seep_table_print(table, printer, 0);
	for (uint32_t i = 0; i < count; i++)
		print_evidence(printer, &lines[i], all[i].name);
	seep_live_table_free(all, count);
	for (uint32_t i = 0; i < live->count; i++) {
		const struct seep_profile *profile = live->processes[i]->profile;

		for (uint32_t k = 0; k < profile->unseen_count; k++)
			seep_line_print(printer, "Not seen in process %u: %s", profile->process.pid,
					profile->unseen[k].detail);
	}
}

static void write_totals(struct seep_json *json, const struct seep_live_totals *totals)
{
	seep_json_u64(json, "live_bytes", totals->live_bytes);
	seep_json_u64(json, "live_blocks", totals->live_blocks);
	seep_json_u64(json, "peak_bytes", totals->peak_bytes);
	seep_json_u64(json, "allocs", totals->allocs);
	seep_json_u64(json, "frees", totals->frees);
	seep_json_int(json, "change_bytes", totals->change_bytes);
	seep_json_u64(json, "allocs_per_s", totals->allocs_per_s);
	seep_json_u64(json, "frees_per_s", totals->frees_per_s);
	seep_json_u64(json, "threads", totals->threads);
	seep_json_open_object(json, "growing");
	seep_json_u64(json, "contexts", totals->grown.contexts);
	seep_json_u64(json, "bytes", totals->grown.bytes);
	seep_json_u64(json, "bytes_per_hour", totals->grown.bytes_per_hour);
	seep_json_close(json);
	seep_json_estimate(json, totals->errors);
}

static void write_process(struct seep_json *json, const struct seep_live *live,
			  const struct seep_live_process *process)
{
	static const char *const states[] = { "runs", "ended", "lost" };
	const struct seep_profile_process *about = &process->profile->process;
	const struct seep_live_totals totals = seep_live_process_total(live, process);

	seep_json_int(json, "pid", about->pid);
	seep_json_int(json, "ppid", about->ppid);
	seep_json_text(json, "exe", about->exe);
	seep_json_text(json, "ledger", process->path);
	seep_json_text(json, "state", states[process->state]);
	seep_json_text(json, "fate", process->fate);
	seep_json_u64(json, "interval_ns", process->span_ns);
	write_totals(json, &totals);
	seep_json_open_array(json, "unseen");
	seep_json_unseen(json, process->profile, NULL);
	seep_json_close(json);
}

static void write_growth(struct seep_json *json, const struct seep_live_line *line)
{
	SEEP_FREED char *evidence = NULL;

	if (!line->judged)
		return;
	evidence = seep_growth_evidence(line->process->profile, &line->sum, &line->growth);
	seep_json_growth(json, &line->sum, &line->growth, evidence);
}

/* What of one process is in the document. */
static void choose_lines(struct seep_json_shown *shown, const struct seep_live *live,
			 const struct seep_live_process *process,
			 const struct seep_live_line *lines, uint32_t count)
{
	uint32_t *contexts = seep_xcalloc(count, sizeof(*contexts)), chosen = 0;

	for (uint32_t i = 0; i < count; i++)
		if (lines[i].process == process)
			contexts[chosen++] = lines[i].context;
	seep_json_shown_take(shown, process->profile, contexts, chosen,
			     seep_live_is_current(live, process));
}

static void write_blamed(struct seep_json *json, const struct seep_json_shown *shown,
			 const struct seep_live_line *line)
{
	const struct seep_profile_frame *frame = seep_sites_blamed(line->process->sites,
								   &line->sum);

	if (frame)
		seep_json_int(
			json, "blamed",
			seep_json_frame_place(shown, (uint32_t)(frame - shown->profile->frames)));
	else
		seep_json_null(json, "blamed");
}

static void write_line(struct seep_json *json, const struct seep_json_shown *shown,
		       const struct seep_live_line *line)
{
	struct seep_profile_context context = line->sum;
	const size_t recent = line->changed ? SEEP_GROWTH_RECENT : 0;

	/* Of several scopes; those of the tags are in "tags". */
	context.scope = 0;
	context.hash = shown->profile->contexts[line->context].hash;
	seep_json_open_object(json, NULL);
	seep_json_int(json, "pid", shown->profile->process.pid);
	seep_json_context(json, shown, &context);
	seep_json_int(json, "change_bytes", line->change_bytes);
	seep_json_u64(json, "allocs_per_s", line->allocs_per_s);
	seep_json_u64(json, "frees_per_s", line->frees_per_s);
	seep_json_known(json, "age_ns", line->age_ns);
	for (size_t i = 0; seep_json_each(json, "recent_bytes", i, recent); i++)
		seep_json_u64(json, NULL, line->recent[i]);
	write_growth(json, line);
	write_blamed(json, shown, line);
	seep_json_close(json);
}

static void write_findings(struct seep_json *json, const struct seep_json_shown *shown)
{
	const struct seep_profile *profile = shown->profile;

	for (uint32_t i = 0; i < profile->finding_count && shown->has_findings; i++) {
		seep_json_open_object(json, NULL);
		seep_json_int(json, "pid", profile->process.pid);
		seep_json_finding(json, shown, &profile->findings[i]);
		seep_json_close(json);
	}
}

static void write_tags(struct seep_json *json, const struct seep_live *live)
{
	SEEP_FREED struct seep_live_tag *tags = seep_xcalloc(TAGS_WRITTEN, sizeof(*tags));
	const uint32_t count = seep_live_tags(live, SEEP_LIVE_BY_BYTES, TAGS_WRITTEN, tags);

	for (uint32_t i = 0; seep_json_each_object(json, "tags", i, count); i++) {
		seep_json_int(json, "pid", tags[i].process->profile->process.pid);
		seep_json_text(json, "tag", tags[i].sum->tag);
		seep_json_scope_figures(json, &tags[i].sum->figures, &tags[i].sum->sums);
		seep_json_known(json, "old_ns", tags[i].process->old_ns);
		seep_json_int(json, "old_bytes", tags[i].sum->sums.old_bytes);
		seep_json_int(json, "held_bytes_per_s", tags[i].held_per_s);
		seep_json_int(json, "entries_per_s", tags[i].entries_per_s);
	}
}

static void write_stacks(struct seep_json *json, const struct seep_live *live,
			 const struct seep_live_line *lines, uint32_t count)
{
	SEEP_FREED struct seep_json_shown *shown = seep_xcalloc(live->count, sizeof(*shown));

	for (uint32_t i = 0; i < live->count; i++) {
		choose_lines(&shown[i], live, live->processes[i], lines, count);
		if (i > 0)
			seep_json_shown_behind(&shown[i], &shown[i - 1]);
	}
	seep_json_frames(json, shown, live->count);
	seep_json_open_array(json, "contexts");
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < live->count; k++)
			if (live->processes[k] == lines[i].process)
				write_line(json, &shown[k], &lines[i]);
	seep_json_close(json);
	seep_json_open_array(json, "findings");
	for (uint32_t i = 0; i < live->count; i++)
		write_findings(json, &shown[i]);
	seep_json_close(json);
	for (uint32_t i = 0; i < live->count; i++)
		seep_json_shown_done(&shown[i]);
}

void seep_report_live_json(FILE *out, const struct seep_live *live,
			   const struct seep_live_line *lines, uint32_t count, bool strings)
{
	struct seep_json *json = seep_json_new(out, strings);
	const struct seep_live_totals totals = seep_live_total(live);
	const struct seep_live_process *leader = leader_of(live, lines, count);

	seep_json_open_document(json, NULL);
	if (leader)
		seep_json_lead(json, leader->sites, &lead_options);
	seep_json_within(json, live->options.within);
	seep_json_open_object(json, "totals");
	seep_json_int(json, "processes", totals.processes);
	write_totals(json, &totals);
	seep_json_close(json);
	for (uint32_t i = 0; seep_json_each_object(json, "processes", i, live->count); i++)
		write_process(json, live, live->processes[i]);
	write_tags(json, live);
	/* Of those that have lines, whose names are all there. */
	for (uint32_t i = 0; i < live->count; i++)
		if (seep_live_is_current(live, live->processes[i]))
			seep_profile_hash_contexts(live->processes[i]->profile);
	write_stacks(json, live, lines, count);
	seep_json_finish(json);
}

void seep_report_live_csv_head(FILE *out)
{
	(void)fputs("time_ns,pid,live_bytes,live_blocks,change_bytes,allocs_per_s,frees_per_s,"
		    "age_ns,verdict,function,file,line,realtime_ns\r\n",
		    out);
}

void seep_report_live_csv(FILE *out, const struct seep_live_line *lines, uint32_t count)
{
	const uint64_t boot_ns = seep_clock_ns(CLOCK_REALTIME) - seep_monotonic_ns();

	for (uint32_t i = 0; i < count; i++) {
		const struct seep_live_line *line = &lines[i];
		const struct seep_profile *profile = line->process->profile;
		const struct seep_profile_context *context = &line->sum;
		const struct seep_profile_frame *frame = seep_sites_blamed(line->process->sites,
									   &line->sum);
		SEEP_FREED char *name = seep_live_name_text(line->process, line->context);

		(void)fprintf(out,
			      "%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRIu64
			      ",%" PRIu64 ",%" PRIu64 ",%s,",
			      line->process->read_ns, profile->process.pid, context->live_bytes,
			      context->live_blocks, line->change_bytes, line->allocs_per_s,
			      line->frees_per_s, line->age_ns, seep_live_verdict(line));
		seep_csv_write(out, name);
		(void)fputc(',', out);
		seep_csv_write(out, frame ? frame->file : NULL);
		(void)fprintf(out, ",%u,%" PRIu64 "\r\n", frame ? frame->line : 0,
			      boot_ns + line->process->read_ns);
	}
	(void)fflush(out);
}
