/* SPDX-License-Identifier: MIT */
#include "symbol/symtab.h"

#include "base/search.h"
#include "base/xalloc.h"
#include "symbol/demangle.h"

#include <stdlib.h>
#include <string.h>

/* Interval ids are 32 bits. */
#define ENTRIES_MAX ((size_t)1 << 30)

/* Of a linkage name that is kept: what is longer helps nobody. */
enum { NAME_MAX_BYTES = 64 << 10 };

/* Of names of one address: millions of them may be long and almost the same. */
enum { COMPARED_BYTES = 256 };

struct symtab_entry {
	uint64_t address;
	uint64_t bytes; /* 0 = not said */
	uint64_t limit; /* where its section ends */
	const char *name;
	uint32_t order;	     /* smaller is a better name */
	uint32_t name_bytes; /* looked at */
	struct seep_symtab_name readable;
};

static bool is_label_noise(const char *name)
{
	/* Assembler temporaries and mapping symbols name no function. */
	return name[0] == '\0' || name[0] == '$' || strncmp(name, ".L", 2) == 0;
}

static uint32_t name_order(const Elf64_Sym *symbol, const char *name)
{
	uint32_t underscores = (uint32_t)strspn(name, "_");
	uint32_t kind = ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE;
	uint32_t binding = 2;

	if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL)
		binding = 3;
	else if (ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL)
		binding = 1;
	return kind << 16 | binding << 8 | (underscores < 255 ? underscores : 255);
}

static bool is_function(const struct seep_elf *elf, const Elf64_Sym *symbol)
{
	switch (ELF64_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_NOTYPE:
		return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS &&
		       seep_elf_is_code(elf, symbol->st_value);
	default:
		return false;
	}
}

static uint64_t section_end(const struct seep_elf *elf, const Elf64_Sym *symbol)
{
	const Elf64_Shdr *section;

	if (symbol->st_shndx >= elf->section_count)
		return UINT64_MAX;
	section = &elf->sections[symbol->st_shndx];
	return section->sh_addr + section->sh_size;
}

static void add_symbol(struct seep_symtab *table, const struct seep_elf *elf,
		       const Elf64_Sym *symbol, const char *name)
{
	struct symtab_entry entry = { .address = symbol->st_value,
				      .bytes = symbol->st_size,
				      .name = name };

	if (!name || !is_function(elf, symbol) || is_label_noise(name) ||
	    table->count >= ENTRIES_MAX)
		return;
	entry.order = name_order(symbol, name);
	entry.name_bytes = (uint32_t)strnlen(name, COMPARED_BYTES);
	entry.limit = section_end(elf, symbol);
	*SEEP_APPEND(table->entries, table->count) = entry;
}

void seep_symtab_add(struct seep_symtab *table, const struct seep_elf *elf)
{
	struct seep_elf_symbols symbols = { .elf = elf };

	while (seep_elf_next_symbol(&symbols))
		add_symbol(table, elf, &symbols.symbol, symbols.name);
}

static int compare(const void *a, const void *b)
{
	const struct symtab_entry *x = a;
	const struct symtab_entry *y = b;

	return seep_search_order(x->address, y->address) ?: seep_search_order(x->order, y->order)
		?: seep_search_order(x->name_bytes, y->name_bytes)
		?: memcmp(x->name, y->name, x->name_bytes);
}

/* Leave the best name of each address, with the largest size that any of them had. */
static void drop_aliases(struct seep_symtab *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->count; i++) {
		struct symtab_entry *last = kept ? &table->entries[kept - 1] : NULL;

		if (!last || last->address != table->entries[i].address)
			table->entries[kept++] = table->entries[i];
		else if (last->bytes < table->entries[i].bytes)
			last->bytes = table->entries[i].bytes;
	}
	table->count = kept;
}

void seep_symtab_finish(struct seep_symtab *table)
{
	struct seep_interval_list list = { 0 };
	uint64_t covered = 0; /* up to here by symbols that have a size */

	if (table->count)
		qsort(table->entries, table->count, sizeof(*table->entries), compare);
	drop_aliases(table);
	for (size_t i = 0; i < table->count; i++) {
		const struct symtab_entry *entry = &table->entries[i];
		uint64_t end = entry->address + entry->bytes;

		if (entry->bytes == 0) {
			/* A label inside a function is not a function. */
			if (entry->address < covered)
				continue;
			end = entry->limit;
			if (i + 1 < table->count && table->entries[i + 1].address < end)
				end = table->entries[i + 1].address;
		} else if (end > covered) {
			covered = end;
		}
		seep_interval_add(&list, (struct seep_interval){ .from = entry->address,
								 .to = end,
								 .id = (uint32_t)i });
	}
	seep_segments_build(&table->segments, &list);
}

static void read_name(struct seep_arena *arena, const char *name, struct seep_symtab_name *ret)
{
	size_t name_bytes = strnlen(name, NAME_MAX_BYTES);
	size_t version_at = strcspn(name, "@");
	size_t bytes = seep_name_base_bytes(name);
	const char *base;

	bytes = bytes < version_at ? bytes : version_at;
	bytes = bytes < name_bytes ? bytes : name_bytes;
	base = seep_arena_strndup(arena, name, bytes);
	ret->function = seep_demangle(arena, base);
	if (!ret->function)
		ret->function = base;
	if (strcmp(ret->function, name) != 0)
		ret->linkage = seep_arena_strndup(arena, name, name_bytes);
}

const struct seep_symtab_name *seep_symtab_find(const struct seep_symtab *table,
						struct seep_arena *arena, uint64_t address)
{
	uint32_t id = seep_segments_find(&table->segments, address);
	struct symtab_entry *entry;

	if (id == SEEP_INTERVAL_NONE)
		return NULL;
	entry = &table->entries[id];
	if (!entry->readable.function)
		read_name(arena, entry->name, &entry->readable);
	return &entry->readable;
}

const char *seep_symtab_variable(const struct seep_elf *elf, struct seep_arena *arena,
				 uint64_t address, uint64_t *ret_offset)
{
	struct seep_elf_symbols symbols = { .elf = elf };
	struct seep_symtab_name readable = { 0 };

	while (elf && !readable.function && seep_elf_next_symbol(&symbols)) {
		const Elf64_Sym *symbol = &symbols.symbol;

		if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_shndx == SHN_UNDEF ||
		    address - symbol->st_value >= symbol->st_size || !symbols.name ||
		    !*symbols.name)
			continue;
		*ret_offset = address - symbol->st_value;
		read_name(arena, symbols.name, &readable);
	}
	return readable.function;
}

void seep_symtab_done(struct seep_symtab *table)
{
	free(table->entries);
	seep_segments_done(&table->segments);
	*table = (struct seep_symtab){ 0 };
}
