/* SPDX-License-Identifier: MIT */
/*
 * Makes and frees many blocks, then writes a number that no count reaches over the frees in a
 * row of its own ledger. Lives on while a recorder looks several times, and ends without
 * a word to the library.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ledger/ledger.h"

enum { BLOCKS = 3000, ROW = 1, LOOKED_AT_NS = 300000000 };

static int open_ledger(struct ledger_header *header)
{
	static char prefix[64], path[8192];
	const char *directory = getenv("SEEP_DIR");
	DIR *dir = directory ? opendir(directory) : NULL;
	struct dirent *entry;
	int fd = -1;

	(void)snprintf(prefix, sizeof(prefix), "ledger_scribble.%d.", (int)getpid());
	while (dir && fd < 0 && (entry = readdir(dir)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
			(void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
			fd = open(path, O_RDWR);
		}
	if (dir)
		(void)closedir(dir);
	if (fd >= 0 && pread(fd, header, sizeof(*header), 0) != (ssize_t)sizeof(*header))
		return -1;
	return fd;
}

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
	fd = open_ledger(&header);
	if (fd >= 0) {
		scribble(fd, &header);
		(void)nanosleep(&looked_at, NULL);
	}
	(void)syscall(SYS_exit_group, 0);
	return 0;
}
