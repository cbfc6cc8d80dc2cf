/* SPDX-License-Identifier: MIT */
#include "base/work.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/units.h"
#include "core/bits.h"
#include "core/cgroup.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_BYTES (UINT64_C(256) << 20)
#define TIME_MAX_NS (120 * SEEP_NS_PER_S)
#define INTERRUPTED_MAX_NS (500 * SEEP_NS_PER_MS)

enum { SHARE_OF_FILES = 16, LOOK_BYTES = 4 << 20, LOOK_TURNS = 1 << 12 };

static _Thread_local struct {
	bool is_begun;
	uint64_t resident_bytes; /* of this process at the first look; 0: there was none */
	uint64_t may_bytes;	 /* more than these */
	uint64_t most_bytes;	 /* that this may become; the same */
	uint64_t end_ns;	 /* of this thread's time */
	uint64_t all_bytes;	 /* that it allocated, whether or not it freed them */
	uint64_t taken_bytes;	 /* of these, since a look */
	uint32_t turns;		 /* the same */
	char problem[128];
} job;

static _Atomic uint64_t interrupted_ns; /* 0: not */

static uint64_t resident_bytes(void)
{
	char text[64] = "";
	const char *second;

	(void)seep_file_read_start("/proc/self/statm", text, sizeof(text));
	second = strchr(text, ' ');
	return second ? strtoull(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

void seep_work_begin(void)
{
	memset(&job, 0, sizeof(job));
	job.is_begun = true;
	job.end_ns = seep_clock_ns(CLOCK_THREAD_CPUTIME_ID) + TIME_MAX_NS;
	job.may_bytes = LEAST_BYTES;
}

void seep_work_end(void)
{
	memset(&job, 0, sizeof(job));
}

void seep_work_opens(uint64_t bytes)
{
	job.may_bytes += core_smaller(bytes, UINT64_MAX / 64) * SHARE_OF_FILES;
}

/*
 * At the process itself, where what was freed again counts no more, but what other threads take does;
 * so no more than was allocated here. Most jobs are over before one.
 */
static void look(uint64_t bytes)
{
	const uint64_t now = resident_bytes();
	uint64_t may, held;

	job.taken_bytes = job.turns = 0;
	if (!job.resident_bytes) {
		job.resident_bytes = now;
		job.most_bytes = seep_memory_room() / 2;
	}
	may = core_smaller(job.may_bytes, job.most_bytes);
	held = core_smaller(now - core_smaller(now, job.resident_bytes), job.all_bytes);
	if (bytes > may || held > may - bytes)
		(void)snprintf(job.problem, sizeof(job.problem),
			       "not all was read: that takes more than %s of memory",
			       seep_bytes_text(may).text);
	else if (seep_clock_ns(CLOCK_THREAD_CPUTIME_ID) > job.end_ns)
		(void)snprintf(job.problem, sizeof(job.problem),
			       "not all was read: that takes more than %s",
			       seep_duration_text(TIME_MAX_NS).text);
}

void seep_work_takes(uint64_t bytes)
{
	job.all_bytes += bytes;
	job.taken_bytes += bytes;
	if (job.taken_bytes > LOOK_BYTES && job.is_begun && !job.problem[0])
		look(0);
}

bool seep_work_has_room(uint64_t bytes)
{
	if (bytes > LOOK_BYTES && job.is_begun && !job.problem[0])
		look(bytes);
	return !seep_work_problem();
}

bool seep_work_is_over(void)
{
	if (++job.turns > LOOK_TURNS && job.is_begun && !job.problem[0])
		look(0);
	return seep_work_problem();
}

void seep_work_interrupt(void)
{
	uint64_t none = 0;

	(void)atomic_compare_exchange_strong_explicit(&interrupted_ns, &none, seep_monotonic_ns(),
						      memory_order_relaxed, memory_order_relaxed);
}

bool seep_work_is_interrupted(void)
{
	return atomic_load_explicit(&interrupted_ns, memory_order_relaxed);
}

const char *seep_work_problem(void)
{
	if (job.is_begun && seep_work_is_interrupted() &&
	    seep_monotonic_ns() > atomic_load_explicit(&interrupted_ns, memory_order_relaxed) +
					  INTERRUPTED_MAX_NS)
		return "not all was read: it was interrupted";
	return job.problem[0] ? job.problem : NULL;
}

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
