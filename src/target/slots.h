/* SPDX-License-Identifier: MIT */
/*
 * The slots of one mapped ELF module through which it calls allocation functions, read from the
 * memory of the process that it is mapped into.
 */
#ifndef SEEP_TARGET_SLOTS_H
#define SEEP_TARGET_SLOTS_H

#include "target/bindings.h"

struct seep_slot {
	uint64_t address; /* as linked: less the module's bias */
	bool may_be_lazy; /* leads into the module's own stubs until it is first used */
	enum seep_binding_kind kind;
	const char *name; /* static or owned by the slots */
};

struct seep_slots {
	struct seep_slot *items;
	size_t count;
	size_t capacity;
	char *names; /* what the items' names point into */
};

/* Where a module lies and which memory to read. */
struct seep_slots_module {
	int memory_fd; /* /proc/PID/mem */
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
bool seep_slots_find_module(int memory_fd, uint64_t start, struct seep_slots_module *ret_module);

/* The module's slots for allocation functions; empty where something cannot be read. */
void seep_slots_read(const struct seep_slots_module *module, struct seep_slots *ret_slots);

void seep_slots_done(struct seep_slots *slots);

/* Read @bytes at @address; false when not all of them are there. */
bool seep_slots_peek(int memory_fd, uint64_t address, void *to, size_t bytes);

/* Something that changes with the module's contents: of its headers and dynamic section. */
uint64_t seep_slots_identity(const struct seep_slots_module *module);

#endif
