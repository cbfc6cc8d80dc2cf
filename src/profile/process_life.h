/* SPDX-License-Identifier: MIT */
/*
 * Which process is this, and does it still run the program that a ledger is about? A process that
 * does has the ledger's file mapped, whatever its user, its names and its clocks are.
 */
#ifndef SEEP_PROFILE_PROCESS_LIFE_H
#define SEEP_PROFILE_PROCESS_LIFE_H

#include "profile/ledger_file.h"

#include <stdbool.h>
#include <stdint.h>

enum seep_process_life {
	SEEP_PROCESS_RUNNING,
	SEEP_PROCESS_REPLACED, /* it runs, but another program by now */
	SEEP_PROCESS_DEAD,     /* a zombie is: its memory is gone */
	SEEP_PROCESS_DETACHED, /* whether it runs or not, it is not recorded here any more */
	SEEP_PROCESS_UNKNOWN,  /* it cannot be seen from here */
};

/**
 * seep_process_life - whether the process of @ledger still runs its program
 * @ret_pid: its pid as seen from here; set with SEEP_PROCESS_RUNNING only; may be NULL
 *
 * Of a process whose mappings we may not see it is what pid, PID namespace and start time tell;
 * whether it called exec meanwhile is unknown then. A copy of a ledger is nobody's. Of one that
 * belongs neither to the process's user nor to ours the process is unknown: it may say anything.
 */
enum seep_process_life seep_process_life(const struct seep_ledger *ledger, uint32_t *ret_pid);

/* What such a process does, behind its name: "has ended", "runs another program by now" ... */
const char *seep_process_life_text(enum seep_process_life life);

/* Was it made since the machine was started last? If unknown: yes. */
bool seep_ledger_is_of_this_boot(const struct ledger_header *header);

/*
 * Is the process of another PID namespace than ours, or than that of /proc, so that its pid is not
 * its number here? If unknown: no.
 */
bool seep_process_is_elsewhere(const struct ledger_header *header);

/* Is a recorder registered, and does it live, as far as it can be seen from here? */
bool seep_ledger_has_recorder(const struct seep_ledger *ledger);

#endif
