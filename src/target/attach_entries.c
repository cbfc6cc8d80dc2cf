/* SPDX-License-Identifier: MIT */
/*
 * Attaching, of allocators inside modules: never a reason not to attach. What cannot be recorded so is
 * said.
 */
#include "base/clock.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "ledger/ledger_attach.h"
#include "target/attach_parts.h"
#include "target/entries_write.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* All threads stood still for most of it. */
static void count_stop(struct attach *a, uint64_t began_ns)
{
	const uint64_t ns = seep_monotonic_ns() - began_ns;

	a->result->stopped_ns += ns;
	a->result->longest_ns = core_larger(a->result->longest_ns, ns);
}

static void drop(struct attach *a, const char *why)
{
	char *said = a->entries.count ? seep_xasprintf("the allocator in %s is not recorded: %s",
						       a->entries.modules[0].path, why)
				      : NULL;

	seep_entries_done(&a->entries);
	a->entries.why = said;
}

void attach_find_entries(struct attach *a)
{
	seep_entries_done(&a->entries);
	seep_entries_find(&a->modules, &a->entries);
	/* Files are read meanwhile. */
	a->deadline_ns = seep_monotonic_ns() + a->plan->deadline_ns;
}

static bool is_mapped(const struct attach *a, const uint64_t *results)
{
	size_t next = 1;

	for (size_t i = 0; i < a->entries.count; i++)
		if (!a->entries.modules[i].is_there &&
		    results[next++] != a->entries.modules[i].address)
			return false;
	return results[0] == 1;
}

void attach_map_entries(struct attach *a, uint64_t done_at)
{
	struct seep_diversion diversion = { .first_result = SEEP_STEP_TEXT, .done_at = done_at };
	uint64_t results[SEEP_DIVERSION_STEPS_MAX + 1] = { 0 };
	struct seep_error err = { 0 };
	uint64_t began_ns;
	int rc = 0;

	for (size_t i = 0; i < a->entries.count; i++)
		if (!a->entries.modules[i].is_there)
			diversion.steps[diversion.count++] = (struct seep_step){
				.what = SYS_mmap,
				.arguments = { a->entries.modules[i].address,
					       LEDGER_ENTRY_PAGE_BYTES, PROT_READ | PROT_EXEC,
					       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
					       UINT64_MAX - 1, 0 },
			};
	if (!diversion.count)
		return;
	rc = attach_lead(a, &diversion, false, &err);
	if (rc == 0 && !(seep_memory_read(a->modules.memory, done_at, results, sizeof(results)) &&
			 is_mapped(a, results)))
		rc = seep_fail(&err, SEEP_EREFUSED, "it may not map memory for code beside it");
	began_ns = seep_monotonic_ns();
	if (rc == 0)
		rc = seep_entries_write(a->pid, &a->entries, &err);
	count_stop(a, began_ns);
	if (rc < 0)
		drop(a, err.text);
}

void attach_tell_entries(const struct attach *a, struct ledger_attach *how)
{
	for (size_t i = 0; i < a->entries.count; i++)
		how->entries[i] = a->entries.modules[i].address;
}

void attach_lead_entries(struct attach *a, const struct ledger_attach *how)
{
	struct seep_error err = { 0 };
	uint64_t began_ns;

	if (a->entries.count && how->mode_at) {
		began_ns = seep_monotonic_ns();
		if (seep_entries_lead(a->pid, &a->entries, how->hook, how->mode_at, how->mode,
				      &err) < 0)
			drop(a, err.text);
		count_stop(a, began_ns);
	} else if (a->entries.count) {
		drop(a, "libseep.so does not take it, as it was recorded without it before");
	}
	a->result->allocator = seep_entries_say(&a->entries);
	if (!a->result->allocator && a->entries.why) {
		a->result->allocator = a->entries.why;
		a->entries.why = NULL;
	}
}

void attach_restore_entries(struct attach *a)
{
	const uint64_t began_ns = seep_monotonic_ns();
	struct seep_error err = { 0 };

	if (seep_entries_restore(&a->modules, &err) < 0)
		a->result->allocator = seep_xasprintf(
			"calls of its own allocator still pass libseep.so, which does nothing: %s; "
			"detach again to put them back",
			err.text);
	count_stop(a, began_ns);
}
