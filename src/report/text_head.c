/* SPDX-License-Identifier: MIT */
#include "report/text_head.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/flat.h"
#include "base/path.h"
#include "base/terminal.h"
#include "base/units.h"
#include "profile/kind_name.h"
#include "report/text_frame.h"
#include "report/text_style.h"

#define NS_PER_S UINT64_C(1000000000)
/* Below this a rate per second says nothing. */
#define RATE_FROM_NS UINT64_C(50000000)

const char *seep_head_measure_words(const struct seep_profile *profile, enum seep_measure measure)
{
	switch (measure) {
	case SEEP_BY_PEAK:
		return "bytes live at the peak";
	case SEEP_BY_ALLOCS:
		return "allocations";
	case SEEP_BY_TEMPORARY:
		return "temporary allocations";
	case SEEP_BY_LIVE:
	case SEEP_MEASURE_COUNT:
		break;
	}
	switch (profile->process.ended) {
	case SEEP_ENDED_RUNNING:
		return "bytes live now";
	case SEEP_ENDED_EXIT:
		return "bytes live at exit";
	case SEEP_ENDED_SIGNAL:
	case SEEP_ENDED_KILLED:
		return "bytes live when it died";
	case SEEP_ENDED_EXEC:
		return "bytes live at exec";
	case SEEP_ENDED_UNKNOWN:
		break;
	}
	return "bytes live when last seen";
}

enum seep_measure seep_report_measure(const struct seep_profile *profile,
				      const struct seep_report_options *options)
{
	const struct seep_profile_totals *totals = &profile->totals;

	if (options->by >= 0 && options->by < SEEP_MEASURE_COUNT)
		return (enum seep_measure)options->by;
	if (totals->peak_bytes == 0 && totals->live_bytes == 0)
		return SEEP_BY_ALLOCS;
	/* A program that cleaned up after itself: what is left is not what anyone looks for. */
	return totals->live_bytes < totals->peak_bytes / 100 ? SEEP_BY_PEAK : SEEP_BY_LIVE;
}

/* ---- the process --------------------------------------------------------------------------- */

static uint64_t run_ns(const struct seep_profile *profile)
{
	const struct seep_profile_process *process = &profile->process;
	uint64_t end_ns = process->end_ns;

	if (end_ns == 0 && profile->sample_count > 0)
		end_ns = profile->timeline[profile->sample_count - 1].at_ns;
	return end_ns > process->start_ns ? end_ns - process->start_ns : 0;
}

static void add_ending(struct seep_strbuf *buf, const struct seep_profile_process *process)
{
	const char *name;

	switch (process->ended) {
	case SEEP_ENDED_RUNNING:
		seep_strbuf_adds(buf, "still running");
		return;
	case SEEP_ENDED_EXIT:
		if (process->has_status)
			seep_strbuf_addf(buf, "exited with status" SEEP_NO_BREAK "%d",
					 process->status_code);
		else
			seep_strbuf_adds(buf, "exited");
		return;
	case SEEP_ENDED_SIGNAL:
		name = process->has_status ? sigabbrev_np(process->status_signal) : NULL;
		if (name != NULL)
			seep_strbuf_addf(buf, "killed by SIG%s", name);
		else if (process->has_status)
			seep_strbuf_addf(buf, "killed by signal %d", process->status_signal);
		else
			seep_strbuf_adds(buf, "killed by a signal");
		if (process->core_dumped)
			seep_strbuf_adds(buf, " (core dumped)");
		return;
	case SEEP_ENDED_EXEC:
		seep_strbuf_adds(buf, "became another program by exec");
		return;
	case SEEP_ENDED_KILLED:
		seep_strbuf_adds(buf, "ended without a word (SIGKILL, or out of memory?)");
		return;
	case SEEP_ENDED_UNKNOWN:
		break;
	}
	seep_strbuf_adds(buf, "how it ended was not seen");
}

static void add_date(struct seep_strbuf *buf, uint64_t realtime_ns)
{
	const time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	struct tm local;
	char text[64];

	if (realtime_ns == 0 || localtime_r(&seconds, &local) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%d" SEEP_NO_BREAK "%H:%M:%S", &local) == 0)
		return;
	seep_strbuf_addf(buf, ", %s", text);
}

static void print_command(FILE *out, const struct seep_report_options *options, char *const *argv)
{
	const size_t columns = options->width > 2 && !options->full ? options->width - 2 : 0;
	struct seep_strbuf words;
	struct seep_strbuf line;

	seep_strbuf_init(&words, SEEP_LINE_BYTES_MAX);
	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	for (size_t i = 0; argv[i] != NULL; i++) {
		if (i > 0)
			seep_strbuf_addc(&words, ' ');
		seep_text_shell_word(&words, argv[i]);
	}
	seep_text_fit(&line, words.text, columns, false);
	fprintf(out, "%s$ %s%s\n", seep_style_on(options, SEEP_STYLE_DIM), line.text,
		seep_style_off(options, SEEP_STYLE_DIM));
	seep_strbuf_done(&line);
	seep_strbuf_done(&words);
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Its file's name, and what it was started as when nobody would know it by that: sh, which is dash. */
static void add_program(struct seep_strbuf *line, const struct seep_profile_process *process)
{
	const char *exe = process->exe != NULL ? seep_path_base(process->exe) : NULL;
	const char *as = process->argv != NULL ? process->argv[0] : NULL;

	seep_escapes(line, exe != NULL ? exe : "(unknown program)");
	if (exe == NULL || as == NULL)
		return;
	/* A login shell's. */
	as = seep_path_base(*as == '-' ? as + 1 : as);
	if (*as == '\0' || begins_with(exe, as) || begins_with(as, exe))
		return;
	seep_strbuf_adds(line, " as" SEEP_NO_BREAK);
	seep_escapes(line, as);
}

void seep_head_process(FILE *out, const struct seep_profile *profile,
		       const struct seep_report_options *options, const char *prefix, bool command)
{
	const struct seep_profile_process *process = &profile->process;
	const uint64_t ns = run_ns(profile);
	struct seep_strbuf line;

	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	seep_strbuf_adds(&line, prefix);
	add_program(&line, process);
	seep_strbuf_addf(&line, " (pid" SEEP_NO_BREAK "%" PRIu32 ")", process->pid);
	add_date(&line, process->start_realtime_ns);
	if (ns > 0)
		seep_strbuf_addf(&line, ", ran %s", seep_duration_text(ns).text);
	seep_strbuf_adds(&line, ", ");
	add_ending(&line, process);
	/* The usual one is not worth the room. */
	if (process->allocator != NULL && strcmp(process->allocator, "glibc") != 0) {
		seep_strbuf_adds(&line, ", allocator" SEEP_NO_BREAK);
		seep_escapes(&line, seep_path_base(process->allocator));
	}
	if (process->mode != 0)
		seep_strbuf_addf(&line, ", mode" SEEP_NO_BREAK "%s",
				 seep_profile_mode_name(process->mode));
	seep_text_fold(out, options, SEEP_STYLE_PLAIN, 0, 2, line.text);
	seep_strbuf_done(&line);
	if (command && process->argv != NULL && process->argv[0] != NULL)
		print_command(out, options, process->argv);
}

/* ---- the lead ------------------------------------------------------------------------------ */

static void add_peak(struct seep_strbuf *buf, const struct seep_profile *profile)
{
	const struct seep_profile_totals *totals = &profile->totals;

	seep_strbuf_addf(buf, "; peak %s", seep_bytes_text(totals->peak_bytes).text);
	if (!totals->peak_exact && totals->peak_error_bytes > 0)
		seep_strbuf_addf(buf, " (±%s)", seep_bytes_text(totals->peak_error_bytes).text);
	else if (!totals->peak_exact)
		seep_strbuf_adds(buf, " (not exact)");
	if (totals->peak_at_ns > profile->process.start_ns)
		seep_strbuf_addf(
			buf, " after %s",
			seep_duration_text(totals->peak_at_ns - profile->process.start_ns).text);
}

static void add_allocs(struct seep_strbuf *buf, const struct seep_profile *profile)
{
	const struct seep_profile_totals *totals = &profile->totals;
	const uint64_t ns = run_ns(profile);

	seep_strbuf_addf(buf, "; %s allocation%s", seep_count_text(totals->allocs).text,
			 totals->allocs == 1 ? "" : "s");
	if (totals->allocs > 0)
		seep_strbuf_addf(buf, " of %s in all", seep_bytes_text(totals->alloc_bytes).text);
	if (ns >= RATE_FROM_NS && totals->allocs > 0) {
		const unsigned __int128 rate = (unsigned __int128)totals->allocs * NS_PER_S / ns;

		seep_strbuf_addf(buf, ", %s/s", seep_count_text((uint64_t)rate).text);
	}
	if (totals->temporary > 0)
		seep_strbuf_addf(buf, ", %s temporary",
				 seep_percent_text(totals->temporary, totals->allocs).text);
}

void seep_head_lead(FILE *out, const struct seep_profile *profile,
		    const struct seep_report_options *options)
{
	const struct seep_profile_totals *totals = &profile->totals;
	struct seep_strbuf line;

	if (seep_profile_is_void(profile)) {
		seep_text_fold(out, options, SEEP_STYLE_BOLD, 0, 2,
			       seep_profile_says(profile, "no-memory")
				       ? "Nothing was counted: there was no memory for it"
				       : "Nothing was counted: the ledger got no room");
		return;
	}
	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	seep_strbuf_addc(&line, 'L');
	/* "bytes live at exit": the bytes come next anyway. */
	seep_strbuf_adds(&line, seep_head_measure_words(profile, SEEP_BY_LIVE) + strlen("bytes l"));
	seep_strbuf_addf(&line, " %s in %s block%s", seep_bytes_text(totals->live_bytes).text,
			 seep_digits_text(totals->live_blocks).text,
			 totals->live_blocks == 1 ? "" : "s");
	add_peak(&line, profile);
	add_allocs(&line, profile);
	seep_text_fold(out, options, SEEP_STYLE_BOLD, 0, 2, line.text);
	seep_strbuf_done(&line);
}

void seep_head_shown(FILE *out, const struct seep_profile *profile,
		     const struct seep_report_options *options, enum seep_measure measure)
{
	struct seep_counts shown = { 0 };
	struct seep_counts all = { 0 };
	struct seep_strbuf line;

	if (options->shown == NULL)
		return;
	for (uint32_t i = 0; i < profile->context_count; i++)
		seep_counts_add_context(&shown, &profile->contexts[i]);
	seep_counts_add_context(&all, &profile->left_out);
	seep_counts_add(&all, &shown);
	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	seep_strbuf_adds(&line, "Shown: ");
	seep_escapes(&line, options->shown);
	seep_strbuf_addf(&line,
			 " only, %s of the %s; totals and percentages are of the whole program",
			 seep_percent_text(seep_counts_value(&shown, measure),
					   seep_counts_value(&all, measure))
				 .text,
			 seep_head_measure_words(profile, measure));
	seep_text_fold(out, options, SEEP_STYLE_BOLD, 0, 2, line.text);
	seep_strbuf_done(&line);
}

void seep_head_start_at(FILE *out, const struct seep_sites *sites,
			const struct seep_report_options *options, enum seep_measure measure)
{
	struct seep_flat *flat = seep_flat_new(sites);
	const uint64_t total = seep_counts_value(&flat->total, measure);
	struct seep_strbuf line;
	uint32_t top;

	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	if (seep_flat_top(flat, measure, false, 1, &top) == 1) {
		const struct seep_flat_row *row = &flat->rows[top];
		const struct seep_profile_frame *frame = &sites->profile->frames[row->frame];
		const uint64_t value = seep_counts_value(&row->self, measure);
		const size_t room = options->width > 50 ? options->width - 50 : 0;

		seep_strbuf_adds(&line, "Start at ");
		seep_frame_name(&line, sites->profile, frame, room, false);
		seep_strbuf_adds(&line, " (");
		seep_frame_place(&line, sites->profile, frame, room, false);
		if (line.text[line.length - 1] == '(')
			seep_strbuf_cut(&line, line.length - 2);
		else
			seep_strbuf_addc(&line, ')');
		seep_strbuf_addf(&line, ": %s of the %s", seep_percent_text(value, total).text,
				 seep_head_measure_words(sites->profile, measure));
		seep_text_fold(out, options, SEEP_STYLE_PLAIN, 0, 2, line.text);
	}
	seep_strbuf_done(&line);
	seep_flat_free(flat);
}
