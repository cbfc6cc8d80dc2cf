/* SPDX-License-Identifier: MIT */
/*
 * ledger_scribble WORD [wait]: makes blocks, of which it frees or loses most, and then writes over a
 * word of its own ledger: "frees", of a row, by what no count reaches; of another row "allocs",
 * "alloc_bytes" or "freed_bytes", by much; "summed", as if it were a child that is counted elsewhere.
 * Lives on while a recorder looks several times, or until its input ends, and then ends without a
 * word to the library, but by exit() for "summed".
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

enum { BLOCKS = 3000, LOOKED_AT_NS = 300000000 };

static void scribble(int fd, const struct ledger_header *header, const char *word)
{
	const struct ledger_table *rows = &header->table[LEDGER_TABLE_ROWS];
	const uint64_t wild = 1ull << 63, much = 1ull << 42, one = 1;
	const uint64_t row = rows->offset + 2 * rows->item_bytes;
	const struct {
		const char *word;
		uint64_t at;
		const uint64_t *value;
	} words[] = {
		{ "frees", row - rows->item_bytes + offsetof(struct ledger_row, frees), &wild },
		{ "allocs", row + offsetof(struct ledger_row, allocs), &much },
		{ "alloc_bytes", row + offsetof(struct ledger_row, alloc_bytes), &much },
		{ "freed_bytes", row + offsetof(struct ledger_row, freed_bytes), &much },
		{ "summed", 2 * LEDGER_PAGE_BYTES + offsetof(struct ledger_state, summed), &one },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(word, words[i].word) == 0)
			(void)!pwrite(fd, words[i].value, sizeof(one), (off_t)words[i].at);
}

int main(int argc, char **argv)
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
		scribble(fd, &header, argc > 1 ? argv[1] : "frees");
		if (argc > 2 && write(1, ".", 1) == 1)
			(void)!read(0, &header, 1);
		(void)nanosleep(&looked_at, NULL);
	}
	if (argc > 1 && strcmp(argv[1], "summed") == 0)
		return 0;
	(void)syscall(SYS_exit_group, 0);
	return 0;
}
