/* SPDX-License-Identifier: MIT */
/*
 * A look at the folder costs a list of its names, and a page of each ledger that is new: the
 * figures of all ledgers, which the census reads, would take long.
 */
#include "cli/top_find.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "profile/ledger_name.h"

int seep_top_find_begin(const struct seep_ledger_operand *found, struct seep_top_find *find,
			struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	int r = 0;

	*find = (struct seep_top_find){ 0 };
	if (found->entry ? found->entry->is_detached : access(found->path, F_OK) < 0)
		r = seep_ledger_operand_check(found, err);
	if (r == 0)
		r = seep_ledger_open(AT_FDCWD, found->path, SEEP_LEDGER_READ, &ledger, err);
	if (r < 0)
		return r;
	*find = (struct seep_top_find){
		.path = seep_xstrdup(found->path),
		.dir = seep_path_folder(found->path),
		.header = ledger.view.header,
	};
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

/*
 * Can what was made at @created_ns have been started by this one, or be its next program, or the next
 * time that it was attached to? A pid is somebody else's after an end, but for an exec's or a detach's,
 * until the end of what comes next.
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
	return about->ended == SEEP_ENDED_EXEC || about->ended == SEEP_ENDED_DETACHED;
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
	const struct ledger_header *own = &find->header;
	const bool same = own->session != 0 && header->session == own->session;

	if (header->pid_namespace != own->pid_namespace || header->uid != own->uid)
		return false;
	if (same && header->created_ns < own->created_ns)
		find->is_child = true;
	return comes_from(live, header) ||
	       (same && !find->is_child && header->created_ns >= own->created_ns);
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
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	int r = 0;

	if (seep_idtable_find(&find->others, hash, &at) == SEEP_IDTABLE_NONE) {
		r = seep_ledger_open(dir_fd, name, SEEP_LEDGER_READ, &ledger, NULL);
		if (r == 0) {
			*ret = (struct met){ hash, seep_xstrdup(name), ledger.view.header };
			return true;
		}
	}
	if (r != -SEEP_ESYS)
		seep_idtable_add(known, hash, 0);
	return false;
}

static bool adopt(struct seep_top_find *find, struct seep_live *live, struct met *met)
{
	SEEP_FREED char *path = NULL;

	if (!met->name || !belongs(find, live, &met->header))
		return false;
	path = seep_xasprintf("%s/%s", find->dir, met->name);
	/* What cannot be read is not met again either. */
	if (seep_live_add(live, path, &find->refusal) == -SEEP_ESYS)
		find->refused_count++;
	free(met->name);
	met->name = NULL;
	return true;
}

/* Names of files that are gone are forgotten: a build makes thousands. */
void seep_top_find_more(void *user, struct seep_live *live)
{
	const uint64_t now_ns = seep_monotonic_ns();
	struct seep_top_find *find = user;
	struct seep_ledger_name parts;
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

		if (!seep_ledger_name_parse(entry->d_name, &parts))
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
