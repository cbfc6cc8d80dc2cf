/* SPDX-License-Identifier: MIT */
#include "symbol/line_parts.h"

#include "base/xalloc.h"

#include <dwarf.h>

/* The state machine's registers that matter here. */
struct registers {
	uint64_t address;
	uint32_t file;
	uint32_t line;
	bool open; /* a sequence has rows */
};

static struct line_sequence *last_sequence(struct seep_line_table *table)
{
	return &table->sequences[table->sequence_count - 1];
}

static void open_sequence(struct seep_line_table *table, struct registers *regs)
{
	table->sequences = seep_xgrow(table->sequences, &table->sequence_room,
				      table->sequence_count + 1, sizeof(*table->sequences));
	table->sequences[table->sequence_count++] =
		(struct line_sequence){ .from = regs->address, .first = table->row_count };
	regs->open = true;
}

static void add_row(struct seep_line_table *table, struct registers *regs)
{
	struct line_row row = { .address = regs->address, .file = regs->file, .line = regs->line };
	struct line_row *last;

	if (!regs->open)
		open_sequence(table, regs);
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
	table->rows = seep_xgrow(table->rows, &table->row_room, table->row_count + 1,
				 sizeof(*table->rows));
	table->rows[table->row_count++] = row;
}

/* A sequence of code that the linker dropped starts at 0 or -1, where no code is. */
static void end_sequence(struct seep_line_table *table, const struct registers *regs)
{
	struct line_sequence *sequence;

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

static void run_extended(struct seep_line_table *table, struct line_program *program,
			 struct registers *regs)
{
	uint64_t bytes = reader_uleb(&program->code);
	struct byte_reader body = program->code;

	if (!reader_skip(&program->code, bytes) || bytes == 0)
		return;
	body.end = program->code.at;
	switch (reader_byte(&body)) {
	case DW_LNE_end_sequence:
		end_sequence(table, regs);
		*regs = registers_at_start;
		break;
	case DW_LNE_set_address:
		regs->address = reader_number(&body, reader_left(&body));
		break;
	case DW_LNE_define_file: {
		const char *name = reader_string(&body);

		line_file_add(table, name, reader_uleb(&body));
		break;
	}
	default:
		break;
	}
}

static void run_standard(struct seep_line_table *table, struct line_program *program,
			 struct registers *regs, uint8_t opcode)
{
	size_t i;

	switch (opcode) {
	case DW_LNS_copy:
		add_row(table, regs);
		break;
	case DW_LNS_advance_pc:
		regs->address += reader_uleb(&program->code) * program->min_instruction;
		break;
	case DW_LNS_advance_line:
		regs->line += (uint32_t)reader_sleb(&program->code);
		break;
	case DW_LNS_set_file:
		regs->file = (uint32_t)reader_uleb(&program->code);
		break;
	case DW_LNS_const_add_pc:
		if (program->line_range)
			regs->address +=
				(uint64_t)((255 - program->opcode_base) / program->line_range) *
				program->min_instruction;
		break;
	case DW_LNS_fixed_advance_pc:
		regs->address += reader_number(&program->code, 2);
		break;
	default:
		for (i = 0; i < program->operand_count[opcode]; i++)
			(void)reader_uleb(&program->code);
		break;
	}
}

static void run_special(struct seep_line_table *table, const struct line_program *program,
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

void line_program_run(struct seep_line_table *table, struct line_program *program)
{
	struct registers regs = registers_at_start;

	while (!program->code.failed && reader_left(&program->code)) {
		uint8_t opcode = reader_byte(&program->code);

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
