/* SPDX-License-Identifier: MIT */
/*
 * A ledger's file, held open: its four fixed pages mapped, its tables read in passing. Enough to
 * follow a process and to answer it at its end; profile/ledger_load.h reads the whole.
 *
 * The tables are read with pread(): a read of a hole costs no memory. A file that somebody
 * truncates gives an error there and zeros in the pages that are mapped, never a fatal signal.
 */
#ifndef SEEP_PROFILE_LEDGER_FILE_H
#define SEEP_PROFILE_LEDGER_FILE_H

#include "base/error.h"
#include "base/shared_map.h"
#include "ledger/ledger_view.h"

#include <stdbool.h>
#include <stdint.h>

enum { SEEP_LEDGER_TEXT_BYTES = 4096 };

struct seep_ledger {
	int fd;
	char *file_name; /* as it was opened */
	uint64_t bytes;
	struct seep_shared_map map;	/* the fixed pages */
	struct ledger_view view;	/* header checked; only header and counts may be used */
	struct ledger_control *control; /* may be written only if opened for writing */
	struct ledger_state *state;
};

/* By whoever wrote the file, and all of it that is of use. */
enum seep_ledger_access {
	SEEP_LEDGER_READ,  /* any regular file, links followed */
	SEEP_LEDGER_OURS,  /* a file of this user, no link: for what was found in a folder */
	SEEP_LEDGER_WRITE, /* the same; control and state can be written, as a recorder needs */
};

/**
 * seep_ledger_open - open a ledger's file
 * @dir_fd:     its folder, as for openat(2)
 * @ret_ledger: filled on success only; release with seep_ledger_close()
 *
 * A file that was cut can be opened, but not for writing.
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND     it is not there any more
 *   -SEEP_EUNSUPPORTED  not a regular file (of this user)
 *   -SEEP_ECORRUPT, -SEEP_EVERSION, -SEEP_ETRUNC  as the header says
 *   -SEEP_ESYS
 */
SEEP_NODISCARD int seep_ledger_open(int dir_fd, const char *file_name,
				    enum seep_ledger_access access, struct seep_ledger *ret_ledger,
				    struct seep_error *err);

void seep_ledger_close(struct seep_ledger *ledger);

/* As seep_shared_map_open(), to read: all of the ledger, with its sums. */
SEEP_NODISCARD int seep_ledger_map(const struct seep_ledger *ledger,
				   struct seep_shared_map *ret_map, struct seep_error *err);

/* Remove a ledger from the folder @dir_fd, with its sums. 0 or an errno. */
int seep_ledger_remove(int dir_fd, const char *file_name);

/*
 * Has somebody cut the file so short that control or state are gone? What was read from them since
 * is zeros, and what is written to them reaches nobody.
 */
bool seep_ledger_is_cut(const struct seep_ledger *ledger);

/* Of a ledger that is being written, to within what is in flight; never negative. */
struct seep_ledger_sums {
	uint64_t live_bytes;
	uint64_t usable_bytes; /* what the next allocator holds for them, as far as it says */
	uint64_t allocs;       /* slightly low while the program runs */
	uint64_t frees;
};

/*
 * A pass over caches, rows and slots. Rows and slots with counts that no program reaches are left
 * out, as from a profile.
 */
struct seep_ledger_sums seep_ledger_sum(struct seep_ledger *ledger);

/* The text of @string, terminated and cut to SEEP_LEDGER_TEXT_BYTES; release with free(). */
char *seep_ledger_string(const struct seep_ledger *ledger, struct ledger_string string)
	__attribute__((returns_nonnull));

/* The error for a header that was not accepted. Returns its code. */
int seep_ledger_refuse(const struct ledger_view *view, enum ledger_view_status status,
		       struct seep_error *err);

#endif
