/* SPDX-License-Identifier: MIT */
#include "cli/ledger_operand.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/procfs.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/complain.h"
#include "recording/recording.h"

static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;

	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

static bool is_running(const struct seep_census *census, const struct seep_census_entry *entry)
{
	return entry->state <= SEEP_CENSUS_RECORDER_GONE &&
	       seep_census_find(census, entry->pid) == entry;
}

/* By its file, or as it was started: the file may be a link's. */
static bool is_called(const struct seep_census_entry *entry, const char *name)
{
	struct seep_procfs_stat stat;

	return (entry->exe && strcmp(seep_path_base(entry->exe), name) == 0) ||
	       (seep_procfs_stat(entry->pid, &stat) && strcmp(stat.name, name) == 0);
}

/* Is it @ancestor, or was it started by it, directly or not, as far as they are recorded? */
static bool descends(const struct seep_census *census, const struct seep_census_entry *entry,
		     const struct seep_census_entry *ancestor)
{
	for (size_t i = 0; i < census->count && entry; i++) {
		if (entry == ancestor)
			return true;
		entry = seep_census_find(census, entry->ppid);
	}
	return false;
}

/* The only process that runs the program @name now; @tree: or the one that started all others. */
static int find_by_name(const struct seep_census *census, const char *name, bool tree,
			const struct seep_census_entry **ret_entry, struct seep_error *err)
{
	const struct seep_census_entry *found = NULL;

	for (size_t i = 0; i < census->count; i++) {
		const struct seep_census_entry *entry = &census->entries[i];

		if (is_running(census, entry) && is_called(entry, name) &&
		    (!found || (tree && descends(census, found, entry))))
			found = entry;
	}
	for (size_t i = 0; i < census->count; i++) {
		const struct seep_census_entry *entry = &census->entries[i];

		if (entry == found || !is_running(census, entry) || !is_called(entry, name) ||
		    (tree && descends(census, entry, found)))
			continue;
		return seep_fail(err, SEEP_EUSAGE,
				 "several processes run %s, pid %u and %u among them: say which",
				 name, found->pid, entry->pid);
	}
	*ret_entry = found;
	return 0;
}

static int find(const struct seep_census *census, const char *operand, bool tree,
		struct seep_ledger_operand *ret, struct seep_error *err)
{
	uint64_t pid;
	const bool is_pid = seep_parse_count(operand, UINT32_MAX, &pid, NULL) == 0;
	int rc = 0;

	*ret = (struct seep_ledger_operand){ 0 };
	if (is_pid)
		ret->entry = seep_census_find(census, (uint32_t)pid);
	for (size_t i = 0; i < census->count && !is_pid && !ret->entry; i++)
		if (is_same_file(census->entries[i].path, operand))
			ret->entry = &census->entries[i];
	if (!ret->entry && !is_pid && !seep_profile_file_kind(operand))
		rc = find_by_name(census, operand, tree, &ret->entry, err);
	if (rc < 0)
		return rc;
	if (ret->entry && ret->entry->state == SEEP_CENSUS_ENDING)
		return seep_fail(err, SEEP_EEXIST, "its recorder (pid %u) is writing the recording",
				 ret->entry->recorder_pid);
	if (!ret->entry && is_pid)
		return seep_fail(err, SEEP_ENOTFOUND, "there is no ledger of process %s", operand);
	if (ret->entry && ret->entry->state <= SEEP_CENSUS_RECORDER_GONE) {
		ret->runs = is_running(census, ret->entry);
		ret->replaced = !ret->runs;
	}
	ret->path = seep_xstrdup(ret->entry ? ret->entry->path : operand);
	return 0;
}

int seep_ledger_operand_find(const struct seep_census *census, const char *operand,
			     struct seep_ledger_operand *ret, struct seep_error *err)
{
	return find(census, operand, false, ret, err);
}

int seep_ledger_operand_find_tree(const struct seep_census *census, const char *operand,
				  struct seep_ledger_operand *ret, struct seep_error *err)
{
	return find(census, operand, true, ret, err);
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
			 ledger->replaced ? "runs another program by now" : "has ended");
}

int seep_ledger_operand_open(const struct seep_ledger_operand *ledger, struct seep_ledger *ret,
			     struct seep_error *err)
{
	int rc = seep_ledger_operand_check(ledger, err);

	return rc == 0 ? seep_ledger_open(AT_FDCWD, ledger->path, SEEP_LEDGER_WRITE, ret, err) : rc;
}

void seep_ledger_operand_hint(const char *operand)
{
	struct seep_procfs_status status;
	uint64_t pid;

	if (seep_parse_count(operand, UINT32_MAX, &pid, NULL) == 0 &&
	    seep_procfs_status((uint32_t)pid, &status) && status.uid != geteuid())
		seep_hint("it runs as user %u: run seep as that user", status.uid);
	else
		seep_hint("\"seep ps\" lists the processes that are recorded; a forked child that "
			  "has allocated little is counted in its parent's ledger");
}
