/* SPDX-License-Identifier: MIT */
/*
 * From the log of a young child to its new ledger: as if that had been there from the first
 * operation.
 */
#ifndef SEEP_RUNTIME_YOUNG_REPLAY_H
#define SEEP_RUNTIME_YOUNG_REPLAY_H

#include "runtime/track/young.h"

/*
 * Replay the log, before the ledger has its name, and give the thread its state. @frame: of the
 * caller, as of a hook. False without a thread state.
 */
bool rt_young_replay(const void *frame);

/* What was begun while this process was young: with its row as it is now. */
RT_COLD void rt_young_translate(struct rt_resize *resize);

#endif
