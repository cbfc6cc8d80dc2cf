/* SPDX-License-Identifier: MIT */
#include "runtime/track/thread_names.h"

#include "runtime/sys/sys.h"
#include "runtime/track/label.h"

#include <linux/prctl.h>
#include <string.h>

enum { NAME_BYTES = 16, NAME_READS_MAX = 16 };

/* Not to 0, also after four billion. */
static void advance(void)
{
	if (atomic_fetch_add_explicit(&rt_names_generation, 1, memory_order_seq_cst) == UINT32_MAX)
		rt_store(&rt_names_generation, 1);
}

void rt_names_start(bool by_name)
{
	if (by_name)
		advance();
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

void rt_name_ask(struct rt_thread *thread)
{
	char key[NAME_BYTES + 1] = { 0 };
	uint32_t label;

	/* Before the kernel is asked: a handler may change the name meanwhile. */
	rt_store(&thread->name_generation, rt_load_acquire(&rt_names_generation));
	atomic_signal_fence(memory_order_seq_cst);
	read_name(key);
	if (!key[0])
		key[0] = '?';
	label = rt_label(key, strlen(key));
	if (label == RT_LABEL_OTHERS)
		rt_note_unseen(LEDGER_UNSEEN_THREAD_NAMES);
	rt_tag_set(&thread->tag, RT_KEY_NAME_SHIFT, label);
}

void rt_name_changed(bool is_own)
{
	if (RT_LIKELY(!rt_load(&rt_names_generation)))
		return;
	if (!is_own) {
		/* Which one it was cannot be told from a pthread_t: all ask again. */
		advance();
		rt_threads_void_rows();
	} else if (rt_tls.thread) {
		rt_store(&rt_tls.thread->name_generation, 0);
		rt_last_row_void(rt_tls.thread);
	}
}
