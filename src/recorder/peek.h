/* SPDX-License-Identifier: MIT */
/*
 * A light hold on one ledger: its three fixed pages mapped, its tables read in passing. Enough to
 * follow a process and to answer it at its end; the whole account is read by src/profile.
 *
 * The tables are read with pread(): a read of a hole costs no memory. A file that somebody truncates
 * gives an error there and zeros in the pages that are mapped, never a fatal signal.
 */
#ifndef SEEP_RECORDER_PEEK_H
#define SEEP_RECORDER_PEEK_H

#include "base/error.h"
#include "base/shared_map.h"
#include "ledger/ledger.h"
#include "ledger/ledger_view.h"
#include "profile/ledger_load.h"

#include <stdbool.h>
#include <stdint.h>

enum { SEEP_PEEK_TEXT_BYTES = 4096 };

struct seep_peek {
	int fd;
	char *file_name; /* within its folder */
	struct seep_shared_map map;
	struct ledger_view view;	/* header checked; only header and counts are used */
	struct ledger_control *control; /* may be written only if opened for writing */
	struct ledger_state *state;
};

struct seep_peek_totals {
	uint64_t allocs;
	uint64_t frees;
};

/**
 * seep_peek_open - open a ledger of our own
 * @dir_fd:    its folder
 * @writable:  map control and state for writing, as a recorder needs
 * @ret_peek:  filled on success only; release with seep_peek_close()
 *
 * Nothing in @file_name's bytes is believed: links, pipes, files of other users are refused.
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND     it is not there any more
 *   -SEEP_EUNSUPPORTED  not a plain file of ours
 *   -SEEP_ECORRUPT, -SEEP_EVERSION, -SEEP_ETRUNC  as the header says
 *   -SEEP_ESYS
 */
SEEP_NODISCARD int seep_peek_open(int dir_fd, const char *file_name, bool writable,
				  struct seep_peek *ret_peek, struct seep_error *err);

void seep_peek_close(struct seep_peek *peek);

/*
 * Has somebody cut the file so short that control or state are gone? What was read from them since is
 * zeros, and what is written to them reaches nobody.
 */
bool seep_peek_is_cut(const struct seep_peek *peek);

/* Live bytes now: of a ledger that is being written, to within what is in flight. Never negative. */
uint64_t seep_peek_live_bytes(struct seep_peek *peek);

/* What the next allocator holds for the live blocks, as far as it says; to within what is in flight. */
uint64_t seep_peek_usable_bytes(struct seep_peek *peek);

/*
 * A pass over rows and slots. Slightly low while the program runs. Rows and slots with counts that no
 * program reaches are left out.
 */
struct seep_peek_totals seep_peek_totals(struct seep_peek *peek);

/* Bytes of tables that seep_peek_totals() reads. */
uint64_t seep_peek_pass_bytes(struct seep_peek *peek);

/* The text of @string, terminated and cut to SEEP_PEEK_TEXT_BYTES; release with free(). */
char *seep_peek_text(const struct seep_peek *peek, struct ledger_string string)
	__attribute__((returns_nonnull));

/**
 * seep_peek_mark - begin a new epoch without a name
 *
 * Advances control.epoch and appends the mark. Needs a writable peek of a running process.
 *
 * Returns: the new epoch; 0 when the table of marks is full and nothing was done.
 */
uint32_t seep_peek_mark(struct seep_peek *peek, uint64_t now_ns);

/*
 * As seep_profile_process_life(), but SEEP_PROCESS_UNKNOWN also of a process that runs under another
 * pid here than its ledger says: who follows it takes the ledger's word for the pid.
 */
enum seep_process_life seep_peek_life(const struct seep_peek *peek);

/* Is a recorder registered, and does it live? In the target's PID namespace. */
bool seep_peek_has_recorder(const struct seep_peek *peek);

#endif
