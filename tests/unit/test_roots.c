/* SPDX-License-Identifier: MIT */
/* Which mappings of real processes are roots, and what it costs to find out. */
#include "target_look.h"
#include "unit.h"

#include "base/xalloc.h"

#include <fcntl.h>

enum { BYTES = 4096, MANY = 60000 };

enum { ANONYMOUS, SHARED, MEMFD, SEALED, HOLE, FILE_SHARED, FILE_READ, FILE_PRIVATE };

static void map_all_kinds(struct truth *truth)
{
	const int memfd = memfd_create("roots", MFD_CLOEXEC);
	const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *sealed = map_private(BYTES), *hole = map_private(3 * BYTES);
	FILE *temporary = tmpfile();

	if (memfd < 0 || file < 0 || !temporary || ftruncate(memfd, BYTES) != 0 ||
	    ftruncate(fileno(temporary), BYTES) != 0)
		_exit(1);
	truth->at[ANONYMOUS] = address_of(map_private(BYTES));
	truth->at[SHARED] =
		address_of(map(BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1));
	truth->at[MEMFD] = address_of(map(BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd));
	sealed[0] = 1;
	truth->at[SEALED] = address_of(sealed);
	truth->at[HOLE] = address_of(hole + BYTES);
	if (mprotect(sealed, BYTES, PROT_READ) != 0 ||
	    mprotect(hole + BYTES, BYTES, PROT_NONE) != 0)
		_exit(1);
	truth->at[FILE_SHARED] =
		address_of(map(BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(temporary)));
	truth->at[FILE_READ] = address_of(map(BYTES, PROT_READ, MAP_PRIVATE, file));
	truth->at[FILE_PRIVATE] = address_of(map(BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file));
}

LOOK_TEST(every_mapping_that_may_hold_pointers_is_a_root, map_all_kinds, 1)
{
	assert_kind(ANONYMOUS, MAPPING);
	assert_kind(SHARED, MAPPING);
	assert_kind(MEMFD, MAPPING);
	assert_kind(SEALED, MAPPING); /* written once, then made read-only */
	assert_kind(FILE_SHARED, MAPPING);
	assert_kind(FILE_PRIVATE, MAPPING); /* an ELF file, but not as a module */
	assert_kind(FILE_READ, NONE);
	assert_kind(HOLE, NONE);
	assert_int_equal(kind_at(look.truth->at[HOLE] - 8), SCAN_ROOT_MAPPING);
	assert_int_equal(kind_at(look.truth->at[HOLE] + BYTES), SCAN_ROOT_MAPPING);
}

/* Names that this machine may not have; the addresses need not be there. */
TEST(devices_are_not_looked_into)
{
	static const char text[] = "10000-20000 rw-s 00000000 00:05 7 /dev/nvidia0\n"
				   "20000-30000 rw-s 00000000 00:05 8 /dev/dri/renderD128\n"
				   "30000-40000 rw-p 00000000 00:00 0 [vvar]\n"
				   "40000-50000 rw-s 00000000 00:0e 9 anon_inode:i915.gem\n"
				   "50000-60000 rw-s 00000000 00:0e 9 anon_inode:[io_uring]\n"
				   "60000-70000 rw-s 00000000 00:01 9 /dev/zero (deleted)\n"
				   "70000-80000 rw-s 00000000 00:01 9 /dev/shm/a\n"
				   "80000-90000 rw-s 00000000 00:20 9 /dev/hugepages/a\n"
				   "90000-a0000 rw-s 00000000 00:01 9 /SYSV00000000 (deleted)\n";
	const struct ledger_header header = { .allocator = LEDGER_ALLOCATOR_GLIBC };
	const struct scan scan = { 0 };
	struct seep_maps maps;
	struct seep_roots roots;
	SEEP_RELEASED(seep_untouched_done) struct seep_untouched pages;
	struct seep_roots_from from = {
		.maps = &maps, .pages = &pages, .scan = &scan, .header = &header
	};

	seep_maps_parse(seep_xstrdup(text), &maps);
	seep_untouched_init(&pages, 0, &maps);
	assert_int_equal(seep_memory_open(getpid(), 1 << 20, &from.memory, NULL), 0);
	seep_roots_find(&from, &roots);
	assert_int_equal(roots.count, 5);
	for (size_t i = 0; i < roots.count; i++) {
		assert_int_equal(roots.items[i].begin, 0x50000 + i * 0x10000);
		assert_int_equal(roots.items[i].id, 4 + i);
	}
	seep_roots_done(&roots);
	seep_memory_close(from.memory);
	seep_maps_done(&maps);
}

enum { RESERVED_FIRST, RESERVED_MIDDLE, RESERVED_UNTOUCHED, SPARSE_FIRST, SPARSE_UNTOUCHED };

#define RESERVED_BYTES (UINT64_C(1) << 40)
#define SPARSE_BYTES (UINT64_C(1) << 30)

static void reserve(struct truth *truth)
{
	char *at = map(RESERVED_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	const int memfd = memfd_create("roots", MFD_CLOEXEC);
	char *sparse;

	at[0] = 1;
	at[RESERVED_BYTES / 2] = 1;
	truth->at[RESERVED_FIRST] = address_of(at);
	truth->at[RESERVED_MIDDLE] = address_of(at + RESERVED_BYTES / 2);
	truth->at[RESERVED_UNTOUCHED] = address_of(at + RESERVED_BYTES / 4);
	if (memfd < 0 || ftruncate(memfd, SPARSE_BYTES) != 0)
		_exit(1);
	sparse = map(SPARSE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd);
	sparse[0] = 1;
	truth->at[SPARSE_FIRST] = address_of(sparse);
	truth->at[SPARSE_UNTOUCHED] = address_of(sparse + SPARSE_BYTES / 2);
}

LOOK_TEST(of_a_reservation_what_was_touched_is_a_root, reserve, 1)
{
	assert_kind(RESERVED_FIRST, MAPPING);
	assert_kind(RESERVED_MIDDLE, MAPPING);
	assert_kind(RESERVED_UNTOUCHED, NONE);
	assert_kind(SPARSE_FIRST, MAPPING);
	assert_kind(SPARSE_UNTOUCHED, NONE);
	assert_int_equal(look.roots.caveats.count, 0);
}

enum { FIRST, LAST };

static void map_many(struct truth *truth)
{
	char *at = map_private((size_t)MANY * BYTES);

	/* Neighbours that differ are not joined. */
	for (size_t i = 0; i < MANY; i += 2)
		if (mprotect(at + i * BYTES, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
			_exit(1);
	truth->at[FIRST] = address_of(at);
	truth->at[LAST] = address_of(at + (size_t)(MANY - 1) * BYTES);
}

LOOK_TEST(many_mappings_take_time_by_their_number, map_many, 1)
{
	assert_true(look.maps.count > MANY);
	assert_kind(FIRST, MAPPING);
	assert_kind(LAST, MAPPING);
	print_message("%zu mappings: %.3f s\n", look.maps.count, (double)look.took_ns / 1e9);
	/* It takes some 0.05 s; comparing each with each would take 3.6 billion steps. */
	assert_true(look.took_ns < UINT64_C(2000000000));
}

enum { REGION_FIRST, REGION_HOLE, REGION_LAST, REGION_IN_HEAP, BEYOND };

static void register_regions(struct truth *truth)
{
	char *area = map_private(4 * BYTES), *block = malloc(1000);
	const uint64_t begin = address_of(area);

	if (mprotect(area + BYTES, BYTES, PROT_NONE) != 0)
		_exit(1);
	truth->at[REGION_FIRST] = begin + 512;
	truth->at[REGION_HOLE] = begin + BYTES;
	truth->at[REGION_LAST] = begin + 3 * BYTES - 8;
	truth->at[BEYOND] = begin + 3 * BYTES;
	truth->at[REGION_IN_HEAP] = address_of(block);
	truth->facts.region_count = LEDGER_REGIONS_MAX + 1;
	truth->facts.regions[1].begin = begin + 512;
	truth->facts.regions[1].end = begin + 3 * BYTES;
	truth->facts.regions[2].begin = address_of(block);
	truth->facts.regions[2].end = address_of(block) + 1000;
	truth->facts.regions[3].begin = UINT64_MAX - BYTES; /* nothing is there */
	truth->facts.regions[3].end = UINT64_MAX;
	truth->facts.regions[4].begin = 16;
	truth->facts.regions[4].end = 8;
}

LOOK_TEST(registered_regions_are_roots_where_they_can_be_read, register_regions, 1)
{
	assert_kind(REGION_FIRST, REGION);
	assert_kind(REGION_HOLE, NONE);
	assert_kind(REGION_LAST, REGION);
	assert_kind(REGION_IN_HEAP, REGION);
	assert_kind(BEYOND, MAPPING);
	assert_int_equal(look.roots.caveats.count, 1);
}

TEST(vtables_lie_in_what_is_mapped_of_files_and_not_written)
{
	static const uint64_t read_only = 1;
	static uint64_t written = 1;
	struct seep_ranges ranges;
	struct seep_maps maps;

	assert_int_equal(seep_maps_read(getpid(), &maps, NULL), 0);
	ranges = seep_roots_vtables(&maps);
	for (size_t i = 1; i < ranges.count; i++)
		assert_true(ranges.items[i - 1].end < ranges.items[i].begin);
	assert_true(seep_ranges_have(&ranges, address_of(&read_only)));
	assert_false(seep_ranges_have(&ranges, address_of(&written)));
	seep_ranges_done(&ranges);
	seep_maps_done(&maps);
}
