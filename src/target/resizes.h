/* SPDX-License-Identifier: MIT */
/* Threads of a stopped process that are in realloc(), let on until they are not. */
#ifndef SEEP_TARGET_RESIZES_H
#define SEEP_TARGET_RESIZES_H

#include "base/texts.h"
#include "target/stop.h"

#include <stdbool.h>
#include <stdint.h>

struct ledger_header;

struct seep_resizes {
	struct seep_stopped *stopped;
	const struct ledger_header *header;
	int ledger_fd;
	bool may_run;		    /* a thread of it, for a moment; a dying one does not */
	struct seep_texts *caveats; /* gets those that are in it still */
};

void seep_resizes_finish(const struct seep_resizes *resizes);

#endif
