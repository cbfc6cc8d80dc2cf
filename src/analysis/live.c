/* SPDX-License-Identifier: MIT */
#include "analysis/live.h"

#include "analysis/counts.h"
#include "analysis/live_tags.h"
#include "analysis/rank.h"
#include "analysis/within.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/counted.h"
#include "profile/estimate.h"
#include "profile/symbolise.h"

#include <stdlib.h>
#include <string.h>

const char *const seep_live_sort_names[] = { "live", "change", "allocs", "growth",
					     "age",  "blocks", NULL };

struct seep_live *seep_live_new(const struct seep_live_options *options)
{
	struct seep_live *live = seep_xcalloc(1, sizeof(*live));

	live->options = *options;
	live->sample_every = 1;
	live->samples = seep_xcalloc(SEEP_LIVE_SAMPLES, sizeof(*live->samples));
	return live;
}

static void take_profile(const struct seep_live *live, struct seep_live_process *process)
{
	process->profile = seep_within_copy(seep_ledger_live_profile(process->ledger),
					    live->options.symbols, live->options.within,
					    &process->part);
}

static void process_free(struct seep_live_process *process)
{
	seep_arena_free(process->part.arena);
	seep_growth_free(process->growth);
	seep_groups_free(process->groups);
	seep_sites_free(process->sites);
	seep_ledger_live_close(process->ledger);
	seep_scopes_done(&process->scopes);
	seep_scopes_done(&process->scopes_before);
	free(process->path);
	free(process->fate);
	free(process->before);
	free(process->since);
	free(process->matches);
	free(process->matched);
	free(process);
}

void seep_live_free(struct seep_live *live)
{
	if (!live)
		return;
	for (uint32_t i = 0; i < live->count; i++)
		process_free(live->processes[i]);
	free(live->processes);
	seep_arena_free(live->arena);
	free(live->samples);
	free(live->news);
	free(live);
}

static void tell(struct seep_live *live, const struct seep_live_process *process, const char *what)
{
	const char *exe = process->profile->process.exe;
	SEEP_FREED char *before = live->news;

	live->news = seep_xasprintf("%s%s%s (pid %u) %s", before ? before : "", before ? "; " : "",
				    exe ? seep_path_base(exe) : "a process",
				    process->profile->process.pid, what);
}

/* In the arrays by context. */
static void make_room(struct seep_live_process *process)
{
	const uint32_t count = process->profile->context_count, old = process->room;
	const uint32_t room = count + count / 2;

	if (count <= old)
		return;
	process->before = seep_xextend(process->before, old, room, sizeof(*process->before));
	process->since = seep_xextend(process->since, old, room, sizeof(*process->since));
	process->room = room;
}

int seep_live_add(struct seep_live *live, const char *path, struct seep_error *err)
{
	struct seep_live_process *process;
	struct seep_ledger_live *ledger;
	int r;

	for (uint32_t i = 0; i < live->count; i++)
		if (strcmp(live->processes[i]->path, path) == 0)
			return 0;
	r = seep_ledger_live_open(path, &ledger, err);
	if (r < 0)
		return r;
	process = seep_xcalloc(1, sizeof(*process));
	process->number = ++live->met;
	process->user = SEEP_NOBODY;
	process->path = seep_xstrdup(path);
	process->ledger = ledger;
	take_profile(live, process);
	process->growth = seep_growth_new(live->options.growth_after_ns);
	make_room(process);
	*SEEP_APPEND(live->processes, live->count) = process;
	if (live->readings > 0)
		tell(live, process, "is new");
	return 0;
}

/* What the next reading is compared with. */
static void remember(struct seep_live_process *process)
{
	const struct seep_profile *profile = process->profile;
	const struct seep_profile_counted counted = seep_profile_counted(profile);

	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *c = &profile->contexts[i];

		process->before[i] = (struct seep_live_figures){ c->live_bytes, c->allocs,
								 c->frees };
	}
	process->total_before = (struct seep_live_figures){ profile->totals.live_bytes,
							    counted.allocs, counted.frees };
}

static char *fate_of(const struct seep_profile_process *process)
{
	switch (process->ended) {
	case SEEP_ENDED_EXIT:
		return process->has_status
			       ? seep_xasprintf("exited with status %d", process->status_code)
			       : seep_xstrdup("exited");
	case SEEP_ENDED_EXEC:
		return seep_xstrdup("ended by exec");
	case SEEP_ENDED_DETACHED:
		return seep_xstrdup("was detached from");
	default:
		return seep_xstrdup("was killed");
	}
}

static void lose(struct seep_live *live, struct seep_live_process *process, char *fate,
		 enum seep_live_state state)
{
	process->state = state;
	process->fate = fate;
	tell(live, process, fate);
}

/* A recorder has watched for longer: it is right, if it looks for the same. */
static void observe_growth(struct seep_live *live, struct seep_live_process *process,
			   uint64_t now_ns)
{
	struct seep_growth_list list = seep_ledger_live_growth(process->ledger, now_ns);

	if (live->options.growth_after_ns && live->options.growth_after_ns != list.after_ns)
		list.after_ns = 0;
	seep_growth_observe(process->growth, process->profile, now_ns);
	seep_growth_hear(process->growth, process->profile, &list);
	list = seep_growth_list(process->growth);
	process->grown = list.sum;
	if (list.news && live->options.grown)
		live->options.grown(live->options.user, process, &list);
	seep_growth_tell(process->growth, &list);
	seep_growth_list_done(&list);
}

static void read_again(struct seep_live *live, struct seep_live_process *process, uint64_t now_ns)
{
	struct seep_procfs_status status;
	struct seep_procfs_stat stat;
	struct seep_error err = { 0 };
	uint32_t pid = 0;
	/* Before it is read: what is read of a dead one is its last state. */
	const bool runs = seep_ledger_live_runs(process->ledger, &pid);
	const bool replaced = runs && seep_ledger_live_is_replaced(process->ledger);
	int r;

	if (process->read_ns)
		remember(process);
	r = seep_ledger_live_refresh(process->ledger, &err);
	take_profile(live, process);
	make_room(process);
	if (r < 0) {
		/* One that is cut after its end is nobody's loss. */
		lose(live, process, seep_xasprintf("is not read any more: %s", err.text),
		     SEEP_LIVE_LOST);
		return;
	}
	process->span_ns = process->read_ns ? now_ns - process->read_ns : 0;
	process->read_ns = now_ns;
	memmove(process->recent, process->recent + 1,
		sizeof(process->recent) - sizeof(process->recent[0]));
	process->recent[SEEP_GROWTH_RECENT - 1] = process->profile->totals.live_bytes;
	/* What comes later begins with nothing: its first reading is a change of the sums. */
	if (live->readings == 0) {
		remember(process);
		for (int i = 0; i < SEEP_GROWTH_RECENT; i++)
			process->recent[i] = process->profile->totals.live_bytes;
	}
	process->threads = seep_procfs_stat(pid, &stat) ? stat.threads : 0;
	if (seep_procfs_status(pid, &status))
		process->user = status.uid;
	seep_live_read_scopes(live, process, now_ns);
	observe_growth(live, process, now_ns);
	if (replaced && !process->replaced)
		tell(live, process, "has a ledger whose file was replaced; the old one is read on");
	process->replaced = replaced;
	if (!runs || process->profile->process.ended != SEEP_ENDED_RUNNING)
		lose(live, process, fate_of(&process->profile->process), SEEP_LIVE_ENDED);
}

/* A build has thousands of processes: only the last to end are kept. */
static void let_go(struct seep_live *live)
{
	uint32_t ended = 0, kept = 0;

	for (uint32_t i = 0; i < live->count; i++)
		ended += live->processes[i]->state == SEEP_LIVE_ENDED;
	for (uint32_t i = 0; i < live->count; i++) {
		struct seep_live_process *process = live->processes[i];

		/* The first is who the tree is named after. */
		if (i == 0 || ended <= SEEP_LIVE_ENDED_KEPT || process->state != SEEP_LIVE_ENDED ||
		    process == live->only) {
			live->processes[kept++] = process;
			continue;
		}
		ended--;
		live->left_out_count++;
		live->left_out_grown |= process->grown.contexts > 0;
		process_free(process);
	}
	live->count = kept;
}

static void take_sample(struct seep_live *live, uint64_t now_ns)
{
	if (live->readings++ % live->sample_every != 0)
		return;
	if (live->sample_count == SEEP_LIVE_SAMPLES) {
		for (uint32_t i = 0; i < SEEP_LIVE_SAMPLES / 2; i++)
			live->samples[i] = live->samples[2 * i];
		live->sample_count /= 2;
		live->sample_every *= 2;
	}
	live->samples[live->sample_count++] =
		(struct seep_live_sample){ now_ns, seep_live_total(live).live_bytes };
}

void seep_live_refresh(struct seep_live *live, uint64_t now_ns)
{
	free(live->news);
	live->news = NULL;
	seep_arena_free(live->arena);
	live->arena = seep_arena_new();
	if (live->options.find)
		live->options.find(live->options.user, live);
	for (uint32_t i = 0; i < live->count; i++)
		if (live->processes[i]->state == SEEP_LIVE_RUNS)
			read_again(live, live->processes[i], now_ns);
	let_go(live);
	live->read_ns = now_ns;
	take_sample(live, now_ns);
}

/* Its next program may be recorded too, and the ledger of that be not there yet. */
static bool may_go_on(const struct seep_live_process *process)
{
	return process->state == SEEP_LIVE_ENDED &&
	       process->profile->process.ended == SEEP_ENDED_EXEC &&
	       seep_monotonic_ns() < process->read_ns + 2 * SEEP_NS_PER_S;
}

bool seep_live_runs(const struct seep_live *live)
{
	for (uint32_t i = 0; i < live->count; i++)
		if (live->processes[i]->state == SEEP_LIVE_RUNS || may_go_on(live->processes[i]))
			return true;
	return false;
}

bool seep_live_has_grown(const struct seep_live *live)
{
	for (uint32_t i = 0; i < live->count; i++)
		if (live->processes[i]->grown.contexts > 0)
			return true;
	return live->left_out_grown;
}

struct seep_live_process *seep_live_find(const struct seep_live *live, uint64_t number)
{
	for (uint32_t i = 0; i < live->count; i++)
		if (live->processes[i]->number == number)
			return live->processes[i];
	return NULL;
}

void seep_live_choose(struct seep_live *live, struct seep_live_process *process)
{
	live->only = process;
	live->sample_count = 0;
	live->sample_every = 1;
}

bool seep_live_is_current(const struct seep_live *live, const struct seep_live_process *process)
{
	const struct seep_live_process *last = NULL;

	if (live->only)
		return process == live->only;
	if (process->state != SEEP_LIVE_ENDED)
		return true;
	for (uint32_t i = 0; i < live->count; i++) {
		if (live->processes[i]->state != SEEP_LIVE_ENDED)
			return false;
		if (!last || live->processes[i]->read_ns > last->read_ns)
			last = live->processes[i];
	}
	return process == last;
}

struct seep_live_process *seep_live_first(const struct seep_live *live)
{
	for (uint32_t i = 0; i < live->count; i++)
		if (seep_live_is_current(live, live->processes[i]))
			return live->processes[i];
	return NULL;
}

void seep_live_reset(struct seep_live *live, bool again)
{
	live->since_ns = again ? 0 : live->read_ns;
	for (uint32_t i = 0; i < live->count; i++) {
		struct seep_live_process *process = live->processes[i];

		process->total_since = process->profile->totals.live_bytes;
		for (uint32_t k = 0; k < process->room; k++)
			process->since[k] = k < process->profile->context_count
						    ? process->profile->contexts[k].live_bytes
						    : 0;
	}
}

static uint64_t per_second(uint64_t now, uint64_t before, uint64_t span_ns)
{
	const double span_s = (double)span_ns / SEEP_NS_PER_S;
	const double rate = span_ns && now > before ? (double)(now - before) / span_s + 0.5 : 0;

	return rate < (double)INT64_MAX ? (uint64_t)rate : INT64_MAX;
}

/* A ledger may say anything. */
static int64_t difference(uint64_t now, uint64_t before)
{
	const uint64_t size = core_smaller(now < before ? before - now : now - before, INT64_MAX);

	return now < before ? -(int64_t)size : (int64_t)size;
}

struct seep_live_totals seep_live_process_total(const struct seep_live *live,
						const struct seep_live_process *process)
{
	const struct seep_profile_counted counted = seep_profile_counted(process->profile);
	const struct seep_profile_totals *totals = &process->profile->totals;
	const struct seep_live_figures *before = &process->total_before;
	struct seep_live_totals sum = {
		.processes = 1,
		.live_bytes = totals->live_bytes,
		.live_blocks = totals->live_blocks,
		.peak_bytes = totals->peak_bytes,
		.allocs = counted.allocs,
		.frees = counted.frees,
		.change_bytes = difference(totals->live_bytes, live->since_ns ? process->total_since
									      : before->live_bytes),
		.allocs_per_s = per_second(counted.allocs, before->allocs, process->span_ns),
		.frees_per_s = per_second(counted.frees, before->frees, process->span_ns),
		.threads = process->threads,
		.findings = process->profile->finding_count,
		.grown = process->grown,
	};

	seep_errors_join(sum.errors, totals->errors);
	return sum;
}

struct seep_live_totals seep_live_total(const struct seep_live *live)
{
	struct seep_live_totals sum = { 0 }, one;

	for (uint32_t i = 0; i < live->count; i++) {
		if (!seep_live_is_current(live, live->processes[i]))
			continue;
		one = seep_live_process_total(live, live->processes[i]);
		sum.processes++;
		for (size_t k = 0; k < SEEP_LIVE_SUMS; k++)
			sum.sums[k] += one.sums[k];
		seep_errors_join(sum.errors, one.errors);
		seep_counts_sum(&sum.change_bytes, one.change_bytes);
		sum.grown.contexts += one.grown.contexts;
		sum.grown.bytes += one.grown.bytes;
		sum.grown.bytes_per_hour += one.grown.bytes_per_hour;
	}
	return sum;
}

static uint64_t age_ns(const struct seep_live_process *process,
		       const struct seep_profile_context *context)
{
	uint64_t from_ns;

	if (context->epoch_count == 0)
		return 0;
	from_ns = core_larger(seep_live_epoch_ns(process->profile, context->epochs[0].epoch),
			      context->first_ns);
	return process->read_ns > from_ns ? process->read_ns - from_ns : 0;
}

/* One context more; @before: of all, as that was. */
static void add_context(struct seep_live_line *line, const struct seep_live *live, uint32_t index,
			struct seep_live_figures *before)
{
	const struct seep_live_process *process = line->process;
	const struct seep_profile_context *context = &process->profile->contexts[index];
	struct seep_profile_growth growth;
	uint64_t recent[SEEP_GROWTH_RECENT];
	const bool changed = seep_growth_recent(process->growth, context->id, recent);

	before->live_bytes += live->since_ns ? process->since[index]
					     : process->before[index].live_bytes;
	before->allocs += process->before[index].allocs;
	before->frees += process->before[index].frees;
	line->age_ns = core_larger(line->age_ns, age_ns(process, context));
	line->changed |= changed;
	for (int i = 0; i < SEEP_GROWTH_RECENT; i++)
		line->recent[i] += changed ? recent[i] : context->live_bytes;
	if (seep_growth_of(process->growth, context->id, &growth)) {
		seep_growth_join(&line->growth, &growth);
		line->judged = true;
	}
}

/* @arena: NULL for what is only compared. */
static struct seep_live_line line_of(const struct seep_live *live,
				     struct seep_live_process *process,
				     const struct seep_group *group, struct seep_arena *arena)
{
	struct seep_live_figures before = { 0 };
	struct seep_live_line line = {
		.process = process,
		.context = group->context,
		.sum = seep_group_context(process->groups, process->profile, group, arena),
	};
	uint32_t at = group->context;

	for (uint32_t i = 0; i < group->context_count; i++, at = process->groups->next[at])
		add_context(&line, live, at, &before);
	line.change_bytes = difference(line.sum.live_bytes, before.live_bytes);
	line.allocs_per_s = per_second(line.sum.allocs, before.allocs, process->span_ns);
	line.frees_per_s = per_second(line.sum.frees, before.frees, process->span_ns);
	return line;
}

struct seep_live_line seep_live_line(const struct seep_live *live,
				     struct seep_live_process *process, uint32_t context)
{
	const struct seep_group *group = process->groups->items;

	for (uint32_t i = 1; i < process->groups->count && group->context != context; i++)
		group++;
	return line_of(live, process, group, live->arena);
}

static int64_t value_of(const struct seep_live_line *line, enum seep_live_sort sort)
{
	switch (sort) {
	case SEEP_LIVE_BY_CHANGE:
		return line->change_bytes;
	case SEEP_LIVE_BY_ALLOCS:
		return difference(line->allocs_per_s, 0);
	case SEEP_LIVE_BY_AGE:
		return difference(line->age_ns, 0);
	case SEEP_LIVE_BY_BLOCKS:
		return difference(line->sum.live_blocks, 0);
	case SEEP_LIVE_BY_GROWTH:
		return seep_growth_weight(&line->growth) ? seep_growth_weight(&line->growth)
							 : line->change_bytes;
	default:
		return difference(line->sum.live_bytes, 0);
	}
}

static bool frame_has(const struct seep_profile *profile, const struct seep_profile_frame *frame,
		      const char *text)
{
	const char *module = seep_profile_frame_path(profile, frame);

	return (frame->function && strstr(frame->function, text)) ||
	       (frame->file && strstr(frame->file, text)) ||
	       (module && strstr(seep_path_base(module), text));
}

static void match_frames(struct seep_live_process *process, const char *text)
{
	const struct seep_profile *profile = process->profile;

	if (!process->matched || strcmp(process->matched, text) != 0) {
		free(process->matched);
		process->matched = seep_xstrdup(text);
		process->match_count = 0;
	}
	if (process->match_count == profile->frame_count)
		return;
	process->matches = seep_xrealloc(process->matches, profile->frame_count, 1);
	for (uint32_t i = process->match_count; i < profile->frame_count; i++)
		process->matches[i] = frame_has(profile, &profile->frames[i], text);
	process->match_count = profile->frame_count;
}

static bool is_shown(const struct seep_live_line *line, bool filtered)
{
	if (line->sum.live_blocks == 0 && line->change_bytes == 0 && line->allocs_per_s == 0)
		return false;
	for (uint32_t i = 0; i < line->sum.stack_count && filtered; i++)
		if (line->process->matches[line->sum.stack[i].frame])
			return true;
	return !filtered;
}

uint32_t seep_live_top(struct seep_live *live, enum seep_live_sort sort, const char *filter,
		       uint32_t top, struct seep_live_line *ret_lines)
{
	SEEP_FREED struct seep_ranked *ranked = NULL;
	uint32_t count = 0, all = 0;

	for (uint32_t p = 0; p < live->count; p++)
		all += live->processes[p]->profile->context_count;
	ranked = seep_xmalloc((size_t)all * sizeof(*ranked));
	for (uint32_t p = 0, first = 0; p < live->count; p++) {
		struct seep_live_process *process = live->processes[p];

		if (seep_live_is_current(live, process)) {
			seep_live_name(live, process);
			if (*filter)
				match_frames(process, filter);
			for (uint32_t i = 0; i < process->groups->count; i++) {
				const struct seep_live_line line =
					line_of(live, process, &process->groups->items[i], NULL);

				if (is_shown(&line, *filter))
					ranked[count++] = (struct seep_ranked){
						.value = value_of(&line, sort),
						.tie = ~line.sum.live_bytes,
						.index = first + i,
					};
			}
		}
		first += process->profile->context_count;
	}
	top = (uint32_t)seep_rank_top(ranked, count, top);
	for (uint32_t k = 0; k < top; k++) {
		uint32_t index = ranked[k].index, p = 0;

		while (index >= live->processes[p]->profile->context_count)
			index -= live->processes[p++]->profile->context_count;
		ret_lines[k] = line_of(live, live->processes[p],
				       &live->processes[p]->groups->items[index], live->arena);
	}
	return top;
}

void seep_live_name(const struct seep_live *live, struct seep_live_process *process)
{
	struct seep_profile *profile = process->profile;

	/* Frames may come a reading before the contexts that they are of. */
	if (process->sites && profile->context_count == process->named_contexts &&
	    profile->frame_count == process->named_frames)
		return;
	/* All stacks together too long: the last ones lack inlined calls. */
	if (!live->options.within)
		(void)!seep_profile_symbolise(profile, live->options.symbols, false, NULL, NULL);
	process->named_contexts = profile->context_count;
	process->named_frames = profile->frame_count;
	seep_sites_free(process->sites);
	seep_groups_free(process->groups);
	process->sites = seep_sites_new(profile);
	process->groups = seep_groups_new(process->sites, true, true);
}
