/* SPDX-License-Identifier: MIT */
/*
 * ledger_mark LEDGER NAME: set a mark in the ledger of a running process, as
 * docs/internals/ledger.md has it: advance control.epoch, append to the table of marks. Only among
 * the first 256 marks, whose pages the runtime has made real. Prints the new epoch.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ledger/ledger.h"

int main(int argc, char **argv)
{
	struct ledger_header *header;
	struct ledger_control *control;
	struct ledger_state *state;
	struct ledger_mark *mark;
	struct timespec now;
	uint64_t index;
	struct stat st;
	char *map;
	int fd;

	if (argc != 3)
		return 2;
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return 2;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return 2;
	header = (struct ledger_header *)map;
	control = (struct ledger_control *)(map + LEDGER_PAGE_BYTES);
	state = (struct ledger_state *)(map + 2 * LEDGER_PAGE_BYTES);
	index = atomic_fetch_add(&state->table[LEDGER_TABLE_MARKS].reserved, 1);
	if (index >= atomic_load(&state->table[LEDGER_TABLE_MARKS].ready))
		return 1;
	mark = (struct ledger_mark *)(map + header->table[LEDGER_TABLE_MARKS].offset) + index;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	mark->at_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	(void)strncpy(mark->name, argv[2], sizeof(mark->name) - 1);
	mark->epoch = atomic_fetch_add(&control->epoch, 1) + 1;
	atomic_store_explicit(&mark->ready, 1, memory_order_release);
	printf("%u\n", mark->epoch);
	return 0;
}
