/* SPDX-License-Identifier: MIT */
/*
 * A look at the folder costs a list of its names, and a page of each ledger that is new: the figures
 * of all ledgers, which the census reads, would take long.
 */
#include "cli/top_find.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/terminal.h"
#include "base/xalloc.h"
#include "cli/complain.h"
#include "cli/ledger_operand.h"
#include "recorder/census.h"
#include "recorder/ledgerdir.h"

enum { LISTED_MAX = 20 };

static bool runs(const struct seep_census_entry *entry)
{
	return entry->state <= SEEP_CENSUS_RECORDER_GONE;
}

/* It runs, and no process that is recorded started it. */
static bool is_root(const struct seep_census *census, size_t index)
{
	for (size_t i = 0; i < census->count; i++)
		if (i != index && runs(&census->entries[i]) &&
		    (census->entries[i].pid == census->entries[index].ppid ||
		     (census->entries[i].pid == census->entries[index].pid &&
		      seep_census_find(census, census->entries[i].pid) == &census->entries[i])))
			return false;
	return runs(&census->entries[index]);
}

static int find_only(const struct seep_census *census, const struct seep_census_entry **ret,
		     struct seep_error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < census->count; i++) {
		if (!is_root(census, i))
			continue;
		*ret = &census->entries[i];
		count++;
	}
	if (count == 0)
		return seep_fail(err, SEEP_ENOTFOUND, "no process is being recorded");
	if (count == 1)
		return 0;
	for (size_t i = 0, listed = 0; i < census->count && listed < LISTED_MAX; i++) {
		char *exe;

		if (!is_root(census, i))
			continue;
		exe = seep_escape_dup(census->entries[i].exe);
		(void)fprintf(stderr, "%10u  %s\n", census->entries[i].pid, exe);
		free(exe);
		listed++;
	}
	return seep_fail(err, SEEP_EUSAGE, "%zu processes are recorded: say which, by its pid",
			 count);
}

static char *folder_of(const char *path)
{
	const char *base = seep_path_base(path);

	return base == path ? seep_xstrdup("./") : seep_xstrndup(path, (size_t)(base - path));
}

static int describe(struct seep_top_find *find, struct seep_error *err)
{
	struct seep_ledger ledger;
	int r = seep_ledger_open(AT_FDCWD, find->path, SEEP_LEDGER_READ, &ledger, err);

	if (r < 0)
		return r;
	find->session = ledger.view.header.session;
	find->created_ns = ledger.view.header.created_ns;
	find->pid_namespace = ledger.view.header.pid_namespace;
	find->uid = ledger.view.header.uid;
	seep_ledger_close(&ledger);
	return 0;
}

int seep_top_find_begin(const char *operand, struct seep_top_find *find, struct seep_error *err)
{
	const struct seep_census_entry *entry = NULL;
	struct seep_ledger_operand found = { 0 };
	struct seep_census census = { 0 };
	int r = seep_census_take(&census, err);

	*find = (struct seep_top_find){ 0 };
	if (r == 0 && operand)
		r = seep_ledger_operand_find(&census, operand, &found, err);
	else if (r == 0)
		r = find_only(&census, &entry, err);
	find->path = entry ? seep_xstrdup(entry->path) : found.path;
	seep_census_done(&census);
	if (r == 0)
		r = describe(find, err);
	if (r < 0)
		return r;
	find->dir = folder_of(find->path);
	seep_idtable_init(&find->others, 0);
	seep_idtable_add(&find->others, seep_hash_text(0, seep_path_base(find->path)), 0);
	return 0;
}

void seep_top_find_done(struct seep_top_find *find)
{
	seep_idtable_done(&find->others);
	free(find->path);
	free(find->dir);
}

uint32_t seep_top_find_named(const char *name)
{
	struct seep_ledger_operand found;
	struct seep_census census;
	uint32_t pid = 0;

	if (seep_census_take(&census, NULL) < 0)
		return 0;
	if (seep_ledger_operand_find(&census, name, &found, NULL) == 0 && found.runs)
		pid = found.entry->pid;
	if (pid)
		free(found.path);
	seep_census_done(&census);
	return pid;
}

/* Started by, or the next program of, one that is there. */
static bool comes_from(const struct seep_live *live, const struct ledger_header *header)
{
	for (uint32_t i = 0; i < live->count; i++) {
		const struct seep_profile_process *process = &live->processes[i]->profile->process;

		if (header->created_ns >= process->start_ns &&
		    (header->ppid == process->pid || header->pid == process->pid))
			return true;
		if (strcmp(header->parent, seep_path_base(live->processes[i]->path)) == 0)
			return true;
	}
	return false;
}

static bool belongs(struct seep_top_find *find, const struct seep_live *live,
		    const struct ledger_header *header)
{
	const bool same = find->session != 0 && header->session == find->session;

	if (header->pid_namespace != find->pid_namespace || header->uid != find->uid)
		return false;
	if (same && header->created_ns < find->created_ns)
		find->is_child = true;
	return comes_from(live, header) ||
	       (same && !find->is_child && header->created_ns >= find->created_ns);
}

/* Returns whether it belongs to the tree. */
static bool look_at(struct seep_top_find *find, struct seep_live *live, int dir_fd,
		    const char *name, bool last)
{
	const uint64_t hash = seep_hash_text(0, name);
	size_t at = SEEP_IDTABLE_START;
	struct seep_ledgerdir_name parts;
	struct seep_ledger ledger;
	bool mine;
	char *path;

	if (!seep_ledgerdir_parse(name, &parts) ||
	    seep_idtable_find(&find->others, hash, &at) != SEEP_IDTABLE_NONE ||
	    seep_ledger_open(dir_fd, name, SEEP_LEDGER_READ, &ledger, NULL) < 0)
		return false;
	mine = belongs(find, live, &ledger.view.header);
	seep_ledger_close(&ledger);
	path = seep_xasprintf("%s%s", find->dir, name);
	/* One that ended and was let go is not met again, nor is one that cannot be read. */
	if (mine && seep_live_add(live, path, NULL) < 0)
		mine = false;
	free(path);
	if (mine || last)
		seep_idtable_add(&find->others, hash, 0);
	return mine;
}

void seep_top_find_more(void *user, struct seep_live *live)
{
	struct seep_top_find *find = user;
	bool more = true, last = false;
	DIR *dir = opendir(find->dir);
	struct dirent *entry;

	if (!dir)
		return;
	/* A child may be listed before its parent: what is no part of the tree is known in the end. */
	while (more || !last) {
		last = !more;
		more = false;
		rewinddir(dir);
		while ((entry = readdir(dir)) != NULL)
			more |= look_at(find, live, dirfd(dir), entry->d_name, last);
	}
	(void)closedir(dir);
}
