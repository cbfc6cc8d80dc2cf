/* SPDX-License-Identifier: MIT */
/* "seep doctor": why recording would fail here, or show little, and what to change. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/procfs.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "recorder/census.h"
#include "recorder/ledgerdir.h"
#include "base/json_writer.h"
#include "target/attach_check.h"
#include "target/reasons.h"

enum { WORD_COLUMNS = 9, COMMAND_MAX_BYTES = 1 << 20 };

static const char *json_form;

static const struct seep_option options[] = {
	SEEP_OPTION("json", 0, OPTIONAL, "strings", json_form,
		    "Print JSON; \"strings\": large numbers as strings",
		    .choices = seep_json_forms),
};

const struct seep_option_table cmd_doctor_options = {
	SEEP_OPTIONS(options),
	.max_operands = SIZE_MAX,
	.operand_ends_options = true,
	.details =
		"Without an argument it checks this machine; with PROGRAM also that program,\n"
		"without running it; with PID also that process. A number is a PID; write ./123\n"
		"for a program of that name. Of a process that is not recorded it says whether\n"
		"\"seep attach\" would work.\n"
		"\n"
		"Exit status: 0 when nothing prevents recording, 1 when there are problems.\n",
};

static const char *const level_names[] = { "ok", "note", "problem" };

static void look_at_machine(struct seep_facts *facts)
{
	struct seep_ledger_place place;
	struct seep_error err = { 0 };

	if (seep_ledger_place_choose(0, &place, &err) < 0) {
		SEEP_FREED char *asked = seep_ledgerdir_asked();

		seep_facts_look_at_machine(facts, asked ? asked : "/dev/shm", err.text);
	} else {
		seep_facts_look_at_machine(facts, place.path, NULL);
		/* It was made to be looked at. Not empty: it is in use by now. */
		if (place.was_made)
			(void)rmdir(place.path);
		seep_ledger_place_done(&place);
	}
	seep_facts_look_at_output(facts);
}

/* What its ledger says. */
static void look_at_ledger(struct seep_process_facts *process)
{
	const struct seep_census_entry *entry;
	SEEP_RELEASED(seep_census_done) struct seep_census census = { 0 };

	if (seep_census_take(&census, NULL) < 0)
		return;
	entry = seep_census_find(&census, process->pid);
	if (entry && seep_census_runs(entry))
		process->recorded = seep_census_state_name(entry->state);
}

/* The program of a process, by a path under which it can be opened from here. */
static void look_at_exe(struct seep_facts *facts)
{
	const struct seep_process_facts *process = &facts->process;
	const pid_t pid = (pid_t)process->pid;
	SEEP_FREED char *path = NULL;

	if (!process->exe)
		return;
	path = seep_xasprintf("%s%s", process->other_root ? seep_procfs_path(pid, "root").text : "",
			      process->exe);
	seep_facts_look_inside_program(
		facts, access(path, F_OK) == 0 ? path : seep_procfs_path(pid, "exe").text);
}

static void look_at(struct seep_facts *facts, const char *operand)
{
	uint64_t pid;

	look_at_machine(facts);
	if (!operand)
		return;
	if (seep_parse_count(operand, INT32_MAX, &pid, NULL) < 0) {
		seep_facts_look_inside_program(facts, operand);
		return;
	}
	seep_facts_look_at_process(facts, (uint32_t)pid);
	look_at_ledger(&facts->process);
	look_at_exe(facts);
}

static bool can_restart(const struct seep_facts *facts)
{
	return (facts->looked & SEEP_FACTS_PROCESS) && facts->process.command_bytes > 0 &&
	       !facts->process.recorded && facts->machine.library && facts->process.pid != 1;
}

/* The process's own command as words for a shell, behind @prefix and @word. Release with free(). */
static char *restart_command(const struct seep_facts *facts, const char *prefix, const char *word)
{
	const struct seep_process_facts *process = &facts->process;
	SEEP_STRBUF(line, COMMAND_MAX_BYTES);

	seep_strbuf_addf(&line, "%s%s", prefix, word);
	for (size_t at = 0; at < process->command_bytes; at += strlen(process->command + at) + 1) {
		seep_strbuf_addc(&line, ' ');
		seep_text_shell_word(&line, process->command + at);
	}
	return seep_strbuf_take(&line);
}

/* What is said of attaching is about a process that is there, and that seep does not record. */
static bool may_want_to_attach(const struct seep_facts *facts)
{
	const struct seep_process_facts *process = &facts->process;

	return (facts->looked & SEEP_FACTS_PROCESS) && process->exists && !process->is_kernels &&
	       !process->recorded;
}

/* A finding's text begins in lower case; a name at its beginning stays as it is. */
static void print_sentence(const struct seep_printer *printer, enum seep_style how,
			   const char *text, const char *end)
{
	SEEP_FREED char *escaped = seep_escape_dup(text);
	SEEP_FREED char *whole = seep_xasprintf("%s%s", escaped, end);
	size_t letters = strspn(whole, "abcdefghijklmnopqrstuvwxyz");

	if (letters && strchr(" ,", whole[letters]))
		whole[0] = (char)toupper((unsigned char)whole[0]);
	seep_text_fold(printer, how, WORD_COLUMNS, WORD_COLUMNS, whole);
}

static void print_findings(const struct seep_printer *printer, const struct seep_findings *found,
			   enum seep_finding_level level)
{
	enum seep_style how = level == SEEP_FINDING_PROBLEM ? SEEP_STYLE_BOLD : SEEP_STYLE_PLAIN;

	for (size_t i = 0; i < found->count; i++) {
		const struct seep_finding *finding = &found->items[i];

		if (finding->level != level)
			continue;
		printf("%s%-*s%s", seep_style_on(printer, how), WORD_COLUMNS, level_names[level],
		       seep_style_off(printer, how));
		print_sentence(printer, how, finding->sentence, "");
		if (!*finding->advice)
			continue;
		printf("%*s", WORD_COLUMNS, "");
		print_sentence(printer, SEEP_STYLE_PLAIN, finding->advice, ".");
	}
}

/* What is well, in few lines: the checks by name. */
static void print_well(const struct seep_printer *printer, const struct seep_findings *found)
{
	SEEP_STRBUF(names, SEEP_LINE_BYTES_MAX);

	for (size_t i = 0; i < found->count; i++)
		if (found->items[i].level == SEEP_FINDING_OK)
			seep_strbuf_addf(&names, "%s%s", names.length ? ", " : "",
					 found->items[i].code);
	printf("%-*s", WORD_COLUMNS, level_names[SEEP_FINDING_OK]);
	seep_text_fold(printer, SEEP_STYLE_DIM, WORD_COLUMNS, WORD_COLUMNS, names.text);
}

static void print_attaching(const struct seep_printer *printer, const struct seep_facts *facts,
			    const struct seep_findings *attaching)
{
	printf("\n%sAttaching%s\n", seep_style_on(printer, SEEP_STYLE_BOLD),
	       seep_style_off(printer, SEEP_STYLE_BOLD));
	print_findings(printer, attaching, SEEP_FINDING_PROBLEM);
	print_findings(printer, attaching, SEEP_FINDING_NOTE);
	print_well(printer, attaching);
	if (seep_findings_of_level(attaching, SEEP_FINDING_PROBLEM))
		printf("\nit cannot be attached to\n");
	else
		printf("\nto record it from now on, as it runs:\n  seep attach %u\n",
		       facts->process.pid);
}

static void print_text(const struct seep_facts *facts, const struct seep_findings *found,
		       const struct seep_findings *attaching)
{
	const struct seep_printer printer = seep_printer_for(stdout, 80);
	size_t problems = seep_findings_of_level(found, SEEP_FINDING_PROBLEM),
	       notes = seep_findings_of_level(found, SEEP_FINDING_NOTE);

	print_findings(&printer, found, SEEP_FINDING_PROBLEM);
	print_findings(&printer, found, SEEP_FINDING_NOTE);
	print_well(&printer, found);
	printf("\n%s", problems ? seep_things_text(problems, "problem").text : "no problems");
	if (notes)
		printf(", %s", seep_things_text(notes, "note").text);
	printf("\n");
	if (attaching)
		print_attaching(&printer, facts, attaching);
	if (can_restart(facts)) {
		SEEP_FREED char *run = restart_command(facts, "seep run --", "");
		SEEP_FREED char *preload = restart_command(facts,
							   "LD_PRELOAD=", facts->machine.library);

		printf("\nTo start it again and record it:\n  %s\n"
		       "or, without a recorder, for \"seep ps\" and \"seep report LEDGER\":\n  %s\n",
		       run, preload);
	}
}

static void write_subject(struct seep_json *json, const struct seep_facts *facts)
{
	seep_json_open_object(json, "subject");
	if (facts->looked & SEEP_FACTS_PROCESS) {
		seep_json_text(json, "kind", "process");
		seep_json_int(json, "pid", facts->process.pid);
		seep_json_text(json, "program", facts->process.exe);
	} else {
		seep_json_text(json, "kind",
			       facts->looked & SEEP_FACTS_PROGRAM ? "program" : "machine");
		seep_json_null(json, "pid");
		seep_json_text(json, "program", facts->program.name);
	}
	seep_json_text(json, "state", facts->process.recorded);
	seep_json_close(json);
}

static void write_restart(struct seep_json *json, const struct seep_facts *facts)
{
	SEEP_FREED char *run = NULL, *preload = NULL;

	if (!seep_json_open_known(json, "restart", can_restart(facts)))
		return;
	run = restart_command(facts, "seep run --", "");
	preload = restart_command(facts, "LD_PRELOAD=", facts->machine.library);
	seep_json_text(json, "run", run);
	seep_json_text(json, "preload", preload);
	seep_json_close(json);
}

static void write_checks(struct seep_json *json, const struct seep_findings *found)
{
	for (size_t i = 0; seep_json_each_object(json, "checks", i, found->count); i++) {
		const struct seep_finding *finding = &found->items[i];

		seep_json_text(json, "code", finding->code);
		seep_json_text(json, "result", level_names[finding->level]);
		seep_json_text(json, "sentence", *finding->sentence ? finding->sentence : NULL);
		seep_json_text(json, "advice", *finding->advice ? finding->advice : NULL);
	}
}

static void write_attaching(struct seep_json *json, const struct seep_findings *attaching)
{
	if (!seep_json_open_known(json, "attach", attaching != NULL))
		return;
	seep_json_bool(json, "possible",
		       seep_findings_of_level(attaching, SEEP_FINDING_PROBLEM) == 0);
	write_checks(json, attaching);
	seep_json_close(json);
}

static void print_json(const struct seep_facts *facts, const struct seep_findings *found,
		       const struct seep_findings *attaching, bool strings)
{
	struct seep_json *json = seep_json_new(stdout, strings);

	seep_json_open_document(json, NULL);
	write_subject(json, facts);
	seep_json_int(json, "problems",
		      (int64_t)seep_findings_of_level(found, SEEP_FINDING_PROBLEM));
	seep_json_int(json, "notes", (int64_t)seep_findings_of_level(found, SEEP_FINDING_NOTE));
	write_checks(json, found);
	write_attaching(json, attaching);
	write_restart(json, facts);
	seep_json_finish(json);
}

int cmd_doctor(char **operands, struct seep_error *err)
{
	SEEP_FREED struct seep_findings *found = seep_xmalloc(sizeof(*found));
	SEEP_FREED struct seep_findings *attaching = NULL;
	SEEP_RELEASED(seep_facts_done) struct seep_facts facts;

	(void)err;
	seep_facts_init(&facts);
	look_at(&facts, operands[0]);
	seep_reasons_find(&facts, found);
	if (may_want_to_attach(&facts)) {
		struct seep_attach_facts process;

		attaching = seep_xmalloc(sizeof(*attaching));
		seep_attach_look((pid_t)facts.process.pid, &process);
		seep_attach_judge(&process, attaching);
	}
	if (json_form)
		print_json(&facts, found, attaching, *json_form != '\0');
	else
		print_text(&facts, found, attaching);
	return seep_findings_of_level(found, SEEP_FINDING_PROBLEM) ? SEEP_EXIT_FOUND : SEEP_EXIT_OK;
}
