/* SPDX-License-Identifier: MIT */
/*
 * Where a leak scan begins: what memory of a stopped process is not the heap's, and may hold
 * pointers to blocks. docs/internals/leaks.md, "Roots".
 */
#ifndef SEEP_TARGET_ROOTS_H
#define SEEP_TARGET_ROOTS_H

#include "base/texts.h"
#include "ledger/ledger.h"
#include "ledger/ledger_facts.h"
#include "scan/scan.h"
#include "base/maps.h"
#include "target/kernel_held.h"
#include "target/present_pages.h"
#include "target/ranges.h"
#include "target/remote_memory.h"
#include "target/stop.h"

#include <stdint.h>

/*
 * Items that have words of their own, registers for instance, are at no address: "begin" has this
 * bit, and the rest is the number of bytes of all such words before.
 */
#define SEEP_ROOTS_NO_ADDRESS (UINT64_C(1) << 62)

/* What is known of the process; all borrowed. */
struct seep_roots_from {
	struct seep_memory *memory;   /* of it or its copy */
	struct seep_untouched *pages; /* which of it are there */
	const struct seep_maps *maps;
	const struct seep_thread *threads; /* registers as they were when it was stopped */
	size_t thread_count;
	const struct scan *scan; /* its blocks */
	const struct ledger_header *header;
	const struct ledger_facts *facts;    /* NULL: it has none */
	const struct seep_kernel_held *held; /* NULL: nothing; lives as long as the roots */
	bool filtered;			     /* not all allocations were recorded */
	bool at_exit; /* its end is near: stack memory below exit()'s caller is dead */
};

struct seep_roots {
	/*
	 * Strongest reasons first, as enum scan_root_kind; stacks last. Their id is an index: of
	 * maps.items, of threads for what is a thread's (UINT32_MAX: one that has ended), of
	 * facts.regions.
	 */
	struct scan_root *items;
	size_t count;
	uint64_t *words;	   /* registers, that items point to */
	struct seep_texts caveats; /* what could not be told, and what was left out and why */
};

/* Never fails: what cannot be told is a caveat. Release with seep_roots_done(). */
void seep_roots_find(const struct seep_roots_from *from, struct seep_roots *ret_roots);
void seep_roots_done(struct seep_roots *roots);

/* Memory of a device, or of the kernel: to read it may have effects, and no pointers are there. */
bool seep_roots_is_device(const struct seep_mapping *mapping);

/*
 * Private memory that the program may not read now, but may open again: its pages count. A larger
 * one is merely reserved, and to ask what is there may take long.
 */
bool seep_roots_is_vault(const struct seep_mapping *mapping);

/*
 * Where C++ vtables may lie, for scan_options.vtables: what is mapped of files and cannot be
 * written, by address; none touch. Release with seep_ranges_done().
 */
struct seep_ranges seep_roots_vtables(const struct seep_maps *maps);

#endif
