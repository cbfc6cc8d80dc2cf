/* SPDX-License-Identifier: MIT */
#include "runtime/sys/tables.h"

#include "runtime/sys/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

struct rt_table rt_tables[LEDGER_TABLE_COUNT];
static _Atomic uint64_t real_bytes;

void rt_tables_start(void)
{
	memset(rt_tables, 0, sizeof(rt_tables));
	rt_store(&real_bytes, LEDGER_FIXED_BYTES);
	rt_store(&rt_global.state->real_bytes, LEDGER_FIXED_BYTES);
}

enum { LEAST_STEP = 16 << 10, LAST_STEP = 1 << 20 };

/*
 * Bytes to make real beyond @real so that @needed are: a quarter more each time, in bounds. A table
 * begins with one page: a forked child that lives briefly needs no more, and there may be
 * thousands.
 */
static uint64_t next_step(uint64_t real, uint64_t needed)
{
	const uint64_t least = real ? LEAST_STEP : LEDGER_PAGE_BYTES;
	const uint64_t step = core_smaller(core_larger(real / 4, least), LAST_STEP);

	return rt_page_up(core_larger(step, needed - real));
}

/* The kernel's answer to a page that cannot be had is that of a bad address. */
static uint32_t why_no_page(long error)
{
	bool is_room = error == -EFAULT || error == -ENOMEM || error == -EHWPOISON;

	return is_room ? LEDGER_UNSEEN_NO_SPACE : LEDGER_UNSEEN_REFUSED;
}

/*
 * A table whose pages could not be had fills with reservations in vain: no larger ledger_max would
 * help.
 */
static RT_COLD void note_full(void)
{
	const uint32_t unseen = rt_load(&rt_global.state->unseen);

	if (!(unseen & (LEDGER_UNSEEN_NO_SPACE | LEDGER_UNSEEN_REFUSED)))
		rt_note_unseen(LEDGER_UNSEEN_FULL);
}

/* Make items real up to @end; false when there is no room, with the reason noted. */
static RT_COLD bool grow(enum ledger_table_type type, uint64_t end)
{
	const struct ledger_table *table = &rt_header.table[type];
	struct rt_table *at = &rt_tables[type];
	uint64_t limit = rt_page_up(table->capacity * table->item_bytes);
	uint64_t ready = rt_load_acquire(&at->ready);

	while (end > ready) {
		uint64_t real = rt_page_up(ready * table->item_bytes);
		uint64_t step = next_step(real, rt_page_up(end * table->item_bytes));
		uint64_t after;
		long error;

		step = core_smaller(step, limit - real);
		if (rt_load(&real_bytes) + step > rt_header.ledger_max_bytes) {
			note_full();
			return false;
		}
		error = rt_syscall3(SYS_madvise, (long)(rt_global.base + table->offset + real),
				    (long)step, MADV_POPULATE_WRITE);
		if (error) {
			rt_note_unseen(why_no_page(error));
			return false;
		}
		after = core_smaller((real + step) / table->item_bytes, table->capacity);
		if (atomic_compare_exchange_strong_explicit(&at->ready, &ready, after,
							    memory_order_acq_rel,
							    memory_order_acquire)) {
			rt_add(&real_bytes, step);
			rt_add(&rt_global.state->real_bytes, step);
			ready = after;
		}
	}
	rt_raise(&rt_global.state->table[type].ready, ready);
	return true;
}

bool rt_table_offer(enum ledger_table_type type, uint64_t count)
{
	return grow(type, core_smaller(count, rt_header.table[type].capacity));
}

uint64_t rt_table_take(enum ledger_table_type type, uint64_t count)
{
	struct rt_table *at = &rt_tables[type];
	uint64_t capacity = rt_header.table[type].capacity;
	uint64_t index;

	/* Looked at first so that a full table's counter does not run away. */
	if (rt_load(&at->reserved) + count > capacity)
		goto full;
	index = atomic_fetch_add_explicit(&at->reserved, count, memory_order_relaxed);
	if (index + count > capacity)
		goto full;
	if (RT_UNLIKELY(index + count > rt_load_acquire(&at->ready)) && !grow(type, index + count))
		return RT_NO_INDEX;
	rt_raise(&rt_global.state->table[type].reserved, index + count);
	return index;
full:
	note_full();
	return RT_NO_INDEX;
}

struct ledger_string rt_table_string(const char *text, size_t bytes)
{
	struct ledger_string none = { 0, 0 };
	struct ledger_string string;
	uint64_t at;

	if (bytes == 0 || bytes > UINT32_MAX)
		return none;
	at = rt_table_take(LEDGER_TABLE_STRINGS, bytes);
	if (at == RT_NO_INDEX)
		return none;
	string.offset = (uint32_t)at;
	string.bytes = (uint32_t)bytes;
	memcpy(rt_global.strings + at, text, bytes);
	return string;
}
