/* SPDX-License-Identifier: MIT */
/*
 * A fork that the process does not notice. Its child would be one that its wait() finds; a
 * grandchild whose parent has ended is init's, or a subreaper's. So:
 *
 *	process   clone(CLONE_VM)     a middle process, which shares its memory: nothing is copied
 *	middle    clone()	      the copy
 *	middle    is killed	      and says nothing: its exit signal is 0
 *	process   wait4(middle)	      nothing of it is left
 *
 * Copy and middle are traced from their birth on, as children of a traced thread. Neither ever
 * runs an instruction of the program; both die if we die (PTRACE_O_EXITKILL).
 */
#include "base/clock.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "target/injection.h"
#include "target/present_pages.h"
#include "target/roots.h"
#include "target/stop.h"
#include "target/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CLOSE_UNSHARED = 2, /* CLOSE_RANGE_UNSHARE */
	RED_ZONE_BYTES = 128,
	SCRATCH_BYTES = 64,
	SMALL_BYTES = 16 << 20,
	USER_CODE_64 = 0x33,   /* the code segment of 64-bit programs */
	GET_DISPATCH = 0x4211, /* PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, since Linux 6.4 */
};

#define CHILD_OPTIONS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)
#define BIRTH_NS 10000000000ull

/*
 * The thread that system calls are made in; NULL: none can. One in a system call is in no
 * restartable sequence.
 */
static struct seep_thread *find_caller(const struct seep_stopped *stopped)
{
	struct seep_thread *any = NULL;

	for (size_t i = 0; i < stopped->thread_count; i++) {
		struct seep_thread *thread = &stopped->threads[i];

		/* One that the kernel runs for io_uring is listed too, and has no place. */
		if (!thread->stopped || thread->registers.cs != USER_CODE_64 ||
		    !thread->registers.rip)
			continue;
		if ((long long)thread->registers.orig_rax >= 0)
			return thread;
		if (!any)
			any = thread;
	}
	return any;
}

/* The process has a part of its system calls brought to itself, as wine does. */
static bool dispatches(pid_t tid)
{
	struct {
		uint64_t mode, selector, offset, length;
	} config = { 0 };

	return ptrace((enum __ptrace_request)GET_DISPATCH, tid, (void *)sizeof(config), &config) ==
		       0 &&
	       config.mode;
}

/*
 * Why a call cannot be made in it, or a copy would be noticed; NULL: nothing tells. A filter may
 * kill the process for a call.
 */
static const char *why_not(struct seep_stopped *stopped)
{
	const struct seep_thread *caller = find_caller(stopped);
	struct seep_procfs_status status, caller_status;

	if (!caller)
		return "none of its threads stands where it could make a system call";
	if (!seep_procfs_status((uint32_t)caller->tid, &caller_status) ||
	    !seep_procfs_status((uint32_t)stopped->pid, &status))
		return "what /proc says of it cannot be read";
	if (caller_status.seccomp)
		return "a filter restricts its system calls (seccomp)";
	if (dispatches(caller->tid))
		return "it handles system calls itself (syscall user dispatch)";
	if (status.own_pid == 1)
		return "it is the first process of its PID namespace: a copy would be its child";
	/* The next write to each page would be a fault, which mlock() is there to prevent. */
	if (status.pinned_bytes || status.locked_bytes > status.rss_bytes / 2)
		return "its memory is locked";
	if (!seep_injection_is_site(caller->tid, stopped->call_site))
		stopped->call_site = seep_injection_site(stopped->pid);
	return stopped->call_site ? NULL
				  : "no instruction that makes a system call was found in it";
}

/* Below the stack's red zone no program may keep anything; what is there is put back. */
static int ask_subreaper(const struct seep_stopped *stopped, bool *ret_is, struct seep_error *err)
{
	const struct seep_thread *caller = find_caller(stopped);
	const uint64_t at = (caller->registers.rsp - RED_ZONE_BYTES - SCRATCH_BYTES) & ~UINT64_C(7);
	const uint64_t arguments[6] = { PR_GET_CHILD_SUBREAPER, at };
	struct seep_injection injection;
	int64_t value = 0;
	long held, answer;
	int rc;

	errno = 0;
	held = ptrace(PTRACE_PEEKDATA, caller->tid, (void *)at, NULL);
	if (errno)
		return seep_fail(err, SEEP_ESYS, "there is no room on its stack");
	rc = seep_injection_begin(&injection, caller->tid, stopped->call_site, err);
	if (rc == 0)
		rc = seep_injection_call(&injection, SYS_prctl, arguments, &value, err);
	seep_injection_end(&injection);
	answer = ptrace(PTRACE_PEEKDATA, caller->tid, (void *)at, NULL);
	(void)ptrace(PTRACE_POKEDATA, caller->tid, (void *)at, (void *)held);
	*ret_is = value < 0 || (int)answer != 0;
	return rc;
}

bool seep_stop_may_copy(struct seep_stopped *stopped, struct seep_error *ret_why)
{
	const char *why = why_not(stopped);
	bool is_subreaper = false;

	if (!why && ask_subreaper(stopped, &is_subreaper, ret_why) < 0)
		return false;
	if (is_subreaper)
		why = "it is a subreaper: a copy would be its child";
	if (why)
		(void)seep_fail(ret_why, SEEP_EREFUSED, "%s", why);
	return !why;
}

bool seep_stop_is_small(const struct seep_stopped *stopped)
{
	struct seep_procfs_status status;

	return stopped->thread_count == 1 && stopped->threads[0].stopped &&
	       seep_procfs_is_ours((uint32_t)stopped->threads[0].tid) &&
	       seep_procfs_status((uint32_t)stopped->threads[0].tid, &status) &&
	       status.rss_bytes < SMALL_BYTES;
}

/* Until it stands at its first instruction. */
static bool await_birth(pid_t pid)
{
	const uint64_t deadline_ns = seep_monotonic_ns() + BIRTH_NS;
	int signal;

	return seep_tracee_await(pid, deadline_ns, &signal) == SEEP_TRACEE_STOPPED &&
	       ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)CHILD_OPTIONS) == 0;
}

/*
 * A child by clone() with @flags, without an exit signal, standing still.
 * @ret_own: its pid as the thread knows it
 */
static int make_child(struct seep_injection *injection, uint64_t flags, pid_t *ret_child,
		      int64_t *ret_own, struct seep_error *err)
{
	const uint64_t arguments[6] = { flags };
	int rc;

	rc = seep_injection_call(injection, SYS_clone, arguments, ret_own, err);
	*ret_child = injection->child;
	if (rc < 0)
		return rc;
	if (*ret_own < 0)
		return seep_fail_errno(err, (int)-*ret_own, "clone");
	if (!*ret_child || !await_birth(*ret_child))
		return seep_fail(err, SEEP_ESYS, "the child that was made does not stand still");
	return 0;
}

/*
 * Descriptors are shared with the process until here: it would not be able to close one for good.
 * Closing them all in a table of its own leaves the copy none, and touches no file.
 */
static void drop_files(pid_t copy, uint64_t site)
{
	const uint64_t arguments[6] = { 0, UINT32_MAX, CLOSE_UNSHARED };
	struct seep_injection injection;
	int64_t value;

	/* It never runs again: there is no end. */
	if (seep_injection_begin(&injection, copy, site, NULL) == 0)
		(void)!seep_injection_call(&injection, SYS_close_range, arguments, &value, NULL);
}

/* Where memory runs short it shall be the one that goes. */
static void offer_to_killer(pid_t copy)
{
	SEEP_CLOSED const int fd = open(seep_procfs_path(copy, "oom_score_adj").text,
					O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "1000", 4);
}

static int copy_by(pid_t middle, uint64_t site, pid_t *ret_copy, struct seep_error *err)
{
	struct seep_injection injection;
	int64_t own;
	int rc;

	rc = seep_injection_begin(&injection, middle, site, err);
	if (rc == 0)
		rc = make_child(&injection, CLONE_FILES, ret_copy, &own, err);
	return rc;
}

static int copy_through(struct seep_stopped *stopped, struct seep_injection *injection,
			pid_t *ret_copy, struct seep_error *err)
{
	const pid_t tid = injection->tid;
	int64_t own = 0, waited;
	pid_t middle = 0;
	int rc;

	(void)ptrace(PTRACE_SETOPTIONS, tid, NULL,
		     (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE));
	rc = make_child(injection, CLONE_VM | CLONE_FILES, &middle, &own, err);
	(void)ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
	if (rc == 0)
		rc = copy_by(middle, stopped->call_site, ret_copy, err);
	seep_copy_end(middle);
	if (own > 0) {
		const uint64_t arguments[6] = { (uint64_t)own, 0, __WALL };
		int waiting = seep_injection_call(injection, SYS_wait4, arguments, &waited,
						  rc == 0 ? err : NULL);

		if (rc == 0)
			rc = waiting;
	}
	return rc;
}

int seep_stop_copy(struct seep_stopped *stopped, pid_t *ret_copy, struct seep_error *err)
{
	const struct seep_thread *caller = find_caller(stopped);
	struct seep_injection injection;
	pid_t copy = 0;
	int rc;

	if (!caller || !stopped->call_site)
		return seep_fail(err, SEEP_ESYS, "it cannot make system calls");
	rc = seep_injection_begin(&injection, caller->tid, stopped->call_site, err);
	if (rc == 0)
		rc = copy_through(stopped, &injection, &copy, err);
	seep_injection_end(&injection);
	if (rc < 0) {
		seep_copy_end(copy);
		seep_error_prefix(err, "cannot copy process %d", stopped->pid);
		return rc;
	}
	drop_files(copy, stopped->call_site);
	offer_to_killer(copy);
	*ret_copy = copy;
	return 0;
}

void seep_copy_end(pid_t copy)
{
	int status = 0;
	pid_t rc;

	if (copy <= 0)
		return;
	if (kill(copy, SIGKILL) < 0)
		(void)ptrace(PTRACE_KILL, copy, NULL, NULL);
	do {
		rc = waitpid(copy, &status, __WALL | __WNOTHREAD);
	} while ((rc < 0 && errno == EINTR) || (rc == copy && WIFSTOPPED(status)));
}

/*
 * What forks leave out. What is excluded is missing among the copy's mappings. What is wiped is
 * there, but has no pages, while the process has some: /proc/PID/smaps would name it, and visits
 * each page of the process for that. Where mappings are small, one call tells of many.
 */
enum {
	TOGETHER_BYTES = 2 << 20,
	MOST_BYTES = 64 << 20,
	LOOK_AT_MAX = 1 << 23, /* pages, one by one, where the kernel cannot look: 0.05 s */
};

#define ADDRESSES_END ((UINT64_C(1) << LEDGER_ADDRESS_BITS) - LEDGER_PAGE_BYTES)

/* One of the two, the process or its copy. */
struct side {
	struct seep_present_pages pages;
	struct seep_ranges found; /* pages up to @end, from where was looked last */
	uint64_t end;
};

static bool has_pages(struct side *side, const struct seep_mapping *mapping)
{
	const uint64_t upto = core_smaller(mapping->begin + TOGETHER_BYTES, ADDRESSES_END);
	size_t at;

	if (mapping->end > upto)
		return seep_present_pages_any(&side->pages, mapping->begin, mapping->end);
	if (mapping->end > side->end) {
		side->end = upto;
		side->found.count = 0;
		if (!seep_present_pages_find(&side->pages, mapping->begin, upto, &side->found))
			seep_ranges_add(&side->found, mapping->begin, upto);
	}
	at = seep_ranges_from(&side->found, mapping->begin);
	return at < side->found.count && side->found.items[at].begin < mapping->end;
}

/* What the process has of @mapping. False: it is more than @left_bytes, or cannot be read. */
static bool carry(struct side *process, int from, int to, const struct seep_mapping *mapping,
		  uint64_t *left_bytes)
{
	SEEP_RELEASED(seep_ranges_done) struct seep_ranges pages = { 0 };
	bool is_good = seep_present_pages_find(&process->pages, mapping->begin, mapping->end,
					       &pages);

	for (size_t i = 0; i < pages.count && is_good; i++) {
		const off_t at = (off_t)pages.items[i].begin;
		const uint64_t bytes = pages.items[i].end - pages.items[i].begin;
		SEEP_FREED uint8_t *buffer = seep_xmalloc(core_smaller(bytes, MOST_BYTES));

		is_good = bytes <= *left_bytes &&
			  pread(from, buffer, bytes, at) == (ssize_t)bytes &&
			  pwrite(to, buffer, bytes, at) == (ssize_t)bytes;
		*left_bytes -= bytes;
	}
	return is_good;
}

int seep_stop_complete(const struct seep_maps *maps, pid_t copy, const struct seep_mapping *ledger,
		       struct seep_error *err)
{
	SEEP_CLOSED const int from = open(seep_procfs_path(maps->tid, "mem").text,
					  O_RDONLY | O_CLOEXEC);
	SEEP_CLOSED const int to = open(seep_procfs_path(copy, "mem").text, O_WRONLY | O_CLOEXEC);
	SEEP_RELEASED(seep_maps_done) struct seep_maps copied = { 0 };
	struct side of_process = { 0 }, of_copy = { 0 };
	uint64_t left_bytes = MOST_BYTES;
	int rc = seep_maps_read(copy, &copied, err);

	seep_present_pages_init(&of_process.pages, maps->tid);
	seep_present_pages_init(&of_copy.pages, copy);
	of_process.pages.pages_left = of_copy.pages.pages_left = LOOK_AT_MAX;
	for (size_t i = 0; i < maps->count && rc == 0; i++) {
		const struct seep_mapping *mapping = &maps->items[i];

		if (seep_roots_is_device(mapping) ||
		    (ledger && seep_text_equal(mapping->name, ledger->name)))
			continue;
		/* Where the kernel cannot look, there may be too many: heaps of threads have such memory. */
		if (!mapping->readable &&
		    !(seep_roots_is_vault(mapping) && of_process.pages.can_scan &&
		      has_pages(&of_process, mapping)))
			continue;
		if (!seep_maps_find(&copied, mapping->begin))
			rc = seep_fail(err, SEEP_EREFUSED,
				       "it excludes memory from forks (MADV_DONTFORK)");
		else if (mapping->inode == 0 && !mapping->shared && !has_pages(&of_copy, mapping) &&
			 has_pages(&of_process, mapping) &&
			 !carry(&of_process, from, to, mapping, &left_bytes))
			rc = seep_fail(err, SEEP_EREFUSED,
				       "what it has wiped in forks (MADV_WIPEONFORK) is too much, "
				       "or cannot be read");
	}
	seep_present_pages_done(&of_process.pages);
	seep_present_pages_done(&of_copy.pages);
	seep_ranges_done(&of_process.found);
	seep_ranges_done(&of_copy.found);
	return rc;
}
