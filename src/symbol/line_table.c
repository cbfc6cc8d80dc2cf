/* SPDX-License-Identifier: MIT */
#include "symbol/line_table.h"

#include "base/path.h"
#include "base/search.h"
#include "base/strbuf.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "core/reader.h"
#include "symbol/dwarf_entry.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPCODES_MAX = 256,
	FORMATS_MAX = 16,
	PATH_MAX_BYTES = 16 << 10, /* longer than any path the system would open */
};

struct row {
	uint64_t address;
	uint32_t file;
	uint32_t line;
};

/* Rows of ascending address, of which the first is at from. */
struct sequence {
	uint64_t from;
	uint64_t to;
	size_t first;
	size_t count;
};

struct file {
	const char *name;
	uint64_t dir;
	const char *path; /* NULL until asked for */
};

struct seep_line_table {
	struct seep_line_source source;
	struct seep_arena *arena;
	uint16_t version;
	struct row *rows;
	size_t row_count;
	struct sequence *sequences; /* ascending by from */
	size_t sequence_count;
	const char **dirs;
	size_t dir_count;
	struct file *files;
	size_t file_count;
};

/* What the header says about the program. */
struct program {
	struct core_reader code;
	uint8_t offset_bytes; /* 4 or 8: 32-bit or 64-bit DWARF */
	uint8_t min_instruction;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	uint8_t operand_count[OPCODES_MAX];
};

static void add_file(struct seep_line_table *table, const char *name, uint64_t dir)
{
	*SEEP_APPEND(table->files, table->file_count) = (struct file){ .name = name, .dir = dir };
}

/* Version 2 to 4: number 0 is the unit's own directory and file, which the list leaves out. */
static void read_old_lists(struct seep_line_table *table, struct core_reader *header)
{
	const char *text = table->source.unit_dir;

	*SEEP_APPEND(table->dirs, table->dir_count) = text ? text : "";
	add_file(table, table->source.unit_name ? table->source.unit_name : "", 0);
	while (*(text = core_read_string(header)) != '\0' && !seep_work_is_over())
		*SEEP_APPEND(table->dirs, table->dir_count) = text;
	while (!header->failed && *(text = core_read_string(header)) != '\0' &&
	       !seep_work_is_over()) {
		uint64_t dir = core_read_uleb(header);

		(void)core_read_uleb(header); /* time */
		(void)core_read_uleb(header); /* size */
		add_file(table, text, dir);
	}
}

/* One of version 5's two lists: of directories, then of files, each described by formats. */
static bool read_new_list(struct seep_line_table *table, const struct program *program,
			  struct core_reader *header, bool is_dirs)
{
	/* Texts are found as a unit's are. What is said by index has no table here. */
	struct dwarf_file file = { .parts = *table->source.parts };
	const struct dwarf_unit unit = { .file = &file,
					 .offset_bytes = program->offset_bytes,
					 .str_offsets_base = UINT64_MAX };
	struct dwarf_attribute formats[FORMATS_MAX] = { 0 };
	size_t format_count = core_read_byte(header);
	struct dwarf_value value;
	uint64_t count;

	if (format_count > FORMATS_MAX)
		return false;
	for (size_t i = 0; i < format_count; i++) {
		formats[i].name = (uint16_t)core_read_uleb(header);
		formats[i].form = dwarf_form_of(core_read_uleb(header), table->version,
						program->offset_bytes);
	}
	count = core_read_uleb(header);
	/* Each entry takes at least a byte: a count beyond that is a lie, which would never end. */
	if (header->failed || (count && !format_count) || count > core_reader_left(header))
		return false;
	while (count-- && !seep_work_is_over()) {
		const char *name = NULL;
		uint64_t dir = 0;

		for (size_t i = 0; i < format_count; i++) {
			if (!dwarf_value_read(&formats[i], header, &value))
				return false;
			if (formats[i].name == DW_LNCT_path)
				name = dwarf_value_text(&unit, &value);
			else if (formats[i].name == DW_LNCT_directory_index)
				(void)dwarf_value_number(&value, &dir);
		}
		if (is_dirs)
			*SEEP_APPEND(table->dirs, table->dir_count) = name ? name : "";
		else
			add_file(table, name ? name : "", dir);
	}
	return true;
}

/* False: the header is damaged, or of an unknown version. */
static bool read_header(struct seep_line_table *table, struct program *program)
{
	const struct seep_elf_bytes section = table->source.parts->at[DWARF_LINE];
	struct core_reader unit = core_reader_of(section.data, section.bytes);
	struct core_reader header;
	uint64_t bytes;

	(void)core_read_skip(&unit, table->source.offset);
	bytes = core_read_length(&unit, &program->offset_bytes);
	if (unit.failed || bytes > core_reader_left(&unit))
		return false;
	unit.end = unit.at + bytes;
	table->version = (uint16_t)core_read_number(&unit, 2);
	if (table->version < 2 || table->version > 5)
		return false;
	if (table->version >= 5) {
		(void)core_read_byte(&unit); /* address size */
		(void)core_read_byte(&unit); /* segment selector size */
	}
	bytes = core_read_number(&unit, program->offset_bytes);
	if (unit.failed || bytes > core_reader_left(&unit))
		return false;
	header = core_reader_of(unit.at, bytes);
	program->code = core_reader_of(unit.at + bytes, core_reader_left(&unit) - bytes);
	program->min_instruction = core_read_byte(&header);
	if (table->version >= 4)
		(void)core_read_byte(&header); /* operations per instruction: VLIW machines only */
	(void)core_read_byte(&header);	       /* default_is_stmt: every row counts */
	program->line_base = (int8_t)core_read_byte(&header);
	program->line_range = core_read_byte(&header);
	program->opcode_base = core_read_byte(&header);
	for (size_t i = 1; i < program->opcode_base; i++)
		program->operand_count[i] = core_read_byte(&header);
	if (header.failed || program->opcode_base == 0)
		return false;
	if (table->version < 5) {
		read_old_lists(table, &header);
		return true;
	}
	return read_new_list(table, program, &header, true) &&
	       read_new_list(table, program, &header, false);
}

/* The state machine's registers that matter here. */
struct registers {
	uint64_t address;
	uint32_t file;
	uint32_t line;
	bool open; /* a sequence has rows */
};

static struct sequence *last_sequence(struct seep_line_table *table)
{
	return &table->sequences[table->sequence_count - 1];
}

static void add_row(struct seep_line_table *table, struct registers *regs)
{
	struct row row = { .address = regs->address, .file = regs->file, .line = regs->line };
	struct row *last;

	if (!regs->open)
		*SEEP_APPEND(table->sequences, table->sequence_count) =
			(struct sequence){ .from = regs->address, .first = table->row_count };
	regs->open = true;
	if (table->row_count > last_sequence(table)->first) {
		last = &table->rows[table->row_count - 1];
		/* Of several rows for one address the last describes it; backward is damage. */
		if (row.address < last->address)
			return;
		if (row.address == last->address) {
			*last = row;
			return;
		}
		if (row.file == last->file && row.line == last->line)
			return;
	}
	*SEEP_APPEND(table->rows, table->row_count) = row;
}

/* A sequence of code that the linker dropped starts at 0 or -1, where no code is. */
static void end_sequence(struct seep_line_table *table, const struct registers *regs)
{
	struct sequence *sequence;

	if (!regs->open)
		return;
	sequence = last_sequence(table);
	sequence->to = regs->address;
	sequence->count = table->row_count - sequence->first;
	if (sequence->to > sequence->from && seep_elf_is_code(table->source.elf, sequence->from))
		return;
	table->row_count = sequence->first;
	table->sequence_count--;
}

static const struct registers registers_at_start = { .file = 1, .line = 1 };

static void run_extended(struct seep_line_table *table, struct program *program,
			 struct registers *regs)
{
	uint64_t bytes = core_read_uleb(&program->code);
	struct core_reader body = program->code;

	if (!core_read_skip(&program->code, bytes) || bytes == 0)
		return;
	body.end = program->code.at;
	switch (core_read_byte(&body)) {
	case DW_LNE_end_sequence:
		end_sequence(table, regs);
		*regs = registers_at_start;
		break;
	case DW_LNE_set_address:
		regs->address = core_read_number(&body, core_reader_left(&body));
		break;
	case DW_LNE_define_file: {
		const char *name = core_read_string(&body);

		add_file(table, name, core_read_uleb(&body));
		break;
	}
	default:
		break;
	}
}

static void run_standard(struct seep_line_table *table, struct program *program,
			 struct registers *regs, uint8_t opcode)
{
	switch (opcode) {
	case DW_LNS_copy:
		add_row(table, regs);
		break;
	case DW_LNS_advance_pc:
		regs->address += core_read_uleb(&program->code) * program->min_instruction;
		break;
	case DW_LNS_advance_line:
		regs->line += (uint32_t)core_read_sleb(&program->code);
		break;
	case DW_LNS_set_file:
		regs->file = (uint32_t)core_read_uleb(&program->code);
		break;
	case DW_LNS_const_add_pc:
		if (program->line_range)
			regs->address +=
				(uint64_t)((255 - program->opcode_base) / program->line_range) *
				program->min_instruction;
		break;
	case DW_LNS_fixed_advance_pc:
		regs->address += core_read_number(&program->code, 2);
		break;
	default:
		for (size_t i = 0; i < program->operand_count[opcode]; i++)
			(void)core_read_uleb(&program->code);
		break;
	}
}

static void run_special(struct seep_line_table *table, const struct program *program,
			struct registers *regs, uint8_t opcode)
{
	unsigned int adjusted = (unsigned int)opcode - program->opcode_base;

	if (program->line_range) {
		regs->address += (uint64_t)(adjusted / program->line_range) *
				 program->min_instruction;
		regs->line +=
			(uint32_t)(program->line_base + (int)(adjusted % program->line_range));
	}
	add_row(table, regs);
}

/* Append rows and sequences, the latter in the order of the program, up to damage. */
static void run_program(struct seep_line_table *table, struct program *program)
{
	struct registers regs = registers_at_start;

	while (!program->code.failed && core_reader_left(&program->code) && !seep_work_is_over()) {
		uint8_t opcode = core_read_byte(&program->code);

		if (opcode >= program->opcode_base)
			run_special(table, program, &regs, opcode);
		else if (opcode == 0)
			run_extended(table, program, &regs);
		else
			run_standard(table, program, &regs, opcode);
	}
	/* Without its end a sequence covers up to its last row. */
	end_sequence(table, &regs);
}

static int compare_sequences(const void *a, const void *b)
{
	const struct sequence *x = a;
	const struct sequence *y = b;

	return seep_search_order(x->from, y->from) ?: seep_search_order(x->first, y->first);
}

struct seep_line_table *seep_line_table_new(const struct seep_line_source *source,
					    struct seep_arena *arena)
{
	struct seep_line_table *table = seep_xcalloc(1, sizeof(*table));
	struct program program = { 0 };

	table->source = *source;
	table->arena = arena;
	if (read_header(table, &program))
		run_program(table, &program);
	if (table->sequence_count)
		qsort(table->sequences, table->sequence_count, sizeof(*table->sequences),
		      compare_sequences);
	if (table->row_count)
		table->rows = seep_xrealloc(table->rows, table->row_count, sizeof(struct row));
	return table;
}

void seep_line_table_free(struct seep_line_table *table)
{
	if (!table)
		return;
	free(table->rows);
	free(table->sequences);
	free(table->dirs);
	free(table->files);
	free(table);
}

/* Sequences do not overlap in honest files; a few steps back forgive those that touch. */
static const struct sequence *find_sequence(const struct seep_line_table *table, uint64_t address)
{
	size_t low = seep_search_upto(table->sequences, table->sequence_count,
				      sizeof(*table->sequences), address);
	size_t steps;

	for (steps = 0; low-- > 0 && steps < 16; steps++)
		if (address < table->sequences[low].to)
			return &table->sequences[low];
	return NULL;
}

const char *seep_line_table_find(struct seep_line_table *table, uint64_t address,
				 uint32_t *ret_line)
{
	const struct sequence *sequence = find_sequence(table, address);
	const struct row *rows;
	size_t count;

	if (!sequence || !sequence->count)
		return NULL;
	rows = table->rows + sequence->first;
	/* The first row is at or before the address. */
	count = seep_search_upto(rows, sequence->count, sizeof(*rows), address);
	*ret_line = rows[count - 1].line;
	return seep_line_table_path(table, rows[count - 1].file);
}

static const char *make_path(struct seep_line_table *table, const struct file *file)
{
	/* Directory 0 is the unit's own. */
	const char *const parts[] = {
		file->dir != 0 ? table->source.unit_dir : NULL,
		file->dir < table->dir_count ? table->dirs[file->dir] : NULL,
		file->name,
	};
	SEEP_STRBUF(path, PATH_MAX_BYTES);
	SEEP_FREED char *normal = NULL;

	if (*file->name == '\0')
		return NULL;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!parts[i] || *parts[i] == '\0')
			continue;
		if (*parts[i] == '/')
			seep_strbuf_clear(&path);
		seep_strbuf_adds(&path, parts[i]);
		seep_strbuf_addc(&path, '/');
	}
	normal = seep_path_normal(path.text);
	return seep_arena_strndup(table->arena, normal, strlen(normal));
}

bool seep_line_table_has_files(const struct seep_line_table *table)
{
	return table->file_count > 0;
}

const char *seep_line_table_path(struct seep_line_table *table, uint64_t file)
{
	if (file >= table->file_count)
		return NULL;
	if (!table->files[file].path)
		table->files[file].path = make_path(table, &table->files[file]);
	return table->files[file].path;
}
