/* SPDX-License-Identifier: MIT */
/* What becomes of the ledger of a process that is gone. */

#include "ledger_fake.h"
#include "unit.h"
#include "recorder/finish.h"
#include "recorder/ledgerdir.h"
#include "recording/recording.h"

#include <stdlib.h>

static char output[96];
static struct ledger_fake fake;

static int set_up(void **state)
{
	(void)state;
	if (make_folder() < 0)
		return -1;
	(void)snprintf(output, sizeof(output), "%s/x.seep", folder);
	fake = (struct ledger_fake){
		.exe = "/bin/prog", .pid = 4194301, .start_ticks = 1, .allocs = 9, .frees = 2
	};
	return ledger_fake_write(&fake, folder_fd) ? 0 : -1;
}

static const struct seep_recorder_plan plan = {
	.ledger_dir = folder,
	.follow = true,
};

static struct seep_finish_job new_job(const struct seep_recorder_plan *how)
{
	static struct seep_image owner;

	return (struct seep_finish_job){
		.plan = how,
		.image.file_name = fake.file_name,
		.image.gathered.perf_map_fd = -1,
		.output = output,
		.output_fd = AT_FDCWD,
		.owner = &owner,
	};
}

static struct seep_finish_job finish_with(struct seep_profile_sample *samples, uint32_t count)
{
	struct seep_recorder_plan how = plan;
	struct seep_finish_job job = new_job(&how);

	how.ledger_dir_fd = folder_fd;
	job.image.gathered.timeline.samples = samples;
	job.image.gathered.timeline.count = count;
	job.keep_small = true;
	seep_finish(&job);
	seep_profile_free(job.profile);
	return job;
}

#define FINISH_TEST(name) TEST_WITH(set_up, name, remove_folder)

FINISH_TEST(a_recording_replaces_its_ledger)
{
	static struct seep_profile_sample samples[] = { { .at_ns = 5, .allocs = 9 } };
	struct seep_finish_job job = finish_with(samples, 1);
	struct seep_profile *profile;

	assert_true(job.recorded);
	assert_int_equal(job.err.code, 0);
	assert_int_not_equal(faccessat(folder_fd, fake.file_name, F_OK, 0), 0);
	assert_int_equal(seep_recording_load(output, &profile, NULL), 0);
	assert_int_equal(profile->totals.allocs, 9);
	seep_profile_free(profile);
}

FINISH_TEST(one_that_nobody_could_read_does_not)
{
	static struct seep_profile_sample bad[][2] = {
		{ { .at_ns = 5 }, { .at_ns = 6, .frees = 1ull << 63 } },
		{ { .at_ns = 5 }, { .at_ns = 4 } },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct seep_finish_job job = finish_with(bad[i], 2);

		assert_false(job.recorded);
		assert_int_equal(job.err.code, i == 0 ? SEEP_ELIMIT : SEEP_ECORRUPT);
		assert_non_null(strstr(job.err.text, output));
		assert_non_null(strstr(job.err.text, folder));
		assert_non_null(strstr(job.err.text, fake.file_name));
		assert_int_equal(faccessat(folder_fd, fake.file_name, F_OK, 0), 0);
		assert_int_not_equal(access(output, F_OK), 0);
	}
}

static struct ledger_sums *ledger_words(void)
{
	int fd = openat(folder_fd, fake.file_name, O_RDWR | O_CLOEXEC);
	uint8_t *map = mmap(NULL, LEDGER_FIXED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(map != MAP_FAILED);
	(void)close(fd);
	return (void *)(map + 3 * LEDGER_PAGE_BYTES);
}

FINISH_TEST(children_without_a_ledger_are_in_their_parents_recording)
{
	struct seep_recorder_plan how = plan;
	struct ledger_sums *words = ledger_words();

	how.ledger_dir_fd = folder_fd;
	words->processes = 3;
	words->allocs = 50;
	words->alloc_bytes = 500;
	for (int follow = 0; follow < 2; follow++) {
		struct seep_finish_job job = new_job(&how);

		how.follow = follow;
		job.snapshot = job.keep_small = job.keep_profile = true;
		job.image.forked = (struct seep_profile_forked){ .processes = 1, .allocs = 4 };
		how.force = true;
		seep_finish(&job);
		assert_int_equal(job.err.code, 0);
		assert_int_equal(job.forked.processes, follow ? 3 : 0);
		assert_int_equal(job.forked.allocs, follow ? 50 : 0);
		assert_int_equal(job.profile->forked.processes, follow ? 4 : 1);
		assert_int_equal(job.profile->forked.allocs, follow ? 54 : 4);
		seep_profile_free(job.profile);
	}
}

FINISH_TEST(a_small_fork_has_a_recording_if_its_blocks_were_large)
{
	struct seep_recorder_plan how = plan;

	how.ledger_dir_fd = folder_fd;
	fake.allocs = 2;
	fake.frees = 1;
	for (uint64_t i = 0; i < 2; i++) {
		struct seep_finish_job job = new_job(&how);

		fake.block_bytes = LEDGER_FORK_BYTES - 1 + i;
		(void)unlinkat(folder_fd, fake.file_name, 0);
		assert_true(ledger_fake_write(&fake, folder_fd));
		seep_finish(&job);
		assert_int_equal(job.share.peak_bytes, fake.block_bytes);
		assert_int_equal(job.recorded, i);
	}
}
