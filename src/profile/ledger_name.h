/* SPDX-License-Identifier: MIT */
/*
 * Names of ledgers: <exe>.<pid>.<start_ticks>.<n>.ledger; while one is being made it ends in ".new".
 */
#ifndef SEEP_PROFILE_LEDGER_NAME_H
#define SEEP_PROFILE_LEDGER_NAME_H

#include <stdbool.h>
#include <stdint.h>

struct seep_ledger_name {
	uint32_t pid;
	uint64_t start_ticks;
	uint32_t exe_bytes; /* how much of the name is the program's */
	bool is_unnamed;    /* a forked child's that may be small yet, or one that is being made */
};

/* Behind the name of a ledger that does not have it yet. */
#define SEEP_LEDGER_UNNAMED ".new"

/* Take a file name apart. False when it is not the name of a ledger. */
bool seep_ledger_name_parse(const char *file_name, struct seep_ledger_name *ret_name);

/*
 * The path of the file with a ledger's sums: ".sums" in place of ".ledger", with ".new" or without.
 * Release with free().
 */
char *seep_ledger_sums_name(const char *file_name) __attribute__((returns_nonnull));

#endif
