/* SPDX-License-Identifier: MIT */
/* What of our own memory was never touched. */
#include "target/present_pages.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };
#define BYTES (UINT64_C(1) << 30)

static uint64_t map(int flags, int fd, uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	/* A huge page would be touched as a whole. */
	(void)madvise(at, bytes, MADV_NOHUGEPAGE);
	return (uint64_t)(uintptr_t)at;
}

static void touch(uint64_t address)
{
	*(volatile char *)(uintptr_t)address = 1;
}

/* All that is touched of these, by asking as the marker does. */
static uint64_t touched_bytes(struct seep_untouched *untouched, uint64_t begin, uint64_t end)
{
	uint64_t sum = 0;

	while (begin < end) {
		uint64_t some = seep_untouched_bytes(untouched, begin, end - begin);

		assert_true(some <= end - begin);
		begin += some;
		if (!some) {
			begin += PAGE;
			sum += PAGE;
		}
	}
	return sum;
}

TEST(pages_that_were_written_are_told_from_others)
{
	uint64_t private = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, BYTES);
	struct seep_untouched untouched;
	struct seep_maps maps;

	assert_int_equal(seep_maps_read(getpid(), &maps, NULL), 0);
	seep_untouched_init(&untouched, 0, &maps);
	assert_int_equal(touched_bytes(&untouched, private, private + BYTES), 0);
	seep_untouched_done(&untouched);
	touch(private);
	touch(private + 5 * PAGE + 7);
	touch(private + 6 * PAGE);
	touch(private + BYTES - 1);
	seep_untouched_init(&untouched, 0, &maps);
	assert_int_equal(seep_untouched_bytes(&untouched, private + 100, BYTES - 100), 0);
	assert_int_equal(seep_untouched_bytes(&untouched, private + PAGE + 8, BYTES / 2),
			 4 * PAGE - 8);
	assert_int_equal(seep_untouched_bytes(&untouched, private + PAGE, PAGE), PAGE);
	assert_int_equal(seep_untouched_bytes(&untouched, private + 5 * PAGE, PAGE), 0);
	assert_int_equal(touched_bytes(&untouched, private, private + BYTES), 4 * PAGE);
	seep_untouched_done(&untouched);
	seep_maps_done(&maps);
	munmap((void *)(uintptr_t) private, BYTES);
}

TEST(guard_pages_and_the_end_of_a_file_are_not_touched)
{
	enum { GUARD_INSTALL = 102 };
	int fd = memfd_create("test", MFD_CLOEXEC);
	uint64_t guarded = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 4 * PAGE), file;
	struct seep_untouched untouched;
	struct seep_maps maps;

	assert_int_equal(ftruncate(fd, PAGE), 0);
	file = map(MAP_PRIVATE, fd, 3 * PAGE);
	touch(file);
	touch(guarded);
	touch(guarded + 3 * PAGE);
	(void)madvise((void *)(uintptr_t)(guarded + PAGE), (size_t)2 * PAGE, GUARD_INSTALL);
	assert_int_equal(seep_maps_read(getpid(), &maps, NULL), 0);
	for (unsigned by_kernel = 0; by_kernel < 2; by_kernel++) {
		seep_untouched_init(&untouched, 0, &maps);
		untouched.image_pages.can_scan = by_kernel;
		assert_int_equal(touched_bytes(&untouched, guarded, guarded + 4 * PAGE), 2 * PAGE);
		assert_int_equal(touched_bytes(&untouched, file, file + 3 * PAGE), PAGE);
		seep_untouched_done(&untouched);
	}
	seep_maps_done(&maps);
	munmap((void *)(uintptr_t)guarded, 4 * PAGE);
	munmap((void *)(uintptr_t)file, 3 * PAGE);
	close(fd);
}

TEST(pages_of_files_count_as_touched_once_they_were)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	uint64_t shared, of_file, nowhere;
	struct seep_untouched untouched;
	struct seep_maps maps;
	pid_t other;

	assert_int_equal(ftruncate(fd, 64 * PAGE), 0);
	shared = map(MAP_SHARED, fd, 64 * PAGE);
	of_file = map(MAP_PRIVATE, fd, 64 * PAGE);
	nowhere = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, 64 * PAGE);
	munmap((void *)(uintptr_t)nowhere, 64 * PAGE);
	assert_int_equal(seep_maps_read(getpid(), &maps, NULL), 0);
	touch(shared + 3 * PAGE);
	touch(of_file + 5 * PAGE);
	/* A copy does not have the shared page until it touches it. */
	other = fork();
	if (other == 0) {
		(void)pause();
		_exit(0);
	}
	seep_untouched_init(&untouched, other, &maps);
	assert_int_equal(seep_untouched_bytes(&untouched, shared, 64 * PAGE), 3 * PAGE);
	assert_int_equal(touched_bytes(&untouched, shared, shared + 64 * PAGE), PAGE);
	assert_int_equal(seep_untouched_bytes(&untouched, of_file, 64 * PAGE), 5 * PAGE);
	assert_int_equal(touched_bytes(&untouched, of_file, of_file + 64 * PAGE), PAGE);
	assert_int_equal(seep_untouched_bytes(&untouched, nowhere, 64 * PAGE), 64 * PAGE);
	assert_int_equal(seep_untouched_bytes(&untouched, UINT64_MAX - PAGE, PAGE), PAGE);
	seep_untouched_done(&untouched);
	(void)kill(other, SIGKILL);
	assert_int_equal(waitpid(other, NULL, 0), other);
	seep_maps_done(&maps);
	munmap((void *)(uintptr_t)shared, 64 * PAGE);
	munmap((void *)(uintptr_t)of_file, 64 * PAGE);
	close(fd);
}
