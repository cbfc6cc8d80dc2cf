/* SPDX-License-Identifier: MIT */
/* "seep doctor": why recording would fail here, or show little, and what to change. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "recorder/census.h"
#include "recorder/ledgerdir.h"
#include "base/json_writer.h"
#include "report/text_style.h"
#include "target/doctor.h"

enum { WIDTH = 80, WORD_COLUMNS = 9, COMMAND_MAX_BYTES = 1 << 20 };

struct doctor_options {
	const char *json;
};

static const struct seep_option options[] = {
	SEEP_OPTION("json", 0, OPTIONAL, "strings", struct doctor_options, json,
		    "Print JSON; \"strings\": large numbers as strings"),
};

const struct seep_option_table cmd_doctor_options = {
	.options = options,
	.count = SEEP_OPTION_COUNT_OF(options),
	.max_operands = SIZE_MAX,
	.operand_ends_options = true,
	.details =
		"Without an operand it looks at this machine; with PROGRAM also at a program,\n"
		"which is not run, with PID at a process. A number is a PID; ./123 is a program.\n"
		"\n"
		"Exit status: 0 when nothing stands in the way, 1 when there are problems.\n",
};

struct verdict {
	size_t problems;
	size_t notes;
	struct seep_doctor_finding *findings; /* as many as there are checks */
};

static const char *const result_names[] = { "ok", "note", "problem" };

/* ---- looking ------------------------------------------------------------------------------ */

static void look_at_machine(struct seep_doctor_facts *facts)
{
	char *path = seep_ledgerdir_path();
	struct seep_error err = { 0 };
	bool was_there = access(path, F_OK) == 0;
	int fd = -1;

	if (seep_ledgerdir_open(path, true, &fd, &err) < 0) {
		seep_doctor_look_at_machine(facts, path, err.text);
	} else {
		(void)close(fd);
		seep_doctor_look_at_machine(facts, path, NULL);
		/* It was made to be looked at. Not empty: it is in use by now. */
		if (!was_there)
			(void)rmdir(path);
	}
	free(path);
}

/* What its ledger says. */
static void look_at_ledger(struct seep_doctor_facts *facts)
{
	struct seep_doctor_process *process = &facts->process;
	struct seep_census census;

	if (seep_census_take(&census, NULL) < 0)
		return;
	for (size_t i = 0; i < census.count && !process->recorded; i++) {
		const struct seep_census_entry *entry = &census.entries[i];

		if (entry->pid != process->pid || entry->state > SEEP_CENSUS_RECORDER_GONE)
			continue;
		process->recorded = seep_census_state_name(entry->state);
		process->live_bytes = entry->live_bytes;
	}
	seep_census_done(&census);
}

/* The program of a process, by a path under which it can be opened from here. */
static void look_at_exe(struct seep_doctor_facts *facts)
{
	const struct seep_doctor_process *process = &facts->process;
	char *path;

	if (!process->exe)
		return;
	if (process->other_root)
		path = seep_xasprintf("/proc/%u/root%s", process->pid, process->exe);
	else
		path = seep_xstrdup(process->exe);
	if (access(path, F_OK) < 0) {
		free(path);
		path = seep_xasprintf("/proc/%u/exe", process->pid);
	}
	seep_doctor_look_at_program(facts, path);
	free(path);
}

static bool is_pid(const char *word, uint64_t *ret_pid)
{
	return seep_parse_count(word, INT32_MAX, ret_pid, NULL) == 0;
}

static struct verdict judge(const struct seep_doctor_facts *facts)
{
	struct verdict verdict = {
		.findings = seep_xcalloc(seep_doctor_check_count, sizeof(*verdict.findings)),
	};

	for (size_t i = 0; i < seep_doctor_check_count; i++) {
		struct seep_doctor_finding *finding = &verdict.findings[i];

		if (!(facts->subjects & seep_doctor_checks[i].subject))
			continue;
		seep_doctor_judge(&seep_doctor_checks[i], facts, finding);
		verdict.problems += finding->result == SEEP_DOCTOR_PROBLEM;
		verdict.notes += finding->result == SEEP_DOCTOR_NOTE;
	}
	return verdict;
}

/* ---- what to type ------------------------------------------------------------------------- */

/* The process's own command as words for a shell, behind @prefix. Release with free(). */
static char *restart_command(const struct seep_doctor_facts *facts, const char *prefix)
{
	const struct seep_doctor_process *process = &facts->process;
	struct seep_strbuf line;

	seep_strbuf_init(&line, COMMAND_MAX_BYTES);
	seep_strbuf_adds(&line, prefix);
	for (size_t at = 0; at < process->command_bytes; at += strlen(process->command + at) + 1) {
		seep_strbuf_addc(&line, ' ');
		seep_text_shell_word(&line, process->command + at);
	}
	return seep_strbuf_take(&line);
}

static bool can_restart(const struct seep_doctor_facts *facts)
{
	return (facts->subjects & SEEP_DOCTOR_PROCESS) && facts->process.command_bytes > 0 &&
	       !facts->process.recorded && facts->machine.library && facts->process.pid != 1;
}

static char *preload_prefix(const struct seep_doctor_facts *facts)
{
	return seep_xasprintf("LD_PRELOAD=%s", facts->machine.library);
}

/* ---- text --------------------------------------------------------------------------------- */

static void print_folded(const struct seep_report_options *style, enum seep_style how, size_t used,
			 const char *text)
{
	char *escaped = seep_escape_dup(text);

	seep_text_fold(stdout, style, how, used, WORD_COLUMNS, escaped);
	free(escaped);
}

static void print_finding(const struct seep_report_options *style,
			  const struct seep_doctor_finding *finding)
{
	enum seep_style how = finding->result == SEEP_DOCTOR_PROBLEM ? SEEP_STYLE_BOLD
								     : SEEP_STYLE_PLAIN;

	printf("%s%-*s%s", seep_style_on(style, how), WORD_COLUMNS, result_names[finding->result],
	       seep_style_off(style, how));
	print_folded(style, how, WORD_COLUMNS, finding->sentence);
	if (!*finding->advice)
		return;
	printf("%*s", WORD_COLUMNS, "");
	print_folded(style, SEEP_STYLE_PLAIN, WORD_COLUMNS, finding->advice);
}

static void print_all(const struct seep_report_options *style, const struct verdict *verdict,
		      enum seep_doctor_result result)
{
	for (size_t i = 0; i < seep_doctor_check_count; i++) {
		const struct seep_doctor_finding *finding = &verdict->findings[i];

		if (finding->result == result && *finding->sentence)
			print_finding(style, finding);
	}
}

/* What is well, in few lines: the checks by name. */
static void print_well(const struct seep_report_options *style, const struct verdict *verdict)
{
	struct seep_strbuf names;

	seep_strbuf_init(&names, SEEP_LINE_BYTES_MAX);
	for (size_t i = 0; i < seep_doctor_check_count; i++) {
		const struct seep_doctor_finding *finding = &verdict->findings[i];

		if (finding->result == SEEP_DOCTOR_OK && *finding->sentence)
			seep_strbuf_addf(&names, "%s%s", names.length ? ", " : "",
					 seep_doctor_checks[i].code);
	}
	printf("%-*s", WORD_COLUMNS, result_names[SEEP_DOCTOR_OK]);
	print_folded(style, SEEP_STYLE_DIM, WORD_COLUMNS, names.text);
	seep_strbuf_done(&names);
}

static void print_restart(const struct seep_doctor_facts *facts)
{
	char *prefix, *run, *preload;

	if (!can_restart(facts))
		return;
	prefix = preload_prefix(facts);
	run = restart_command(facts, "seep run --");
	preload = restart_command(facts, prefix);
	printf("\nTo start it again and record it:\n  %s\n"
	       "or, without a recorder, for \"seep ps\" and \"seep report LEDGER\":\n  %s\n",
	       run, preload);
	free(preload);
	free(run);
	free(prefix);
}

static void print_conclusion(const struct verdict *verdict)
{
	printf("\n");
	if (verdict->problems)
		printf("%zu problem%s", verdict->problems, verdict->problems == 1 ? "" : "s");
	else
		printf("no problems");
	if (verdict->notes)
		printf(", %zu note%s", verdict->notes, verdict->notes == 1 ? "" : "s");
	printf("\n");
}

static void print_text(const struct seep_doctor_facts *facts, const struct verdict *verdict)
{
	const struct seep_report_options style = {
		.width = WIDTH,
		.color = seep_terminal_color(STDOUT_FILENO),
	};

	print_all(&style, verdict, SEEP_DOCTOR_PROBLEM);
	print_all(&style, verdict, SEEP_DOCTOR_NOTE);
	print_well(&style, verdict);
	print_conclusion(verdict);
	print_restart(facts);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void write_subject(struct seep_json *json, const struct seep_doctor_facts *facts)
{
	bool is_process = facts->subjects & SEEP_DOCTOR_PROCESS;

	seep_json_open_object(json, "subject");
	if (is_process) {
		seep_json_text(json, "kind", "process");
		seep_json_int(json, "pid", facts->process.pid);
		seep_json_text(json, "program", facts->process.exe);
	} else {
		seep_json_text(json, "kind",
			       facts->subjects & SEEP_DOCTOR_PROGRAM ? "program" : "machine");
		seep_json_null(json, "pid");
		seep_json_text(json, "program", facts->program.name);
	}
	seep_json_close(json);
}

static void write_restart(struct seep_json *json, const struct seep_doctor_facts *facts)
{
	char *prefix, *run, *preload;

	if (!can_restart(facts)) {
		seep_json_null(json, "restart");
		return;
	}
	prefix = preload_prefix(facts);
	run = restart_command(facts, "seep run --");
	preload = restart_command(facts, prefix);
	seep_json_open_object(json, "restart");
	seep_json_text(json, "run", run);
	seep_json_text(json, "preload", preload);
	seep_json_close(json);
	free(preload);
	free(run);
	free(prefix);
}

static void print_json(const struct seep_doctor_facts *facts, const struct verdict *verdict,
		       bool strings)
{
	struct seep_json *json = seep_xmalloc(sizeof(*json));

	seep_json_init(json, stdout, strings);
	seep_json_open_document(json);
	write_subject(json, facts);
	seep_json_int(json, "problems", (int64_t)verdict->problems);
	seep_json_int(json, "notes", (int64_t)verdict->notes);
	seep_json_open_array(json, "checks");
	for (size_t i = 0; i < seep_doctor_check_count; i++) {
		const struct seep_doctor_finding *finding = &verdict->findings[i];

		if (!*finding->sentence)
			continue;
		seep_json_open_object(json, NULL);
		seep_json_text(json, "code", seep_doctor_checks[i].code);
		seep_json_text(json, "about", seep_doctor_checks[i].about);
		seep_json_text(json, "result", result_names[finding->result]);
		seep_json_text(json, "sentence", finding->sentence);
		seep_json_text(json, "advice", *finding->advice ? finding->advice : NULL);
		seep_json_close(json);
	}
	seep_json_close(json);
	write_restart(json, facts);
	seep_json_close(json);
	seep_json_finish(json);
	free(json);
}

/* ------------------------------------------------------------------------------------------- */

int cmd_doctor(int argc, char **argv)
{
	struct doctor_options values = { 0 };
	struct seep_doctor_facts facts;
	struct verdict verdict;
	uint64_t pid;
	int status;

	if (!seep_command_begin(&argc, &argv, &values, &status))
		return status;
	if (values.json && *values.json && strcmp(values.json, "strings") != 0) {
		seep_complainf("doctor", "it is --json or --json=strings, not --json=%s",
			       values.json);
		return SEEP_EXIT_USAGE;
	}
	seep_doctor_facts_init(&facts);
	look_at_machine(&facts);
	if (argc == 1 && is_pid(argv[0], &pid)) {
		seep_doctor_look_at_process(&facts, (uint32_t)pid);
		look_at_ledger(&facts);
		look_at_exe(&facts);
	} else if (argc > 0) {
		seep_doctor_look_at_program(&facts, argv[0]);
	}
	verdict = judge(&facts);
	if (values.json)
		print_json(&facts, &verdict, *values.json != '\0');
	else
		print_text(&facts, &verdict);
	free(verdict.findings);
	seep_doctor_facts_done(&facts);
	return verdict.problems ? SEEP_EXIT_FOUND : SEEP_EXIT_OK;
}
