/* SPDX-License-Identifier: MIT */
/*
 * Allocators inside a program or a library, whose own calls no GOT leads to libseep.so: their functions
 * are found by name, and while the process stands still a jump is written over the first instructions
 * of each. All of a module's, or none. docs/internals/architecture.md, "Attaching", has the rules.
 */
#ifndef SEEP_TARGET_ENTRIES_H
#define SEEP_TARGET_ENTRIES_H

#include "ledger/ledger_entry.h"
#include "target/live_modules.h"

struct seep_entry_module {
	struct ledger_entry_page page; /* as it is to be there */
	char *path;		       /* the module's */
	uint64_t address;	       /* where the page is, or is to be */
	bool is_there;		       /* it is, from an earlier time */
};

struct seep_entries {
	struct seep_entry_module *modules;
	size_t count;
	char *why; /* of a module that is left alone, a sentence; NULL: there is none */
};

/*
 * Addresses of all pages that are in the process, 0 where there are no more. It may have written anything
 * there.
 */
struct seep_entry_pages {
	uint64_t items[LEDGER_ENTRY_MODULES_MAX];
};

/* What could be written into the process. Nothing is done to it. Release with _done(). */
void seep_entries_find(const struct seep_live_modules *modules,
		       const struct seep_entry_pages *pages, struct seep_entries *ret_entries);
void seep_entries_done(struct seep_entries *entries);

/* What is written over the beginning of @entry, which is at @index of the page at @page. */
void seep_entry_jump(const struct ledger_entry *entry, uint64_t page, size_t index,
		     uint8_t ret_jump[LEDGER_ENTRY_PATCH_BYTES]);

/* What will be recorded so, as a sentence; NULL: nothing will. The caller's to free. */
char *seep_entries_say(const struct seep_entries *entries);

#endif
