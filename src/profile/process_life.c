/* SPDX-License-Identifier: MIT */
#include "profile/process_life.h"

#include "base/maps.h"
#include "base/procfs.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool seep_ledger_is_of_this_boot(const struct ledger_header *header)
{
	static const uint8_t unknown[16];
	uint8_t id[16];

	if (memcmp(header->boot_id, unknown, sizeof(unknown)) == 0)
		return true; /* the start time decides */
	seep_procfs_boot_id(id);
	return memcmp(header->boot_id, id, sizeof(id)) == 0;
}

/* Who owns a ledger wrote it: nobody sends us to a process that is neither his nor ours. */
static bool may_be_of(const struct seep_ledger *ledger, const struct seep_procfs_status *status)
{
	struct stat st;

	return fstat(ledger->fd, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == status->uid ||
					       st.st_uid == status->real_uid);
}

/* Of the process that is @pid here. */
static enum seep_process_life judge(const struct seep_ledger *ledger, uint32_t pid)
{
	const struct ledger_header *header = &ledger->view.header;
	const uint64_t namespace = seep_procfs_pid_namespace(pid);
	struct seep_procfs_status status;
	const bool has_status = seep_procfs_status(pid, &status);
	SEEP_RELEASED(seep_maps_done) struct seep_maps maps = { 0 };
	int rc;

	/* A forked child may have its parent's ledger mapped. */
	if ((has_status && status.own_pid && status.own_pid != header->pid) ||
	    (namespace && header->pid_namespace && namespace != header->pid_namespace) ||
	    !seep_procfs_alive(pid, 0))
		return SEEP_PROCESS_DEAD;
	rc = seep_maps_read((pid_t)pid, &maps, NULL);
	if (rc == -SEEP_ENOTFOUND)
		return SEEP_PROCESS_DEAD;
	if (rc == 0 && seep_maps_of_file(&maps, ledger->fd))
		return has_status && may_be_of(ledger, &status) ? SEEP_PROCESS_RUNNING
								: SEEP_PROCESS_UNKNOWN;
	if (rc == 0)
		return seep_procfs_alive(pid, header->start_ticks) ? SEEP_PROCESS_REPLACED
								   : SEEP_PROCESS_DEAD;
	if (!seep_procfs_alive(pid, header->start_ticks))
		return SEEP_PROCESS_DEAD;
	/* An exec may still fail. */
	return LEDGER_GET(ledger->state->ended) == LEDGER_ENDED_EXEC ? SEEP_PROCESS_UNKNOWN
								     : SEEP_PROCESS_RUNNING;
}

/* In a namespace below ours it has another number here; beside ours it is not to be seen. */
static enum seep_process_life search(const struct seep_ledger *ledger, uint32_t *ret_pid)
{
	enum seep_process_life best = SEEP_PROCESS_UNKNOWN, life;
	SEEP_RELEASED(seep_procfs_threads_done_at) DIR *processes = opendir("/proc");
	uint32_t pid;

	while (best != SEEP_PROCESS_RUNNING &&
	       (pid = seep_procfs_process(processes, ledger->view.header.pid))) {
		life = judge(ledger, pid);
		if (life == SEEP_PROCESS_RUNNING || life == SEEP_PROCESS_REPLACED)
			best = life;
		*ret_pid = pid;
	}
	return best;
}

bool seep_process_is_elsewhere(const struct ledger_header *header)
{
	const uint64_t ours = seep_procfs_pid_namespace(0);

	return (header->pid_namespace != 0 && ours != 0 && header->pid_namespace != ours) ||
	       seep_procfs_self() != (uint32_t)getpid();
}

enum seep_process_life seep_process_life(const struct seep_ledger *ledger, uint32_t *ret_pid)
{
	const struct ledger_header *header = &ledger->view.header;
	uint32_t pid = header->pid;
	enum seep_process_life life;

	if (LEDGER_GET(ledger->state->ended) == LEDGER_ENDED_DETACH)
		return SEEP_PROCESS_DETACHED;
	if (header->pid == 0 || !seep_ledger_is_of_this_boot(header))
		return SEEP_PROCESS_DEAD;
	life = seep_process_is_elsewhere(header) ? search(ledger, &pid) : judge(ledger, pid);
	if (life == SEEP_PROCESS_RUNNING && ret_pid)
		*ret_pid = pid;
	return life;
}

const char *seep_process_life_text(enum seep_process_life life)
{
	static const char *const texts[] = {
		[SEEP_PROCESS_RUNNING] = "runs",
		[SEEP_PROCESS_REPLACED] = "runs another program by now",
		[SEEP_PROCESS_DEAD] = "has ended",
		[SEEP_PROCESS_DETACHED] = "is not recorded any more: it was detached from",
		[SEEP_PROCESS_UNKNOWN] = "cannot be found from here",
	};

	return texts[life];
}

bool seep_ledger_has_recorder(const struct seep_ledger *ledger)
{
	uint32_t pid = LEDGER_GET(ledger->control->recorder_pid);
	uint64_t start = LEDGER_GET(ledger->control->recorder_start_ticks);
	SEEP_RELEASED(seep_procfs_threads_done_at) DIR *processes = NULL;
	uint32_t here;

	if (pid == 0 || !seep_process_is_elsewhere(&ledger->view.header))
		return pid != 0 && seep_procfs_alive(pid, start);
	processes = opendir("/proc");
	while ((here = seep_procfs_process(processes, pid)) && !seep_procfs_alive(here, start))
		;
	return here != 0;
}
