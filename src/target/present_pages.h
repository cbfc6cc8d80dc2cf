/* SPDX-License-Identifier: MIT */
/*
 * Which pages of a process are there: in memory or swapped out, not merely reserved. To read the
 * others would give zeros, and may make the kernel put pages of zeros there.
 */
#ifndef SEEP_TARGET_PRESENT_PAGES_H
#define SEEP_TARGET_PRESENT_PAGES_H

#include "target/ranges.h"

#include <sys/types.h>

/* Zeroed storage is for no process. */
struct seep_present_pages {
	pid_t pid;
	int fd;		     /* of its pagemap; -1: that cannot be read */
	bool can_scan;	     /* the kernel can look for us, Linux 6.7 */
	uint64_t pages_left; /* that we look at one by one at most, where it cannot */
};

void seep_present_pages_init(struct seep_present_pages *pages, pid_t pid);
void seep_present_pages_done(struct seep_present_pages *pages);

/* Adds what is there of [@begin, @end), which are multiples of 4096. False: it cannot be told. */
bool seep_present_pages_find(struct seep_present_pages *pages, uint64_t begin, uint64_t end,
			     struct seep_ranges *found);

#endif
