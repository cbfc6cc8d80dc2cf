/* SPDX-License-Identifier: MIT */
/* docs/internals/ledger.md describes the ledger byte by byte: its offsets and sizes are true. */
#include "unit.h"

#include "base/file.h"
#include "ledger/ledger.h"
#include "ledger/ledger_blocks.h"
#include "ledger/ledger_facts.h"
#include "ledger/ledger_scope.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENT_BYTES_MAX = 1 << 20, NODE_ADDRESS_BYTES = 6 };

struct field {
	const char *type;
	const char *name;
	size_t offset;
	size_t bytes;
};

#define FIELD(type, name)                                                    \
	{                                                                    \
		"struct " #type, "`" #name "`", offsetof(struct type, name), \
			sizeof(((struct type *)0)->name)                     \
	}

static const struct field fields[] = {
	FIELD(ledger_header, magic),
	FIELD(ledger_header, version),
	FIELD(ledger_header, header_bytes),
	FIELD(ledger_header, file_bytes),
	FIELD(ledger_header, boot_id),
	FIELD(ledger_header, pid_namespace),
	FIELD(ledger_header, pid),
	FIELD(ledger_header, ppid),
	FIELD(ledger_header, uid),
	FIELD(ledger_header, sample_log2),
	FIELD(ledger_header, start_ticks),
	FIELD(ledger_header, created_ns),
	FIELD(ledger_header, created_realtime_ns),
	FIELD(ledger_header, session),
	FIELD(ledger_header, ledger_max_bytes),
	FIELD(ledger_header, first_row),
	FIELD(ledger_header, allocator),
	FIELD(ledger_header, depth_max),
	FIELD(ledger_header, origin),
	FIELD(ledger_header, table),
	FIELD(ledger_header, parent),
	FIELD(ledger_header, exe),
	FIELD(ledger_header, argv),
	FIELD(ledger_header, cwd),
	FIELD(ledger_header, options),
	FIELD(ledger_header, allocator_path),
	FIELD(ledger_header, blocks),
	FIELD(ledger_table, item_bytes),
	FIELD(ledger_table, spare),
	FIELD(ledger_table, offset),
	FIELD(ledger_table, capacity),
	FIELD(ledger_string, offset),
	FIELD(ledger_string, bytes),
	FIELD(ledger_control, mode),
	FIELD(ledger_control, epoch),
	FIELD(ledger_control, size_min_bytes),
	FIELD(ledger_control, size_max_bytes),
	FIELD(ledger_control, caches),
	FIELD(ledger_control, filtered_once),
	FIELD(ledger_control, peak_turn),
	FIELD(ledger_control, line_spare),
	FIELD(ledger_control, recorder_pid),
	FIELD(ledger_control, exit_wait_ms),
	FIELD(ledger_control, recorder_start_ticks),
	FIELD(ledger_control, exit_ack),
	FIELD(ledger_control, recorder_done),
	FIELD(ledger_control, tier_changes),
	FIELD(ledger_control, scan_ready),
	FIELD(ledger_control, scan_answer),
	FIELD(ledger_control, scan_failed),
	FIELD(ledger_control, scan_listed),
	FIELD(ledger_control, scan_leaks),
	FIELD(ledger_control, scan_leak_bytes),
	FIELD(ledger_control, growing_bytes_per_hour),
	FIELD(ledger_control, growing_contexts),
	FIELD(ledger_control, growth_known),
	FIELD(ledger_control, growth_at_ns),
	FIELD(ledger_control, growth_after_ns),
	FIELD(ledger_control, growth_count),
	FIELD(ledger_control, growth),
	FIELD(ledger_growth, context),
	FIELD(ledger_growth, verdict),
	FIELD(ledger_growth, confidence),
	FIELD(ledger_growth, returned),
	FIELD(ledger_growth, spare),
	FIELD(ledger_growth, since_ns),
	FIELD(ledger_growth, until_ns),
	FIELD(ledger_growth, quiet_ns),
	FIELD(ledger_growth, bytes),
	FIELD(ledger_growth, blocks),
	FIELD(ledger_growth, freed_late),
	FIELD(ledger_growth, present_bytes_per_hour),
	FIELD(ledger_state, table),
	FIELD(ledger_state, real_bytes),
	FIELD(ledger_state, attention),
	FIELD(ledger_state, ended),
	FIELD(ledger_state, ended_ns),
	FIELD(ledger_state, exit_status),
	FIELD(ledger_state, exit_status_known),
	FIELD(ledger_state, unseen),
	FIELD(ledger_state, unexact_epoch),
	FIELD(ledger_state, confined),
	FIELD(ledger_state, tiers),
	FIELD(ledger_state, threads_started),
	FIELD(ledger_state, dropped),
	FIELD(ledger_state, early),
	FIELD(ledger_state, summed),
	FIELD(ledger_state, private_bytes),
	FIELD(ledger_state, verify_walks),
	FIELD(ledger_state, verify_landed),
	FIELD(ledger_state, verify_truncated),
	FIELD(ledger_state, verify_differences),
	FIELD(ledger_state, findings_lost),
	FIELD(ledger_state, live_bytes),
	FIELD(ledger_state, peak_bytes),
	FIELD(ledger_state, peak_at_ns),
	FIELD(ledger_state, peak_stamp_bytes),
	FIELD(ledger_state, direct_usable_bytes),
	FIELD(ledger_state, tiers_since_ns),
	FIELD(ledger_state, scan_request),
	FIELD(ledger_state, scan_kind),
	FIELD(ledger_state, suppressions),
	FIELD(ledger_lost, address),
	FIELD(ledger_lost, bytes),
	FIELD(ledger_finding, ready),
	FIELD(ledger_finding, kind),
	FIELD(ledger_finding, freeing),
	FIELD(ledger_finding, family),
	FIELD(ledger_finding, doubtful),
	FIELD(ledger_finding, block_row),
	FIELD(ledger_finding, freed_row),
	FIELD(ledger_finding, here_row),
	FIELD(ledger_finding, tid),
	FIELD(ledger_finding, at_ns),
	FIELD(ledger_finding, pointer),
	FIELD(ledger_finding, block_bytes),
	FIELD(ledger_finding, offset),
	FIELD(ledger_finding, expected),
	FIELD(ledger_finding, actual),
	FIELD(ledger_finding, count),
	FIELD(ledger_finding, thread),
	FIELD(ledger_scope, ready),
	FIELD(ledger_scope, parent),
	FIELD(ledger_scope, tag),
	FIELD(ledger_entries, scope),
	FIELD(ledger_entries, spare),
	FIELD(ledger_entries, entries),
	FIELD(ledger_entries, exits),
	FIELD(ledger_entries, wall_ns),
	FIELD(ledger_entries, cpu_ns),
	FIELD(ledger_entries, least_ns),
	FIELD(ledger_entries, most_ns),
	FIELD(ledger_entries, first_ns),
	FIELD(ledger_entries, last_ns),
	FIELD(ledger_entries, own_frees),
	FIELD(ledger_entries, own_freed_bytes),
	FIELD(ledger_entries, foreign_frees),
	FIELD(ledger_entries, foreign_freed_bytes),
	FIELD(ledger_entries, histogram),
	FIELD(ledger_sums, processes),
	FIELD(ledger_sums, allocs),
	FIELD(ledger_sums, alloc_bytes),
	FIELD(ledger_sums, frees),
	FIELD(ledger_sums, freed_bytes),
	FIELD(ledger_sums, inherited_frees),
	FIELD(ledger_sums, inherited_freed_bytes),
	FIELD(ledger_sums, unrecorded),
	FIELD(ledger_sums, adding),
	FIELD(ledger_sums, closed),
	FIELD(ledger_table_state, reserved),
	FIELD(ledger_table_state, ready),
	FIELD(ledger_context, flags),
	FIELD(ledger_context, leaf),
	FIELD(ledger_context, kind),
	FIELD(ledger_context, align_log2),
	FIELD(ledger_context, sample),
	FIELD(ledger_context, spare),
	FIELD(ledger_context, scope),
	FIELD(ledger_context, thread),
	FIELD(ledger_context, first_ns),
	FIELD(ledger_node, parent_ready),
	FIELD(ledger_node, module),
	FIELD(ledger_node, flags),
	FIELD(ledger_node, period),
	/* Bit fields: the two share the last eight bytes. */
	{ "struct ledger_node", "`address`", 8, NODE_ADDRESS_BYTES },
	{ "struct ledger_node", "`folded`", 8 + NODE_ADDRESS_BYTES, 2 },
	FIELD(ledger_module, ready),
	FIELD(ledger_module, generation),
	FIELD(ledger_module, bias),
	FIELD(ledger_module, start),
	FIELD(ledger_module, end),
	FIELD(ledger_module, path),
	FIELD(ledger_module, build_id_bytes),
	FIELD(ledger_module, spare),
	FIELD(ledger_module, build_id),
	FIELD(ledger_mark, ready),
	FIELD(ledger_mark, epoch),
	FIELD(ledger_mark, at_ns),
	FIELD(ledger_mark, name),
	FIELD(ledger_row, context_ready),
	FIELD(ledger_row, epoch),
	FIELD(ledger_row, sequence),
	FIELD(ledger_row, allocs),
	FIELD(ledger_row, alloc_bytes),
	FIELD(ledger_row, frees),
	FIELD(ledger_row, freed_bytes),
	FIELD(ledger_row, temporaries),
	FIELD(ledger_row, turn),
	FIELD(ledger_row, at_blocks),
	FIELD(ledger_row, at_bytes),
	FIELD(ledger_row, direct_frees),
	FIELD(ledger_row, direct_freed_bytes),
	FIELD(ledger_slot, row),
	FIELD(ledger_slot, temporaries),
	FIELD(ledger_slot, allocs),
	FIELD(ledger_slot, alloc_bytes),
	FIELD(ledger_slot, frees),
	FIELD(ledger_slot, freed_bytes),
	FIELD(ledger_slot, turn),
	FIELD(ledger_slot, at_bytes),
	FIELD(ledger_slot, at_blocks),
	FIELD(ledger_cache, ready),
	FIELD(ledger_cache, owner_tid),
	FIELD(ledger_cache, line_spare),
	FIELD(ledger_cache, slots),
	FIELD(ledger_cache, sum),
	FIELD(ledger_cache, first),
	FIELD(ledger_cache, temporary_bytes),
	FIELD(ledger_cache, usable_alloc_bytes),
	FIELD(ledger_cache, usable_freed_bytes),
	FIELD(ledger_cache, abandoned),
	FIELD(ledger_cache, untracked_frees),
	FIELD(ledger_cache, missed_frees),
	FIELD(ledger_cache, inherited_frees),
	FIELD(ledger_cache, inherited_freed_bytes),
	FIELD(ledger_cache, walks_full),
	FIELD(ledger_cache, walks_truncated),
	FIELD(ledger_cache, resizing),
	FIELD(ledger_cache, passed_allocs),
	FIELD(ledger_cache, passed_alloc_bytes),
	FIELD(ledger_cache, passed_frees),
	FIELD(ledger_cache, passed_kept),
	FIELD(ledger_cache, redo),
	FIELD(ledger_cache, histogram),
	FIELD(ledger_blocks, leaves),
	FIELD(ledger_blocks, facts),
	FIELD(ledger_blocks, spare64),
	FIELD(ledger_blocks, granule_shift),
	FIELD(ledger_blocks, spare),
	FIELD(ledger_facts, bytes),
	FIELD(ledger_facts, own_count),
	FIELD(ledger_facts, taken_count),
	FIELD(ledger_facts, region_count),
	FIELD(ledger_facts, exit_tid),
	FIELD(ledger_facts, spare),
	FIELD(ledger_facts, exit_stack),
	FIELD(ledger_facts, exit_registers),
	FIELD(ledger_facts, own),
	FIELD(ledger_facts, taken),
	FIELD(ledger_facts, regions),
	FIELD(ledger_facts, guards),
	FIELD(ledger_guards, seed),
	FIELD(ledger_guards, front_bytes),
	FIELD(ledger_guards, waiting_byte),
	FIELD(ledger_guards, waiting),
	FIELD(ledger_guards, waiting_count),
	FIELD(ledger_guards, sampled_begin),
	FIELD(ledger_guards, sampled_end),
	FIELD(ledger_guarded, tag),
	FIELD(ledger_guarded, size),
	FIELD(ledger_guarded, distance),
	FIELD(ledger_guarded, freed_row),
	FIELD(ledger_guarded, cell),
	FIELD(ledger_range, begin),
	FIELD(ledger_range, end),
	FIELD(ledger_large, cell),
	FIELD(ledger_large, size),
	FIELD(ledger_redo, active),
	FIELD(ledger_redo, row),
	FIELD(ledger_redo, slot),
	FIELD(ledger_redo, spare),
	FIELD(ledger_redo, turn_after),
	FIELD(ledger_redo, values),
	FIELD(ledger_row_values, allocs),
	FIELD(ledger_row_values, alloc_bytes),
	FIELD(ledger_row_values, frees),
	FIELD(ledger_row_values, freed_bytes),
	FIELD(ledger_row_values, temporaries),
	FIELD(ledger_row_values, turn),
	FIELD(ledger_row_values, at_blocks),
	FIELD(ledger_row_values, at_bytes),
};

static char *read_document(void)
{
	const char *source = getenv("SEEP_SOURCE");
	char path[4096];
	char *text = NULL;

	(void)snprintf(path, sizeof(path), "%s/docs/internals/ledger.md", source ? source : ".");
	if (seep_file_read(path, DOCUMENT_BYTES_MAX, &text, NULL, NULL) != 0)
		fail_msg("cannot read %s", path);
	return text;
}

/* The next line of @at, terminated; @at moves on. NULL at the end. */
static char *next_line(char **at)
{
	return strsep(at, "\n");
}

static const struct field *find(const char *type, const char *name)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(fields[i].type, type) == 0 && strcmp(fields[i].name, name) == 0)
			return &fields[i];
	return NULL;
}

TEST(the_page_says_what_the_header_says)
{
	char *text = read_document();
	char *at = text;
	char type[64] = "";
	size_t found = 0;
	char *line;

	while ((line = next_line(&at)) != NULL) {
		char name[64];
		size_t offset;
		size_t bytes;
		const struct field *field;

		if (line[0] == '#')
			type[0] = '\0';
		if (strncmp(line, "### struct ", 11) == 0)
			(void)snprintf(type, sizeof(type), "%s", line + 4);
		if (!type[0] ||
		    sscanf(line, "| %zu | %zu | %63[^ |] |", &offset, &bytes, name) != 3)
			continue;
		field = find(type, name);
		if (!field) {
			fail_msg("%s has no %s", type, name);
			break;
		}
		if (field->offset != offset || field->bytes != bytes)
			fail_msg("%s %s is at %zu, %zu bytes", type, name, field->offset,
				 field->bytes);
		found++;
	}
	assert_int_equal(found, sizeof(fields) / sizeof(fields[0]));
	free(text);
}

/* A field that is added to a structure without a line in the page leaves a gap. */
TEST(the_fields_leave_no_gaps)
{
	size_t end = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		bool first = i == 0 || strcmp(fields[i].type, fields[i - 1].type) != 0;
		bool own_line = fields[i].offset % 64 == 0; /* alignas(64) */

		if (!first && !own_line && fields[i].offset != end)
			fail_msg("%s %s begins at %zu, not at %zu", fields[i].type, fields[i].name,
				 fields[i].offset, end);
		end = fields[i].offset + fields[i].bytes;
	}
}
