/* SPDX-License-Identifier: MIT */
#include "target/slots.h"

#include "base/xalloc.h"
#include "core/bits.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PROGRAM_HEADERS_MAX = 64,
	DYNAMIC_MAX_BYTES = 16 * 1024,
	TABLE_MAX_BYTES = 64 * 1024 * 1024,
	NAME_MAX_BYTES = 256,
	SLOTS_MAX = 4096,
	CHUNK = 1024, /* relocations read at once */
};

bool seep_slots_peek(int memory_fd, uint64_t address, void *to, size_t bytes)
{
	unsigned char *at = to;

	while (bytes > 0) {
		ssize_t got = pread(memory_fd, at, bytes, (off_t)address);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		address += (uint64_t)got;
		bytes -= (size_t)got;
	}
	return true;
}

/* ---- the module ---------------------------------------------------------------------------- */

static bool read_program_headers(int fd, uint64_t start, Elf64_Phdr *headers, size_t *ret_count)
{
	Elf64_Ehdr ehdr;

	if (!seep_slots_peek(fd, start, &ehdr, sizeof(ehdr)) ||
	    memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_phentsize != sizeof(Elf64_Phdr) || ehdr.e_phnum == 0 ||
	    ehdr.e_phnum > PROGRAM_HEADERS_MAX || ehdr.e_phoff > TABLE_MAX_BYTES)
		return false;
	*ret_count = ehdr.e_phnum;
	return seep_slots_peek(fd, start + ehdr.e_phoff, headers, ehdr.e_phnum * sizeof(*headers));
}

bool seep_slots_find_module(int memory_fd, uint64_t start, struct seep_slots_module *ret_module)
{
	struct seep_slots_module module = { .memory_fd = memory_fd, .start = start };
	uint64_t first = UINT64_MAX, last = 0;
	Elf64_Phdr headers[PROGRAM_HEADERS_MAX];
	size_t count;

	if (!read_program_headers(memory_fd, start, headers, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr *h = &headers[i];

		if (h->p_type == PT_LOAD) {
			if (first == UINT64_MAX)
				first = h->p_vaddr & ~(uint64_t)4095;
			if (h->p_vaddr + h->p_memsz > last)
				last = h->p_vaddr + h->p_memsz;
		} else if (h->p_type == PT_DYNAMIC) {
			module.dynamic = h->p_vaddr;
			module.dynamic_bytes = h->p_memsz;
		}
	}
	if (first >= last || !module.dynamic_bytes)
		return false;
	module.bias = start - first;
	module.end = module.bias + last;
	module.dynamic += module.bias;
	if (module.end <= start)
		return false;
	if (module.dynamic_bytes > DYNAMIC_MAX_BYTES)
		module.dynamic_bytes = DYNAMIC_MAX_BYTES;
	*ret_module = module;
	return true;
}

uint64_t seep_slots_identity(const struct seep_slots_module *module)
{
	uint64_t words[DYNAMIC_MAX_BYTES / sizeof(uint64_t)];
	size_t count = (size_t)(module->dynamic_bytes / sizeof(*words));
	uint64_t hash = module->end - module->start;

	if (!seep_slots_peek(module->memory_fd, module->dynamic, words, count * sizeof(*words)))
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

/* ---- names --------------------------------------------------------------------------------- */

static const char *const malloc_names[] = {
	"malloc",   "calloc",	      "realloc",       "reallocarray", "free",
	"memalign", "posix_memalign", "aligned_alloc", "valloc",       "pvalloc",
};

/* What allocates under a name of its own, in the C library and in well-known allocators. */
static const char *const private_names[] = {
	"__libc_malloc",  "__libc_calloc",   "__libc_realloc", "__libc_memalign",
	"__libc_valloc",  "__libc_pvalloc",  "mallocx",	       "rallocx",
	"je_malloc",	  "je_calloc",	     "je_realloc",     "_rjem_malloc",
	"_rjem_mallocx",  "_rjem_calloc",    "tc_malloc",      "tc_calloc",
	"tc_realloc",	  "tc_new",	     "tc_newarray",    "mi_malloc",
	"mi_calloc",	  "mi_realloc",	     "mi_new",	       "mi_heap_malloc",
	"mi_zalloc",	  "mi_malloc_small", "GC_malloc",      "GC_malloc_atomic",
	"GC_malloc_kind", "GC_debug_malloc", "GC_realloc",     "GC_malloc_uncollectable",
	"GC_memalign",	  "rpmalloc",	     "rpcalloc",
};

static bool is_among(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* As in the Itanium C++ ABI, 5.1.5: nw, na, dl, da. Of a class they begin with _ZN. */
static bool is_operator(const char *name)
{
	return strncmp(name, "_Znw", 4) == 0 || strncmp(name, "_Zna", 4) == 0 ||
	       strncmp(name, "_Zdl", 4) == 0 || strncmp(name, "_Zda", 4) == 0;
}

static bool kind_of(const char *name, enum seep_binding_kind *ret_kind)
{
	if (is_among(name, malloc_names, sizeof(malloc_names) / sizeof(malloc_names[0])))
		*ret_kind = SEEP_BINDING_MALLOC;
	else if (is_operator(name))
		*ret_kind = SEEP_BINDING_OPERATORS;
	else if (is_among(name, private_names, sizeof(private_names) / sizeof(private_names[0])))
		*ret_kind = SEEP_BINDING_PRIVATE;
	else
		return false;
	return true;
}

/* ---- relocations --------------------------------------------------------------------------- */

struct tables {
	uint64_t symbols;
	uint64_t rela, rela_bytes;
	uint64_t jump, jump_bytes;
	uint64_t names, names_bytes;
};

/* Some are addresses already, some still as linked. */
static uint64_t absolute(const struct seep_slots_module *module, uint64_t value)
{
	return value < module->bias ? value + module->bias : value;
}

static bool find_tables(const struct seep_slots_module *module, struct tables *ret)
{
	Elf64_Dyn dynamic[DYNAMIC_MAX_BYTES / sizeof(Elf64_Dyn)];
	size_t count = (size_t)(module->dynamic_bytes / sizeof(*dynamic));

	*ret = (struct tables){ 0 };
	if (!seep_slots_peek(module->memory_fd, module->dynamic, dynamic, count * sizeof(*dynamic)))
		return false;
	for (size_t i = 0; i < count && dynamic[i].d_tag != DT_NULL; i++) {
		uint64_t value = dynamic[i].d_un.d_val;

		switch (dynamic[i].d_tag) {
		case DT_SYMTAB:
			ret->symbols = absolute(module, value);
			break;
		case DT_STRTAB:
			ret->names = absolute(module, value);
			break;
		case DT_STRSZ:
			ret->names_bytes = value;
			break;
		case DT_RELA:
			ret->rela = absolute(module, value);
			break;
		case DT_RELASZ:
			ret->rela_bytes = value;
			break;
		case DT_JMPREL:
			ret->jump = absolute(module, value);
			break;
		case DT_PLTRELSZ:
			ret->jump_bytes = value;
			break;
		default:
			break;
		}
	}
	return ret->symbols && ret->names && ret->names_bytes &&
	       ret->names_bytes <= TABLE_MAX_BYTES && ret->rela_bytes <= TABLE_MAX_BYTES &&
	       ret->jump_bytes <= TABLE_MAX_BYTES;
}

static void add_relocation(const struct seep_slots_module *module, const struct tables *tables,
			   const Elf64_Rela *rela, struct seep_slots *slots)
{
	uint64_t type = ELF64_R_TYPE(rela->r_info);
	enum seep_binding_kind kind;
	const char *name;
	Elf64_Sym symbol;

	if ((type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT) || slots->count >= SLOTS_MAX)
		return;
	if (!seep_slots_peek(module->memory_fd,
			     tables->symbols + ELF64_R_SYM(rela->r_info) * sizeof(symbol), &symbol,
			     sizeof(symbol)) ||
	    symbol.st_name >= tables->names_bytes)
		return;
	name = slots->names + symbol.st_name;
	if (!kind_of(name, &kind))
		return;
	slots->items = seep_xgrow(slots->items, &slots->capacity, slots->count + 1,
				  sizeof(*slots->items));
	slots->items[slots->count++] = (struct seep_slot){
		.address = rela->r_offset,
		.may_be_lazy = type == R_X86_64_JUMP_SLOT,
		.kind = kind,
		.name = name,
	};
}

static void read_relocations(const struct seep_slots_module *module, const struct tables *tables,
			     uint64_t at, uint64_t bytes, struct seep_slots *slots)
{
	Elf64_Rela chunk[CHUNK];

	for (uint64_t left = bytes / sizeof(*chunk); left > 0;) {
		size_t count = left < CHUNK ? (size_t)left : CHUNK;

		if (!seep_slots_peek(module->memory_fd, at, chunk, count * sizeof(*chunk)))
			return;
		for (size_t i = 0; i < count; i++)
			add_relocation(module, tables, &chunk[i], slots);
		at += count * sizeof(*chunk);
		left -= count;
	}
}

/* Names that are kept are few; the table that they stand in may be large. */
static void keep_names(struct seep_slots *slots)
{
	char *names = seep_xcalloc(slots->count + 1, NAME_MAX_BYTES);

	for (size_t i = 0; i < slots->count; i++) {
		char *name = names + i * NAME_MAX_BYTES;

		memcpy(name, slots->items[i].name,
		       strnlen(slots->items[i].name, NAME_MAX_BYTES - 1));
		slots->items[i].name = name;
	}
	free(slots->names);
	slots->names = names;
}

void seep_slots_read(const struct seep_slots_module *module, struct seep_slots *ret_slots)
{
	struct tables tables;

	*ret_slots = (struct seep_slots){ 0 };
	if (!find_tables(module, &tables))
		return;
	ret_slots->names = seep_xcalloc((size_t)tables.names_bytes + 1, 1);
	if (seep_slots_peek(module->memory_fd, tables.names, ret_slots->names,
			    (size_t)tables.names_bytes)) {
		read_relocations(module, &tables, tables.rela, tables.rela_bytes, ret_slots);
		read_relocations(module, &tables, tables.jump, tables.jump_bytes, ret_slots);
	}
	keep_names(ret_slots);
}

void seep_slots_done(struct seep_slots *slots)
{
	free(slots->items);
	free(slots->names);
	*slots = (struct seep_slots){ 0 };
}
