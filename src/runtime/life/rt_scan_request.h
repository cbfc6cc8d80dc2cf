/* SPDX-License-Identifier: MIT */
/*
 * What a process asks of its recorder, or of the tool: to scan it for leaks now.
 * docs/internals/ledger.md, "Asking for a leak scan".
 */
#ifndef SEEP_RUNTIME_SCAN_REQUEST_H
#define SEEP_RUNTIME_SCAN_REQUEST_H

#include "runtime/rt.h"

/*
 * Wait until *@word is @wanted, which the recorder sees to, or it is later than @until_ns. False:
 * it is not, because it is late, or there is no recorder, or none any more.
 */
bool rt_recorder_wait(_Atomic uint32_t *word, uint32_t wanted, uint64_t until_ns);

/*
 * Wait for the recorder of this session, a second at most: a program may end, or ask, as soon as it
 * has started, and a fork as soon as its ledger has its name.
 */
void rt_recorder_meet(void);

struct rt_lost {
	uint64_t blocks; /* not marked as reported */
	uint64_t bytes;
	uint32_t listed; /* of them in list */
	const struct ledger_lost *list;
};

/**
 * rt_scan_request - have this process scanned for leaks, and wait
 * @registers: of who called the library's function; see rt_exit_enter()
 * @frame: frame address of the function of ours that also calls rt_scan_done(): if a handler leaves
 *	   it by longjmp(), the thread may ask again
 * @ret_lost: set on success only; its list is good until rt_scan_done()
 *
 * One thread at a time: others wait. Takes as long as the scan does. Where no recorder lives, the
 * tool is started for it.
 *
 * Returns: NULL, or why nobody has scanned, a part of a sentence; "" if whoever failed has said it.
 */
const char *rt_scan_request(enum ledger_scan_kind kind, const uint64_t *registers,
			    const void *frame, struct rt_lost *ret_lost);
void rt_scan_done(void);

/* Let the ledger have what the program's __lsan_default_suppressions() says, if it has one. */
void rt_suppressions_note(void);

#endif
