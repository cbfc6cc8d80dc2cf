/* SPDX-License-Identifier: MIT */
/*
 * Forked children. A child shares a page of sums with its parent (ledger_sums) and nothing else: the
 * parent's ledger is not there in it. What it has:
 *
 *   none      until its first allocation or free; ends it before that, it is counted nowhere
 *   unnamed   a ledger of its own, PROGRAM...ledger.new; it may still turn out small (is_small())
 *   named     PROGRAM...ledger: it forks when it is not small any more, execs, changes its user or
 *             root, ends large, or is killed or lives on: then the recorder names it
 *   summed    it ended small: its figures are in the sums, and its ledger is removed
 *
 * A child of one that is not named adds to the same sums as that. docs/internals/ledger.md, "Fork".
 */
#ifndef SEEP_RUNTIME_FORK_H
#define SEEP_RUNTIME_FORK_H

#include "ledger/ledger.h"
#include "runtime/rt.h"

/* Once, as soon as there is a ledger: other libraries' constructors may fork before ours runs. */
void rt_fork_started(void);

/* Once, in our constructor. */
void rt_fork_register(void);

/* Before a fork, in the parent, by a function of ours with frame address @frame. */
void rt_fork_prepare(const void *frame);

/* In a child, before all else, by the thread that forked. */
void rt_forked_child(void);

/*
 * The same for a fork that called no handlers, at the child's first call. If another thread calls
 * first, the child is not recorded: the one that forked has its parent's state yet, and may use it.
 */
void rt_fork_notice(void);

/* For rt_phase_pass(): make this child's ledger, if there is none yet. */
bool rt_fork_begin(const void *unused);

/* Make a ledger and name it now: after what comes, this process may not be able to. */
RT_COLD void rt_fork_give_name(void);

/*
 * This process ends so. True: it was a small child, and nobody is to hear of it. One that has a
 * ledger and calls exec keeps it: by that the recorder tells of programs that were not recorded.
 */
bool rt_fork_end(enum ledger_ended ended);

#endif
