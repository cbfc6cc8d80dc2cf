/* SPDX-License-Identifier: MIT */
/*
 * Which memory of a process was never touched and holds zeros: private anonymous memory whose pages
 * are not there. To read it would give zeros too, but takes long where there is much.
 */
#ifndef SEEP_TARGET_UNTOUCHED_MEMORY_H
#define SEEP_TARGET_UNTOUCHED_MEMORY_H

#include "target/maps.h"
#include "target/present_pages.h"
#include "target/ranges.h"

#include <sys/types.h>

struct seep_untouched {
	const struct seep_maps *maps;
	struct seep_present_pages pages;
	uint64_t begin, end;	   /* where the last look was */
	struct seep_ranges others; /* what there is touched */
};

/* @pid: the process with these mappings, or a copy of it. @maps is borrowed. */
void seep_untouched_init(struct seep_untouched *untouched, pid_t pid, const struct seep_maps *maps);
void seep_untouched_done(struct seep_untouched *untouched);

/* For scan_options.untouched. @user: struct seep_untouched */
uint64_t seep_untouched_bytes(void *user, uint64_t address, uint64_t bytes);

#endif
