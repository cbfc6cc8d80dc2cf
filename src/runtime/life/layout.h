/* SPDX-License-Identifier: MIT */
/*
 * How large a ledger may be, by the limits of the process, and where its tables lie in it.
 * docs/internals/ledger.md, "How it grows".
 */
#ifndef SEEP_RUNTIME_LAYOUT_H
#define SEEP_RUNTIME_LAYOUT_H

#include "runtime/life/rt_options.h"
#include "runtime/rt.h"
#include "runtime/sys/tables.h"

enum { RT_HEADER_PAGES = 3 };

/*
 * What the limits leave for the file. Exceeding RLIMIT_FSIZE is a fatal signal. Of the address
 * space that RLIMIT_AS still allows, most is the program's; with too little there is no ledger.
 */
uint64_t rt_file_bytes_allowed(void);

/* What ledger_max= says, or the least that works; 0: not said. */
uint64_t rt_ledger_max_wanted(const struct rt_options *options);

/* What may become real of the file @fd if nothing is said: a part of what there is. */
uint64_t rt_ledger_max_default(long fd, bool is_fork);

/*
 * Lay the tables out in @limit bytes at most, enough for @wanted if that is more than usual;
 * returns the file's size, which is above @limit when that is too small.
 */
uint64_t rt_lay_out(uint64_t wanted, uint64_t limit, struct ledger_table *ret_tables);

#endif
