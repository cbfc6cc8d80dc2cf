/* SPDX-License-Identifier: MIT */
/*
 * Which pages of a process are there: in memory or swapped out, not merely reserved. To read the
 * others would give zeros, and may make the kernel put pages of zeros there.
 */
#ifndef SEEP_TARGET_PRESENT_PAGES_H
#define SEEP_TARGET_PRESENT_PAGES_H

#include "base/maps.h"
#include "target/ranges.h"

#include <sys/types.h>

struct seep_present_pages {
	int fd;		      /* of its pagemap; -1: that cannot be read */
	bool can_scan;	      /* the kernel can look for us, Linux 6.7 */
	bool knows_no_guards; /* and it has no name for guard pages, before 6.16 */
	uint64_t pages_left;  /* that we look at one by one at most, where it cannot */
};

void seep_present_pages_init(struct seep_present_pages *pages, pid_t pid);
void seep_present_pages_done(struct seep_present_pages *pages);

/* Adds what is there of [@begin, @end), which are multiples of 4096. False: it cannot be told. */
bool seep_present_pages_find(struct seep_present_pages *pages, uint64_t begin, uint64_t end,
			     struct seep_ranges *found);

/* The same of pages that are the process's own: of a file's private mapping those it has written. */
bool seep_present_pages_own(struct seep_present_pages *pages, uint64_t begin, uint64_t end,
			    struct seep_ranges *found);

/* Whether any of it is there; true where it cannot be told. */
bool seep_present_pages_any(struct seep_present_pages *pages, uint64_t begin, uint64_t end);

/*
 * Which memory of a process it never touched: holes, that hold zeros, and pages of files, in which
 * it has left no pointer. To read them takes long where there is much, and fills holes of files.
 */
struct seep_untouched {
	const struct seep_maps *maps;
	struct seep_present_pages image_pages;	/* of private memory */
	struct seep_present_pages shared_pages; /* which a copy has not until it touches them */
	uint64_t begin, end;			/* where the last look was */
	struct seep_ranges others;		/* what there is touched */
};

/* @copy: of the process with these mappings; 0: there is none. @maps is borrowed. */
void seep_untouched_init(struct seep_untouched *untouched, pid_t copy,
			 const struct seep_maps *maps);
void seep_untouched_done(struct seep_untouched *untouched);

/* For scan_options.untouched. @user: struct seep_untouched */
uint64_t seep_untouched_bytes(void *user, uint64_t address, uint64_t bytes);

#endif
