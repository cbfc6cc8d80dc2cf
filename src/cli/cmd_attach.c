/* SPDX-License-Identifier: MIT */
/* "seep attach": record a process that runs already. "seep detach": no longer. */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/growth.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/leak_options.h"
#include "cli/output_file.h"
#include "cli/record_options.h"
#include "cli/symbol_options.h"
#include "recorder/attached.h"
#include "recorder/outname.h"
#include "report/report.h"
#include "target/preflight.h"

enum { OPTIONS_MAX_BYTES = 4095 };

static struct {
	const char *output;
	bool force;
	uint64_t for_ns;
	uint64_t deadline_ns;
	bool entries;
	bool no_leak_check;
	bool quiet;
	const char *json;
	struct seep_record_option_values record;
	struct seep_leak_option_values leaks;
	uint64_t growth_after_ns;
	struct seep_symbol_option_values symbols;
} asked = { .deadline_ns = SEEP_NS_PER_S, .growth_after_ns = SEEP_GROWTH_AFTER_NS };

#define DEADLINE_OPTION                                              \
	SEEP_OPTION("deadline", 0, DURATION, "T", asked.deadline_ns, \
		    "Look for a moment when it is safe for T (1s), then refuse", .min = 1)

static const struct seep_option attach_options[] = {
	SEEP_OPTION("for", 0, DURATION, "T", asked.for_ns,
		    "Record for T, then detach and write the recording", .min = 1),
	SEEP_OPTION(
		"output", 'o', TEXT, "FILE", asked.output,
		"Stay, and write the recording to FILE at the process's end, after --for, or on "
		"Ctrl-C (with --for: ./%e.%p.seep)"),
	SEEP_OPTION("force", 'f', FLAG, NULL, asked.force, "Replace FILE if it exists"),
	DEADLINE_OPTION,
	SEEP_OPTION(
		"entries", 0, FLAG, NULL, asked.entries,
		"Record allocators inside the program or a library, too: writes into their code"),
	SEEP_RECORD_OPTIONS(asked.record),
	SEEP_OPTION("no-leak-check", 0, FLAG, NULL, asked.no_leak_check,
		    "Do not look for leaks before the recording is written"),
	SEEP_LEAK_OPTIONS(asked.leaks),
	SEEP_LEAK_SCAN_OPTIONS(asked.leaks),
	SEEP_OPTION("growth-after", 0, DURATION, "T", asked.growth_after_ns,
		    "Call a stack GROWING when it grew for T (60s); 0: do not look"),
	SEEP_OPTION("quiet", 'q', FLAG, NULL, asked.quiet, "Print no summary"),
	SEEP_JSON_OPTION(asked.json),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_attach_options = {
	SEEP_OPTIONS(attach_options),
	.min_operands = 1,
	.max_operands = 1,
	.details =
		"One thread at a time is stopped, for about a millisecond, where it holds no\n"
		"lock of the loader or the allocator. If none comes to such a point within T the\n"
		"process is left as it was. NAME is that of a program of which one process runs.\n"
		"\n"
		"With --entries jumps are written over the first instructions of jemalloc,\n"
		"tcmalloc, mimalloc or a malloc that is linked into the program or a library,\n"
		"while all threads stand still. \"seep detach\" puts the instructions back.\n"
		"\n"
		"What was allocated before is not recorded. Without --for and -o seep returns at\n"
		"once: look with \"seep top PID\", \"seep leaks PID\" and all others, and leave with\n"
		"\"seep detach PID\". \"seep doctor PID\" says what would stand in the way.\n",
};

static const struct seep_option detach_options[] = {
	SEEP_OPTION("output", 'o', TEXT, "FILE", asked.output,
		    "Write what was recorded to FILE; else its ledger stays"),
	SEEP_OPTION("force", 'f', FLAG, NULL, asked.force, "Replace FILE if it exists"),
	DEADLINE_OPTION,
	SEEP_OPTION("quiet", 'q', FLAG, NULL, asked.quiet, "Print no summary"),
	SEEP_JSON_OPTION(asked.json),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_detach_options = {
	SEEP_OPTIONS(detach_options),
	.min_operands = 1,
	.max_operands = 1,
	.details =
		"All calls lead where they led before. libseep.so stays in the process's memory\n"
		"and does nothing; \"seep attach\" uses it again, with a new ledger.\n",
};

/* Its program's file name, as "top" and others show it. */
static char *name_of(uint32_t pid)
{
	SEEP_FREED char *exe = seep_procfs_exe(pid);

	return exe ? seep_xstrdup(seep_path_base(exe)) : seep_xasprintf("process %" PRIu32, pid);
}

static int find_named(const char *name, uint32_t *ret_pid, struct seep_error *err)
{
	DIR *all = opendir("/proc");
	SEEP_STRBUF(others, 200);
	size_t count = 0;
	uint64_t pid;

	for (struct dirent *entry; all && (entry = readdir(all));) {
		SEEP_FREED char *program = NULL;

		if (seep_parse_count(entry->d_name, INT32_MAX, &pid, NULL) < 0)
			continue;
		program = name_of((uint32_t)pid);
		if (strcmp(program, name) != 0)
			continue;
		seep_strbuf_addf(&others, "%s%" PRIu64, count ? ", " : "", pid);
		if (count++ == 0)
			*ret_pid = (uint32_t)pid;
	}
	if (all)
		(void)closedir(all);
	if (count == 1)
		return 0;
	return count ? seep_fail(err, SEEP_EUSAGE,
				 "several processes run %s (%s): say which, by its pid", name,
				 others.text)
		     : seep_fail(err, SEEP_ENOTFOUND, "no process runs %s", name);
}

static int find_process(const char *operand, uint32_t *ret_pid, struct seep_error *err)
{
	uint64_t pid;

	if (seep_parse_count(operand, INT32_MAX, &pid, NULL) < 0)
		return find_named(operand, ret_pid, err);
	*ret_pid = (uint32_t)pid;
	return 0;
}

/* How it went, whether it did or not. */
static void print_json(uint32_t pid, const char *key, const struct seep_attach_result *result,
		       const struct seep_error *err)
{
	struct seep_json *json = seep_json_new(stdout, seep_json_strings(asked.json));

	seep_json_open_document(json, NULL);
	seep_json_int(json, "pid", pid);
	seep_json_bool(json, key, !err);
	seep_json_text(json, "reason", err ? err->text : NULL);
	seep_json_text(json, "ledger", result->ledger);
	seep_json_text(json, "allocator", result->allocator);
	seep_json_u64(json, "stopped_ns", result->stopped_ns);
	seep_json_u64(json, "longest_stop_ns", result->longest_ns);
	seep_json_u64(json, "tries", result->tries);
	seep_json_finish(json);
}

/* @key: as in JSON */
static int complain(const char *command, const char *key, uint32_t pid,
		    const struct seep_attach_result *result, const struct seep_error *err)
{
	const int status = seep_complain(command, err);

	if (asked.json)
		print_json(pid, key, result, err);
	if (err->code == SEEP_EREFUSED)
		seep_hint("the process goes on as before; \"seep doctor %" PRIu32
			  "\" says more, --deadline gives more time",
			  pid);
	return status;
}

static void print_result(uint32_t pid, bool is_attached, const struct seep_attach_result *result)
{
	SEEP_FREED char *name = name_of(pid);

	if (asked.json) {
		print_json(pid, is_attached ? "attached" : "detached", result, NULL);
		return;
	}
	seep_print_escaped(stdout, "%s %s (pid %" PRIu32 "): stopped for %s",
			   is_attached ? "attached to" : "detached from", name, pid,
			   seep_duration_text(result->stopped_ns).text);
	if (result->allocator)
		seep_print_escaped(stdout, "%s", result->allocator);
	if (is_attached && !asked.quiet)
		(void)printf("Next: seep top %" PRIu32 "      # what it allocates, live\n"
			     "      seep leaks %" PRIu32 "    # what it has lost since\n"
			     "      seep detach %" PRIu32 "   # record no more\n",
			     pid, pid, pid);
	if (!is_attached && result->ledger && !asked.output && !asked.quiet)
		seep_print_escaped(stdout, "Next: seep save %s   # what was recorded, as a file",
				   result->ledger);
}

static int expand_output(uint32_t pid, char **ret_output, struct seep_error *err)
{
	SEEP_FREED char *name = name_of(pid);
	int rc = seep_outname_expand(asked.output, name, pid, ret_output, err);

	return rc == 0 ? seep_outname_check(*ret_output, asked.force, err) : rc;
}

static void print_recorded(uint32_t pid, const char *output, struct seep_attached_result *result)
{
	const struct seep_printer printer = seep_printer_for(stderr, 80);

	if (result->not_left.code) {
		(void)seep_complain("attach", &result->not_left);
		seep_hint("the process is still recorded; seep detach %" PRIu32, pid);
	}
	if (result->detach.allocator)
		seep_hint("%s", result->detach.allocator);
	if (!asked.quiet)
		seep_report_summary(&printer, result->profile, output);
	seep_profile_free(result->profile);
	free(result->detach.ledger);
	free(result->detach.allocator);
}

/* Where names of a process that sees other files are, too. */
static int read_symbol_options(uint32_t pid, struct seep_symbols_options *ret_symbols,
			       struct seep_error *err)
{
	seep_symbol_options_see(pid);
	return seep_symbol_options_read(&asked.symbols, ret_symbols, err);
}

/* Stay, as the recorder of what was attached to. */
static int record(uint32_t pid, const struct seep_attach_plan *attach,
		  struct seep_leak_check_plan *leak_check,
		  const struct seep_symbols_options *symbols, const char *output,
		  const char *ledger, struct seep_error *err)
{
	const struct seep_attached_plan plan = {
		.recorder = { .output = output,
			      .force = asked.force,
			      .leak_check = asked.no_leak_check ? NULL : leak_check,
			      .suppress = leak_check,
			      .growth_after_ns = asked.growth_after_ns,
			      .symbols = symbols },
		.attach = attach,
		.for_ns = asked.for_ns,
	};
	struct seep_attached_result result;
	int rc;

	leak_check->symbols = symbols;
	rc = seep_attached_record(&plan, (pid_t)pid, ledger, &result, err);
	if (rc == 0)
		print_recorded(pid, output, &result);
	else if (!result.ended && !result.detach.ledger)
		seep_hint("the process is still recorded; seep detach %" PRIu32, pid);
	return rc;
}

/* Those that say to leave count from the first moment on. */
static void hold_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
}

int cmd_attach(char **operands, struct seep_error *err)
{
	const bool stays = asked.output || asked.for_ns;
	SEEP_STRBUF(options, OPTIONS_MAX_BYTES);
	SEEP_FREED char *library = NULL, *output = NULL;
	const char *dir = getenv("SEEP_DIR");
	struct seep_attach_plan plan = { .dir = dir ? dir : "", .deadline_ns = asked.deadline_ns };
	struct seep_attach_result result = { 0 };
	struct seep_symbols_options symbols;
	struct seep_leak_check_plan check;
	struct seep_view_options view;
	uint32_t pid = 0;
	int rc = find_process(operands[0], &pid, err);

	if (rc == 0)
		rc = read_symbol_options(pid, &symbols, err);
	if (rc == 0)
		rc = seep_leak_options_read(&asked.leaks, &check, &view, err);
	if (rc == 0)
		rc = seep_record_options_add(&asked.record, &options, err);
	if (rc == 0)
		rc = seep_runtime_find(&library, err);
	if (rc == 0 && stays)
		rc = expand_output(pid, &output, err);
	if (rc == 0 && stays)
		rc = seep_recorder_session(&plan.session, err);
	if (rc < 0)
		return rc;
	plan.library = library;
	plan.entries = asked.entries;
	plan.options = options.length ? options.text + 1 : "";
	if (stays)
		hold_signals();
	if (seep_attach((pid_t)pid, &plan, &result, err) < 0)
		return complain("attach", "attached", pid, &result, err);
	if (!stays || !asked.quiet)
		print_result(pid, true, &result);
	(void)fflush(stdout);
	if (stays)
		rc = record(pid, &plan, &check, &symbols, output, result.ledger, err);
	free(result.ledger);
	free(result.allocator);
	return rc;
}

static int save(uint32_t pid, const struct seep_symbols_options *symbols, const char *output,
		const char *ledger, struct seep_error *err)
{
	const struct seep_printer printer = seep_printer_for(stderr, 80);
	const struct seep_recorder_plan plan = {
		.output = output,
		.force = asked.force,
		.symbols = symbols,
	};
	struct seep_profile *profile = NULL;
	int rc = seep_attached_save(&plan, (pid_t)pid, ledger, &profile, err);

	if (rc == 0 && !asked.quiet)
		seep_report_summary(&printer, profile, output);
	seep_profile_free(profile);
	return rc;
}

int cmd_detach(char **operands, struct seep_error *err)
{
	const struct seep_attach_plan plan = { .dir = "",
					       .options = "",
					       .deadline_ns = asked.deadline_ns };
	struct seep_attach_result result = { 0 };
	struct seep_symbols_options symbols;
	SEEP_FREED char *output = NULL;
	uint32_t pid = 0;
	int rc = find_process(operands[0], &pid, err);

	if (rc == 0)
		rc = read_symbol_options(pid, &symbols, err);
	if (rc == 0 && asked.output)
		rc = expand_output(pid, &output, err);
	if (rc < 0)
		return rc;
	if (seep_detach((pid_t)pid, &plan, &result, err) < 0)
		return complain("detach", "detached", pid, &result, err);
	print_result(pid, false, &result);
	if (output && result.ledger)
		rc = save(pid, &symbols, output, result.ledger, err);
	else if (output)
		rc = seep_fail(err, SEEP_ENOTFOUND,
			       "it is not recorded: there is nothing to write");
	free(result.ledger);
	free(result.allocator);
	return rc;
}
