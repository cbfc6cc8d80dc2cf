/* SPDX-License-Identifier: MIT */
/*
 * The time that a statement may take, also when SQLite does not look at the clock: it does between
 * the steps of its virtual machine, and one instr() of two long texts is one step of many hours.
 *
 * Counted is the processor time of the thread that called _start: a pager that is being read, or a
 * slow pipe, is not the statement's doing.
 */
#ifndef SEEP_CLI_QUERY_WATCH_H
#define SEEP_CLI_QUERY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct seep_query_watch;

/**
 * seep_query_watch_start - begin to count
 * @limit_ns: 0 = no limit
 * @end:      called by another thread when a while after the limit the time still runs; must end
 *	      the process, without a lock that this thread could hold (stdout's, the heap's)
 */
struct seep_query_watch *seep_query_watch_start(uint64_t limit_ns, void (*end)(void *context),
						void *context);

/* Whether the limit has passed; for the thread that called _start. */
bool seep_query_watch_expired(const struct seep_query_watch *watch);

/* Stop and release. NULL is a no-op. */
void seep_query_watch_stop(struct seep_query_watch *watch);

#endif
