/* SPDX-License-Identifier: MIT */
/*
 * Which loaded object an address lies in, and noticing when objects go away.
 *
 * Look-ups use glibc's _dl_find_object: lock-free and safe in signal handlers; dl_iterate_phdr is
 * never called here, since its lock is held by threads that call malloc. Objects met are kept in
 * a list; a generation is over when one of them is no longer where it was. That is checked after
 * dlclose, after every free() called by the dynamic linker (it unmaps an object and then frees
 * its descriptor, also for the plugins that libc closes without calling dlclose), and whenever a
 * rule is made. Code outside all objects has no entry there: see rt_modules_check_load.
 */
#ifndef SEEP_RUNTIME_MODULES_H
#define SEEP_RUNTIME_MODULES_H

#include "cfi/cfi.h"
#include "runtime/rt.h"

/*
 * The object around @pc, a return address on the calling thread's stack, is in use from now on: rules
 * are made from it.
 */
void rt_module_remember(uintptr_t pc);

/* The last component of its path, not terminated; the bytes. "", 0: @pc is in no object. */
size_t rt_module_name(uintptr_t pc, const char **ret_name);

/* Find the object around @pc; false when there is none. Takes no lock. */
bool rt_module_find(uintptr_t pc, struct cfi_module *ret_module);

/*
 * Compare every object of this generation with the loader's present list; on a difference advance.
 */
RT_COLD void rt_modules_check(void);

/* Void all rules and remembered walks. */
RT_COLD void rt_modules_advance(void);

/*
 * Advance if the loader allocates, in a hook with frame address @frame, while it loads an object: it
 * has mapped that by then, perhaps where generated code was (RT_GENERATED_MET), and the words of a
 * remembered walk may all hold. It allocates at least once, for what the object depends on.
 */
RT_COLD void rt_modules_check_load(const uintptr_t *frame);

/*
 * The ledger's index + 1 for the object around @pc and its bias; 0 when @pc lies in none, or the
 * table is full.
 */
uint32_t rt_module_index(uintptr_t pc, uint64_t *ret_bias);

/*
 * Room for the list; the extent of the dynamic linker, into rt_global. Once, at start, before there
 * is a control line.
 */
void rt_modules_start(void);

/* Forget the ledger's indices: a forked child has an empty ledger. */
void rt_modules_forked(void);

#endif
