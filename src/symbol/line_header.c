/* SPDX-License-Identifier: MIT */
#include "symbol/line_parts.h"

#include "base/xalloc.h"
#include "symbol/dwarf_entry.h"

#include <dwarf.h>

enum { FORMATS_MAX = 16 };

static void add_dir(struct seep_line_table *table, const char *dir)
{
	table->dirs = seep_xgrow(table->dirs, &table->dir_room, table->dir_count + 1,
				 sizeof(*table->dirs));
	table->dirs[table->dir_count++] = dir;
}

void line_file_add(struct seep_line_table *table, const char *name, uint64_t dir)
{
	table->files = seep_xgrow(table->files, &table->file_room, table->file_count + 1,
				  sizeof(*table->files));
	table->files[table->file_count++] = (struct line_file){ .name = name, .dir = dir };
}

/* Version 2 to 4: number 0 is the unit's own directory and file, which the list leaves out. */
static void read_old_lists(struct seep_line_table *table, struct byte_reader *header)
{
	const char *text;

	add_dir(table, table->source.unit_dir ? table->source.unit_dir : "");
	line_file_add(table, table->source.unit_name ? table->source.unit_name : "", 0);
	while (*(text = reader_string(header)) != '\0')
		add_dir(table, text);
	while (!header->failed && *(text = reader_string(header)) != '\0') {
		uint64_t dir = reader_uleb(header);

		(void)reader_uleb(header); /* time */
		(void)reader_uleb(header); /* size */
		line_file_add(table, text, dir);
	}
}

/* One of version 5's two lists: of directories, then of files, each described by formats. */
static bool read_new_list(struct seep_line_table *table, const struct line_program *program,
			  struct byte_reader *header, bool is_dirs)
{
	/* Texts are found as a unit's are. What is said by index has no table here. */
	struct dwarf_file file = { .parts = *table->source.parts };
	const struct dwarf_unit unit = { .file = &file,
					 .offset_bytes = program->offset_bytes,
					 .str_offsets_base = UINT64_MAX };
	struct dwarf_attribute formats[FORMATS_MAX] = { 0 };
	size_t format_count = reader_byte(header);
	struct dwarf_value value;
	uint64_t count;
	size_t i;

	if (format_count > FORMATS_MAX)
		return false;
	for (i = 0; i < format_count; i++) {
		formats[i].name = (uint16_t)reader_uleb(header);
		formats[i].form = dwarf_form_of(reader_uleb(header), table->version,
						program->offset_bytes);
	}
	count = reader_uleb(header);
	/* Each entry takes at least a byte: a count beyond that is a lie, which would never end. */
	if (header->failed || (count && !format_count) || count > reader_left(header))
		return false;
	while (count--) {
		const char *name = NULL;
		uint64_t dir = 0;

		for (i = 0; i < format_count; i++) {
			if (!dwarf_value_read(&formats[i], header, &value))
				return false;
			if (formats[i].name == DW_LNCT_path)
				name = dwarf_value_text(&unit, &value);
			else if (formats[i].name == DW_LNCT_directory_index)
				(void)dwarf_value_number(&value, &dir);
		}
		if (is_dirs)
			add_dir(table, name ? name : "");
		else
			line_file_add(table, name ? name : "", dir);
	}
	return true;
}

bool line_header_read(struct seep_line_table *table, struct line_program *program)
{
	const struct seep_elf_bytes section = table->source.parts->at[DWARF_LINE];
	struct byte_reader unit = reader_of(section.data, section.bytes);
	struct byte_reader header;
	uint64_t bytes;
	size_t i;

	(void)reader_skip(&unit, table->source.offset);
	program->address_bytes = 8;
	bytes = reader_length(&unit, &program->offset_bytes);
	if (unit.failed || bytes > reader_left(&unit))
		return false;
	unit.end = unit.at + bytes;
	table->version = (uint16_t)reader_number(&unit, 2);
	if (table->version < 2 || table->version > 5)
		return false;
	if (table->version >= 5) {
		program->address_bytes = reader_byte(&unit);
		(void)reader_byte(&unit); /* segment selector size */
	}
	bytes = reader_number(&unit, program->offset_bytes);
	if (unit.failed || bytes > reader_left(&unit))
		return false;
	header = reader_of(unit.at, bytes);
	program->code = reader_of(unit.at + bytes, reader_left(&unit) - bytes);
	program->min_instruction = reader_byte(&header);
	if (table->version >= 4)
		(void)reader_byte(&header); /* operations per instruction: VLIW machines only */
	(void)reader_byte(&header);	    /* default_is_stmt: every row counts */
	program->line_base = (int8_t)reader_byte(&header);
	program->line_range = reader_byte(&header);
	program->opcode_base = reader_byte(&header);
	for (i = 1; i < program->opcode_base; i++)
		program->operand_count[i] = reader_byte(&header);
	if (header.failed || program->opcode_base == 0)
		return false;
	if (table->version < 5) {
		read_old_lists(table, &header);
		return true;
	}
	return read_new_list(table, program, &header, true) &&
	       read_new_list(table, program, &header, false);
}
