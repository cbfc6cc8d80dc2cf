/* SPDX-License-Identifier: MIT */
/*
 * One transaction into a file that nobody else knows yet: no journal, no locks, no syncs but the
 * one before it gets its name. A small recording is made in memory, in a database that is kept with
 * its empty tables: to make and read these costs many times what the rows do.
 */
#include "recording/recording.h"

#include "base/file.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "profile/kind_name.h"
#include "profile/profile.h"
#include "profile/profile_check.h"
#include "profile/total_fields.h"
#include "profile/verdict.h"
#include "recording/recording_rows.h"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCHEMA_BYTES_MAX = 64 * 1024, SMALL_CONTEXTS = 256 };

struct writer {
	struct sqlite3 *db;
	const struct seep_profile *profile;
	struct seep_error *err;
};

static int execute(struct writer *w, const char *sql)
{
	return seep_db_fail(w->db, sqlite3_exec(w->db, sql, NULL, NULL, NULL), w->err);
}

static void write_process(struct seep_row_writer *rows, const struct seep_profile *profile)
{
	const struct seep_profile_process *process = &profile->process;
	const bool by_signal = process->ended == SEEP_ENDED_SIGNAL;
	const struct seep_process_row row = {
		.process = *process,
		.ended = seep_profile_ended_name(process->ended),
		.origin = seep_profile_origin_name(process->origin),
		.status_code = process->has_status && !by_signal ? process->status_code : -1,
		.status_signal = process->has_status && by_signal ? process->status_signal : -1,
		.argv_known = process->argv != NULL,
		.symbolised = profile->symbolised,
		.seep_version = SEEP_VERSION,
		.growth_after_ns = profile->growth_after_ns,
		.schema = SEEP_SCHEMA,
	};

	(void)seep_row_put(rows, SEEP_TABLE_PROCESS, &row);
	for (char **argument = process->argv; argument && *argument; argument++)
		(void)seep_row_put(rows, SEEP_TABLE_ARGV, argument);
}

static void write_names(struct seep_row_writer *rows)
{
	for (uint8_t i = 0; i < LEDGER_KIND_COUNT; i++) {
		const char *name = seep_profile_kind_name(i);

		(void)seep_row_put(rows, SEEP_TABLE_KIND, &name);
	}
	for (unsigned i = 0; i < SEEP_VERDICT_COUNT; i++) {
		const struct seep_verdict_row row = { seep_verdict_name(i), seep_verdict_meaning(i),
						      seep_verdict_is_leak(i) };

		(void)seep_row_put(rows, SEEP_TABLE_VERDICT, &row);
	}
}

/* All that is the same in every recording. There is a page at least for each of its tables. */
static int begin(struct writer *w, int page_bytes)
{
	struct seep_row_writer rows = { .db = w->db };
	SEEP_STRBUF(sql, SCHEMA_BYTES_MAX);
	int r;

	seep_strbuf_addf(&sql,
			 "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
			 "PRAGMA page_size = %d; PRAGMA application_id = %d;"
			 "PRAGMA user_version = %d; BEGIN;\n",
			 page_bytes, SEEP_RECORDING_APPLICATION_ID, SEEP_RECORDING_VERSION);
	for (int i = 0; i < SEEP_TABLE_COUNT; i++)
		seep_sql_create(&seep_sql_tables[i], &sql);
	r = execute(w, sql.text);
	if (r == 0)
		r = execute(w, seep_recording_views_sql);
	if (r < 0)
		return r;
	write_names(&rows);
	return seep_row_writer_done(&rows, w->err);
}

/* What is written as it stands in the profile; arguments have an end besides. */
static void write_places(struct seep_row_writer *rows, const struct seep_profile *profile)
{
	for (unsigned id = 0; id < SEEP_TABLE_COUNT; id++) {
		const struct seep_sql_table *table = &seep_sql_tables[id];
		const char *items = (const char *)profile + table->place;
		uint32_t count = table->rows_max;

		if (!seep_sql_has_place(table) || id == SEEP_TABLE_ARGV)
			continue;
		if (!table->place)
			items = seep_profile_items(profile, table->array, &count);
		for (uint32_t i = 0; i < count; i++)
			(void)seep_row_put(rows, id, items + i * table->row_bytes);
	}
}

static void write_totals(struct seep_row_writer *rows, const struct seep_profile *profile)
{
	for (size_t i = 0; i < seep_total_field_count; i++) {
		const struct seep_total_row row = {
			seep_total_fields[i].name,
			seep_total_get(&profile->totals, &seep_total_fields[i]),
		};

		(void)seep_row_put(rows, SEEP_TABLE_TOTAL, &row);
	}
}

/* The id of the context at @place; 0: none. */
static uint32_t id_at(const struct seep_profile *profile, uint32_t place)
{
	return place ? profile->contexts[place - 1].id : 0;
}

/* With its blocks and its chain. */
static void write_leak(struct seep_row_writer *rows, const struct seep_profile *profile,
		       const struct seep_profile_leak *leak)
{
	const struct seep_leak_row row = {
		.leak = *leak,
		.context = id_at(profile, leak->context),
	};
	const uint32_t id = (uint32_t)seep_row_put(rows, SEEP_TABLE_LEAK, &row);

	for (uint32_t i = 0; i < leak->block_list_count; i++)
		(void)seep_row_put(rows, SEEP_TABLE_LEAK_BLOCK,
				   &(struct seep_leak_block_row){ id, i, leak->block_list[i] });
	for (uint32_t i = 0; i < leak->chain_count; i++)
		(void)seep_row_put(rows, SEEP_TABLE_LEAK_LINK,
				   &(struct seep_leak_link_row){ id, i, leak->chain[i] });
}

static void write_durations(struct seep_row_writer *rows, uint32_t id,
			    const struct seep_profile_scope *scope)
{
	for (uint32_t i = 0; i < SEEP_PROFILE_DURATION_BUCKETS; i++)
		if (scope->histogram[i])
			(void)seep_row_put(
				rows, SEEP_TABLE_SCOPE_DURATION,
				&(struct seep_duration_row){ id, i, scope->histogram[i] });
}

static void write_finding(struct seep_row_writer *rows, const struct seep_profile *profile,
			  const struct seep_profile_finding *finding)
{
	struct seep_profile_finding row = *finding;

	row.block = id_at(profile, finding->block);
	row.freed = id_at(profile, finding->freed);
	row.here = id_at(profile, finding->here);
	(void)seep_row_put(rows, SEEP_TABLE_FINDING, &row);
}

/*
 * Stacks as a tree whose edges are pieces of stacks: what contexts share near the root is written
 * once, and a row for each fork instead of each frame. In the order of the stacks from the root on,
 * a context shares nothing with an earlier one that it does not share with the one before it, and
 * where later ones will leave it is known from what neighbours share. So every piece is written at
 * once.
 */
enum {
	ENTRIES_MAX = 4096,	   /* of one segment, so that no row is very long */
	ENTRY_TEXT_BYTES_MAX = 24, /* "[4294967295,255,65535]," */
};

struct stack {
	const struct seep_profile_stack_entry *entries; /* innermost first */
	uint32_t count;
	uint32_t shared; /* entries from the root that the stack before it has as well */
	uint32_t context;
};

/* A segment that the present stack passes through. */
struct step {
	uint32_t segment;
	uint32_t end; /* entries from the root up to its innermost */
};

struct tree {
	const struct seep_profile *profile;
	struct stack *stacks; /* in order */
	uint32_t *leaves;     /* by context: its innermost segment, 0 = none */
	struct step *path;
	size_t path_count;
	uint32_t *cuts; /* where later stacks leave the present one */
	char *text;
	size_t text_capacity;
	struct seep_row_writer *rows;
};

static uint64_t key_of(const struct seep_profile_stack_entry *entry)
{
	return (uint64_t)entry->repeats << 40 | (uint64_t)entry->period << 32 | entry->frame;
}

/* How many entries from the root on both stacks have. */
static uint32_t shared_by(const struct stack *a, const struct stack *b)
{
	const struct seep_profile_stack_entry *x = a->entries + a->count,
					      *y = b->entries + b->count;

	while (x > a->entries && y > b->entries && key_of(x - 1) == key_of(y - 1)) {
		x--;
		y--;
	}
	return (uint32_t)(a->entries + a->count - x);
}

/* One that is over comes first. */
static int from_the_root(const void *left, const void *right)
{
	const struct stack *a = left, *b = right;
	const uint32_t depth = shared_by(a, b);
	const uint64_t x = depth < a->count ? key_of(&a->entries[a->count - 1 - depth]) + 1 : 0;
	const uint64_t y = depth < b->count ? key_of(&b->entries[b->count - 1 - depth]) + 1 : 0;

	return (x > y) - (x < y);
}

static void order_stacks(struct tree *tree)
{
	const uint32_t count = tree->profile->context_count;

	for (uint32_t i = 0; i < count; i++)
		tree->stacks[i] = (struct stack){ .entries = tree->profile->contexts[i].stack,
						  .count = tree->profile->contexts[i].stack_count,
						  .context = i };
	qsort(tree->stacks, count, sizeof(*tree->stacks), from_the_root);
	for (uint32_t i = 1; i < count; i++)
		tree->stacks[i].shared = shared_by(&tree->stacks[i], &tree->stacks[i - 1]);
}

static char *add_number(char *at, uint32_t number)
{
	char digits[16];
	int count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (count)
		*at++ = digits[--count];
	return at;
}

/* "[7,12,[5,1,300]]": see docs/recording.md. @text has room. */
static void frames_text(const struct seep_profile_stack_entry *entries, uint32_t count, char *text)
{
	char *at = text;

	for (uint32_t i = 0; i < count; i++) {
		const struct seep_profile_stack_entry *entry = &entries[i];

		*at++ = i ? ',' : '[';
		if (entry->period)
			*at++ = '[';
		at = add_number(at, entry->frame + 1);
		if (entry->period) {
			*at++ = ',';
			at = add_number(at, entry->period);
			*at++ = ',';
			at = add_number(at, entry->repeats);
			*at++ = ']';
		}
	}
	*at++ = ']';
	*at = '\0';
}

/* What @stack has from where the path ends up to @end, counted from the root. */
static void write_segment(struct tree *tree, const struct stack *stack, uint32_t end)
{
	struct step last = { 0, 0 };
	struct seep_segment_row row;
	uint32_t count, id;

	if (tree->path_count)
		last = tree->path[tree->path_count - 1];
	count = end - last.end;
	if (count > ENTRIES_MAX) {
		end -= count - ENTRIES_MAX;
		count = ENTRIES_MAX;
	}
	tree->text = seep_xgrow(tree->text, &tree->text_capacity, count + 1, ENTRY_TEXT_BYTES_MAX);
	row.parent = last.segment;
	row.frames = tree->text;
	frames_text(stack->entries + (stack->count - end), count, tree->text);
	id = (uint32_t)seep_row_put(tree->rows, SEEP_TABLE_SEGMENT, &row);
	*SEEP_APPEND(tree->path, tree->path_count) = (struct step){ id, end };
}

/* From the innermost on: where the stack ends, and where those after it leave what is new in it. */
static size_t find_cuts(struct tree *tree, uint32_t index)
{
	const struct stack *stack = &tree->stacks[index];
	uint32_t end = stack->count;
	size_t count = 0;

	while (end > stack->shared) {
		if (count == 0 || tree->cuts[count - 1] > end)
			*SEEP_APPEND(tree->cuts, count) = end;
		if (++index == tree->profile->context_count)
			break;
		if (tree->stacks[index].shared < end)
			end = tree->stacks[index].shared;
	}
	return count;
}

static void write_stack(struct tree *tree, uint32_t index)
{
	const struct stack *stack = &tree->stacks[index];
	size_t cuts;

	while (tree->path_count && tree->path[tree->path_count - 1].end > stack->shared)
		tree->path_count--;
	for (cuts = find_cuts(tree, index); cuts > 0; cuts--)
		while (!tree->path_count ||
		       tree->path[tree->path_count - 1].end < tree->cuts[cuts - 1])
			write_segment(tree, stack, tree->cuts[cuts - 1]);
	tree->leaves[stack->context] = tree->path_count ? tree->path[tree->path_count - 1].segment
							: 0;
}

static void write_segments(struct seep_row_writer *rows, const struct seep_profile *profile,
			   uint32_t *leaves)
{
	struct tree tree = { .profile = profile, .leaves = leaves, .rows = rows };

	tree.stacks = seep_xcalloc(profile->context_count, sizeof(*tree.stacks));
	order_stacks(&tree);
	for (uint32_t i = 0; i < profile->context_count; i++)
		write_stack(&tree, i);
	free(tree.stacks);
	free(tree.path);
	free(tree.cuts);
	free(tree.text);
}

static void write_estimate(struct seep_row_writer *rows, uint32_t context, const uint64_t *errors)
{
	struct seep_estimate_row row = { .context = context };
	uint64_t any = 0;

	for (int i = 0; i < SEEP_FIGURE_COUNT && errors; i++)
		any |= row.figures[i] = errors[i];
	if (any)
		(void)seep_row_put(rows, SEEP_TABLE_ESTIMATE, &row);
}

/* With its innermost segment; 0 = none. */
static void write_context(struct seep_row_writer *rows, const struct seep_profile_context *context,
			  uint32_t leaf)
{
	const struct seep_context_row row = {
		.context = *context,
		.frame = leaf ? context->stack[0].frame + 1 : 0,
		.leaf = leaf,
	};

	(void)seep_row_put(rows, SEEP_TABLE_CONTEXT, &row);
	for (uint32_t e = 0; e < context->epoch_count; e++)
		(void)seep_row_put(rows, SEEP_TABLE_EPOCH,
				   &(struct seep_epoch_row){ context->id, context->epochs[e] });
	write_estimate(rows, context->id, context->errors);
	if (context->growth)
		(void)seep_row_put(rows, SEEP_TABLE_GROWTH,
				   &(struct seep_growth_row){ context->id, *context->growth });
}

static void write_contexts(struct seep_row_writer *rows, const struct seep_profile *profile)
{
	SEEP_FREED uint32_t *leaves = seep_xcalloc(profile->context_count, sizeof(*leaves));

	write_segments(rows, profile, leaves);
	for (uint32_t i = 0; i < profile->context_count; i++)
		write_context(rows, &profile->contexts[i], leaves[i]);
}

static int write_rows(struct writer *w)
{
	const struct seep_profile *profile = w->profile;
	struct seep_row_writer rows = { .db = w->db };

	write_process(&rows, profile);
	write_places(&rows, profile);
	write_totals(&rows, profile);
	for (uint32_t i = 0; i < profile->leak_count; i++)
		write_leak(&rows, profile, &profile->leaks[i]);
	for (uint32_t i = 0; i < profile->scope_count; i++)
		write_durations(&rows, i + 1, &profile->scopes[i]);
	for (uint32_t i = 0; i < profile->finding_count; i++)
		write_finding(&rows, profile, &profile->findings[i]);
	write_estimate(&rows, 0, profile->totals.errors);
	write_contexts(&rows, profile);
	return seep_row_writer_done(&rows, w->err);
}

static int open_database(struct writer *w, const char *path)
{
	const int rc = sqlite3_open_v2(path, &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				       seep_db_vfs());

	return seep_db_fail(w->db, rc, w->err);
}

static int write_database(struct writer *w, const char *path)
{
	int r = open_database(w, path), rc;

	if (r == 0)
		r = execute(w, "PRAGMA journal_mode = OFF");
	if (r == 0)
		r = begin(w, 4096);
	if (r == 0)
		r = write_rows(w);
	if (r == 0)
		r = execute(w, "COMMIT");
	rc = sqlite3_close(w->db);
	return r == 0 && rc != SQLITE_OK ? seep_db_fail(NULL, rc, w->err) : r;
}

/* What SQLite leaves out in memory: the count of changes, twice, and its own version. */
static void sign(unsigned char *head)
{
	const uint32_t once = htobe32(1), version = htobe32((uint32_t)sqlite3_libversion_number());

	memcpy(head + 24, &once, sizeof(once));
	memcpy(head + 92, &once, sizeof(once));
	memcpy(head + 96, &version, sizeof(version));
}

static int add_rows(struct writer *w, FILE *stream)
{
	unsigned char *bytes = NULL;
	sqlite3_int64 count = 0;
	int r = execute(w, "BEGIN");

	if (r == 0)
		r = write_rows(w);
	if (r == 0 && !(bytes = sqlite3_serialize(w->db, "main", &count, 0)))
		r = seep_db_fail(NULL, SQLITE_NOMEM, w->err);
	if (bytes) {
		sign(bytes);
		/* A failure shows at the commit. */
		(void)fwrite(bytes, (size_t)count, 1, stream);
		sqlite3_free(bytes);
	}
	return r == 0 ? execute(w, "ROLLBACK") : r;
}

/* With what all recordings have, and no more: rows are rolled back. */
static struct {
	pthread_mutex_t lock; /* leaf; for db */
	struct sqlite3 *db;   /* NULL: none yet */
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int write_small(struct writer *w, FILE *stream)
{
	int r = 0;

	(void)pthread_mutex_lock(&kept.lock);
	w->db = kept.db;
	if (!w->db) {
		r = open_database(w, ":memory:");
		if (r == 0)
			r = begin(w, 1024);
		if (r == 0)
			r = execute(w, "COMMIT");
	}
	if (r == 0)
		r = add_rows(w, stream);
	if (r < 0) {
		(void)sqlite3_close(w->db);
		w->db = NULL;
	}
	kept.db = w->db;
	(void)pthread_mutex_unlock(&kept.lock);
	return r;
}

/* Makes the new name itself last. A file system that cannot do it is no reason to fail. */
static void sync_directory(int folder_fd, const char *path)
{
	SEEP_FREED char *folder = folder_fd == AT_FDCWD ? seep_path_folder(path)
							: seep_xstrdup(".");
	SEEP_CLOSED int fd = openat(folder_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		(void)fsync(fd);
}

int seep_recording_write(int folder_fd, const char *path, const struct seep_profile *profile,
			 bool replace, struct seep_error *err)
{
	struct writer w = { .profile = profile, .err = err };
	struct seep_atomic_file file = { 0 };
	int r = seep_profile_check(profile, err);

	if (r < 0) {
		seep_error_prefix(err, "%s was not written, because it would be unreadable", path);
		return r;
	}
	r = seep_atomic_open(folder_fd, path, 0600, &file, err);
	if (r < 0)
		return r;
	file.keep_old = !replace;
	r = profile->context_count < SMALL_CONTEXTS ? write_small(&w, file.stream)
						    : write_database(&w, file.temp_path);
	if (r < 0) {
		/* What cannot be written is the system's refusal, never a damaged recording. */
		if (r == -SEEP_ECORRUPT && err)
			err->code = SEEP_ESYS;
		r = r == -SEEP_ECORRUPT ? -SEEP_ESYS : r;
		seep_atomic_abandon(&file);
		seep_error_prefix(err, "cannot write %s", path);
		return r;
	}
	r = seep_atomic_commit(&file, err);
	if (r == 0)
		sync_directory(folder_fd, path);
	return r;
}
