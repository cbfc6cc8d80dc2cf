/* SPDX-License-Identifier: MIT */
#include "target/attach_parts.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "base/release.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "target/tracee.h"

#include <dirent.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

/*
 * Room for the scratch in the middle of the widest gap between two mappings, where nobody else maps until it
 * is there. Not below the stack, which may grow. 0: there is none.
 */
static uint64_t find_room(const struct attach *a)
{
	const uint64_t bytes = sizeof(struct attach_scratch), spare = UINT64_C(1) << 20;
	const struct seep_maps *maps = &a->modules.maps;
	uint64_t widest = bytes + 4 * spare, at = 0;

	for (size_t i = maps->count; i-- > 0;) {
		const uint64_t begin = i ? maps->items[i - 1].end : spare;
		const uint64_t end = maps->items[i].begin;

		/* Below all of them only where nothing else is free. */
		if ((i || !at) && end < UINT64_C(1) << 47 && end > begin && end - begin > widest &&
		    strcmp(maps->items[i].name, "[stack]") != 0) {
			widest = end - begin;
			at = (begin + (widest - bytes) / 2) & -(uint64_t)PAGE_BYTES;
		}
	}
	return at;
}

/* Its descriptors' files are named so in /proc. */
static bool is_library(const struct attach *a, int64_t fd)
{
	SEEP_FREED char *file = seep_xasprintf("fd/%d", (int)fd);
	struct seep_procfs_path path = seep_procfs_path(a->pid, file);
	char target[ATTACH_PATH_BYTES];
	ssize_t bytes = fd < 0 ? -1 : readlink(path.text, target, sizeof(target) - 1);

	target[bytes > 0 ? bytes : 0] = '\0';
	return strstr(target, "memfd:libseep.so") != NULL;
}

int attach_prepare(struct attach *a, bool loads, struct seep_error *err)
{
	struct seep_diversion diversion = { .count = 1, .text = "libseep.so" };
	uint64_t results[ATTACH_RESULTS] = { 0 };
	int rc;

	a->scratch = a->noted = find_room(a);
	if (!a->scratch)
		return seep_fail(err, SEEP_EREFUSED, "its address space is full");
	/* No file: any descriptor below 0 but -1, which stands for the text. */
	diversion.steps[0] = (struct seep_step){
		.what = SYS_mmap,
		.arguments = { a->scratch, sizeof(struct attach_scratch), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX - 1,
			       0 },
	};
	if (loads)
		seep_diversion_add(&diversion, SYS_memfd_create, SEEP_STEP_TEXT, MFD_CLOEXEC, 0);
	diversion.first_result = a->scratch;
	diversion.done_at = SCRATCH_AT(a, mapped);
	rc = attach_lead(a, &diversion, false, err);
	if (rc < 0) {
		a->scratch = 0;
		return rc;
	}
	if (!seep_memory_read(a->modules.memory, diversion.done_at, results, sizeof(results)))
		return seep_fail(err, SEEP_ESYS, "cannot read what was mapped into it");
	if (!loads)
		return 0;
	if ((int64_t)results[2] < 0)
		return seep_fail(err, SEEP_EREFUSED, "it may not make a file in memory: %s",
				 strerror((int)-(int64_t)results[2]));
	if (!is_library(a, (int64_t)results[2]))
		return seep_fail(
			err, SEEP_EREFUSED,
			"the file in memory that it has made is not among its descriptors");
	a->fd = (int)results[2];
	return 0;
}

void attach_clean_up(struct attach *a)
{
	struct seep_diversion diversion = { 0 };
	struct seep_error unsaid;
	uint8_t byte;

	/* A thread that has not come back still stands on it. */
	if (!a->scratch || a->lost || !a->modules.memory)
		return;
	a->deadline_ns = seep_monotonic_ns() + SEEP_NS_PER_S;
	a->noted = 0;
	/* It may be another file's by now. */
	if (is_library(a, a->fd))
		seep_diversion_add(&diversion, SYS_close, (uint64_t)a->fd, 0, 0);
	seep_diversion_add(&diversion, SYS_munmap, a->scratch, sizeof(struct attach_scratch), 0);
	if (attach_lead(a, &diversion, false, &unsaid) < 0)
		return;
	/* The last step is seen by what it takes away. */
	for (unsigned turns = 0; seep_memory_read(a->modules.memory, a->scratch, &byte, 1) &&
				 seep_monotonic_ns() < a->deadline_ns;
	     turns++)
		seep_tracee_pause(turns);
}

/* A descriptor of the process's that one of us left there; -1: none. */
static int find_left_descriptor(const struct attach *a)
{
	DIR *all = opendir(seep_procfs_path(a->pid, "fd").text);
	uint64_t number;
	int found = -1;

	for (struct dirent *entry; all && found < 0 && (entry = readdir(all));)
		if (seep_parse_count(entry->d_name, INT32_MAX, &number, NULL) == 0)
			found = is_library(a, (int64_t)number) ? (int)number : -1;
	if (all)
		(void)closedir(all);
	return found;
}

/*
 * The thread that was led last, by whomever, needs what lies beside the code until it is back. a->scratch: what
 * is noted there
 */
static int await_last(struct attach *a, struct seep_error *err)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct seep_diversion_note note = { 0 };

	while (seep_diversion_note(a->modules.memory, a->code, &note)) {
		a->scratch = note.scratch;
		if (attach_is_over(a, &note))
			return 0;
		a->lost = seep_monotonic_ns() > a->deadline_ns;
		if (a->lost)
			return seep_fail(err, SEEP_EREFUSED,
					 "its thread %d, which a seep led before, is not back yet",
					 (int)note.tid);
		(void)nanosleep(&pause, NULL);
	}
	return seep_fail(err, SEEP_ENOTFOUND, "process %d has ended", a->pid);
}

int attach_settle(struct attach *a, struct seep_error *err)
{
	uint64_t mapped[2];
	int rc;

	a->code = seep_diversion_find(&a->modules);
	rc = a->code ? await_last(a, err) : 0;
	/* It was not mapped, or has gone: what is there is the program's own. */
	if (rc < 0 || !a->scratch ||
	    !seep_memory_read(a->modules.memory, SCRATCH_AT(a, mapped), mapped, sizeof(mapped)) ||
	    mapped[0] != 1 || mapped[1] != a->scratch) {
		a->scratch = 0;
		return rc;
	}
	a->fd = find_left_descriptor(a);
	attach_clean_up(a);
	a->fd = -1;
	a->deadline_ns = seep_monotonic_ns() + a->plan->deadline_ns;
	rc = await_last(a, err);
	a->scratch = 0;
	attach_forget_modules(a);
	return rc < 0 ? rc : attach_read_modules(a, err);
}
