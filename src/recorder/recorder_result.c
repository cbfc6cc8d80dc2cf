/* SPDX-License-Identifier: MIT */
#include "recorder/recorder_result.h"

#include "base/path.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/ledger_figure.h"
#include "profile/verdict.h"
#include "recorder/finish.h"
#include "recorder/image.h"
#include "recording/recording.h"

#include <stdlib.h>

enum { PROGRAMS_MAX = 3 };

void seep_recorder_add_other(struct seep_recorder_result *result, const struct seep_finish_job *job)
{
	struct seep_profile_other *other = SEEP_APPEND(result->others, result->other_count);

	*other = job->share;
	other->exe = seep_xstrdup(job->image.exe);
	other->file = seep_xstrdup(seep_path_base(job->output));
	if (job->leak_verdicts & SEEP_LEAK_KINDS)
		seep_texts_take(&result->leaky, seep_xstrdup(job->output));
	if (job->has_findings)
		seep_texts_take(&result->misused, seep_xstrdup(job->output));
	result->unscanned_count += job->unscanned;
}

void seep_recorder_find_lead(struct seep_recorder_result *result)
{
	uint64_t peak_bytes = result->profile ? result->profile->totals.peak_bytes : 0;
	const char *file = NULL;

	for (size_t i = 0; i < result->other_count; i++)
		if (result->others[i].peak_bytes > peak_bytes) {
			peak_bytes = result->others[i].peak_bytes;
			file = result->others[i].file;
		}
	if (!file)
		return;
	result->lead_path = seep_xasprintf("%s/%s", result->folder, file);
	(void)!seep_recording_load(result->lead_path, &result->lead, NULL);
}

void seep_recorder_result_done(struct seep_recorder_result *result)
{
	seep_profile_free(result->profile);
	seep_profile_free(result->lead);
	free(result->lead_path);
	free(result->folder);
	for (size_t i = 0; i < result->other_count; i++) {
		free(result->others[i].exe);
		free(result->others[i].file);
	}
	free(result->others);
	seep_texts_done(&result->leaky);
	seep_texts_done(&result->misused);
	seep_texts_done(&result->left);
	seep_texts_done(&result->problems);
	seep_texts_done(&result->notes);
	seep_texts_done(&result->unrecorded);
	*result = (struct seep_recorder_result){ 0 };
}

/* A process that begins or ends. */
struct turn {
	uint64_t at_ns;
	uint64_t peak_bytes;
	bool ends;
};

/* One that ends makes way for one that begins: a process by exec, or a script its next child. */
static int compare_turns(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (b->ends > a->ends) - (b->ends < a->ends);
}

static void add_turns(struct turn *turns, const struct seep_profile_other *share)
{
	const uint64_t end_ns = share->end_ns > share->start_ns ? share->end_ns : UINT64_MAX;

	turns[0] = (struct turn){ share->start_ns, share->peak_bytes, false };
	turns[1] = (struct turn){ end_ns, share->peak_bytes, true };
}

static uint64_t peaks_at_once(const struct seep_profile_other *own,
			      const struct seep_profile_other *others, uint32_t count)
{
	SEEP_FREED struct turn *turns = seep_xcalloc((size_t)count + 1, 2 * sizeof(*turns));
	uint64_t now_bytes = 0, most_bytes = 0;

	add_turns(turns, own);
	for (uint32_t i = 0; i < count; i++)
		add_turns(turns + 2 * ((size_t)i + 1), &others[i]);
	qsort(turns, 2 * ((size_t)count + 1), sizeof(*turns), compare_turns);
	for (size_t i = 0; i < 2 * ((size_t)count + 1); i++) {
		if (turns[i].ends)
			now_bytes -= turns[i].peak_bytes;
		else
			now_bytes += turns[i].peak_bytes;
		most_bytes = core_larger(most_bytes, now_bytes);
	}
	return most_bytes;
}

static void add_share(struct seep_profile_run *run, const struct seep_profile_other *share)
{
	const struct seep_profile_forked figures = seep_forked_of(share);

	seep_forked_add(&run->sums, &figures);
	/* Where that is more than a recording can hold it is left out. */
	(void)seep_ledger_add(&run->peaks_bytes, share->peak_bytes);
}

void seep_run_sum(struct seep_profile *profile, const struct seep_profile_other *others,
		  uint32_t count, const struct seep_profile_forked *forked)
{
	const struct seep_profile_other own = seep_profile_share(profile);
	struct seep_profile_run *run = &profile->run;

	if (count == 0 && forked->processes == 0)
		return;
	profile->others = seep_profile_calloc(profile, count, sizeof(*profile->others));
	profile->other_count = count;
	run->sums = *forked;
	add_share(run, &own);
	for (uint32_t i = 0; i < count; i++) {
		profile->others[i] = others[i];
		profile->others[i].exe = seep_profile_strdup(profile, others[i].exe);
		profile->others[i].file = seep_profile_strdup(profile, others[i].file);
		add_share(run, &others[i]);
	}
	/* The sum may be less, of figures that no process has. */
	run->peaks_at_once_bytes = core_smaller(peaks_at_once(&own, others, count),
						run->peaks_bytes);
}

char *seep_run_unrecorded(const struct seep_recorder_result *run)
{
	const size_t count = run->unrecorded_count;
	SEEP_FREED char *programs = NULL;

	if (count == 0)
		return NULL;
	programs = seep_texts_join(&run->unrecorded, "; ", PROGRAMS_MAX);
	return seep_xasprintf("%zu process%s without a recording called exec: %s", count,
			      count == 1 ? "" : "es", programs);
}

void seep_run_explain(struct seep_profile *profile, const struct seep_recorder_result *run)
{
	SEEP_FREED char *unrecorded = seep_run_unrecorded(run);

	if (unrecorded)
		seep_profile_add_unseen(profile, "exec-unrecorded", "%s", unrecorded);
	if (run->unwritten_count)
		seep_profile_add_unseen(profile, "run-incomplete",
					"the sums of all processes are without %zu whose recording "
					"could not be written",
					run->unwritten_count);
	if (run->left.count)
		seep_profile_add_unseen(
			profile, "run-incomplete",
			"the sums of all processes are without %zu that went on running",
			run->left.count);
}
