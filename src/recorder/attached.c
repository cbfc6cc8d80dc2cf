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

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One that no descriptor tells of is looked at so often. */
enum { LOOK_MS = 500 };

static int open_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Returns whether the process has ended; else it is to be left. */
static bool wait_for_end(pid_t pid, uint64_t for_ns)
{
	const uint64_t until_ns = for_ns ? seep_monotonic_ns() + for_ns : UINT64_MAX;
	SEEP_CLOSED int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	SEEP_CLOSED int signals = open_signals();
	struct pollfd polls[] = { { .fd = pidfd, .events = POLLIN },
				  { .fd = signals, .events = POLLIN } };

	while (!polls[0].revents && !polls[1].revents) {
		const uint64_t now_ns = seep_monotonic_ns();
		uint64_t left_ms = (core_larger(until_ns, now_ns) - now_ns) / SEEP_NS_PER_MS;

		if (now_ns >= until_ns)
			return false;
		if (pidfd < 0 && !seep_procfs_alive((uint32_t)pid, 0))
			return true;
		if (pidfd < 0)
			left_ms = core_smaller(left_ms, LOOK_MS);
		(void)poll(polls, 2, (int)core_smaller(left_ms + 1, INT_MAX));
	}
	return polls[0].revents != 0;
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

/* @gathered: NULL: nothing. @stays: its process goes on in it. */
static int write_recording(const struct seep_recorder_plan *plan, const char *path, int folder_fd,
			   struct seep_watch_result *gathered, bool stays,
			   struct seep_profile **ret_profile, struct seep_error *err)
{
	/* By a path the folder cannot be reached when the process has ended. */
	SEEP_FREED char *folder = seep_xasprintf("/proc/self/fd/%d", folder_fd);
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

	here.ledger_dir = folder;
	here.ledger_dir_fd = folder_fd;
	seep_finish(&job);
	*ret_profile = job.profile;
	if (job.err.code)
		*err = job.err;
	return -job.err.code;
}

/* Of the ledger that the process knows by @ledger; it is reached as long as the process lives. */
static char *path_of(pid_t pid, const char *ledger, int *ret_folder_fd)
{
	char *path = seep_xasprintf("/proc/%d/root%s", pid, ledger);
	SEEP_FREED char *folder = seep_path_folder(path);

	*ret_folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return path;
}

int seep_attached_save(const struct seep_recorder_plan *plan, pid_t pid, const char *ledger,
		       struct seep_profile **ret_profile, struct seep_error *err)
{
	struct seep_watch_result gathered = { .perf_map_fd = -1 };
	SEEP_CLOSED int folder_fd = -1;
	SEEP_FREED char *path = path_of(pid, ledger, &folder_fd);

	return write_recording(plan, path, folder_fd, &gathered, false, ret_profile, err);
}

int seep_attached_record(const struct seep_attached_plan *plan, pid_t pid, const char *ledger,
			 struct seep_attached_result *ret_result, struct seep_error *err)
{
	SEEP_CLOSED int folder_fd = -1;
	SEEP_FREED char *path = path_of(pid, ledger, &folder_fd);
	struct seep_watch_result gathered = { 0 }, scanned = { 0 };
	struct seep_ledger opened = { .fd = -1 };
	struct seep_watch *watch;
	int rc = seep_ledger_open(AT_FDCWD, path, SEEP_LEDGER_WRITE, &opened, err);

	*ret_result = (struct seep_attached_result){ 0 };
	if (rc < 0)
		return rc;
	watch = seep_watch_new(&opened, true, plan->recorder.leak_check,
			       plan->recorder.growth_after_ns);
	rc = seep_watch_follow(watch, err);
	ret_result->ended = rc == 0 && wait_for_end(pid, plan->for_ns);
	if (rc == 0 && !ret_result->ended)
		leave(plan, pid, seep_watch_ledger(watch), &scanned, ret_result);
	seep_watch_stop(watch, ret_result->ended, &gathered);
	if (!ret_result->ended) {
		gathered.leak_scan = scanned.leak_scan;
		gathered.no_leak_scan = scanned.no_leak_scan;
	}
	if (rc == 0)
		rc = write_recording(&plan->recorder, path, folder_fd, &gathered,
				     ret_result->not_left.code != 0, &ret_result->profile, err);
	seep_watch_result_done(&gathered);
	return rc;
}
