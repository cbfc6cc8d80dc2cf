/* SPDX-License-Identifier: MIT */
/*
 * block_walker PID LEDGER: every live block of that process, read from its memory while it waits:
 * "FIRST_ROW" of the ledger, then lines "ADDRESS SIZE ROW FAMILY".
 */
#include "block_walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

static bool read_process(void *user, uint64_t address, void *to, uint64_t bytes)
{
	struct iovec here = { to, bytes };
	struct iovec there = { (void *)(uintptr_t)address, bytes };

	return process_vm_readv(*(pid_t *)user, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static void print(void *user, const struct walk_block *block)
{
	(void)user;
	printf("%llx %llu %u %d\n", (unsigned long long)block->address,
	       (unsigned long long)block->size, block->row, block->family);
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 3 ? atoi(argv[1]) : 0;
	int fd = argc == 3 ? open(argv[2], O_RDONLY) : -1;
	struct ledger_header header;
	struct walk walk = { read_process, print, &pid, UINT64_C(1) << 30, 0 };

	if (fd < 0 || read(fd, &header, sizeof(header)) != sizeof(header) ||
	    header.version != LEDGER_VERSION)
		return 2;
	printf("%u\n", header.first_row);
	if (!walk_blocks(&walk, &header.blocks) || !walk.left_bytes || walk.strange)
		return 1;
	return 0;
}
