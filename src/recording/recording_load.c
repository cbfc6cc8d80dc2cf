/* SPDX-License-Identifier: MIT */
/*
 * Rows are read in the order of their ids, which must be 1, 2, 3 ... where others refer to them:
 * then a reference is checked by one comparison. What texts may take together is bounded by the
 * size of the file, so that one piece of it cannot be handed out a million times.
 */
#include "recording/recording.h"

#include "base/xalloc.h"
#include "profile/profile.h"
#include "recording/recording_db.h"
#include "recording/recording_schema.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MODULES_MAX (1u << 20)
#define FRAMES_MAX (1u << 27)
#define NODES_MAX (1u << 28)
#define CONTEXTS_MAX (1u << 26)
#define SMALL_MAX (1u << 22) /* rows of every other table */
#define EPOCHS_MAX (1u << 28)
#define ENTRIES_MAX (1ull << 29)
#define TEXT_SLACK_BYTES (64ull * 1024)

struct node {
	uint32_t parent;
	uint32_t frame;
	uint32_t depth; /* 1 = outermost */
	uint16_t repeats;
	uint8_t period;
};

struct loader {
	struct sqlite3 *db;
	struct seep_profile *profile;
	struct seep_error *err;
	uint64_t text_left;
	struct node *nodes;
	size_t node_capacity;
	uint32_t node_count;
	void *items; /* of the table that is being read */
	size_t item_capacity;
	uint32_t item_count;
	uint64_t entries;
	sqlite3_stmt *statement;
};

typedef int (*row_function)(struct loader *l);

static int damaged(struct loader *l, const char *what)
{
	return seep_fail(l->err, SEEP_ECORRUPT, "%s", what);
}

static uint64_t number(struct loader *l, int column)
{
	return (uint64_t)sqlite3_column_int64(l->statement, column);
}

static bool flag(struct loader *l, int column)
{
	return sqlite3_column_int64(l->statement, column) != 0;
}

static bool is_null(struct loader *l, int column)
{
	return sqlite3_column_type(l->statement, column) == SQLITE_NULL;
}

/* A number that must not be larger than @max; larger ones are replaced by 0. */
static uint32_t small(struct loader *l, int column, uint32_t max)
{
	uint64_t value = number(l, column);

	return value <= max ? (uint32_t)value : 0;
}

/* NULL for NULL, and when the file's texts together are longer than the file. */
static char *text(struct loader *l, int column)
{
	const char *bytes;
	uint64_t count;

	if (is_null(l, column))
		return NULL;
	bytes = (const char *)sqlite3_column_text(l->statement, column);
	count = (uint64_t)sqlite3_column_bytes(l->statement, column);
	if (!bytes || count + 1 > l->text_left)
		return NULL;
	l->text_left -= count + 1;
	return seep_profile_strndup(l->profile, bytes, count);
}

static char *text_or_empty(struct loader *l, int column)
{
	char *copy = text(l, column);

	return copy ? copy : seep_profile_strndup(l->profile, "", 0);
}

/* Call @row for each row of @sql, at most @max times. */
static int each_row(struct loader *l, const char *sql, uint32_t max, row_function row)
{
	uint32_t count = 0;
	int rc = sqlite3_prepare_v2(l->db, sql, -1, &l->statement, NULL);
	int r = 0;

	while (rc == SQLITE_OK && r == 0) {
		rc = sqlite3_step(l->statement);
		if (rc != SQLITE_ROW)
			break;
		rc = SQLITE_OK;
		r = count++ < max ? row(l) : seep_fail(l->err, SEEP_ELIMIT, "too many rows");
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = seep_db_fail(l->db, rc, l->err);
	(void)sqlite3_finalize(l->statement);
	l->statement = NULL;
	return r;
}

/* Room for one more item of @bytes, zeroed. */
static void *add_item(struct loader *l, size_t bytes)
{
	char *item;

	l->items = seep_xgrow(l->items, &l->item_capacity, (size_t)l->item_count + 1, bytes);
	item = (char *)l->items + l->item_count++ * bytes;
	memset(item, 0, bytes);
	return item;
}

/* The items, moved to the profile; their number goes to *@ret_count. */
static void *take_items(struct loader *l, size_t bytes, uint32_t *ret_count)
{
	void *moved = seep_profile_calloc(l->profile, l->item_count, bytes);

	if (l->item_count)
		memcpy(moved, l->items, l->item_count * bytes);
	*ret_count = l->item_count;
	free(l->items);
	l->items = NULL;
	l->item_capacity = 0;
	l->item_count = 0;
	return moved;
}

static int process_row(struct loader *l)
{
	struct seep_profile_process *process = &l->profile->process;
	char *ended;

	process->pid = (uint32_t)number(l, 0);
	process->ppid = (uint32_t)number(l, 1);
	process->uid = (uint32_t)number(l, 2);
	process->exe = text(l, 3);
	process->cwd = text(l, 4);
	process->allocator = text(l, 5);
	process->options = text(l, 6);
	process->mode = (uint32_t)number(l, 7);
	process->start_ns = number(l, 8);
	process->start_realtime_ns = number(l, 9);
	process->end_ns = number(l, 10);
	ended = text(l, 11);
	process->ended = seep_recording_ended_value(ended);
	process->has_status = !is_null(l, 12) || !is_null(l, 13);
	process->status_code = (int)(number(l, 12) & 0xff);
	process->status_signal = (int)(number(l, 13) & 0x7f);
	process->core_dumped = flag(l, 14);
	process->peak_rss_bytes = number(l, 15);
	if (flag(l, 16))
		process->argv = seep_profile_calloc(l->profile, 1, sizeof(*process->argv));
	l->profile->symbolised = flag(l, 17);
	l->item_count++;
	return 0;
}

static int load_process(struct loader *l)
{
	int r = each_row(l,
			 "SELECT pid, ppid, uid, exe, cwd, allocator, options, mode, start_ns,"
			 " start_realtime_ns, end_ns, ended, status_code, status_signal,"
			 " core_dumped, peak_rss_bytes, argv_known, symbolised FROM process",
			 1, process_row);

	if (r == 0 && l->item_count != 1)
		r = damaged(l, "it names no process");
	l->item_count = 0;
	return r;
}

static int argv_row(struct loader *l)
{
	char **argument = add_item(l, sizeof(*argument));

	*argument = text_or_empty(l, 0);
	return 0;
}

static int load_argv(struct loader *l)
{
	uint32_t count = 0;
	int r;

	if (!l->profile->process.argv)
		return 0;
	r = each_row(l, "SELECT value FROM argv ORDER BY position", SMALL_MAX, argv_row);
	(void)add_item(l, sizeof(char *)); /* the NULL at the end */
	l->profile->process.argv = take_items(l, sizeof(char *), &count);
	return r;
}

static int child_row(struct loader *l)
{
	*(uint32_t *)add_item(l, sizeof(uint32_t)) = (uint32_t)number(l, 0);
	return 0;
}

static int load_children(struct loader *l)
{
	struct seep_profile_process *process = &l->profile->process;
	int r = each_row(l, "SELECT pid FROM child ORDER BY position", SMALL_MAX, child_row);

	process->children = take_items(l, sizeof(uint32_t), &process->child_count);
	return r;
}

static int module_row(struct loader *l)
{
	struct seep_profile_module *module = add_item(l, sizeof(*module));
	const void *build_id = sqlite3_column_blob(l->statement, 5);
	int build_id_bytes = sqlite3_column_bytes(l->statement, 5);

	if (number(l, 0) != l->item_count)
		return damaged(l, "module ids have gaps");
	module->path = text_or_empty(l, 1);
	module->bias = number(l, 2);
	module->start = number(l, 3);
	module->end = number(l, 4);
	if (build_id && build_id_bytes <= SEEP_PROFILE_BUILD_ID_BYTES) {
		memcpy(module->build_id, build_id, (size_t)build_id_bytes);
		module->build_id_bytes = (uint32_t)build_id_bytes;
	}
	module->problem = text(l, 6);
	return 0;
}

static int load_modules(struct loader *l)
{
	int r = each_row(l,
			 "SELECT id, path, bias, start_address, end_address, build_id, problem"
			 " FROM module ORDER BY id",
			 MODULES_MAX, module_row);

	l->profile->modules = take_items(l, sizeof(struct seep_profile_module),
					 &l->profile->module_count);
	return r;
}

static int frame_row(struct loader *l)
{
	struct seep_profile_frame *frame = add_item(l, sizeof(*frame));

	if (number(l, 0) != l->item_count)
		return damaged(l, "frame ids have gaps");
	if (number(l, 1) > l->profile->module_count)
		return damaged(l, "a frame names a module that is not there");
	frame->module = (uint32_t)number(l, 1);
	frame->address = number(l, 2);
	frame->exact = flag(l, 3);
	frame->inlined = flag(l, 4);
	frame->function = text(l, 5);
	frame->file = text(l, 6);
	frame->line = small(l, 7, UINT32_MAX);
	return 0;
}

static int load_frames(struct loader *l)
{
	int r = each_row(l,
			 "SELECT id, module, address, exact, inlined, function, file, line"
			 " FROM frame ORDER BY id",
			 FRAMES_MAX, frame_row);

	l->profile->frames = take_items(l, sizeof(struct seep_profile_frame),
					&l->profile->frame_count);
	return r;
}

static int node_row(struct loader *l)
{
	uint64_t parent = number(l, 1);
	uint64_t frame = number(l, 2);
	struct node *node;

	if (number(l, 0) != (uint64_t)l->node_count + 1)
		return damaged(l, "node ids have gaps");
	if (parent > l->node_count)
		return damaged(l, "a node comes before its parent");
	if (frame == 0 || frame > l->profile->frame_count)
		return damaged(l, "a node names a frame that is not there");
	l->nodes = seep_xgrow(l->nodes, &l->node_capacity, (size_t)l->node_count + 1,
			      sizeof(*l->nodes));
	node = &l->nodes[l->node_count++];
	node->parent = (uint32_t)parent;
	node->frame = (uint32_t)frame - 1;
	node->depth = parent ? l->nodes[parent - 1].depth + 1 : 1;
	node->period = (uint8_t)small(l, 3, UINT8_MAX);
	node->repeats = (uint16_t)small(l, 4, UINT16_MAX);
	return 0;
}

static int load_nodes(struct loader *l)
{
	return each_row(l, "SELECT id, parent, frame, period, repeats FROM node ORDER BY id",
			NODES_MAX, node_row);
}

static int fill_stack(struct loader *l, struct seep_profile_context *context, uint32_t leaf)
{
	uint32_t depth = leaf ? l->nodes[leaf - 1].depth : 0;
	uint32_t id = leaf;

	l->entries += depth;
	if (l->entries > ENTRIES_MAX)
		return seep_fail(l->err, SEEP_ELIMIT,
				 "the stacks have more than %llu frames together", ENTRIES_MAX);
	context->stack = seep_profile_calloc(l->profile, depth, sizeof(*context->stack));
	context->stack_count = depth;
	for (uint32_t i = 0; i < depth; i++) {
		const struct node *node = &l->nodes[id - 1];

		context->stack[i].frame = node->frame;
		context->stack[i].period = node->period;
		context->stack[i].repeats = node->repeats;
		id = node->parent;
	}
	return 0;
}

static void context_figures(struct loader *l, struct seep_profile_context *context)
{
	context->first_ns = number(l, 12);
	context->allocs = number(l, 13);
	context->alloc_bytes = number(l, 14);
	context->frees = number(l, 15);
	context->freed_bytes = number(l, 16);
	context->temporary = number(l, 17);
	context->live_blocks = number(l, 18);
	context->live_bytes = number(l, 19);
	context->peak_blocks = number(l, 20);
	context->peak_bytes = number(l, 21);
}

static int context_row(struct loader *l)
{
	struct seep_profile_context *context = add_item(l, sizeof(*context));
	uint64_t id = number(l, 0);
	uint64_t leaf = number(l, 4);

	if (id == 0 || id > UINT32_MAX || (l->item_count > 1 && id <= context[-1].id))
		return damaged(l, "context ids are out of order");
	if (leaf > l->node_count)
		return damaged(l, "a context names a node that is not there");
	context->id = (uint32_t)id;
	context->hash = number(l, 1);
	context->kind = (uint8_t)small(l, 2, SEEP_PROFILE_KIND_COUNT - 1);
	context->align_log2 = (uint8_t)small(l, 3, 63);
	context->truncated = flag(l, 5);
	context->cut = flag(l, 6);
	context->no_stack = flag(l, 7);
	context->other = flag(l, 8);
	context->in_doubt = flag(l, 9);
	context->thread = text(l, 10);
	context->scope = text(l, 11);
	context_figures(l, context);
	return fill_stack(l, context, (uint32_t)leaf);
}

static int load_contexts(struct loader *l)
{
	int r = each_row(l,
			 "SELECT id, hash, kind, align_log2, leaf, truncated, cut, no_stack, other,"
			 " in_doubt, thread, scope, first_ns, allocs, alloc_bytes, frees,"
			 " freed_bytes, temporary, live_blocks, live_bytes, peak_blocks,"
			 " peak_bytes FROM context ORDER BY id",
			 CONTEXTS_MAX, context_row);

	l->profile->contexts = take_items(l, sizeof(struct seep_profile_context),
					  &l->profile->context_count);
	return r;
}

struct epoch_item {
	uint32_t context;
	struct seep_profile_epoch epoch;
};

static int epoch_row(struct loader *l)
{
	struct epoch_item *item = add_item(l, sizeof(*item));

	item->context = small(l, 0, UINT32_MAX);
	item->epoch.epoch = small(l, 1, UINT32_MAX);
	item->epoch.blocks = number(l, 2);
	item->epoch.bytes = number(l, 3);
	return 0;
}

/* Both sides ascend by context; what names no context ends the run over. */
static int hand_out_epochs(struct loader *l)
{
	const struct epoch_item *items = l->items;
	uint32_t at = 0;

	for (uint32_t i = 0; i < l->profile->context_count; i++) {
		struct seep_profile_context *context = &l->profile->contexts[i];
		uint32_t first = at;

		while (at < l->item_count && items[at].context == context->id)
			at++;
		context->epoch_count = at - first;
		context->epochs = seep_profile_calloc(l->profile, context->epoch_count,
						      sizeof(*context->epochs));
		for (uint32_t e = 0; e < context->epoch_count; e++)
			context->epochs[e] = items[first + e].epoch;
	}
	return at == l->item_count ? 0 : damaged(l, "an epoch names a context that is not there");
}

static int load_epochs(struct loader *l)
{
	int r = each_row(l,
			 "SELECT context, epoch, blocks, bytes FROM epoch ORDER BY context, epoch",
			 EPOCHS_MAX, epoch_row);

	if (r == 0)
		r = hand_out_epochs(l);
	free(l->items);
	l->items = NULL;
	l->item_capacity = 0;
	l->item_count = 0;
	return r;
}

static int mark_row(struct loader *l)
{
	struct seep_profile_mark *mark = add_item(l, sizeof(*mark));

	mark->epoch = small(l, 0, UINT32_MAX);
	mark->name = text(l, 1);
	mark->at_ns = number(l, 2);
	mark->exact = flag(l, 3);
	return 0;
}

static int load_marks(struct loader *l)
{
	int r = each_row(l, "SELECT epoch, name, at_ns, exact FROM mark ORDER BY position",
			 SMALL_MAX, mark_row);

	l->profile->marks = take_items(l, sizeof(struct seep_profile_mark),
				       &l->profile->mark_count);
	return r;
}

static int sample_row(struct loader *l)
{
	struct seep_profile_sample *sample = add_item(l, sizeof(*sample));

	sample->at_ns = number(l, 0);
	sample->live_bytes = number(l, 1);
	sample->rss_bytes = number(l, 2);
	sample->allocs = number(l, 3);
	sample->frees = number(l, 4);
	return 0;
}

static int load_samples(struct loader *l)
{
	int r = each_row(l,
			 "SELECT at_ns, live_bytes, rss_bytes, allocs, frees FROM sample"
			 " ORDER BY position",
			 SMALL_MAX, sample_row);

	l->profile->timeline = take_items(l, sizeof(struct seep_profile_sample),
					  &l->profile->sample_count);
	return r;
}

static int unseen_row(struct loader *l)
{
	struct seep_profile_unseen *unseen = add_item(l, sizeof(*unseen));

	unseen->code = text_or_empty(l, 0);
	unseen->detail = text_or_empty(l, 1);
	return 0;
}

/* Not by seep_profile_add_unseen(), which looks at every line that is there already. */
static int load_unseen(struct loader *l)
{
	int r = each_row(l, "SELECT code, detail FROM unseen ORDER BY position", SMALL_MAX,
			 unseen_row);
	uint32_t count = l->item_count;
	uint32_t room = 1;

	/* seep_profile_add_unseen() may follow: it expects room up to a power of two. */
	while (room < count)
		room *= 2;
	while (l->item_count < room)
		(void)add_item(l, sizeof(struct seep_profile_unseen));
	l->profile->unseen = take_items(l, sizeof(struct seep_profile_unseen), &l->item_count);
	l->item_count = 0;
	l->profile->unseen_count = count;
	return r;
}

/* Names that this seep does not know are a newer one's; those that are missing stay 0. */
static int total_row(struct loader *l)
{
	struct seep_profile_totals *totals = &l->profile->totals;
	const char *name = (const char *)sqlite3_column_text(l->statement, 0);
	uint64_t value = number(l, 1);

	if (!name)
		return damaged(l, "a total has no name");
	for (size_t i = 0; i < seep_recording_total_count; i++)
		if (strcmp(name, seep_recording_totals[i].name) == 0)
			memcpy((char *)totals + seep_recording_totals[i].offset, &value,
			       sizeof(value));
	if (strcmp(name, "peak_exact") == 0)
		totals->peak_exact = value != 0;
	if (strcmp(name, "verify_asked") == 0)
		totals->verify.asked = value != 0;
	return 0;
}

static int load_totals(struct loader *l)
{
	return each_row(l, "SELECT name, value FROM total", SMALL_MAX, total_row);
}

static int histogram_row(struct loader *l)
{
	uint64_t bucket = number(l, 0);

	if (bucket >= SEEP_PROFILE_HISTOGRAM_BUCKETS)
		return damaged(l, "the histogram has a bucket too many");
	l->profile->totals.histogram[bucket] = number(l, 1);
	return 0;
}

static int load_histogram(struct loader *l)
{
	return each_row(l, "SELECT bucket, allocs FROM histogram", SMALL_MAX, histogram_row);
}

static int forked_row(struct loader *l)
{
	struct seep_profile_forked *forked = &l->profile->forked;

	forked->processes = number(l, 0);
	forked->allocs = number(l, 1);
	forked->alloc_bytes = number(l, 2);
	forked->frees = number(l, 3);
	forked->freed_bytes = number(l, 4);
	forked->live_bytes = number(l, 5);
	return 0;
}

static int load_forked(struct loader *l)
{
	return each_row(l,
			"SELECT processes, allocs, alloc_bytes, frees, freed_bytes, live_bytes"
			" FROM forked",
			1, forked_row);
}

static int load_all(struct loader *l)
{
	/* In order of reference: frames name modules, nodes frames, contexts nodes. */
	static const row_function steps[] = {
		load_process, load_argv,     load_children,  load_modules, load_frames,
		load_nodes,   load_contexts, load_epochs,    load_marks,   load_samples,
		load_unseen,  load_totals,   load_histogram, load_forked,
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && r == 0; i++)
		r = steps[i](l);
	return r;
}

int seep_recording_load(const char *path, struct seep_profile **ret_profile, struct seep_error *err)
{
	struct loader l = { .err = err };
	struct stat st;
	int r = seep_recording_open_database(path, &l.db, err);

	if (r < 0)
		return r;
	l.text_left = TEXT_SLACK_BYTES;
	if (stat(path, &st) == 0)
		l.text_left += (uint64_t)st.st_size;
	l.profile = seep_profile_new();
	r = load_all(&l);
	free(l.items);
	free(l.nodes);
	(void)sqlite3_close(l.db);
	if (r < 0) {
		seep_profile_free(l.profile);
		seep_error_prefix(err, "%s: %s", path,
				  r == -SEEP_ECORRUPT ? "damaged" : "cannot be read");
		return r;
	}
	*ret_profile = l.profile;
	return 0;
}
