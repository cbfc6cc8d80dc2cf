/* SPDX-License-Identifier: MIT */
#include "profile/ledger_forked.h"
#include "recorder/run_sums.h"

#include "base/xalloc.h"
#include "profile/ledger_figure.h"
#include "recorder/image.h"

#include <stdlib.h>

enum { PROGRAMS_MAX = 3 };

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
	struct turn *turns = seep_xcalloc((size_t)count + 1, 2 * sizeof(*turns));
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
		if (now_bytes > most_bytes)
			most_bytes = now_bytes;
	}
	free(turns);
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
	run->peaks_at_once_bytes = peaks_at_once(&own, others, count);
	/* Of figures that no process has. */
	if (run->peaks_at_once_bytes > run->peaks_bytes)
		run->peaks_at_once_bytes = run->peaks_bytes;
}

char *seep_run_unrecorded(const struct seep_recorder_result *run)
{
	const size_t count = run->unrecorded_count;
	char *programs, *text;

	if (count == 0)
		return NULL;
	programs = seep_texts_join(&run->unrecorded, "; ", PROGRAMS_MAX);
	text = seep_xasprintf("%zu process%s without a recording called exec: %s", count,
			      count == 1 ? "" : "es", programs);
	free(programs);
	return text;
}

void seep_run_explain(struct seep_profile *profile, const struct seep_recorder_result *run)
{
	char *unrecorded = seep_run_unrecorded(run);

	if (unrecorded)
		seep_profile_add_unseen(profile, "exec-unrecorded", "%s", unrecorded);
	free(unrecorded);
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
