/* SPDX-License-Identifier: MIT */
/*
 * Language runtimes that take memory in large pieces, from malloc or from the kernel, and divide it
 * themselves: a recording shows the pieces, not the objects in them.
 */
#ifndef SEEP_TARGET_MEMORY_MANAGER_H
#define SEEP_TARGET_MEMORY_MANAGER_H

#include <stdbool.h>
#include <stddef.h>

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
