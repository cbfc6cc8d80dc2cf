/* SPDX-License-Identifier: MIT */
#include "recorder/recorder.h"

#include "base/clock.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/ledger_figure.h"
#include "recorder/finish.h"
#include "recorder/outname.h"
#include "recorder/run_signals.h"
#include "recorder/session.h"
#include "recorder/snapshots.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	FALLBACK_POLL_MS = 100, /* where an event has no descriptor */
	INOTIFY_BUFFER_BYTES = 16 * 1024,
	LOOK_AGAIN_MS = 500, /* for forked children whose ledgers have no name yet, and to say so */
	UNRECORDED_MAX = 100, /* programs that are told apart */
};

/* Less than this apart, signals that ask to end are one wish. */
#define INTERRUPT_APART_NS SEEP_NS_PER_S

struct seep_recorder {
	struct seep_recorder_plan plan;
	struct seep_session session;
	struct seep_finisher *finisher;
	struct seep_snapshots *snapshots;
	struct seep_run_signals signals;
	int inotify_fd; /* -1: the folder is read again and again instead */
	pid_t main_pid;
	bool main_ended;
	uint64_t look_again_ns;	 /* in the folder, if it has changed since */
	uint64_t grace_ends_ns;	 /* once main_ended */
	uint64_t interrupted_ns; /* while recordings were written; 0: not */
	struct seep_recorder_result *result;
	int output_fd; /* the folder of FILE, as it was when the program began */
	char *folder;  /* for recordings of other processes */
};

static bool is_taken(const struct seep_recorder *recorder, const char *output)
{
	for (const struct seep_image *image = recorder->session.images; image; image = image->next)
		if (image->output && strcmp(image->output, output) == 0)
			return true;
	return access(output, F_OK) == 0;
}

/* The folder is ours: a name is taken by a process that ran the same program under the same pid. */
static const char *settled_output(struct seep_recorder *recorder, struct seep_image *image)
{
	char *output = NULL;

	for (unsigned number = 1; !image->output && number < UINT_MAX; number++) {
		output = seep_outname_child(recorder->folder, image->pid, image->exe, number);
		if (!is_taken(recorder, output))
			image->output = output;
		else
			free(output);
	}
	return image->output;
}

/* @is_file: of the recording that FILE is. */
static struct seep_finish_job new_job(struct seep_recorder *recorder, struct seep_image *image,
				      bool is_file)
{
	const struct seep_recorder_plan *plan = &recorder->plan;

	return (struct seep_finish_job){
		.plan = plan,
		.image = *image,
		.output = is_file ? plan->output : settled_output(recorder, image),
		.output_fd = recorder->output_fd,
		.folder = is_file ? NULL : recorder->folder,
		.keep_small = is_file || !image->is_fork || plan->follow_exe,
		.keep_profile = is_file || plan->grown,
		.owner = image,
	};
}

static struct seep_finish_job *last_job(struct seep_recorder *recorder, struct seep_image *image)
{
	const bool is_file = image == seep_session_main(&recorder->session);
	struct seep_finish_job job = new_job(recorder, image, is_file);

	job.run = is_file ? recorder->result : NULL;
	return seep_xmemdup(&job, sizeof(job));
}

/* Not followed: nothing to write, only the ledger to remove. */
static void drop_image(struct seep_recorder *recorder, struct seep_image *image)
{
	if (!image->keep_ledger)
		(void)seep_ledger_remove(recorder->plan.ledger_dir_fd, image->file_name);
	seep_session_close(&recorder->session, image, false, false);
}

static void hand_over(struct seep_recorder *recorder)
{
	struct seep_image *image;

	/* What is still to be met may be a child, or what a process became by exec. */
	if (recorder->session.is_behind && !recorder->session.is_closing)
		return;
	while (seep_finisher_has_room() && (image = seep_session_next(&recorder->session))) {
		if (!image->followed) {
			drop_image(recorder, image);
			continue;
		}
		image->state = SEEP_IMAGE_FINISHING;
		seep_finisher_put(recorder->finisher, last_job(recorder, image));
	}
}

/*
 * Of what lives now and is the main program's or will have a recording of its own. Where something
 * grows, only its names are looked up.
 */
static void take_snapshots(struct seep_recorder *recorder)
{
	const bool due = !recorder->main_ended && seep_snapshots_due(recorder->snapshots);

	for (struct seep_image *image = recorder->session.images; image; image = image->next) {
		struct seep_finish_job like, *job;

		if (image->state != SEEP_IMAGE_LIVE || !image->watch || image->left ||
		    !(due || (recorder->plan.grown && seep_watch_has_grown(image->watch))))
			continue;
		like = new_job(recorder, image, image->is_main);
		job = seep_snapshots_begin(recorder->snapshots, &like, due);
		if (job)
			seep_finisher_put(recorder->finisher, job);
	}
}

/* No recording says so. */
static void add_unrecorded(struct seep_recorder_result *result, const struct seep_image *image)
{
	char *text = seep_successor_text(&image->gathered.successor);

	result->unrecorded_count++;
	if (seep_texts_have(&result->unrecorded, text) ||
	    result->unrecorded.count >= UNRECORDED_MAX)
		free(text);
	else
		seep_texts_take(&result->unrecorded, text);
}

static void collect(struct seep_recorder *recorder, struct seep_finish_job *job)
{
	struct seep_recorder_result *result = recorder->result;
	struct seep_image *image = job->owner;
	const bool failed = job->err.code != 0, recorded = job->recorded;

	if (failed) {
		seep_texts_take(&result->problems, seep_xstrdup(job->err.text));
		result->unwritten_count++;
	}
	if (job->became_unrecorded && !recorded && !failed)
		add_unrecorded(result, image);
	result->leak_verdicts |= job->leak_verdicts;
	result->has_findings |= job->has_findings;
	result->stop_allocs = core_larger(result->stop_allocs, job->stop_allocs);
	result->growing_count += image->gathered.growth.growing_count;
	if (job->run) {
		result->profile = job->profile;
		result->recorded = recorded;
	} else if (recorded) {
		seep_recorder_add_other(result, job);
		seep_forked_add(&result->small_forks, &job->forked);
	} else if (!failed && !job->is_summed) {
		struct seep_profile_forked small = seep_forked_of(&job->share);

		seep_forked_add(&small, &job->forked);
		seep_forked_add(&result->small_forks, &small);
		seep_forked_add(&image->forked, &small);
	}
	if (!job->run)
		seep_profile_free(job->profile);
	free(job);
	seep_session_close(&recorder->session, image, recorded, failed || image->keep_ledger);
}

static void collect_done(struct seep_recorder *recorder)
{
	struct seep_finish_job *job;

	while ((job = seep_finisher_take(recorder->finisher))) {
		if (recorder->plan.grown && job->profile && job->profile->growth_after_ns)
			recorder->plan.grown(recorder->plan.user, job->profile,
					     &job->image.gathered.growth);
		if (job->snapshot)
			seep_snapshots_end(recorder->snapshots, job);
		else
			collect(recorder, job);
	}
}

/* For ledgers without a name, of children that live on or were killed. */
static bool is_time_to_look(struct seep_recorder *recorder)
{
	const uint64_t now = seep_monotonic_ns();

	if (now < recorder->look_again_ns)
		return false;
	recorder->look_again_ns = now + LOOK_AGAIN_MS * SEEP_NS_PER_MS;
	return true;
}

static void read_new_ledgers(struct seep_recorder *recorder)
{
	_Alignas(struct inotify_event) char buffer[INOTIFY_BUFFER_BYTES];
	ssize_t bytes;

	if (recorder->inotify_fd < 0 || recorder->session.is_behind || is_time_to_look(recorder))
		seep_session_scan(&recorder->session);
	while (recorder->inotify_fd >= 0 &&
	       (bytes = read(recorder->inotify_fd, buffer, sizeof(buffer))) > 0) {
		for (ssize_t at = 0; at < bytes;) {
			const struct inotify_event *event = (const void *)(buffer + at);

			if (event->mask & IN_Q_OVERFLOW)
				seep_session_scan(&recorder->session);
			else if (event->len > 0)
				seep_session_meet(&recorder->session, event->name);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
}

static void reap(struct seep_recorder *recorder)
{
	pid_t pid;
	int status;

	while ((pid = seep_run_signals_next_dead(recorder->main_pid)) > 0) {
		seep_session_dying(&recorder->session, (uint32_t)pid);
		if (waitpid(pid, &status, WNOHANG | __WNOTHREAD) != pid)
			continue;
		if (pid == recorder->main_pid) {
			recorder->main_ended = true;
			recorder->result->wait_status = status;
			recorder->grace_ends_ns = seep_monotonic_ns() +
						  SEEP_RECORDER_GRACE_MS * SEEP_NS_PER_MS;
		}
		seep_session_ended(&recorder->session, (uint32_t)pid, status);
	}
}

static void bury_the_dead(struct seep_recorder *recorder)
{
	seep_session_look(&recorder->session);
	reap(recorder);
	seep_session_bury(&recorder->session);
}

static int poll_timeout_ms(struct seep_recorder *recorder, bool silent_images)
{
	const uint64_t now = seep_monotonic_ns();
	uint64_t next = seep_session_follow(&recorder->session, now);

	next = core_smaller(next, recorder->main_ended
					  ? recorder->grace_ends_ns
					  : seep_snapshots_next_ns(recorder->snapshots));
	if (silent_images || recorder->inotify_fd < 0 || recorder->session.is_behind ||
	    recorder->session.waits_for_small || recorder->plan.grown)
		next = core_smaller(next, now + FALLBACK_POLL_MS * SEEP_NS_PER_MS);
	if (recorder->plan.follow)
		next = core_smaller(next, recorder->look_again_ns);
	if (next == UINT64_MAX)
		return -1;
	return next > now ? (int)core_smaller((next - now) / SEEP_NS_PER_MS + 1, INT_MAX) : 1;
}

static void wait_for_events(struct seep_recorder *recorder)
{
	SEEP_FREED struct pollfd *polls = NULL;
	size_t count = 0;
	bool silent = false;

	*SEEP_APPEND(polls, count) = (struct pollfd){ .fd = recorder->signals.fd,
						      .events = POLLIN };
	*SEEP_APPEND(polls, count) = (struct pollfd){ .fd = recorder->inotify_fd,
						      .events = POLLIN };
	*SEEP_APPEND(polls, count) = (struct pollfd){ .fd = seep_finisher_fd(recorder->finisher),
						      .events = POLLIN };
	for (struct seep_image *image = recorder->session.images; image; image = image->next) {
		if (image->state != SEEP_IMAGE_LIVE)
			continue;
		silent |= image->pidfd < 0;
		if (image->pidfd >= 0)
			*SEEP_APPEND(polls, count) = (struct pollfd){ .fd = image->pidfd,
								      .events = POLLIN };
	}
	(void)poll(polls, count, poll_timeout_ms(recorder, silent));
}

/* Signals for the target while it lives; afterwards they mean: do not wait for the others. */
static void handle_signals(struct seep_recorder *recorder)
{
	bool interrupted = seep_run_signals_pass_on(&recorder->signals,
						    recorder->main_ended ? 0 : recorder->main_pid);

	if (interrupted && recorder->main_ended)
		recorder->grace_ends_ns = 0;
}

/*
 * As a subreaper we are the parent of all that the main program has left behind, also of a process
 * so young that it has no ledger yet.
 */
static bool has_descendants(const struct seep_recorder *recorder)
{
	siginfo_t info;

	if (seep_session_live(&recorder->session) > 0)
		return true;
	return recorder->plan.follow &&
	       waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WNOTHREAD) == 0;
}

static bool goes_on(const struct seep_recorder *recorder)
{
	if (!recorder->main_ended)
		return true;
	return seep_monotonic_ns() < recorder->grace_ends_ns && has_descendants(recorder);
}

static void leave_the_living(struct seep_recorder *recorder)
{
	struct seep_session *session = &recorder->session;

	for (struct seep_image *image = session->images; image; image = image->next) {
		if (image->state != SEEP_IMAGE_LIVE || image->left)
			continue;
		seep_session_leave(session, image);
		recorder->result->growing_count += image->gathered.growth.growing_count;
		if (image->followed)
			seep_texts_add(&recorder->result->left, "%u   # %s", image->pid,
				       image->exe);
	}
}

/* Nobody is waited for any more: what had to wait for descriptors has them now. */
static void meet_the_rest(struct seep_recorder *recorder)
{
	struct seep_session *session = &recorder->session;
	const struct seep_image *newest;
	struct stat st;

	session->is_closing = true;
	do {
		newest = session->images;
		seep_session_scan(&recorder->session);
		bury_the_dead(recorder);
		seep_session_bury_elsewhere(session);
		leave_the_living(recorder);
	} while (session->is_behind && session->images != newest);
	if (fstat(recorder->plan.ledger_dir_fd, &st) == 0 && st.st_nlink == 0)
		seep_texts_add(&recorder->result->problems,
			       "the folder of ledgers, %s, was removed: nothing was "
			       "recorded for processes that started later",
			       recorder->plan.ledger_dir);
	if (session->is_behind)
		seep_texts_add(&recorder->result->problems,
			       "some processes may have no recording, only a ledger in %s "
			       "(%s); \"seep ps\" lists them",
			       recorder->plan.ledger_dir, session->why.text);
}

/*
 * A terminal that is closed or a service manager sends several signals: those within a second are
 * one. The first only ends what a recording can do without. Returns false on the next.
 */
static bool wait_for_writer(struct seep_recorder *recorder)
{
	struct pollfd polls[] = {
		{ .fd = seep_finisher_fd(recorder->finisher), .events = POLLIN },
		{ .fd = recorder->signals.fd, .events = POLLIN },
	};
	uint64_t now;

	(void)poll(polls, sizeof(polls) / sizeof(*polls), LOOK_AGAIN_MS);
	if (!seep_run_signals_pass_on(&recorder->signals, 0))
		return true;
	now = seep_monotonic_ns();
	if (recorder->interrupted_ns)
		return now - recorder->interrupted_ns < INTERRUPT_APART_NS;
	recorder->interrupted_ns = now;
	recorder->plan.on_first_signal();
	seep_work_interrupt();
	return true;
}

/* One that is finished, but not yet taken back, has no ledger any more. */
static void say_interrupted(struct seep_recorder *recorder, const struct seep_image *image)
{
	const struct seep_recorder_plan *plan = &recorder->plan;

	if (!image->followed || image->state == SEEP_IMAGE_LIVE ||
	    faccessat(plan->ledger_dir_fd, image->file_name, F_OK, 0) < 0)
		return;
	seep_texts_add(&recorder->result->problems,
		       "interrupted before the recording of %s (pid %u) was "
		       "complete; the ledger is kept: %s/%s",
		       seep_path_base(image->exe), image->pid, plan->ledger_dir, image->file_name);
}

static void give_up(struct seep_recorder *recorder)
{
	const struct seep_image *main = seep_session_main(&recorder->session);

	seep_finisher_give_up();
	collect_done(recorder);
	recorder->result->gave_up = true;
	for (struct seep_image *image = recorder->session.images; image; image = image->next)
		if (image != main)
			say_interrupted(recorder, image);
	if (main)
		say_interrupted(recorder, main);
}

static size_t count_unwritten(const struct seep_recorder *recorder)
{
	size_t count = 0;

	for (const struct seep_image *image = recorder->session.images; image; image = image->next)
		count += image->followed && image->state != SEEP_IMAGE_LIVE;
	return count;
}

static void close_all(struct seep_recorder *recorder)
{
	struct seep_progress progress;
	bool goes_on = true;

	seep_progress_start(&progress, "writing recordings");
	progress.total = count_unwritten(recorder);
	while (goes_on) {
		collect_done(recorder);
		hand_over(recorder);
		seep_progress_step(&progress, progress.total - count_unwritten(recorder));
		if (seep_finisher_is_idle())
			break;
		goes_on = wait_for_writer(recorder);
	}
	seep_progress_done(&progress);
	if (!goes_on)
		give_up(recorder);
}

static void clear_output(struct seep_recorder *recorder)
{
	size_t kept = seep_outname_clear(recorder->plan.output);

	if (kept)
		seep_texts_add(&recorder->result->notes,
			       "%zu file%s in %s %s kept: not recordings of an earlier run", kept,
			       kept == 1 ? "" : "s", recorder->folder, kept == 1 ? "was" : "were");
}

void seep_recorder_run(struct seep_recorder *recorder, struct seep_recorder_result *ret_result)
{
	*ret_result = (struct seep_recorder_result){ 0 };
	recorder->result = ret_result;
	recorder->session.problems = &ret_result->problems;
	if (recorder->plan.force)
		clear_output(recorder);
	seep_session_find_room(&recorder->session);
	seep_session_scan(&recorder->session);
	while (goes_on(recorder)) {
		wait_for_events(recorder);
		handle_signals(recorder);
		read_new_ledgers(recorder);
		bury_the_dead(recorder);
		collect_done(recorder);
		hand_over(recorder);
		take_snapshots(recorder);
		if (recorder->plan.turn)
			recorder->plan.turn(recorder->plan.user);
	}
	meet_the_rest(recorder);
	seep_run_signals_target_gone(&recorder->signals);
	/* The terminal is ours now. */
	seep_progress_silence(recorder->plan.quiet);
	close_all(recorder);
	/* Otherwise the recorder is released first, which can take as long as reading symbols. */
	if (ret_result->gave_up)
		seep_run_signals_end(&recorder->signals);
	seep_snapshots_result(recorder->snapshots, ret_result);
	if (ret_result->unrecorded_count)
		seep_texts_take(&ret_result->notes, seep_run_unrecorded(ret_result));
	ret_result->folder = recorder->folder;
	recorder->folder = NULL;
	if (!recorder->plan.quiet)
		seep_recorder_find_lead(ret_result);
}

static void open_inotify(struct seep_recorder *recorder)
{
	recorder->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (recorder->inotify_fd < 0)
		return;
	if (inotify_add_watch(recorder->inotify_fd, recorder->plan.ledger_dir, IN_MOVED_TO) < 0) {
		(void)close(recorder->inotify_fd);
		recorder->inotify_fd = -1;
	}
}

/* Its name may lead elsewhere by the end; AT_FDCWD: then it is looked up again. */
static int open_output_folder(const char *output)
{
	SEEP_FREED char *folder = seep_path_folder(output);
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? AT_FDCWD : fd;
}

int seep_recorder_session(uint64_t *ret_session, struct seep_error *err)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return seep_fail(err, SEEP_ESYS, "the system gives no random numbers");
	*ret_session = number << LEDGER_SESSION_PID_BITS | (uint64_t)getpid();
	return 0;
}

int seep_recorder_new(const struct seep_recorder_plan *plan, pid_t main_pid,
		      struct seep_recorder **ret_recorder, struct seep_error *err)
{
	struct seep_recorder *recorder = seep_xcalloc(1, sizeof(*recorder));
	int rc;

	recorder->plan = *plan;
	recorder->main_pid = main_pid;
	recorder->folder = seep_outname_folder(plan->output);
	recorder->output_fd = open_output_folder(plan->output);
	recorder->session = (struct seep_session){
		.plan = &recorder->plan,
		.main_pid = (uint32_t)main_pid,
	};
	open_inotify(recorder);
	/* The program has its own by now. What we make is ours alone. */
	(void)umask(077);
	rc = seep_run_signals_begin(&recorder->signals, main_pid, err);
	if (rc == 0)
		rc = seep_finisher_new(&recorder->finisher, err);
	if (rc < 0) {
		seep_recorder_free(recorder);
		return rc;
	}
	recorder->snapshots = seep_snapshots_new(&recorder->plan);
	/* Daemons of the target come to us instead of to init, so that their status is seen. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	*ret_recorder = recorder;
	return 0;
}

void seep_recorder_free(struct seep_recorder *recorder)
{
	if (!recorder)
		return;
	seep_finisher_free(recorder->finisher);
	seep_snapshots_free(recorder->snapshots);
	seep_session_done(&recorder->session);
	seep_run_signals_end(&recorder->signals);
	if (recorder->inotify_fd >= 0)
		(void)close(recorder->inotify_fd);
	if (recorder->output_fd >= 0)
		(void)close(recorder->output_fd);
	free(recorder->folder);
	free(recorder);
}
