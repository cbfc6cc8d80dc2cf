/* SPDX-License-Identifier: MIT */
/*
 * How large a ledger may be, by the limits of the process, and where its tables lie in it.
 * docs/internals/ledger.md, "How it grows".
 */
#ifndef SEEP_RUNTIME_LAYOUT_H
#define SEEP_RUNTIME_LAYOUT_H

#include "runtime/rt.h"

/* What ledger_max= says, or the least that works; 0: not said. */
uint64_t rt_ledger_max_wanted(void);

/* What may become real of the file @fd if nothing is said: a part of what there is. */
uint64_t rt_ledger_max_default(long fd);

/*
 * Say in rt_header where the tables lie, as far as the limits of the process allow, with room for
 * what ledger_max= says if that is more than usual. Where a parent's are a child's are too, if they
 * allow that. False: they allow no ledger.
 */
bool rt_lay_out(void);

#endif
