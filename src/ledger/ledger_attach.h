/* SPDX-License-Identifier: MIT */
/*
 * What who attaches says to libseep.so in a process that was not started with it, and its answer. It
 * lies in memory of the process that is mapped for this call. seep_rt_attach() and seep_rt_detach()
 * are called by a thread that stands where it may be led astray: in no lock of the C library's.
 * seep_rt_entry_pages has the addresses of all struct ledger_entry_page that are there.
 */
#ifndef SEEP_LEDGER_ATTACH_H
#define SEEP_LEDGER_ATTACH_H

#include "ledger/ledger.h"
#include "ledger/ledger_entry.h"

enum {
	LEDGER_ATTACH_TEXT_BYTES = 4096,
	LEDGER_ATTACH_ARGV_BYTES = 16 << 10,
	LEDGER_ATTACH_ARGS_MAX = 1024,
	LEDGER_ATTACH_PARTS = 3, /* calls, at most, until an attach is done */
};

enum ledger_attached {
	LEDGER_ATTACH_NONE = 0,
	LEDGER_ATTACH_DONE = 1,
	LEDGER_ATTACH_OTHER_VERSION = 2, /* the library's is another one */
	LEDGER_ATTACH_ALREADY = 3,	 /* it is recorded (attach), or is not (detach) */
	LEDGER_ATTACH_NO_LEDGER = 4,	 /* none could be made: no folder, no room */
	LEDGER_ATTACH_BUSY =
		5, /* a thread still is where an earlier detach left it: in bookkeeping */
	/* A part is done: call again. In parts, so that no thread is away for long. */
	LEDGER_ATTACH_MORE = 6,
};

struct ledger_attach {
	uint32_t version;	 /* LEDGER_VERSION */
	_Atomic uint32_t result; /* enum ledger_attached */
	uint64_t session;	 /* as SEEP_SESSION; 0: nobody is waited for at the end */
	char options[LEDGER_ATTACH_TEXT_BYTES]; /* as SEEP_OPTIONS */
	char dir[LEDGER_ATTACH_TEXT_BYTES];	/* as SEEP_DIR; "": the usual place */
	/* Arguments of the process, one after the other, and where each begins in the process. */
	char argv[LEDGER_ATTACH_ARGV_BYTES];
	uint64_t arguments[LEDGER_ATTACH_ARGS_MAX]; /* ended by a 0 */
	/* There is an allocator beside the C library's: this attach records its blocks, or a later one may. */
	uint32_t has_allocator;
	/* It is recorded, and its functions could not be led to us: as if there were none. */
	uint32_t gives_up;
	/* The answer. */
	char ledger[2 * LEDGER_ATTACH_TEXT_BYTES]; /* the path */
	/*
	 * Asked: where struct ledger_entry_page are to be, 0 where there are no more, and where their contents
	 * lie, 0 for one that is there. The answer, 0 unless the library records them: where the word is that
	 * is to be 1 once all jumps to them are written. Until then what is entered is not recorded.
	 */
	uint64_t entries[LEDGER_ENTRY_MODULES_MAX], contents[LEDGER_ENTRY_MODULES_MAX];
	uint64_t led_at;
	uint32_t has_begun; /* set by the library: there is a ledger, for a later call to publish */
};

#endif
