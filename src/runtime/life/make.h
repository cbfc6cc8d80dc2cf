/* SPDX-License-Identifier: MIT */
/*
 * Making the ledger: a sparse file in the ledger directory, mapped once, its descriptor closed at
 * once. Until it has its name it is called the same with ".new" behind.
 */
#ifndef SEEP_RUNTIME_MAKE_H
#define SEEP_RUNTIME_MAKE_H

#include "runtime/rt.h"

/* How a program was started. */
struct rt_start {
	const char *options;	/* as in SEEP_OPTIONS; NULL: none */
	const char *dir;	/* as in SEEP_DIR; NULL: the usual place */
	const char *stop;	/* as in SEEP_BREAK; NULL: nowhere */
	char *const *arguments; /* one after the other in memory */
	uint64_t session;	/* of a recorder; 0: none */
	bool attaches;		/* the process has run without us */
	bool has_entries; /* or may come to: of allocators beside the next one (hook/entry.h) */
};

/*
 * Make a ledger, publish it unless the process is attached to, and point rt_global and rt_header at it. @first
 * has a dir that lasts as long as the process. False when none can be made, with nothing left behind.
 *
 * In a forked child @first is NULL: its ledger is made by what rt_header says of its parent, and for
 * itself of ancestors and of rows from rt_mine.first_row on; nobody else is in the parent's ledger
 * any more. It has no name yet.
 */
bool rt_ledger_make(const struct rt_start *first);

/*
 * This process is not in its ledger any more: zeros take its place in memory, for whoever is about to
 * write there. The file stays. The next ledger of this process takes the same place.
 */
void rt_ledger_leave(void);

/* The ledger that was made last has its name. As long as it has none: */
extern RT_HIDDEN _Atomic bool rt_ledger_is_named;
void rt_ledger_remove(void);

/*
 * Write header and name, which make a ledger one that others see; of a process that is attached to not before calls
 * lead to us. False: its folder cannot be reached any more, or the file.
 */
bool rt_ledger_publish(void);
bool rt_ledger_is_half_made(void); /* that is still to come; in a forked child: to its parent's */

/* @shares: there may be children, which get sums to add to, and later these could not be made. */
void rt_ledger_give_name(bool shares);

/* Its file name, without ".new"; its directory. */
extern RT_HIDDEN char rt_ledger_name[LEDGER_NAME_BYTES];
extern RT_HIDDEN const char *rt_ledger_dir;

/* The ledger made last lies in another directory than the one before; in one that is crowded. */
extern RT_HIDDEN bool rt_ledger_moved, rt_ledger_is_crowding;

#endif
