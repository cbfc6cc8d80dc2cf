/* SPDX-License-Identifier: MIT */
#include "runtime/track/thread_names.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"

#include <linux/prctl.h>
#include <string.h>

enum { NAME_BYTES = 16, NO_NAME = 0, OTHER_NAME = 1, NAME_READS_MAX = 16 };

/* Longer than a thread's name can be, so none is mistaken for it. */
static const char other_name[] = "(all other threads)";

_Atomic uint32_t rt_names_generation;

enum { NAMES = RT_NAMES_MAX + OTHER_NAME + 1 };

/*
 * Append only. The first two have no key: none, and beyond the limit. One that two threads meet at
 * once may be there twice: readers take it for one.
 */
static RT_LARGE struct {
	char key[NAME_BYTES]; /* zero-padded */
	struct ledger_string text;
	_Atomic uint32_t ready;
} names[NAMES];
static _Atomic uint32_t name_count; /* may exceed NAMES */

/* Not to 0, also after four billion. */
static void advance(void)
{
	if (atomic_fetch_add_explicit(&rt_names_generation, 1, memory_order_relaxed) == UINT32_MAX)
		rt_store(&rt_names_generation, 1);
}

void rt_names_start(bool by_name)
{
	if (!by_name)
		return;
	names[OTHER_NAME].text = rt_table_string(other_name, sizeof(other_name) - 1);
	rt_store(&name_count, OTHER_NAME + 1);
	for (uint32_t i = OTHER_NAME + 1; i < NAMES; i++)
		rt_store(&names[i].ready, 0);
	advance();
}

struct ledger_string rt_name_text(uint32_t number)
{
	return number ? names[number].text : (struct ledger_string){ 0, 0 };
}

static uint32_t find(const char *key)
{
	const uint32_t count = rt_load(&name_count);
	struct ledger_string text;
	uint32_t i;

	for (i = OTHER_NAME + 1; i < count && i < NAMES; i++)
		if (rt_load_acquire(&names[i].ready) && memcmp(names[i].key, key, NAME_BYTES) == 0)
			return i;
	text = count < NAMES ? rt_table_string(key, strlen(key)) : (struct ledger_string){ 0, 0 };
	if (text.bytes)
		i = atomic_fetch_add_explicit(&name_count, 1, memory_order_relaxed);
	if (count >= NAMES || (text.bytes && i >= NAMES))
		rt_note_unseen(LEDGER_UNSEEN_THREAD_NAMES);
	if (!text.bytes || i >= NAMES)
		return OTHER_NAME;
	memcpy(names[i].key, key, NAME_BYTES);
	names[i].text = text;
	rt_store_release(&names[i].ready, 1);
	return i;
}

/*
 * Padded with zeros by the kernel, which changes and reads a name in pieces: what was read in the
 * middle of a change is not read twice.
 */
static void read_name(char key[NAME_BYTES])
{
	char before[NAME_BYTES];
	unsigned reads = 0;

	(void)rt_syscall3(SYS_prctl, PR_GET_NAME, (long)key, 0);
	do {
		memcpy(before, key, NAME_BYTES);
		(void)rt_syscall3(SYS_prctl, PR_GET_NAME, (long)key, 0);
	} while (memcmp(before, key, NAME_BYTES) != 0 && ++reads < NAME_READS_MAX);
}

static RT_COLD void ask(struct rt_thread *thread, uint32_t generation)
{
	char key[NAME_BYTES + 1] = { 0 };

	/* Before the kernel is asked: a handler may change the name meanwhile. */
	rt_store(&thread->name_generation, generation);
	atomic_signal_fence(memory_order_seq_cst);
	read_name(key);
	if (!key[0])
		key[0] = '?';
	thread->name = find(key);
}

uint32_t rt_name_now(struct rt_thread *thread)
{
	uint32_t generation = rt_load_acquire(&rt_names_generation);

	if (rt_load(&thread->name_generation) != generation)
		ask(thread, generation);
	return thread->name;
}

void rt_name_changed(bool is_own)
{
	if (RT_LIKELY(!rt_load(&rt_names_generation)))
		return;
	/* Which one it was else cannot be told from a pthread_t: all ask again. */
	if (!is_own)
		advance();
	else if (rt_tls.thread)
		rt_store(&rt_tls.thread->name_generation, 0);
}
