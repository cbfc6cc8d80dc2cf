/* SPDX-License-Identifier: MIT */
/*
 * Attaching, of allocators inside modules: never a reason not to attach. What cannot be recorded so is
 * said.
 */
#include "base/clock.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "ledger/ledger_attach.h"
#include "target/attach_parts.h"
#include "target/entries_write.h"
#include "target/tracee.h"

#define LEAD_NS UINT64_C(200000000) /* of stops, each for as short as can be */

static void read_pages(struct attach *a, struct seep_entry_pages *ret_pages)
{
	const uint64_t at = attach_address_of(a, a->ours, "seep_rt_entry_pages");

	if (!at || !seep_memory_read(a->modules.memory, at, ret_pages, sizeof(*ret_pages)))
		*ret_pages = (struct seep_entry_pages){ 0 };
}

void attach_find_entries(struct attach *a)
{
	struct seep_entry_pages pages;

	if (!a->plan->entries)
		return;
	read_pages(a, &pages);
	seep_entries_find(&a->modules, &pages, &a->entries);
	/* Files are read meanwhile. */
	a->deadline_ns = seep_monotonic_ns() + a->plan->deadline_ns;
}

bool attach_tell_entries(const struct attach *a, uint64_t at, struct ledger_attach *how)
{
	bool is_written = true;

	for (size_t i = 0; i < a->entries.count; i++, at += sizeof(struct ledger_entry_page)) {
		const struct seep_entry_module *module = &a->entries.modules[i];

		how->entries[i] = module->address;
		how->contents[i] = module->is_there ? 0 : at;
		is_written &= seep_tracee_write(a->pid, at, &module->page, sizeof(module->page));
	}
	return is_written;
}

static const char *name_of_program(const struct attach *a)
{
	for (size_t i = 0; i < a->modules.count; i++)
		if (a->modules.items[i].is_program)
			return seep_path_base(a->modules.items[i].path);
	return "the program";
}

char *attach_lead_entries(struct attach *a, uint64_t led_at)
{
	struct seep_error err = { 0 };
	const char *why = NULL;

	if (!a->plan->entries)
		return a->linked_allocator
			       ? seep_xasprintf("the allocator inside %s (%s) is not seen; after "
						"seep detach, seep attach --entries %d records it",
						name_of_program(a), a->linked_allocator, a->pid)
			       : NULL;
	if (!a->entries.count && a->entries.why)
		return seep_xasprintf("the allocator inside a module is not recorded: %s",
				      a->entries.why);
	if (!a->entries.count)
		return a->linked_allocator
			       ? seep_xasprintf("the allocator inside %s (%s) is not recorded: its "
						"functions are not there by names that seep knows",
						name_of_program(a), a->linked_allocator)
			       : NULL;
	if (!led_at)
		why = "libseep.so does not take it: it was recorded without it before, or may "
		      "not map code";
	else if (seep_entries_lead(a->pid, &a->entries, led_at, seep_monotonic_ns() + LEAD_NS,
				   a->result, &err) < 0) {
		a->gives_up = true;
		why = err.text;
	}
	return why ? seep_xasprintf("the allocator inside %s is not recorded: %s",
				    seep_path_base(a->entries.modules[0].path), why)
		   : seep_entries_say(&a->entries);
}

int attach_restore_entries(struct attach *a, struct seep_error *err)
{
	struct seep_entry_pages pages;
	struct seep_error why = { 0 };
	size_t count = 0;

	read_pages(a, &pages);
	if (seep_entries_restore(a->pid, &pages, a->result, &count, &why) < 0)
		return seep_fail(err, SEEP_EREFUSED,
				 "calls of its own allocator still pass libseep.so, which does "
				 "nothing: %s; seep detach %d again puts them back",
				 why.text, a->pid);
	return (int)count;
}
