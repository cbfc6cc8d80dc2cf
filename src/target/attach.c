/* SPDX-License-Identifier: MIT */
#include "target/attach.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "base/release.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "ledger/ledger_attach.h"
#include "symbol/elf_image.h"
#include "target/attach_check.h"
#include "target/attach_facts.h"
#include "target/attach_filters.h"
#include "target/attach_parts.h"
#include "target/entry_names.h"
#include "target/tracee.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE_BYTES = 4096,
	STACK_BYTES = 256 << 10,
	RESULTS = SEEP_DIVERSION_STEPS_MAX + 1,
	PATH_BYTES = 64,
	MEMFD_CLOEXEC = 1,
};

/* What is mapped into the process for the time of the call. */
struct scratch {
	struct ledger_attach how;
	uint64_t mapped[RESULTS], called[RESULTS]; /* as seep_diversion.done_at */
	struct attach_pending pending;
	uint64_t all_signals, held_signals;
	char path[PATH_BYTES];
	_Alignas(64) uint8_t room[SEEP_DIVERSION_ROOM_BYTES];
	_Alignas(64) uint8_t vectors[SEEP_DIVERSION_VECTORS_BYTES];
	struct ledger_entry_page pages[LEDGER_ENTRY_MODULES_MAX];
	_Alignas(PAGE_BYTES) uint8_t stack[STACK_BYTES];
};

#define SCRATCH_AT(a, member) ((a)->scratch + offsetof(struct scratch, member))

/*
 * Room for the scratch in the middle of the widest gap between two mappings, where nobody else maps until it
 * is there. Not below the stack, which may grow. 0: there is none.
 */
static uint64_t find_room(const struct attach *a)
{
	const uint64_t bytes = sizeof(struct scratch), spare = UINT64_C(1) << 20;
	const struct seep_maps *maps = &a->modules.maps;
	uint64_t widest = bytes + 4 * spare, at = 0;

	for (size_t i = maps->count; i-- > 1;) {
		const uint64_t begin = maps->items[i - 1].end, end = maps->items[i].begin;

		if (end < UINT64_C(1) << 47 && end > begin && end - begin > widest &&
		    strcmp(maps->items[i].name, "[stack]") != 0) {
			widest = end - begin;
			at = (begin + (widest - bytes) / 2) & -(uint64_t)PAGE_BYTES;
		}
	}
	return at;
}

/* Its descriptors' files are named so in /proc. */
static int find_descriptor(const struct attach *a, int64_t fd)
{
	SEEP_FREED char *file = seep_xasprintf("fd/%d", (int)fd);
	struct seep_procfs_path path = seep_procfs_path(a->pid, file);
	char target[PATH_BYTES];
	ssize_t bytes = fd < 0 ? -1 : readlink(path.text, target, sizeof(target) - 1);

	target[bytes > 0 ? bytes : 0] = '\0';
	return strstr(target, "memfd:libseep.so") ? (int)fd : -1;
}

/*
 * Map the scratch and, if @loads, make a file in memory for the library. The right to execute it is
 * not asked for: code is mapped without, and where vm.memfd_noexec is 2 asking is refused.
 */
static int prepare(struct attach *a, bool loads, struct seep_error *err)
{
	struct seep_diversion diversion = { .count = loads ? 2 : 1, .text = "libseep.so" };
	uint64_t results[RESULTS] = { 0 };
	int rc;

	a->scratch = a->mark = find_room(a);
	if (!a->scratch)
		return seep_fail(err, SEEP_EREFUSED, "its address space is full");
	/* No file: any descriptor below 0 but -1, which stands for the text. */
	diversion.steps[0] = (struct seep_step){
		.what = SYS_mmap,
		.arguments = { a->scratch, sizeof(struct scratch), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX - 1,
			       0 },
	};
	diversion.steps[1] = (struct seep_step){
		.what = SYS_memfd_create,
		.arguments = { SEEP_STEP_TEXT, MEMFD_CLOEXEC },
	};
	diversion.first_result = a->scratch;
	diversion.done_at = SCRATCH_AT(a, mapped);
	rc = attach_lead(a, &diversion, false, err);
	if (rc < 0) {
		a->scratch = 0;
		return rc;
	}
	if (!seep_memory_read(a->modules.memory, diversion.done_at, results, sizeof(results)))
		return seep_fail(err, SEEP_ESYS, "cannot read what was mapped into it");
	if (loads)
		a->fd = find_descriptor(a, (int64_t)results[2]);
	if (loads && a->fd < 0)
		return seep_fail(err, SEEP_EREFUSED, "it may not make a file in memory: %s",
				 strerror((int)-(int64_t)results[2]));
	return 0;
}

/*
 * The process's own descriptor, with its own rights: whatever it has put there, nothing is written that
 * it could not write to. -1: it is no file in memory.
 */
static int take_descriptor(const struct attach *a)
{
	SEEP_CLOSED int pidfd = (int)syscall(SYS_pidfd_open, a->pid, 0);
	const int fd = (int)syscall(SYS_pidfd_getfd, pidfd, a->fd, 0);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* The library's own bytes, from our file system into the process's. */
static int copy_library(struct attach *a, struct seep_error *err)
{
	SEEP_CLOSED int from = open(a->plan->library, O_RDONLY | O_CLOEXEC);
	SEEP_CLOSED int to = take_descriptor(a);
	ssize_t bytes = 1;

	if (from < 0)
		return seep_fail_errno(err, errno, "cannot open %s", a->plan->library);
	while (to >= 0 && bytes > 0)
		bytes = sendfile(to, from, NULL, SSIZE_MAX >> 1);
	if (to < 0 || bytes < 0)
		return seep_fail_errno(err, errno, "cannot write libseep.so into its memory");
	return 0;
}

/* Arguments as the process was started with, one after the other. */
static void copy_arguments(const struct attach *a, struct ledger_attach *how)
{
	size_t bytes = 0, at = 0;
	SEEP_FREED char *text = seep_procfs_read((uint32_t)a->pid, "cmdline", &bytes);

	if (!text || bytes >= sizeof(how->argv))
		return;
	memcpy(how->argv, text, bytes);
	for (size_t i = 0; i + 1 < LEDGER_ATTACH_ARGS_MAX && at < bytes; i++) {
		how->arguments[i] = SCRATCH_AT(a, how.argv) + at;
		at += strlen(how->argv + at) + 1;
	}
}

static int fill_scratch(struct attach *a, struct seep_error *err)
{
	SEEP_FREED struct ledger_attach *how = seep_xcalloc(1, sizeof(*how));
	char path[PATH_BYTES];
	const uint64_t signals = ~((UINT64_C(1) << (SIGSEGV - 1)) | (UINT64_C(1) << (SIGBUS - 1)) |
				   (UINT64_C(1) << (SIGILL - 1)) | (UINT64_C(1) << (SIGFPE - 1)) |
				   (UINT64_C(1) << (SIGTRAP - 1)) | (UINT64_C(1) << (SIGSYS - 1)));

	how->version = LEDGER_VERSION;
	how->session = a->plan->session;
	if (strlen(a->plan->options) >= sizeof(how->options) ||
	    strlen(a->plan->dir) >= sizeof(how->dir))
		return seep_fail(err, SEEP_EUSAGE, "the options are too long");
	memcpy(how->options, a->plan->options, strlen(a->plan->options));
	memcpy(how->dir, a->plan->dir, strlen(a->plan->dir));
	copy_arguments(a, how);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", a->fd);
	how->gives_up = a->gives_up;
	how->has_allocator = a->linked_allocator || a->entries.count;
	if (!attach_tell_entries(a, SCRATCH_AT(a, pages), how) ||
	    !seep_tracee_write(a->pid, SCRATCH_AT(a, how), how, sizeof(*how)) ||
	    !seep_tracee_write(a->pid, SCRATCH_AT(a, all_signals), &signals, sizeof(signals)) ||
	    !seep_tracee_write(a->pid, SCRATCH_AT(a, path), path, sizeof(path)))
		return seep_fail_errno(err, errno, "cannot write to its memory");
	return 0;
}

static void add_step(struct seep_diversion *diversion, uint64_t what, uint64_t first,
		     uint64_t second, int64_t leaves_out)
{
	diversion->steps[diversion->count++] = (struct seep_step){
		.what = what,
		.arguments = { first, second },
		.leaves_out = leaves_out,
	};
}

/* Where a function is in the library that is about to be loaded; 0: it is not the library. */
static uint64_t offset_in_library(const char *library, const char *name)
{
	SEEP_RELEASED(seep_elf_close_at) struct seep_elf *elf = NULL;
	struct seep_elf_symbols symbols = { .is_dynamic = true };

	if (seep_elf_open(library, &elf))
		return 0;
	symbols.elf = elf;
	while (seep_elf_next_symbol(&symbols))
		if (symbols.name && strcmp(symbols.name, name) == 0)
			return symbols.symbol.st_value;
	return 0;
}

enum { STEP_LOCK, STEP_OTHER_LOCK };

/*
 * With signals held, if the loader's lock is free: load the library, unless it is there, and call its
 * function @name.
 */
static int call(struct attach *a, const char *name, struct seep_error *err)
{
	const bool loads = !a->ours;
	const uint64_t other_lock = a->load_lock + ATTACH_LOCK_BYTES;
	const uint64_t lock = attach_address_of(a, a->libc, "pthread_mutex_trylock");
	const uint64_t unlock = attach_address_of(a, a->libc, "pthread_mutex_unlock");
	const uint64_t function = loads ? offset_in_library(a->plan->library, name)
					: attach_address_of(a, a->ours, name);
	struct seep_diversion diversion = {
		.done_at = SCRATCH_AT(a, called),
		.stack = SCRATCH_AT(a, stack) + STACK_BYTES,
		.vectors = SCRATCH_AT(a, vectors),
		.room = SCRATCH_AT(a, room),
		.all_signals = SCRATCH_AT(a, all_signals),
		.held_signals = SCRATCH_AT(a, held_signals),
		.first_result = SEEP_STEP_TEXT,
		.errno_location = attach_address_of(a, a->libc, "__errno_location"),
	};

	a->pending = SCRATCH_AT(a, pending);
	if (!function || !lock || !unlock || !a->load_lock)
		return seep_fail(err, SEEP_EREFUSED, "its %s is not one that seep knows",
				 function ? "C library" : "libseep.so");
	add_step(&diversion, lock, a->load_lock, 0, loads ? 5 : 4);
	add_step(&diversion, lock, other_lock, 0, loads ? 3 : 2);
	/* Globally: so that a program finds what it may say to seep. It is never unloaded. */
	if (loads)
		add_step(&diversion, attach_address_of(a, a->libc, "dlopen"), SCRATCH_AT(a, path),
			 RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE, -1);
	add_step(&diversion, function | (loads ? SEEP_STEP_IN_OBJECT : 0), SCRATCH_AT(a, how), 0,
		 0);
	add_step(&diversion, unlock, other_lock, 0, 0);
	add_step(&diversion, unlock, a->load_lock, 0, 0);
	return attach_lead(a, &diversion, true, err);
}

/* Of the process's answer. */
static int conclude(struct attach *a, const struct ledger_attach *how, struct seep_error *err)
{
	struct seep_error unrestored;
	int restored = 0;

	switch (atomic_load(&how->result)) {
	case LEDGER_ATTACH_DONE:
		if (a->gives_up)
			return 0;
		a->result->ledger = seep_xstrndup(how->ledger, sizeof(how->ledger) - 1);
		if (!a->leaves)
			a->result->allocator = attach_lead_entries(a, how->led_at);
		else if (attach_restore_entries(a, &unrestored) < 0)
			a->result->allocator = seep_xstrdup(unrestored.text);
		return 0;
	case LEDGER_ATTACH_OTHER_VERSION:
		return seep_fail(err, SEEP_EREFUSED,
				 "another version of libseep.so is loaded in it, and stays");
	case LEDGER_ATTACH_ALREADY:
		if (!a->leaves)
			return seep_fail(err, SEEP_EEXIST, "it is recorded already");
		/* Whoever left it may not have been able to. */
		restored = attach_restore_entries(a, err);
		if (restored == 0)
			return seep_fail(err, SEEP_ENOTFOUND, "it is not recorded");
		if (restored > 0)
			a->result->allocator = seep_xasprintf(
				"%d functions of its own allocator begin as they did "
				"before",
				restored);
		return restored < 0 ? restored : 0;
	case LEDGER_ATTACH_NO_LEDGER:
		return seep_fail(
			err, SEEP_EREFUSED,
			"it has no folder for a ledger (/dev/shm, /run/user/UID, /var/tmp or "
			"/tmp, as it sees them), or no room there");
	case LEDGER_ATTACH_BUSY:
		return seep_fail(err, SEEP_EREFUSED,
				 "one of its threads is still where the last detach met it, in the "
				 "middle of libseep.so");
	default:
		return seep_fail(
			err, SEEP_EREFUSED,
			"its loader does not load libseep.so: most often for want of room for "
			"thread-local storage, or where memory may not be executable");
	}
}

/* Another thread is in the loader: it is met where it leaves that. */
static void find_holder(struct attach *a)
{
	enum { OWNER_AT = 8 };
	uint32_t owner = 0;

	if (!seep_memory_read(a->modules.memory, a->load_lock + OWNER_AT, &owner, sizeof(owner)))
		owner = 0;
	a->holder = (pid_t)owner;
	a->catches = true;
}

static bool is_locked(const uint64_t results[RESULTS])
{
	return results[1 + STEP_LOCK] || results[1 + STEP_OTHER_LOCK];
}

/* Where a thread has to leave first, it is given the time to: the loader, or libseep.so. */
static int call_until(struct attach *a, const char *name, struct seep_error *err)
{
	const struct timespec pause = { .tv_nsec = 30000000 };
	SEEP_FREED struct ledger_attach *how = seep_xcalloc(1, sizeof(*how));
	uint64_t results[RESULTS], none = 0;
	bool waits = false;
	int rc;

	do {
		if (waits)
			(void)nanosleep(&pause, NULL);
		rc = seep_tracee_write(a->pid, SCRATCH_AT(a, called), &none, sizeof(none))
			     ? call(a, name, err)
			     : seep_fail_errno(err, errno, "cannot write to its memory");
		if (rc < 0)
			return rc;
		if (!seep_memory_read(a->modules.memory, SCRATCH_AT(a, called), results,
				      sizeof(results)) ||
		    !seep_memory_read(a->modules.memory, SCRATCH_AT(a, how), how, sizeof(*how)))
			return seep_fail(err, SEEP_ENOTFOUND, "process %d has ended", a->pid);
		a->why = "the dynamic loader";
		waits = !is_locked(results);
		if (!waits)
			find_holder(a);
	} while ((is_locked(results) || atomic_load(&how->result) == LEDGER_ATTACH_BUSY) &&
		 seep_monotonic_ns() < a->deadline_ns);
	if (is_locked(results))
		return seep_fail(
			err, SEEP_EREFUSED,
			"its loader was at work in another thread whenever it was asked, %u "
			"times in %.1f s",
			a->result->tries, (double)a->plan->deadline_ns / 1e9);
	return conclude(a, how, err);
}

/* What is left in the process, if it lives. It may take a little longer than the rest. */
static void clean_up(struct attach *a)
{
	struct seep_diversion diversion = { 0 };
	struct seep_error unsaid;
	uint8_t byte;

	/* A thread that has not come back still stands on it. */
	if (!a->scratch || a->lost || !a->modules.memory)
		return;
	a->deadline_ns = seep_monotonic_ns() + SEEP_NS_PER_S;
	a->mark = a->pending = 0;
	/* It may be another file's by now. */
	if (a->fd >= 0 && find_descriptor(a, a->fd) >= 0)
		add_step(&diversion, SYS_close, (uint64_t)a->fd, 0, 0);
	add_step(&diversion, SYS_munmap, a->scratch, sizeof(struct scratch), 0);
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
			found = find_descriptor(a, (int64_t)number);
	if (all)
		(void)closedir(all);
	return found;
}

/*
 * One of us was killed in the middle: wait until the thread that it had led has come back, and take
 * away what it left.
 */
static int settle(struct attach *a, struct seep_error *err)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct attach_pending pending = { 0 };
	uint64_t done = 0, scratch = 0, mapped[2];

	a->code = seep_diversion_find(&a->modules);
	if (!a->code || !seep_diversion_mark(a->modules.memory, a->code, &scratch) || !scratch)
		return 0;
	a->scratch = scratch;
	/* It was not mapped, or has gone: what is there is the program's own. */
	if (!seep_memory_read(a->modules.memory, SCRATCH_AT(a, mapped), mapped, sizeof(mapped)) ||
	    mapped[0] != 1 || mapped[1] != scratch) {
		a->scratch = 0;
		return 0;
	}
	while (seep_memory_read(a->modules.memory, SCRATCH_AT(a, called), &done, sizeof(done)) &&
	       seep_memory_read(a->modules.memory, SCRATCH_AT(a, pending), &pending,
				sizeof(pending)) &&
	       !done &&
	       !attach_is_over(a, &pending, scratch, sizeof(struct scratch), SCRATCH_AT(a, room))) {
		a->lost = seep_monotonic_ns() > a->deadline_ns;
		if (a->lost)
			return seep_fail(err, SEEP_EREFUSED,
					 "a seep that was killed has led its thread %d into the "
					 "loader, and that is not back yet",
					 (int)pending.tid);
		(void)nanosleep(&pause, NULL);
	}
	a->fd = find_left_descriptor(a);
	clean_up(a);
	a->scratch = 0;
	a->fd = -1;
	a->deadline_ns = seep_monotonic_ns() + a->plan->deadline_ns;
	attach_forget_modules(a);
	return attach_read_modules(a, err);
}

static int take_lock(struct attach *a, struct seep_error *err)
{
	a->lock = open(seep_procfs_path(a->pid, "").text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->lock < 0)
		return seep_fail(err, SEEP_ENOTFOUND, "there is no process %d", a->pid);
	if (flock(a->lock, LOCK_EX | LOCK_NB) < 0)
		return seep_fail(err, SEEP_EREFUSED,
				 "another seep is attaching to it or detaching");
	return 0;
}

static bool has_proc(const struct attach *a)
{
	enum { PROC_MAGIC = 0x9fa0 };
	struct statfs fs;

	return statfs(seep_procfs_path(a->pid, "root/proc").text, &fs) == 0 &&
	       fs.f_type == PROC_MAGIC;
}

/* Its functions could not be led to us: so calls of them from elsewhere are, as without the option. */
static int give_up_entries(struct attach *a, struct seep_error *err)
{
	int rc = fill_scratch(a, err);

	return rc == 0 ? call_until(a, "seep_rt_attach", err) : rc;
}

static int join(struct attach *a, struct seep_error *err)
{
	int rc = attach_read_modules(a, err);

	if (rc == 0 && !a->ours && !has_proc(a))
		return seep_fail(
			err, SEEP_EREFUSED,
			"it sees no /proc, by way of which its loader would find libseep.so; "
			"mount one in its root");
	if (rc == 0)
		rc = seep_attach_check_filters(a->pid, a->plan->entries, err);
	if (rc == 0)
		rc = settle(a, err);
	if (rc == 0)
		attach_find_entries(a);
	if (rc == 0)
		rc = prepare(a, !a->ours, err);
	if (rc == 0 && !a->ours)
		rc = copy_library(a, err);
	if (rc == 0)
		rc = fill_scratch(a, err);
	if (rc == 0)
		rc = call_until(a, "seep_rt_attach", err);
	return rc == 0 && a->gives_up ? give_up_entries(a, err) : rc;
}

static int leave(struct attach *a, struct seep_error *err)
{
	int rc = attach_read_modules(a, err);

	a->leaves = true;
	if (rc == 0)
		rc = settle(a, err);
	if (rc == 0 && !(a->ours && strstr(a->ours->path, "memfd:libseep.so")))
		return seep_fail(err, SEEP_ENOTFOUND, "nobody has attached to it");
	if (rc == 0)
		rc = prepare(a, false, err);
	if (rc == 0)
		rc = fill_scratch(a, err);
	return rc == 0 ? call_until(a, "seep_rt_detach", err) : rc;
}

struct job {
	struct attach attach;
	int (*act)(struct attach *a, struct seep_error *err);
	struct seep_error *err;
	int rc;
};

/* What a thread traces is let go when it ends, whatever becomes of it. */
static void *run(void *argument)
{
	struct job *job = argument;
	struct attach *a = &job->attach;
	struct seep_attach_facts facts;

	seep_attach_look(a->pid, &facts);
	a->is_go = facts.kind.is_go;
	a->linked_allocator = seep_entry_knows(facts.linked_allocator) ? facts.linked_allocator
								       : NULL;
	job->rc = take_lock(a, job->err);
	if (job->rc == 0)
		job->rc = job->act(a, job->err);
	clean_up(a);
	attach_forget_modules(a);
	seep_entries_done(&a->entries);
	if (a->lock >= 0)
		(void)close(a->lock);
	return NULL;
}

static int in_thread(pid_t pid, const struct seep_attach_plan *plan,
		     struct seep_attach_result *ret_result,
		     int (*act)(struct attach *a, struct seep_error *err), struct seep_error *err)
{
	struct job job = {
		.attach = {
			.pid = pid,
			.lock = -1,
			.fd = -1,
			.plan = plan,
			.deadline_ns = seep_monotonic_ns() + plan->deadline_ns,
			.result = ret_result,
		},
		.act = act,
		.err = err,
	};
	pthread_t thread;
	int problem;

	*ret_result = (struct seep_attach_result){ 0 };
	problem = pthread_create(&thread, NULL, run, &job);
	if (problem)
		return seep_fail_errno(err, problem, "cannot start a thread");
	(void)pthread_join(thread, NULL);
	return job.rc;
}

int seep_attach(pid_t pid, const struct seep_attach_plan *plan,
		struct seep_attach_result *ret_result, struct seep_error *err)
{
	const int rc = seep_attach_check(pid, NULL, err);

	*ret_result = (struct seep_attach_result){ 0 };
	return rc < 0 ? rc : in_thread(pid, plan, ret_result, join, err);
}

int seep_detach(pid_t pid, const struct seep_attach_plan *plan,
		struct seep_attach_result *ret_result, struct seep_error *err)
{
	return in_thread(pid, plan, ret_result, leave, err);
}
