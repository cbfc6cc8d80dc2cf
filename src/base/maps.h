/* SPDX-License-Identifier: MIT */
/* The mappings of a process, from /proc/PID/maps. */
#ifndef SEEP_BASE_MAPS_H
#define SEEP_BASE_MAPS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct seep_mapping {
	uint64_t begin;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t device_major, device_minor;
	bool readable, writable, executable, shared;
	const char *name; /* path, "[heap]", "[stack]"; "" none */
};

struct seep_maps {
	struct seep_mapping *items; /* by address; none overlap */
	size_t count;
	char *text; /* that the names are in */
	pid_t tid;  /* a thread that has this memory: pid's own, or one that outlived it */
};

/* Returns: 0, or -SEEP_ENOTFOUND, -SEEP_EREFUSED, -SEEP_ESYS. */
SEEP_NODISCARD int seep_maps_read(pid_t pid, struct seep_maps *ret_maps, struct seep_error *err);

/* The same from the text of such a file, which is taken. */
void seep_maps_parse(char *text, struct seep_maps *ret_maps);

/* Zeroed storage is a no-op. */
void seep_maps_done(struct seep_maps *maps);

/* The mapping that @address is in, or NULL. */
const struct seep_mapping *seep_maps_find(const struct seep_maps *maps, uint64_t address);

/* The first mapping of @fd's file, that very one, or NULL. */
const struct seep_mapping *seep_maps_of_file(const struct seep_maps *maps, int fd);

/* The index of the first that ends behind @address; count: none does. */
size_t seep_maps_from(const struct seep_maps *maps, uint64_t address);

#endif
