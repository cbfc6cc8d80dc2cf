/* SPDX-License-Identifier: MIT */
/*
 * The entries of one mapped ELF module's global offset table through which it calls allocation
 * functions, read from the memory of the process that it is mapped into.
 */
#ifndef SEEP_TARGET_GOT_H
#define SEEP_TARGET_GOT_H

#include "target/allocators.h"
#include "target/remote_memory.h"

struct seep_got_entry {
	uint64_t address; /* as linked: less the module's bias */
	bool may_be_lazy; /* leads into the module's own stubs until it is first used */
	const struct seep_allocation_function *function;
};

struct seep_got {
	struct seep_got_entry *items;
	size_t count;
};

/* Where a module lies. */
struct seep_got_module {
	struct seep_memory *memory; /* borrowed */
	uint64_t start;
	uint64_t end; /* from the program headers, exclusive */
	uint64_t bias;
	uint64_t dynamic; /* address */
	uint64_t dynamic_bytes;
};

/*
 * Fill in @ret_module from the ELF header at @start. False: there is none, or it is not a module
 * that is linked dynamically.
 */
bool seep_got_find_module(struct seep_memory *memory, uint64_t start,
			  struct seep_got_module *ret_module);

/* The module's entries; empty where something is unreadable. free() releases @ret_got->items. */
void seep_got_read(const struct seep_got_module *module, struct seep_got *ret_got);

/* Something that changes with the module's contents: of its headers and dynamic section. */
uint64_t seep_got_identity(const struct seep_got_module *module);

#endif
