/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "ledger/ledger.h"
#include "target/attach_parts.h"
#include "target/stop_refusal.h"
#include "target/tracee.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Looks at all threads until one that is in a bad place is caught where it leaves that. */
enum { ROUNDS_PLAIN = 3 };

#define STOP_NS UINT64_C(20000000)	/* for a thread to stop */
#define DONE_NS UINT64_C(10000000000)	/* for one that was led astray to come back */
#define MAPPED_NS UINT64_C(2000000000)	/* for a mapping to be there */
#define ROUND_PAUSE_NS UINT64_C(500000) /* between looks at all threads */
#define CATCH_NS UINT64_C(200000000)	/* for one to come out of where it was met */

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

static bool is_its_thread(const struct attach *a, pid_t tid)
{
	SEEP_FREED char *file = seep_xasprintf("task/%d", tid);

	return access(seep_procfs_path(a->pid, file).text, F_OK) == 0;
}

/* As the process itself numbers its threads, which may be in a PID namespace below ours. */
static uint32_t own_number(pid_t tid)
{
	struct seep_procfs_status status;

	return seep_procfs_status((uint32_t)tid, &status) && status.own_pid ? status.own_pid
									    : (uint32_t)tid;
}

pid_t attach_thread(const struct attach *a, uint64_t number)
{
	SEEP_RELEASED(seep_procfs_threads_done_at) DIR *threads = seep_procfs_threads(a->pid);
	pid_t tid;

	while ((tid = seep_procfs_thread(threads)) && own_number(tid) != number)
		;
	return tid;
}

static void count_stop(struct attach *a, const struct halt *halt)
{
	const uint64_t ns = seep_monotonic_ns() - halt->began_ns;

	a->result->stopped_ns += ns;
	a->result->longest_ns = core_larger(a->result->longest_ns, ns);
}

/* With the signal that it has stopped for. */
static bool let_go(pid_t tid)
{
	int signal;
	const enum seep_tracee where = seep_tracee_look(tid, &signal);

	if (where != SEEP_TRACEE_RUNS)
		seep_tracee_go(PTRACE_DETACH, tid, where == SEEP_TRACEE_SIGNAL ? signal : 0);
	return where != SEEP_TRACEE_RUNS;
}

/* Those that did not stop in time stop some time: then they are let go. */
static void release_held(struct attach *a)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < a->held_count; i++)
		if (!let_go(a->held[i]))
			a->held[kept++] = a->held[i];
	a->held_count = kept;
}

static void release(struct attach *a, const struct halt *halt)
{
	if (!let_go(halt->tid) && a->held_count < ATTACH_HELD_MAX)
		a->held[a->held_count++] = halt->tid;
	release_held(a);
}

/* One that does not stop at once, or is stopped by a signal, is not for us. LED: it stands. */
static enum outcome halt_thread(struct attach *a, struct halt *halt, struct seep_error *err)
{
	struct seep_refusal refusal;
	enum seep_tracee where;
	int signal, problem;

	halt->began_ns = seep_monotonic_ns();
	/* What the process says of its threads need not be true. */
	if (!is_its_thread(a, halt->tid))
		return NOT_NOW;
	if (ptrace(PTRACE_SEIZE, halt->tid, NULL, NULL) < 0) {
		problem = errno;
		a->why = "its end";
		/* Of one at its end the kernel says EPERM. */
		if (problem == ESRCH || seep_tracee_has_ended(halt->tid))
			return NOT_NOW;
		/* One that did not stop in time is still ours. */
		if (seep_tracee_look(halt->tid, &signal) == SEEP_TRACEE_GONE) {
			seep_refusal_look(a->pid, &refusal);
			(void)seep_refusal_say(&refusal, problem, err);
			return FAILED;
		}
	}
	(void)ptrace(PTRACE_INTERRUPT, halt->tid, NULL, NULL);
	where = seep_tracee_await(halt->tid, halt->began_ns + STOP_NS, &signal);
	/* Another's may have that number by now. */
	if (!is_its_thread(a, halt->tid))
		return NOT_NOW;
	a->result->tries++;
	switch (where) {
	case SEEP_TRACEE_STOPPED:
		a->why = "a stop by a signal";
		return signal == SIGTRAP && ptrace(PTRACE_GETREGS, halt->tid, NULL,
						   &halt->registers) == 0
			       ? LED
			       : NOT_NOW;
	case SEEP_TRACEE_SIGNAL:
		a->why = "the delivery of a signal";
		return NOT_NOW;
	default:
		a->why = "a call that cannot be interrupted";
		return NOT_NOW;
	}
}

/*
 * The control block is the thread's own: one that clone() made without CLONE_SETTLS has its maker's. A first
 * thread has that of the thread that forked it, whose stack has a guard.
 */
static bool is_own_block(const struct attach *a, const struct halt *halt,
			 const struct seep_mapping *stack)
{
	uint32_t owner;

	if (halt->tid == a->pid)
		return stack > a->modules.maps.items && stack[-1].end == stack->begin &&
		       !stack[-1].readable && !stack[-1].writable;
	return !a->id_offset ||
	       (seep_memory_read(a->modules.memory, halt->registers.fs_base + a->id_offset, &owner,
				 sizeof(owner)) &&
		owner == own_number(halt->tid));
}

/*
 * The first thread's own stack, or the one that lies below a thread's control block: it has room, and C code
 * may be called there. Goroutines, coroutines, signal handlers and threads made by hand may have others.
 */
static bool is_on_own_stack(const struct attach *a, const struct halt *halt)
{
	enum { BLOCK_SELF = 16 };
	const uint64_t sp = halt->registers.rsp, block = halt->registers.fs_base;
	uint64_t self;
	const struct seep_maps *maps = &a->modules.maps;
	const struct seep_mapping *end = maps->items + maps->count;
	const struct seep_mapping *stack = seep_maps_find(maps, sp), *at = stack;

	/* A control block begins with its own address, and has it once more. */
	if (!seep_memory_read(a->modules.memory, block + BLOCK_SELF, &self, sizeof(self)) ||
	    self != block)
		return false;
	if (!at || !at->writable || sp - at->begin < SEEP_DIVERSION_STACK_BYTES)
		return false;
	/* It may be locked in memory in parts. */
	while (strcmp(at->name, "[stack]") != 0 && block >= at->end && at + 1 < end &&
	       at[1].begin == at->end && at[1].writable)
		at++;
	if (strcmp(at->name, "[stack]") == 0)
		return halt->tid == a->pid;
	return block > sp && block < at->end && is_own_block(a, halt, stack);
}

/* Else what it opens and closes are others' files, its loader finds none, or its ledger is another user's. */
static bool is_like_others(const struct attach *a, pid_t tid)
{
	struct seep_procfs_status first, its;

	return tid == a->pid || seep_tracee_has_ended(a->pid) ||
	       (syscall(SYS_kcmp, a->pid, tid, KCMP_FILES, 0, 0) <= 0 &&
		syscall(SYS_kcmp, a->pid, tid, KCMP_FS, 0, 0) <= 0 &&
		seep_procfs_status((uint32_t)a->pid, &first) &&
		seep_procfs_status((uint32_t)tid, &its) && first.uid == its.uid);
}

/* @calls: into the C library. @ret_slot: as for seep_diversion_catch(), where it cannot be led now */
static enum seep_safety look(struct attach *a, const struct halt *halt, bool calls,
			     uint64_t *ret_slot)
{
	uint64_t at;

	*ret_slot = 0;
	a->why = "the code that seep leads threads by";
	if (seep_diversion_holds(a->code, halt->registers.rip))
		return SEEP_UNSAFE;
	/* It begins again when it is interrupted: nobody may be led on from the middle. */
	a->why = "a restartable sequence";
	if (seep_tracee_sequence(halt->tid, &at) != 0)
		return SEEP_UNSAFE;
	a->why = "a thread that has its system calls led to a handler (syscall user dispatch)";
	if (seep_tracee_diverts_calls(halt->tid))
		return SEEP_UNSAFE;
	a->why = "a stack that is not its thread's own";
	if (!is_on_own_stack(a, halt))
		return SEEP_UNSAFE;
	a->why = "a thread with rights or files of its own";
	if (!is_like_others(a, halt->tid))
		return SEEP_UNSAFE;
	return calls ? seep_safe_point_look(a->points, &halt->registers, &a->why, ret_slot)
		     : SEEP_SAFE;
}

uint64_t attach_program(pid_t pid)
{
	struct seep_procfs_stat stat;

	return seep_procfs_stat((uint32_t)pid, &stat) ? stat.stack_begin : 0;
}

bool attach_has_executed(pid_t pid, uint64_t program)
{
	const uint64_t now = attach_program(pid);

	return now && program && now != program;
}

/* Exec puts another program into the process, where nothing is that was prepared. */
static bool is_as_prepared(struct attach *a, bool calls)
{
	uint32_t version = 0;

	if (attach_has_executed(a->pid, a->program))
		return false;
	if (!a->code)
		return true;
	if (!seep_diversion_is_there(a->modules.memory, a->code))
		return false;
	return !calls || (seep_memory_read(a->modules.memory, SCRATCH_AT(a, how.version), &version,
					   sizeof(version)) &&
			  version == LEDGER_VERSION);
}

/* Has the thread done all that it was led astray for? */
static bool await_done(struct attach *a, uint64_t at, uint64_t for_ns)
{
	const uint64_t deadline_ns = seep_monotonic_ns() + for_ns;
	uint64_t done = 0;

	for (unsigned turns = 0; seep_monotonic_ns() < deadline_ns; turns++) {
		if (seep_memory_read(a->modules.memory, at, &done, sizeof(done)) && done)
			return true;
		if (turns % 100 == 99 && (attach_has_executed(a->pid, a->program) ||
					  !seep_procfs_alive((uint32_t)a->pid, 0)))
			return false;
		release_held(a);
		seep_tracee_pause(turns);
	}
	return false;
}

static enum outcome fail_replaced(struct seep_error *err)
{
	(void)seep_fail(err, SEEP_EREFUSED, "it runs another program by now");
	return FAILED;
}

static enum outcome fail_lost(struct attach *a, pid_t tid, bool calls, struct seep_error *err)
{
	const bool lives = seep_procfs_alive((uint32_t)a->pid, 0);

	if (attach_has_executed(a->pid, a->program))
		return fail_replaced(err);
	a->lost = calls;
	if (calls)
		(void)seep_fail(err, SEEP_ESYS,
				"thread %d was led into libseep.so or the loader and has not come "
				"back; the process %s",
				tid, lives ? "lives" : "has ended");
	else if (lives)
		/* If it has not come back, what it will have made will be found by who comes next. */
		(void)seep_fail(err, SEEP_EREFUSED,
				"thread %d has mapped no memory in %.0f s: the address space, or "
				"what the process may have, is used up, or it gets no processor",
				tid, (double)MAPPED_NS / 1e9);
	else
		(void)seep_fail(err, SEEP_ENOTFOUND, "process %d has ended", a->pid);
	return FAILED;
}

/* It will be led astray when it comes out of where it is; if that takes too long it is left alone. */
static enum outcome await_caught(struct attach *a, pid_t tid,
				 const struct seep_diversion *diversion, uint64_t slot,
				 struct seep_error *err)
{
	struct halt halt = { .tid = tid };
	bool passes;

	if (await_done(a, diversion->done_at, CATCH_NS))
		return LED;
	/* Until it stands it may come out and be led. */
	while (halt_thread(a, &halt, err) != LED) {
		release(a, &halt);
		if (await_done(a, diversion->done_at, CATCH_NS))
			return LED;
		if (seep_tracee_has_ended(tid) || seep_monotonic_ns() > a->deadline_ns + DONE_NS)
			return fail_lost(a, tid, true, err);
	}
	passes = seep_diversion_let_pass(diversion, tid, a->code, slot, halt.registers.rip);
	release(a, &halt);
	count_stop(a, &halt);
	if (passes)
		return NOT_NOW;
	return await_done(a, diversion->done_at, DONE_NS) ? LED : fail_lost(a, tid, true, err);
}

/* For who comes next, should we be killed. */
static bool note(const struct attach *a, pid_t tid, uint64_t slot)
{
	const struct seep_diversion_note note = { slot, own_number(tid), a->noted };

	return seep_diversion_set_note(tid, a->code, &note);
}

/* Where a thread waits, which is not stopped for that. False: it runs. */
static bool see_waiting(pid_t tid, struct user_regs_struct *registers)
{
	SEEP_FREED char *text = seep_procfs_read((uint32_t)tid, "syscall", NULL);
	char *pc = text ? strrchr(text, ' ') : NULL;
	const char *sp;

	if (!pc)
		return false;
	*pc++ = '\0';
	sp = strrchr(text, ' ');
	registers->rip = strtoull(pc, NULL, 16);
	registers->rsp = sp ? strtoull(sp, NULL, 16) : 0;
	return sp != NULL;
}

static bool has_left(const struct attach *a, const struct user_regs_struct *registers)
{
	return !seep_diversion_holds(a->code, registers->rip) &&
	       registers->rsp - a->scratch >= sizeof(struct attach_scratch);
}

/*
 * A handler that has interrupted our code returns to it, however late: one that came in the moment in which we were
 * killed, or of those that are not held. What it returns to lies on its stack.
 */
static bool is_interrupted(const struct attach *a, uint64_t sp)
{
	enum { WORDS = 32 << 10 };
	const struct seep_mapping *stack = seep_maps_find(&a->modules.maps, sp);
	const uint64_t bytes = stack ? core_smaller(stack->end - sp, WORDS * sizeof(uint64_t)) : 0;
	SEEP_FREED uint64_t *words = seep_xcalloc(WORDS, sizeof(*words));

	return seep_memory_read(a->modules.memory, sp, words, bytes) &&
	       seep_diversion_is_in(a->code, a->scratch ? SCRATCH_AT(a, room) : 0, words,
				    bytes / sizeof(*words));
}

bool attach_is_over(struct attach *a, const struct seep_diversion_note *left)
{
	const struct seep_diversion diversion = { .room = SCRATCH_AT(a, room) };
	struct halt halt = { .tid = left->tid ? attach_thread(a, left->tid) : 0 };
	struct seep_error unsaid;
	bool is_over;

	/* A child that was forked meanwhile has what is noted, but not the thread. */
	if (!halt.tid || seep_tracee_has_ended(halt.tid))
		return true;
	if (!left->slot && see_waiting(halt.tid, &halt.registers))
		return has_left(a, &halt.registers) && !is_interrupted(a, halt.registers.rsp);
	is_over = halt_thread(a, &halt, &unsaid) == LED && has_left(a, &halt.registers) &&
		  !is_interrupted(a, halt.registers.rsp);
	/* It does nothing of one that was caught and has come back. */
	if (is_over && left->slot)
		(void)seep_diversion_let_pass(&diversion, halt.tid, a->code, left->slot,
					      halt.registers.rip);
	release(a, &halt);
	count_stop(a, &halt);
	return is_over;
}

/* *@ret_reads: something has to be read first. */
static enum outcome lead(struct attach *a, pid_t tid, const struct seep_diversion *diversion,
			 bool calls, bool *ret_reads, struct seep_error *err)
{
	struct halt halt = { .tid = tid };
	enum outcome outcome = halt_thread(a, &halt, err);
	enum seep_safety safety = SEEP_UNSAFE;
	bool is_caught = false;
	uint64_t slot = 0;

	*ret_reads = false;
	if (outcome == FAILED)
		return FAILED;
	if (outcome == LED && !is_as_prepared(a, calls))
		outcome = fail_replaced(err);
	if (outcome == LED && !a->code &&
	    seep_diversion_prepare(&a->modules, tid, &a->code, err) < 0)
		outcome = FAILED;
	if (outcome == LED)
		safety = look(a, &halt, calls, &slot);
	slot = a->catches ? slot : 0;
	/* What is noted stays noted until somebody is led. */
	if (outcome == LED && !((safety == SEEP_SAFE || slot) && note(a, tid, slot))) {
		outcome = NOT_NOW;
		slot = 0;
	}
	if (outcome == LED &&
	    !(safety == SEEP_SAFE && seep_diversion_lead(diversion, tid, a->code, &halt.registers)))
		outcome = NOT_NOW;
	if (safety == SEEP_UNSAFE && slot)
		is_caught = seep_diversion_catch(diversion, tid, a->code, slot);
	release(a, &halt);
	*ret_reads = safety == SEEP_NOT_KNOWN && calls;
	if (outcome == LED && diversion->done_at &&
	    !await_done(a, diversion->done_at, calls ? DONE_NS : MAPPED_NS))
		outcome = fail_lost(a, tid, calls, err);
	count_stop(a, &halt);
	return is_caught ? await_caught(a, tid, diversion, slot, err) : outcome;
}

static enum outcome lead_known(struct attach *a, pid_t tid, const struct seep_diversion *diversion,
			       bool calls, struct seep_error *err)
{
	enum outcome outcome;
	bool reads;

	do
		outcome = lead(a, tid, diversion, calls, &reads, err);
	while (reads && seep_safe_points_read(a->points));
	return outcome;
}

/* Those that wait come first: nobody misses them. */
static enum outcome lead_one_of(struct attach *a, const struct seep_diversion *diversion,
				bool calls, bool waiting, struct seep_error *err)
{
	SEEP_RELEASED(seep_procfs_threads_done_at) DIR *threads = seep_procfs_threads(a->pid);
	enum outcome outcome = NOT_NOW;
	pid_t tid;

	while (outcome == NOT_NOW && seep_monotonic_ns() < a->deadline_ns &&
	       (tid = seep_procfs_thread(threads))) {
		const char state = seep_tracee_state(tid);

		if ((state == 'S') != waiting || seep_tracee_has_ended(tid))
			continue;
		outcome = lead_known(a, tid, diversion, calls, err);
	}
	return outcome;
}

int attach_lead(struct attach *a, const struct seep_diversion *diversion, bool calls,
		struct seep_error *err)
{
	const struct timespec pause = { .tv_nsec = ROUND_PAUSE_NS };
	enum outcome outcome = NOT_NOW;

	a->why = NULL;
	for (unsigned round = 0; seep_monotonic_ns() < a->deadline_ns; round++) {
		a->catches |= round >= ROUNDS_PLAIN;
		if (a->holder && calls)
			outcome = lead_known(a, a->holder, diversion, calls, err);
		if (outcome == NOT_NOW)
			outcome = lead_one_of(a, diversion, calls, true, err);
		if (outcome == NOT_NOW)
			outcome = lead_one_of(a, diversion, calls, false, err);
		if (outcome != NOT_NOW)
			return outcome == LED ? 0 : -err->code;
		(void)nanosleep(&pause, NULL);
		/* Modules may have been loaded meanwhile, whose code is not known. */
		attach_forget_modules(a);
		if (attach_read_modules(a, err) < 0)
			return -err->code;
		if (!seep_procfs_alive((uint32_t)a->pid, 0))
			return seep_fail(err, SEEP_ENOTFOUND, "process %d has ended", a->pid);
	}
	return seep_fail(
		err, SEEP_EREFUSED,
		"no thread could be led into the loader safely in %.1f s: %u times one was "
		"looked at, the last time it was in %s",
		(double)(seep_monotonic_ns() - a->began_ns) / 1e9, a->result->tries,
		a->why ? a->why : "a safe place, but the time was up");
}
