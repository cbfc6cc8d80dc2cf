/* SPDX-License-Identifier: MIT */
#include "runtime/next/next.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

size_t rt_min_request;
bool rt_operators_foreign;
bool rt_usable_unknown;
bool rt_aligned_foreign;
bool rt_paged_foreign;

/*
 * What rt_next leads to at first: the search, which allocates nothing and may be made by several at
 * once, since all find the same.
 */
#define EARLY(type, symbol, parameters, arguments) \
	static type early_##symbol parameters      \
	{                                          \
		rt_next_find();                    \
		return rt_next.symbol arguments;   \
	}
#define EARLY_FUNCTIONS(E)                                                                      \
	E(void *, malloc, (size_t size), (size))                                                \
	E(void *, calloc, (size_t count, size_t size), (count, size))                           \
	E(void *, realloc, (void *block, size_t size), (block, size))                           \
	E(void *, reallocarray, (void *block, size_t count, size_t size), (block, count, size)) \
	E(void, free, (void *block), (block))                                                   \
	E(void *, memalign, (size_t alignment, size_t size), (alignment, size))                 \
	E(int, posix_memalign, (void **ret, size_t alignment, size_t size),                     \
	  (ret, alignment, size))                                                               \
	E(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))            \
	E(void *, valloc, (size_t size), (size))                                                \
	E(void *, pvalloc, (size_t size), (size))                                               \
	E(size_t, malloc_usable_size, (void *block), (block))
EARLY_FUNCTIONS(EARLY)

static _Atomic bool is_found;
static const struct link_map *operators_map; /* who provides them, from the program's start on */

#define LEADS_TO(type, symbol, ...) .symbol = early_##symbol,
struct rt_next rt_found;
struct rt_next rt_next = { EARLY_FUNCTIONS(LEADS_TO) };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct link_map *object_of(uintptr_t address)
{
	struct dl_find_object object;

	return _dl_find_object((void *)address, &object) == 0 ? object.dlfo_link_map : NULL;
}

static const char *object_name(uintptr_t address)
{
	const struct link_map *map = object_of(address);

	return map && map->l_name ? map->l_name : "";
}

/* In one object with the next malloc: made by it, or known to it. */
static bool is_next_allocators(const struct rt_next *next, uintptr_t address)
{
	return object_of(address) == object_of((uintptr_t)next->malloc);
}

/* A provider whose operators are malloc and free: the C++ library, or a whole allocator. */
static bool is_plain_provider(const struct rt_next *next, uintptr_t address)
{
	static const char *const names[] = { "libstdc++.so", "libc++.so", "libc++abi.so" };
	const char *name = base_name(object_name(address));

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return is_next_allocators(next, address);
}

/* Dynamic section pointers: the loader has relocated them, except in read-only sections. */
static uintptr_t dynamic_pointer(const struct link_map *map, uintptr_t value)
{
	return value < map->l_addr ? value + map->l_addr : value;
}

struct symbols {
	const ElfW(Sym) * table;
	const char *names;
	const uint32_t *hash;	   /* DT_GNU_HASH */
	const uint32_t *hash_sysv; /* DT_HASH, where the other is not */
	const uint16_t *versions;
};

static bool symbols_of(const struct link_map *map, struct symbols *ret)
{
	*ret = (struct symbols){ 0 };
	for (const ElfW(Dyn) *dyn = map->l_ld; dyn && dyn->d_tag != DT_NULL; dyn++) {
		uintptr_t at = dynamic_pointer(map, dyn->d_un.d_ptr);

		if (dyn->d_tag == DT_SYMTAB)
			ret->table = (const ElfW(Sym) *)at;
		else if (dyn->d_tag == DT_STRTAB)
			ret->names = (const char *)at;
		else if (dyn->d_tag == DT_GNU_HASH)
			ret->hash = (const uint32_t *)at;
		else if (dyn->d_tag == DT_HASH)
			ret->hash_sysv = (const uint32_t *)at;
		else if (dyn->d_tag == DT_VERSYM)
			ret->versions = (const uint16_t *)at;
	}
	return ret->table && ret->names && (ret->hash || ret->hash_sysv);
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static bool is_definition(const struct symbols *s, uint32_t index, const char *name)
{
	const uint16_t hidden = 0x8000;
	const ElfW(Sym) *symbol = &s->table[index];

	return symbol->st_shndx != SHN_UNDEF && !(s->versions && s->versions[index] & hidden) &&
	       strcmp(s->names + symbol->st_name, name) == 0;
}

/* By DT_GNU_HASH (the format: binutils, elflink.c). 0: not there. */
static uint32_t find_gnu(const struct symbols *s, const char *name)
{
	const uint32_t bits = sizeof(ElfW(Addr)) * 8;
	const uint32_t *hash_table = s->hash;
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(hash_table + 4);
	const uint32_t *buckets = hash_table + 4 + hash_table[2] * (bits / 32);
	const uint32_t *chain = buckets + hash_table[0];
	uint32_t hash = gnu_hash(name);
	ElfW(Addr) word = bloom[hash / bits & (hash_table[2] - 1)];
	uint32_t index;

	if (!(word >> hash % bits & word >> (hash >> hash_table[3]) % bits & 1) || !hash_table[0])
		return 0;
	index = buckets[hash % hash_table[0]];
	if (index < hash_table[1])
		return 0;
	for (;; index++) {
		uint32_t seen = chain[index - hash_table[1]];

		if ((seen | 1) == (hash | 1) && is_definition(s, index, name))
			return index;
		if (seen & 1)
			return 0;
	}
}

/*
 * Among all symbols, whose number DT_HASH has (System V ABI, "Hash Table"): few objects are linked
 * with --hash-style=sysv alone.
 */
static uint32_t find_sysv(const struct symbols *s, const char *name)
{
	const uint32_t count = s->hash_sysv[1];

	for (uint32_t i = 1; i < count; i++)
		if (is_definition(s, i, name))
			return i;
	return 0;
}

static const ElfW(Sym) * find_among(const struct symbols *s, const char *name)
{
	const uint32_t index = s->hash ? find_gnu(s, name) : find_sysv(s, name);

	return index ? &s->table[index] : NULL;
}

/* The definition of @name in one object; NULL: it has none. */
static const ElfW(Sym) * find_symbol(const struct link_map *map, const char *name)
{
	struct symbols s;

	return symbols_of(map, &s) ? find_among(&s, name) : NULL;
}

rt_symbol_value *rt_next_value;

static uintptr_t value_of(const ElfW(Sym) * symbol)
{
	return rt_next_value ? rt_next_value(symbol) : symbol->st_value;
}

void *rt_next_address(const struct rt_definition *definition)
{
	const ElfW(Sym) *symbol = definition->symbol;
	uintptr_t address = symbol ? definition->map->l_addr + value_of(symbol) : 0;

	/* Then it is a function that says which one to take. */
	if (symbol && ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		address = ((uintptr_t(*)(void))address)();
	return (void *)address;
}

static void *find_in(const struct link_map *map, const char *name)
{
	const struct rt_definition definition = { map, find_symbol(map, name) };

	return rt_next_address(&definition);
}

const struct link_map *rt_own_map(void)
{
	return object_of((uintptr_t)&rt_next);
}

static void *find_loaded(uintptr_t base, const ElfW(Phdr) * headers, size_t count,
			 const char *symbol)
{
	struct link_map map = { .l_addr = base };

	for (size_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_DYNAMIC)
			map.l_ld = (ElfW(Dyn) *)(base + headers[i].p_vaddr);
	return find_in(&map, symbol);
}

struct search {
	const char *symbol;
	void *found;
};

static int search_one(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct search *search = argument;
	void *found = find_loaded(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum,
				  search->symbol);

	(void)bytes;
	if (!found || object_of((uintptr_t)found) == rt_own_map())
		return 0;
	search->found = found;
	return 1;
}

void *rt_find_elsewhere(const char *symbol)
{
	struct search search = { .symbol = symbol };

	(void)dl_iterate_phdr(search_one, &search);
	return search.found;
}

void *rt_find_in_vdso(const char *symbol)
{
	/* The kernel links it at 0, and maps it for as long as the process has its memory. */
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);

	return header ? find_loaded((uintptr_t)header,
				    (const ElfW(Phdr) *)((uintptr_t)header + header->e_phoff),
				    header->e_phnum, symbol)
		      : NULL;
}

static bool is_next(const char *name, const void *function)
{
#define CORE_MALLOC(symbol, type, parameters)                                             \
	if (function == (void *)(uintptr_t)rt_found.symbol && strcmp(name, #symbol) == 0) \
		return true;
#include "core/allocation.def"
	return false;
}

void *rt_next_hook_of(const char *name, const void *function)
{
	return is_next(name, function) ? rt_next_hook(name) : NULL;
}

void *rt_find_in_program(const char *symbol)
{
	/* The first of the list, which stays when others go. */
	return _r_debug.r_map ? find_in(_r_debug.r_map, symbol) : NULL;
}

/*
 * Some object, the program itself perhaps, replaces @symbol. The library's other forms forward
 * to the replaced one, so then they must all be called.
 */
static bool is_replaced(const struct rt_next *next, const char *symbol)
{
	const struct link_map *own = rt_own_map();

	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		void *found = map == own ? NULL : find_in(map, symbol);

		if (found && !is_plain_provider(next, (uintptr_t)found))
			return true;
	}
	return false;
}

/* One object after the other: to find where its symbols are takes longer than to look one up. */
static void find_from(const struct link_map *map, const char *const *names, size_t count,
		      struct rt_definition *ret_all)
{
	const struct link_map *own = rt_own_map();
	size_t missing = count;
	struct symbols s;

	memset(ret_all, 0, count * sizeof(*ret_all));
	for (; map && missing; map = map->l_next) {
		if (map == own || !symbols_of(map, &s))
			continue;
		for (size_t i = 0; i < count; i++)
			if (!ret_all[i].symbol) {
				ret_all[i] = (struct rt_definition){ map,
								     find_among(&s, names[i]) };
				missing -= ret_all[i].symbol != NULL;
			}
	}
}

bool rt_next_is_behind(void)
{
	const struct link_map *own = rt_own_map();
	struct rt_definition definition = { 0 };
	const char *name = "malloc";

	if (own)
		find_from(own->l_next, &name, 1, &definition);
	return definition.symbol;
}

/*
 * As dlsym(RTLD_NEXT) does, which cannot be called: where there is no such symbol, and most
 * programs have no operators, it would allocate its message and leave it for the program's
 * dlerror().
 */
void rt_next_definitions(const char *const *names, size_t count, struct rt_definition *ret_all)
{
	const struct link_map *own = rt_own_map();

	find_from(own && rt_next_is_behind() ? own->l_next : _r_debug.r_map, names, count, ret_all);
}

struct rt_definition rt_next_definition(const char *name)
{
	struct rt_definition definition;

	rt_next_definitions(&name, 1, &definition);
	return definition;
}

struct rt_definition rt_next_lasting_definition(const char *name)
{
	const struct link_map *maps[] = { object_of((uintptr_t)rt_found.malloc), operators_map };
	struct rt_definition definition = { 0 };

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]) && !definition.symbol; i++)
		if (maps[i])
			definition = (struct rt_definition){ maps[i], find_symbol(maps[i], name) };
	return definition;
}

static void *find_behind(const char *symbol)
{
	const struct rt_definition definition = rt_next_definition(symbol);

	return rt_next_address(&definition);
}

void *rt_next_hook(const char *name)
{
	const struct link_map *own = rt_own_map();

	return own ? find_in(own, name) : NULL;
}

rt_class_function *rt_next_class_function(void)
{
	/* A name alone may be anything; beside a function that only it has, it is known. */
	static const struct {
		const char *name, *known_by;
	} functions[] = {
		{ "nallocx", "mallctl" },
		{ "tc_nallocx", "tc_version" },
		{ "mi_good_size", "mi_version" },
	};
	const struct link_map *map = object_of((uintptr_t)rt_found.malloc);

	for (size_t i = 0; map && i < sizeof(functions) / sizeof(functions[0]); i++) {
		const ElfW(Sym) *symbol = find_symbol(map, functions[i].name);
		const ElfW(Sym) *other = find_symbol(map, functions[i].known_by);

		if (symbol && other && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
		    ELF64_ST_TYPE(other->st_info) == STT_FUNC)
			return (rt_class_function *)(map->l_addr + symbol->st_value);
	}
	return NULL;
}

bool rt_next_is_glibc(void)
{
	return strcmp(base_name(rt_next_malloc_path()), "libc.so.6") == 0;
}

const char *rt_next_malloc_path(void)
{
	return object_name((uintptr_t)rt_found.malloc);
}

bool rt_next_is_in_exit(uintptr_t pc)
{
	/* Another library may have an exit() of its own; this is libc's alone. */
	const struct link_map *libc = object_of((uintptr_t)getauxval);
	const ElfW(Sym) *symbol = libc ? find_symbol(libc, "exit") : NULL;

	return symbol && pc - (libc->l_addr + value_of(symbol)) < symbol->st_size;
}

static void find_functions(struct rt_next *next)
{
#define RT_HOOK(symbol, type, parameters) \
	next->symbol = (type(*) parameters)(uintptr_t)find_behind(#symbol);
#define RT_OPERATOR RT_HOOK
#include "runtime/next/hooks.def"
}

/* Whose malloc it is decides whose operators count as replaced. */
static void drop_plain_operators(struct rt_next *next)
{
	bool replaced = false;

#define RT_OPERATOR(symbol, ...) replaced = replaced || is_replaced(next, #symbol);
#include "runtime/next/hooks.def"
#define RT_OPERATOR(symbol, ...)                                                           \
	if (!replaced && next->symbol && is_plain_provider(next, (uintptr_t)next->symbol)) \
		next->symbol = NULL;                                                       \
	rt_operators_foreign |= next->symbol != NULL;
#include "runtime/next/hooks.def"
}

/* An allocator need not define every function: those it lacks are libc's, with libc's blocks. */
static void settle_foreign(struct rt_next *next)
{
	if (!is_next_allocators(next, (uintptr_t)next->free_sized))
		next->free_sized = NULL;
	if (!is_next_allocators(next, (uintptr_t)next->free_aligned_sized))
		next->free_aligned_sized = NULL;
	rt_usable_unknown = !is_next_allocators(next, (uintptr_t)next->malloc_usable_size);
	rt_aligned_foreign = !is_next_allocators(next, (uintptr_t)next->memalign) ||
			     !is_next_allocators(next, (uintptr_t)next->aligned_alloc) ||
			     !is_next_allocators(next, (uintptr_t)next->posix_memalign);
	rt_paged_foreign = !is_next_allocators(next, (uintptr_t)next->valloc) ||
			   !is_next_allocators(next, (uintptr_t)next->pvalloc);
}

void rt_next_find(void)
{
	struct rt_next next;

	if (rt_load_acquire(&is_found))
		return;
	find_functions(&next);
	operators_map = next._Znwm ? object_of((uintptr_t)next._Znwm) : NULL;
	drop_plain_operators(&next);
	settle_foreign(&next);
	rt_found = next;
	rt_next = next;
	if (!rt_next_is_glibc())
		rt_min_request = 16;
	rt_store_release(&is_found, true);
}
