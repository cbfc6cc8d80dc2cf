/* SPDX-License-Identifier: MIT */
#include "runtime/unwind/modules.h"

#include "core/notes.h"

#include "runtime/sys/lock.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/unwind/rules.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

enum { MODULES_MAX = 8192, MODULE_PAGES_LOG2 = 8 };
enum { PATH_MAX_BYTES = 4096, NOTES_MAX_BYTES = 1 << 16 };

/* An object met in this generation: what must still be true for its rules to hold. */
struct seen {
	uintptr_t start, end;
	const void *link_map;
	const void *eh_frame;
};

/*
 * An object that a ledger names; kept over generations, so that a plugin loaded again is the same,
 * and over forks, so that a child need not read its header again.
 */
struct listed {
	uintptr_t start, end, bias;
	const char *path; /* NULL: the program's own, which the header has */
	uint32_t path_bytes;
	uint32_t build_id_bytes;
	uint8_t build_id[LEDGER_BUILD_ID_BYTES];
	uint32_t index; /* + 1, in the ledger of this number; 0: in none */
	uint32_t ledger;
};

static struct seen *seen;
static uint32_t seen_count;
static struct listed *listed;
static uint32_t listed_count;
static uint32_t ledger; /* how many this process and its ancestors filled before */

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
	seen_count = 0;
}

void rt_modules_check_load(const uintptr_t *frame)
{
	if (frame[1] - rt_global.loader_start < rt_global.loader_bytes &&
	    _r_debug.r_state == RT_ADD)
		rt_modules_advance();
}

static bool still_there(const struct seen *s)
{
	struct dl_find_object now;

	return loader_find(s->start, &now) && now.dlfo_link_map == s->link_map &&
	       (uintptr_t)now.dlfo_map_end == s->end && now.dlfo_eh_frame == s->eh_frame;
}

/* Who takes the slow lock. A vfork child is its parent's thread, which waits for it. */
static uint32_t own_tid(void)
{
	return rt_tls.tid ? rt_tls.tid : rt_gettid();
}

void rt_modules_check(void)
{
	uint32_t tid = own_tid();

	if (!rt_lock_slow(tid)) {
		/* Better one generation too many than rules of an object that has gone. */
		rt_modules_advance();
		return;
	}
	for (uint32_t i = 0; i < seen_count; i++)
		if (!still_there(&seen[i])) {
			rt_modules_advance();
			break;
		}
	rt_unlock_slow(tid);
}

static void remember(const struct dl_find_object *object)
{
	struct seen now = { (uintptr_t)object->dlfo_map_start, (uintptr_t)object->dlfo_map_end,
			    object->dlfo_link_map, object->dlfo_eh_frame };
	uint32_t tid = own_tid();

	if (!rt_lock_slow(tid))
		return;
	if (!seen)
		seen = rt_mmap_sparse(MODULES_MAX * sizeof(*seen));
	for (uint32_t i = 0; seen && i < seen_count; i++) {
		if (seen[i].start >= now.end || now.start >= seen[i].end)
			continue;
		if (seen[i].link_map == now.link_map && seen[i].end == now.end)
			goto unlock;
		rt_modules_advance();
		break;
	}
	if (seen && seen_count < MODULES_MAX)
		seen[seen_count++] = now;
unlock:
	rt_unlock_slow(tid);
}

void rt_module_remember(uintptr_t pc)
{
	struct dl_find_object object;

	if (loader_find(pc, &object))
		remember(&object);
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
		path = (const char *)rt_global.strings + rt_global.header->exe.offset;
		bytes = rt_global.header->exe.bytes;
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

/*
 * Some programs hide their header from whoever would dump them, or write over it. Asked by a call
 * that sandboxes let pass; where they do not, it is as it is in all others.
 */
static bool is_readable(uintptr_t from, size_t bytes)
{
	const uintptr_t start = from & ~(uintptr_t)4095;
	const long failed = rt_syscall3(SYS_madvise, (long)start, (long)(from + bytes - start),
					RT_MADV_POPULATE_READ);

	return failed != -EINVAL && failed != -ENOMEM && failed != -EFAULT;
}

/* Objects begin with their ELF header in the first mapped page, with the program headers. */
static uint32_t module_build_id(const struct dl_find_object *object, uintptr_t bias,
				uint8_t *ret_id)
{
	const uint8_t *start = object->dlfo_map_start;
	uintptr_t end = (uintptr_t)object->dlfo_map_end;
	Elf64_Ehdr ehdr;

	if (((uintptr_t)start & 4095) || !is_readable((uintptr_t)start, 4096))
		return 0;
	memcpy(&ehdr, start, sizeof(ehdr));
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_phentsize != sizeof(Elf64_Phdr) ||
	    ehdr.e_phoff > 4096 || ehdr.e_phnum > (4096 - ehdr.e_phoff) / sizeof(Elf64_Phdr))
		return 0;
	for (unsigned i = 0; i < ehdr.e_phnum; i++) {
		Elf64_Phdr phdr;
		const uint8_t *id;
		uintptr_t at;
		size_t bytes;

		memcpy(&phdr, start + ehdr.e_phoff + i * sizeof(phdr), sizeof(phdr));
		at = bias + phdr.p_vaddr;
		if (phdr.p_type != PT_NOTE || phdr.p_memsz > NOTES_MAX_BYTES ||
		    at < (uintptr_t)start || at > end || phdr.p_memsz > end - at ||
		    !is_readable(at, phdr.p_memsz))
			continue;
		id = core_notes_build_id((const uint8_t *)at, phdr.p_memsz, &bytes);
		if (!id || bytes > LEDGER_BUILD_ID_BYTES)
			continue;
		memcpy(ret_id, id, bytes);
		return (uint32_t)bytes;
	}
	return 0;
}

/* Into @path; the length. Empty for the program itself, whose path the header has. */
static size_t module_path(const struct link_map *map, char *path)
{
	const char *name = map->l_name ? map->l_name : "";
	size_t length = strlen(name);
	size_t used = 0;

	if (name[0] != '/' && memchr(name, '/', length)) {
		long got = rt_syscall3(SYS_getcwd, (long)path, PATH_MAX_BYTES, 0);

		if (got > 1 && (size_t)got + length < PATH_MAX_BYTES) {
			used = (size_t)got;
			path[used - 1] = '/';
		}
	}
	if (used + length > PATH_MAX_BYTES)
		length = PATH_MAX_BYTES - used;
	memcpy(path + used, name, length);
	return used + length;
}

static bool same_module(const struct listed *a, const struct listed *b)
{
	return a->start == b->start && a->end == b->end && a->build_id_bytes == b->build_id_bytes &&
	       memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 &&
	       a->path_bytes == b->path_bytes &&
	       (!a->path_bytes || memcmp(a->path, b->path, a->path_bytes) == 0);
}

/* Its place in listed, plus 1; 0: there is no room. */
static RT_COLD uint32_t list_module(const struct dl_find_object *object)
{
	static RT_LARGE char path[PATH_MAX_BYTES]; /* under the slow lock */
	const struct link_map *map = object->dlfo_link_map;
	struct listed now = {
		.start = (uintptr_t)object->dlfo_map_start,
		.end = (uintptr_t)object->dlfo_map_end,
		.bias = map->l_addr,
		.path = path,
		.path_bytes = (uint32_t)module_path(map, path),
	};
	char *kept = NULL;

	now.build_id_bytes = module_build_id(object, map->l_addr, now.build_id);
	for (uint32_t i = 0; i < listed_count; i++)
		if (same_module(&listed[i], &now))
			return i + 1;
	if (now.path_bytes && listed_count < MODULES_MAX)
		kept = rt_mmap(now.path_bytes);
	if (listed_count == MODULES_MAX || (now.path_bytes && !kept)) {
		rt_note_unseen(LEDGER_UNSEEN_MODULES_FULL);
		return 0;
	}
	if (kept)
		memcpy(kept, path, now.path_bytes);
	now.path = kept;
	listed[listed_count++] = now;
	return listed_count;
}

/* Into our ledger; its index there, plus 1, or 0: there is no room. */
static RT_COLD uint32_t publish(struct listed *which)
{
	uint64_t index = rt_table_take(LEDGER_TABLE_MODULES, 1);
	struct ledger_module *module = &rt_global.modules[index];

	if (index == RT_NO_INDEX || index >= UINT16_MAX - 1) {
		rt_note_unseen(LEDGER_UNSEEN_MODULES_FULL);
		return 0;
	}
	module->generation = rt_load(&rt_generation);
	module->bias = which->bias;
	module->start = which->start;
	module->end = which->end;
	module->path = which->path_bytes ? rt_table_string(which->path, which->path_bytes)
					 : rt_global.header->exe;
	module->build_id_bytes = which->build_id_bytes;
	memcpy(module->build_id, which->build_id, which->build_id_bytes);
	rt_store_release(&module->ready, 1);
	which->index = (uint32_t)index + 1;
	which->ledger = ledger;
	return which->index;
}

/* For pages of 4 KB that share a place: in which module one of them was. Under the slow lock. */
static RT_LARGE struct {
	uint32_t module; /* in listed, plus 1; 0: none */
	uint32_t generation;
} module_of_page[1 << MODULE_PAGES_LOG2];

uint32_t rt_module_index(uintptr_t pc, uint64_t *ret_bias)
{
	uint32_t place = pc >> 12 & ((1u << MODULE_PAGES_LOG2) - 1);
	uint32_t generation = rt_load(&rt_generation);
	uint32_t found = module_of_page[place].module;
	struct dl_find_object object;

	if (!listed)
		listed = rt_mmap_sparse(MODULES_MAX * sizeof(*listed));
	if (!listed)
		return 0;
	if (!found || found > listed_count || module_of_page[place].generation != generation ||
	    pc - listed[found - 1].start >= listed[found - 1].end - listed[found - 1].start) {
		if (!loader_find(pc, &object))
			return 0;
		found = list_module(&object);
		if (!found)
			return 0;
		module_of_page[place].module = found;
		module_of_page[place].generation = generation;
	}
	*ret_bias = listed[found - 1].bias;
	if (RT_LIKELY(listed[found - 1].index != 0) && listed[found - 1].ledger == ledger)
		return listed[found - 1].index;
	return publish(&listed[found - 1]);
}

void rt_modules_start(void)
{
	struct dl_find_object object;

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
