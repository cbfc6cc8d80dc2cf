/* SPDX-License-Identifier: MIT */
#include "recorder/attached.h"

#include "base/clock.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/release.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "recorder/finish.h"
#include "recorder/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What no descriptor tells is looked at so often. */
enum { LOOK_MS = 500 };

/* The caller has blocked them. */
static int open_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGHUP);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

enum end {
	END_OF_PROCESS,
	END_OF_TIME, /* it is to be left */
	LEFT_BY_OTHERS,
};

static enum end wait_for_end(pid_t pid, uint64_t for_ns, const struct ledger_state *state)
{
	const uint64_t until_ns = for_ns ? seep_monotonic_ns() + for_ns : UINT64_MAX;
	SEEP_CLOSED int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	SEEP_CLOSED int signals = open_signals();
	struct pollfd polls[] = { { .fd = pidfd, .events = POLLIN },
				  { .fd = signals, .events = POLLIN } };

	while (!polls[0].revents && !polls[1].revents) {
		const uint64_t now_ns = seep_monotonic_ns();
		const uint64_t left_ms = (core_larger(until_ns, now_ns) - now_ns) / SEEP_NS_PER_MS;

		if (now_ns >= until_ns)
			return END_OF_TIME;
		if (pidfd < 0 && !seep_procfs_alive((uint32_t)pid, 0))
			return END_OF_PROCESS;
		if (LEDGER_GET(state->ended) == LEDGER_ENDED_DETACH)
			return LEFT_BY_OTHERS;
		(void)poll(polls, 2, (int)core_smaller(left_ms + 1, LOOK_MS));
	}
	return polls[0].revents ? END_OF_PROCESS : END_OF_TIME;
}

/* What a live process has lost is found while it is still recorded. */
static void leave(const struct seep_attached_plan *plan, pid_t pid,
		  const struct seep_ledger *ledger, struct seep_watch_result *gathered,
		  struct seep_attached_result *result)
{
	const struct seep_leak_check_plan *check = plan->recorder.leak_check;

	if (check)
		(void)!seep_leak_check_scan(ledger, (uint32_t)pid, SEEP_SCAN_LIVE, check,
					    &gathered->leak_scan, &gathered->no_leak_scan);
	if (seep_detach(pid, plan->attach, &result->detach, &result->not_left) < 0 &&
	    !seep_procfs_alive((uint32_t)pid, 0)) {
		result->ended = true;
		result->not_left.code = 0;
	}
}

/* @path: of the ledger, in the folder @folder_fd. @stays: its process goes on in it. */
static int write_recording(const struct seep_recorder_plan *plan, const char *path, int folder_fd,
			   struct seep_watch_result *gathered, bool stays,
			   struct seep_profile **ret_profile, struct seep_error *err)
{
	/* By a path the folder cannot be reached when the process has ended. */
	struct seep_procfs_path folder = seep_procfs_fd(folder_fd);
	SEEP_FREED char *file_name = seep_xstrdup(seep_path_base(path));
	struct seep_recorder_plan here = *plan;
	struct seep_finish_job job = {
		.plan = &here,
		.image.file_name = file_name,
		.image.gathered = *gathered,
		.output = plan->output,
		.output_fd = AT_FDCWD,
		.snapshot = stays,
		.keep_small = true,
		.keep_profile = true,
	};

	here.ledger_dir = folder.text;
	here.ledger_dir_fd = folder_fd;
	seep_finish(&job);
	*ret_profile = job.profile;
	if (job.err.code)
		*err = job.err;
	return -job.err.code;
}

/* The folder of the ledger that the process knows by @ledger, whatever that says: below its root. */
static int open_folder(pid_t pid, const char *ledger)
{
	SEEP_CLOSED int root = open(seep_procfs_path(pid, "root").text, O_PATH | O_CLOEXEC);
	SEEP_FREED char *folder = seep_path_folder(ledger);

	return seep_procfs_open_below(root, folder, O_RDONLY | O_DIRECTORY, 0);
}

/* And that it is the ledger of this process, not one that it says is. */
static int open_ledger(pid_t pid, int folder_fd, const char *ledger, struct seep_ledger *ret_ledger,
		       struct seep_error *err)
{
	struct seep_procfs_status status = { 0 };
	int rc = seep_ledger_open(folder_fd, seep_path_base(ledger), SEEP_LEDGER_WRITE, ret_ledger,
				  err);

	if (rc < 0 || (seep_procfs_status((uint32_t)pid, &status) &&
		       status.own_pid == ret_ledger->view.header.pid))
		return rc;
	seep_ledger_close(ret_ledger);
	return seep_fail(err, SEEP_EREFUSED, "%s is not the ledger of process %d", ledger, pid);
}

int seep_attached_save(const struct seep_recorder_plan *plan, pid_t pid, const char *ledger,
		       struct seep_profile **ret_profile, struct seep_error *err)
{
	struct seep_watch_result gathered = { .perf_map_fd = -1 };
	SEEP_CLOSED int folder_fd = open_folder(pid, ledger);
	struct seep_ledger opened = { .fd = -1 };
	int rc = open_ledger(pid, folder_fd, ledger, &opened, err);

	if (rc < 0)
		return rc;
	seep_ledger_close(&opened);
	return write_recording(plan, ledger, folder_fd, &gathered, false, ret_profile, err);
}

int seep_attached_record(const struct seep_attached_plan *plan, pid_t pid, const char *ledger,
			 struct seep_attached_result *ret_result, struct seep_error *err)
{
	SEEP_CLOSED int folder_fd = open_folder(pid, ledger);
	struct seep_watch_result gathered = { 0 }, scanned = { 0 };
	struct seep_ledger opened = { .fd = -1 };
	struct seep_watch *watch;
	enum end end = END_OF_TIME;
	int rc = open_ledger(pid, folder_fd, ledger, &opened, err);

	*ret_result = (struct seep_attached_result){ 0 };
	if (rc < 0)
		return rc;
	watch = seep_watch_new(&opened, true, plan->recorder.leak_check,
			       plan->recorder.growth_after_ns);
	rc = seep_watch_follow(watch, err);
	if (rc == 0)
		end = wait_for_end(pid, plan->for_ns, seep_watch_ledger(watch)->state);
	ret_result->ended = rc == 0 && end == END_OF_PROCESS;
	if (rc == 0 && end == END_OF_TIME)
		leave(plan, pid, seep_watch_ledger(watch), &scanned, ret_result);
	seep_watch_stop(watch, ret_result->ended, &gathered);
	if (!ret_result->ended) {
		gathered.leak_scan = scanned.leak_scan;
		gathered.no_leak_scan = scanned.no_leak_scan;
	}
	if (rc == 0)
		rc = write_recording(&plan->recorder, ledger, folder_fd, &gathered,
				     ret_result->not_left.code != 0, &ret_result->profile, err);
	seep_watch_result_done(&gathered);
	return rc;
}
