/* SPDX-License-Identifier: MIT */
/*
 * Mappings of files that somebody else may cut at any moment.
 *
 * To touch what is mapped beyond a file's end is a SIGBUS, which would end us. While there are
 * such mappings a handler puts zeros in place of what is gone, from the page that was touched to
 * the end of the mapping, and notes it: the reader goes on, and asks afterwards. Reading what is
 * there costs nothing more than without.
 */
#ifndef SEEP_BASE_SHARED_MAP_H
#define SEEP_BASE_SHARED_MAP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct seep_shared_map {
	void *at; /* NULL: none */
	size_t bytes;
	struct seep_map_guard *guard;
};

/**
 * seep_shared_map_open - map the first @bytes of @fd, shared
 * @writable: for writing, too; what is written where the file is gone is lost
 * @ret_map:  set on success only; release with seep_shared_map_close()
 *
 * The descriptor may be closed afterwards. A thread that touches the mapping must not block SIGBUS.
 * From the first mapping to the last one's release that signal's handler is ours; a SIGBUS that has
 * nothing to do with them does what it did before.
 *
 * Threads: mappings may be opened, read and closed by any; each is closed once, when nobody reads.
 *
 * Returns: 0, or -SEEP_ESYS; @err then says why, without a name.
 */
SEEP_NODISCARD int seep_shared_map_open(int fd, size_t bytes, bool writable,
					struct seep_shared_map *ret_map, struct seep_error *err);

/* Was something touched that is gone? What was read meanwhile may be zeros. */
bool seep_shared_map_is_cut(const struct seep_shared_map *map);

/* A map without a mapping is a no-op. */
void seep_shared_map_close(struct seep_shared_map *map);

#endif
