/* SPDX-License-Identifier: MIT */
/*
 * All ledgers in the folders where ledgers are: of processes that run and of those that left theirs
 * behind. Files that are not called as ledgers are passed over.
 */
#ifndef SEEP_RECORDER_CENSUS_H
#define SEEP_RECORDER_CENSUS_H

#include "base/error.h"
#include "base/texts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum seep_census_state {
	SEEP_CENSUS_RUNNING,	   /* no recorder: started by LD_PRELOAD alone, or left running */
	SEEP_CENSUS_RECORDED,	   /* running, and a recorder follows it */
	SEEP_CENSUS_RECORDER_GONE, /* running; its recorder died */
	SEEP_CENSUS_ENDING,   /* dead; its recorder lives and is about to write the recording */
	SEEP_CENSUS_DEAD,     /* dead, and nobody has made a recording of it */
	SEEP_CENSUS_DETACHED, /* it may run, but is not recorded any more; nor is there a recording */
	SEEP_CENSUS_DONE,     /* dead or detached, and recorded; kept because children name it */
	SEEP_CENSUS_ELSEWHERE, /* not to be seen from here: cannot be told */
};

struct seep_census_entry {
	enum seep_census_state state;
	char *path;
	char *parent; /* file name of its fork parent's ledger; "" none */
	char *exe;
	uint32_t pid;		/* as it knows itself */
	uint32_t ppid;		/* in the same namespace, */
	uint64_t pid_namespace; /* which is this one; 0 unknown */
	uint32_t here_pid;	/* as seen from here; 0: it does not run, or that is not known */
	bool is_replaced;	/* its process runs another program by now */
	bool is_detached;	/* or it was detached from */
	bool may_be_reaped;	/* it lies where seep_census_reap() removes */
	bool is_needed;		/* as far as is known: one that stays names it as ancestor */
	bool has_recorder;	/* as seep_ledger_has_recorder() */
	uint32_t recorder_pid;	/* 0 none */
	uint64_t live_bytes;
	uint64_t allocs;
	uint64_t frees;
	uint64_t growing_bytes_per_hour;
	uint32_t growing_contexts;
	bool growth_known; /* its recorder can tell whether it grows */
	uint64_t created_realtime_ns;
	uint64_t age_ns;      /* since its creation; of a dead one too */
	uint64_t space_bytes; /* memory or disk that the ledger takes */
};

struct seep_census {
	struct seep_census_entry *entries; /* running ones first, by age */
	size_t count;
	struct seep_texts problems; /* a sentence for each file called a ledger that cannot be read,
			    one for all of another version in a folder, for each folder of
			    somebody else's, and for one that is crowded */
};

/**
 * seep_census_take - look through the default folder and $SEEP_DIR
 *
 * Folders that are missing count as empty, and so do those of others, which are a problem. What dead
 * processes left half-made is removed.
 *
 * Returns: 0, or -SEEP_ESYS when a folder of ours cannot be read.
 */
SEEP_NODISCARD int seep_census_take(struct seep_census *ret_census, struct seep_error *err);

/*
 * Add that of the ledger at @path, wherever it lies, as the last entry. Others move: no entry may be
 * pointed to. False: it cannot be read.
 */
bool seep_census_add(struct seep_census *census, const char *path);

void seep_census_done(struct seep_census *census);

/* Does its program run, as far as that can be seen from here? */
bool seep_census_runs(const struct seep_census_entry *entry);

/* Is it dead or detached, with nobody who is about to write its recording? */
bool seep_census_is_over(const struct seep_census_entry *entry);

/*
 * The ledger of process @pid: if it runs, that of what runs now, else the newest; NULL when there
 * is none. @pid is its number here; if nobody has that, its own number in its PID namespace.
 */
const struct seep_census_entry *seep_census_find(const struct seep_census *census, uint32_t pid);

/* The running process that started @entry's, if it is recorded, or NULL. */
const struct seep_census_entry *seep_census_parent(const struct seep_census *census,
						   const struct seep_census_entry *entry);

/* A stable word: "running", "recorded", "recorder-gone", "ending", "dead", "detached", ... */
const char *seep_census_state_name(enum seep_census_state state);

/**
 * seep_census_tidy - remove what nobody needs from one folder
 *
 * Ledgers that are recorded, whose process and recorder are gone and which no ledger of a living
 * process names. Ledgers without a recording are never removed. Half-made ones of dead processes are, a
 * minute after their last change, whatever a folder is looked through for.
 */
void seep_census_tidy(int dir_fd);

/* @kept_why: NULL: the ledger was removed; else why it was not. */
typedef void seep_reap_told(void *context, const struct seep_census_entry *entry,
			    const char *kept_why);

/*
 * Remove the ledgers of processes that are dead or detached, recorded or not, but those that a ledger which stays names
 * as ancestor; with $SEEP_DIR only in that folder. @told is called for each there that goes, and for
 * each of no running process that stays.
 */
void seep_census_reap(const struct seep_census *census, seep_reap_told *told, void *context);

#endif
