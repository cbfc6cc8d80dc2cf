/* SPDX-License-Identifier: MIT */
#include "view/view_head.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "analysis/flat.h"
#include "analysis/scope_sums.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/units.h"
#include "profile/counted.h"
#include "profile/kind_name.h"
#include "view/finding_text.h"
#include "view/frame_text.h"
#include "view/leaks_view.h"

/* Below this a rate per second says nothing. */
#define RATE_FROM_NS UINT64_C(50000000)

enum { BLAMED_NAME_BYTES_MAX = 60, START_COLUMNS_MAX = 35, STARTS_TRIED = 16 };

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
	static const char *const endings[] = {
		[SEEP_ENDED_UNKNOWN] = "how it ended is not known",
		[SEEP_ENDED_RUNNING] = "still running",
		[SEEP_ENDED_EXIT] = "exited",
		[SEEP_ENDED_SIGNAL] = "killed by a signal",
		[SEEP_ENDED_EXEC] = "became another program by exec",
		[SEEP_ENDED_KILLED] = "disappeared (SIGKILL, or out of memory?)",
		[SEEP_ENDED_DETACHED] = "detached",
	};
	const int signal = process->status_signal;

	if (process->has_status && process->ended == SEEP_ENDED_EXIT)
		seep_strbuf_addf(buf, "exited with status" SEEP_NO_BREAK "%d",
				 process->status_code);
	else if (process->has_status && process->ended == SEEP_ENDED_SIGNAL && sigabbrev_np(signal))
		seep_strbuf_addf(buf, "killed by SIG%s", sigabbrev_np(signal));
	else if (process->has_status && process->ended == SEEP_ENDED_SIGNAL)
		seep_strbuf_addf(buf, "killed by signal %d", signal);
	else
		seep_strbuf_adds(buf, endings[process->ended]);
	if (process->ended == SEEP_ENDED_SIGNAL && process->core_dumped)
		seep_strbuf_adds(buf, " (core dumped)");
}

/* @words: before it. */
static void add_date(struct seep_strbuf *buf, const char *words, uint64_t realtime_ns)
{
	const time_t seconds = (time_t)(realtime_ns / SEEP_NS_PER_S);
	struct tm local;
	char text[64];

	if (realtime_ns == 0 || localtime_r(&seconds, &local) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%d" SEEP_NO_BREAK "%H:%M:%S", &local) == 0)
		return;
	seep_strbuf_addf(buf, ", %s%s", words, text);
}

/* When it was started or attached to, and how long it was recorded. */
static void add_times(struct seep_strbuf *line, const struct seep_profile *profile)
{
	const struct seep_profile_process *process = &profile->process;
	const bool is_attached = process->origin == SEEP_ORIGIN_ATTACH;
	const uint64_t ns = run_ns(profile);

	add_date(line, is_attached ? "attached to at" SEEP_NO_BREAK : "",
		 process->start_realtime_ns);
	if (is_attached && process->ran_before_ns > 0)
		seep_strbuf_addf(line, ", after it had run for %s",
				 seep_duration_text(process->ran_before_ns).text);
	if (ns > 0)
		seep_strbuf_addf(line, ", %s %s", is_attached ? "recorded for" : "ran",
				 seep_duration_text(ns).text);
}

/* Its file's name, and what it was started as if nobody would know it by that: sh, that is dash. */
static void add_program(struct seep_strbuf *line, const struct seep_profile_process *process)
{
	const char *exe = process->exe != NULL ? seep_path_base(process->exe) : NULL;
	const char *as = process->argv != NULL ? process->argv[0] : NULL;

	seep_strbuf_adds(line, exe != NULL ? exe : "(unknown program)");
	if (exe == NULL || as == NULL)
		return;
	/* A login shell's. */
	as = seep_path_base(*as == '-' ? as + 1 : as);
	if (*as != '\0' && !seep_begins_with(exe, as) && !seep_begins_with(as, exe))
		seep_strbuf_addf(line, " as" SEEP_NO_BREAK "%s", as);
}

void seep_view_add_process(struct seep_view *view, const char *prefix)
{
	const struct seep_profile_process *process = &view->profile->process;
	const bool imported = seep_profile_says(view->profile, SEEP_UNSEEN_IMPORTED);
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	seep_strbuf_adds(&line, prefix);
	add_program(&line, process);
	if (!imported)
		seep_strbuf_addf(&line, " (pid" SEEP_NO_BREAK "%" PRIu32 ")", process->pid);
	add_times(&line, view->profile);
	seep_strbuf_adds(&line, ", ");
	if (imported)
		seep_strbuf_adds(&line, "imported");
	else
		add_ending(&line, process);
	/* The usual one is not worth the room. */
	if (process->allocator != NULL && strcmp(process->allocator, "glibc") != 0)
		seep_strbuf_addf(&line, ", allocator" SEEP_NO_BREAK "%s",
				 seep_path_base(process->allocator));
	if (process->tiers && !imported)
		seep_strbuf_addf(&line, ", tier" SEEP_NO_BREAK "%s",
				 seep_profile_tier_name(process->tiers));
	if (process->mode != 0)
		seep_strbuf_addf(&line, ", mode" SEEP_NO_BREAK "%s",
				 seep_profile_mode_name(process->mode));
	seep_lines_add(&view->head, SEEP_STYLE_PLAIN, "%s", line.text);
}

char *seep_view_command(const struct seep_profile *profile)
{
	char *const *argv = profile->process.argv;
	SEEP_STRBUF(words, SEEP_LINE_BYTES_MAX);

	if (argv == NULL || argv[0] == NULL)
		return NULL;
	seep_text_shell_words(&words, argv);
	if (seep_profile_says(profile, "arguments-cut"))
		seep_strbuf_adds(&words, " …");
	return seep_strbuf_take(&words);
}

/* "1.2 MB ±30 KB": a total. */
static struct seep_estimate_text total_text(uint64_t bytes, uint64_t error)
{
	return seep_estimate_text(seep_bytes_text(bytes), error, seep_bytes_text);
}

static struct seep_estimate_text count_text(uint64_t count, uint64_t error)
{
	return seep_estimate_text(seep_count_text(count), error, seep_count_text);
}

static void add_peak(struct seep_strbuf *buf, const struct seep_profile *profile)
{
	const struct seep_profile_totals *totals = &profile->totals;

	seep_strbuf_addf(
		buf, profile->within ? "; %s at the peak of the process" : "; peak %s",
		total_text(totals->peak_bytes, totals->errors[SEEP_FIGURE_peak_bytes]).text);
	if (totals->peak_error_bytes > 0)
		seep_strbuf_addf(buf, " (±%s)", seep_bytes_text(totals->peak_error_bytes).text);
	if (totals->peak_at_ns > profile->process.start_ns)
		seep_strbuf_addf(
			buf, " until %s",
			seep_duration_text(totals->peak_at_ns - profile->process.start_ns).text);
}

static void add_allocs(struct seep_strbuf *buf, const struct seep_profile *profile)
{
	const struct seep_profile_totals *totals = &profile->totals;
	const uint64_t ns = run_ns(profile);
	const struct seep_profile_counted counted = seep_profile_counted(profile);
	const bool is_exact = seep_profile_knows(profile, "counted_allocs");
	const uint64_t allocs = counted.allocs;

	seep_strbuf_addf(buf, "; %s allocation%s",
			 count_text(allocs, is_exact ? 0 : totals->errors[SEEP_FIGURE_allocs]).text,
			 allocs == 1 ? "" : "s");
	if (allocs > 0)
		seep_strbuf_addf(buf, " of %s in all",
				 total_text(counted.alloc_bytes,
					    is_exact ? 0 : totals->errors[SEEP_FIGURE_alloc_bytes])
					 .text);
	if (profile->within)
		seep_strbuf_addf(buf, ", %s freed inside or outside",
				 count_text(totals->frees, totals->errors[SEEP_FIGURE_frees]).text);
	if (ns >= RATE_FROM_NS && allocs > 0) {
		const unsigned __int128 rate = (unsigned __int128)allocs * SEEP_NS_PER_S / ns;

		seep_strbuf_addf(buf, ", %s/s", seep_count_text((uint64_t)rate).text);
	}
	if (totals->temporary > 0)
		seep_strbuf_addf(buf, ", %s temporary",
				 seep_percent_text(totals->temporary, totals->allocs).text);
}

static struct seep_things_text blocks_text(const struct seep_profile_totals *totals)
{
	const double error = (double)totals->errors[SEEP_FIGURE_live_blocks];
	struct seep_counts counts = { .live_blocks = (int64_t)totals->live_blocks };

	counts.squares[SEEP_FIGURE_live_blocks] = error * error;
	return seep_counted_text(&counts, SEEP_FIGURE_live_blocks, "block");
}

static void add_totals(struct seep_view *view)
{
	const struct seep_profile *profile = view->profile;
	const struct seep_profile_totals *totals = &profile->totals;
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	if (seep_profile_is_void(profile))
		return;
	if (profile->within)
		seep_strbuf_addf(&line, "Only %s: ", profile->within->text);
	/* "bytes live at exit": the bytes come next anyway. */
	if (seep_measure_is_known(profile, SEEP_BY_LIVE))
		seep_strbuf_addf(
			&line, "%c%s %s in %s", profile->within ? 'l' : 'L',
			seep_measure_words(profile, SEEP_BY_LIVE) + strlen("bytes l"),
			total_text(totals->live_bytes, totals->errors[SEEP_FIGURE_live_bytes]).text,
			blocks_text(totals).text);
	else
		seep_strbuf_adds(&line, "What is live is not known");
	if (seep_measure_is_known(profile, SEEP_BY_PEAK))
		add_peak(&line, profile);
	if (seep_measure_is_known(profile, SEEP_BY_ALLOCS))
		add_allocs(&line, profile);
	seep_lines_add(&view->head, SEEP_STYLE_BOLD, "%s", line.text);
}

static void add_shown(struct seep_view *view)
{
	if (view->options->shown == NULL)
		return;
	seep_lines_add(&view->head, SEEP_STYLE_BOLD,
		       "Shown: %s only, %s of the %s; totals and percentages are of the whole "
		       "program",
		       view->options->shown, seep_view_share(view, view->shown).text,
		       seep_measure_words(view->profile, view->measure));
}

/* What a library keeps for itself is nobody's to look at: stacks of plumbing alone come last. */
static const struct seep_flat_row *find_start(const struct seep_flat *flat)
{
	uint32_t top[STARTS_TRIED];
	const uint32_t count = seep_flat_top(flat, false, STARTS_TRIED, top);

	for (uint32_t i = 0; i < count; i++)
		if (!flat->rows[top[i]].plumbing)
			return &flat->rows[top[i]];
	return count > 0 ? &flat->rows[top[0]] : NULL;
}

/* NULL: there is none. */
static char *start_of(const struct seep_view *view)
{
	SEEP_FREED struct seep_flat *flat = seep_flat_new(view->sites, view->measure, false);
	const struct seep_flat_row *row = find_start(flat);
	const struct seep_profile_frame *frame;
	SEEP_FREED char *name = NULL, *brief = NULL, *path = NULL;
	SEEP_STRBUF(place, SEEP_LINE_BYTES_MAX);

	if (row == NULL)
		return NULL;
	frame = &view->profile->frames[row->frame];
	name = seep_frame_name(view->profile, frame, SEEP_NAME_SHORT);
	brief = seep_frame_name(view->profile, frame, SEEP_NAME_BRIEF);
	path = seep_frame_place(view->profile, frame, false);
	/* A word that cannot be folded: the end of it says where. */
	seep_text_fit(&place, path, START_COLUMNS_MAX, true);
	return seep_xasprintf("Start at %s%s%s%s: %s of the %s",
			      strlen(name) > BLAMED_NAME_BYTES_MAX ? brief : name,
			      place.length ? " (" : "", place.text, place.length ? ")" : "",
			      seep_view_share(view, row->self).text,
			      seep_measure_words(view->profile, view->measure));
}

static void add_scope(struct seep_view *view)
{
	SEEP_RELEASED(seep_scopes_done) struct seep_scopes scopes;
	uint64_t held_bytes;

	seep_scopes_init(&scopes, view->profile, 0, false);
	held_bytes = scopes.tag_count ? (uint64_t)scopes.tags[0].sums.all.live_bytes : 0;
	if (held_bytes > 0)
		seep_lines_add(&view->head, SEEP_STYLE_PLAIN, "Tag %s holds most: %s, %s of the %s",
			       scopes.tags[0].tag, seep_bytes_text(held_bytes).text,
			       seep_percent_text(held_bytes, view->profile->totals.live_bytes).text,
			       seep_measure_words(view->profile, SEEP_BY_LIVE));
}

void seep_view_add_lead(struct seep_view *view, bool start)
{
	const bool scanned = !seep_profile_not_scanned(view->profile);
	SEEP_FREED char *answer = seep_leaks_answer(view->profile);
	SEEP_FREED char *where = start || !scanned ? start_of(view) : NULL;
	SEEP_FREED char *findings = seep_findings_answer(view);

	if (!scanned && !where)
		where = seep_view_nothing(view);
	if (findings)
		seep_lines_add(&view->head, SEEP_STYLE_BOLD, "%s", findings);
	if (!scanned)
		seep_lines_add(&view->head, SEEP_STYLE_BOLD, "%s", where);
	seep_lines_add(&view->head, scanned ? SEEP_STYLE_BOLD : SEEP_STYLE_PLAIN, "%s", answer);
	if (scanned && where)
		seep_lines_add(&view->head, SEEP_STYLE_PLAIN, "%s", where);
	add_scope(view);
}

void seep_view_add_head(struct seep_view *view, const char *prefix, bool command, bool start)
{
	SEEP_FREED char *words = command ? seep_view_command(view->profile) : NULL;

	seep_view_add_process(view, prefix);
	if (words != NULL)
		seep_lines_add(&view->head, SEEP_STYLE_DIM, "$ %s", words)->cut =
			!view->options->full;
	if (command)
		seep_lines_add(&view->head, SEEP_STYLE_PLAIN, "%s", "");
	/* All else that is said is of what is within, then. */
	if (view->profile->within)
		add_totals(view);
	seep_view_add_lead(view, start);
	if (!view->profile->within)
		add_totals(view);
	add_shown(view);
}
