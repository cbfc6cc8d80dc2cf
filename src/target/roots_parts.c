/* SPDX-License-Identifier: MIT */
#include "target/roots_parts.h"

#include "base/path.h"
#include "base/search.h"
#include "base/xalloc.h"

#include <elf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096, PROGRAM_HEADERS_MAX = 64 };

/*
 * Past what is kept: what is read here lies far apart, and more around it would be read each time.
 */
bool seep_roots_read(const struct seep_roots_work *work, uint64_t address, void *to, size_t bytes)
{
	return seep_memory_read(work->from->memory, address, to, bytes);
}

uint64_t seep_roots_word(const struct seep_roots_work *work, uint64_t address)
{
	uint64_t word;

	return seep_roots_read(work, address, &word, sizeof(word)) ? word : 0;
}

void seep_roots_add(struct seep_roots_work *work, const struct scan_root *root)
{
	struct seep_roots *roots = work->roots;

	roots->items = seep_xgrow(roots->items, &roots->capacity, roots->count + 1,
				  sizeof(*roots->items));
	roots->items[roots->count++] = *root;
}

void seep_roots_add_but(struct seep_roots_work *work, uint64_t begin, uint64_t end,
			const struct seep_ranges *but, enum scan_root_kind kind, uint32_t id)
{
	for (uint64_t piece_end; seep_ranges_gap(but, &begin, end, &piece_end); begin = piece_end)
		seep_roots_add(work, &(struct scan_root){ .begin = begin,
							  .end = piece_end,
							  .id = id,
							  .kind = (uint8_t)kind });
}

void seep_roots_caveat(struct seep_roots_work *work, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = seep_xvasprintf(format, args);
	va_end(args);
	if (seep_texts_have(&work->roots->caveats, text))
		free(text);
	else
		seep_texts_take(&work->roots->caveats, text);
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
	Elf64_Phdr segments[PROGRAM_HEADERS_MAX];
	uint64_t bias = 0;
	bool has_bias = false;
	Elf64_Ehdr header;

	if (!seep_roots_read(work, file->begin, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(segments[0]) ||
	    header.e_phnum > PROGRAM_HEADERS_MAX || header.e_phoff > file->end - file->begin ||
	    !seep_roots_read(work, file->begin + header.e_phoff, segments,
			     header.e_phnum * sizeof(segments[0])))
		return;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD)
			continue;
		if (!has_bias)
			bias = file->begin - (segments[i].p_vaddr & ~(uint64_t)(PAGE_BYTES - 1));
		has_bias = true;
		if (segments[i].p_flags & PF_W)
			add_data(work, file, &segments[i], bias);
	}
}

void seep_roots_find_modules(struct seep_roots_work *work)
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
