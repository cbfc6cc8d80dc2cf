/* SPDX-License-Identifier: MIT */
/*
 * Three callers of one wrapper of malloc, which keep, lose and free blocks; prints what each has alive.
 * With an argument it says when half is done, and waits for a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

enum { ROUNDS = 200000 };

struct node {
	struct node *next;
	char rest[40];
};

static struct node *kept;
static unsigned long keeps, loses;

static APART void *wrapper(size_t bytes)
{
	void *block = malloc(bytes);

	if (!block)
		abort();
	return memset(block, 1, bytes);
}

static APART void keep_one(void)
{
	struct node *node = wrapper(sizeof(*node));

	node->next = kept;
	kept = node;
	keeps++;
}

static APART void lose_one(unsigned i)
{
	const size_t bytes = 64 + i % 64;
	char *volatile block = wrapper(bytes);

	block = NULL;
	(void)block;
	loses += bytes;
}

static APART void pass_one(void)
{
	char *volatile block = wrapper(100);

	free(block);
}

int main(int argc, char **argv)
{
	(void)argv;
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (argc > 1 && i == ROUNDS / 2) {
			puts("half");
			fflush(stdout);
			(void)getchar();
		}
		if (i % 3 == 0)
			keep_one();
		if (i % 5 == 0)
			lose_one(i);
		pass_one();
	}
	printf("keep_one %lu\nlose_one %lu\n", keeps * sizeof(struct node), loses);
	return 0;
}
