/* SPDX-License-Identifier: MIT */
#include "recorder/census.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "recorder/ledger_control.h"
#include "recorder/ledgerdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HALF_MADE_AGE_S = 60, ANCESTORS_MAX = 64 };

struct taking {
	struct seep_census *census;
	const char *dir;
	size_t other_version_count;   /* of the ledgers in @dir */
	size_t other_version_problem; /* index of the sentence about them */
};

/* What is to be done with each folder; returns 0 or an error. */
typedef int folder_fn(int dir_fd, const char *dir, void *context, struct seep_error *err);

/* Folders of ledgers, each once. */
struct folders {
	folder_fn *each;
	void *context;
	struct stat met[SEEP_LEDGERDIR_USUAL + 1];
	unsigned count;
};

static enum seep_census_state state_of(const struct seep_ledger *ledger)
{
	uint32_t recorder = atomic_load_explicit(&ledger->control->recorder_pid,
						 memory_order_acquire);

	switch (seep_ledger_life(ledger)) {
	case SEEP_PROCESS_RUNNING:
		if (recorder == 0)
			return SEEP_CENSUS_RUNNING;
		return seep_ledger_has_recorder(ledger) ? SEEP_CENSUS_RECORDED
							: SEEP_CENSUS_RECORDER_GONE;
	case SEEP_PROCESS_DEAD:
		if (atomic_load_explicit(&ledger->control->recorder_done, memory_order_acquire))
			return SEEP_CENSUS_DONE;
		return seep_ledger_has_recorder(ledger) ? SEEP_CENSUS_ENDING : SEEP_CENSUS_DEAD;
	default:
		return SEEP_CENSUS_ELSEWHERE;
	}
}

static void entry_done(struct seep_census_entry *entry)
{
	free(entry->path);
	free(entry->exe);
}

static void fill_entry(struct seep_census_entry *entry, struct seep_ledger *ledger, const char *dir)
{
	const struct ledger_header *header = &ledger->view.header;
	struct seep_ledger_sums sums = seep_ledger_sum(ledger);
	uint64_t now = seep_clock_ns(CLOCK_REALTIME);
	struct stat st;

	*entry = (struct seep_census_entry){
		.state = state_of(ledger),
		.path = seep_xasprintf("%s/%s", dir, ledger->file_name),
		.exe = seep_ledger_string(ledger, header->exe),
		.pid = header->pid,
		.ppid = header->ppid,
		.recorder_pid = atomic_load_explicit(&ledger->control->recorder_pid,
						     memory_order_acquire),
		.live_bytes = sums.live_bytes,
		.allocs = sums.allocs,
		.frees = sums.frees,
		.created_realtime_ns = header->created_realtime_ns,
	};
	if (now > header->created_realtime_ns)
		entry->age_ns = now - header->created_realtime_ns;
	if (fstat(ledger->fd, &st) == 0)
		entry->space_bytes = (uint64_t)st.st_blocks * 512;
}

static void add_problem(struct taking *taking, const struct seep_error *err)
{
	struct seep_texts *problems = &taking->census->problems;

	/* One that was removed meanwhile is none. */
	if (err->code == SEEP_ENOTFOUND)
		return;
	if (err->code == SEEP_EVERSION && taking->other_version_count++ > 0)
		return;
	if (err->code == SEEP_EVERSION)
		taking->other_version_problem = problems->count;
	seep_texts_take(problems, seep_xasprintf("in %s, %s", taking->dir, err->text));
}

/* Of one its own sentence says more. */
static void sum_other_versions(const struct taking *taking)
{
	char **sentence;

	if (taking->other_version_count < 2)
		return;
	sentence = &taking->census->problems.items[taking->other_version_problem];
	free(*sentence);
	*sentence = seep_xasprintf("in %s, %zu ledgers that other versions of seep wrote",
				   taking->dir, taking->other_version_count);
}

static void count_file(int dir_fd, const char *file_name, void *context)
{
	struct taking *taking = context;
	struct seep_census *census = taking->census;
	struct seep_census_entry entry;
	struct seep_ledgerdir_name name;
	struct seep_error err = { 0 };
	struct seep_ledger ledger;

	if (!seep_ledgerdir_parse(file_name, &name))
		return;
	if (seep_ledger_open(dir_fd, file_name, SEEP_LEDGER_OURS, &ledger, &err) < 0) {
		add_problem(taking, &err);
		return;
	}
	fill_entry(&entry, &ledger, taking->dir);
	if (seep_ledger_is_cut(&ledger)) {
		entry_done(&entry);
		(void)seep_fail(&err, SEEP_ETRUNC, "%s: truncated while it was read", file_name);
		add_problem(taking, &err);
	} else {
		census->entries = seep_xgrow(census->entries, &census->capacity, census->count + 1,
					     sizeof(*census->entries));
		census->entries[census->count++] = entry;
	}
	seep_ledger_close(&ledger);
}

static int take_folder(int dir_fd, const char *dir, void *context, struct seep_error *err)
{
	struct taking *taking = context;
	int rc;

	taking->dir = dir;
	taking->other_version_count = 0;
	rc = seep_folder_each(dir_fd, count_file, taking, err);
	sum_other_versions(taking);
	return rc;
}

static int visit(struct folders *folders, const char *dir, struct seep_error *err)
{
	struct stat *st = &folders->met[folders->count];
	int rc = 0;
	int fd;

	if (seep_ledgerdir_open(dir, false, &fd, NULL) < 0)
		return 0;
	(void)fstat(fd, st);
	for (unsigned i = 0; i < folders->count; i++)
		if (st->st_dev == folders->met[i].st_dev && st->st_ino == folders->met[i].st_ino)
			goto out;
	folders->count++;
	rc = folders->each(fd, dir, folders->context, err);
out:
	(void)close(fd);
	return rc;
}

static int each_folder(folder_fn *each, void *context, struct seep_error *err)
{
	struct folders folders = { .each = each, .context = context };
	char *folder = seep_ledgerdir_asked();
	int rc = folder ? visit(&folders, folder, err) : 0;

	free(folder);
	for (unsigned i = 0; i < SEEP_LEDGERDIR_USUAL && rc == 0; i++) {
		folder = seep_ledgerdir_usual(i);
		rc = visit(&folders, folder, err);
		free(folder);
	}
	return rc;
}

static bool runs(const struct seep_census_entry *entry)
{
	return entry->state <= SEEP_CENSUS_RECORDER_GONE;
}

static int compare_entries(const void *left, const void *right)
{
	const struct seep_census_entry *a = left, *b = right;

	if (runs(a) != runs(b))
		return runs(a) ? -1 : 1;
	if (a->created_realtime_ns != b->created_realtime_ns)
		return a->created_realtime_ns < b->created_realtime_ns ? -1 : 1;
	return strcmp(a->path, b->path);
}

int seep_census_take(struct seep_census *ret_census, struct seep_error *err)
{
	struct taking taking = { .census = ret_census };
	int rc;

	*ret_census = (struct seep_census){ 0 };
	rc = each_folder(take_folder, &taking, err);
	if (rc < 0)
		seep_census_done(ret_census);
	else if (ret_census->count)
		qsort(ret_census->entries, ret_census->count, sizeof(*ret_census->entries),
		      compare_entries);
	return rc;
}

void seep_census_done(struct seep_census *census)
{
	for (size_t i = 0; i < census->count; i++)
		entry_done(&census->entries[i]);
	free(census->entries);
	seep_texts_done(&census->problems);
	*census = (struct seep_census){ 0 };
}

const struct seep_census_entry *seep_census_find(const struct seep_census *census, uint32_t pid)
{
	const struct seep_census_entry *found = NULL;

	/* Those that run come first, several where it called exec; the newest of each is last. */
	for (size_t i = 0; i < census->count; i++) {
		const struct seep_census_entry *entry = &census->entries[i];

		if (entry->pid == pid && (!found || runs(entry) || !runs(found)))
			found = entry;
	}
	return found;
}

const char *seep_census_state_name(enum seep_census_state state)
{
	static const char *const names[] = {
		[SEEP_CENSUS_RUNNING] = "running",
		[SEEP_CENSUS_RECORDED] = "recorded",
		[SEEP_CENSUS_RECORDER_GONE] = "recorder-gone",
		[SEEP_CENSUS_ENDING] = "ending",
		[SEEP_CENSUS_DEAD] = "dead",
		[SEEP_CENSUS_DONE] = "done",
		[SEEP_CENSUS_ELSEWHERE] = "elsewhere",
	};

	return names[state];
}

/* File names of ledgers that living processes need, and of those that may go. */
struct tidying {
	struct seep_texts needed;
	struct seep_texts spare;
	bool unrecorded;      /* those of the dead that have no recording may go too */
	seep_reap_told *told; /* of each that goes or stays; NULL: nobody */
	const char *dir;
	void *context;
};

/* The chain of fork parents, each named by its child's header. */
static void need_ancestors(int dir_fd, struct seep_texts *needed, const char *parent)
{
	char *name = seep_xstrdup(parent);

	for (int depth = 0; *name && depth < ANCESTORS_MAX && !seep_texts_have(needed, name);
	     depth++) {
		struct seep_ledger ledger;

		seep_texts_take(needed, name);
		if (strchr(name, '/') ||
		    seep_ledger_open(dir_fd, name, SEEP_LEDGER_OURS, &ledger, NULL) < 0)
			return;
		name = seep_xstrdup(ledger.view.header.parent);
		seep_ledger_close(&ledger);
	}
	free(name);
}

/* A process that is killed while it makes its ledger leaves a file with another ending. */
static void tidy_half_made(int dir_fd, const char *file_name)
{
	const size_t bytes = strlen(file_name);
	struct seep_ledgerdir_name parsed;
	struct stat st;
	char *name;

	if (bytes <= 4 || strcmp(file_name + bytes - 4, ".new") != 0)
		return;
	name = seep_xstrndup(file_name, bytes - 4);
	if (seep_ledgerdir_parse(name, &parsed) &&
	    !seep_procfs_alive(parsed.pid, parsed.start_ticks) &&
	    fstatat(dir_fd, file_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    time(NULL) - st.st_mtime > HALF_MADE_AGE_S)
		(void)unlinkat(dir_fd, file_name, 0);
	free(name);
}

static void tell(const struct tidying *tidying, int dir_fd, const char *file_name,
		 const char *kept_why)
{
	struct stat st = { 0 };
	char *path;

	if (!tidying->told || fstatat(dir_fd, file_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	path = seep_xasprintf("%s/%s", tidying->dir, file_name);
	tidying->told(tidying->context, path, (uint64_t)st.st_blocks * 512, kept_why);
	free(path);
}

static void judge_file(int dir_fd, const char *file_name, void *context)
{
	struct tidying *tidying = context;
	struct seep_ledgerdir_name name;
	enum seep_census_state state;
	struct seep_ledger ledger;

	if (!seep_ledgerdir_parse(file_name, &name)) {
		tidy_half_made(dir_fd, file_name);
		return;
	}
	if (seep_ledger_open(dir_fd, file_name, SEEP_LEDGER_OURS, &ledger, NULL) < 0)
		return;
	state = state_of(&ledger);
	if ((state == SEEP_CENSUS_DONE || (state == SEEP_CENSUS_DEAD && tidying->unrecorded)) &&
	    !seep_ledger_has_recorder(&ledger))
		seep_texts_take(&tidying->spare, seep_xstrdup(file_name));
	else
		need_ancestors(dir_fd, &tidying->needed, ledger.view.header.parent);
	if (tidying->told && (state == SEEP_CENSUS_ENDING || state == SEEP_CENSUS_ELSEWHERE))
		tell(tidying, dir_fd, file_name,
		     state == SEEP_CENSUS_ENDING
			     ? "its recorder is writing the recording"
			     : "seep cannot tell from here whether its process runs");
	seep_ledger_close(&ledger);
}

static void drop(const struct tidying *tidying, int dir_fd, const char *file_name)
{
	struct stat st = { 0 };
	char *path;

	if (seep_texts_have(&tidying->needed, file_name)) {
		tell(tidying, dir_fd, file_name, "a forked child of it needs it");
		return;
	}
	(void)fstatat(dir_fd, file_name, &st, AT_SYMLINK_NOFOLLOW);
	path = tidying->told ? seep_xasprintf("%s/%s", tidying->dir, file_name) : NULL;
	if (unlinkat(dir_fd, file_name, 0) < 0)
		tell(tidying, dir_fd, file_name, strerror(errno));
	else if (tidying->told)
		tidying->told(tidying->context, path, (uint64_t)st.st_blocks * 512, NULL);
	free(path);
}

static int tidy(int dir_fd, struct tidying *tidying, struct seep_error *err)
{
	const int rc = seep_folder_each(dir_fd, judge_file, tidying, err);

	for (size_t i = 0; i < tidying->spare.count && rc == 0; i++)
		drop(tidying, dir_fd, tidying->spare.items[i]);
	seep_texts_done(&tidying->needed);
	seep_texts_done(&tidying->spare);
	return rc;
}

void seep_census_tidy(int dir_fd)
{
	struct tidying tidying = { 0 };

	(void)!tidy(dir_fd, &tidying, NULL);
}

static int reap_folder(int dir_fd, const char *dir, void *context, struct seep_error *err)
{
	const struct tidying *all = context;
	struct tidying tidying = {
		.unrecorded = true, .told = all->told, .dir = dir, .context = all->context
	};

	return tidy(dir_fd, &tidying, err);
}

int seep_census_reap(seep_reap_told *told, void *context, struct seep_error *err)
{
	struct tidying all = { .told = told, .context = context };

	return each_folder(reap_folder, &all, err);
}
