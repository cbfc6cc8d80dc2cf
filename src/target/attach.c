/* SPDX-License-Identifier: MIT */
#include "target/attach.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "base/release.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "symbol/elf_image.h"
#include "target/attach_check.h"
#include "target/attach_facts.h"
#include "target/attach_filters.h"
#include "target/attach_parts.h"
#include "target/entry_names.h"
#include "target/tracee.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define MORE_NS UINT64_C(10000000000) /* for the part after what was begun */

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
	char path[ATTACH_PATH_BYTES];

	how->version = LEDGER_VERSION;
	how->session = a->plan->session;
	if (strlen(a->plan->options) >= sizeof(how->options) ||
	    strlen(a->plan->dir) >= sizeof(how->dir))
		return seep_fail(err, SEEP_EUSAGE, "the options are too long");
	memcpy(how->options, a->plan->options, strlen(a->plan->options));
	memcpy(how->dir, a->plan->dir, strlen(a->plan->dir));
	copy_arguments(a, how);
	/* As nobody else spells it: by a name that it knows the loader would answer with that library. */
	(void)snprintf(path, sizeof(path), "/proc/self//fd//%d", a->fd);
	how->gives_up = a->gives_up;
	how->has_allocator = a->linked_allocator || a->entries.count;
	if (!attach_tell_entries(a, SCRATCH_AT(a, pages), how) ||
	    !seep_tracee_write(a->pid, SCRATCH_AT(a, how), how, sizeof(*how)) ||
	    !seep_tracee_write(a->pid, SCRATCH_AT(a, path), path, sizeof(path)))
		return seep_fail_errno(err, errno, "cannot write to its memory");
	return 0;
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

/*
 * Indices of steps. The other lock is that of the list of modules; it is tried only, since fork() leaves it
 * to the child as it is.
 */
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
		.stack = SCRATCH_AT(a, stack) + ATTACH_STACK_BYTES,
		.vectors = SCRATCH_AT(a, vectors),
		.room = SCRATCH_AT(a, room),
		.first_result = UINT64_MAX,
		.errno_location = attach_address_of(a, a->libc, "__errno_location"),
	};

	if (!function || !lock || !unlock || !a->load_lock)
		return seep_fail(err, SEEP_EREFUSED, "its %s is not one that seep knows",
				 function ? "C library" : "libseep.so");
	seep_diversion_add(&diversion, lock, a->load_lock, 0, loads ? 5 : 4);
	seep_diversion_add(&diversion, lock, other_lock, 0, loads ? 3 : 2);
	seep_diversion_add(&diversion, unlock, other_lock, 0, 0);
	/* Globally: so that a program finds what it may say to seep. It is never unloaded. */
	if (loads)
		seep_diversion_add(&diversion, attach_address_of(a, a->libc, "dlopen"),
				   SCRATCH_AT(a, path), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE, -1);
	seep_diversion_add(&diversion, function | (loads ? SEEP_STEP_IN_OBJECT : 0),
			   SCRATCH_AT(a, how), 0, 0);
	seep_diversion_add(&diversion, unlock, a->load_lock, 0, 0);
	return attach_lead(a, &diversion, true, err);
}

/* Of the process's answer. */
static int conclude(struct attach *a, const struct ledger_attach *how, struct seep_error *err)
{
	struct seep_attach_facts facts;
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
		/* What it could do when it was looked at may have changed. */
		seep_attach_look(a->pid, &facts);
		if (seep_attach_check(&facts, err) < 0)
			return -err->code;
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
	a->holder = owner ? attach_thread(a, owner) : 0;
	a->catches = true;
}

static bool is_locked(const uint64_t results[ATTACH_RESULTS])
{
	return results[1 + STEP_LOCK] || results[1 + STEP_OTHER_LOCK];
}

/* @err says why not more was done. What was begun stays, unless all of it is gone, or a thread is at it still. */
static int fail_begun(const struct attach *a, struct seep_error *err)
{
	const struct seep_error why = *err;

	if (a->lost || !seep_procfs_alive((uint32_t)a->pid, 0) ||
	    attach_has_executed(a->pid, a->program))
		return -why.code;
	return seep_fail(
		err, why.code,
		"%s; nothing is recorded, and whoever attaches or detaches next takes away "
		"what was begun",
		why.text);
}

static int fail_locked(const struct attach *a, struct seep_error *err)
{
	return seep_fail(err, SEEP_EREFUSED,
			 "its loader was at work in another thread whenever it was asked, %u "
			 "times in %.1f s",
			 a->result->tries, (double)(seep_monotonic_ns() - a->began_ns) / 1e9);
}

/* For a part: *@ret_locked: another thread was in the loader, and nothing was done; else @ret_how has the answer. */
static int call_part(struct attach *a, const char *name, bool *ret_locked,
		     struct ledger_attach *ret_how, struct seep_error *err)
{
	const uint64_t none[ATTACH_RESULTS] = { 0 };
	const uint32_t no_result = LEDGER_ATTACH_NONE;
	uint64_t results[ATTACH_RESULTS];
	int rc;

	rc = seep_tracee_write(a->pid, SCRATCH_AT(a, called), none, sizeof(none)) &&
			     seep_tracee_write(a->pid, SCRATCH_AT(a, how.result), &no_result,
					       sizeof(no_result))
		     ? call(a, name, err)
		     : seep_fail_errno(err, errno, "cannot write to its memory");
	if (rc < 0)
		return rc;
	if (!seep_memory_read(a->modules.memory, SCRATCH_AT(a, called), results, sizeof(results)) ||
	    !seep_memory_read(a->modules.memory, SCRATCH_AT(a, how), ret_how, sizeof(*ret_how)))
		return seep_fail(err, SEEP_ENOTFOUND, "process %d has ended", a->pid);
	*ret_locked = is_locked(results);
	return 0;
}

/* Between two parts: what is loaded is there now, and the process may have confined itself. */
static int look_again(struct attach *a, struct seep_error *err)
{
	int rc = 0;

	a->holder = 0;
	a->catches = false;
	if (!a->ours) {
		attach_forget_modules(a);
		rc = attach_read_modules(a, err);
	}
	return rc < 0 ? rc : seep_attach_check_filters(a->pid, err);
}

/*
 * Until all of its parts are done. Where a thread has to leave first, it is given the time to: the loader, or
 * libseep.so. What was begun gets more time: a safe place was just found.
 */
static int call_until(struct attach *a, const char *name, struct seep_error *err)
{
	const struct timespec pause = { .tv_nsec = 30000000 };
	SEEP_FREED struct ledger_attach *how = seep_xcalloc(1, sizeof(*how));
	bool locked = false, is_busy, has_more;
	unsigned parts = 0;
	int rc;

	do {
		rc = call_part(a, name, &locked, how, err);
		is_busy = rc == 0 && !locked && how->result == LEDGER_ATTACH_BUSY;
		has_more = rc == 0 && !locked && how->result == LEDGER_ATTACH_MORE &&
			   ++parts < LEDGER_ATTACH_PARTS;
		a->why = "the dynamic loader";
		if (has_more)
			rc = look_again(a, err);
		if (has_more && how->has_begun)
			a->deadline_ns = core_larger(a->deadline_ns, seep_monotonic_ns() + MORE_NS);
		if (locked)
			find_holder(a);
		if (is_busy)
			(void)nanosleep(&pause, NULL);
	} while (rc == 0 &&
		 (has_more || ((locked || is_busy) && seep_monotonic_ns() < a->deadline_ns)));
	if (rc == 0 && locked)
		rc = fail_locked(a, err);
	if (rc < 0)
		return how->has_begun ? fail_begun(a, err) : rc;
	return conclude(a, how, err);
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

static int join(struct attach *a, struct seep_error *err)
{
	int rc = attach_read_modules(a, err);

	if (rc == 0 && !a->ours && !has_proc(a))
		return seep_fail(
			err, SEEP_EREFUSED,
			"it sees no /proc, by way of which its loader would find libseep.so; "
			"mount one in its root");
	if (rc == 0)
		rc = seep_attach_check_filters(a->pid, err);
	if (rc == 0)
		rc = attach_settle(a, err);
	if (rc == 0)
		attach_find_entries(a);
	if (rc == 0)
		rc = attach_prepare(a, !a->ours, err);
	if (rc == 0 && !a->ours)
		rc = copy_library(a, err);
	if (rc == 0)
		rc = fill_scratch(a, err);
	if (rc == 0)
		rc = call_until(a, "seep_rt_attach", err);
	if (rc != 0 || !a->gives_up)
		return rc;
	/* Its functions could not be led to us: so calls of them from elsewhere are, as without the option. */
	rc = fill_scratch(a, err);
	return rc == 0 ? call_until(a, "seep_rt_attach", err) : rc;
}

static int leave(struct attach *a, struct seep_error *err)
{
	int rc = attach_read_modules(a, err);

	a->leaves = true;
	if (rc == 0)
		rc = attach_settle(a, err);
	if (rc == 0 && !(a->ours && strstr(a->ours->path, "memfd:libseep.so")))
		return seep_fail(err, SEEP_ENOTFOUND, "nobody has attached to it");
	if (rc == 0)
		rc = attach_prepare(a, false, err);
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

	job->rc = take_lock(a, job->err);
	if (job->rc == 0)
		job->rc = job->act(a, job->err);
	attach_clean_up(a);
	attach_forget_modules(a);
	seep_entries_done(&a->entries);
	if (a->lock >= 0)
		(void)close(a->lock);
	return NULL;
}

/* @facts: NULL to detach */
static int in_thread(pid_t pid, const struct seep_attach_plan *plan,
		     const struct seep_attach_facts *facts, struct seep_attach_result *ret_result,
		     int (*act)(struct attach *a, struct seep_error *err), struct seep_error *err)
{
	struct job job = {
		.attach = {
			.pid = pid,
			.lock = -1,
			.fd = -1,
			.plan = plan,
			.began_ns = seep_monotonic_ns(),
			.deadline_ns = seep_monotonic_ns() + plan->deadline_ns,
			.program = facts ? facts->program : attach_program(pid),
			.linked_allocator = facts && seep_entry_knows(facts->linked_allocator)
						    ? facts->linked_allocator
						    : NULL,
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
	const uint64_t deadline_ns = seep_monotonic_ns() + plan->deadline_ns;
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct seep_attach_plan rest = *plan;
	struct seep_attach_facts facts;
	int rc;

	*ret_result = (struct seep_attach_result){ 0 };
	do {
		seep_attach_look(pid, &facts);
		rc = seep_attach_check(&facts, err);
		free(ret_result->ledger);
		free(ret_result->allocator);
		*ret_result = (struct seep_attach_result){ 0 };
		if (rc == 0)
			rc = in_thread(pid, &rest, &facts, ret_result, join, err);
		else if (facts.is_starting)
			(void)nanosleep(&pause, NULL);
		rest.deadline_ns = deadline_ns - seep_monotonic_ns();
		/*
		 * One that has only just begun, or executes another program meanwhile. Time that is up is below 0,
		 * which is a large number.
		 */
	} while (rc < 0 && (facts.is_starting || attach_has_executed(pid, facts.program)) &&
		 rest.deadline_ns <= plan->deadline_ns);
	return rc;
}

int seep_detach(pid_t pid, const struct seep_attach_plan *plan,
		struct seep_attach_result *ret_result, struct seep_error *err)
{
	return in_thread(pid, plan, NULL, ret_result, leave, err);
}
