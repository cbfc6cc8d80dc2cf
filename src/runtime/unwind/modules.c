/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/modules.h"

#include "core/notes.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/unwind/rules.h"
#include "runtime/unwind/stack.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

enum { MODULES_MAX = 8192, MODULE_PAGES_LOG2 = 8 };
enum { PATH_MAX_BYTES = 4096, NOTES_MAX_BYTES = 1 << 16 };

/*
 * An object that was met; kept over generations, so that a plugin loaded again is the same, and over
 * forks, so that a child need not read its header again. Two threads that meet one at once may each
 * add it, here and to the ledger: readers take these for one.
 */
struct listed {
	uintptr_t start, end, bias;
	const char *path; /* NULL: the program's own, which the header has */
	uint32_t path_bytes;
	uint32_t build_id_bytes;
	uint8_t build_id[LEDGER_BUILD_ID_BYTES];
	_Atomic uint32_t ready; /* the above does not change any more */
	/* The generation in which it was met last, plus 1; its rules hold if this is still true: */
	_Atomic uint32_t met;
	_Atomic uintptr_t link_map;
	_Atomic uintptr_t eh_frame;
	_Atomic uint64_t index; /* number of a ledger << 32 | index there + 1 */
};

static struct listed *listed;	      /* NULL: there was no memory for it */
static _Atomic uint32_t listed_count; /* may exceed MODULES_MAX */
static uint32_t ledger;		      /* how many this process and its ancestors filled before */

/* All of the program, from its first segment to its last. */
static uintptr_t program_start, program_end;

/*
 * The kernel leaves holes between the program's segments where their alignment asks for it, and
 * then the loader tells the extent of one segment only; headers and tables stand in others.
 */
static bool loader_find(uintptr_t pc, struct dl_find_object *object)
{
	if (_dl_find_object((void *)pc, object) != 0)
		return false;
	if (object->dlfo_link_map == _r_debug.r_map && pc >= program_start && pc < program_end) {
		object->dlfo_map_start = (void *)program_start;
		object->dlfo_map_end = (void *)program_end;
	}
	return true;
}

static void find_program(void)
{
	const Elf64_Phdr *phdr = (const Elf64_Phdr *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM);
	uintptr_t start = UINTPTR_MAX, end = 0, bias = 0;
	bool has_bias = false;

	for (unsigned long i = 0; phdr && i < count; i++) {
		if (phdr[i].p_type == PT_PHDR) {
			bias = (uintptr_t)phdr - phdr[i].p_vaddr;
			has_bias = true;
		} else if (phdr[i].p_type == PT_LOAD) {
			if (phdr[i].p_vaddr < start)
				start = phdr[i].p_vaddr & ~(uintptr_t)4095;
			if (phdr[i].p_vaddr + phdr[i].p_memsz > end)
				end = phdr[i].p_vaddr + phdr[i].p_memsz;
		}
	}
	if (has_bias && start < end) {
		program_start = start + bias;
		program_end = end + bias;
	}
}

void rt_modules_advance(void)
{
	uint32_t next;

	/* First: whoever meets such code in the new generation says so again. */
	(void)atomic_fetch_and_explicit(&rt_unusual, ~(uint32_t)RT_GENERATED_MET,
					memory_order_relaxed);
	next = (atomic_fetch_add_explicit(&rt_generation, 1, memory_order_release) + 1) & 0xffff;
	/* After 65,535 generations the key's 16 bits repeat: start with an empty table. */
	if (next == 0)
		rt_memo_empty(&rt_rules);
}

void rt_modules_check_load(const uintptr_t *frame)
{
	if (frame[1] - rt_global.loader_start < rt_global.loader_bytes &&
	    _r_debug.r_state == RT_ADD)
		rt_modules_advance();
}

static uint32_t entries(void)
{
	uint32_t count = rt_load_acquire(&listed_count);

	return count < MODULES_MAX ? count : MODULES_MAX;
}

/* The @i-th entry, if it was met in @generation; else NULL. */
static struct listed *met_in(uint32_t generation, uint32_t i)
{
	struct listed *entry = &listed[i];

	return rt_load_acquire(&entry->met) == generation + 1 ? entry : NULL;
}

static bool is_same_load(const struct listed *entry, const struct dl_find_object *now)
{
	return (uintptr_t)now->dlfo_map_start == entry->start &&
	       (uintptr_t)now->dlfo_map_end == entry->end &&
	       (uintptr_t)now->dlfo_link_map == rt_load(&entry->link_map) &&
	       (uintptr_t)now->dlfo_eh_frame == rt_load(&entry->eh_frame);
}

void rt_modules_check(void)
{
	const uint32_t generation = rt_load(&rt_generation);
	struct dl_find_object now;

	for (uint32_t i = 0; i < entries(); i++) {
		const struct listed *entry = met_in(generation, i);

		if (entry && (!loader_find(entry->start, &now) || !is_same_load(entry, &now))) {
			rt_modules_advance();
			return;
		}
	}
}

size_t rt_module_name(uintptr_t pc, const char **ret_name)
{
	struct dl_find_object object = { 0 };
	const char *path = "";
	size_t bytes, base;

	if (loader_find(pc, &object) && object.dlfo_link_map->l_name)
		path = object.dlfo_link_map->l_name;
	bytes = strlen(path);
	/* The program itself has no name there. */
	if (bytes == 0 && object.dlfo_link_map == _r_debug.r_map) {
		path = (const char *)rt_global.strings + rt_header.exe.offset;
		bytes = rt_header.exe.bytes;
	}
	for (base = bytes; base > 0 && path[base - 1] != '/'; base--)
		;
	*ret_name = path + base;
	return bytes - base;
}

bool rt_module_find(uintptr_t pc, struct cfi_module *ret_module)
{
	struct dl_find_object object;

	if (!loader_find(pc, &object))
		return false;
	ret_module->eh_frame_hdr = object.dlfo_eh_frame;
	ret_module->start = (uintptr_t)object.dlfo_map_start;
	ret_module->end = (uintptr_t)object.dlfo_map_end;
	return true;
}

/* To work in: too much for a stack that may be tiny. */
struct work {
	struct listed now;
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	char path[PATH_MAX_BYTES];
};

/* Objects begin with their ELF header in the first mapped page, with the program headers. */
static void find_build_id(struct work *work)
{
	struct listed *now = &work->now;
	const uint8_t *start = (const uint8_t *)now->start, *id;
	const Elf64_Ehdr *ehdr = &work->ehdr;
	const Elf64_Phdr *phdr = &work->phdr;

	/* Some programs hide their header from whoever would dump them, or write over it. */
	if (now->start & 4095 || !rt_pages_are_readable(now->start, now->start + 4096))
		return;
	memcpy(&work->ehdr, start, sizeof(*ehdr));
	if (memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 || ehdr->e_phentsize != sizeof(*phdr) ||
	    ehdr->e_phoff > 4096 || ehdr->e_phnum > (4096 - ehdr->e_phoff) / sizeof(*phdr))
		return;
	for (unsigned i = 0; i < ehdr->e_phnum; i++) {
		uintptr_t at;
		size_t bytes;

		memcpy(&work->phdr, start + ehdr->e_phoff + i * sizeof(*phdr), sizeof(*phdr));
		at = now->bias + phdr->p_vaddr;
		if (phdr->p_type != PT_NOTE || phdr->p_memsz > NOTES_MAX_BYTES || at < now->start ||
		    at > now->end || phdr->p_memsz > now->end - at ||
		    !rt_pages_are_readable(at & ~(uintptr_t)4095, at + phdr->p_memsz))
			continue;
		id = core_notes_build_id((const uint8_t *)at, phdr->p_memsz, &bytes);
		if (!id || bytes > LEDGER_BUILD_ID_BYTES)
			continue;
		memcpy(now->build_id, id, bytes);
		now->build_id_bytes = (uint32_t)bytes;
		return;
	}
}

/*
 * As the loader has it, or in @buffer from the root on: what has no slash is no path. Empty for the
 * program itself, whose path the header has.
 */
static const char *module_path(const struct link_map *map, char *buffer)
{
	const char *name = map->l_name ? map->l_name : "";
	const char *path = strchr(name, '/') ? rt_absolute_path(name, buffer, PATH_MAX_BYTES)
					     : NULL;

	return path ? path : name;
}

static bool same_module(const struct listed *a, const struct listed *b)
{
	return a->start == b->start && a->end == b->end && a->build_id_bytes == b->build_id_bytes &&
	       memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 &&
	       a->path_bytes == b->path_bytes &&
	       (!a->path_bytes || memcmp(a->path, b->path, a->path_bytes) == 0);
}

/* NULL: there is no room. */
static struct listed *entry_new(const struct listed *from)
{
	struct listed *entry;
	char *path = NULL;
	uint32_t i;

	if (!listed || rt_load(&listed_count) >= MODULES_MAX)
		return NULL;
	if (from->path_bytes)
		path = rt_mmap(from->path_bytes);
	if (from->path_bytes && !path)
		return NULL;
	i = atomic_fetch_add_explicit(&listed_count, 1, memory_order_acq_rel);
	if (i >= MODULES_MAX)
		return NULL;
	entry = &listed[i];
	if (path)
		memcpy(path, from->path, from->path_bytes);
	*entry = *from;
	entry->path = path;
	rt_store_release(&entry->ready, 1);
	return entry;
}

/* NULL: there is no room. */
static RT_COLD struct listed *list_module(const struct dl_find_object *object, struct work *work)
{
	const struct link_map *map = object->dlfo_link_map;
	struct listed *now = &work->now, *entry;

	memset(now, 0, sizeof(*now));
	now->start = (uintptr_t)object->dlfo_map_start;
	now->end = (uintptr_t)object->dlfo_map_end;
	now->bias = map->l_addr;
	now->path = module_path(map, work->path);
	now->path_bytes = (uint32_t)strlen(now->path);
	find_build_id(work);
	for (uint32_t i = 0; i < entries(); i++) {
		entry = &listed[i];
		if (rt_load_acquire(&entry->ready) && same_module(entry, now))
			return entry;
	}
	entry = entry_new(now);
	if (!entry)
		rt_note_unseen(LEDGER_UNSEEN_MODULES_FULL);
	return entry;
}

/*
 * The entry of the object around @pc, which is in use from now on. If another one was met in this
 * generation where it lies, that has gone.
 */
static RT_COLD struct listed *meet(uintptr_t pc)
{
	uint32_t generation = rt_load(&rt_generation);
	struct dl_find_object object;
	struct listed *entry;
	struct work *work;

	if (!loader_find(pc, &object))
		return NULL;
	for (uint32_t i = 0; i < entries(); i++) {
		entry = met_in(generation, i);
		if (!entry || entry->start >= (uintptr_t)object.dlfo_map_end ||
		    (uintptr_t)object.dlfo_map_start >= entry->end)
			continue;
		if (is_same_load(entry, &object))
			return entry;
		rt_modules_advance();
		generation = rt_load(&rt_generation);
		break;
	}
	work = rt_scratch_take(sizeof(*work));
	entry = work ? list_module(&object, work) : NULL;
	rt_scratch_give(work);
	if (entry) {
		rt_store(&entry->link_map, (uintptr_t)object.dlfo_link_map);
		rt_store(&entry->eh_frame, (uintptr_t)object.dlfo_eh_frame);
		rt_store_release(&entry->met, generation + 1);
	}
	return entry;
}

void rt_module_remember(uintptr_t pc)
{
	(void)meet(pc);
}

/* Into our ledger; its index there, plus 1, or 0: there is no room. */
static RT_COLD uint32_t publish(struct listed *which)
{
	uint64_t index = rt_table_take(LEDGER_TABLE_MODULES, 1);
	struct ledger_module *module;

	if (index == RT_NO_INDEX || index >= UINT16_MAX - 1) {
		rt_note_unseen(LEDGER_UNSEEN_MODULES_FULL);
		return 0;
	}
	module = &rt_global.modules[index];
	module->generation = rt_load(&rt_generation);
	module->bias = which->bias;
	module->start = which->start;
	module->end = which->end;
	module->path = which->path_bytes ? rt_table_string(which->path, which->path_bytes)
					 : rt_header.exe;
	module->build_id_bytes = which->build_id_bytes;
	memcpy(module->build_id, which->build_id, which->build_id_bytes);
	rt_store_release(&module->ready, 1);
	rt_store(&which->index, (uint64_t)ledger << 32 | (index + 1));
	return (uint32_t)index + 1;
}

/* For pages of 4 KB that share a place: in which entry one of them was; generation << 32 | i + 1 */
static RT_LARGE _Atomic uint64_t entry_of_page[1 << MODULE_PAGES_LOG2];

static struct listed *entry_around(uintptr_t pc)
{
	_Atomic uint64_t *place = &entry_of_page[pc >> 12 & ((1u << MODULE_PAGES_LOG2) - 1)];
	const uint64_t known = rt_load(place);
	struct listed *entry = NULL;

	if (known && known >> 32 == rt_load(&rt_generation))
		entry = &listed[(uint32_t)known - 1];
	if (entry && pc - entry->start < entry->end - entry->start)
		return entry;
	entry = meet(pc);
	if (entry)
		rt_store(place,
			 (uint64_t)rt_load(&rt_generation) << 32 | (uint64_t)(entry - listed + 1));
	return entry;
}

uint32_t rt_module_index(uintptr_t pc, uint64_t *ret_bias)
{
	struct listed *entry = entry_around(pc);
	uint64_t index;

	if (!entry)
		return 0;
	*ret_bias = entry->bias;
	index = rt_load(&entry->index);
	return RT_LIKELY(index != 0) && index >> 32 == ledger ? (uint32_t)index : publish(entry);
}

void rt_modules_start(void)
{
	struct dl_find_object object;

	if (!listed)
		listed = rt_mmap_sparse(MODULES_MAX * sizeof(*listed));
	find_program();
	/* The loader's own extent, by the one object that it must contain. */
	if (loader_find((uintptr_t)_r_debug.r_ldbase, &object)) {
		rt_global.loader_start = (uintptr_t)object.dlfo_map_start;
		rt_global.loader_bytes = (uintptr_t)object.dlfo_map_end -
					 (uintptr_t)object.dlfo_map_start;
	}
}

void rt_modules_forked(void)
{
	ledger++;
}
