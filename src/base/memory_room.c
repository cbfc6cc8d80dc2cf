/* SPDX-License-Identifier: MIT */
#include "base/memory_room.h"

#include "base/file.h"
#include "core/bits.h"
#include "core/cgroup.h"

#include <stdlib.h>
#include <string.h>

uint64_t seep_memory_room(void)
{
	struct core_cgroup_buffers buffers;
	struct core_cgroup group = { .room_bytes = UINT64_MAX };
	char text[1024] = "";
	uint64_t machine = UINT64_MAX;
	const char *available;

	(void)seep_file_read_start("/proc/meminfo", text, sizeof(text));
	available = strstr(text, "MemAvailable:");
	if (available)
		machine = strtoull(available + strlen("MemAvailable:"), NULL, 10) * 1024;
	(void)core_cgroup_memory(seep_file_read_start, "", "self", &buffers, &group);
	return core_smaller(machine, group.room_bytes);
}
