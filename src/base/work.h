/* SPDX-License-Identifier: MIT */
/*
 * What one job may take that reads files which anybody may have written. A thread has one job at a
 * time, or none, which may take all there is. A job that has taken more than it may is over: its
 * readers stop where they are, and what they have is used.
 *
 * It may take 256 MB of memory and sixteen times the size of the files that it opens, but no more
 * than half of what is free, and two minutes of the processor's time.
 */
#ifndef SEEP_BASE_WORK_H
#define SEEP_BASE_WORK_H

#include <stdbool.h>
#include <stdint.h>

void seep_work_begin(void);
void seep_work_end(void);

/* A file is opened whose contents take @bytes on its disk. */
void seep_work_opens(uint64_t bytes);

/* For xalloc.c: so much is allocated. */
void seep_work_takes(uint64_t bytes);

/* Asked in each turn of a loop that is as long as a file says. */
bool seep_work_is_over(void);

/* Whether there is room for so much at once; if not the job is over. */
bool seep_work_has_room(uint64_t bytes);

/*
 * This process is asked to end: half a second later all its jobs are over, and those to come. In a
 * signal handler, too.
 */
void seep_work_interrupt(void);
bool seep_work_is_interrupted(void);

/* Why the job is over, as half a sentence; NULL: it is not. Lives until seep_work_end() of this thread. */
const char *seep_work_problem(void);

/*
 * Bytes of memory that this process may still take before the machine swaps, or before the
 * control groups that it is in kill somebody. UINT64_MAX: nothing tells.
 */
uint64_t seep_memory_room(void);

#endif
