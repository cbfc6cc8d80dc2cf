/* SPDX-License-Identifier: MIT */
/*
 * Taking items from the ledger's tables. Pages are made real before they are touched, so that a
 * full file system is an answer and never a SIGBUS.
 */
#ifndef SEEP_RUNTIME_TABLES_H
#define SEEP_RUNTIME_TABLES_H

#include "runtime/rt.h"

#define RT_NO_INDEX UINT64_MAX

static inline uint64_t rt_page_up(uint64_t bytes)
{
	return (bytes + LEDGER_PAGE_BYTES - 1) & ~(uint64_t)(LEDGER_PAGE_BYTES - 1);
}

/*
 * Reserve @count items in a row, zeroed and real. RT_NO_INDEX when the table is full, ledger_max
 * is reached, the file system is full or the kernel refuses; the reason is noted in unseen. Any
 * thread, any signal.
 */
uint64_t rt_table_take(enum ledger_table_type type, uint64_t count);

/* Copy bytes into the string table; {0, 0} when it is full or @bytes is 0. */
struct ledger_string rt_table_string(const char *text, size_t bytes);

#endif
