/* SPDX-License-Identifier: MIT */
/*
 * How large a ledger may be, by the limits of the process, and where its tables lie in it.
 * docs/internals/ledger.md, "How it grows".
 */
#ifndef SEEP_RUNTIME_LAYOUT_H
#define SEEP_RUNTIME_LAYOUT_H

#include "runtime/rt.h"

/*
 * Say in rt_header where the tables lie, as far as the limits of the process allow, with room for
 * what ledger_max= says if that is more than usual; and how much of the file @fd may become real:
 * a part of what there is, if nothing is said. That a child takes over, and where the tables lie
 * too, if its limits allow that. False: they allow no ledger.
 */
bool rt_lay_out(long fd);

#endif
