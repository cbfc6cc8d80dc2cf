/* SPDX-License-Identifier: MIT */
#include "recorder/census.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "profile/ledger_name.h"
#include "profile/process_life.h"
#include "recorder/ledger_control.h"
#include "recorder/ledgerdir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { HALF_MADE_AGE_S = 60 };

struct taking {
	struct seep_census *census;
	const char *dir;
	bool may_be_reaped; /* what is in it */
	bool lacks_figures; /* they are not asked for */
	/* Folders that were looked through. */
	struct stat taken[LEDGER_ROOT_COUNT + 1];
	unsigned taken_count;
	size_t other_version_count;   /* of the ledgers in @dir */
	size_t other_version_problem; /* index of the sentence about them */
};

static enum seep_census_state state_of(const struct seep_ledger *ledger,
				       enum seep_process_life life, bool has_recorder)
{
	switch (life) {
	case SEEP_PROCESS_RUNNING:
		if (LEDGER_GET(ledger->control->recorder_pid) == 0)
			return SEEP_CENSUS_RUNNING;
		return has_recorder ? SEEP_CENSUS_RECORDED : SEEP_CENSUS_RECORDER_GONE;
	case SEEP_PROCESS_REPLACED:
	case SEEP_PROCESS_DEAD:
	case SEEP_PROCESS_DETACHED:
		if (LEDGER_GET(ledger->control->recorder_done))
			return SEEP_CENSUS_DONE;
		if (has_recorder)
			return SEEP_CENSUS_ENDING;
		return life == SEEP_PROCESS_DETACHED ? SEEP_CENSUS_DETACHED : SEEP_CENSUS_DEAD;
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

/* @dir: NULL: the name is its path. @has_sums: figures are asked for. */
static void fill_entry(struct seep_census_entry *entry, struct seep_ledger *ledger, const char *dir,
		       bool has_sums)
{
	const struct ledger_header *header = &ledger->view.header;
	const struct ledger_control *control = ledger->control;
	const struct seep_ledger_sums sums = has_sums ? seep_ledger_sum(ledger)
						      : (struct seep_ledger_sums){ 0 };
	const bool has_recorder = seep_ledger_has_recorder(ledger);
	uint64_t now = seep_clock_ns(CLOCK_REALTIME);
	uint32_t here_pid = 0;
	const enum seep_process_life life = seep_process_life(ledger, &here_pid);
	struct stat st;

	*entry = (struct seep_census_entry){
		.state = state_of(ledger, life, has_recorder),
		.path = dir ? seep_xasprintf("%s/%s", dir, ledger->file_name)
			    : seep_xstrdup(ledger->file_name),
		.parent = seep_xstrdup(header->parent),
		.exe = seep_ledger_string(ledger, header->exe),
		.pid = header->pid,
		.ppid = header->ppid,
		.pid_namespace = header->pid_namespace,
		.here_pid = here_pid,
		.is_replaced = life == SEEP_PROCESS_REPLACED,
		.is_detached = life == SEEP_PROCESS_DETACHED,
		.recorder_pid = LEDGER_GET(control->recorder_pid),
		.has_recorder = has_recorder,
		.live_bytes = sums.live_bytes,
		.allocs = sums.allocs,
		.frees = sums.frees,
		.created_realtime_ns = header->created_realtime_ns,
	};
	/* Of one that has left, or died, the last word is old. */
	if (entry->state == SEEP_CENSUS_RECORDED) {
		entry->growing_bytes_per_hour = LEDGER_GET(control->growing_bytes_per_hour);
		entry->growing_contexts = LEDGER_GET(control->growing_contexts);
		entry->growth_known = LEDGER_GET(control->growth_known) != 0;
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
	seep_texts_add(problems, "in %s, %s", taking->dir, err->text);
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

/* What a process leaves that is killed while it makes its ledger. */
static void tidy_half_made(int dir_fd, const char *file_name, const struct seep_ledger_name *name)
{
	struct stat st;

	if (!seep_procfs_alive(name->pid, name->start_ticks) &&
	    fstatat(dir_fd, file_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    time(NULL) - st.st_mtime > HALF_MADE_AGE_S)
		(void)seep_ledger_remove(dir_fd, file_name);
}

static void count_file(int dir_fd, const char *file_name, void *context)
{
	struct taking *taking = context;
	struct seep_census *census = taking->census;
	struct seep_census_entry *entry;
	struct seep_ledger_name name;
	struct seep_error err = { 0 };
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };

	if (!seep_ledger_name_parse(file_name, &name))
		return;
	if (seep_ledger_open(dir_fd, file_name, SEEP_LEDGER_OURS, &ledger, &err) < 0) {
		if (!name.is_unnamed)
			add_problem(taking, &err);
		/* Its magic is written last. */
		else if (err.code == SEEP_ECORRUPT || err.code == SEEP_ETRUNC)
			tidy_half_made(dir_fd, file_name, &name);
		return;
	}
	entry = SEEP_APPEND(census->entries, census->count);
	fill_entry(entry, &ledger, taking->dir, !taking->lacks_figures);
	entry->may_be_reaped = taking->may_be_reaped;
	if (seep_ledger_is_cut(&ledger)) {
		entry_done(entry);
		census->count--;
		(void)seep_fail(&err, SEEP_ETRUNC, "%s: truncated while it was read", file_name);
		add_problem(taking, &err);
	}
}

bool seep_census_add(struct seep_census *census, const char *path)
{
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };

	if (seep_ledger_open(AT_FDCWD, path, SEEP_LEDGER_READ, &ledger, NULL) < 0)
		return false;
	fill_entry(SEEP_APPEND(census->entries, census->count), &ledger, NULL, true);
	return true;
}

static int take_folder(struct taking *taking, const char *dir, struct seep_error *err)
{
	struct stat *st = &taking->taken[taking->taken_count];
	struct seep_error why = { 0 };
	SEEP_CLOSED int fd = -1;
	int rc;

	if (seep_ledgerdir_open(dir, false, &fd, &why) < 0) {
		if (why.code == SEEP_EUNSUPPORTED)
			seep_texts_take(&taking->census->problems, seep_xstrdup(why.text));
		return 0;
	}
	(void)fstat(fd, st);
	for (unsigned i = 0; i < taking->taken_count; i++)
		if (st->st_dev == taking->taken[i].st_dev && st->st_ino == taking->taken[i].st_ino)
			return 0;
	taking->taken_count++;
	if (ledger_is_crowded(st))
		seep_texts_add(&taking->census->problems,
			       "forked children without a recorder: %s is full of "
			       "ledgers, so each is counted in its parent's until "
			       "\"seep ps --reap\" removes old ones",
			       dir);
	taking->dir = dir;
	taking->other_version_count = 0;
	rc = seep_folder_each(fd, count_file, taking, err);
	sum_other_versions(taking);
	return rc;
}

bool seep_census_runs(const struct seep_census_entry *entry)
{
	return entry->state <= SEEP_CENSUS_RECORDER_GONE;
}

static int compare_entries(const void *left, const void *right)
{
	const struct seep_census_entry *a = left, *b = right;

	return seep_search_order(seep_census_runs(b), seep_census_runs(a))
		       ?: seep_search_order(a->created_realtime_ns, b->created_realtime_ns)
		       ?: strcmp(a->path, b->path);
}

int seep_census_take(struct seep_census *ret_census, struct seep_error *err)
{
	struct taking taking = { .census = ret_census };
	SEEP_FREED char *asked = seep_ledgerdir_asked();
	int rc;

	*ret_census = (struct seep_census){ 0 };
	taking.may_be_reaped = true;
	rc = asked ? take_folder(&taking, asked, err) : 0;
	taking.may_be_reaped = !asked;
	for (unsigned i = 0; i < LEDGER_ROOT_COUNT && rc == 0; i++) {
		SEEP_FREED char *folder = seep_ledgerdir_usual(i);

		rc = take_folder(&taking, folder, err);
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
	int best = 0;

	/* Of several the newest is last. */
	for (size_t i = 0; i < census->count; i++) {
		const struct seep_census_entry *entry = &census->entries[i];
		const int rank = pid && entry->here_pid == pid ? 3
				 : entry->pid != pid	       ? 0
				 : seep_census_runs(entry)     ? 2
							       : 1;

		if (rank && rank >= best) {
			found = entry;
			best = rank;
		}
	}
	return found;
}

const struct seep_census_entry *seep_census_parent(const struct seep_census *census,
						   const struct seep_census_entry *entry)
{
	for (size_t i = 0; i < census->count; i++) {
		const struct seep_census_entry *other = &census->entries[i];

		if (seep_census_runs(other) && other->pid == entry->ppid &&
		    other->pid_namespace == entry->pid_namespace)
			return other;
	}
	return NULL;
}

const char *seep_census_state_name(enum seep_census_state state)
{
	static const char *const names[] = {
		[SEEP_CENSUS_RUNNING] = "running",
		[SEEP_CENSUS_RECORDED] = "recorded",
		[SEEP_CENSUS_RECORDER_GONE] = "recorder-gone",
		[SEEP_CENSUS_ENDING] = "ending",
		[SEEP_CENSUS_DEAD] = "dead",
		[SEEP_CENSUS_DETACHED] = "detached",
		[SEEP_CENSUS_DONE] = "done",
		[SEEP_CENSUS_ELSEWHERE] = "elsewhere",
	};

	return names[state];
}

static struct seep_census_entry *find_parent(const struct seep_census *census, const char *parent)
{
	for (size_t i = 0; i < census->count && *parent; i++)
		if (strcmp(seep_path_base(census->entries[i].path), parent) == 0)
			return &census->entries[i];
	return NULL;
}

/* The chains of fork parents of those that stay, each named by its child's header. */
static void mark_needed(const struct seep_census *census,
			bool (*goes)(const struct seep_census_entry *entry))
{
	for (size_t i = 0; i < census->count; i++) {
		struct seep_census_entry *entry = &census->entries[i];

		while (!goes(&census->entries[i]) && (entry = find_parent(census, entry->parent)) &&
		       !entry->is_needed)
			entry->is_needed = true;
	}
}

static bool is_spare(const struct seep_census_entry *entry)
{
	return entry->state == SEEP_CENSUS_DONE && !entry->has_recorder;
}

void seep_census_tidy(int dir_fd)
{
	struct seep_census census = { 0 };
	struct taking taking = { .census = &census, .dir = "", .lacks_figures = true };

	if (seep_folder_each(dir_fd, count_file, &taking, NULL) == 0) {
		mark_needed(&census, is_spare);
		for (size_t i = 0; i < census.count; i++)
			if (is_spare(&census.entries[i]) && !census.entries[i].is_needed)
				(void)seep_ledger_remove(dir_fd,
							 seep_path_base(census.entries[i].path));
	}
	seep_census_done(&census);
}

bool seep_census_is_over(const struct seep_census_entry *entry)
{
	return entry->state >= SEEP_CENSUS_DEAD && entry->state <= SEEP_CENSUS_DONE;
}

void seep_census_reap(const struct seep_census *census, seep_reap_told *told, void *context)
{
	mark_needed(census, seep_census_is_over);
	for (size_t i = 0; i < census->count; i++) {
		const struct seep_census_entry *entry = &census->entries[i];
		const char *kept_why = NULL;
		int error;

		if (seep_census_runs(entry) || !entry->may_be_reaped)
			continue;
		if (entry->state == SEEP_CENSUS_ENDING)
			kept_why = "its recorder is writing the recording";
		else if (entry->state == SEEP_CENSUS_ELSEWHERE)
			kept_why = "seep cannot tell from here whether its process runs";
		else if (entry->is_needed)
			kept_why = "a forked child of it needs it";
		else if ((error = seep_ledger_remove(AT_FDCWD, entry->path)))
			kept_why = strerror(error);
		told(context, entry, kept_why);
	}
}
