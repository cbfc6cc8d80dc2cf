/* SPDX-License-Identifier: MIT */
/* Locals that are released where their scope ends, whichever way is taken out of it. */
#ifndef SEEP_BASE_RELEASE_H
#define SEEP_BASE_RELEASE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Before the declaration of a local: @function gets a pointer to it in the end. */
#define SEEP_RELEASED(function) __attribute__((cleanup(function)))

/* Define @free_at() for SEEP_RELEASED() of a local pointer to a @type, which @free takes. */
#define SEEP_FREE_AT(type, free)                     \
	static inline void free##_at(type **pointer) \
	{                                            \
		free(*pointer);                      \
	}

/* Before the declaration of local pointers, which have a value from there on: free() in the end. */
#define SEEP_FREED SEEP_RELEASED(seep_free_at)
static inline void seep_free_at(void *pointer)
{
	void *block;

	memcpy(&block, pointer, sizeof(block));
	free(block);
}

/* Before the declaration of a local descriptor: unless it is negative it is closed in the end. */
#define SEEP_CLOSED SEEP_RELEASED(seep_close_at)
static inline void seep_close_at(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

#endif
