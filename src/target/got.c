/* SPDX-License-Identifier: MIT */
#include "target/got.h"

#include "base/xalloc.h"
#include "core/bits.h"

#include <stdlib.h>
#include <string.h>

enum {
	DYNAMIC_MAX_BYTES = 16 * 1024,
	TABLE_MAX_BYTES = 64 * 1024 * 1024,
	ENTRIES_MAX = 4096,
	CHUNK = 1024, /* relocations read at once */
};

bool seep_got_find_module(struct seep_memory *memory, uint64_t start,
			  struct seep_got_module *ret_module)
{
	struct seep_got_module module = { .memory = memory, .start = start };
	Elf64_Phdr segments[SEEP_MODULE_SEGMENTS_MAX];
	const size_t count = seep_memory_segments(memory, start, segments, &module.bias);
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr h = segments[i];

		if (h.p_type == PT_LOAD) {
			last = core_larger(last, h.p_vaddr + h.p_memsz);
		} else if (h.p_type == PT_DYNAMIC) {
			module.dynamic = module.bias + h.p_vaddr;
			module.dynamic_bytes = core_smaller(h.p_memsz, DYNAMIC_MAX_BYTES);
		}
	}
	module.end = module.bias + last;
	if (start - module.bias >= last || module.end <= start || !module.dynamic_bytes)
		return false;
	*ret_module = module;
	return true;
}

uint64_t seep_got_identity(const struct seep_got_module *module)
{
	uint64_t words[DYNAMIC_MAX_BYTES / sizeof(uint64_t)];
	size_t count = (size_t)(module->dynamic_bytes / sizeof(*words));
	uint64_t hash = module->end - module->start;

	if (!seep_memory_read(module->memory, module->dynamic, words, count * sizeof(*words)))
		return 0;
	/* Addresses as linked: the dynamic linker has added the bias to some. */
	for (size_t i = 0; i < count; i++) {
		uint64_t word = words[i] - module->start < module->end - module->start
					? words[i] - module->bias
					: words[i];

		/* Of the process, not of the file: what DT_DEBUG points to. */
		if (i % 2 && words[i - 1] == DT_DEBUG)
			word = 0;
		hash = core_hash_step(hash, word);
	}
	return hash;
}

/* Values of the dynamic section by tag; addresses of tables are absolute. */
struct tables {
	uint64_t at[DT_NUM];
};

static bool find_tables(const struct seep_got_module *module, struct tables *ret)
{
	static const uint8_t addresses[] = { DT_SYMTAB, DT_RELA, DT_JMPREL, DT_STRTAB };
	Elf64_Dyn dynamic[DYNAMIC_MAX_BYTES / sizeof(Elf64_Dyn)];
	size_t count = (size_t)(module->dynamic_bytes / sizeof(*dynamic));

	if (!seep_memory_read(module->memory, module->dynamic, dynamic, count * sizeof(*dynamic)))
		return false;
	*ret = (struct tables){ 0 };
	for (size_t i = 0; i < count && dynamic[i].d_tag != DT_NULL; i++)
		if (dynamic[i].d_tag > 0 && dynamic[i].d_tag < DT_NUM)
			ret->at[dynamic[i].d_tag] = dynamic[i].d_un.d_val;
	if (!ret->at[DT_SYMTAB] || !ret->at[DT_STRTAB] || !ret->at[DT_STRSZ])
		return false;
	/* Some are addresses already, some still as linked. */
	for (size_t i = 0; i < sizeof(addresses); i++)
		if (ret->at[addresses[i]] < module->bias)
			ret->at[addresses[i]] += module->bias;
	return ret->at[DT_STRSZ] <= TABLE_MAX_BYTES && ret->at[DT_RELASZ] <= TABLE_MAX_BYTES &&
	       ret->at[DT_PLTRELSZ] <= TABLE_MAX_BYTES;
}

/* Of one relocation, when it is of an allocation function. */
static void add_entry(const struct seep_got_module *module, const struct tables *tables,
		      const char *names, const Elf64_Rela *rela, struct seep_got *got)
{
	uint64_t type = ELF64_R_TYPE(rela->r_info);
	const struct seep_allocation_function *function;
	Elf64_Sym symbol;

	if ((type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT) || got->count >= ENTRIES_MAX)
		return;
	if (!seep_memory_read(module->memory,
			      tables->at[DT_SYMTAB] + ELF64_R_SYM(rela->r_info) * sizeof(symbol),
			      &symbol, sizeof(symbol)) ||
	    symbol.st_name >= tables->at[DT_STRSZ])
		return;
	function = seep_allocation_function(names + symbol.st_name);
	if (!function)
		return;
	*SEEP_APPEND(got->items, got->count) = (struct seep_got_entry){
		.address = rela->r_offset,
		.may_be_lazy = type == R_X86_64_JUMP_SLOT,
		.function = function,
	};
}

static void read_relocations(const struct seep_got_module *module, const struct tables *tables,
			     const char *names, uint64_t at, uint64_t bytes, struct seep_got *got)
{
	Elf64_Rela chunk[CHUNK];

	for (uint64_t left = bytes / sizeof(*chunk); left > 0;) {
		size_t count = left < CHUNK ? (size_t)left : CHUNK;

		if (!seep_memory_read(module->memory, at, chunk, count * sizeof(*chunk)))
			return;
		for (size_t i = 0; i < count; i++)
			add_entry(module, tables, names, &chunk[i], got);
		at += count * sizeof(*chunk);
		left -= count;
	}
}

void seep_got_read(const struct seep_got_module *module, struct seep_got *ret_got)
{
	struct tables tables;
	char *names;

	*ret_got = (struct seep_got){ 0 };
	if (!find_tables(module, &tables))
		return;
	names = seep_xcalloc((size_t)tables.at[DT_STRSZ] + 1, 1);
	if (seep_memory_read(module->memory, tables.at[DT_STRTAB], names, tables.at[DT_STRSZ])) {
		read_relocations(module, &tables, names, tables.at[DT_RELA], tables.at[DT_RELASZ],
				 ret_got);
		read_relocations(module, &tables, names, tables.at[DT_JMPREL],
				 tables.at[DT_PLTRELSZ], ret_got);
	}
	free(names);
}
