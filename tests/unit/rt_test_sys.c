/* SPDX-License-Identifier: MIT */
/* Memory of the runtime's own, where the kernel does not let it have its way; the time; and text. */
#include "unit.h"

#include "../programs/seccomp_filter.h"
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TABLE_BYTES = 5 * 4096, KEPT_BYTES = 64 };
enum { PIECES = 2000, THREADS = 4 };

struct rt_global rt_global;
struct rt_mine rt_mine;

static bool refuse_madvise(void)
{
	const int call = SYS_madvise;

	return set_filter(&call, 1, SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ALLOW) == 0;
}

/* The exit status of a child: 0 if all but the first bytes read zero. */
static int empty_in_child(bool refused)
{
	uint8_t *table = rt_mmap(TABLE_BYTES);
	int wrong = 0;

	memset(table, 7, TABLE_BYTES);
	if (refused && !refuse_madvise())
		return 2;
	rt_empty_table(table, KEPT_BYTES, TABLE_BYTES);
	for (unsigned i = 0; i < TABLE_BYTES; i++)
		wrong += table[i] != (i < KEPT_BYTES ? 7 : 0);
	return wrong != 0;
}

static void check(bool refused)
{
	pid_t child = fork();
	int status = 0;

	assert_true(child >= 0);
	if (child == 0)
		_exit(empty_in_child(refused));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

TEST(an_emptied_table_reads_zero)
{
	check(false);
}

TEST(an_emptied_table_reads_zero_though_its_pages_stay)
{
	check(true);
}

static size_t size_of(unsigned i)
{
	static const size_t sizes[] = { 1, 64, 100, 2080, 4095, 4096, 4097, 12608, 32768, 32769 };

	return sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* Pieces of all sizes, each full of its own number: what a thread of its own does. */
static void *take_pieces(void *number)
{
	unsigned char **pieces = calloc(PIECES, sizeof(*pieces));
	uintptr_t wrong = 0;

	for (unsigned i = 0; i < PIECES; i++) {
		unsigned char *piece = pieces[i] = rt_mmap(size_of(i));

		if (!piece || (uintptr_t)piece % PIECE_ALIGN ||
		    (size_of(i) >= LEDGER_PAGE_BYTES && (uintptr_t)piece % LEDGER_PAGE_BYTES)) {
			wrong++;
			continue;
		}
		for (size_t at = 0; at < size_of(i); at++)
			wrong += piece[at] != 0;
		memset(piece, (int)(i + (uintptr_t)number) | 1, size_of(i));
		/* What is given back is nobody else's. */
		if (i % 3 == 2)
			rt_munmap(pieces[i - 1], size_of(i - 1));
	}
	for (unsigned i = 0; i < PIECES; i++)
		for (size_t at = 0; i % 3 != 1 && pieces[i] && at < size_of(i); at++)
			wrong += pieces[i][at] != (unsigned char)((int)(i + (uintptr_t)number) | 1);
	free(pieces);
	return (void *)wrong;
}

TEST(what_is_small_is_zeroed_and_nobody_elses)
{
	pthread_t thread[THREADS];
	void *wrong;

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_pieces, (void *)(17 * i)),
				 0);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(thread[i], &wrong), 0);
		assert_null(wrong);
	}
}

static bool is_there(const void *address)
{
	int ends[2];
	bool is;

	assert_int_equal(pipe(ends), 0);
	is = write(ends[1], address, 1) == 1;
	(void)close(ends[0]);
	(void)close(ends[1]);
	return is;
}

/* Where the next region would be stands something of the program's. */
TEST(around_what_is_mapped_is_nothing)
{
	enum { UNIT = 4096 };
	static const size_t sizes[] = { UNIT, CHUNK_BYTES, 20 << 20, REGION_PART_MAX,
					REGION_BYTES };

	for (unsigned i = 0; i < 20; i++) {
		const size_t bytes = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
		unsigned char *mapped;

		/* If nothing stands there already. */
		if (i % 2)
			(void)mmap((void *)align_up(rt_load(&tables.next), REGION_BYTES), UNIT,
				   PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		mapped = rt_mmap_sparse(bytes);
		assert_non_null(mapped);
		mapped[0] = mapped[bytes - 1] = 1;
		assert_false(is_there(mapped + bytes));
		assert_false(is_there(mapped + bytes + GUARD_BYTES - 1));
		if (bytes < REGION_BYTES)
			mapped = (unsigned char *)align_up((uintptr_t)mapped + 1, REGION_BYTES) -
				 REGION_BYTES + GUARD_BYTES;
		assert_false(is_there(mapped - 1));
		assert_false(is_there(mapped - GUARD_BYTES));
	}
}

/* What counts under RLIMIT_DATA, and the stack: the sixth number. */
static uint64_t data_bytes(void)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%*u %*u %*u %*u %*u %lu", &pages), 1);
	(void)fclose(statm);
	return pages * LEDGER_PAGE_BYTES;
}

TEST(a_piece_fits_where_a_chunk_does_not)
{
	const struct rlimit little = { data_bytes() + 2 * LEDGER_PAGE_BYTES, RLIM_INFINITY };
	const uintptr_t chunk = rt_load(&pool) & ~(uintptr_t)(LEDGER_PAGE_BYTES - 1);
	struct rlimit before;
	unsigned inside = 0, outside = 0;
	void *piece;

	assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_DATA, &little), 0);
	while ((piece = rt_mmap(LEDGER_PAGE_BYTES))) {
		inside += (uintptr_t)piece - chunk < CHUNK_BYTES;
		outside += (uintptr_t)piece - chunk >= CHUNK_BYTES;
	}
	assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
	assert_in_range(inside, 0, CHUNK_BYTES / LEDGER_PAGE_BYTES);
	assert_in_range(outside, 1, CHUNK_BYTES / LEDGER_PAGE_BYTES);
	assert_non_null(rt_mmap(LEDGER_PAGE_BYTES));
}

static int clock_of_ours(clockid_t clock, struct timespec *ret)
{
	*ret = (struct timespec){ .tv_sec = 7, .tv_nsec = clock };
	return 0;
}

TEST(the_time_is_the_vdsos_or_else_the_kernels)
{
	struct timespec before, after;
	uint64_t now;

	rt_vdso_clock = clock_of_ours;
	assert_int_equal(rt_now_ns(), 7000000000 + CLOCK_MONOTONIC);
	assert_int_equal(rt_realtime_ns(), 7000000000 + CLOCK_REALTIME);
	rt_vdso_clock = NULL;
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &before), 0);
	now = rt_now_ns();
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &after), 0);
	assert_in_range(now, (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec,
			(uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec);
}

TEST(parts_are_joined_and_what_is_too_long_is_cut)
{
	char text[8], number[RT_DIGITS_BYTES];

	assert_true(rt_text(text, sizeof(text), "ab", "", "cdefg"));
	assert_string_equal(text, "abcdefg");
	assert_false(rt_text(text, sizeof(text), "ab", "cdefgh", "i"));
	assert_string_equal(text, "abcdefg");
	assert_false(rt_text(text, 1, "a"));
	assert_string_equal(text, "");
	assert_string_equal(rt_digits(0, 10, number), "0");
	assert_string_equal(rt_digits(UINT64_MAX, 10, number), "18446744073709551615");
}
