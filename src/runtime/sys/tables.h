/* SPDX-License-Identifier: MIT */
/*
 * Taking items from the ledger's tables. Pages are made real before they are touched, so that a
 * full file system is an answer and never a SIGBUS. How much was taken is counted in private; the
 * ledger says the same for readers.
 */
#ifndef SEEP_RUNTIME_TABLES_H
#define SEEP_RUNTIME_TABLES_H

#include "runtime/rt.h"

#define RT_NO_INDEX UINT64_MAX

static inline uint64_t rt_page_up(uint64_t bytes)
{
	return (bytes + LEDGER_PAGE_BYTES - 1) & ~(uint64_t)(LEDGER_PAGE_BYTES - 1);
}

struct rt_table {
	_Atomic uint64_t reserved; /* items handed out; may exceed the capacity */
	_Atomic uint64_t ready;	   /* items whose pages are real */
};
extern RT_HIDDEN struct rt_table rt_tables[LEDGER_TABLE_COUNT];

/* Nothing was taken of the ledger that rt_header describes; its first pages are real. */
void rt_tables_start(void);

/*
 * Reserve @count items in a row, zeroed and real. RT_NO_INDEX when the table is full, ledger_max
 * is reached, the file system is full or the kernel refuses; the reason is noted in unseen. Any
 * thread, any signal.
 */
uint64_t rt_table_take(enum ledger_table_type type, uint64_t count);

/*
 * Make items up to @count real, or all that fit, for who writes them from outside; none is reserved.
 * False: not all of them; unseen says why.
 */
bool rt_table_offer(enum ledger_table_type type, uint64_t count);

/* Copy bytes into the string table; {0, 0} when it is full or @bytes is 0. */
struct ledger_string rt_table_string(const char *text, size_t bytes);

/* The row of this id if it was handed out, else NULL: what a slot says may be another's word. */
static inline struct ledger_row *rt_row(uint32_t id)
{
	const uint32_t index = rt_row_index(id);

	return RT_LIKELY(index < rt_load(&rt_tables[LEDGER_TABLE_ROWS].ready))
		       ? &rt_global.rows[index]
		       : NULL;
}

#endif
