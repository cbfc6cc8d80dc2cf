/* SPDX-License-Identifier: MIT */
#include "core/bits.h"
#include "target/attach_parts.h"

#include <string.h>

enum { LOADER_STATE_BYTES_MAX = 1 << 14, MUTEX_RECURSIVE = 1 };

/* As the C library has it in memory; of the loader's only the first four are ever not 0. */
struct mutex {
	uint32_t lock, count, owner, users;
	uint32_t kind, spins;
	uint64_t list[2];
};
_Static_assert(sizeof(struct mutex) == ATTACH_LOCK_BYTES, "one lies behind the other");

void attach_forget_modules(struct attach *a)
{
	seep_safe_points_free(a->points);
	seep_live_modules_done(&a->modules);
	a->points = NULL;
	a->libc = a->ours = NULL;
}

uint64_t attach_address_of(struct attach *a, struct seep_live_module *module, const char *name)
{
	const Elf64_Sym *symbol = module ? seep_live_symbol(&a->modules, module, name) : NULL;

	return symbol ? module->bias + symbol->st_value : 0;
}

static bool is_recursive(const struct mutex *mutex)
{
	return mutex->kind == MUTEX_RECURSIVE && mutex->lock <= 2 && mutex->users <= 1 &&
	       mutex->spins == 0 && mutex->list[0] == 0 && mutex->list[1] == 0;
}

/*
 * The loader's recursive locks lie one after the other, in a variable that it exports; the first is held
 * while something is loaded. Whoever takes it without waiting cannot be waited for by who holds it.
 */
static void find_load_lock(struct attach *a, struct seep_live_module *loader)
{
	const Elf64_Sym *symbol = seep_live_symbol(&a->modules, loader, "_rtld_global");
	uint8_t state[LOADER_STATE_BYTES_MAX];
	struct mutex locks[2];
	size_t bytes;

	a->load_lock = 0;
	if (!symbol)
		return;
	bytes = core_smaller(symbol->st_size, sizeof(state));
	if (!seep_memory_read(a->modules.memory, loader->bias + symbol->st_value, state, bytes))
		return;
	for (size_t at = 0; at + sizeof(locks) <= bytes && !a->load_lock; at += 8) {
		memcpy(locks, state + at, sizeof(locks));
		if (is_recursive(&locks[0]) && is_recursive(&locks[1]))
			a->load_lock = loader->bias + symbol->st_value + at;
	}
}

/* The C library says so to debuggers: a description is of bits, elements and offset (libthread_db). */
static uint32_t find_id_offset(struct attach *a)
{
	const uint64_t at = attach_address_of(a, a->libc, "_thread_db_pthread_tid");
	uint32_t description[3];

	return at && seep_memory_read(a->modules.memory, at, description, sizeof(description))
		       ? description[2]
		       : 0;
}

int attach_read_modules(struct attach *a, struct seep_error *err)
{
	int rc = seep_live_modules_read(a->pid, &a->modules, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < a->modules.count; i++) {
		struct seep_live_module *module = &a->modules.items[i];

		if (module->is_libc)
			a->libc = module;
		if (module->is_ours)
			a->ours = module;
		if (module->is_loader)
			find_load_lock(a, module);
	}
	if (!a->libc || !attach_address_of(a, a->libc, "dlopen"))
		return seep_fail(err, SEEP_EREFUSED,
				 a->libc ? "its C library is older than glibc 2.34"
					 : "it has no glibc: it is linked statically, or with "
					   "another C library");
	if (a->modules.lacks_vdso)
		return seep_fail(err, SEEP_EREFUSED,
				 "it has unmapped the vDSO, where libseep.so reads the clock");
	a->id_offset = find_id_offset(a);
	a->points = seep_safe_points_new(&a->modules);
	return 0;
}
