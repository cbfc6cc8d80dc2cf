/* SPDX-License-Identifier: MIT */
/* Recordings that are damaged, foreign or made to do harm. */
#include "profile/builder.h"
#include "recording_case.h"

#include <sys/stat.h>

RECORDING_TEST(other_files_are_refused_in_words)
{
	FILE *file = fopen(path, "w");

	assert_int_equal(load_again(), -SEEP_ECORRUPT);
	assert_non_null(strstr(err.text, "not a recording"));
	(void)fprintf(file, "%s",
		      "This is no database, however long it may be. 0123456789 "
		      "0123456789 0123456789 0123456789 0123456789 0123456789");
	(void)fclose(file);
	assert_int_equal(load_again(), -SEEP_ECORRUPT);
	assert_int_equal(seep_profile_open(path, &loaded, &err), -SEEP_ECORRUPT);
	assert_non_null(strstr(err.text, "neither"));
	assert_int_equal(seep_recording_load("/nonexistent", &loaded, &err), -SEEP_ENOTFOUND);
	assert_int_equal(seep_recording_load(directory, &loaded, &err), -SEEP_ECORRUPT);
}

RECORDING_TEST(other_versions_are_refused)
{
	round_trip();
	damage("PRAGMA user_version = 3");
	assert_int_equal(load_again(), -SEEP_EVERSION);
	damage("PRAGMA user_version = 1");
	assert_int_equal(load_again(), -SEEP_EVERSION);
}

RECORDING_TEST(another_application_s_database_is_refused)
{
	round_trip();
	damage("PRAGMA application_id = 1");
	assert_int_equal(load_again(), -SEEP_ECORRUPT);
}

RECORDING_TEST(unknown_tables_columns_and_totals_are_ignored)
{
	round_trip();
	damage("CREATE TABLE novelty (x); ALTER TABLE context ADD COLUMN y INTEGER;"
	       "INSERT INTO total VALUES ('novel_bytes', 5)");
	assert_int_equal(load_again(), 0);
	assert_int_equal(loaded->context_count, 3);
}

RECORDING_TEST(references_that_lead_nowhere_are_refused)
{
	static const char *const cases[] = {
		"DELETE FROM process",
		"UPDATE frame SET module = 3 WHERE id = 1",
		"UPDATE frame SET module = -1 WHERE id = 1",
		"DELETE FROM module WHERE id = 1",
		"DELETE FROM frame WHERE id = 2",
		"UPDATE segment SET frames = '[0]' WHERE id = 1",
		"UPDATE segment SET frames = '[5]' WHERE id = 1",
		"UPDATE segment SET frames = '[-1]' WHERE id = 1",
		"UPDATE segment SET frames = '[1.5]' WHERE id = 1",
		"UPDATE segment SET frames = '[18446744073709551617]' WHERE id = 1",
		"UPDATE segment SET frames = '[]' WHERE id = 1",
		"UPDATE segment SET frames = '' WHERE id = 1",
		"UPDATE segment SET frames = '[1' WHERE id = 1",
		"UPDATE segment SET frames = '[1,' WHERE id = 1",
		"UPDATE segment SET frames = '[1]]' WHERE id = 1",
		"UPDATE segment SET frames = '[1' || char(0) || ',2]' WHERE id = 1",
		"UPDATE segment SET frames = '[[1]]' WHERE id = 1",
		"UPDATE segment SET frames = '[[1,' WHERE id = 1",
		"UPDATE segment SET frames = '[[1,2' WHERE id = 1",
		"UPDATE segment SET frames = '[[1,2,3' WHERE id = 1",
		"UPDATE segment SET frames = '[[1,2,3,4]]' WHERE id = 1",
		"UPDATE segment SET frames = '[[1,256,3]]' WHERE id = 1",
		"UPDATE segment SET frames = '[[1,2,65536]]' WHERE id = 1",
		"UPDATE segment SET frames = '[[5,2,3]]' WHERE id = 1",
		"UPDATE segment SET parent = id WHERE id = 2",
		"UPDATE segment SET parent = 4 WHERE id = 2",
		"UPDATE segment SET parent = -1 WHERE id = 2",
		"UPDATE segment SET parent = 9223372036854775807 WHERE id = 2",
		"DELETE FROM segment WHERE id = 1",
		"UPDATE context SET leaf = 99 WHERE id = 3",
		"UPDATE context SET leaf = -1 WHERE id = 3",
		"UPDATE context SET id = 0 WHERE id = 1",
		"UPDATE context SET id = -5 WHERE id = 1",
		"UPDATE context SET id = 4294967296 WHERE id = 3",
		"UPDATE epoch SET context = 2 WHERE context = 3",
		"UPDATE epoch SET context = -1 WHERE context = 3",
		"UPDATE histogram SET bucket = 48 WHERE bucket = 0",
		"DROP TABLE segment",
		"DROP TABLE forked",
		"DROP TABLE run",
		"DROP VIEW top; DROP VIEW stack; DROP VIEW stack_entry; DROP VIEW function;"
		"DROP VIEW leaks; ALTER TABLE context RENAME COLUMN leaf TO leaves",
		"ALTER TABLE total RENAME TO totals",
		"DROP TABLE total; CREATE VIEW total AS SELECT 'allocs' AS name, 1 AS value",
		"DROP TABLE sample; CREATE VIRTUAL TABLE sample USING fts5(at_ns)",
		"ALTER TABLE mark ADD COLUMN z INTEGER AS (length(zeroblob(1000000)))",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, true, &err), 0);
		damage(cases[i]);
		if (load_again() != -SEEP_ECORRUPT)
			fail_msg("accepted: %s", cases[i]);
	}
}

RECORDING_TEST(figures_that_cannot_be_are_refused)
{
	static const struct {
		const char *sql;
		const char *said;
	} cases[] = {
		{ "UPDATE context SET live_bytes = -1 WHERE id = 3", "negative" },
		{ "UPDATE context SET live_blocks = -1 WHERE id = 3", "negative" },
		{ "UPDATE epoch SET bytes = -20 WHERE context = 3", "negative" },
		{ "UPDATE sample SET rss_bytes = -1 WHERE position = 0", "negative" },
		{ "UPDATE total SET value = -1 WHERE name = 'dropped'", "negative" },
		{ "UPDATE histogram SET allocs = -1 WHERE bucket = 3", "negative" },
		{ "UPDATE forked SET processes = -1", "negative" },
		{ "UPDATE run SET peaks_bytes = -1", "negative" },
		{ "UPDATE other_process SET peak_bytes = -1", "negative" },
		{ "UPDATE run SET live_bytes = 1", "the run" },
		{ "UPDATE process SET peak_rss_bytes = -1", "negative" },
		{ "UPDATE context SET frees = 4 WHERE id = 1", "freed than allocated" },
		{ "UPDATE context SET freed_bytes = 1 WHERE id = 1", "freed than allocated" },
		{ "UPDATE context SET live_bytes = live_bytes + 1 WHERE id = 3", "live is not" },
		{ "UPDATE context SET live_blocks = 0 WHERE id = 3", "live is not" },
		{ "UPDATE context SET peak_blocks = 4 WHERE id = 1", "at the peak" },
		{ "UPDATE context SET peak_bytes = 1 WHERE id = 1", "at the peak" },
		{ "UPDATE context SET temporary = 4 WHERE id = 1", "temporary" },
		{ "UPDATE epoch SET blocks = blocks + 1 WHERE context = 3", "the epochs" },
		{ "DELETE FROM epoch WHERE context = 3 AND epoch = 0", "the epochs" },
		{ "UPDATE total SET value = value + 1 WHERE name = 'live_bytes'", "the totals" },
		{ "UPDATE total SET value = 0 WHERE name = 'peak_bytes'", "the totals" },
		{ "DELETE FROM context WHERE id = 1", "the totals" },
		{ "DELETE FROM total", "no total allocs" },
		{ "DELETE FROM total WHERE name = 'dropped'", "no total dropped" },
		{ "UPDATE total SET value = 9223372036854775807 WHERE name = 'temporary_bytes'",
		  "temporary" },
		{ "UPDATE total SET value = 9223372036854775807 WHERE name = 'walks_landed'",
		  "walks landed" },
		{ "UPDATE forked SET live_bytes = 1", "forked" },
		{ "UPDATE forked SET frees = 1", "forked" },
		{ "UPDATE sample SET at_ns = 5 WHERE position = 0;"
		  "UPDATE sample SET at_ns = 4 WHERE position = 1",
		  "goes back" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, true, &err), 0);
		damage(cases[i].sql);
		if (load_again() != -SEEP_ECORRUPT || !strstr(err.text, cases[i].said))
			fail_msg("%s: %s", cases[i].sql, err.text);
	}
}

enum { DEEP_FRAMES = 3000, DEEP_STACKS = 12000 };

/* 36 million entries, of less than a megabyte. */
RECORDING_TEST(stacks_that_share_are_cut_where_the_file_is_small)
{
	struct seep_builder bounded;
	uint64_t entries = 0;
	struct stat st;
	char sql[1024];

	round_trip();
	(void)snprintf(
		sql, sizeof(sql),
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
		" INSERT INTO segment SELECT 1 + (SELECT max(id) FROM segment), NULL,"
		" json_group_array(1) FROM n;"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
		" INSERT INTO segment SELECT i + last, last, '[2]'"
		" FROM n, (SELECT max(id) AS last FROM segment);"
		"DELETE FROM context WHERE id > 4000000000;"
		"UPDATE total SET value = value - 6 WHERE name IN ('allocs', 'live_blocks');"
		"UPDATE total SET value = value - 20 WHERE name IN ('alloc_bytes', 'live_bytes');"
		"DELETE FROM epoch WHERE context > 4000000000;"
		"INSERT INTO context SELECT 1000 + id, 0, 0, 0, 2, id, 0, 0, 0, 0, 0, 0, NULL,"
		" 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM segment WHERE frames = '[2]'",
		DEEP_FRAMES, DEEP_STACKS);
	damage(sql);
	if (load_again() != 0)
		fail_msg("%s", err.text);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(loaded->context_count, DEEP_STACKS + 2);
	for (uint32_t i = 0; i < loaded->context_count; i++)
		entries += loaded->contexts[i].stack_count;
	seep_builder_init(&bounded, (uint64_t)st.st_size);
	assert_true(entries <= bounded.entries_max + DEEP_STACKS * SEEP_PROFILE_CUT_DEPTH);
	seep_builder_done(&bounded);
	assert_int_equal(loaded->contexts[2].stack_count, DEEP_FRAMES + 1);
	assert_int_equal(loaded->contexts[DEEP_STACKS + 1].stack_count, SEEP_PROFILE_CUT_DEPTH);
	assert_int_equal(loaded->contexts[DEEP_STACKS + 1].stack[0].frame, 1);
	assert_true(loaded->contexts[DEEP_STACKS + 1].cut);
	assert_string_equal(loaded->unseen[loaded->unseen_count - 1].code, "stacks-cut");
}

enum { FILE_PAGE_BYTES = 4096, TREE_CELLS = 300, CELL_BYTES = 10 };

static int64_t root_of(sqlite3 *db, const char *table)
{
	sqlite3_stmt *statement = NULL;
	int64_t page;

	assert_int_equal(sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_schema WHERE name = ?",
					    -1, &statement, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	page = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return page;
}

/* An inner page of a tree by name, which names one page below it again and again. */
static void write_inner_page(FILE *file, int64_t page, int64_t below)
{
	/* The page below, and between two of it a total z of 5. */
	const unsigned char cell[CELL_BYTES] = {
		0, 0, 0, (unsigned char)below, 5, 3, 15, 1, 'z', 5
	};
	unsigned char bytes[FILE_PAGE_BYTES] = { 2, 0, 0, TREE_CELLS >> 8, TREE_CELLS & 0xff };
	const int first = FILE_PAGE_BYTES - TREE_CELLS * CELL_BYTES;

	bytes[5] = (unsigned char)(first >> 8);
	bytes[6] = (unsigned char)first;
	bytes[11] = (unsigned char)below;
	for (int i = 0; i < TREE_CELLS; i++) {
		int at = first + i * CELL_BYTES;

		bytes[12 + 2 * i] = (unsigned char)(at >> 8);
		bytes[13 + 2 * i] = (unsigned char)at;
		memcpy(&bytes[at], cell, sizeof(cell));
	}
	assert_int_equal(fseek(file, (long)((page - 1) * FILE_PAGE_BYTES), SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, sizeof(bytes), 1, file), 1);
}

RECORDING_TEST(pages_that_come_again_and_again_give_no_rows_without_end)
{
	sqlite3 *db = NULL;
	int64_t top, middle, leaf;
	FILE *file;

	round_trip();
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA page_size = 4096; VACUUM", NULL, NULL, NULL),
			 SQLITE_OK);
	top = root_of(db, "total");
	middle = root_of(db, "kind");
	leaf = root_of(db, "epoch");
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_true(leaf < 256);
	file = fopen(path, "r+");
	write_inner_page(file, middle, leaf);
	write_inner_page(file, top, middle);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(load_again(), -SEEP_ECORRUPT);
	assert_non_null(strstr(err.text, "more rows than fit into a file of its size"));
}

/* Working out what the last has for columns takes 2^40 steps. */
RECORDING_TEST(views_that_double_are_not_looked_at)
{
	char sql[4096] = "CREATE VIEW v0 AS SELECT 1 AS a;";
	size_t used = strlen(sql);

	round_trip();
	for (int i = 0; i < 40; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used,
					 "CREATE VIEW v%d AS SELECT x.a FROM v%d x, v%d y;", i + 1,
					 i, i);
	damage(sql);
	(void)alarm(30); /* a hang ends the test */
	assert_int_equal(load_again(), 0);
	(void)alarm(0);
}

/* That the file calls a virtual table an ordinary one changes nothing. */
RECORDING_TEST(virtual_tables_are_not_connected)
{
	round_trip();
	damage("DROP TABLE sample; CREATE VIRTUAL TABLE sample USING rtree(position, at_ns, live_bytes);"
	       "PRAGMA writable_schema = ON;"
	       "UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'sample'");
	assert_int_equal(load_again(), -SEEP_ECORRUPT);
	assert_non_null(strstr(err.text, "damaged"));
}

RECORDING_TEST(values_out_of_range_are_replaced)
{
	round_trip();
	damage("UPDATE context SET kind = 256, align_log2 = -1 WHERE id = 3;"
	       "UPDATE module SET build_id = zeroblob(33);"
	       "UPDATE process SET ended = 'dissolved'");
	assert_int_equal(load_again(), 0);
	assert_int_equal(loaded->contexts[1].kind, 0);
	assert_int_equal(loaded->contexts[1].align_log2, 0);
	assert_int_equal(loaded->modules[0].build_id_bytes, 0);
	assert_int_equal(loaded->process.ended, SEEP_ENDED_UNKNOWN);
}

RECORDING_TEST(kinds_of_a_newer_seep_stay_apart)
{
	round_trip();
	damage("UPDATE context SET kind = 99 WHERE id = 3;");
	assert_int_equal(load_again(), 0);
	assert_int_equal(loaded->contexts[1].kind, 99);
}

RECORDING_TEST(a_file_cut_anywhere_does_no_harm)
{
	struct stat st;

	round_trip();
	assert_int_equal(stat(path, &st), 0);
	for (off_t bytes = st.st_size - 1; bytes > 0; bytes -= 1021) {
		assert_int_equal(truncate(path, bytes), 0);
		assert_int_not_equal(load_again(), 0);
	}
}

RECORDING_TEST(flipped_bytes_do_no_harm)
{
	flip_bytes();
}

RECORDING_TEST(the_opened_database_cannot_be_changed)
{
	struct sqlite3 *db = NULL;

	round_trip();
	assert_int_equal(seep_recording_open_database(path, &db, NULL, &err), 0);
	assert_int_equal(query(db, "DELETE FROM context"), -1);
	assert_int_equal(query(db, "PRAGMA query_only = OFF; DELETE FROM context"), -1);
	assert_int_equal(query(db, "CREATE TABLE x (y)"), -1);
	assert_int_equal(query(db, "ATTACH '/tmp/x' AS x"), -1);
	assert_int_equal(query(db, "SELECT load_extension('x')"), -1);
	assert_int_equal(
		query(db, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = ''"), -1);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}
