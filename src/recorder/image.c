/* SPDX-License-Identifier: MIT */
#include "recorder/image.h"

#include "base/procfs.h"
#include "base/xalloc.h"
#include "profile/process_life.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

struct seep_image *seep_image_new(const struct seep_ledger *ledger)
{
	const struct ledger_header *header = &ledger->view.header;
	struct seep_image *image = seep_xcalloc(1, sizeof(*image));
	uint32_t here = header->pid;
	struct seep_procfs_stat stat;

	image->gathered.perf_map_fd = -1;
	image->file_name = seep_xstrdup(ledger->file_name);
	image->exe = seep_ledger_string(ledger, header->exe);
	image->parent_name = seep_xstrdup(header->parent);
	image->pid = header->pid;
	image->ppid = header->ppid;
	image->created_ns = header->created_ns;
	image->start_ticks = header->start_ticks;
	image->is_fork = header->origin == LEDGER_ORIGIN_FORK;
	if (seep_process_is_elsewhere(header)) {
		here = 0;
		(void)seep_process_life(ledger, &here);
	}
	/* Deaths are told of the pid that it has here. */
	image->reachable = here == header->pid;
	/* Opened first, looked at afterwards: the pid may have passed to another process. */
	image->pidfd = image->reachable ? pidfd_open((pid_t)image->pid, 0) : -1;
	if (image->pidfd >= 0 && !seep_procfs_alive(image->pid, image->start_ticks)) {
		(void)close(image->pidfd);
		image->pidfd = -1;
	}
	/* An exec may enter another time namespace, where its ledger counts otherwise. */
	if (image->pidfd >= 0 && seep_procfs_stat(image->pid, &stat))
		image->start_ticks = stat.start_ticks;
	return image;
}

void seep_image_free(struct seep_image *image)
{
	if (!image)
		return;
	if (image->watch)
		seep_watch_stop(image->watch, true, &image->gathered);
	seep_watch_result_done(&image->gathered);
	if (image->pidfd >= 0)
		(void)close(image->pidfd);
	free(image->file_name);
	free(image->exe);
	free(image->parent_name);
	free(image->output);
	free(image->children);
	free(image);
}

void seep_image_add_child(struct seep_image *image, uint32_t pid)
{
	for (size_t i = 0; i < image->child_count; i++)
		if (image->children[i] == pid)
			return;
	*SEEP_APPEND(image->children, image->child_count) = pid;
}

struct seep_profile_forked seep_forked_of(const struct seep_profile_other *share)
{
	return (struct seep_profile_forked){
		.processes = 1,
		.allocs = share->allocs,
		.alloc_bytes = share->alloc_bytes,
		.frees = share->frees,
		.freed_bytes = share->freed_bytes,
		.live_bytes = share->live_bytes,
	};
}

static bool says(const struct seep_image *image, enum ledger_ended ended)
{
	return image->watch && LEDGER_GET(seep_watch_ledger(image->watch)->state->ended) == ended;
}

bool seep_image_is_gone(const struct seep_image *image)
{
	struct pollfd poll_fd = { .fd = image->pidfd, .events = POLLIN };

	if (image->replaced || says(image, LEDGER_ENDED_DETACH))
		return true;
	if (!image->reachable)
		return false;
	if (image->pidfd >= 0)
		return poll(&poll_fd, 1, 0) == 1;
	return !seep_procfs_alive(image->pid, image->start_ticks);
}

bool seep_image_says_ended(const struct seep_image *image)
{
	return !image->reachable &&
	       (says(image, LEDGER_ENDED_EXIT) || says(image, LEDGER_ENDED_ABORT));
}
