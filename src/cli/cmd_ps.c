/* SPDX-License-Identifier: MIT */
/* "seep ps": list recorded processes, and the ledgers that dead ones left. */
#include <stdio.h>

#include "analysis/growth_text.h"
#include "base/table.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/ledger_operand.h"
#include "core/bits.h"
#include "recorder/census.h"
#include "base/json_writer.h"

enum { PROBLEMS_SHOWN_MAX = 8 };

static const char *json_form;
static bool is_reaping;

static const struct seep_option options[] = {
	SEEP_OPTION("json", 0, OPTIONAL, "strings", json_form,
		    "Print JSON; \"strings\": large numbers as strings",
		    .choices = seep_json_forms),
	SEEP_OPTION("reap", 0, FLAG, NULL, is_reaping,
		    "Remove the ledgers of processes that ended or were detached from, if no "
		    "running one needs them"),
};

const struct seep_option_table cmd_ps_options = {
	SEEP_OPTIONS(options),
	.max_operands = 1,
	.details = "seep looks for ledgers in the folders seep-UID of /dev/shm, /run/user/UID,\n"
		   "/var/tmp and /tmp, and in $SEEP_DIR. States:\n"
		   "\n"
		   "  recorded       runs, and \"seep run\" follows it\n"
		   "  running        runs, without a recorder\n"
		   "  recorder-gone  runs, but its recorder died\n"
		   "  ending         ended; its recorder is writing the recording\n"
		   "  dead           ended without a recording; \"seep save\" makes one\n"
		   "  detached       not recorded any more, without a recording; the same\n"
		   "  done           ended or detached, recorded; kept because children need it\n"
		   "  elsewhere      not to be seen from here: seep cannot tell whether it runs\n"
		   "\n"
		   "With a PID, the NAME of a program or a LEDGER only that one is listed.\n"
		   "\n"
		   "TREND is how fast the call stacks grow that \"seep run\" calls GROWING.\n"
		   "\n"
		   "--reap removes the dead, the detached and the done, without asking, and says\n"
		   "which. Their ledger is all that is left of their figures: save first what you\n"
		   "need.\n"
		   "Where SEEP_DIR is set, only what lies in that folder is removed.\n",
};

static void print_json(const struct seep_census *census, bool strings)
{
	struct seep_json *json = seep_json_new(stdout, strings);

	seep_json_open_document(json, NULL);
	for (size_t i = 0; seep_json_each_object(json, "processes", i, census->count); i++) {
		const struct seep_census_entry *entry = &census->entries[i];

		seep_json_int(json, "pid", entry->pid);
		seep_json_int(json, "ppid", entry->ppid);
		seep_json_int(json, "here_pid", entry->here_pid);
		seep_json_text(json, "exe", entry->exe);
		seep_json_text(json, "state", seep_census_state_name(entry->state));
		seep_json_int(json, "recorder_pid", entry->recorder_pid);
		seep_json_u64(json, "live_bytes", entry->live_bytes);
		seep_json_u64(json, "allocs", entry->allocs);
		seep_json_u64(json, "frees", entry->frees);
		seep_json_u64(json, "start_realtime_ns", entry->created_realtime_ns);
		seep_json_u64(json, "age_ns", entry->age_ns);
		if (entry->growth_known) {
			seep_json_u64(json, "growing_contexts", entry->growing_contexts);
			seep_json_u64(json, "growing_bytes_per_hour",
				      entry->growing_bytes_per_hour);
		}
		seep_json_u64(json, "ledger_bytes", entry->space_bytes);
		seep_json_text(json, "ledger", entry->path);
	}
	seep_json_finish(json);
}

/* What its recorder saw. */
static struct seep_rate_text trend_of(const struct seep_census_entry *entry)
{
	struct seep_rate_text trend = { "-" };

	if (entry->growing_contexts)
		trend = seep_growth_rate_text(entry->growing_bytes_per_hour);
	else if (entry->growth_known)
		(void)snprintf(trend.text, sizeof(trend.text), "steady");
	return trend;
}

/* @below: the ledger's path is on a line of its own. */
static struct seep_table *make_table(const struct seep_census *census, bool below)
{
	static const struct seep_column columns[] = {
		{ "PID", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "STATE", SEEP_ALIGN_LEFT, SEEP_CUT_NEVER, 0 },
		{ "LIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "AGE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "TREND", SEEP_ALIGN_LEFT, SEEP_CUT_NEVER, 0 },
		{ "PROGRAM", SEEP_ALIGN_LEFT, SEEP_CUT_START, 0 },
		{ "LEDGER", SEEP_ALIGN_LEFT, SEEP_CUT_NEVER, 0 },
	};
	struct seep_table *table = seep_table_new(columns, below ? 6 : 7);

	for (size_t i = 0; i < census->count; i++) {
		const struct seep_census_entry *entry = &census->entries[i];
		SEEP_FREED char *pid = seep_xasprintf("%u", entry->here_pid ? entry->here_pid
									    : entry->pid);
		SEEP_FREED char *path = seep_xasprintf("%s%s", below ? "  " : "", entry->path);

		seep_table_add(table, pid);
		seep_table_add(table, seep_census_state_name(entry->state));
		seep_table_add(table, seep_bytes_text(entry->live_bytes).text);
		seep_table_add(table, seep_duration_text(entry->age_ns).text);
		seep_table_add(table, trend_of(entry).text);
		seep_table_add(table, entry->exe);
		if (below)
			seep_table_add_line(table, SEEP_STYLE_PLAIN, SEEP_CUT_NEVER, path);
		else
			seep_table_add(table, path);
	}
	return table;
}

/* The ledger's path is there to be copied, whole: where it does not fit it goes below. */
static void print_table(const struct seep_census *census)
{
	const struct seep_printer printer = seep_printer_for(stdout, 0);
	SEEP_RELEASED(seep_table_free_at) struct seep_table *table = make_table(census, false);

	if (!seep_table_fits(table, printer.width)) {
		seep_table_free(table);
		table = make_table(census, true);
	}
	seep_table_print(table, &printer, 0);
}

/* Ledgers in /dev/shm are memory: say what can be done about those that nobody will fetch. */
static void hint_stale(const struct seep_census *census)
{
	const struct seep_census_entry *first = NULL;
	SEEP_STRBUF(path, SEEP_LINE_BYTES_MAX);
	uint64_t bytes = 0;
	size_t count = 0, reapable = 0;

	for (size_t i = 0; i < census->count; i++) {
		if (!seep_census_is_over(&census->entries[i]) ||
		    census->entries[i].state == SEEP_CENSUS_DONE)
			continue;
		reapable += census->entries[i].may_be_reaped;
		if (!first)
			first = &census->entries[i];
		bytes += census->entries[i].space_bytes;
		count++;
	}
	if (!first)
		return;
	printf("\n%zu %s left behind, %s:\n", count, count == 1 ? "ledger was" : "ledgers were",
	       seep_bytes_text(bytes).text);
	seep_text_shell_word(&path, first->path);
	printf("  to read one:    seep report %s\n", path.text);
	printf("  to keep one:    seep save %s\n", path.text);
	printf("  to remove one:  rm %s\n", path.text);
	if (reapable == count)
		printf("  to remove all:  seep ps --reap\n");
	else if (reapable)
		printf("  to remove %zu, in $SEEP_DIR:  seep ps --reap\n", reapable);
}

/* What is not in the list for another reason than that it is not there. */
static void tell_problems(const struct seep_census *census)
{
	const size_t shown = core_smaller(census->problems.count, PROBLEMS_SHOWN_MAX);

	for (size_t i = 0; i < shown; i++)
		seep_complainf("ps", "not listed: %s", census->problems.items[i]);
	if (census->problems.count > shown)
		seep_complainf("ps", "not listed: %zu more that cannot be read",
			       census->problems.count - shown);
}

struct reaped {
	uint64_t bytes;
	size_t count;
};

static void tell_reaped(void *context, const struct seep_census_entry *entry, const char *kept_why)
{
	struct reaped *reaped = context;

	if (kept_why) {
		seep_print_escaped(stdout, "kept %s: %s", entry->path, kept_why);
		return;
	}
	seep_print_escaped(stdout, "removed %s, %s", entry->path,
			   seep_bytes_text(entry->space_bytes).text);
	reaped->count++;
	reaped->bytes += entry->space_bytes;
}

static void reap(const struct seep_census *census)
{
	struct reaped reaped = { 0 };

	seep_census_reap(census, tell_reaped, &reaped);
	printf("%s removed, %s\n", seep_things_text(reaped.count, "ledger").text,
	       seep_bytes_text(reaped.bytes).text);
}

static void print(const struct seep_census *census)
{
	if (json_form)
		print_json(census, *json_form != '\0');
	else
		print_table(census);
}

static void print_all(const struct seep_census *census)
{
	if (is_reaping) {
		reap(census);
	} else if (census->count == 0 && !json_form) {
		printf("no process is being recorded, and no ledger was left behind%s\n",
		       census->problems.count ? " that can be read" : "");
	} else {
		print(census);
		if (!json_form)
			hint_stale(census);
	}
}

int cmd_ps(char **operands, struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand found = { 0 };
	int rc;

	if (is_reaping && (json_form || operands[0]))
		return seep_fail(err, SEEP_EUSAGE, "--reap cannot be used with %s",
				 json_form ? "--json" : operands[0]);
	rc = operands[0] ? seep_ledger_operand_find(operands[0], &found, err)
			 : seep_census_take(&found.census, err);
	if (rc == 0 && operands[0] && !found.entry)
		rc = seep_ledger_operand_check(&found, err);
	if (rc == 0 && operands[0])
		print(&(struct seep_census){ .entries = (void *)(uintptr_t)found.entry,
					     .count = 1 });
	else if (rc == 0)
		print_all(&found.census);
	(void)fflush(stdout);
	tell_problems(&found.census);
	return rc;
}
