/* SPDX-License-Identifier: MIT */
#include "recorder/watch.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/process_life.h"
#include "recorder/exit_trace.h"
#include "recorder/finish.h"
#include "recorder/growth_watch.h"
#include "recorder/ledger_control.h"
#include "recorder/perf_map_file.h"
#include "recorder/scan_request.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EARLY_LOOK_NS 100000000ull

#define CONFINED_LOOK_NS 20000000ull /* a process that wakes nobody */

enum {
	SAMPLE_COST_SHARE = 100, /* sampling may take 1/100 of the time */
	/*
	 * After an exec was let go its program is asked for so often, each time after a longer
	 * pause: 10 ms in all, of which an exec takes one.
	 */
	CATCH_TRIES = 20,
	CATCH_PAUSE_NS = 50000,
	/* The stack holds the chunk that a ledger's tables are read through. */
	WATCH_STACK_BYTES = 256 * 1024,
	/* Of another user's program that asks for leaks all the time; then a tenth of the time. */
	SCANS_AT_ONCE = 16,
	SCAN_PAUSES = 9,
	/* What this process may hold before others wait at their ends: a share of what is free. */
	HELD_LEAST_BYTES = 64 << 20,
	HELD_SHARE = 8,
	HELD_LOOK_NS = 2000000,
};

struct seep_watch {
	struct seep_ledger ledger;
	pthread_t thread;
	_Atomic int stop;

	pthread_mutex_t lock; /* leaf; for seen.timeline and peak_rss_bytes, which others read */
	struct seep_growth_watch *growth; /* NULL: not looked for */
	_Atomic bool grown;		  /* something that its list did not say */
	struct seep_watch_result seen;
	const struct seep_leak_check_plan *leak_check;
	struct seep_exit_trace *trace; /* NULL: the process is not traced */
	/* The thread's own, the caller's after it was joined, as is the rest of seen. */
	uint64_t last_rss_bytes;
	uint64_t allocs;
	uint64_t frees;
	/* 0: of another PID namespace, where the ledger's pid is somebody else's here. */
	uint32_t pid;
	uint64_t next_sample_ns;
	uint64_t next_epoch_ns;
	uint64_t epoch_age_ns;
	uint64_t next_scan_ns;
	unsigned requests, ends; /* that were scanned */
	bool follows;		 /* there is a thread, and the process knows of us */
	bool answered;
	unsigned catch_tries; /* left, to see what an exec leads to */
};

/* The words are in a mapping shared with the target, so none of these are private futexes. */
static void futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t ns)
{
	const struct timespec timeout = { .tv_sec = (time_t)(ns / SEEP_NS_PER_S),
					  .tv_nsec = (long)(ns % SEEP_NS_PER_S) };

	(void)syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* A fork has its parent's modules; only one that lives on may load others. */
static void look_outside(struct seep_watch *watch)
{
	const struct ledger_header *header = &watch->ledger.view.header;

	if (header->origin == LEDGER_ORIGIN_FORK &&
	    seep_monotonic_ns() - header->created_ns < SEEP_NS_PER_S)
		return;
	seep_outside_look(&watch->seen.outside, watch->pid);
}

static void read_memory(struct seep_watch *watch, uint64_t usable_bytes)
{
	struct seep_procfs_status memory;

	if (!watch->pid || !seep_procfs_status(watch->pid, &memory) || !memory.has_memory)
		return;
	watch->last_rss_bytes = memory.rss_bytes;
	(void)pthread_mutex_lock(&watch->lock);
	seep_outside_sample(&watch->seen.outside, watch->ledger.state, usable_bytes,
			    memory.anon_rss_bytes);
	watch->seen.peak_rss_bytes = core_larger(watch->seen.peak_rss_bytes, memory.peak_rss_bytes);
	(void)pthread_mutex_unlock(&watch->lock);
}

static void take_sample(struct seep_watch *watch)
{
	uint64_t began = seep_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct seep_ledger_sums sums = seep_ledger_sum(&watch->ledger);
	struct seep_profile_sample sample;
	uint64_t cost;

	/* A pass over counters that move may come out low; counts never fall. */
	watch->allocs = core_larger(watch->allocs, sums.allocs);
	watch->frees = core_larger(watch->frees, sums.frees);
	read_memory(watch, sums.usable_bytes);
	sample = (struct seep_profile_sample){
		.live_bytes = sums.live_bytes,
		.rss_bytes = watch->last_rss_bytes,
		.allocs = watch->allocs,
		.frees = watch->frees,
		.at_ns = seep_monotonic_ns(),
	};
	if (seep_ledger_is_cut(&watch->ledger))
		return;
	(void)pthread_mutex_lock(&watch->lock);
	seep_timeline_add(&watch->seen.timeline, &sample);
	(void)pthread_mutex_unlock(&watch->lock);
	cost = seep_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	watch->next_sample_ns = sample.at_ns + core_larger(watch->seen.timeline.interval_ns,
							   cost * SAMPLE_COST_SHARE);
	/*
	 * One that is killed later has been looked at. The cost is met once: 30 ms for clang's
	 * libraries, for which no sample would be taken for 3 s.
	 */
	if (!watch->seen.outside.looked &&
	    sample.at_ns - watch->ledger.view.header.created_ns > EARLY_LOOK_NS)
		look_outside(watch);
}

/* 1 s, 2 s, 4 s, ... of age. Ages that passed before we came are not made up for. */
static void plan_epoch(struct seep_watch *watch, uint64_t now_ns)
{
	uint64_t created = watch->ledger.view.header.created_ns;

	while (created + watch->epoch_age_ns <= now_ns && watch->epoch_age_ns < UINT64_MAX / 4)
		watch->epoch_age_ns *= 2;
	watch->next_epoch_ns = created + watch->epoch_age_ns;
}

static void advance_epoch(struct seep_watch *watch, uint64_t now_ns)
{
	(void)!seep_ledger_mark(&watch->ledger, NULL, now_ns, NULL, NULL);
	look_outside(watch);
	plan_epoch(watch, now_ns);
}

static void answer(struct seep_ledger *ledger)
{
	atomic_store_explicit(&ledger->control->exit_ack, LEDGER_EXIT_GO_ON, memory_order_release);
	futex_wake(&ledger->control->exit_ack);
}

static void register_recorder(struct ledger_control *control)
{
	struct seep_procfs_stat self = { 0 };

	/* Whoever cannot find us alive thinks that we died. */
	if (!seep_procfs_stat((uint32_t)getpid(), &self))
		self.start_ticks = 0;
	atomic_store_explicit(&control->recorder_start_ticks, self.start_ticks,
			      memory_order_relaxed);
	atomic_store_explicit(&control->recorder_pid, (uint32_t)getpid(), memory_order_release);
	/* It may wait for us to come. */
	futex_wake(&control->exit_ack);
}

/* While it is alive, its own root directory can be looked into. */
static void find_perf_map(struct seep_watch *watch)
{
	const struct ledger_header *header = &watch->ledger.view.header;
	uint32_t here = 0;

	(void)seep_process_life(&watch->ledger, &here);
	if (watch->seen.perf_map_fd < 0)
		watch->seen.perf_map_fd = seep_perf_map_file_open(header->pid, header->uid, here);
}

/*
 * Of a fork that is too small for a recording nobody would hear. What was detached from is in the
 * middle of its work, and does not wait.
 */
static bool wants_leak_scan(const struct seep_watch *watch, uint32_t ended)
{
	const bool is_fork = watch->ledger.view.header.origin == LEDGER_ORIGIN_FORK;

	if (!watch->leak_check || !watch->pid || ended == LEDGER_ENDED_DETACH)
		return false;
	return !is_fork || watch->leak_check->small_forks ||
	       (ended != LEDGER_ENDED_EXEC && watch->allocs >= LEDGER_FORK_ALLOCS);
}

/*
 * Others may trace it then, or a thread that scans it. Returns true if it has died, and was
 * scanned.
 */
static bool let_go(struct seep_watch *watch)
{
	struct seep_watch_result *seen = &watch->seen;
	struct seep_leak_scan *scan;

	if (!watch->trace)
		return false;
	scan = seep_exit_trace_end(watch->trace, &seen->no_leak_scan, &seen->death);
	watch->trace = NULL;
	if (!scan)
		return false;
	seep_leak_scan_free(seen->leak_scan);
	seen->leak_scan = scan;
	return true;
}

/* As long as it may be killed by a signal. */
static void keep_traced(struct seep_watch *watch)
{
	if (!watch->trace && !watch->answered && wants_leak_scan(watch, LEDGER_ENDED_RUNNING) &&
	    watch->leak_check->trace_exit)
		watch->trace = seep_exit_trace_begin(&watch->ledger, watch->pid, watch->leak_check);
}

/* @scans: for this reason. The last one, at its end, is not held back by others. */
static bool may_scan(const struct seep_watch *watch, unsigned scans)
{
	return scans < SCANS_AT_ONCE || seep_monotonic_ns() >= watch->next_scan_ns ||
	       seep_procfs_is_ours(watch->pid);
}

static void note_scan(struct seep_watch *watch, uint64_t began_ns)
{
	const uint64_t now_ns = seep_monotonic_ns();

	watch->next_scan_ns = now_ns + (now_ns - began_ns) * SCAN_PAUSES;
}

static bool holds_much(void)
{
	struct seep_procfs_status own;

	return seep_procfs_status((uint32_t)getpid(), &own) && own.rss_bytes > HELD_LEAST_BYTES &&
	       own.rss_bytes > seep_memory_room() / HELD_SHARE;
}

/*
 * Processes may end faster than they are scanned and their recordings written, and all that are
 * under way take memory. Where that becomes short, one after the other is scanned, and each waits
 * until some have been written. What was found in a parent may wait for this very process: nobody
 * waits while nothing is being written. True: @turn is held.
 */
static bool wait_for_room(const struct seep_watch *watch, pthread_mutex_t *turn)
{
	const struct timespec pause = { .tv_nsec = HELD_LOOK_NS };
	bool is_ours = false;

	while (!atomic_load_explicit(&watch->stop, memory_order_acquire) && holds_much()) {
		is_ours = is_ours || pthread_mutex_trylock(turn) == 0;
		if (is_ours && seep_finisher_is_idle())
			break;
		(void)nanosleep(&pause, NULL);
	}
	return is_ours;
}

/* Of an end that was none, the next one's replaces it. */
static void scan_for_leaks(struct seep_watch *watch)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	const uint64_t began_ns = seep_monotonic_ns();

	/*
	 * It gives up on a recorder that takes longer, after the time that somebody gave, if
	 * one did.
	 */
	uint32_t wait_ms = LEDGER_EXIT_WAIT_MS;
	bool is_alone;

	(void)atomic_compare_exchange_strong(&watch->ledger.control->exit_wait_ms, &wait_ms,
					     LEDGER_SCAN_WAIT_MS);
	seep_leak_scan_free(watch->seen.leak_scan);
	watch->seen.no_leak_scan.code = 0;
	is_alone = wait_for_room(watch, &turn);
	if (seep_leak_check_scan(&watch->ledger, watch->pid, SEEP_SCAN_AT_EXIT, watch->leak_check,
				 &watch->seen.leak_scan, &watch->seen.no_leak_scan) < 0)
		watch->seen.leak_scan = NULL;
	if (is_alone)
		(void)pthread_mutex_unlock(&turn);
	watch->ends++;
	note_scan(watch, began_ns);
}

static void refuse_scan(struct seep_watch *watch)
{
	seep_leak_scan_free(watch->seen.leak_scan);
	watch->seen.leak_scan = NULL;
	(void)seep_fail(&watch->seen.no_leak_scan, SEEP_ELIMIT,
			"it had come to an end too often that was none");
}

/*
 * A process at its end waits for exit_ack. An exec that failed takes "ended" back, and the process
 * goes on: it may come to an end again before we have seen that it went on. The handler of an
 * abort's signal may leave it and say nothing, so until the process has died it is followed.
 */
static void meet_end(struct seep_watch *watch)
{
	uint32_t ended = LEDGER_GET(watch->ledger.state->ended);

	if (ended == LEDGER_ENDED_RUNNING) {
		watch->answered = false;
		return;
	}
	if (LEDGER_GET(watch->ledger.control->exit_ack) == LEDGER_EXIT_GO_ON)
		return;
	atomic_store_explicit(&watch->ledger.control->exit_ack, LEDGER_EXIT_SEEN,
			      memory_order_release);
	take_sample(watch);
	if (watch->growth)
		seep_growth_watch_look_last(watch->growth, seep_monotonic_ns());
	find_perf_map(watch);
	look_outside(watch);
	if (watch->pid && LEDGER_GET(ledger_view_sums(&watch->ledger.view)->unrecorded))
		seep_outside_look_at_children(&watch->seen.outside, &watch->ledger.view.header,
					      watch->pid);
	/* Also for an exec: of a program that is traced the kernel ignores set-user-ID. */
	if (!let_go(watch) && wants_leak_scan(watch, ended))
		(may_scan(watch, watch->ends) ? scan_for_leaks : refuse_scan)(watch);
	watch->answered = ended != LEDGER_ENDED_ABORT;
	watch->catch_tries = ended == LEDGER_ENDED_EXEC && watch->pid ? CATCH_TRIES : 0;
	answer(&watch->ledger);
}

/*
 * Until it is known; a program with a ledger of its own has a watch of its own. Returns when to
 * look again.
 */
static uint64_t look_at_successor(struct seep_watch *watch)
{
	struct seep_successor *successor = &watch->seen.successor;

	if (watch->catch_tries) {
		SEEP_FREED char *before = seep_ledger_string(&watch->ledger,
							     watch->ledger.view.header.exe);

		watch->catch_tries--;
		if (seep_successor_catch(successor, before, watch->pid))
			watch->catch_tries = 0;
		return (CATCH_TRIES - watch->catch_tries) * (uint64_t)CATCH_PAUSE_NS;
	}
	if (!successor->looked && watch->pid &&
	    LEDGER_GET(watch->ledger.state->ended) == LEDGER_ENDED_EXEC)
		seep_successor_look(successor, &watch->ledger.view.header, watch->pid);
	return watch->seen.timeline.interval_ns;
}

static void answer_request(struct seep_watch *watch)
{
	const uint64_t began_ns = seep_monotonic_ns();

	if (!seep_scan_request_waits(&watch->ledger) || !may_scan(watch, watch->requests))
		return;
	(void)let_go(watch);
	seep_scan_request_answer(&watch->ledger, watch->pid, watch->leak_check);
	watch->requests++;
	note_scan(watch, began_ns);
}

static void *follow(void *argument)
{
	struct seep_watch *watch = argument;
	_Atomic uint32_t *attention = &watch->ledger.state->attention;

	/* Before the process knows of us: until then it may wait. */
	keep_traced(watch);
	register_recorder(watch->ledger.control);
	for (;;) {
		/* Before all that is looked at: what changes later wakes us at once. */
		uint32_t seen = atomic_load_explicit(attention, memory_order_acquire);
		uint64_t now_ns, next_ns;

		/* In a ledger that was cut nothing comes to pass; the death is seen elsewhere. */
		if (atomic_load_explicit(&watch->stop, memory_order_acquire) ||
		    seep_ledger_is_cut(&watch->ledger))
			return NULL;
		meet_end(watch);
		if (watch->leak_check && watch->pid && !watch->answered)
			answer_request(watch);
		keep_traced(watch);
		now_ns = seep_monotonic_ns();
		if (now_ns >= watch->next_epoch_ns && !watch->answered)
			advance_epoch(watch, now_ns);
		if (now_ns >= watch->next_sample_ns && !watch->answered)
			take_sample(watch);
		next_ns = core_smaller(watch->next_sample_ns, watch->next_epoch_ns);
		if (watch->leak_check && watch->pid && seep_scan_request_waits(&watch->ledger))
			next_ns = core_smaller(next_ns, watch->next_scan_ns);
		if (watch->growth && !watch->answered)
			next_ns = core_smaller(next_ns,
					       seep_growth_watch_look(watch->growth, now_ns));
		now_ns = seep_monotonic_ns();
		if (LEDGER_GET(watch->ledger.state->confined))
			next_ns = core_smaller(next_ns, now_ns + CONFINED_LOOK_NS);
		if (watch->answered)
			futex_wait(attention, seen, look_at_successor(watch));
		else if (next_ns > now_ns)
			futex_wait(attention, seen, next_ns - now_ns);
	}
}

/* Signals are the event loop's: a thread that took one would swallow it. */
static int start_thread(struct seep_watch *watch)
{
	sigset_t all, held;
	pthread_attr_t attributes;
	int problem = pthread_attr_init(&attributes);

	if (problem != 0)
		return problem;
	(void)pthread_attr_setstacksize(&attributes, WATCH_STACK_BYTES);
	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGBUS); /* base/shared_map.h: it is for who reads a ledger */
	(void)pthread_sigmask(SIG_SETMASK, &all, &held);
	problem = pthread_create(&watch->thread, &attributes, follow, watch);
	(void)pthread_sigmask(SIG_SETMASK, &held, NULL);
	(void)pthread_attr_destroy(&attributes);
	return problem;
}

struct seep_watch *seep_watch_new(struct seep_ledger *ledger, bool reachable,
				  const struct seep_leak_check_plan *leak_check,
				  uint64_t growth_after_ns)
{
	struct seep_watch *watch = seep_xcalloc(1, sizeof(*watch));

	watch->ledger = *ledger;
	if (reachable)
		watch->pid = ledger->view.header.pid;
	watch->leak_check = leak_check;
	watch->epoch_age_ns = SEEP_NS_PER_S;
	(void)pthread_mutex_init(&watch->lock, NULL);
	watch->seen.perf_map_fd = -1;
	seep_timeline_init(&watch->seen.timeline);
	if (growth_after_ns)
		watch->growth = seep_growth_watch_new(&watch->ledger, growth_after_ns,
						      &watch->grown);
	*ledger = (struct seep_ledger){ .fd = -1 };
	return watch;
}

int seep_watch_follow(struct seep_watch *watch, struct seep_error *err)
{
	int problem;

	plan_epoch(watch, seep_monotonic_ns());
	if (watch->leak_check && watch->pid)
		seep_scan_request_welcome(&watch->ledger);
	problem = start_thread(watch);
	if (problem != 0)
		return seep_fail_errno(err, problem, "cannot start a thread");
	watch->follows = true;
	return 0;
}

const struct seep_ledger *seep_watch_ledger(const struct seep_watch *watch)
{
	return &watch->ledger;
}

void seep_watch_result_done(struct seep_watch_result *result)
{
	seep_timeline_done(&result->timeline);
	seep_growth_list_done(&result->growth);
	if (result->perf_map_fd >= 0)
		(void)close(result->perf_map_fd);
	seep_outside_done(&result->outside);
	seep_successor_done(&result->successor);
	seep_leak_scan_free(result->leak_scan);
}

bool seep_watch_has_grown(const struct seep_watch *watch)
{
	return atomic_load_explicit(&watch->grown, memory_order_relaxed);
}

void seep_watch_result_now(struct seep_watch *watch, struct seep_watch_result *ret_result)
{
	struct seep_timeline *timeline = &ret_result->timeline;

	(void)pthread_mutex_lock(&watch->lock);
	*ret_result = watch->seen;
	timeline->samples = seep_xmemdup(timeline->samples,
					 timeline->count * sizeof(*timeline->samples));
	(void)pthread_mutex_unlock(&watch->lock);
	if (watch->growth)
		ret_result->growth = seep_growth_watch_list(watch->growth);
	ret_result->perf_map_fd = -1;
	ret_result->outside.bindings = (struct seep_bindings){ 0 };
	ret_result->outside.children_why = NULL;
	ret_result->successor = (struct seep_successor){ 0 };
	ret_result->leak_scan = NULL;
}

static void stop_thread(struct seep_watch *watch)
{
	_Atomic uint32_t *attention = &watch->ledger.state->attention;

	atomic_store_explicit(&watch->stop, 1, memory_order_release);
	atomic_fetch_add_explicit(attention, 1, memory_order_acq_rel);
	futex_wake(attention);
	(void)pthread_join(watch->thread, NULL);
	(void)let_go(watch);
}

void seep_watch_stop(struct seep_watch *watch, bool dead, struct seep_watch_result *ret_result)
{
	struct seep_ledger *ledger = &watch->ledger;

	if (watch->follows)
		stop_thread(watch);
	if (!dead) {
		atomic_store_explicit(&ledger->control->recorder_pid, 0, memory_order_release);
		answer(ledger);
	} else if (!watch->answered) {
		take_sample(watch);
		find_perf_map(watch);
	}
	/* A fork has its parent's modules, which were looked at there. */
	watch->seen.outside.missed = dead && !watch->seen.outside.looked &&
				     ledger->view.header.origin != LEDGER_ORIGIN_FORK;
	seep_successor_merge(&watch->seen.successor, &ret_result->successor);
	if (watch->growth)
		watch->seen.growth = seep_growth_watch_list(watch->growth);
	seep_growth_watch_free(watch->growth);
	*ret_result = watch->seen;
	seep_ledger_close(ledger);
	(void)pthread_mutex_destroy(&watch->lock);
	free(watch);
}
