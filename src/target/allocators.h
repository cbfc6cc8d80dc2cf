/* SPDX-License-Identifier: MIT */
/*
 * Looks up functions of core/allocation.def by name, and finds allocators that are linked into a
 * program by the names in its symbol tables. In a stripped program it finds none.
 */
#ifndef SEEP_TARGET_ALLOCATORS_H
#define SEEP_TARGET_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>

enum seep_allocation_kind {
	SEEP_ALLOCATION_MALLOC = 1,    /* malloc and its relatives */
	SEEP_ALLOCATION_OPERATORS = 2, /* operator new and delete */
	SEEP_ALLOCATION_PRIVATE = 4,   /* an allocator's functions by names of its own */
};

struct seep_allocation_function {
	const char *symbol;
	enum seep_allocation_kind kind;
	const char *allocator; /* of a private one; "" the C library */
};

/* The function of this name; NULL: it is none that is known. Static storage. Any thread. */
const struct seep_allocation_function *seep_allocation_function(const char *symbol);

/* What a library of this path is called that provides malloc; NULL: it is none that is known. */
const char *seep_allocator_library(const char *path);

/*
 * What a known allocator is called that the ELF file at @path defines functions of; "malloc" where
 * it defines that, whosever it is. NULL when there is none, or the file cannot be read. Static
 * storage.
 */
const char *seep_allocator_in(const char *path);

/*
 * Language runtimes that take memory in large pieces, from malloc or from the kernel, and divide it
 * themselves: a recording shows the pieces, not the objects in them.
 */
struct seep_memory_manager {
	const char *program; /* beginning of the file name of what is executed; NULL */
	const char *library; /* a part of the path of a library; NULL */
	const char *off;     /* beginning of an environment variable that turns it off; NULL */
	const char *sentence;
	const char *advice; /* "" none */
};

/*
 * Which one comes with the file at @path, a program or a library; NULL: none that is known. Static
 * storage.
 */
const struct seep_memory_manager *seep_memory_manager_of(const char *path);

/* Whether @environment, variables that are each ended by a zero byte, turns it off. */
bool seep_memory_manager_is_off(const struct seep_memory_manager *manager, const char *environment,
				size_t bytes);

#endif
