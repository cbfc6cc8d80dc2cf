/* SPDX-License-Identifier: MIT */
#include "cli/ledger_operand.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/maps.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/complain.h"
#include "cli/symbol_options.h"
#include "import/import.h"
#include "profile/process_life.h"
#include "recording/recording.h"

enum { LISTED_MAX = 20 };

/* Is it @ancestor, or was it started by it, directly or not, as far as they are recorded? */
static bool descends(const struct seep_census *census, const struct seep_census_entry *entry,
		     const struct seep_census_entry *ancestor)
{
	for (size_t i = 0; i < census->count && entry; i++) {
		if (entry == ancestor)
			return true;
		entry = seep_census_parent(census, entry);
	}
	return false;
}

/* @name: of its file, or as it was started: the file may be a link's; NULL: any. */
static bool is_meant(const struct seep_census_entry *entry, const char *name)
{
	struct seep_procfs_stat stat;

	return seep_census_runs(entry) &&
	       (!name || (entry->exe && strcmp(seep_path_base(entry->exe), name) == 0) ||
		(seep_procfs_stat(entry->here_pid, &stat) && strcmp(stat.name, name) == 0));
}

static void list(const struct seep_census *census, const char *name)
{
	for (size_t i = 0, listed = 0; i < census->count && listed < LISTED_MAX; i++) {
		const struct seep_census_entry *entry = &census->entries[i];

		if (!is_meant(entry, name) || (!name && seep_census_parent(census, entry)))
			continue;
		seep_print_escaped(stderr, "%10u  %s", entry->here_pid, entry->exe);
		listed++;
	}
}

/* The only process that runs the program @name now, or the one that started all others. */
static int find_running(const struct seep_census *census, const char *name,
			const struct seep_census_entry **ret_entry, struct seep_error *err)
{
	const struct seep_census_entry *found = NULL;
	size_t apart = 0;

	for (size_t i = 0; i < census->count; i++) {
		const struct seep_census_entry *entry = &census->entries[i];

		if (is_meant(entry, name) && (!found || descends(census, found, entry)))
			found = entry;
	}
	for (size_t i = 0; i < census->count; i++)
		apart += is_meant(&census->entries[i], name) &&
			 !descends(census, &census->entries[i], found);
	*ret_entry = found;
	if (!apart)
		return found || name
			       ? 0
			       : seep_fail(err, SEEP_ENOTFOUND, "no process is being recorded");
	list(census, name);
	return name ? seep_fail(err, SEEP_EUSAGE, "several processes run %s: say which, by its pid",
				name)
		    : seep_fail(err, SEEP_EUSAGE,
				"several processes are recorded: say which, by its pid");
}

/* Adds the ledger that process @pid has mapped, as it is to be reached from here, if it has one. */
static void add_mapped(uint32_t pid, struct seep_census *census)
{
	SEEP_RELEASED(seep_maps_done) struct seep_maps maps = { 0 };
	bool added = false;

	(void)!seep_maps_read((pid_t)pid, &maps, NULL);
	for (size_t i = 0; i < maps.count && !added; i++) {
		SEEP_FREED char *path = seep_xasprintf("/proc/%u/root%s", pid, maps.items[i].name);

		/* Of a process that has changed its root the kernel tells the path from ours. */
		added = maps.items[i].shared && strstr(path, ".ledger") &&
			(seep_census_add(census, path) ||
			 seep_census_add(census, maps.items[i].name));
	}
}

static int find_pid(uint32_t pid, struct seep_ledger_operand *ret, struct seep_error *err)
{
	const struct seep_census *census = &ret->census;
	size_t known;

	ret->entry = seep_census_find(census, pid);
	if (!ret->entry || ret->entry->here_pid != pid) {
		known = ret->entry ? (size_t)(ret->entry - census->entries) : census->count;
		add_mapped(pid, &ret->census);
		ret->entry = seep_census_find(census, pid);
		/* It may have the one mapped that it was detached from. */
		if (ret->entry && ret->entry->is_detached && census->entries[known].is_detached)
			ret->entry = &census->entries[known];
	}
	return ret->entry ? 0
			  : seep_fail(err, SEEP_ENOTFOUND, "there is no ledger of process %u", pid);
}

static int find_file_or_name(const char *operand, struct seep_ledger_operand *ret,
			     struct seep_error *err)
{
	const struct seep_census *census = &ret->census;
	const char *kind = seep_profile_file_kind(operand);

	for (size_t i = 0; i < census->count && kind; i++)
		if (seep_path_is_same_file(census->entries[i].path, operand)) {
			ret->entry = &census->entries[i];
			return 0;
		}
	if (!kind)
		return find_running(census, operand, &ret->entry, err);
	/* What cannot be read says so when it is. */
	if (strcmp(kind, "ledger") == 0 && seep_census_add(&ret->census, operand))
		ret->entry = &census->entries[census->count - 1];
	return 0;
}

int seep_ledger_operand_find(const char *operand, struct seep_ledger_operand *ret,
			     struct seep_error *err)
{
	size_t listed;
	uint64_t pid;
	int rc;

	*ret = (struct seep_ledger_operand){ 0 };
	rc = seep_census_take(&ret->census, err);
	if (rc < 0)
		return rc;
	listed = ret->census.count;
	if (!operand)
		rc = find_running(&ret->census, NULL, &ret->entry, err);
	else if (seep_parse_count(operand, UINT32_MAX, &pid, NULL) == 0 &&
		 access(operand, F_OK) != 0)
		rc = find_pid((uint32_t)pid, ret, err);
	else
		rc = find_file_or_name(operand, ret, err);
	if (rc < 0)
		return rc;
	if (ret->entry && ret->entry->state == SEEP_CENSUS_ENDING && !ret->entry->is_replaced)
		return seep_fail(err, SEEP_EEXIST, "its recorder (pid %u) is writing the recording",
				 ret->entry->recorder_pid);
	ret->runs = ret->entry && seep_census_runs(ret->entry);
	if (ret->entry && ret->entry->here_pid)
		seep_symbol_options_see(ret->entry->here_pid);
	ret->unlisted = ret->entry && ret->entry == &ret->census.entries[listed];
	ret->path = seep_xstrdup(ret->entry ? ret->entry->path : operand);
	return 0;
}

void seep_ledger_operand_done(struct seep_ledger_operand *ledger)
{
	free(ledger->path);
	seep_census_done(&ledger->census);
	*ledger = (struct seep_ledger_operand){ 0 };
}

int seep_ledger_operand_check(const struct seep_ledger_operand *ledger, struct seep_error *err)
{
	if (ledger->runs)
		return 0;
	if (!ledger->entry)
		return seep_fail(err, SEEP_ENOTFOUND,
				 access(ledger->path, F_OK) == 0
					 ? "%s is the ledger of no process that runs"
					 : "no process that is recorded is called %s",
				 ledger->path);
	if (ledger->entry->state == SEEP_CENSUS_ELSEWHERE)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "process %u is in another container; run seep there",
				 ledger->entry->pid);
	return seep_fail(err, SEEP_ENOTFOUND, "process %u %s", ledger->entry->pid,
			 seep_process_life_text(ledger->entry->is_replaced   ? SEEP_PROCESS_REPLACED
						: ledger->entry->is_detached ? SEEP_PROCESS_DETACHED
									     : SEEP_PROCESS_DEAD));
}

int seep_ledger_operand_open(const struct seep_ledger_operand *ledger, struct seep_ledger *ret,
			     struct seep_error *err)
{
	int rc = seep_ledger_operand_check(ledger, err);

	return rc == 0 ? seep_ledger_open(AT_FDCWD, ledger->path, SEEP_LEDGER_WRITE, ret, err) : rc;
}

int seep_ledger_operand_path(const char *operand, char **ret_path, struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand found = { 0 };
	int rc = 0;

	*ret_path = NULL;
	if (!seep_profile_file_kind(operand))
		rc = seep_ledger_operand_find(operand, &found, err);
	/* A file of another kind and that name: whoever reads it says so. */
	if (rc == -SEEP_ENOTFOUND && access(operand, F_OK) == 0)
		rc = 0;
	if (rc == 0)
		*ret_path = seep_xstrdup(found.path ? found.path : operand);
	return rc;
}

/* ---- what to do after a complaint --------------------------------------------------------------- */

/* Say that "seep import" reads @path, if it does; else nothing. */
static void hint_import(const char *path)
{
	enum { START_BYTES = 64 * 1024 };
	SEEP_FREED char *start = NULL;
	struct stat st;
	long bytes;

	/* Opening a device can have effects, and reading a pipe takes what is in it. */
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || seep_profile_file_kind(path))
		return;
	start = seep_xmalloc(START_BYTES);
	bytes = seep_file_read_start(path, start, START_BYTES);
	if (bytes > 0 && seep_importer_detect(start, (size_t)bytes))
		seep_hint("\"seep import %s\" makes a recording of it", path);
}

void seep_ledger_hint(const char *operand, const struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand found = { 0 };
	struct seep_procfs_status status;
	uint64_t pid = 0;

	if (operand && err->code == SEEP_ECORRUPT)
		hint_import(operand);
	if (!operand || (err->code != SEEP_ENOTFOUND && err->code != SEEP_EUNSUPPORTED))
		return;
	(void)!seep_ledger_operand_find(operand, &found, NULL);
	if (found.entry)
		pid = found.entry->here_pid;
	else
		(void)!seep_parse_count(operand, UINT32_MAX, &pid, NULL);
	if (!found.entry && access(operand, F_OK) == 0)
		;
	else if (pid && seep_procfs_status((uint32_t)pid, &status) && status.uid != geteuid())
		seep_hint("it runs as user %u: run seep as that user", status.uid);
	else if (!found.entry && pid && seep_procfs_alive((uint32_t)pid, 0))
		seep_hint("\"seep attach %s\" records it from now on; a forked child that has "
			  "allocated nothing yet, or ended small, has no ledger",
			  operand);
	else if (!found.entry)
		seep_hint(
			"\"seep ps\" lists the processes that are recorded, \"seep run PROGRAM\" "
			"records one; a forked child that has allocated nothing yet, or ended small, "
			"has no ledger");
	else if (found.path && !found.runs && access(found.path, F_OK) == 0)
		seep_hint("\"seep save %s\" makes a recording of what %s", operand,
			  found.entry->is_detached ? "was recorded" : "has ended");
}

/* Whoever names a process. Returns false when @operand is none, nor a number. */
static bool hint_process(const char *operand)
{
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand process = { 0 };
	struct seep_error err = { 0 };

	if (seep_ledger_operand_find(operand, &process, &err) == -SEEP_ENOTFOUND)
		seep_ledger_hint(operand, &err);
	else if (process.runs)
		seep_hint("\"seep save %s\" makes a recording of that process; \"seep top %s\" and "
			  "\"seep leaks %s\" look at it as it runs",
			  operand, operand, operand);
	else if (process.entry)
		seep_hint("\"seep save %s\" makes a recording of that process", operand);
	else
		return false;
	return true;
}

void seep_open_hint(const char *path, const struct seep_error *err)
{
	if (err->code == SEEP_ECORRUPT)
		hint_import(path);
	else if (err->code == SEEP_ENOTFOUND && access(path, F_OK) != 0 && !hint_process(path))
		seep_hint("\"seep run PROGRAM\" makes a recording");
}
