/* SPDX-License-Identifier: MIT */
/* The folder of ledgers and the names in it; what else may lie there. */

#include "ledger_fake.h"
#include "unit.h"
#include "recorder/census.h"
#include "profile/ledger_name.h"
#include "recorder/ledgerdir.h"
#include "recorder/ledger_control.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/time.h>

static int set_up(void **state)
{
	(void)state;
	return make_folder() < 0 ? -1 : setenv("SEEP_DIR", folder, 1);
}

static uint64_t own_start_ticks(void)
{
	struct seep_procfs_stat stat;

	assert_true(seep_procfs_stat((uint32_t)getpid(), &stat));
	return stat.start_ticks;
}

/* A ledger of this very process, or of one that is long gone. */
static void write_ledger(struct ledger_fake *fake, bool running)
{
	fake->exe = "/usr/bin/prog.1.2";
	fake->pid = running ? (uint32_t)getpid() : 1;
	fake->start_ticks = running ? own_start_ticks() : 987654321;
	assert_true(ledger_fake_write(fake, folder_fd));
}

static size_t files(void)
{
	DIR *dir = opendir(folder);
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir)) {
		count++;
	}
	(void)closedir(dir);
	return count - 2;
}

static void set_control(const char *name, uint32_t recorder, uint32_t done)
{
	struct seep_ledger ledger;

	assert_int_equal(seep_ledger_open(folder_fd, name, SEEP_LEDGER_WRITE, &ledger, NULL), 0);
	atomic_store(&ledger.control->recorder_pid, recorder);
	atomic_store(&ledger.control->recorder_start_ticks, recorder ? own_start_ticks() : 0);
	atomic_store(&ledger.control->recorder_done, done);
	seep_ledger_close(&ledger);
}

TEST(names_are_taken_apart_from_the_right)
{
	struct seep_ledger_name name;

	assert_true(seep_ledger_name_parse("my.prog.7.12.3456.0.ledger", &name));
	assert_int_equal(name.exe_bytes, strlen("my.prog.7"));
	assert_int_equal(name.pid, 12);
	assert_int_equal(name.start_ticks, 3456);
}

TEST(other_names_are_none)
{
	static const char *const cases[] = {
		"",
		".ledger",
		"x.ledger",
		"1.2.3.ledger",
		"x.1.2.3",
		"x.1.2.3.ledger.old",
		"x.1.2..ledger",
		"x.1.b.3.ledger",
		"x.-1.2.3.ledger",
		"x.4294967296.2.3.ledger",
		"x.1.99999999999999999999.3.ledger",
		"x.1.123456789012345678901.3.ledger",
	};
	struct seep_ledger_name name;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_false(seep_ledger_name_parse(cases[i], &name));
	}
}

#define LEDGERDIR_TEST(name) TEST_WITH(set_up, name, remove_folder)

LEDGERDIR_TEST(folders_of_others_are_refused)
{
	struct seep_error err = { 0 };
	char link[128];
	int fd;

	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(seep_ledgerdir_open(folder, true, &fd, &err), -SEEP_EUNSUPPORTED);
	assert_int_equal(chmod(folder, 0700), 0);
	(void)snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(symlink("/tmp", link), 0);
	assert_int_equal(seep_ledgerdir_open(link, true, &fd, &err), -SEEP_EUNSUPPORTED);
	assert_int_equal(seep_ledgerdir_open("/nonexistent/x", true, &fd, &err), -SEEP_ESYS);
	assert_int_equal(seep_ledgerdir_open("/nonexistent/x", false, &fd, &err), -SEEP_ENOTFOUND);
}

static enum seep_census_state only_state(void)
{
	enum seep_census_state state;
	struct seep_census census;

	assert_int_equal(seep_census_take(&census, NULL), 0);
	/* The machine's own folder may hold others'. */
	for (size_t i = 0; i < census.count; i++) {
		if (strncmp(census.entries[i].path, folder, strlen(folder)) != 0)
			continue;
		assert_string_equal(census.entries[i].exe, "/usr/bin/prog.1.2");
		state = census.entries[i].state;
		seep_census_done(&census);
		return state;
	}
	fail_msg("not found");
	return SEEP_CENSUS_DEAD;
}

LEDGERDIR_TEST(the_states_of_a_ledger_are_told_apart)
{
	struct ledger_fake running = { .allocs = 7, .frees = 3 }, dead = { 0 };

	write_ledger(&running, true);
	assert_int_equal(only_state(), SEEP_CENSUS_RUNNING);
	set_control(running.file_name, (uint32_t)getpid(), 0);
	assert_int_equal(only_state(), SEEP_CENSUS_RECORDED);
	set_control(running.file_name, 4000000, 0);
	assert_int_equal(only_state(), SEEP_CENSUS_RECORDER_GONE);
	assert_int_equal(unlinkat(folder_fd, running.file_name, 0), 0);

	write_ledger(&dead, false);
	assert_int_equal(only_state(), SEEP_CENSUS_DEAD);
	set_control(dead.file_name, (uint32_t)getpid(), 0);
	assert_int_equal(only_state(), SEEP_CENSUS_ENDING);
	set_control(dead.file_name, (uint32_t)getpid(), 1);
	assert_int_equal(only_state(), SEEP_CENSUS_DONE);
}

static void detach(const char *file_name)
{
	const uint32_t ended = LEDGER_ENDED_DETACH;
	const off_t at = 2 * LEDGER_PAGE_BYTES + offsetof(struct ledger_state, ended);
	SEEP_CLOSED int fd = openat(folder_fd, file_name, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, &ended, sizeof(ended), at), sizeof(ended));
}

LEDGERDIR_TEST(what_was_detached_from_is_told_from_what_is_recorded_now)
{
	struct ledger_fake first = { .instance = 1 }, second = { .instance = 2 };
	struct seep_census census;

	write_ledger(&first, true);
	detach(first.file_name);
	assert_int_equal(only_state(), SEEP_CENSUS_DETACHED);
	set_control(first.file_name, (uint32_t)getpid(), 0);
	assert_int_equal(only_state(), SEEP_CENSUS_ENDING);
	set_control(first.file_name, (uint32_t)getpid(), 1);
	assert_int_equal(only_state(), SEEP_CENSUS_DONE);
	set_control(first.file_name, 0, 0);
	write_ledger(&second, true);
	assert_int_equal(seep_census_take(&census, NULL), 0);
	assert_non_null(
		strstr(seep_census_find(&census, (uint32_t)getpid())->path, second.file_name));
	seep_census_done(&census);
	detach(second.file_name);
	assert_int_equal(seep_census_take(&census, NULL), 0);
	assert_non_null(
		strstr(seep_census_find(&census, (uint32_t)getpid())->path, second.file_name));
	seep_census_done(&census);
}

/* Each of these carries the name of a ledger. */
LEDGERDIR_TEST(hostile_files_are_passed_over)
{
	struct ledger_fake good = { 0 };
	static const char garbage[3 * LEDGER_PAGE_BYTES] = { 1, 2, 3 };
	int fd;

	assert_int_equal(mkfifoat(folder_fd, "pipe.1.1.0.ledger", 0600), 0);
	assert_int_equal(mkdirat(folder_fd, "folder.1.1.0.ledger", 0700), 0);
	assert_int_equal(symlinkat("/dev/zero", folder_fd, "link.1.1.0.ledger"), 0);
	fd = openat(folder_fd, "empty.1.1.0.ledger", O_CREAT | O_WRONLY, 0600);
	(void)close(fd);
	fd = openat(folder_fd, "noise.1.1.0.ledger", O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, garbage, sizeof(garbage)), sizeof(garbage));
	(void)close(fd);
	write_ledger(&good, false);
	fd = openat(folder_fd, "short.1.1.0.ledger", O_CREAT | O_RDWR, 0600);
	{
		char head[LEDGER_PAGE_BYTES];
		int from = openat(folder_fd, good.file_name, O_RDONLY);

		assert_int_equal(read(from, head, sizeof(head)), sizeof(head));
		assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
		assert_int_equal(ftruncate(fd, sizeof(garbage)), 0);
		(void)close(from);
	}
	(void)close(fd);
	assert_int_equal(only_state(), SEEP_CENSUS_DEAD);
}

/* What the tables hold is a lie after the file was cut; reading it must not be fatal. */
LEDGERDIR_TEST(a_ledger_cut_after_opening_reads_as_empty)
{
	struct ledger_fake fake = { .allocs = 9 };
	struct seep_ledger ledger;
	int fd;

	write_ledger(&fake, false);
	assert_int_equal(
		seep_ledger_open(folder_fd, fake.file_name, SEEP_LEDGER_OURS, &ledger, NULL), 0);
	assert_int_equal(seep_ledger_sum(&ledger).allocs, 9);
	assert_int_equal(seep_ledger_sum(&ledger).live_bytes, 90);
	fd = openat(folder_fd, fake.file_name, O_RDWR);
	assert_int_equal(ftruncate(fd, 3 * LEDGER_PAGE_BYTES), 0);
	(void)close(fd);
	assert_int_equal(seep_ledger_sum(&ledger).allocs, 0);
	assert_int_equal(seep_ledger_sum(&ledger).live_bytes, 90);
	seep_ledger_close(&ledger);
}

static void put_row(const struct seep_ledger *ledger, struct ledger_row row)
{
	const struct ledger_table *rows = &ledger->view.header.table[LEDGER_TABLE_ROWS];
	int fd = openat(folder_fd, ledger->file_name, O_RDWR);

	assert_int_equal(pwrite(fd, &row, sizeof(row), (off_t)(rows->offset + sizeof(row))),
			 sizeof(row));
	(void)close(fd);
}

static void write_row(const struct seep_ledger *ledger, uint64_t allocs, uint64_t frees)
{
	put_row(ledger, (struct ledger_row){ .allocs = allocs, .frees = frees });
}

LEDGERDIR_TEST(what_was_freed_without_a_slot_counts)
{
	struct ledger_fake fake = { .allocs = 9, .frees = 2 };
	struct seep_ledger ledger;

	write_ledger(&fake, true);
	assert_int_equal(
		seep_ledger_open(folder_fd, fake.file_name, SEEP_LEDGER_WRITE, &ledger, NULL), 0);
	ledger.state->direct_usable_bytes = (uint64_t)-48; /* more came than went */
	put_row(&ledger, (struct ledger_row){ .allocs = 5, .frees = 1, .direct_frees = 3 });
	assert_int_equal(seep_ledger_sum(&ledger).frees, 6);
	assert_int_equal(seep_ledger_sum(&ledger).allocs, 14);
	assert_int_equal(seep_ledger_sum(&ledger).usable_bytes, 48);
	seep_ledger_close(&ledger);
}

LEDGERDIR_TEST(counts_that_no_program_reaches_are_left_out)
{
	static const struct seep_ledger_sums wild[] = {
		{ .allocs = 3, .frees = 1ull << 63 },
		{ .allocs = UINT64_MAX, .frees = 1 },
		{ .allocs = INT64_MAX }, /* alone it may be, the sum may not */
	};
	struct ledger_fake fake = { .allocs = 9, .frees = 2 };
	struct seep_ledger ledger;

	write_ledger(&fake, false);
	assert_int_equal(
		seep_ledger_open(folder_fd, fake.file_name, SEEP_LEDGER_OURS, &ledger, NULL), 0);
	write_row(&ledger, 3, 1);
	assert_int_equal(seep_ledger_sum(&ledger).allocs, 12);
	assert_int_equal(seep_ledger_sum(&ledger).frees, 3);
	for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		write_row(&ledger, wild[i].allocs, wild[i].frees);
		assert_int_equal(seep_ledger_sum(&ledger).allocs, 9);
		assert_int_equal(seep_ledger_sum(&ledger).frees, 2);
	}
	seep_ledger_close(&ledger);
}

LEDGERDIR_TEST(marks_are_appended_and_the_epoch_advances)
{
	struct ledger_fake fake = { 0 };
	struct seep_ledger ledger;
	struct ledger_mark mark;

	write_ledger(&fake, true);
	assert_int_equal(
		seep_ledger_open(folder_fd, fake.file_name, SEEP_LEDGER_WRITE, &ledger, NULL), 0);
	for (uint32_t i = 1; i <= 128; i++) {
		off_t at = (off_t)(ledger.view.header.table[LEDGER_TABLE_MARKS].offset +
				   (i - 1) * sizeof(mark));

		uint32_t epoch = 0;

		assert_int_equal(
			seep_ledger_mark(&ledger, i % 2 ? "warm" : NULL, 1000 + i, &epoch, NULL),
			0);
		assert_int_equal(epoch, i);
		ledger_view_refresh(&ledger.view);
		assert_int_equal(ledger.view.count[LEDGER_TABLE_MARKS], i);
		assert_int_equal(pread(ledger.fd, &mark, sizeof(mark), at), sizeof(mark));
		assert_int_equal(mark.ready, 1);
		assert_int_equal(mark.epoch, i);
		assert_int_equal(mark.at_ns, 1000 + i);
		assert_string_equal(mark.name, i % 2 ? "warm" : "");
	}
	assert_int_equal(seep_ledger_mark(&ledger, "more", 9, NULL, NULL), -SEEP_ELIMIT);
	assert_int_equal(atomic_load(&ledger.control->epoch), 128);
	seep_ledger_close(&ledger);
}

TEST(names_of_marks_are_short_and_can_be_typed)
{
	static const char *const wrong[] = {
		"",	   "now",  "a@b",   "a\nb",
		"\x1b[2J", "\xff", "a\x7f", "123456789012345678901234567890123456789012345678"
	};
	static const char *const right[] = { "warm", "a b", "Now",
					     "m\xc3\xbc"
					     "de",
					     "12345678901234567890123456789012345678901234567" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(seep_mark_name_check(wrong[i], NULL), -SEEP_EUSAGE);
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		assert_int_equal(seep_mark_name_check(right[i], NULL), 0);
}

LEDGERDIR_TEST(tidying_removes_only_what_is_recorded_and_not_needed)
{
	struct ledger_fake grandparent = { .instance = 1 };
	struct ledger_fake parent = { .instance = 2 };
	struct ledger_fake child = { .instance = 3 };
	struct ledger_fake unread = { .instance = 4 };
	const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	int fd;

	write_ledger(&grandparent, false);
	parent.parent = grandparent.file_name;
	write_ledger(&parent, false);
	child.parent = parent.file_name;
	write_ledger(&child, true);
	write_ledger(&unread, false);
	set_control(grandparent.file_name, 0, 1);
	set_control(parent.file_name, 0, 1);
	fd = openat(folder_fd, "half.4000000.1.0.ledger.new", O_CREAT | O_WRONLY, 0600);
	assert_int_equal(futimens(fd, long_ago), 0);
	(void)close(fd);
	seep_census_tidy(folder_fd);
	assert_int_equal(files(), 4);
	assert_int_equal(unlinkat(folder_fd, child.file_name, 0), 0);
	seep_census_tidy(folder_fd);
	assert_int_equal(files(), 1);
	assert_int_equal(faccessat(folder_fd, unread.file_name, F_OK, 0), 0);
}
