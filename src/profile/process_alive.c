/* SPDX-License-Identifier: MIT */
/* Is the process that wrote a ledger still there? */
#include "profile/ledger_load.h"

#include "base/procfs.h"
#include "ledger/ledger.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static bool is_this_boot(const struct ledger_header *header)
{
	static const uint8_t unknown[16];
	uint8_t id[16];

	if (memcmp(header->boot_id, unknown, sizeof(unknown)) == 0)
		return true; /* the start time decides */
	seep_procfs_boot_id(id);
	return memcmp(header->boot_id, id, sizeof(id)) == 0;
}

static bool is_it(const struct ledger_header *header, uint32_t pid)
{
	struct seep_procfs_status status;
	uint64_t namespace;

	if (!seep_procfs_alive(pid, header->start_ticks))
		return false;
	namespace = seep_procfs_pid_namespace(pid);
	/* In ours it has no other number. */
	if (namespace != 0 && namespace == header->pid_namespace &&
	    namespace == seep_procfs_pid_namespace(0))
		return pid == header->pid;
	return (header->pid_namespace == 0 || namespace == 0 ||
		namespace == header->pid_namespace) &&
	       seep_procfs_status(pid, &status) && status.own_pid == header->pid;
}

/* A process in a namespace below ours has another number here. */
static uint32_t find_in_namespace(const struct ledger_header *header)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	uint32_t found = 0;

	if (!proc)
		return 0;
	while (!found && (entry = readdir(proc)) != NULL) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (pid && is_it(header, pid))
			found = pid;
	}
	(void)closedir(proc);
	return found;
}

bool seep_profile_is_elsewhere(const struct ledger_header *header)
{
	uint64_t ours = seep_procfs_pid_namespace(0);

	return header->pid_namespace != 0 && ours != 0 && header->pid_namespace != ours;
}

enum seep_process_life seep_profile_process_life(const struct ledger_header *header,
						 uint32_t *ret_pid)
{
	uint32_t found = 0;

	if (header->pid != 0 && is_this_boot(header)) {
		if (is_it(header, header->pid))
			found = header->pid;
		else if (seep_profile_is_elsewhere(header))
			found = find_in_namespace(header);
		if (!found && seep_profile_is_elsewhere(header))
			return SEEP_PROCESS_UNKNOWN;
	}
	if (found && ret_pid)
		*ret_pid = found;
	return found ? SEEP_PROCESS_RUNNING : SEEP_PROCESS_DEAD;
}
