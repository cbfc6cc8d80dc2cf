/* SPDX-License-Identifier: MIT */
/* Sums of forked children: which of them are in which ledger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ledger_fake.h"
#include "profile/ledger_forked.h"
#include "recording/recording.h"

#include <stdlib.h>

static char folder[64];

static int begin(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/seep-forked-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void sums_that_are_too_large_count_as_processes_only(void **state)
{
	const struct seep_profile_forked wild = { .processes = 1,
						  .allocs = 5,
						  .alloc_bytes = INT64_MAX };
	const struct seep_profile_forked small = { .processes = 1,
						   .allocs = 2,
						   .alloc_bytes = 20,
						   .frees = 1,
						   .freed_bytes = 10,
						   .live_bytes = 10 };
	struct seep_profile_forked sum = { 0 };

	(void)state;
	seep_forked_add(&sum, &small);
	seep_forked_add(&sum, &wild);
	assert_int_equal(sum.processes, 2);
	assert_int_equal(sum.allocs, 2);
	assert_int_equal(sum.alloc_bytes, 20);
	assert_int_equal(sum.live_bytes, 10);
}

static void nothing_is_taken_out_twice(void **state)
{
	struct seep_profile_forked sums = {
		.processes = 5, .allocs = 9, .alloc_bytes = 90, .frees = 4, .freed_bytes = 40
	};
	const struct seep_profile_forked part = {
		.processes = 1, .allocs = 6, .alloc_bytes = 60, .frees = 1, .freed_bytes = 10
	};

	(void)state;
	seep_forked_less(&sums, &part);
	assert_int_equal(sums.processes, 4);
	assert_int_equal(sums.allocs, 3);
	assert_int_equal(sums.frees, 3);
	assert_int_equal(sums.live_bytes, 0);
	seep_forked_less(&sums, &part);
	assert_int_equal(sums.processes, 3);
	assert_int_equal(sums.allocs, 0);
	/* What went is part of what came. */
	assert_int_equal(sums.frees, 0);
	assert_int_equal(sums.alloc_bytes, 0);
	assert_int_equal(sums.freed_bytes, 0);
}

static void what_no_program_reaches_counts_as_nothing(void **state)
{
	const struct ledger_forked wild = {
		.processes = 2, .allocs = UINT64_MAX, .alloc_bytes = 70, .freed_bytes = 30
	};
	const struct seep_profile_forked sums = seep_forked_load(&wild);

	(void)state;
	assert_int_equal(sums.processes, 2);
	assert_int_equal(sums.allocs, 0);
	assert_int_equal(sums.live_bytes, 40);
}

static struct ledger_state *add_ledger(struct ledger_fake *fake)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint8_t *map;

	fake->exe = "/bin/prog";
	fake->start_ticks = 1;
	map = ledger_fake_map(fake, fd);
	assert_non_null(map);
	(void)close(fd);
	return (void *)(map + 2 * LEDGER_PAGE_BYTES);
}

static void a_ledger_is_without_what_those_beside_it_have_for_themselves(void **state)
{
	struct ledger_fake parent = { .pid = 4194301, .allocs = 5 };
	struct ledger_fake child = { .pid = 4194302, .parent = parent.file_name };
	struct ledger_fake stranger = { .pid = 4194303, .parent = "prog.1.1.0.ledger" };
	struct ledger_state *words = add_ledger(&parent);
	struct seep_profile *profile;
	char path[2 * LEDGER_NAME_BYTES];

	(void)state;
	words->forked.processes = 10;
	words->forked.allocs = 100;
	words->forked.alloc_bytes = 1000;
	words = add_ledger(&child);
	words->young.processes = 1;
	words->young.allocs = 30;
	words->young.alloc_bytes = 300;
	add_ledger(&stranger)->young.allocs = 7;
	(void)snprintf(path, sizeof(path), "%s/%s", folder, parent.file_name);
	assert_int_equal(seep_profile_open(path, &profile, NULL), 0);
	assert_int_equal(profile->totals.allocs, 5);
	assert_int_equal(profile->forked.processes, 9);
	assert_int_equal(profile->forked.allocs, 70);
	assert_int_equal(profile->forked.live_bytes, 700);
	seep_profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_that_are_too_large_count_as_processes_only),
		cmocka_unit_test(nothing_is_taken_out_twice),
		cmocka_unit_test(what_no_program_reaches_counts_as_nothing),
		cmocka_unit_test_setup_teardown(
			a_ledger_is_without_what_those_beside_it_have_for_themselves, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
