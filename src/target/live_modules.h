/* SPDX-License-Identifier: MIT */
/*
 * The modules of a running process as its memory has them: which its loader knows, their symbols and unwind
 * tables, read from the process and bounded, whatever its files are by now.
 */
#ifndef SEEP_TARGET_LIVE_MODULES_H
#define SEEP_TARGET_LIVE_MODULES_H

#include "base/maps.h"
#include "cfi/cfi.h"
#include "target/remote_memory.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SEEP_LIVE_DYNAMIC_MAX_BYTES = 16 << 10,
	/* Of a dynamic section's values: those that are numbered from 0, and one more. */
	SEEP_LIVE_GNU_HASH = DT_NUM,
	SEEP_LIVE_TABLES,
};

struct seep_live_module {
	uint64_t start, end, bias;
	const char *path; /* as in the maps; "[vdso]" */
	/* As the loader knows them: copies, and namespaces of their own (dlmopen(3)), are none of these. */
	bool is_program, is_libc, is_loader, is_ours;
	bool is_allocator; /* it defines malloc, and is not the C library */
	uint64_t dynamic, dynamic_bytes;
	uint64_t tables_at, tables_end; /* of the segment with .eh_frame_hdr; 0: none */
	uint64_t tables_hdr;
	/* Its executable segment, and the end of the last page: room for code of others. */
	uint64_t code_begin, code_end, page_end;

	/* When they were asked for. */
	bool has_symbols, has_tables;
	Elf64_Sym *symbols;
	size_t symbol_count;
	char *names;
	uint64_t name_bytes;
	uint8_t *tables; /* a copy; NULL: none could be read */
};

struct seep_live_modules {
	pid_t pid;
	struct seep_memory *memory;
	struct seep_maps maps;
	struct seep_live_module *items; /* by address; what is mapped only to be read is none */
	size_t count;
	bool lacks_vdso; /* it was given one, and has unmapped it */
};

/* Zeroed storage is empty; release with _done(). Returns: 0, or as seep_maps_read(). */
SEEP_NODISCARD int seep_live_modules_read(pid_t pid, struct seep_live_modules *ret_modules,
					  struct seep_error *err);
void seep_live_modules_done(struct seep_live_modules *modules);

/* The module that @address lies in; NULL: none. */
struct seep_live_module *seep_live_module_at(const struct seep_live_modules *modules,
					     uint64_t address);

/*
 * Values of its dynamic section by tag, 0 for those that it lacks; what is known to be an address is
 * one. False: it cannot be read, or has no dynamic symbols.
 */
bool seep_live_dynamic(const struct seep_live_modules *modules,
		       const struct seep_live_module *module,
		       uint64_t ret_tables[SEEP_LIVE_TABLES]);

/* Read its dynamic symbols; there may be none. */
void seep_live_symbols(const struct seep_live_modules *modules, struct seep_live_module *module);

/* A defined symbol; NULL: there is none. _at(): the one whose extent @address lies in, once they were read. */
const Elf64_Sym *seep_live_symbol(const struct seep_live_modules *modules,
				  struct seep_live_module *module, const char *name);
const Elf64_Sym *seep_live_symbol_at(const struct seep_live_module *module, uint64_t address);
const char *seep_live_symbol_name(const struct seep_live_module *module, const Elf64_Sym *symbol);

/* Copy its unwind tables; they may be none. */
void seep_live_tables(const struct seep_live_modules *modules, struct seep_live_module *module);

/* The rule for @pc in @module, as cfi_compile(); the tables were copied. */
enum cfi_result seep_live_rule(const struct seep_live_module *module, uint64_t pc, bool exact_pc,
			       struct cfi_rule *ret_rule);

#endif
