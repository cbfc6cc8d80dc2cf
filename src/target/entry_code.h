/* SPDX-License-Identifier: MIT */
/*
 * The first instructions of a function of x86-64, moved elsewhere so that a jump can take their place.
 * Only what is known to do the same in another place is moved; of the rest of the function just the
 * lengths are told, to see that no branch leads between the instructions that were moved.
 */
#ifndef SEEP_TARGET_ENTRY_CODE_H
#define SEEP_TARGET_ENTRY_CODE_H

#include "ledger/ledger_entry.h"

#include <stddef.h>
#include <stdint.h>

struct seep_entry_code {
	size_t skipped; /* of an endbr64 in front, which stays */
	size_t bytes;	/* that are replaced behind it */
	size_t code_bytes;
	uint8_t code[LEDGER_ENTRY_CODE_BYTES]; /* these, and a jump to what follows them */
};

/*
 * @function: @bytes of a function that lies at @at. @to: where the code will lie.
 * Returns: NULL, or why it cannot be moved, as the rest of a sentence that begins with its name.
 */
const char *seep_entry_code(const uint8_t *function, size_t bytes, uint64_t at, uint64_t to,
			    struct seep_entry_code *ret_code);

/*
 * Look for calls and branches with a 4-byte distance, at any of the @bytes of code that lie at @at, that
 * lead between the instructions that are moved. What only looks like one counts. Returns: the index of
 * the first entry that one leads into; page->count: there is none
 */
size_t seep_entry_branches(const uint8_t *code, size_t bytes, uint64_t at,
			   const struct ledger_entry_page *page);

/*
 * How long the instruction at @code is, of which @left bytes are there; 0: not known.
 * @ret_rip:    where in it a 4-byte distance from its end is, of memory; 0: none
 * @ret_branch: where in it the distance of a branch or call is, which ends it; 0: none
 */
size_t seep_instruction_bytes(const uint8_t *code, size_t left, size_t *ret_rip,
			      size_t *ret_branch);

#endif
