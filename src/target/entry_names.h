/* SPDX-License-Identifier: MIT */
/* Functions of allocators by their names, with the prefixes that these have where they are built in. */
#ifndef SEEP_TARGET_ENTRY_NAMES_H
#define SEEP_TARGET_ENTRY_NAMES_H

#include "ledger/ledger_entry.h"

#include <stdbool.h>

/*
 * What a function called @name does; 0: it is none of these.
 * @ret_is_plain:  the name has no prefix
 * @ret_is_copy:   it is a part or a copy of one that a compiler made ("je_free.part.0")
 */
enum ledger_entry_form seep_entry_form(const char *name, bool *ret_is_plain, bool *ret_is_copy);

#endif
