/* SPDX-License-Identifier: MIT */
#include "target/attach.h"

#include "base/clock.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/release.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "ledger/ledger_attach.h"
#include "symbol/elf_image.h"
#include "target/divert.h"
#include "target/live_modules.h"
#include "target/safe_point.h"
#include "target/stop_refusal.h"
#include "target/tracee.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE_BYTES = 4096,
	STACK_BYTES = 256 << 10,
	RESULTS = SEEP_DIVERSION_STEPS_MAX + 1,
	PATH_BYTES = 64,
	MUTEX_RECURSIVE = 1,
	MUTEX_BYTES = 40,
	MUTEX_KIND_AT = 16,
	LOADER_STATE_BYTES_MAX = 1 << 14,
	MEMFD_CLOEXEC = 1,
	MEMFD_EXEC = 0x10,
};

#define STOP_NS 20000000ull	 /* for a thread to stop */
#define DONE_NS 10000000000ull	 /* for one that was led astray to come back */
#define ROUND_PAUSE_NS 500000ull /* between looks at all threads */

/* What is mapped into the process for the time of the call. */
struct scratch {
	struct ledger_attach how;
	uint64_t mapped[RESULTS], called[RESULTS]; /* as seep_diversion.done_at */
	uint64_t all_signals, blocked;
	char path[PATH_BYTES];
	_Alignas(64) uint8_t vectors[SEEP_DIVERSION_VECTORS_BYTES];
	_Alignas(PAGE_BYTES) uint8_t stack[STACK_BYTES];
};

struct attach {
	pid_t pid;
	int lock; /* /proc/PID, which one of us at a time may hold */
	bool leaves;
	const struct seep_attach_plan *plan;
	uint64_t deadline_ns;
	struct seep_live_modules modules;
	struct seep_safe_points *points;
	struct seep_live_module *libc;
	struct seep_live_module *ours; /* NULL: not loaded */
	uint64_t load_lock;	       /* the loader's, a mutex; 0: not found */
	uint64_t code;		       /* of diversions, once it is there */
	uint64_t scratch;	       /* address in the process; 0: not mapped */
	int fd;			       /* in the process, of the library; -1 none */
	const char *why;	       /* no thread can be led astray */
	struct seep_attach_result *result;
};

#define SCRATCH_AT(a, member) ((a)->scratch + offsetof(struct scratch, member))

static bool write_memory(pid_t pid, uint64_t at, const void *from, size_t bytes)
{
	const struct iovec here = { (void *)(uintptr_t)from, bytes };
	const struct iovec there = { (void *)(uintptr_t)at, bytes };

	return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static void forget_modules(struct attach *a)
{
	seep_safe_points_free(a->points);
	seep_live_modules_done(&a->modules);
	a->points = NULL;
	a->libc = a->ours = NULL;
}

static uint64_t address_of(struct attach *a, struct seep_live_module *module, const char *name)
{
	const Elf64_Sym *symbol = module ? seep_live_symbol(&a->modules, module, name) : NULL;

	return symbol ? module->bias + symbol->st_value : 0;
}

/*
 * The loader's recursive locks lie one after the other, in a variable that it exports; the first is held
 * while something is loaded. Whoever takes it without waiting cannot be waited for by who holds it.
 */
static void find_load_lock(struct attach *a, struct seep_live_module *loader)
{
	const Elf64_Sym *symbol = seep_live_symbol(&a->modules, loader, "_rtld_global");
	uint8_t state[LOADER_STATE_BYTES_MAX];
	int32_t kinds[2];
	size_t bytes;

	a->load_lock = 0;
	if (!symbol)
		return;
	bytes = core_smaller(symbol->st_size, sizeof(state));
	if (!seep_memory_read(a->modules.memory, loader->bias + symbol->st_value, state, bytes))
		return;
	for (size_t at = 0; at + 2 * MUTEX_BYTES <= bytes && !a->load_lock; at += 8) {
		memcpy(&kinds[0], state + at + MUTEX_KIND_AT, sizeof(kinds[0]));
		memcpy(&kinds[1], state + at + MUTEX_BYTES + MUTEX_KIND_AT, sizeof(kinds[1]));
		if (kinds[0] == MUTEX_RECURSIVE && kinds[1] == MUTEX_RECURSIVE)
			a->load_lock = loader->bias + symbol->st_value + at;
	}
}

static int read_modules(struct attach *a, struct seep_error *err)
{
	int rc = seep_live_modules_read(a->pid, &a->modules, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < a->modules.count; i++) {
		struct seep_live_module *module = &a->modules.items[i];

		if (module->is_libc)
			a->libc = module;
		if (module->is_ours)
			a->ours = module;
		if (module->is_loader)
			find_load_lock(a, module);
	}
	if (!a->libc || !address_of(a, a->libc, "dlopen"))
		return seep_fail(err, SEEP_EREFUSED,
				 a->libc ? "its C library is older than glibc 2.34"
					 : "it has no glibc: it is linked statically, or with "
					   "another C library");
	a->points = seep_safe_points_new(&a->modules);
	return 0;
}

/* A thread that was stopped, and when. */
struct halt {
	pid_t tid;
	uint64_t began_ns;
	struct user_regs_struct registers;
};

enum outcome {
	LED,	 /* the thread was led astray, and has come back */
	NOT_NOW, /* this one not, or not where it stood: a->why */
	FAILED,	 /* nor any other one: the error says why */
};

static void count_stop(struct attach *a, const struct halt *halt)
{
	const uint64_t ns = seep_monotonic_ns() - halt->began_ns;

	a->result->stopped_ns += ns;
	a->result->longest_ns = core_larger(a->result->longest_ns, ns);
}

/* One that does not stop at once, or is stopped by a signal, is not for us. LED: it stands. */
static enum outcome halt_thread(struct attach *a, struct halt *halt, struct seep_error *err)
{
	struct seep_refusal refusal;
	int signal, problem;

	halt->began_ns = seep_monotonic_ns();
	if (ptrace(PTRACE_SEIZE, halt->tid, NULL, NULL) < 0) {
		problem = errno;
		a->why = "its end";
		if (problem == ESRCH)
			return NOT_NOW;
		seep_refusal_look(a->pid, &refusal);
		(void)seep_refusal_say(&refusal, problem, err);
		return FAILED;
	}
	a->result->tries++;
	(void)ptrace(PTRACE_INTERRUPT, halt->tid, NULL, NULL);
	switch (seep_tracee_await(halt->tid, halt->began_ns + STOP_NS, &signal)) {
	case SEEP_TRACEE_STOPPED:
		a->why = "a stop by a signal";
		return signal == SIGTRAP && ptrace(PTRACE_GETREGS, halt->tid, NULL,
						   &halt->registers) == 0
			       ? LED
			       : NOT_NOW;
	case SEEP_TRACEE_SIGNAL:
		a->why = "the delivery of a signal";
		seep_tracee_go(PTRACE_DETACH, halt->tid, signal);
		return NOT_NOW;
	default:
		a->why = "a call that cannot be interrupted";
		return NOT_NOW;
	}
}

/* Also of one that does not stop: only what stands can be let go. */
static void release(const struct halt *halt)
{
	int signal;

	if (ptrace(PTRACE_DETACH, halt->tid, NULL, NULL) == 0 || errno != ESRCH)
		return;
	if (seep_tracee_await(halt->tid, seep_monotonic_ns() + STOP_NS, &signal) !=
	    SEEP_TRACEE_RUNS)
		seep_tracee_go(PTRACE_DETACH, halt->tid, 0);
}

/* In a section that begins again when it is interrupted nobody may be led on from the middle. */
static bool is_in_sequence(const struct halt *halt)
{
	enum { GET_RSEQ = 0x420f, SECTION_AT = 8 };
	struct {
		uint64_t address;
		uint32_t bytes, signature, flags, spare;
	} area = { 0 };

	if (ptrace((enum __ptrace_request)GET_RSEQ, halt->tid, (void *)sizeof(area), &area) < 0 ||
	    !area.address)
		return false;
	errno = 0;
	return ptrace(PTRACE_PEEKDATA, halt->tid, (void *)(area.address + SECTION_AT), NULL) != 0 ||
	       errno;
}

/* @calls: into the C library. *@ret_reads: something has to be read first. */
static bool may_lead(struct attach *a, const struct halt *halt, bool calls, bool *ret_reads)
{
	enum seep_safety safety = SEEP_SAFE;

	a->why = "a restartable sequence";
	if (is_in_sequence(halt))
		return false;
	if (calls)
		safety = seep_safe_point_look(a->points, &halt->registers, &a->why);
	*ret_reads = safety == SEEP_NOT_KNOWN;
	return safety == SEEP_SAFE;
}

/* Has the thread done all that it was led astray for? */
static bool await_done(struct attach *a, uint64_t at)
{
	const uint64_t deadline_ns = seep_monotonic_ns() + DONE_NS;
	uint64_t done = 0;

	for (unsigned turns = 0; seep_monotonic_ns() < deadline_ns; turns++) {
		if (seep_memory_read(a->modules.memory, at, &done, sizeof(done)) && done)
			return true;
		if (turns % 100 == 99 && !seep_procfs_alive((uint32_t)a->pid, 0))
			return false;
		seep_tracee_pause(turns);
	}
	return false;
}

static enum outcome lead(struct attach *a, pid_t tid, const struct seep_diversion *diversion,
			 bool calls, bool *ret_reads, struct seep_error *err)
{
	struct halt halt = { .tid = tid };
	enum outcome outcome = halt_thread(a, &halt, err);

	*ret_reads = false;
	if (outcome == FAILED)
		return FAILED;
	if (outcome == LED && !a->code && seep_diversion_prepare(&a->modules, tid, &a->code, err) < 0)
		outcome = FAILED;
	if (outcome == LED && !(may_lead(a, &halt, calls, ret_reads) &&
				seep_diversion_lead(diversion, tid, a->code, &halt.registers)))
		outcome = NOT_NOW;
	release(&halt);
	if (outcome == LED && diversion->done_at && !await_done(a, diversion->done_at)) {
		(void)seep_fail(err, SEEP_ESYS,
				"thread %d was led into libseep.so or the loader and has not come "
				"back; the process %s",
				tid, seep_procfs_alive((uint32_t)a->pid, 0) ? "lives" : "has ended");
		outcome = FAILED;
	}
	count_stop(a, &halt);
	return outcome;
}

/* Those that wait come first: nobody misses them. */
static enum outcome lead_one_of(struct attach *a, const struct seep_diversion *diversion, bool calls,
				bool waiting, struct seep_error *err)
{
	SEEP_RELEASED(seep_procfs_threads_done_at) DIR *threads = seep_procfs_threads(a->pid);
	enum outcome outcome = NOT_NOW;
	bool reads;
	pid_t tid;

	while (outcome == NOT_NOW && seep_monotonic_ns() < a->deadline_ns &&
	       (tid = seep_procfs_thread(threads))) {
		const char state = seep_tracee_state(tid);

		if ((state == 'S') != waiting || !state || state == 'Z')
			continue;
		do
			outcome = lead(a, tid, diversion, calls, &reads, err);
		while (reads && seep_safe_points_read(a->points));
	}
	return outcome;
}

static int lead_any(struct attach *a, const struct seep_diversion *diversion, bool calls,
		    struct seep_error *err)
{
	const struct timespec pause = { .tv_nsec = ROUND_PAUSE_NS };
	enum outcome outcome;

	a->why = NULL;
	do {
		outcome = lead_one_of(a, diversion, calls, true, err);
		if (outcome == NOT_NOW)
			outcome = lead_one_of(a, diversion, calls, false, err);
		if (outcome != NOT_NOW)
			return outcome == LED ? 0 : -err->code;
		(void)nanosleep(&pause, NULL);
		/* Modules may have been loaded meanwhile, whose code is not known. */
		forget_modules(a);
		if (read_modules(a, err) < 0)
			return -err->code;
		if (!seep_procfs_alive((uint32_t)a->pid, 0))
			return seep_fail(err, SEEP_ENOTFOUND, "process %d has ended", a->pid);
	} while (seep_monotonic_ns() < a->deadline_ns);
	return seep_fail(err, SEEP_EREFUSED,
			 "no thread could be led into the loader safely in %.1f s: %u times one was "
			 "looked at, the last time it was in %s",
			 (double)a->plan->deadline_ns / 1e9, a->result->tries,
			 a->why ? a->why : "none");
}

/* Room for the scratch between two mappings, with some to spare on both sides. 0: there is none. */
static uint64_t find_room(const struct attach *a)
{
	const uint64_t bytes = sizeof(struct scratch), spare = UINT64_C(1) << 20;
	const struct seep_maps *maps = &a->modules.maps;

	for (size_t i = maps->count; i-- > 1;) {
		const uint64_t begin = maps->items[i - 1].end, end = maps->items[i].begin;

		if (end < UINT64_C(1) << 47 && end > begin && end - begin > bytes + 4 * spare)
			return (end - 2 * spare - bytes) & -(uint64_t)PAGE_BYTES;
	}
	return 0;
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

/* Map the scratch and, if @loads, make a file in memory for the library. */
static int prepare(struct attach *a, bool loads, struct seep_error *err)
{
	const unsigned exec = access("/proc/sys/vm/memfd_noexec", F_OK) == 0 ? MEMFD_EXEC : 0;
	struct seep_diversion diversion = { .count = loads ? 2 : 1, .text = "libseep.so" };
	uint64_t results[RESULTS] = { 0 };
	int rc;

	a->scratch = find_room(a);
	if (!a->scratch)
		return seep_fail(err, SEEP_EREFUSED, "its address space is full");
	diversion.steps[0] = (struct seep_step){
		.what = SYS_mmap,
		.arguments = { a->scratch, sizeof(struct scratch), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX - 1, 0 },
	};
	diversion.steps[1] = (struct seep_step){
		.what = SYS_memfd_create,
		.arguments = { SEEP_STEP_TEXT, MEMFD_CLOEXEC | exec },
	};
	diversion.first_result = a->scratch;
	diversion.done_at = SCRATCH_AT(a, mapped);
	rc = lead_any(a, &diversion, false, err);
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

/* The library's own bytes, from our file system into the process's. */
static int copy_library(struct attach *a, struct seep_error *err)
{
	SEEP_FREED char *file = seep_xasprintf("fd/%d", a->fd);
	SEEP_CLOSED int from = open(a->plan->library, O_RDONLY | O_CLOEXEC);
	SEEP_CLOSED int to = open(seep_procfs_path(a->pid, file).text, O_WRONLY | O_CLOEXEC);
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
	if (!write_memory(a->pid, SCRATCH_AT(a, how), how, sizeof(*how)) ||
	    !write_memory(a->pid, SCRATCH_AT(a, all_signals), &signals, sizeof(signals)) ||
	    !write_memory(a->pid, SCRATCH_AT(a, path), path, sizeof(path)))
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

static void add_signals(struct seep_diversion *diversion, uint64_t how, uint64_t set, uint64_t before)
{
	diversion->steps[diversion->count++] = (struct seep_step){
		.what = SYS_rt_sigprocmask,
		.arguments = { how, set, before, sizeof(uint64_t) },
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

enum { STEP_LOCK = 1, STEP_OPEN = 2 };

/*
 * With signals held, if the loader's lock is free: load the library, unless it is there, and call its
 * function @name.
 */
static int call(struct attach *a, const char *name, struct seep_error *err)
{
	const bool loads = !a->ours;
	const uint64_t lock = address_of(a, a->libc, "pthread_mutex_trylock");
	const uint64_t unlock = address_of(a, a->libc, "pthread_mutex_unlock");
	const uint64_t function = loads ? offset_in_library(a->plan->library, name)
					: address_of(a, a->ours, name);
	struct seep_diversion diversion = {
		.done_at = SCRATCH_AT(a, called),
		.stack = SCRATCH_AT(a, stack) + STACK_BYTES,
		.vectors = SCRATCH_AT(a, vectors),
		.errno_location = address_of(a, a->libc, "__errno_location"),
	};

	if (!function || !lock || !unlock || !a->load_lock)
		return seep_fail(err, SEEP_EREFUSED, "its %s is not one that seep knows",
				 function ? "C library" : "libseep.so");
	add_signals(&diversion, SIG_BLOCK, SCRATCH_AT(a, all_signals), SCRATCH_AT(a, blocked));
	add_step(&diversion, lock, a->load_lock, 0, loads ? 3 : 2);
	/* Globally: so that a program finds what it may say to seep. It is never unloaded. */
	if (loads)
		add_step(&diversion, address_of(a, a->libc, "dlopen"), SCRATCH_AT(a, path),
			 RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE, -1);
	add_step(&diversion, function | (loads ? SEEP_STEP_IN_OBJECT : 0), SCRATCH_AT(a, how), 0, 0);
	add_step(&diversion, unlock, a->load_lock, 0, 0);
	add_signals(&diversion, SIG_SETMASK, SCRATCH_AT(a, blocked), 0);
	return lead_any(a, &diversion, true, err);
}

/* Of the process's answer. */
static int conclude(const struct attach *a, const struct ledger_attach *how, struct seep_error *err)
{
	switch (atomic_load(&how->result)) {
	case LEDGER_ATTACH_DONE:
		a->result->ledger = seep_xstrndup(how->ledger, sizeof(how->ledger) - 1);
		a->result->changed = how->changed;
		return 0;
	case LEDGER_ATTACH_OTHER_VERSION:
		return seep_fail(err, SEEP_EREFUSED,
				 "another version of libseep.so is loaded in it, and stays");
	case LEDGER_ATTACH_ALREADY:
		return a->leaves ? seep_fail(err, SEEP_ENOTFOUND, "it is not recorded")
				 : seep_fail(err, SEEP_EEXIST, "it is recorded already");
	case LEDGER_ATTACH_NO_LEDGER:
		return seep_fail(err, SEEP_EREFUSED,
				 "it has no folder for a ledger (/dev/shm, /run/user/UID, /var/tmp or "
				 "/tmp, as it sees them), or no room there");
	case LEDGER_ATTACH_BUSY:
		return seep_fail(err, SEEP_EREFUSED,
				 "one of its threads is still where the last detach met it, in the "
				 "middle of libseep.so");
	default:
		return seep_fail(err, SEEP_EREFUSED,
				 "its loader does not load libseep.so: most often for want of room for "
				 "thread-local storage, or where memory may not be executable");
	}
}

static int call_until(struct attach *a, const char *name, struct seep_error *err)
{
	SEEP_FREED struct ledger_attach *how = seep_xcalloc(1, sizeof(*how));
	uint64_t results[RESULTS], none = 0;
	int rc;

	do {
		rc = write_memory(a->pid, SCRATCH_AT(a, called), &none, sizeof(none))
			     ? call(a, name, err)
			     : seep_fail_errno(err, errno, "cannot write to its memory");
		if (rc < 0)
			return rc;
		if (!seep_memory_read(a->modules.memory, SCRATCH_AT(a, called), results,
				      sizeof(results)))
			return seep_fail(err, SEEP_ENOTFOUND, "process %d has ended", a->pid);
		a->why = "another thread's loading";
	} while (results[1 + STEP_LOCK] && seep_monotonic_ns() < a->deadline_ns);
	if (results[1 + STEP_LOCK])
		return seep_fail(err, SEEP_EREFUSED,
				 "its loader was at work in another thread whenever it was asked, %u "
				 "times in %.1f s",
				 a->result->tries, (double)a->plan->deadline_ns / 1e9);
	if (!seep_memory_read(a->modules.memory, SCRATCH_AT(a, how), how, sizeof(*how)))
		return seep_fail(err, SEEP_ENOTFOUND, "process %d has ended", a->pid);
	return conclude(a, how, err);
}

/* What is left in the process, if it lives. It may take a little longer than the rest. */
static void clean_up(struct attach *a)
{
	struct seep_diversion diversion = { 0 };

	if (!a->scratch)
		return;
	a->deadline_ns = seep_monotonic_ns() + SEEP_NS_PER_S;
	if (a->fd >= 0)
		add_step(&diversion, SYS_close, (uint64_t)a->fd, 0, 0);
	add_step(&diversion, SYS_munmap, a->scratch, sizeof(struct scratch), 0);
	(void)lead_any(a, &diversion, false, NULL);
}

static int take_lock(struct attach *a, struct seep_error *err)
{
	a->lock = open(seep_procfs_path(a->pid, "").text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->lock < 0)
		return seep_fail(err, SEEP_ENOTFOUND, "there is no process %d", a->pid);
	if (flock(a->lock, LOCK_EX | LOCK_NB) < 0)
		return seep_fail(err, SEEP_EREFUSED, "another seep is attaching to it or detaching");
	return 0;
}

static bool is_loaded_by_us(const struct attach *a)
{
	return a->ours && strstr(a->ours->path, "memfd:libseep.so");
}

static int join(struct attach *a, struct seep_error *err)
{
	int rc = read_modules(a, err);

	if (rc == 0 && a->ours && !is_loaded_by_us(a))
		return seep_fail(err, SEEP_EEXIST,
				 "it was started with libseep.so; \"seep mode\" turns recording on "
				 "and off");
	if (rc == 0)
		rc = prepare(a, !a->ours, err);
	if (rc == 0 && !a->ours)
		rc = copy_library(a, err);
	if (rc == 0)
		rc = fill_scratch(a, err);
	return rc == 0 ? call_until(a, "seep_rt_attach", err) : rc;
}

static int leave(struct attach *a, struct seep_error *err)
{
	int rc = read_modules(a, err);

	a->leaves = true;
	if (rc == 0 && !is_loaded_by_us(a))
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

	job->rc = take_lock(a, job->err);
	if (job->rc == 0)
		job->rc = job->act(a, job->err);
	clean_up(a);
	forget_modules(a);
	if (a->lock >= 0)
		(void)close(a->lock);
	return NULL;
}

static int in_thread(pid_t pid, const struct seep_attach_plan *plan, struct seep_attach_result *ret_result,
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

int seep_attach(pid_t pid, const struct seep_attach_plan *plan, struct seep_attach_result *ret_result,
		struct seep_error *err)
{
	return in_thread(pid, plan, ret_result, join, err);
}

int seep_detach(pid_t pid, const struct seep_attach_plan *plan, struct seep_attach_result *ret_result,
		struct seep_error *err)
{
	return in_thread(pid, plan, ret_result, leave, err);
}
