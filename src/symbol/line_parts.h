/* SPDX-License-Identifier: MIT */
/*
 * A line table from the inside: line_header.c reads what a unit says about its program and files,
 * line_program.c runs the program into rows, line_table.c answers from them.
 */
#ifndef SEEP_SYMBOL_LINE_PARTS_H
#define SEEP_SYMBOL_LINE_PARTS_H

#include "symbol/byte_reader.h"
#include "symbol/line_table.h"

enum { LINE_OPCODES_MAX = 256 };

struct line_row {
	uint64_t address;
	uint32_t file;
	uint32_t line;
};

/* Rows of ascending address, of which the first is at from. */
struct line_sequence {
	uint64_t from;
	uint64_t to;
	size_t first;
	size_t count;
};

struct line_file {
	const char *name;
	uint64_t dir;
	const char *path; /* NULL until asked for */
};

struct seep_line_table {
	struct seep_line_source source;
	struct seep_arena *arena;
	uint16_t version;
	struct line_row *rows;
	size_t row_count;
	size_t row_room;
	struct line_sequence *sequences; /* ascending by from */
	size_t sequence_count;
	size_t sequence_room;
	const char **dirs;
	size_t dir_count;
	size_t dir_room;
	struct line_file *files;
	size_t file_count;
	size_t file_room;
};

/* What the header says about the program. */
struct line_program {
	struct byte_reader code;
	uint8_t address_bytes;
	uint8_t offset_bytes; /* 4 or 8: 32-bit or 64-bit DWARF */
	uint8_t min_instruction;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	uint8_t operand_count[LINE_OPCODES_MAX];
};

/* False: the header is damaged, or of an unknown version; @program may be half filled. */
bool line_header_read(struct seep_line_table *table, struct line_program *program);

/* A file number more. @name is borrowed; @dir is an index of table->dirs, not yet checked. */
void line_file_add(struct seep_line_table *table, const char *name, uint64_t dir);

/* Append rows and sequences, the latter in the order of the program, up to damage. */
void line_program_run(struct seep_line_table *table, struct line_program *program);

#endif
