/* SPDX-License-Identifier: MIT */
/*
 * A process stopped by ptrace: all of its threads, their registers, system calls made in its name,
 * and a copy of it that shares its memory until one of them writes.
 *
 * ptrace belongs to the thread that stopped it: every call comes from that one, and it should be
 * one made for this, which ends afterwards. At its end the kernel lets go of whatever we could not:
 * threads that did not answer, since they sleep where nothing wakes them (a parent in vfork), stay
 * ours until then, and would stand still once they wake up. A copy that is left ends then.
 *
 * Nothing of this is noticed by the process: signals that arrive meanwhile are delivered later,
 * system calls that were interrupted go on, no child of it is ever seen.
 */
#ifndef SEEP_TARGET_STOP_H
#define SEEP_TARGET_STOP_H

#include "base/error.h"
#include "base/idtable.h"
#include "base/maps.h"
#include "base/texts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct ledger_header;

struct seep_thread {
	pid_t tid;
	bool stopped; /* false: it did not answer in time, or has ended; the rest is void */
	bool gone;    /* it has ended */
	struct user_regs_struct registers;
	/* The rest of its registers as the kernel gives them. NULL: not known, or it waits in a call. */
	uint64_t *vectors;
	size_t vector_count;
};

struct seep_stopped {
	pid_t pid;
	struct seep_thread *threads; /* one of them, the first if it lives, is pid's own */
	size_t thread_count;
	struct seep_idtable tids; /* of threads, by which they are found */
	uint64_t began_ns;	  /* monotonic: when the first one was to stop, */
	uint64_t stopped_ns;	  /* and when the last one had */
	/* That a thread is given to stop; ten times as much to get a processor. */
	uint64_t answer_ns;
	uint64_t call_site; /* address of a system call instruction; 0: none was found */
};

/**
 * seep_stop - stop all threads of @pid
 *
 * Threads that start meanwhile are stopped too: the list is read until nothing is new. One that
 * does not stop within a second (in uninterruptible sleep, or waiting for a vfork child) stays
 * as it is. Those that this thread traces already become part of it; what stands at its end
 * (PTRACE_O_TRACEEXIT) has stopped there for good: of a dying process nothing but memory and
 * registers can be had.
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND  there is no such process
 *   -SEEP_EREFUSED   the kernel does not let us trace it; the sentence says what stands in the
 *                    way (another tracer with its pid and name, Yama, credentials, not dumpable,
 *                    a filter on system calls)
 *   -SEEP_ESYS       anything else
 */
SEEP_NODISCARD int seep_stop(pid_t pid, struct seep_stopped **ret_stopped, struct seep_error *err);

/* The same, and a thread is given @answer_ns in place of a second: where standing still costs more than giving up. */
SEEP_NODISCARD int seep_stop_briefly(pid_t pid, uint64_t answer_ns,
				     struct seep_stopped **ret_stopped, struct seep_error *err);

/*
 * Let one thread run for @ns, alone, and stop it again; its registers are read anew. Threads that
 * it started are added at the end: stopped->threads may lie elsewhere afterwards.
 */
void seep_stop_let(struct seep_stopped *stopped, struct seep_thread *thread, uint64_t ns);

/*
 * Let threads that are in realloc() on until they are not, unless they may not run. Those that are
 * in it still become @caveats. @ledger_fd: of the ledger with this @header; @may_run: not in a dying
 * process
 */
void seep_stop_finish_resizes(struct seep_stopped *stopped, const struct ledger_header *header,
			      int ledger_fd, bool may_run, struct seep_texts *caveats);

/* Is it one thread of our own user's with so little memory that a copy takes longer than to look? */
bool seep_stop_is_small(const struct seep_stopped *stopped);

/* Whether a copy can be made unnoticed; if not, @ret_why says in one sentence why. */
bool seep_stop_may_copy(struct seep_stopped *stopped, struct seep_error *ret_why);

/**
 * seep_stop_copy - a copy of the process's memory, copied on write
 * @ret_copy: a process without threads of its own and without open files, stopped; nobody's child
 *            but init's or a subreaper's. Its memory can be read while the original goes on. End
 *            it with seep_copy_end()
 *
 * After seep_stop_may_copy(). The copy lacks what the process excluded from forks: MADV_DONTFORK
 * (and the mappings of devices that exclude themselves), and of MADV_WIPEONFORK the contents.
 * Shared mappings are shared with it: what is in them goes on changing.
 *
 * Returns: 0, or -SEEP_ESYS (the kernel refused: limits, memory); then all is as before.
 */
SEEP_NODISCARD int seep_stop_copy(struct seep_stopped *stopped, pid_t *ret_copy,
				  struct seep_error *err);

/*
 * Put into @copy, of the stopped process with these @maps, what is wiped in forks. @ledger: a
 * mapping of the ledger, which may be excluded; NULL: there is none. Returns: 0, or why the copy
 * does not do: it lacks what is excluded, or cannot be completed.
 */
SEEP_NODISCARD int seep_stop_complete(const struct seep_maps *maps, pid_t copy,
				      const struct seep_mapping *ledger, struct seep_error *err);

/* Kill a copy and reap what is ours to reap. From the thread that made it. 0 is a no-op. */
void seep_copy_end(pid_t copy);

/*
 * Of a thread that this one traces and that stands before a signal: a wait with a time that it
 * interrupts shall not be taken up in a way that a filter on system calls may kill for.
 */
void seep_stop_spare_restart(pid_t tid);

/* Let the process go on as it was. NULL is a no-op. */
void seep_stop_release(struct seep_stopped *stopped);

#endif
