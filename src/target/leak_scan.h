/* SPDX-License-Identifier: MIT */
/*
 * One leak scan of a process from outside, from its stop to the list of what is not reachable.
 * The process is stopped for as long as a copy of it takes to make; where none can be made
 * unnoticed, or it is small and waits alone, for as long as its memory is looked through.
 */
#ifndef SEEP_TARGET_LEAK_SCAN_H
#define SEEP_TARGET_LEAK_SCAN_H

#include "base/error.h"
#include "base/texts.h"
#include "scan/scan.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ledger_header;

/* In what state the process is. */
enum seep_scan_moment {
	SEEP_SCAN_LIVE = 0,
	SEEP_SCAN_AT_EXIT, /* it waits in its exit hook, or for this scan */
	SEEP_SCAN_DYING,   /* traced by the calling thread, a signal kills it: see seep_stop() */
};

struct seep_leak_scan_options {
	enum seep_scan_moment moment;
	bool want_chains;    /* for scan_chain() */
	bool notes_lost;     /* for the next scan: kept_result.h */
	uint32_t dump_bytes; /* of the contents of each block of the result; 0 none */
	int ledger_fd;	     /* of the same file, to be read; -1 none */
};

enum seep_scan_method {
	SEEP_SCAN_NONE = 0,
	SEEP_SCAN_COPY_ON_WRITE, /* of a copy; the process was stopped for the time of a fork */
	SEEP_SCAN_STOPPED,	 /* of the stopped process */
	SEEP_SCAN_WAITING,	 /* of one that waits at its end and could not be stopped */
};

/* What one scan found. Its arrays live until seep_leak_scan_free(). */
struct seep_leak_scan {
	enum seep_scan_method method;
	uint64_t at_ns;	    /* monotonic */
	uint64_t pause_ns;  /* that the process stood still */
	uint64_t mark_ns;   /* that looking took */
	struct scan marked; /* where chains are wanted, for scan_find() and scan_chain() */
	struct scan_result result;
	/*
	 * By block of the result, content_bytes or the block's size each, NULL unreadable; or NULL.
	 */
	uint8_t **contents;
	uint32_t content_bytes;
	struct seep_texts caveats; /* one sentence each */
	struct seep_leak_scan_private *private;
};

/**
 * seep_leak_scan - scan the process @pid, whose ledger has this @header
 *
 * Threads: any; several at once are independent, but for one process. A dying one is let go;
 * nothing else that the calling thread traces may be there.
 *
 * Returns: 0, or the errors of seep_stop() and seep_memory_open(); -SEEP_ENOTFOUND: it runs another
 * program by now; -SEEP_ECORRUPT: its page map is damaged.
 */
SEEP_NODISCARD int seep_leak_scan(pid_t pid, const struct ledger_header *header,
				  const struct seep_leak_scan_options *options,
				  struct seep_leak_scan **ret_scan, struct seep_error *err);

/* "copy-on-write", "stopped", "waiting"; NULL of SEEP_SCAN_NONE. Static storage. */
const char *seep_scan_method_name(enum seep_scan_method method);

/* Where the pointer lies that a chain begins at. Texts are released with free(). */
struct seep_leak_place {
	char *from; /* "module data", "stack of thread 12", "register of thread 12", "epoll" ... */
	char *name; /* of the module or mapping; NULL none */
	uint64_t address; /* 0: it is in a register, or the kernel keeps it */
	uint64_t offset;  /* in the module or mapping */
};

/* @link: the last of a chain of @scan. */
void seep_leak_scan_place(const struct seep_leak_scan *scan, const struct scan_link *link,
			  struct seep_leak_place *ret_place);

/* NULL is a no-op. */
void seep_leak_scan_free(struct seep_leak_scan *scan);

#endif
