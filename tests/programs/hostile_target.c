/* SPDX-License-Identifier: MIT */
/*
 * hostile_target blocks N | claims: lies about itself to whoever looks at it, in its ledger and in
 * memory that its ledger leads to, prints "." and waits for its input to end.
 *   blocks  one memory file of live blocks stands for N times 64 MB of its address space
 *   claims  all tables of the ledger are full and hold 16 GB each, though nothing is in them
 */
#include "ledger/ledger.h"
#include "ledger/ledger_blocks.h"
#include "own_ledger.h"

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

int main(int argc, char **argv)
{
	char *volatile block = malloc(100);
	int ledger, byte;

	(void)block;
	ledger = own_ledger_open();
	if (argc < 2 || ledger < 0 || read(ledger, &header, sizeof(header)) != sizeof(header))
		return 2;
	if (strcmp(argv[1], "blocks") == 0)
		repeat_blocks(ledger, argc > 2 ? (unsigned)atoi(argv[2]) : 16);
	else
		claim(ledger);
	(void)!write(1, ".", 1);
	while (read(0, &byte, 1) > 0)
		;
	_exit(0);
}
