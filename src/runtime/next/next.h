/* SPDX-License-Identifier: MIT */
/*
 * The next definition of every hooked function. Before they are known, rt_next leads to early
 * versions that find them.
 */
#ifndef SEEP_RUNTIME_NEXT_H
#define SEEP_RUNTIME_NEXT_H

#include "runtime/rt.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_next {
#define RT_HOOK(symbol, type, parameters) type(*symbol) parameters;
#define RT_OPERATOR RT_HOOK
#include "runtime/next/hooks.def"
};

/*
 * What the hooks call, and the definitions that were found: these differ where something of ours
 * stands in between (src/runtime/guard).
 */
extern RT_HIDDEN struct rt_next rt_next, rt_found;

/* Requests below this are made this large: 16 under allocators with smaller classes, else 0. */
extern RT_HIDDEN size_t rt_min_request;

/* From now on rt_next holds the real functions. */
void rt_next_find(void);

/*
 * The loader has an allocator behind this library, as it has when it was preloaded: calls come to our
 * hooks. Else the next functions are the process's first, and calls come where they are bound to us.
 */
bool rt_next_is_behind(void);

/* Some form of an operator is the program's own and is called: blocks may lie inside others. */
extern RT_HIDDEN bool rt_operators_foreign;

/* The next malloc's object has no malloc_usable_size(): another's may not be asked. */
extern RT_HIDDEN bool rt_usable_unknown;

/*
 * memalign and its like, or valloc and pvalloc, are not of the next malloc's object: what they give
 * is no block of it.
 */
extern RT_HIDDEN bool rt_aligned_foreign, rt_paged_foreign;

/*
 * How many bytes the next malloc gives for a request, by its own word and with no call that
 * allocates: its nallocx() or mi_good_size(). The second argument of either is 0. NULL: it has
 * none.
 */
typedef size_t rt_class_function(size_t size, int flags);
rt_class_function *rt_next_class_function(void);

/* The next malloc is glibc's own. */
bool rt_next_is_glibc(void);

/* Path of the object that holds the next malloc. */
const char *rt_next_malloc_path(void);

/* Does @pc lie in libc's exit()? Whoever calls it from inside libc does not come to our hook. */
bool rt_next_is_in_exit(uintptr_t pc);

/* Where the loader finds a function that is hooked: the first definition of it that is not ours. */
struct rt_definition {
	const struct link_map *map;
	const ElfW(Sym) * symbol; /* NULL: there is none */
};
struct rt_definition rt_next_definition(const char *name);
/* Of @count names at once, which is faster. */
void rt_next_definitions(const char *const *names, size_t count, struct rt_definition *ret_all);
/* In the objects that have the next malloc and, from the start on, operators: they are never unloaded. */
struct rt_definition rt_next_lasting_definition(const char *name);
/* The function itself. NULL: there is none. */
void *rt_next_address(const struct rt_definition *definition);
/* Where some symbols lead to us (life/bind.h): what a symbol's value was before. NULL: none does. */
typedef uintptr_t rt_symbol_value(const ElfW(Sym) * symbol);
extern RT_HIDDEN rt_symbol_value *rt_next_value;
/* Our hook @name. */
void *rt_next_hook(const char *name);

/* The loader's entry for libseep.so; NULL: it has none. Does not allocate. */
const struct link_map *rt_own_map(void);

/*
 * A definition of @symbol in any loaded object but this library; for operators whose provider came
 * later or locally too. Takes the loader's lock: for the out-of-memory path only.
 */
void *rt_find_elsewhere(const char *symbol);

/* A function of the vDSO; NULL: the kernel gave none. */
void *rt_find_in_vdso(const char *symbol);

/*
 * Our hook @name if it forwards to @function, an allocation function, else NULL. Ours even
 * where the program defines @name.
 */
void *rt_next_hook_of(const char *name, const void *function);

/* The program's own definition, or NULL. At any time: other threads may load and unload modules. */
void *rt_find_in_program(const char *symbol);

#endif
