/* SPDX-License-Identifier: MIT */
/* Threads of a stopped process that are in realloc(), let on until they are not. */
#include "base/clock.h"
#include "base/xalloc.h"
#include "ledger/ledger.h"
#include "target/stop.h"

#include <unistd.h>

enum {
	TRIES = 20, /* to let a thread leave realloc(), */
	CACHES_AT_ONCE = 64,
};

#define PAUSE_NS 50000ull     /* each for so long, */
#define MOST_NS SEEP_NS_PER_S /* and all of them, after the stop began */

/*
 * In realloc() a block of the thread's is in the page map neither where it was nor where it will
 * be.
 */
static void finish_resize(struct seep_stopped *stopped, int ledger_fd, uint64_t offset,
			  struct ledger_cache cache, unsigned tries, struct seep_texts *caveats)
{
	size_t i = 0;

	while (i < stopped->thread_count && stopped->threads[i].tid != (pid_t)cache.owner_tid)
		i++;
	if (i == stopped->thread_count)
		return;
	while (stopped->threads[i].stopped && tries && cache.resizing) {
		seep_stop_let(stopped, &stopped->threads[i], PAUSE_NS);
		tries--;
		if (pread(ledger_fd, &cache, sizeof(cache), (off_t)offset) < (ssize_t)sizeof(cache))
			break;
	}
	if (cache.resizing)
		seep_texts_add(caveats,
			       "thread %d was in realloc() and did not leave it: what its block "
			       "points to may look lost",
			       stopped->threads[i].tid);
}

void seep_stop_finish_resizes(struct seep_stopped *stopped, const struct ledger_header *header,
			      int ledger_fd, bool may_run, struct seep_texts *caveats)
{
	const struct ledger_table *table = &header->table[LEDGER_TABLE_CACHES];
	SEEP_FREED struct ledger_cache *caches = seep_xcalloc(CACHES_AT_ONCE, sizeof(*caches));
	ssize_t count = CACHES_AT_ONCE;

	for (uint64_t first = 0; count == CACHES_AT_ONCE && first < table->capacity;
	     first += CACHES_AT_ONCE) {
		const uint64_t offset = table->offset + first * sizeof(*caches);

		count = pread(ledger_fd, caches, CACHES_AT_ONCE * sizeof(*caches), (off_t)offset) /
			(ssize_t)sizeof(*caches);
		for (ssize_t i = 0; i < count; i++) {
			if (!caches[i].ready || !caches[i].resizing)
				continue;
			if (seep_monotonic_ns() - stopped->began_ns > MOST_NS) {
				seep_texts_add(caveats,
					       "more threads were in realloc() than could be "
					       "waited for: what their blocks point to may look "
					       "lost");
				return;
			}
			finish_resize(stopped, ledger_fd, offset + (uint64_t)i * sizeof(*caches),
				      caches[i], may_run ? TRIES : 0, caveats);
		}
		if (count > 0 && !caches[count - 1].ready)
			break;
	}
}
