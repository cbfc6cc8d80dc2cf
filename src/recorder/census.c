/* SPDX-License-Identifier: MIT */
#include "recorder/census.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
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
	/* Folders that were looked through. */
	struct stat taken[SEEP_LEDGERDIR_USUAL + 1];
	unsigned taken_count;
	size_t other_version_count;   /* of the ledgers in @dir */
	size_t other_version_problem; /* index of the sentence about them */
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
	free(entry->parent);
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
		.parent = seep_xstrdup(header->parent),
		.exe = seep_ledger_string(ledger, header->exe),
		.pid = header->pid,
		.ppid = header->ppid,
		.recorder_pid = atomic_load_explicit(&ledger->control->recorder_pid,
						     memory_order_acquire),
		.live_bytes = sums.live_bytes,
		.allocs = sums.allocs,
		.frees = sums.frees,
		.growing_bytes_per_hour = atomic_load_explicit(
			&ledger->control->growing_bytes_per_hour, memory_order_relaxed),
		.growing_contexts = atomic_load_explicit(&ledger->control->growing_contexts,
							 memory_order_relaxed),
		.growth_known = atomic_load_explicit(&ledger->control->growth_known,
						     memory_order_relaxed) != 0,
		.created_realtime_ns = header->created_realtime_ns,
	};
	/* Of one that has left, or died, the last word is old. */
	if (entry->state != SEEP_CENSUS_RECORDED) {
		entry->growth_known = false;
		entry->growing_contexts = 0;
		entry->growing_bytes_per_hour = 0;
	}
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

static int take_folder(struct taking *taking, const char *dir, struct seep_error *err)
{
	struct stat *st = &taking->taken[taking->taken_count];
	int rc = 0;
	int fd;

	if (seep_ledgerdir_open(dir, false, &fd, NULL) < 0)
		return 0;
	(void)fstat(fd, st);
	for (unsigned i = 0; i < taking->taken_count; i++)
		if (st->st_dev == taking->taken[i].st_dev && st->st_ino == taking->taken[i].st_ino)
			goto out;
	taking->taken_count++;
	taking->dir = dir;
	taking->other_version_count = 0;
	rc = seep_folder_each(fd, count_file, taking, err);
	sum_other_versions(taking);
out:
	(void)close(fd);
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
	char *folder = seep_ledgerdir_asked();
	int rc;

	*ret_census = (struct seep_census){ 0 };
	rc = folder ? take_folder(&taking, folder, err) : 0;
	free(folder);
	for (unsigned i = 0; i < SEEP_LEDGERDIR_USUAL && rc == 0; i++) {
		folder = seep_ledgerdir_usual(i);
		rc = take_folder(&taking, folder, err);
		free(folder);
	}
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
	if (state == SEEP_CENSUS_DONE && !seep_ledger_has_recorder(&ledger))
		seep_texts_take(&tidying->spare, seep_xstrdup(file_name));
	else
		need_ancestors(dir_fd, &tidying->needed, ledger.view.header.parent);
	seep_ledger_close(&ledger);
}

void seep_census_tidy(int dir_fd)
{
	struct tidying tidying = { 0 };

	if (seep_folder_each(dir_fd, judge_file, &tidying, NULL) == 0)
		for (size_t i = 0; i < tidying.spare.count; i++)
			if (!seep_texts_have(&tidying.needed, tidying.spare.items[i]))
				(void)unlinkat(dir_fd, tidying.spare.items[i], 0);
	seep_texts_done(&tidying.needed);
	seep_texts_done(&tidying.spare);
}

static struct seep_census_entry *find_parent(const struct seep_census *census, const char *parent)
{
	for (size_t i = 0; i < census->count && *parent; i++)
		if (strcmp(seep_path_base(census->entries[i].path), parent) == 0)
			return &census->entries[i];
	return NULL;
}

static bool is_dead(const struct seep_census_entry *entry)
{
	return entry->state == SEEP_CENSUS_DEAD || entry->state == SEEP_CENSUS_DONE;
}

/* By a ledger that stays, whose chain of fork parents it is in. */
static bool is_needed(const struct seep_census *census, const struct seep_census_entry *ancestor)
{
	for (size_t i = 0; i < census->count; i++) {
		const struct seep_census_entry *entry = &census->entries[i];

		for (int depth = 0; !is_dead(&census->entries[i]) && depth < ANCESTORS_MAX && entry;
		     depth++) {
			if (entry == ancestor)
				return true;
			entry = find_parent(census, entry->parent);
		}
	}
	return false;
}

void seep_census_reap(const struct seep_census *census, seep_reap_told *told, void *context)
{
	for (size_t i = 0; i < census->count; i++) {
		const struct seep_census_entry *entry = &census->entries[i];
		const char *kept_why = NULL;

		if (runs(entry))
			continue;
		if (entry->state == SEEP_CENSUS_ENDING)
			kept_why = "its recorder is writing the recording";
		else if (entry->state == SEEP_CENSUS_ELSEWHERE)
			kept_why = "seep cannot tell from here whether its process runs";
		else if (is_needed(census, entry))
			kept_why = "a forked child of it needs it";
		else if (unlink(entry->path) < 0)
			kept_why = strerror(errno);
		told(context, entry, kept_why);
	}
}
