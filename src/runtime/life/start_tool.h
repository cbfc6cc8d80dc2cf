/* SPDX-License-Identifier: MIT */
/*
 * Without a recorder it is the program seep that scans this process: `seep leaks --answer
 * LEDGER`.
 */
#ifndef SEEP_RUNTIME_START_TOOL_H
#define SEEP_RUNTIME_START_TOOL_H

#include "runtime/rt.h"

/* Once, at start: while a path relative to the working directory still says where libseep.so is. */
void rt_tool_find(void);

/**
 * rt_tool_run - have the request in the ledger answered, and wait until the program has ended
 *
 * One thread at a time. The program is a grandchild, whose parent shares our memory and waits for
 * it: nobody but who waits by __WALL or __WCLONE sees a child, and nobody gets a SIGCHLD. It starts
 * with all signals blocked, an empty environment, and no descriptors but standard ones.
 *
 * Returns: if it has not answered, why: a part of a sentence, in static storage.
 */
const char *rt_tool_run(void);

#endif
