/* SPDX-License-Identifier: MIT */
/*
 * modules=GLOB,GLOB: only allocations called from some modules are recorded. What counts is the
 * base name of the object that the hook returns into. It is judged once for each return address and
 * generation of the module list.
 */
#ifndef SEEP_RUNTIME_MODULE_FILTER_H
#define SEEP_RUNTIME_MODULE_FILTER_H

#include "runtime/rt.h"

/* @globs stays the caller's; only with LEDGER_MODE_MODULES anything is asked. */
void rt_module_filter_start(const char *globs);

/* Is what the hook with frame address @frame allocates to be recorded? Outside bookkeeping. */
RT_COLD bool rt_module_filter_wants(const void *frame);

#endif
