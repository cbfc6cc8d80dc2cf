/* SPDX-License-Identifier: MIT */
/*
 * Where the calls of allocation functions in a running process lead. Calls between modules go
 * through entries of the global offset table (GOT), which the dynamic linker has filled in. A call
 * whose entry does not lead to libseep.so is not recorded: the program defines malloc itself, a
 * plugin was loaded into a namespace of its own, or with RTLD_DEEPBIND, or the function has a name
 * that nobody hooks.
 *
 * Everything is read from the process's memory, as hostile input: modules that were deleted, or
 * lie in another mount namespace, are read like any other.
 */
#ifndef SEEP_TARGET_BINDINGS_H
#define SEEP_TARGET_BINDINGS_H

#include "base/error.h"
#include "target/allocators.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One module whose calls lead past us, and where to. */
struct seep_binding {
	char *from;					 /* path */
	char *to;					 /* path */
	const struct seep_allocation_function *function; /* the first such */
	bool to_program;
};

/* Zeroed storage is empty. Release with seep_bindings_done(). */
struct seep_bindings {
	struct seep_binding *items;
	size_t count;
	const struct seep_memory_manager *manager; /* of the process, and not off; NULL none */
};

/**
 * seep_bindings_read - look at a process now
 * @bindings: what is found is added; what is there already is not added again
 *
 * Meant for a process that stands still or is at its end; of one that runs on, a module that comes
 * or goes meanwhile may be missed. Costs some 0.1 ms: what does not change is remembered by file,
 * whose first time costs up to 10 ms.
 *
 * Threads: any number at once.
 * Returns: 0, -SEEP_ENOTFOUND (it has ended), or another: we may not look.
 */
SEEP_NODISCARD int seep_bindings_read(uint32_t pid, struct seep_bindings *bindings);

void seep_bindings_done(struct seep_bindings *bindings);

#endif
