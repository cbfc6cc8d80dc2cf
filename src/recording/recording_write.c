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
#include "recording/recording_db.h"
#include "recording/recording_rows.h"
#include "recording/recording_write_stacks.h"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
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

/* With its blocks and its chain. */
static void write_leak(struct seep_row_writer *rows, const struct seep_profile *profile,
		       const struct seep_profile_leak *leak)
{
	const struct seep_leak_row row = {
		.leak = *leak,
		.context = leak->context ? profile->contexts[leak->context - 1].id : 0,
	};
	const uint32_t id = (uint32_t)seep_row_put(rows, SEEP_TABLE_LEAK, &row);

	for (uint32_t i = 0; i < leak->block_list_count; i++)
		(void)seep_row_put(rows, SEEP_TABLE_LEAK_BLOCK,
				   &(struct seep_leak_block_row){ id, i, leak->block_list[i] });
	for (uint32_t i = 0; i < leak->chain_count; i++)
		(void)seep_row_put(rows, SEEP_TABLE_LEAK_LINK,
				   &(struct seep_leak_link_row){ id, i, leak->chain[i] });
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
	seep_recording_write_stacks(&rows, profile);
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
