/* SPDX-License-Identifier: MIT */
/*
 * Making the ledger: a sparse file in the ledger directory, mapped once, its descriptor closed at
 * once, given its final name when the header is complete.
 */
#ifndef SEEP_RUNTIME_MAKE_H
#define SEEP_RUNTIME_MAKE_H

#include "runtime/life/rt_options.h"
#include "runtime/rt.h"

/* What differs between a program's start and a forked child. */
struct rt_make {
	const struct rt_options *options;
	const char *dir; /* NULL: the usual place */
	uint64_t session;
	char *const *arguments; /* see struct rt_start */
	enum ledger_origin origin;
	uint32_t first_row;
	uint32_t parent_rows_end; /* see struct ledger_header */
	uint64_t age_ns;	  /* what is recorded began so long ago */
	/*
	 * Called before the file gets its name, with rt_global pointing at it; false gives up.
	 * NULL: none.
	 */
	bool (*fill)(void);
	const char *parent; /* file name of the fork parent's ledger, or "" */
	const char *allocator_path;
	uint64_t private_bytes; /* mapped already */
	/*
	 * A fork parent's ledger: what it says of the arguments; the program may have changed them.
	 */
	const uint8_t *argv;
	size_t argv_bytes;
};

/*
 * Make a ledger and point rt_global at it. False when none can be made, with rt_global as it was
 * and nothing left behind. The name without directory stands in rt_ledger_name afterwards, the
 * directory in rt_ledger_dir.
 */
bool rt_ledger_make(const struct rt_make *make);

extern RT_HIDDEN char rt_ledger_name[LEDGER_NAME_BYTES];
extern RT_HIDDEN const char *rt_ledger_dir;

/* The ledger made last lies in another directory than the one before. */
extern RT_HIDDEN bool rt_ledger_moved;

#endif
