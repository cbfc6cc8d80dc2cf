/* SPDX-License-Identifier: MIT */
#include "target/roots.h"

#include "base/path.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "target/roots_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Up to here it costs less to read what is not there than to ask. */
#define ASK_BYTES (UINT64_C(1) << 20)
#define VAULT_BYTES_MAX (UINT64_C(1) << 30)
/* Where nothing can tell what is there, so much of a mapping is looked through. */
#define BLIND_BYTES (UINT64_C(1) << 30)

uint64_t seep_roots_word(const struct seep_roots_work *work, uint64_t address)
{
	uint64_t word;

	return seep_memory_read(work->memory, address, &word, sizeof(word)) ? word : 0;
}

struct scan_root *seep_roots_add(struct seep_roots_work *work, uint64_t begin, uint64_t end,
				 enum scan_root_kind kind, uint32_t id)
{
	struct scan_root *root = SEEP_APPEND(work->roots->items, work->roots->count);

	*root = (struct scan_root){ .begin = begin, .end = end, .id = id, .kind = (uint8_t)kind };
	return root;
}

void seep_roots_add_words(struct seep_roots_work *work, const uint64_t *words, size_t count,
			  enum scan_root_kind kind, enum scan_rule rule, uint32_t id)
{
	const uint64_t begin = SEEP_ROOTS_NO_ADDRESS + work->word_count * sizeof(*words);
	struct scan_root *root = seep_roots_add(work, begin, begin + count * sizeof(*words), kind,
						id);

	root->words = words;
	root->rule = (uint8_t)rule;
	work->word_count += count;
}

void seep_roots_add_but(struct seep_roots_work *work, uint64_t begin, uint64_t end,
			const struct seep_ranges *but, enum scan_root_kind kind, uint32_t id)
{
	for (uint64_t piece_end; seep_ranges_gap(but, &begin, end, &piece_end); begin = piece_end)
		(void)seep_roots_add(work, begin, piece_end, kind, id);
}

void seep_roots_caveat(struct seep_roots_work *work, const char *format, ...)
{
	SEEP_FREED char *text = NULL;
	va_list args;

	va_start(args, format);
	text = seep_xvasprintf(format, args);
	va_end(args);
	(void)seep_texts_number(&work->roots->caveats, text);
}

bool seep_roots_is_anonymous(const struct seep_mapping *mapping)
{
	return !mapping->shared && mapping->inode == 0 && mapping->name[0] != '/' &&
	       (mapping->name[0] == '\0' || strncmp(mapping->name, "[anon:", 6) == 0);
}

uint64_t seep_roots_block_from(const struct scan *scan, uint64_t at, uint64_t address)
{
	return address ? at + seep_search_upto(scan->blocks + at, scan->block_count - at,
					       sizeof(*scan->blocks), address - 1)
		       : at;
}

bool seep_roots_in_block(const struct scan *scan, uint64_t address)
{
	const uint64_t behind = seep_roots_block_from(scan, 0, address + 1);

	return behind > 0 &&
	       address - scan->blocks[behind - 1].address < scan->blocks[behind - 1].size;
}

static bool is_libc(const char *path)
{
	static const char *const names[] = { "libc.so", "libc-2.", "libpthread", "ld-", NULL };

	return seep_begins_among(seep_path_base(path), names);
}

static void add_data(struct seep_roots_work *work, const struct seep_mapping *file,
		     const Elf64_Phdr *segment, uint64_t bias)
{
	const uint64_t begin = (segment->p_vaddr + bias) & ~(uint64_t)(PAGE_BYTES - 1);
	const uint64_t end = segment->p_vaddr + bias + segment->p_memsz;
	const struct seep_mapping *at = seep_maps_find(work->from->maps, begin);

	/* A file that is only read begins with an ELF header, too, and has nothing mapped here. */
	if (!at || at->inode != file->inode || at->device_minor != file->device_minor ||
	    at->shared || end < begin)
		return;
	seep_ranges_add(&work->globals, begin, (end + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES);
	if (is_libc(file->name))
		seep_ranges_add(&work->libc, begin, end);
}

static void find_module(struct seep_roots_work *work, const struct seep_mapping *file)
{
	Elf64_Phdr segments[SEEP_MODULE_SEGMENTS_MAX];
	uint64_t bias;
	const size_t count = seep_memory_segments(work->memory, file->begin, segments, &bias);

	for (size_t i = 0; i < count; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_W)
			add_data(work, file, &segments[i], bias);
}

static void find_modules(struct seep_roots_work *work)
{
	const struct seep_maps *maps = work->from->maps;

	for (size_t i = 0; i < maps->count; i++) {
		const struct seep_mapping *mapping = &maps->items[i];

		if (mapping->offset == 0 && mapping->readable && !mapping->shared &&
		    mapping->name[0] == '/' && mapping->inode != 0)
			find_module(work, mapping);
	}
	seep_ranges_settle(&work->globals);
	seep_ranges_settle(&work->libc);
}

bool seep_roots_is_device(const struct seep_mapping *mapping)
{
	static const char *const devices[] = { "/dev/",	      "/dmabuf", "/sys/",     "/proc/",
					       "anon_inode:", "[v",	 "[uprobes]", NULL };
	static const char *const memory[] = { "/dev/zero", "/dev/shm/", "/dev/hugepages",
					      "anon_inode:[io_uring]", NULL };

	return seep_begins_among(mapping->name, devices) &&
	       !seep_begins_among(mapping->name, memory);
}

bool seep_roots_is_vault(const struct seep_mapping *mapping)
{
	return !mapping->readable && !mapping->shared &&
	       mapping->end - mapping->begin <= VAULT_BYTES_MAX;
}

/* All of it is there. SCAN_ROOT_NONE: what it is depends on where it is. */
static void add_present(struct seep_roots_work *work, uint64_t begin, uint64_t end,
			enum scan_root_kind kind, uint32_t id)
{
	const struct seep_ranges *globals = &work->globals;

	if (kind != SCAN_ROOT_NONE) {
		(void)seep_roots_add(work, begin, end, kind, id);
		return;
	}
	seep_roots_add_but(work, begin, end, globals, SCAN_ROOT_MAPPING, id);
	for (size_t i = seep_ranges_from(globals, begin);
	     i < globals->count && globals->items[i].begin < end; i++)
		(void)seep_roots_add(work, core_larger(globals->items[i].begin, begin),
				     core_smaller(globals->items[i].end, end), SCAN_ROOT_GLOBAL,
				     id);
}

static void add_piece(struct seep_roots_work *work, const struct seep_mapping *mapping,
		      uint64_t begin, uint64_t end, enum scan_root_kind kind, uint32_t id)
{
	struct seep_present_pages *pages = mapping->shared ? &work->from->pages->shared_pages
							   : &work->from->pages->image_pages;
	SEEP_RELEASED(seep_ranges_done) struct seep_ranges found = { 0 };

	if (end - begin <= ASK_BYTES) {
		add_present(work, begin, end, kind, id);
		return;
	}
	if (!seep_present_pages_find(pages, begin & -(uint64_t)PAGE_BYTES,
				     (end + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES, &found)) {
		const uint64_t most = begin + core_smaller(end - begin, BLIND_BYTES);

		found.count = 0;
		seep_ranges_add(&found, begin, most);
		if (most < end)
			seep_roots_caveat(work,
					  "of a mapping of %" PRIu64 " MB the first %" PRIu64
					  " MB were looked through: /proc/PID/pagemap does not "
					  "say what is in use",
					  (end - begin) >> 20, (uint64_t)BLIND_BYTES >> 20);
	}
	for (size_t i = 0; i < found.count; i++)
		add_present(work, core_larger(found.items[i].begin, begin),
			    core_smaller(found.items[i].end, end), kind, id);
}

/*
 * What a program made read-only once it had written it counts: generated code, protected variables.
 * Of a private mapping of a file these are the pages that are its own. A vault it may open again, or have
 * done with: what only that points to is in doubt.
 */
static void add_own_pages(struct seep_roots_work *work, const struct seep_mapping *mapping,
			  uint32_t id)
{
	SEEP_RELEASED(seep_ranges_done) struct seep_ranges found = { 0 };
	const size_t before = work->roots->count;
	uint64_t at, end;

	if (!seep_present_pages_own(&work->from->pages->image_pages, mapping->begin, mapping->end,
				    &found))
		found.count = 0;
	for (size_t i = 0; i < found.count; i++)
		for (at = found.items[i].begin;
		     seep_ranges_gap(&work->cut, &at, found.items[i].end, &end); at = end) {
			if (!mapping->readable)
				seep_memory_force(work->memory, at, end);
			add_present(work, at, end, SCAN_ROOT_NONE, id);
		}
	for (size_t i = before; i < work->roots->count && !mapping->readable; i++)
		work->roots->items[i].rule = SCAN_RULE_UNREADABLE;
}

/* A file that is nothing but memory holds what some mapping or call has written. */
static bool is_memory_file(const struct seep_mapping *mapping)
{
	static const char *const names[] = { "/memfd:", "/dev/shm/", "/SYSV", "/dev/zero", NULL };

	return seep_begins_among(mapping->name, names);
}

static void add_mapping(struct seep_roots_work *work, uint32_t id)
{
	const struct seep_mapping *mapping = &work->from->maps->items[id];
	uint64_t at = mapping->begin, end;

	if (seep_roots_is_device(mapping))
		return;
	if (!mapping->readable ||
	    (!mapping->writable && !seep_roots_is_anonymous(mapping) && !is_memory_file(mapping))) {
		if (mapping->readable ? !mapping->shared : seep_roots_is_vault(mapping))
			add_own_pages(work, mapping, id);
		return;
	}
	for (; seep_ranges_gap(&work->cut, &at, mapping->end, &end); at = end)
		add_piece(work, mapping, at, end, SCAN_ROOT_NONE, id);
}

/* What the program registered, wherever it is; of it what can be read. */
static void add_region(struct seep_roots_work *work, uint32_t id)
{
	const struct ledger_range *region = &work->from->facts->regions[id];
	const struct seep_maps *maps = work->from->maps;
	const uint64_t begin = region->begin, end = region->end;

	if (begin == 0)
		return;
	for (size_t i = seep_maps_from(maps, begin); i < maps->count; i++) {
		const struct seep_mapping *mapping = &maps->items[i];
		const uint64_t from = core_larger(mapping->begin, begin);
		const uint64_t to = core_smaller(mapping->end, end);

		if (from >= to)
			break;
		if (mapping->readable && !seep_roots_is_device(mapping))
			add_piece(work, mapping, from, to, SCAN_ROOT_REGION, id);
	}
}

static void find_mappings(struct seep_roots_work *work)
{
	const struct ledger_facts *facts = work->from->facts;

	for (uint32_t i = 0; i < work->from->maps->count; i++)
		add_mapping(work, i);
	for (uint32_t i = 0; facts && i < facts->region_count && i < LEDGER_REGIONS_MAX; i++)
		add_region(work, i);
	if (facts && facts->region_count > LEDGER_REGIONS_MAX)
		seep_roots_caveat(work,
				  "the program registered more than %d regions as roots: the "
				  "others are not looked through as such",
				  LEDGER_REGIONS_MAX);
}

static int by_kind(const void *left, const void *right)
{
	const struct scan_root *a = left, *b = right;

	if (a->kind != b->kind)
		return (a->kind > b->kind) - (a->kind < b->kind);
	return (a->begin > b->begin) - (a->begin < b->begin);
}

static void cut_heap(struct seep_roots_work *work)
{
	SEEP_RELEASED(seep_ranges_done) struct seep_ranges held = seep_roots_unrecorded(work);
	uint64_t end;

	for (size_t i = 0; i < work->heap.count; i++) {
		uint64_t at = work->heap.items[i].begin;

		for (; seep_ranges_gap(&held, &at, work->heap.items[i].end, &end); at = end)
			seep_ranges_add(&work->cut, at, end);
	}
}

void seep_roots_find(const struct seep_roots_from *from, struct seep_roots *ret_roots)
{
	struct seep_roots_work work = {
		.from = from,
		.roots = ret_roots,
		.memory = from->memory,
	};

	*ret_roots = (struct seep_roots){ 0 };
	find_modules(&work);
	seep_roots_find_heap(&work);
	seep_roots_find_threads(&work);
	cut_heap(&work);
	if (from->held) {
		seep_roots_add_words(&work, from->held->epoll, from->held->epoll_count,
				     SCAN_ROOT_EPOLL, SCAN_RULE_NONE, 0);
		seep_roots_add_words(&work, from->held->timers, from->held->timer_count,
				     SCAN_ROOT_TIMER, SCAN_RULE_NONE, 0);
	}
	seep_ranges_settle(&work.cut);
	find_mappings(&work);
	if (ret_roots->count)
		qsort(ret_roots->items, ret_roots->count, sizeof(*ret_roots->items), by_kind);
	seep_ranges_done(&work.globals);
	seep_ranges_done(&work.libc);
	seep_ranges_done(&work.heap);
	seep_ranges_done(&work.areas);
	seep_ranges_done(&work.cut);
}

void seep_roots_done(struct seep_roots *roots)
{
	free(roots->items);
	free(roots->words);
	seep_texts_done(&roots->caveats);
	*roots = (struct seep_roots){ 0 };
}

struct seep_ranges seep_roots_vtables(const struct seep_maps *maps)
{
	struct seep_ranges ranges = { 0 };

	for (size_t i = 0; i < maps->count; i++) {
		const struct seep_mapping *mapping = &maps->items[i];

		if (mapping->readable && !mapping->writable && !mapping->shared &&
		    mapping->name[0] == '/')
			seep_ranges_add(&ranges, mapping->begin, mapping->end);
	}
	return ranges;
}
