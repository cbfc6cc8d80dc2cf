/* SPDX-License-Identifier: MIT */
/* What is lost, and how that was found out. */
#include "report/report.h"

#include <inttypes.h>

#include "analysis/suppressions.h"
#include "base/units.h"
#include "report/report_parts.h"
#include "view/leaks_view.h"
#include "view/view_foot.h"
#include "view/view_head.h"

enum { UNUSED_BYTES_MAX = 4096, DUMP_COLUMNS_8 = 46, DUMP_COLUMNS_16 = 78 };

/* "+10  68 65 6c 6c 6f 00 00 00  hello...": as many bytes as there is room for. */
static void print_dump(const struct seep_printer *printer,
		       const struct seep_profile_leak_block *block)
{
	const size_t width = printer->width;
	const uint32_t step = width == 0 || width >= DUMP_COLUMNS_16 ? 16
			      : width >= DUMP_COLUMNS_8		     ? 8
								     : 4;

	fprintf(printer->out, "%*s0x%" PRIx64 ", %s:\n", SEEP_REPORT_INDENT, "", block->address,
		seep_bytes_text(block->size).text);
	for (uint32_t at = 0; at < block->content_bytes; at += step) {
		const uint32_t end = block->content_bytes - at < step ? block->content_bytes
								      : at + step;

		fprintf(printer->out, "%*s+%-4" PRIx32, SEEP_REPORT_INDENT + 2, "", at);
		for (uint32_t i = at; i < at + step; i++)
			if (i < end)
				fprintf(printer->out, " %02x", block->contents[i]);
			else
				fputs("   ", printer->out);
		fputs("  ", printer->out);
		for (uint32_t i = at; i < end; i++) {
			const uint8_t byte = block->contents[i];

			/* A space at the end of a line would be lost when it is copied. */
			fputc(byte > ' ' && byte < 0x7f	   ? byte
			      : byte == ' ' && i + 1 < end ? ' '
							   : '.',
			      printer->out);
		}
		fputc('\n', printer->out);
	}
}

static void print_leak(const struct seep_printer *printer, const struct seep_view *view,
		       const struct seep_leak_view *item, uint32_t number)
{
	seep_report_print_item(printer, view, &item->stack, number);
	for (size_t i = 0; i < item->notes.count; i++) {
		fprintf(printer->out, "%*s", SEEP_REPORT_INDENT, "");
		seep_text_fold(printer, item->notes.items[i].style, SEEP_REPORT_INDENT,
			       SEEP_REPORT_INDENT + 2, item->notes.items[i].text);
	}
	for (uint32_t i = 0; i < item->leak->block_list_count; i++)
		if (item->leak->block_list[i].contents)
			print_dump(printer, &item->leak->block_list[i]);
}

static void print_leaks(const struct seep_printer *printer, const struct seep_view *view,
			const struct seep_leaks_view *leaks)
{
	if (leaks->count < leaks->all)
		seep_line_print(printer,
				"The %s largest of %s:", seep_digits_text(leaks->count).text,
				seep_things_text(leaks->all, "leak").text);
	for (uint32_t i = 0; i < leaks->count; i++)
		print_leak(printer, view, &leaks->items[i], i + 1);
}

static void print_verdicts(const struct seep_printer *printer, const struct seep_profile *profile)
{
	static const struct seep_column columns[] = {
		{ "VERDICT", SEEP_ALIGN_LEFT, SEEP_CUT_NEVER, 0 },
		{ "BLOCKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "BYTES", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "MEANS", SEEP_ALIGN_LEFT, SEEP_CUT_END, 1 },
	};
	SEEP_TABLE(table, columns);
	struct seep_verdict_sum sums[SEEP_VERDICT_COUNT];

	seep_leaks_sum(profile, sums);
	for (unsigned i = 0; i < SEEP_VERDICT_COUNT; i++) {
		if (sums[i].leaks == 0)
			continue;
		seep_table_add(table, seep_verdict_name(i));
		seep_table_add(table, seep_digits_text(sums[i].blocks).text);
		seep_table_add(table, seep_bytes_text(sums[i].bytes).text);
		seep_table_add(table, seep_verdict_meaning(i));
	}
	if (seep_table_rows(table) > 0) {
		seep_table_print(table, printer, 0);
		fputc('\n', printer->out);
	}
}

static void print_suppressions(const struct seep_printer *printer,
			       const struct seep_profile_scan *scan)
{
	static const struct seep_column columns[] = {
		{ "BLOCKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "BYTES", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "SUPPRESSED BY", SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
		{ "FILE", SEEP_ALIGN_LEFT, SEEP_CUT_START, 1 },
	};
	SEEP_TABLE(table, columns);
	SEEP_STRBUF(unused, UNUSED_BYTES_MAX);

	for (uint32_t i = 0; i < scan->suppression_count; i++) {
		const struct seep_profile_suppression *rule = &scan->suppressions[i];

		if (rule->blocks == 0) {
			seep_strbuf_addf(&unused, "%s %s", unused.length ? "," : "", rule->text);
			continue;
		}
		seep_table_add(table, seep_digits_text(rule->blocks).text);
		seep_table_add(table, seep_bytes_text(rule->bytes).text);
		seep_table_add(table, rule->text);
		seep_table_add(table, rule->file ? rule->file : "(default)");
	}
	if (seep_table_rows(table) > 0)
		seep_table_print(table, printer, 0);
	if (unused.length > 0)
		seep_line_print(printer, "Suppressions that nothing matched:%s%s", unused.text,
				unused.overflowed ? ", ..." : "");
	if (seep_table_rows(table) + unused.length > 0)
		fputc('\n', printer->out);
}

void seep_report_leaks(const struct seep_printer *printer, const struct seep_sites *sites,
		       const struct seep_view_options *options)
{
	const struct seep_profile *profile = sites->profile;
	static const struct seep_next_command next[] = {
		{ " --leak-kinds all", "what can be reached, too" },
		{ " --by live", "all that is left" },
	};
	struct seep_view_options live = *options;
	SEEP_RELEASED(seep_view_done) struct seep_view view = { 0 };
	SEEP_RELEASED(seep_leaks_view_done) struct seep_leaks_view leaks = { 0 };
	SEEP_FREED char *advice = seep_leaks_advice(profile);

	live.by = SEEP_BY_LIVE;
	/* What is lost is among what is left. */
	if (!profile->scan.done) {
		seep_report_stacks(printer, sites, &live);
		return;
	}
	seep_view_init(&view, profile, sites, options);
	seep_view_add_head(&view, "", true, false);
	seep_lines_print(&view.head, printer);
	seep_leaks_view_init(&leaks, &view, options->top);
	print_leaks(printer, &view, &leaks);
	if (leaks.count == 0 && options->why_address)
		seep_line_print(printer,
				"There is no live block at 0x%" PRIx64
				", or the recording does not "
				"list it.",
				options->why_address);
	fputc('\n', printer->out);
	print_verdicts(printer, profile);
	print_suppressions(printer, &profile->scan);
	if (advice) {
		seep_line_print(printer, "%s", advice);
		fputc('\n', printer->out);
	}
	seep_view_add_scan(&view);
	seep_view_add_unseen(&view, 0);
	seep_view_add_next(&view, next, 2);
	seep_lines_print(&view.foot, printer);
}

void seep_report_leak_rules(FILE *out, const struct seep_sites *sites,
			    const struct seep_view_options *options)
{
	SEEP_RELEASED(seep_view_done) struct seep_view view;
	SEEP_RELEASED(seep_leaks_view_done) struct seep_leaks_view leaks;

	seep_view_init(&view, sites->profile, sites, options);
	seep_leaks_view_init(&leaks, &view, options->top);
	for (uint32_t i = 0; i < leaks.count; i++) {
		SEEP_FREED char *rule = seep_suppressions_generate(sites->profile,
								   leaks.items[i].leak);

		fprintf(out, "# %s\n%s", leaks.items[i].stack.figures, rule);
	}
}
