/* SPDX-License-Identifier: MIT */
/*
 * Does what standard input says, a line at a time, and answers each with a line; "." ends the
 * longer answers. It knows itself what is held between two marks.
 *
 *	+ SITE COUNT BYTES   allocate blocks in the function SITE
 *	- SITE COUNT         free the oldest of them
 *	! NAME               seep_mark(NAME); answers what that returned
 *	@                    somebody has set a mark from outside
 *	? FROM UNTIL         truth: what was allocated between these marks, by their number from 1,
 *	                     and is alive; UNTIL 0: now
 *	# SITE               the addresses of its blocks
 *	fork                 the child goes on with standard input, and its parent waits for it
 */
#include "seep/seep.h"
#include "truth.h"

#include <sys/wait.h>

enum { BLOCKS_MAX = 100000 };

static struct block {
	char *address;
	size_t bytes;
	int site;
	int mark; /* how many there were before it */
} blocks[BLOCKS_MAX];
static size_t block_count;
static int marks;

SITE static void *keep_a(size_t bytes)
{
	return truth_hide_ptr(malloc(bytes));
}

SITE static void *keep_b(size_t bytes)
{
	return truth_hide_ptr(malloc(bytes));
}

SITE static void *keep_c(size_t bytes)
{
	return truth_hide_ptr(malloc(bytes));
}

/* Nothing points to these. */
SITE static void *lose(size_t bytes)
{
	return truth_hide_ptr(malloc(bytes));
}

static const struct {
	const char *name;
	void *(*allocate)(size_t bytes);
} sites[] = { { "keep_a", keep_a }, { "keep_b", keep_b }, { "keep_c", keep_c }, { "lose", lose } };
enum { SITES = sizeof(sites) / sizeof(sites[0]), LOSE = 3 };

static char *shown(const struct block *block)
{
	return block->site == LOSE ? (char *)~(uintptr_t)block->address : block->address;
}

static void allocate(int site, int count, size_t bytes)
{
	for (int i = 0; i < count && block_count < BLOCKS_MAX; i++) {
		struct block *block = &blocks[block_count++];

		*block = (struct block){ NULL, bytes, site, marks };
		block->address = sites[site].allocate(bytes);
		block->address = shown(block);
	}
}

static void release(int site, int count)
{
	size_t kept = 0;

	for (size_t i = 0; i < block_count; i++) {
		if (blocks[i].site == site && count > 0) {
			free(shown(&blocks[i]));
			count--;
		} else {
			blocks[kept++] = blocks[i];
		}
	}
	block_count = kept;
}

static void tell_held(int from, int until)
{
	for (int site = 0; site < SITES; site++) {
		unsigned long long count = 0, bytes = 0;

		for (size_t i = 0; i < block_count; i++) {
			if (blocks[i].site != site || blocks[i].mark < from ||
			    (until && blocks[i].mark >= until))
				continue;
			count++;
			bytes += blocks[i].bytes;
		}
		if (count)
			truth_line("%s %llu %llu\n", sites[site].name, count, bytes);
	}
	truth_line(".\n");
}

static void tell_addresses(int site)
{
	for (size_t i = 0; i < block_count; i++)
		if (blocks[i].site == site)
			truth_line("%llu %zu\n", (unsigned long long)(uintptr_t)shown(&blocks[i]),
				   blocks[i].bytes);
	truth_line(".\n");
}

static int site_of(const char *name)
{
	for (int i = 0; i < SITES; i++)
		if (strcmp(sites[i].name, name) == 0)
			return i;
	exit(2);
}

static void step(char *line)
{
	char name[256] = "";
	int count = 0, more = 0;

	switch (line[0]) {
	case '+':
		if (sscanf(line, "+ %255s %d %d", name, &count, &more) == 3)
			allocate(site_of(name), count, (size_t)more);
		break;
	case '-':
		if (sscanf(line, "- %255s %d", name, &count) == 2)
			release(site_of(name), count);
		break;
	case '!':
		count = seep_mark(line + 2);
		marks += count == 0;
		truth_line("%d\n", count);
		return;
	case '@':
		marks++;
		break;
	case '?':
		if (sscanf(line, "? %d %d", &count, &more) == 2)
			tell_held(count, more);
		return;
	case '#':
		tell_addresses(site_of(line + 2));
		return;
	case 'f': {
		const pid_t child = fork();

		if (child > 0) {
			(void)waitpid(child, NULL, 0);
			exit(0);
		}
		block_count = 0;
		marks = 0;
		truth_line("%d\n", (int)getpid());
		return;
	}
	default:
		exit(2);
	}
	truth_line("ok\n");
}

int main(void)
{
	static char line[4096];
	size_t used = 0;
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1) {
		if (byte != '\n') {
			if (used < sizeof(line) - 1)
				line[used++] = byte;
			continue;
		}
		line[used] = '\0';
		used = 0;
		step(line);
		truth_flush(STDOUT_FILENO);
	}
	return 0;
}
