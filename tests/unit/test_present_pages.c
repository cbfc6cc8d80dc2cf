/* SPDX-License-Identifier: MIT */
/* Which pages are there, as the kernel says by either of two ways. */
#include "base/release.h"
#include "target/present_pages.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, AREA_PAGES = 40000, STEP = 37 };

static char *map_area(void)
{
	char *area = mmap(NULL, (size_t)AREA_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(area, MAP_FAILED);
	/* Or a touched page brings 511 others. */
	assert_int_equal(madvise(area, (size_t)AREA_PAGES * PAGE_BYTES, MADV_NOHUGEPAGE), 0);
	return area;
}

static void what_was_touched_is_found(bool by_kernel)
{
	char *area = map_area();
	const uint64_t begin = (uint64_t)(uintptr_t)area;
	struct seep_present_pages pages;
	struct seep_ranges found = { 0 };

	for (size_t i = 0; i < AREA_PAGES; i += STEP)
		area[i * PAGE_BYTES] = 1;
	area[PAGE_BYTES] = 1;
	seep_present_pages_init(&pages, getpid());
	pages.can_scan = by_kernel;
	assert_true(seep_present_pages_find(&pages, begin,
					    begin + (uint64_t)AREA_PAGES * PAGE_BYTES, &found));
	assert_int_equal(found.count, (AREA_PAGES + STEP - 1) / STEP);
	for (size_t i = 0; i < found.count; i++) {
		assert_int_equal(found.items[i].begin, begin + i * STEP * PAGE_BYTES);
		assert_int_equal(found.items[i].end - found.items[i].begin,
				 i == 0 ? 2 * PAGE_BYTES : PAGE_BYTES);
	}
	seep_ranges_done(&found);
	seep_present_pages_done(&pages);
	assert_int_equal(munmap(area, (size_t)AREA_PAGES * PAGE_BYTES), 0);
}

TEST(the_kernel_finds_what_was_touched)
{
	what_was_touched_is_found(true);
}

TEST(looking_at_each_finds_what_was_touched)
{
	what_was_touched_is_found(false);
}

TEST(pages_that_were_written_are_told_from_the_files)
{
	SEEP_CLOSED const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	volatile char *area = mmap(NULL, 8 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
				   0);
	const uint64_t begin = (uint64_t)(uintptr_t)area, end = begin + 8 * PAGE_BYTES;
	struct seep_present_pages pages;

	assert_true((void *)area != MAP_FAILED);
	(void)area[2 * PAGE_BYTES]; /* only read */
	area[5 * PAGE_BYTES] = 1;
	assert_int_equal(mprotect((void *)area, 8 * PAGE_BYTES, PROT_READ), 0);
	seep_present_pages_init(&pages, getpid());
	for (unsigned by_kernel = 0; by_kernel < 2; by_kernel++) {
		struct seep_ranges found = { 0 };

		pages.can_scan = by_kernel;
		assert_true(seep_present_pages_own(&pages, begin, end, &found));
		assert_int_equal(found.count, 1);
		assert_int_equal(found.items[0].begin, begin + 5 * PAGE_BYTES);
		assert_int_equal(found.items[0].end, begin + 6 * PAGE_BYTES);
		assert_true(seep_present_pages_any(&pages, begin, end));
		seep_ranges_done(&found);
	}
	seep_present_pages_done(&pages);
	assert_int_equal(munmap((void *)area, 8 * PAGE_BYTES), 0);
	seep_present_pages_init(&pages, getpid());
	for (unsigned by_kernel = 0; by_kernel < 2; by_kernel++) {
		pages.can_scan = by_kernel;
		assert_false(seep_present_pages_any(&pages, begin, end));
	}
	seep_present_pages_done(&pages);
}

TEST(what_cannot_be_told_is_said)
{
	struct seep_present_pages pages;
	struct seep_ranges found = { 0 };

	seep_present_pages_init(&pages, 0); /* nobody's */
	assert_false(seep_present_pages_find(&pages, PAGE_BYTES, 2 * PAGE_BYTES, &found));
	seep_present_pages_done(&pages);
	seep_present_pages_init(&pages, getpid());
	pages.can_scan = false;
	pages.pages_left = 1;
	assert_false(seep_present_pages_find(&pages, PAGE_BYTES, 3 * PAGE_BYTES, &found));
	assert_int_equal(found.count, 0);
	seep_present_pages_done(&pages);
}
