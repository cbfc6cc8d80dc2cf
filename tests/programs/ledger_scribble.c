/* SPDX-License-Identifier: MIT */
/*
 * Makes and frees many blocks, then writes a number that no count reaches over the frees in a
 * row of its own ledger. Lives on while a recorder looks several times, and ends without
 * a word to the library.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ledger/ledger.h"
#include "own_ledger.h"

enum { BLOCKS = 3000, ROW = 1, LOOKED_AT_NS = 300000000 };

static void scribble(int fd, const struct ledger_header *header)
{
	const struct ledger_table *rows = &header->table[LEDGER_TABLE_ROWS];
	const uint64_t wild = 1ull << 63;
	off_t at =
		(off_t)(rows->offset + ROW * rows->item_bytes + offsetof(struct ledger_row, frees));

	(void)!pwrite(fd, &wild, sizeof(wild), at);
}

int main(void)
{
	const struct timespec looked_at = { .tv_nsec = LOOKED_AT_NS };
	static struct ledger_header header;
	int fd;

	for (int i = 0; i < BLOCKS; i++) {
		char *volatile block = malloc(10 + i % 50);

		if (i % 3)
			free(block);
	}
	fd = own_ledger_open();
	if (fd >= 0 && pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header)) {
		scribble(fd, &header);
		(void)nanosleep(&looked_at, NULL);
	}
	(void)syscall(SYS_exit_group, 0);
	return 0;
}
