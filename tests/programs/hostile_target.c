/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * hostile_target blocks N | claims | reserves | rewrites SEED: lies about itself to whoever looks at it, in its ledger and in
 * memory that its ledger leads to, prints "." and waits for its input to end.
 *   blocks  one memory file of live blocks stands for N times 64 MB of its address space
 *   claims  all tables of the ledger are full and hold 16 GB each, though nothing is in them
 *   reserves  30 TB of its memory were never touched
 *   rewrites  its list of blocks, its facts, its ledger, its mappings and what is in them change all
 *             the time, by numbers of any kind; it allocates no more
 */
#include "ledger/ledger.h"
#include "ledger/ledger_blocks.h"
#include "ledger/ledger_facts.h"
#include "own_ledger.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

enum { APART_BYTES = 64 << 20, LIVE = 1, SIZE = 16 };

#define CLAIMED_BYTES ((uint64_t)16 << 30)

static struct ledger_header header;

/* All granules of a leaf hold a live block of the first row. */
static int make_leaf(uint64_t *ret_bytes)
{
	const unsigned shift = header.blocks.granule_shift;
	const uint64_t cells = ledger_leaf_cells(shift), pages = ledger_leaf_pages(shift);
	const int fd = memfd_create("leaf", MFD_CLOEXEC);
	uint64_t *leaf;

	*ret_bytes = pages * (LEDGER_PAGE_BYTES + 1);
	if (fd < 0 || ftruncate(fd, (off_t)*ret_bytes) < 0)
		exit(2);
	leaf = mmap(NULL, *ret_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (leaf == MAP_FAILED)
		exit(2);
	for (uint64_t i = 0; i < cells; i++)
		leaf[i] = 1 | (uint64_t)LIVE << LEDGER_CELL_STATE_SHIFT |
			  (uint64_t)SIZE << LEDGER_CELL_SIZE_SHIFT;
	memset((char *)leaf + pages * LEDGER_PAGE_BYTES, 1, pages);
	(void)munmap(leaf, *ret_bytes);
	return fd;
}

static void repeat_blocks(int ledger, unsigned times)
{
	const uint64_t list_bytes = (uint64_t)LEDGER_LEAVES * 8 + LEDGER_LEAVES_PAGES;
	uint64_t leaf_bytes, first = (uint64_t)1 << 30;
	const int leaf = make_leaf(&leaf_bytes);
	char *area = mmap(NULL, (size_t)APART_BYTES * (times + 1), PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t *list = mmap(NULL, list_bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED || list == MAP_FAILED)
		exit(2);
	memset((char *)list + (uint64_t)LEDGER_LEAVES * 8, 1, LEDGER_LEAVES_PAGES);
	for (unsigned i = 0; i < times; i++)
		list[(first >> LEDGER_LEAF_SHIFT) + i] =
			(uintptr_t)mmap(area + (size_t)APART_BYTES * i, leaf_bytes, PROT_READ,
					MAP_SHARED | MAP_FIXED, leaf, 0);
	header.blocks.leaves = (uintptr_t)list;
	(void)!pwrite(ledger, &header.blocks.leaves, 8,
		      offsetof(struct ledger_header, blocks.leaves));
}

static void claim(int ledger)
{
	uint64_t end = LEDGER_FIXED_BYTES;

	for (unsigned i = 0; i < LEDGER_TABLE_COUNT; i++) {
		header.table[i].offset = end;
		header.table[i].capacity = CLAIMED_BYTES / header.table[i].item_bytes;
		end += CLAIMED_BYTES;
		const struct ledger_table_state full = {
			.reserved = header.table[i].capacity,
			.ready = header.table[i].capacity,
		};
		const size_t at = offsetof(struct ledger_state, table) + i * sizeof(full);

		(void)!pwrite(ledger, &full, sizeof(full), (off_t)(2 * LEDGER_PAGE_BYTES + at));
	}
	header.file_bytes = end;
	if (ftruncate(ledger, (off_t)end) < 0 ||
	    pwrite(ledger, &header, sizeof(header), 0) != sizeof(header))
		exit(2);
}

static void reserve(void)
{
	enum { TIMES = 30 };

	for (int i = 0; i < TIMES; i++)
		if (mmap(NULL, (size_t)1 << 40, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			exit(2);
}

static uint64_t seed;

/* A small one, an address, or any. */
static uint64_t any_word(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	switch (seed >> 61) {
	case 0:
		return seed >> 32 & 0xffff;
	case 1:
		return (uintptr_t)&header + (seed >> 40 & 0xfffff8);
	case 2:
		return header.blocks.leaves + (seed >> 36 & 0xfffff8);
	case 3:
		return 1 | (uint64_t)LIVE << LEDGER_CELL_STATE_SHIFT |
		       (seed & 0xff) << LEDGER_CELL_SIZE_SHIFT;
	case 4:
		return UINT64_MAX - (seed >> 48);
	default:
		return seed ^ seed >> 29;
	}
}

static uint64_t below(uint64_t limit)
{
	return any_word() % limit;
}

static void write_word(int fd, uint64_t at, uint64_t word)
{
	(void)!pwrite(fd, &word, sizeof(word), (off_t)(at & ~UINT64_C(7)));
}

static void change_mappings(char *area)
{
	static const int protections[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };
	const uint64_t at = below(256) << 16, bytes = (1 + below(16)) << 12;

	if (below(4))
		(void)mprotect(area + at, bytes, protections[below(3)]);
	else
		(void)mmap(area + at, bytes, protections[below(3)],
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Only system calls and plain stores: the library would trip over what it keeps. */
static void *rewrite(void *ledger)
{
	enum { LEAVES_KEPT = 16, AREA_BYTES = 32 << 20 };
	const uint64_t *list = (const uint64_t *)(uintptr_t)header.blocks.leaves;
	uint64_t *facts = (uint64_t *)(uintptr_t)header.blocks.facts, *kept[LEAVES_KEPT];
	const uint64_t cells = ledger_leaf_cells(header.blocks.granule_shift);
	const uint64_t blocks_at = offsetof(struct ledger_header, blocks.leaves);
	char *area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	unsigned count = 0;

	for (uint64_t i = 0; i < LEDGER_LEAVES && count < LEAVES_KEPT; i++)
		if (list[i])
			kept[count++] = (uint64_t *)(uintptr_t)list[i];
	for (;;) {
		const uint64_t word = any_word();

		if (count)
			kept[below(count)][below(16) ? below(4096) : below(cells)] = word;
		facts[below(sizeof(struct ledger_facts) / 8)] = any_word();
		write_word(*(int *)ledger, LEDGER_PAGE_BYTES + below(3 * LEDGER_PAGE_BYTES), word);
		write_word(*(int *)ledger,
			   header.table[below(LEDGER_TABLE_COUNT)].offset + below(1 << 16), word);
		if (!below(1 << 10)) {
			write_word(*(int *)ledger, blocks_at, any_word());
			write_word(*(int *)ledger, blocks_at, header.blocks.leaves);
		}
		if (!below(1 << 21))
			write_word(*(int *)ledger, below(LEDGER_PAGE_BYTES), word);
		if (!below(64))
			change_mappings(area);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char *volatile block = malloc(100);
	int ledger, byte;

	(void)block;
	ledger = own_ledger_open();
	if (argc < 2 || ledger < 0 || read(ledger, &header, sizeof(header)) != sizeof(header))
		return 2;
	if (strcmp(argv[1], "blocks") == 0)
		repeat_blocks(ledger, argc > 2 ? (unsigned)atoi(argv[2]) : 16);
	else if (strcmp(argv[1], "claims") == 0)
		claim(ledger);
	else if (strcmp(argv[1], "reserves") == 0)
		reserve();
	else
		seed = argc > 2 ? (uint64_t)atoi(argv[2]) : 1;
	if (seed && pthread_create(&thread, NULL, rewrite, &ledger) != 0)
		return 2;
	(void)!write(1, ".", 1);
	while (read(0, &byte, 1) > 0)
		;
	_exit(0);
}
