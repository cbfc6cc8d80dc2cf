/* SPDX-License-Identifier: MIT */
/* "seep check-heap": what is damaged by now in the heap of a process that was started with guards. */
#include <fcntl.h>
#include <stdio.h>

#include "analysis/keep.h"
#include "base/clock.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/ledger_operand.h"
#include "cli/output_file.h"
#include "cli/symbol_options.h"
#include "profile/context_hash.h"
#include "profile/ledger_load.h"
#include "profile/process_life.h"
#include "report/report.h"
#include "report/report_parts.h"
#include "target/heap_look.h"
#include "view/view_head.h"

static struct {
	bool full;
	const char *json;
	struct seep_symbol_option_values symbols;
} asked;

static const struct seep_option options[] = {
	SEEP_OPTION("full", 0, FLAG, NULL, asked.full, "Show whole stacks and whole names"),
	SEEP_JSON_OPTION(asked.json),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_check_heap_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = 1,
	.details =
		"Looks at the guards of all live blocks, and at what waits in quarantine, of a\n"
		"process that was started with \"seep run --guard\" or another of its options.\n"
		"The process is neither stopped nor changed, and can be looked at any number of\n"
		"times.\n"
		"\n"
		"The status is 0 if nothing is damaged, 1 if something is, and 2 if nobody could\n"
		"look.\n",
};

static int look(const char *path, struct seep_heap_counts *ret_counts,
		struct seep_profile **ret_profile, struct seep_error *err)
{
	const uint64_t begin_ns = seep_monotonic_ns();
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	struct seep_heap_look seen = { 0 };
	struct seep_ledger_found found;
	uint32_t pid = 0;
	int rc = seep_ledger_open(AT_FDCWD, path, SEEP_LEDGER_READ, &ledger, err);
	enum seep_process_life life;

	if (rc == 0 && (life = seep_process_life(&ledger, &pid)) != SEEP_PROCESS_RUNNING)
		rc = seep_fail(err, SEEP_ENOTFOUND, "the process %s", seep_process_life_text(life));
	if (rc == 0)
		rc = seep_heap_look((pid_t)pid, &ledger.view.header, &seen, err);
	*ret_counts = (struct seep_heap_counts){ seen.live, seen.waiting,
						 seep_monotonic_ns() - begin_ns };
	found = (struct seep_ledger_found){ seen.findings, seen.count };
	if (rc == 0)
		rc = seep_profile_load_found(&ledger, &found, ret_profile, err);
	free(seen.findings);
	if (rc == 0)
		rc = seep_symbol_options_name(&asked.symbols, *ret_profile, err);
	if (rc < 0)
		return rc;
	seep_profile_hash_contexts(*ret_profile);
	seep_keep_allocations(*ret_profile);
	return 0;
}

static void print(const struct seep_profile *profile, const struct seep_heap_counts *counts)
{
	const struct seep_view_options view_options = { .by = SEEP_BY_LIVE, .full = asked.full };
	const struct seep_printer printer = seep_printer_for(stdout, 0);
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = seep_sites_new(profile);
	SEEP_RELEASED(seep_view_done) struct seep_view view;

	seep_view_init(&view, profile, sites, &view_options);
	seep_view_add_process(&view, "");
	seep_lines_print(&view.head, &printer);
	fputc('\n', stdout);
	seep_report_print_findings(&printer, &view);
	if (profile->finding_count == 0)
		seep_line_print(&printer, "Nothing is damaged.");
	seep_line_print(&printer, "Looked at %s and %s that wait in %s",
			seep_things_text(counts->live_blocks, "live block").text,
			seep_digits_text(counts->waiting_blocks).text,
			seep_duration_text(counts->look_ns).text);
	if (profile->process.tiers & LEDGER_MODE_SAMPLED)
		seep_line_print(&printer,
				"Live blocks that tier sampled did not take were not looked at: "
				"most of them");
}

static int print_json(const struct seep_profile *profile, const struct seep_heap_counts *counts,
		      struct seep_error *err)
{
	struct seep_atomic_file output;
	int rc = seep_output_begin(seep_json_file(asked.json), "JSON", &output, err);

	if (rc < 0)
		return rc;
	seep_report_heap_json(output.stream, profile, counts, seep_json_strings(asked.json));
	return seep_output_end(&output, err);
}

int cmd_check_heap(char **operands, struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand ledger = { 0 };
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *profile = NULL;
	struct seep_heap_counts counts;
	int rc = seep_json_check(asked.json, err);

	if (rc == 0)
		rc = seep_ledger_operand_find(operands[0], &ledger, err);
	if (rc == 0)
		rc = seep_ledger_operand_check(&ledger, err);
	if (rc == 0)
		rc = look(ledger.path, &counts, &profile, err);
	if (rc == 0 && asked.json)
		rc = print_json(profile, &counts, err);
	else if (rc == 0)
		print(profile, &counts);
	return rc == 0 && profile->finding_count ? SEEP_EXIT_FOUND : rc;
}
