/* SPDX-License-Identifier: MIT */
/* Functions of allocators by their names, with the prefixes that these have where they are built in. */
#ifndef SEEP_TARGET_ENTRY_NAMES_H
#define SEEP_TARGET_ENTRY_NAMES_H

#include "ledger/ledger_entry.h"

#include <stdbool.h>

/* Whose a function is: an allocator's, by its prefix, or C++'s. */
enum {
	SEEP_ENTRY_PLAIN = 0, /* the name has no prefix */
	SEEP_ENTRY_OPERATORS = 5,
	SEEP_ENTRY_FAMILIES = 6,
};

/* An allocator is what has all of these; any function may be called tc_new. */
enum {
	SEEP_ENTRY_MALLOC = 1,
	SEEP_ENTRY_FREE = 2,
	SEEP_ENTRY_REALLOC = 4, /* or calloc */
	SEEP_ENTRY_WHOLE = 7,
};

struct seep_entry_name {
	/* What it does; 0: it is none of these, and the rest is void. */
	enum ledger_entry_form form;
	unsigned family, part; /* as above */
	bool is_copy;	       /* or a part of one, that a compiler made ("je_free.part.0") */
};

struct seep_entry_name seep_entry_name(const char *name);

/* Of what seep_allocator_in() says: functions of it may be among these. NULL is none. */
bool seep_entry_knows(const char *allocator);

#endif
