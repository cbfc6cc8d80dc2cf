/* SPDX-License-Identifier: MIT */
/*
 * A look at the folder costs a list of its names, and a page of each ledger that is new: the
 * figures of all ledgers, which the census reads, would take long.
 */
#include "cli/top_find.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
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
		r = seep_ledger_operand_find_tree(&census, operand, &found, err);
	else if (r == 0)
		r = find_only(&census, &entry, err);
	if (r == 0 && operand && !found.entry && access(found.path, F_OK) < 0)
		r = seep_ledger_operand_check(&found, err);
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

int seep_top_find_named(const char *name, uint32_t *ret_pid, struct seep_error *err)
{
	struct seep_ledger_operand found = { 0 };
	struct seep_census census = { 0 };
	int r = seep_census_take(&census, err);

	if (r == 0)
		r = seep_ledger_operand_find_tree(&census, name, &found, err);
	if (r == -SEEP_ENOTFOUND || r == -SEEP_EEXIST)
		r = 0;
	if (r == 0)
		*ret_pid = found.runs ? found.entry->pid : 0;
	free(found.path);
	seep_census_done(&census);
	return r;
}

/*
 * Can what was made at @created_ns have been started by this one, or be its next program? A pid is
 * somebody else's after an end, but for an exec's, until the end of the next program.
 */
static bool was_there(const struct seep_live *live, uint32_t index, uint64_t created_ns)
{
	const struct seep_live_process *process = live->processes[index];
	const struct seep_profile_process *about = &process->profile->process;

	if (created_ns < about->start_ns)
		return false;
	if (process->state != SEEP_LIVE_ENDED ||
	    created_ns <= (about->end_ns ? about->end_ns : process->read_ns))
		return true;
	for (uint32_t i = index + 1; i < live->count; i++)
		if (live->processes[i]->profile->process.pid == about->pid)
			return false;
	return about->ended == SEEP_ENDED_EXEC;
}

static bool comes_from(const struct seep_live *live, const struct ledger_header *header)
{
	for (uint32_t i = 0; i < live->count; i++) {
		const struct seep_live_process *process = live->processes[i];
		const uint32_t pid = process->profile->process.pid;

		if (((header->ppid == pid || header->pid == pid) &&
		     was_there(live, i, header->created_ns)) ||
		    strcmp(header->parent, seep_path_base(process->path)) == 0)
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

struct met {
	uint64_t hash;
	char *name; /* NULL: it belongs to the tree */
	struct ledger_header header;
};

/* Returns whether it is to be asked whose it is. One that cannot be read never is again. */
static bool look_at(const struct seep_top_find *find, int dir_fd, const char *name, uint64_t hash,
		    struct seep_idtable *known, struct met *ret)
{
	size_t at = SEEP_IDTABLE_START;
	struct seep_ledger ledger;
	int r = 0;

	if (seep_idtable_find(&find->others, hash, &at) == SEEP_IDTABLE_NONE) {
		r = seep_ledger_open(dir_fd, name, SEEP_LEDGER_READ, &ledger, NULL);
		if (r == 0) {
			*ret = (struct met){ hash, seep_xstrdup(name), ledger.view.header };
			seep_ledger_close(&ledger);
			return true;
		}
	}
	if (r != -SEEP_ESYS)
		seep_idtable_add(known, hash, 0);
	return false;
}

static bool adopt(struct seep_top_find *find, struct seep_live *live, struct met *met)
{
	char *path;

	if (!met->name || !belongs(find, live, &met->header))
		return false;
	path = seep_xasprintf("%s%s", find->dir, met->name);
	/* What cannot be read is not met again either. */
	if (seep_live_add(live, path, &find->refusal) == -SEEP_ESYS)
		find->refused_count++;
	free(path);
	free(met->name);
	met->name = NULL;
	return true;
}

/* Names of files that are gone are forgotten: a build makes thousands. */
void seep_top_find_more(void *user, struct seep_live *live)
{
	const uint64_t now_ns = seep_monotonic_ns();
	struct seep_top_find *find = user;
	struct seep_ledgerdir_name parts;
	struct seep_idtable known;
	struct met *met = NULL;
	size_t count = 0, capacity = 0;
	DIR *dir = opendir(find->dir);
	struct dirent *entry;
	bool more = true;

	if (!dir)
		return;
	seep_idtable_init(&known, find->others.count);
	while ((entry = readdir(dir)) != NULL) {
		const uint64_t hash = seep_hash_text(0, entry->d_name);

		if (!seep_ledgerdir_parse(entry->d_name, &parts))
			continue;
		met = seep_xgrow(met, &capacity, count + 1, sizeof(*met));
		count += look_at(find, dirfd(dir), entry->d_name, hash, &known, &met[count]);
	}
	(void)closedir(dir);
	/* A child may be listed before its parent. */
	while (more) {
		more = false;
		for (size_t i = 0; i < count; i++)
			more |= adopt(find, live, &met[i]);
	}
	for (size_t i = 0; i < count; i++) {
		/* The folder may have been read before the parent's ledger came. */
		if (!met[i].name || met[i].header.created_ns + SEEP_NS_PER_S < now_ns)
			seep_idtable_add(&known, met[i].hash, 0);
		free(met[i].name);
	}
	free(met);
	seep_idtable_done(&find->others);
	find->others = known;
}
