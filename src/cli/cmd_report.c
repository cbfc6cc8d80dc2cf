/* SPDX-License-Identifier: MIT */
/* "seep report": print a recording or a ledger. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/keep_options.h"
#include "cli/leak_options.h"
#include "cli/ledger_operand.h"
#include "cli/output_file.h"
#include "cli/symbol_options.h"
#include "profile/profile.h"
#include "report/report.h"
#include "target/packages.h"

enum { TOP_MAX = 10000000 };

static struct {
	int by;
	bool tree;
	bool flat;
	bool raw;
	bool scopes;
	bool full;
	bool by_thread;
	struct seep_keep_option_values keep;
	uint64_t top_count;
	const char *json;
	const char *html;
	struct seep_leak_option_values leaks;
	struct seep_symbol_option_values symbols;
} asked = { .by = SEEP_BY_CHOICE };

static const struct seep_option options[] = {
	SEEP_OPTION(
		"by", 'b', CHOICE, "KEY", asked.by,
		"Order by live, peak, allocs or temporary (default: live; peak if all was freed); "
		"lost: show leaks; growth: show what grows",
		.choices = seep_measure_names),
	SEEP_OPTION("tree", 't', FLAG, NULL, asked.tree, "Show who called whom, from main down"),
	SEEP_OPTION("flat", 'f', FLAG, NULL, asked.flat,
		    "Show functions, with their own and their inclusive figures"),
	SEEP_OPTION("scopes", 0, FLAG, NULL, asked.scopes,
		    "Show what was done under tags, each scope below the one around it"),
	SEEP_OPTION("raw", 0, FLAG, NULL, asked.raw,
		    "Show addresses: one \"vaddr: binary + offset : name\" per frame"),
	SEEP_OPTION(
		"top", 'n', COUNT, "N", asked.top_count,
		"Show the N largest (default: 10 stacks, 25 functions; all with --raw and --json)",
		.max = TOP_MAX),
	SEEP_KEEP_OPTIONS(asked.keep, "Show"),
	SEEP_OPTION("by-thread", 0, FLAG, NULL, asked.by_thread,
		    "Keep the stacks of different threads apart"),
	SEEP_LEAK_OPTIONS(asked.leaks),
	SEEP_LEAK_VIEW_OPTIONS(asked.leaks),
	SEEP_OPTION("full", 0, FLAG, NULL, asked.full, "Show whole stacks and whole names"),
	SEEP_JSON_OPTION(asked.json),
	SEEP_OPTION("html", 0, TEXT, "HTML", asked.html,
		    "Write a page to the file HTML, for a browser; it needs no other file"),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_report_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = 1,
	.details =
		"FILE is a recording (.seep), or the ledger of a running or dead process\n"
		"(\"seep ps\" lists them); the PID or NAME of a process will do. A stack\n"
		"starts at the function to look at: containers, wrappers of malloc and what comes\n"
		"before main are left out; --full shows them.\n"
		"\n"
		"--json=JSON and --html replace a file, but no recording or ledger; into a link,\n"
		"pipe or device they write as the shell's > does.\n"
		"\n"
		"A recording holds its names. With --symbols or --debuginfod seep looks again for\n"
		"those of programs and libraries whose names or lines are missing.\n"
		"\n"
		"The status is 0, or 2 if there is nothing to show: no such file, or --by lost of\n"
		"a process that was not scanned for leaks, which is not to say that it has none.\n",
};

static int check(struct seep_view_options *view, struct seep_error *err)
{
	const char *form = asked.tree	  ? "tree"
			   : asked.flat	  ? "flat"
			   : asked.raw	  ? "raw"
			   : asked.scopes ? "scopes"
			   : asked.html	  ? "html"
					  : NULL;
	struct seep_leak_check_plan plan;

	if (asked.tree + asked.flat + asked.raw + asked.scopes + (asked.json != NULL) +
		    (asked.html != NULL) >
	    1)
		return seep_fail(
			err, SEEP_EUSAGE,
			"--tree, --flat, --raw, --scopes, --json and --html exclude each other");
	/* Nothing else has a use for them. */
	if (!asked.json && !asked.html && asked.by == SEEP_BY_CHOICE &&
	    (asked.leaks.kinds || asked.leaks.why || asked.leaks.blocks ||
	     asked.leaks.gen_suppressions))
		asked.by = SEEP_BY_LOST;
	if (asked.by >= SEEP_MEASURE_COUNT && form)
		return seep_fail(err, SEEP_EUSAGE, "--by %s cannot be used with --%s",
				 seep_measure_names[asked.by], form);
	if (asked.html && (asked.full || asked.leaks.gen_suppressions))
		return seep_fail(err, SEEP_EUSAGE, "--%s cannot be used with --html",
				 asked.full ? "full" : "gen-suppressions");
	if (asked.by_thread && (asked.tree || asked.flat || asked.scopes || asked.html))
		return seep_fail(err, SEEP_EUSAGE, "--by-thread cannot be used with --%s", form);
	if (asked.top_count > 0 && asked.tree)
		return seep_fail(err, SEEP_EUSAGE,
				 "--top cannot be used with --tree, which shows all from 1%% on");
	if (asked.top_count > 0 && asked.scopes)
		return seep_fail(err, SEEP_EUSAGE,
				 "--top cannot be used with --scopes, which shows all");
	if (seep_keep_options_check(&asked.keep, err) < 0)
		return -SEEP_EUSAGE;
	view->by = asked.by;
	return seep_leak_options_read(&asked.leaks, &plan, view, err);
}

/* @sites: NULL for what shows no functions. */
static int print(struct seep_profile *profile, const struct seep_sites *sites,
		 const struct seep_view_options *view, struct seep_error *err)
{
	const struct seep_printer printer = seep_printer_for(stdout, 0);
	struct seep_atomic_file page;

	if (asked.json != NULL)
		return seep_json_report(asked.json, profile, view, err);
	if (asked.html != NULL) {
		if (seep_output_begin(asked.html, "a page", &page, err) < 0)
			return -err->code;
		seep_page_report(page.stream, profile, sites, view);
		return seep_output_end(&page, err);
	}
	if (asked.raw) {
		seep_report_raw(stdout, profile, view);
		return 0;
	}
	if (asked.leaks.gen_suppressions) {
		seep_report_leak_rules(stdout, sites, view);
		return 0;
	}
	seep_report_larger(&printer, sites->profile, view->path);
	if (asked.by == SEEP_BY_LOST)
		seep_report_leaks(&printer, sites, view);
	else if (asked.by == SEEP_BY_GROWTH)
		seep_report_growth(&printer, sites, view);
	else if (asked.tree)
		seep_report_tree(&printer, sites, view);
	else if (asked.scopes)
		seep_report_scopes(&printer, sites, view);
	else if (asked.flat)
		seep_report_flat(&printer, sites, view);
	else
		seep_report_stacks(&printer, sites, view);
	seep_report_others(&printer, profile, profile, view->path);
	return 0;
}

int cmd_report(char **operands, struct seep_error *err)
{
	const bool stacks_only = asked.json != NULL || asked.raw;
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *profile = NULL;
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = NULL;
	SEEP_FREED char *shown = NULL, *path = NULL;
	struct seep_view_options view = {
		.top = (uint32_t)asked.top_count,
		.full = asked.full,
		.by_thread = asked.by_thread,
		.packages_of = seep_packages_of,
	};
	int ret = check(&view, err);

	if (ret == 0)
		ret = seep_ledger_operand_path(operands[0], &path, err);
	view.path = path;
	if (ret == 0)
		ret = seep_symbol_options_open(&asked.symbols, path, &profile, err);
	/* JSON says in "scan" whether there was one, and the page in its first line. */
	if (ret == 0 && asked.by == SEEP_BY_LOST && !asked.json)
		ret = seep_leak_options_need_scan(profile, operands[0], err);
	if (ret == 0)
		ret = seep_keep_options_apply(&asked.keep, profile, &shown, err);
	view.shown = shown;
	if (ret == 0 && !stacks_only)
		sites = seep_sites_new(profile);
	return ret < 0 ? ret : print(profile, sites, &view, err);
}
