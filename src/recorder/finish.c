/* SPDX-License-Identifier: MIT */
#include "recorder/finish.h"

#include "analysis/keep.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "profile/context_hash.h"
#include "profile/counted.h"
#include "profile/ledger_figure.h"
#include "profile/ledger_load.h"
#include "profile/symbolise.h"
#include "recorder/leak_check.h"
#include "recorder/ledger_control.h"
#include "recorder/outside.h"
#include "profile/ledger_file.h"
#include "recorder/successor.h"
#include "recording/recording.h"
#include "symbol/symbol.h"
#include "target/reasons.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Symbols are shared by the jobs of a build that runs one compiler, but not kept for ever. */
enum { JOBS_PER_SYMBOLS = 512 };

/* Far fewer than a connection holds, so that neither end ever waits for room. */
enum { UNDER_WAY_MAX = 64 };

static _Atomic size_t under_way; /* counted by the thread that puts and takes */

struct seep_finisher {
	pthread_t thread;
	/* Ends of one connection, which passes pointers to jobs there and back in order. */
	int fd;
	int thread_fd;

	struct seep_symbols *symbols; /* the thread's own */
	unsigned symbol_jobs;
};

static void set_end(struct seep_profile_process *process, const struct seep_image *image)
{
	const int status = image->has_status ? image->wait_status : image->gathered.death;

	if (image->replaced) {
		process->ended = SEEP_ENDED_EXEC;
		return;
	}
	/* A program that could not be recorded took its place: the status is that program's. */
	if ((!image->has_status && !status) || process->ended == SEEP_ENDED_EXEC ||
	    process->ended == SEEP_ENDED_DETACHED)
		return;
	process->has_status = true;
	if (WIFSIGNALED(status)) {
		process->ended = SEEP_ENDED_SIGNAL;
		process->status_signal = WTERMSIG(status);
		process->core_dumped = WCOREDUMP(status);
	} else {
		process->ended = SEEP_ENDED_EXIT;
		process->status_code = WEXITSTATUS(status);
	}
}

static void add_sample(struct seep_profile *profile, const struct seep_profile_sample *sample)
{
	*(struct seep_profile_sample *)seep_profile_add(profile, SEEP_ARRAY_SAMPLES) = *sample;
}

static void add_outside_view(struct seep_profile *profile, const struct seep_image *image)
{
	const struct seep_timeline *timeline = &image->gathered.timeline;
	struct seep_profile_process *process = &profile->process;
	struct seep_profile_totals *totals = &profile->totals;

	set_end(process, image);
	for (size_t i = 0; i < image->child_count; i++)
		*(uint32_t *)seep_profile_add(profile, SEEP_ARRAY_CHILDREN) = image->children[i];
	for (uint32_t i = 0; i < timeline->count; i++)
		add_sample(profile, &timeline->samples[i]);
	seep_forked_add(&profile->forked, &image->forked);
	(void)seep_ledger_add(&totals->unrecorded_children, image->forked.unrecorded);
	seep_profile_say_unrecorded(profile);
	process->peak_rss_bytes = image->gathered.peak_rss_bytes;
	if (process->end_ns == 0 && timeline->count && process->ended != SEEP_ENDED_RUNNING)
		process->end_ns = timeline->samples[timeline->count - 1].at_ns;
	/* The peak was the last state of a process that could not say when it ended. */
	if (totals->peak_at_ns == 0 && totals->live_bytes > 0 &&
	    totals->peak_bytes == totals->live_bytes)
		totals->peak_at_ns = process->end_ns;
	seep_outside_explain(&image->gathered.outside, profile);
}

static int name_frames(const struct seep_finish_job *job, struct seep_profile *profile,
		       struct seep_symbols **symbols, struct seep_error *err)
{
	int rc = 0;

	if (!*symbols)
		rc = seep_symbols_new(job->plan->symbols, symbols, err);
	if (rc == 0)
		rc = seep_profile_symbolise(profile, *symbols, false, NULL, err);
	if (rc == 0 && job->image.gathered.perf_map_fd >= 0)
		rc = seep_profile_name_generated(profile, job->image.gathered.perf_map_fd, err);
	return rc;
}

/* Verdicts need names: suppressions are about them. */
static void add_leaks(const struct seep_finish_job *job, struct seep_profile *profile)
{
	const struct seep_watch_result *gathered = &job->image.gathered;
	const char *signal = profile->process.ended == SEEP_ENDED_SIGNAL
				     ? sigabbrev_np(profile->process.status_signal)
				     : NULL;
	SEEP_FREED char *killed = signal ? seep_xasprintf("it was killed by SIG%s", signal) : NULL;

	if (!job->plan->leak_check || job->snapshot)
		return;
	if (gathered->leak_scan)
		seep_leak_check_fill(profile, gathered->leak_scan, job->plan->leak_check);
	else if (gathered->no_leak_scan.code)
		seep_leak_check_none(profile, gathered->no_leak_scan.text);
	else
		seep_leak_check_none(profile, killed ? killed
					      : profile->process.ended == SEEP_ENDED_DETACHED
						      ? "it was detached from, and goes on"
						      : "it ended before it could be looked at");
}

static void write_recording(struct seep_finish_job *job, struct seep_profile *profile,
			    struct seep_symbols **symbols)
{
	struct seep_error err = { 0 };
	int folder_fd = job->output_fd, rc = 0;

	/* A recording with addresses only is worth more than none. */
	if (name_frames(job, profile, symbols, &err) < 0)
		seep_profile_add_unseen(profile, "names", "no names were looked up: %s", err.text);
	seep_profile_hash_contexts(profile);
	seep_growth_fill(&job->image.gathered.growth, profile);
	if (!job->output)
		return;
	add_leaks(job, profile);
	/* A scan's verdicts have come to findings, too. */
	if (!profile->scan.done && profile->finding_count > 0 && job->plan->suppress &&
	    seep_leak_check_suppress(profile, job->plan->suppress, &err) < 0)
		seep_profile_add_unseen(profile, "suppressions", "no heap error was suppressed: %s",
					err.text);
	/* Whether or not they can be written down. */
	job->leak_verdicts = seep_leak_check_verdicts(profile);
	job->has_findings = seep_findings_count(profile) > 0;
	if (job->plan->stop_hash)
		job->stop_allocs = seep_profile_stack_allocs(profile, job->plan->stop_hash);
	if (job->folder)
		rc = seep_folder_open_own(job->output_fd, job->folder, &folder_fd, &job->err);
	if (rc == 0)
		rc = seep_recording_write(folder_fd, job->output, profile, job->plan->force,
					  &job->err);
	if (folder_fd != job->output_fd)
		(void)close(folder_fd);
	if (rc < 0)
		return;
	job->recorded = true;
	job->unscanned = job->plan->leak_check && !profile->scan.done;
}

/* Held for good once the recorder gives up. */
static pthread_mutex_t retiring = PTHREAD_MUTEX_INITIALIZER;

void seep_finisher_give_up(void)
{
	(void)pthread_mutex_lock(&retiring);
}

/* The ledger has served; it stays where others name it or where no recording replaces it. */
static void retire_ledger(const struct seep_finish_job *job)
{
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };

	if (!job->image.keep_ledger &&
	    seep_ledger_remove(job->plan->ledger_dir_fd, job->image.file_name) == 0)
		return;
	if (seep_ledger_open(job->plan->ledger_dir_fd, job->image.file_name, SEEP_LEDGER_WRITE,
			     &ledger, NULL) == 0)
		atomic_store_explicit(&ledger.control->recorder_done, 1, memory_order_release);
}

/* No recording replaces the ledger: who reads why is to find it. */
static void say_where(struct seep_finish_job *job)
{
	size_t used = strlen(job->err.text);

	(void)snprintf(job->err.text + used, sizeof(job->err.text) - used,
		       "; the ledger is kept: %s/%s", job->plan->ledger_dir, job->image.file_name);
}

/* The timeline goes up to the moment of the figures. */
static void add_present(struct seep_profile *profile)
{
	const struct seep_profile_counted counted = seep_profile_counted(profile);
	const uint32_t count = profile->sample_count;
	const struct seep_profile_sample now = {
		.at_ns = seep_monotonic_ns(),
		.live_bytes = profile->totals.live_bytes,
		.rss_bytes = count ? profile->timeline[count - 1].rss_bytes : 0,
		.allocs = counted.allocs,
		.frees = counted.frees,
	};

	add_sample(profile, &now);
}

/* Of forks, a few small allocations are not worth a file; findings are, and why there is no ledger. */
static bool is_worth_a_recording(const struct seep_finish_job *job,
				 const struct seep_profile *profile)
{
	if (job->is_summed || (job->ring && profile->process.ended != SEEP_ENDED_RUNNING))
		return false;
	return job->keep_small || profile->finding_count > 0 ||
	       seep_profile_counted(profile).allocs >= LEDGER_FORK_ALLOCS ||
	       profile->totals.peak_bytes >= LEDGER_FORK_BYTES || seep_profile_is_void(profile);
}

/* The last reading: what is added to its sums afterwards would be nowhere. */
static bool close_sums(const struct seep_finish_job *job)
{
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };

	return job->snapshot ||
	       seep_ledger_open(job->plan->ledger_dir_fd, job->image.file_name, SEEP_LEDGER_WRITE,
				&ledger, NULL) < 0 ||
	       seep_ledger_close_sums(&ledger);
}

static void do_job(struct seep_finish_job *job, struct seep_symbols **symbols)
{
	SEEP_FREED char *path = seep_xasprintf("%s/%s", job->plan->ledger_dir,
					       job->image.file_name);
	const bool closed = close_sums(job);
	struct seep_profile *profile;
	int rc = seep_profile_load_ledger(path, !job->snapshot, &profile, &job->err);

	if (rc < 0) {
		if (job->image.exe)
			seep_error_prefix(&job->err, "%s for %s (pid %u)%s",
					  rc == -SEEP_ESYS ? "no recording was written"
							   : "nothing was recorded",
					  seep_path_base(job->image.exe), job->image.pid,
					  rc == -SEEP_ENOTFOUND ? ": its ledger was removed" : "");
		if (rc == -SEEP_ESYS && !job->snapshot)
			say_where(job);
		return;
	}
	if (!closed)
		seep_profile_add_unseen(profile, "forked-in-doubt",
					"a forked child was stopped or killed while it added its "
					"figures to \"forked\": they may be there in part");
	if (!job->plan->follow)
		profile->forked = (struct seep_profile_forked){ 0 };
	job->forked = profile->forked;
	job->is_summed = profile->is_summed;
	add_outside_view(profile, &job->image);
	job->became_unrecorded = profile->process.ended == SEEP_ENDED_EXEC && !job->image.replaced;
	if (job->became_unrecorded)
		seep_successor_explain(&job->image.gathered.successor, profile);
	if (job->plan->no_argv)
		profile->process.argv = NULL;
	if (profile->process.ended == SEEP_ENDED_RUNNING)
		add_present(profile);
	job->share = seep_profile_share(profile);
	if (job->run) {
		struct seep_profile_forked small = job->run->small_forks;

		seep_forked_add(&small, &job->forked);
		seep_run_sum(profile, job->run->others, (uint32_t)job->run->other_count, &small);
		seep_run_explain(profile, job->run);
	}
	if (is_worth_a_recording(job, profile))
		write_recording(job, profile, symbols);
	if (!job->snapshot && job->err.code == 0) {
		(void)pthread_mutex_lock(&retiring);
		retire_ledger(job);
		(void)pthread_mutex_unlock(&retiring);
	} else if (!job->snapshot) {
		say_where(job);
	}
	seep_keep_allocations(profile);
	if (job->keep_profile)
		job->profile = profile;
	else
		seep_profile_free(profile);
}

void seep_finish(struct seep_finish_job *job)
{
	struct seep_symbols *symbols = NULL;

	do_job(job, &symbols);
	seep_symbols_free(symbols);
}

static void work_on(struct seep_finisher *finisher, struct seep_finish_job *job)
{
	do_job(job, &finisher->symbols);
	/* Small forks, of which a server has millions, use none. */
	if (job->recorded && ++finisher->symbol_jobs % JOBS_PER_SYMBOLS == 0) {
		seep_symbols_free(finisher->symbols);
		finisher->symbols = NULL;
	}
}

static void *finish_jobs(void *argument)
{
	struct seep_finisher *finisher = argument;
	struct seep_finish_job *job;

	while (recv(finisher->thread_fd, &job, sizeof(job), 0) == sizeof(job)) {
		work_on(finisher, job);
		(void)send(finisher->thread_fd, &job, sizeof(job), MSG_NOSIGNAL);
	}
	return NULL;
}

/* Its stack has no room where a program could not be recorded either. */
static int fail_thread(struct seep_error *err, int problem)
{
	struct seep_finding reason;
	SEEP_RELEASED(seep_facts_done) struct seep_facts facts;

	seep_facts_init(&facts);
	seep_facts_look_at_limits(&facts, "self");
	return seep_reasons_first(&facts, &reason)
		       ? seep_fail(err, SEEP_ESYS, "cannot start the recorder's thread: %s; %s",
				   reason.sentence, reason.advice)
		       : seep_fail_errno(err, problem, "cannot start the recorder's thread");
}

int seep_finisher_new(struct seep_finisher **ret_finisher, struct seep_error *err)
{
	struct seep_finisher *finisher = seep_xcalloc(1, sizeof(*finisher));
	sigset_t all, held;
	int ends[2], problem;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		free(finisher);
		return seep_fail_errno(err, errno, "cannot start the recorder");
	}
	finisher->fd = ends[0];
	finisher->thread_fd = ends[1];
	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGBUS); /* base/shared_map.h */
	(void)pthread_sigmask(SIG_SETMASK, &all, &held);
	problem = pthread_create(&finisher->thread, NULL, finish_jobs, finisher);
	(void)pthread_sigmask(SIG_SETMASK, &held, NULL);
	if (problem != 0) {
		(void)close(finisher->fd);
		(void)close(finisher->thread_fd);
		free(finisher);
		return fail_thread(err, problem);
	}
	*ret_finisher = finisher;
	return 0;
}

int seep_finisher_fd(const struct seep_finisher *finisher)
{
	return finisher->fd;
}

bool seep_finisher_has_room(void)
{
	return under_way < UNDER_WAY_MAX;
}

void seep_finisher_put(struct seep_finisher *finisher, struct seep_finish_job *job)
{
	under_way++;
	(void)send(finisher->fd, &job, sizeof(job), 0);
}

struct seep_finish_job *seep_finisher_take(struct seep_finisher *finisher)
{
	struct seep_finish_job *job;

	if (recv(finisher->fd, &job, sizeof(job), MSG_DONTWAIT) != sizeof(job))
		return NULL;
	under_way--;
	return job;
}

bool seep_finisher_is_idle(void)
{
	return under_way == 0;
}

void seep_finisher_free(struct seep_finisher *finisher)
{
	if (!finisher)
		return;
	(void)close(finisher->fd);
	(void)pthread_join(finisher->thread, NULL);
	(void)close(finisher->thread_fd);
	seep_symbols_free(finisher->symbols);
	free(finisher);
}
