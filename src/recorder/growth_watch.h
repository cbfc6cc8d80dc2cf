/* SPDX-License-Identifier: MIT */
/*
 * Looking at the call stacks of one followed process now and then, for those that grow. One thread
 * looks; any may ask for the list meanwhile.
 */
#ifndef SEEP_RECORDER_GROWTH_WATCH_H
#define SEEP_RECORDER_GROWTH_WATCH_H

#include "analysis/growth.h"
#include "profile/ledger_file.h"

struct seep_growth_watch;

/*
 * @ledger: borrowed; open for writing, as `seep ps` reads there how it goes. @after_ns as for
 * seep_growth_new(). Nothing is read of a process that is young.
 * @news: borrowed; set while something is GROWING that no list said
 */
struct seep_growth_watch *seep_growth_watch_new(const struct seep_ledger *ledger, uint64_t after_ns,
						_Atomic bool *news)
	__attribute__((returns_nonnull));

/* NULL is a no-op. */
void seep_growth_watch_free(struct seep_growth_watch *watch);

/* A reading, if it is time for one. Returns when the next one is due. */
uint64_t seep_growth_watch_look(struct seep_growth_watch *watch, uint64_t now_ns);

/* A reading although it is not time yet: the process ends. */
void seep_growth_watch_look_last(struct seep_growth_watch *watch, uint64_t now_ns);

/* What was found so far; its news are none for the next one. Release with seep_growth_list_done(). */
struct seep_growth_list seep_growth_watch_list(struct seep_growth_watch *watch);

#endif
