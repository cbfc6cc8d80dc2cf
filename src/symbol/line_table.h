/* SPDX-License-Identifier: MIT */
/*
 * One unit's line number program, DWARF 2 to 5: address to file and line.
 *
 * Sequences are kept apart: that of a function which the linker dropped then starts at address 0,
 * and sorted together its rows would lie across real code of a shared library.
 */
#ifndef SEEP_SYMBOL_LINE_TABLE_H
#define SEEP_SYMBOL_LINE_TABLE_H

#include "base/arena.h"
#include "symbol/dwarf_file.h"

struct seep_line_table;

struct seep_line_source {
	const struct seep_elf *elf;	 /* says where code is; must outlive the table */
	const struct dwarf_parts *parts; /* of the file that the unit is in; the same */
	uint64_t offset;		 /* DW_AT_stmt_list: into .debug_line */
	const char *unit_dir;		 /* DW_AT_comp_dir, NULL when there is none */
	const char *unit_name;		 /* DW_AT_name, NULL when there is none */
};

/* Never NULL: a damaged program yields the rows before the damage, perhaps none. */
struct seep_line_table *seep_line_table_new(const struct seep_line_source *source,
					    struct seep_arena *arena);

/* NULL is a no-op. Paths stay: they are the arena's. */
void seep_line_table_free(struct seep_line_table *table);

/*
 * The path and line of the row that covers @address; @ret_line may be 0: code of no line. NULL, and
 * @ret_line is left: there is no row; NULL alone: its file has no name.
 */
const char *seep_line_table_find(struct seep_line_table *table, uint64_t address,
				 uint32_t *ret_line);

/* There is at least one file, which may be one of no name. */
bool seep_line_table_has_files(const struct seep_line_table *table);

/**
 * seep_line_table_path - the path of a file number, of a row or of DW_AT_call_file
 *
 * Made absolute with the unit's directory where possible, without "." and ".." components.
 * Computed once per file. NULL when there is no such file.
 */
const char *seep_line_table_path(struct seep_line_table *table, uint64_t file);

#endif
