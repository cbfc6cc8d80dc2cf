/* SPDX-License-Identifier: MIT */
#include "runtime/life/start.h"

#include "runtime/life/exit.h"
#include "runtime/next/next.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/lock.h"
#include "runtime/life/make.h"
#include "runtime/life/rt_scan_request.h"
#include "runtime/life/start_tool.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/context.h"
#include "runtime/track/counters.h"
#include "runtime/track/module_filter.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/record.h"
#include "runtime/track/thread_names.h"
#include "runtime/track/usable.h"
#include "runtime/track/young_replay.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/wanted.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

enum rt_phase { RT_NOT_YET = 0, RT_STARTING, RT_ON, RT_OFF };

/* A thread that finds another one starting waits for it, in steps of a millisecond. */
enum { START_WAITS = 200, DIR_MAX = 4096 };

static struct rt_options options;
static const char *dir;
static uint64_t session;
static const char *allocator_path;
static _Atomic uint32_t phase;
static _Atomic uint32_t starter; /* thread id, while phase is RT_STARTING */
static uintptr_t starter_frame;	 /* of begin(), there */

static bool enter_phase(uint32_t from)
{
	return atomic_compare_exchange_strong_explicit(&phase, &from, RT_STARTING,
						       memory_order_acquire, memory_order_relaxed);
}

/* 16 random bytes that the kernel gives to every program, from the auxiliary vector. */
static uint64_t random_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t seed = 0;

	if (random)
		memcpy(&seed, random, sizeof(seed));
	return core_hash_step(seed, 0x73656570);
}

/*
 * The page that a fork wipes: fresh anonymous memory in the place of rt_mine, which may share its
 * last file-backed page.
 */
static bool map_mine(void)
{
	long ret = rt_syscall6(SYS_mmap, (long)&rt_mine, sizeof(rt_mine), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	return ret == (long)&rt_mine &&
	       rt_syscall3(SYS_madvise, (long)&rt_mine, sizeof(rt_mine), MADV_WIPEONFORK) == 0;
}

/* Marks are appended by tools; give them pages now, so that they need none later. */
static void reserve_marks(void)
{
	enum { PAGE = LEDGER_PAGE_BYTES / sizeof(struct ledger_mark) };
	struct ledger_table_state *marks = &rt_global.state->table[LEDGER_TABLE_MARKS];
	uint64_t capacity = rt_global.header->table[LEDGER_TABLE_MARKS].capacity;
	uint64_t count = rt_global.header->origin == LEDGER_ORIGIN_FORK ? PAGE : 4 * PAGE;

	(void)rt_table_take(LEDGER_TABLE_MARKS, capacity < count ? capacity : count);
	rt_store(&marks->reserved, 0);
}

static bool open_books(void)
{
	if (!rt_contexts_start()) {
		rt_note_unseen(LEDGER_UNSEEN_NO_MEMORY);
		return false;
	}
	reserve_marks();
	rt_names_start(options.by_thread != 0);
	return true;
}

/* A program may write its title over its environment: forked children need a copy. */
static const char *keep_dir(const char *given)
{
	static RT_LARGE char kept[DIR_MAX];
	size_t length = given ? strlen(given) : 0, before = 0;

	/* The program may change its working directory; one out of reach has no path from /. */
	if (given && *given != '/' &&
	    rt_syscall3(SYS_getcwd, (long)kept, sizeof(kept) - 1, 0) > 0 && *kept == '/') {
		before = strlen(kept) + 1;
		kept[before - 1] = '/';
	}
	if (!given || before + length >= sizeof(kept))
		return NULL;
	memcpy(kept + before, given, length + 1);
	return kept;
}

static bool start(const struct rt_start *how)
{
	struct rt_make make = {
		.options = &options,
		.origin = how->origin,
		.first_row = 1,
		.parent = "",
		.arguments = how->arguments,
	};

	if (!rt_options_read(how->options, &options) || !map_mine())
		return false;
	rt_facts_start();
	rt_tool_find();
	make.dir = dir = keep_dir(how->dir);
	make.session = session = how->session;
	rt_module_filter_start(options.modules);
	rt_global.seed = random_seed();
	rt_vdso_clock = (rt_clock *)(uintptr_t)rt_find_elsewhere("__vdso_clock_gettime");
	rt_global.glibc = rt_next_is_glibc();
	rt_global.verify_every = (uint32_t)options.verify;
	rt_global.leak_exitcode = (uint32_t)options.leak_exitcode;
	if (rt_global.glibc && !rt_operators_foreign) {
		if (!options.verify)
			rt_store(&rt_global.quick, RT_QUICK_GLIBC);
		rt_global.granule_shift = LEDGER_GRANULE_SHIFT_GLIBC;
	} else {
		rt_global.granule_shift = LEDGER_GRANULE_SHIFT_OTHER;
	}
	make.allocator_path = allocator_path = rt_next_malloc_path();
	if (!rt_pagemap_start())
		return false;
	if (!rt_ledger_make(&make)) {
		rt_pagemap_stop();
		return false;
	}
	if (!rt_global.glibc)
		rt_note_unseen(LEDGER_UNSEEN_ALLOCATOR);
	rt_modules_start();
	if (!open_books())
		return false;
	rt_mine.control = rt_global.control;
	return true;
}

/*
 * A signal handler may fork while it interrupts one of our hooks. When it returns, in the child
 * too, the hook goes on where it was, in the parent's ledger as it knows it; so the child gets a
 * copy of that, private and in the same place, and its own recording begins when the hook has left.
 * Until then this is its busy word; what the handler does meanwhile is not recorded.
 */
static _Atomic uint64_t *interrupted;
/* The parent's own, mapped once more: what is to be counted there must not go into the copy. */
static struct ledger_state *parent_state;
/* Of the thread that forked; NULL: it had none, or the parent is young. */
static const struct rt_walk *forked_walk;

static void keep_parent_state(const struct ledger_state *parent)
{
	/* Of no bytes, a shared mapping is not moved: the same pages appear a second time. */
	long state = rt_syscall6(SYS_mremap, (long)parent, 0, LEDGER_PAGE_BYTES, MREMAP_MAYMOVE, 0,
				 0);

	/* Fails in the child of a child without a ledger: the first one's is still there. */
	if (state > 0)
		parent_state = (struct ledger_state *)state;
}

static bool copy_ledger(void)
{
	const struct ledger_header *header = rt_global.header;
	uint8_t *copy = rt_mmap_sparse(rt_global.bytes);

	if (!copy)
		return false;
	keep_parent_state(rt_global.state);
	memcpy(copy, rt_global.base, header->table[0].offset);
	for (unsigned i = 0; i < LEDGER_TABLE_COUNT; i++) {
		const struct ledger_table *table = &header->table[i];

		memcpy(copy + table->offset, rt_global.base + table->offset,
		       rt_load_acquire(&rt_global.state->table[i].ready) * table->item_bytes);
	}
	return rt_syscall6(SYS_mremap, (long)copy, (long)rt_global.bytes, (long)rt_global.bytes,
			   MREMAP_MAYMOVE | MREMAP_FIXED, (long)rt_global.base,
			   0) == (long)rt_global.base;
}

/* Of a young parent all is private but the sums. */
static bool copy_sums(void)
{
	long sums = (long)rt_young.ancestor;

	keep_parent_state(rt_young.ancestor);
	return rt_syscall6(SYS_mmap, sums, LEDGER_PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == sums;
}

/* In fork()'s child this thread is the only one; its state belongs to the parent's ledger. */
static void at_fork_child(void)
{
	_Atomic uint64_t *busy = rt_young.is_on ? &rt_young.busy : rt_busy_word();
	uint64_t outer = rt_load(busy);

	rt_exit_forked(rt_tls.tid);
	forked_walk = rt_tls.thread && !outer ? &rt_tls.thread->walk : NULL;
	rt_tls = (struct rt_tls){ .ignoring = rt_tls.ignoring, .busy = rt_load(&rt_tls.busy) };
	/* The kernel wiped it. Read before it is written to, the page would cost two faults. */
	*(volatile char *)rt_mine.rest = 0;
	if (outer && rt_walk_is_inside(__builtin_frame_address(0), outer) &&
	    (rt_young.is_on ? copy_sums() : copy_ledger()))
		interrupted = busy;
}

/* The hook that this child's fork interrupted has not left yet. Other threads cannot look. */
static bool is_inside_fork(void)
{
	uint64_t outer = interrupted ? rt_load(interrupted) : 0;

	return outer &&
	       (rt_gettid() != rt_getpid() || rt_walk_is_inside(__builtin_frame_address(0), outer));
}

static void note_unrecorded(struct ledger_state *state)
{
	rt_add(&state->unrecorded_children, 1);
	(void)atomic_fetch_or_explicit(&state->unseen, LEDGER_UNSEEN_UNRECORDED_CHILD,
				       memory_order_relaxed);
}

/* Where a child counts as long as it has no ledger. */
static struct ledger_state *ancestor(void)
{
	if (parent_state)
		return parent_state;
	return rt_young.is_on ? rt_young.ancestor : rt_global.state;
}

/* The first row id after those that this process may have used. */
static uint32_t next_row(void)
{
	uint64_t rows = rt_load(&rt_global.state->table[LEDGER_TABLE_ROWS].reserved);
	uint64_t capacity = rt_global.header->table[LEDGER_TABLE_ROWS].capacity;

	if (rt_young.is_on)
		return rt_young.first_id + RT_YOUNG_OPS;
	return rt_global.first_row + (uint32_t)(rows < capacity ? rows : capacity);
}

/*
 * False: this child is to have a ledger at once. Filters and checks are nothing for a log, and what
 * is counted in the ledger of a process that has ended comes too late for its recording.
 */
static bool be_young(void)
{
	const struct ledger_control *parent = rt_global.control;
	struct ledger_state *counts = ancestor();

	if (options.forks <= 1 || options.verify || options.by_thread || !rt_load(&rt_usable_met) ||
	    rt_load(&parent->mode) != LEDGER_MODE_ALL || rt_load(&parent->filtered_once))
		return false;
	return !rt_load(&counts->ended) &&
	       rt_syscall3(SYS_getppid, 0, 0, 0) == (long)rt_global.pid &&
	       rt_young_begin(counts, next_row(), forked_walk, options.forks);
}

/* A child that gets a ledger, as it was before. */
static struct rt_global former;

/* Into its ledger: what it takes over from its parent, and what it has done before. */
static bool fill_child(void)
{
	struct ledger_control *control = rt_global.control;
	const struct ledger_control *parent = former.control;

	rt_store(&control->mode, rt_load(&parent->mode));
	rt_store(&control->filtered_once, rt_load(&parent->filtered_once));
	rt_store(&control->size_min_bytes, rt_load(&parent->size_min_bytes));
	rt_store(&control->size_max_bytes, rt_load(&parent->size_max_bytes));
	rt_note_unseen(rt_load(&former.state->unseen) &
		       (rt_mine.young ? UINT32_MAX : RT_UNSEEN_INHERITED));
	rt_store(&rt_global.threshold_bytes, 0);
	rt_threads_forked();
	rt_lock_forked();
	rt_contexts_forked();
	rt_modules_forked();
	return open_books() && (!rt_mine.young || rt_young_replay(__builtin_frame_address(0)));
}

/*
 * Of a young child that is to have a ledger: until its log is not in use. Others' hooks take long.
 */
static void wait_for_log(void)
{
	atomic_store_explicit(&rt_young.grows, true, memory_order_seq_cst);
	for (unsigned i = 0; !rt_young_is_user() && i < START_WAITS; i++) {
		if (!atomic_load_explicit(&rt_young.busy, memory_order_seq_cst))
			return;
		(void)rt_futex_wait(&phase, RT_STARTING, 1);
	}
}

/*
 * In a forked child everything private is a copy of the parent's and stays valid: the page map,
 * the rules. What belongs to the parent's ledger is forgotten. The mapping of that ledger is
 * replaced by other memory at the same place, because the fork may have been called from a
 * signal handler inside one of our hooks, which will go on writing there when it returns. It is
 * shared with nobody but our own children, in name: private memory counts under RLIMIT_DATA.
 */
static bool start_child(void)
{
	bool young = rt_mine.young;
	char parent_name[LEDGER_NAME_BYTES];
	uint32_t first_row = next_row();
	struct rt_make make = {
		.options = &options,
		.dir = dir,
		.session = session,
		.origin = LEDGER_ORIGIN_FORK,
		.first_row = first_row,
		.parent_rows_end = rt_young.is_on ? rt_young.parent_rows_end : first_row,
		.age_ns = young ? rt_now_ns() - rt_young.since_ns : 0,
		.parent = parent_name,
		.fill = fill_child,
		.allocator_path = allocator_path,
		.private_bytes = rt_load(&rt_global.state->private_bytes),
		.argv = rt_global.strings + rt_global.header->argv.offset,
		.argv_bytes = rt_global.header->argv.bytes,
	};
	struct ledger_state *counts = ancestor();
	bool made;

	if (young)
		wait_for_log();
	memcpy(parent_name, rt_ledger_name, sizeof(parent_name));
	former = rt_global;
	made = first_row < LEDGER_ROW_ID_END - 2 && rt_ledger_make(&make);
	/*
	 * Of one that lies elsewhere, after setuid() or chroot(), whoever reads ours would not
	 * know.
	 */
	if (!made || rt_ledger_moved)
		note_unrecorded(counts);
	if (made) {
		rt_mine.control = rt_global.control;
	} else {
		rt_tls.thread = NULL;
		rt_mine.young = NULL;
	}
	rt_young.is_on = false;
	rt_wanted_forked();
	if (parent_state)
		(void)rt_syscall3(SYS_munmap, (long)parent_state, LEDGER_PAGE_BYTES, 0);
	parent_state = NULL;
	(void)rt_syscall6(SYS_mmap, (long)former.base, (long)former.bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	interrupted = NULL;
	return made;
}

/*
 * Another thread is making the ledger, so this is a forked child that started threads before it
 * allocated: wait, or the allocation would be missing. The maker's own allocations are not.
 */
static struct ledger_control *wait_for_start(void)
{
	uint32_t tid = rt_gettid();

	for (unsigned i = 0; rt_load_acquire(&phase) == RT_STARTING; i++) {
		uint32_t maker = rt_load(&starter);

		if (maker == tid && rt_walk_is_inside(__builtin_frame_address(0), starter_frame))
			break;
		/*
		 * Left by longjmp, or forked away in the middle of it: this process has no ledger.
		 */
		if (maker == tid || i == START_WAITS || (maker && rt_is_gone(rt_getpid(), maker))) {
			rt_store_release(&phase, RT_OFF);
			break;
		}
		(void)rt_futex_wait(&phase, RT_STARTING, 1);
	}
	return rt_mine.control;
}

/* What children before this one had to find out, so that it need not. */
static void learn_from_children(const void *frame)
{
	struct rt_thread *thread = rt_tls.thread;

	if (!rt_mine.control || !thread || !rt_wanted_has_news() || !rt_enter(thread, frame))
		return;
	rt_wanted_learn();
	rt_leave(thread);
}

/* A child that is forked while another thread is in the middle of it would have no recording. */
static void at_fork(void)
{
	learn_from_children(__builtin_frame_address(0));
	for (unsigned i = 0; i < START_WAITS && rt_load_acquire(&phase) == RT_STARTING; i++) {
		if (rt_load(&starter) == rt_gettid())
			break;
		(void)rt_futex_wait(&phase, RT_STARTING, 1);
	}
}

/*
 * Handlers wait while something begins: one that leaves by longjmp, forks or calls exec in the
 * middle would leave half a ledger. Signals that a fault or a sandbox's trap gives at once would
 * kill if they were held. Returns what was held before. One bit for each signal, as the kernel has
 * it.
 */
static uint64_t hold_signals(bool *ret_held)
{
#define AT_ONCE(signal) (1ull << ((signal)-1))
	const uint64_t held = ~(AT_ONCE(SIGSEGV) | AT_ONCE(SIGBUS) | AT_ONCE(SIGILL) |
				AT_ONCE(SIGFPE) | AT_ONCE(SIGTRAP) | AT_ONCE(SIGSYS));
	uint64_t before = 0;
#undef AT_ONCE

	*ret_held = rt_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&held, (long)&before,
				sizeof(held), 0, 0) == 0;
	return before;
}

static void begin_phase(const struct rt_start *how, bool grow)
{
	bool ready;

	starter_frame = (uintptr_t)__builtin_frame_address(0);
	rt_store_release(&starter, rt_gettid());
	/* Another thread of this child may have begun since we looked. */
	ready = rt_mine.control || (!how && !grow && (rt_mine.young || be_young())) ||
		(how ? start(how) : start_child());
	rt_store(&starter, 0);
	rt_store_release(&phase, ready ? RT_ON : RT_OFF);
	rt_futex_wake(&phase);
}

/* @how: NULL in a forked child. @grow: it is young, and is to have a ledger. */
static struct ledger_control *begin(const struct rt_start *how, bool grow)
{
	bool held;
	uint64_t before = hold_signals(&held);
	bool entered = enter_phase(how ? RT_NOT_YET : RT_ON);

	if (entered)
		begin_phase(how, grow);
	if (held)
		(void)rt_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before),
				  0, 0);
	return entered ? rt_mine.control : wait_for_start();
}

struct ledger_control *rt_start_with(const struct rt_start *how)
{
	if (!how->next)
		rt_next_find();
	else if (!rt_next_use(how->next))
		return rt_mine.control;
	return begin(how, false);
}

static const char *variable(char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

static uint64_t parse_hex(const char *text)
{
	uint64_t value = 0;

	for (; text && *text; text++) {
		char c = *text;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return 0;
	}
	return value;
}

/*
 * With the environment where the kernel put it: libc's is not there yet when the first allocation
 * comes. The loader exports where: argc, the arguments and the environment one after the other.
 */
static struct ledger_control *start_preloaded(void)
{
	extern void *__libc_stack_end;
	char *const *arguments = (char *const *)__libc_stack_end + 1;
	char *const *environment = arguments + *(const long *)__libc_stack_end + 1;
	struct rt_start how = {
		.options = variable(environment, "SEEP_OPTIONS"),
		.dir = variable(environment, "SEEP_DIR"),
		.arguments = arguments,
		.session = parse_hex(variable(environment, "SEEP_SESSION")),
	};

	return rt_start_with(&how);
}

struct ledger_control *rt_control_cold(void)
{
	uint32_t before = rt_load_acquire(&phase);

	if (before == RT_OFF)
		return NULL;
	if (before == RT_STARTING)
		return wait_for_start();
	if (before == RT_NOT_YET)
		return start_preloaded();
	if (rt_mine.young)
		return NULL;
	/* A fork that calls no handlers. */
	if (rt_tls.thread || (rt_young.is_on && rt_load(&rt_young.busy)))
		at_fork_child();
	return is_inside_fork() ? NULL : begin(NULL, false);
}

bool rt_is_off(void)
{
	return rt_load_acquire(&phase) == RT_OFF;
}

struct ledger_control *rt_grow_up(void)
{
	uint64_t outer = rt_load(&rt_young.busy);

	if (rt_mine.control || !rt_mine.young)
		return rt_mine.control;
	/* In a vfork child, which shares its parent's memory. */
	if (rt_getpid_or_tid() != rt_global.pid)
		return NULL;
	/* In a handler that interrupted the log's use. */
	if (outer && rt_young_is_user() && rt_walk_is_inside(__builtin_frame_address(0), outer))
		return NULL;
	return begin(NULL, true);
}

/*
 * Programs that allocate nothing before main start here. Loaded later, we wait for rt_start_with().
 */
static __attribute__((constructor)) void construct(void)
{
	bool preloaded = rt_next_is_behind();

	if (preloaded && !rt_control())
		return;
	rt_exit_start(preloaded);
	if (preloaded && options.start_wait)
		rt_recorder_meet();
	(void)pthread_atfork(at_fork, NULL, at_fork_child);
}
