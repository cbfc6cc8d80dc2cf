/* SPDX-License-Identifier: MIT */
/*
 * leaks list COUNT [wait]	one list of COUNT blocks of 24 bytes in random order
 * leaks large MEGABYTES [wait]	as much memory in blocks of 1 MB, full of small numbers
 *
 * Everything stays reachable but three blocks of 1001, 1002 and 1003 bytes. "wait": say "ready"
 * when it is all there, and end at the end of standard input.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
	struct node *next;
	uint64_t rest[2];
};

static void *kept;

__attribute__((noinline)) static void leak(size_t bytes)
{
	void *volatile block = malloc(bytes);

	block = NULL;
	(void)block;
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* As a program's lists are that has run for long. */
static void *make_list(size_t count)
{
	struct node **nodes = malloc(count * sizeof(struct node *)), *first = NULL;
	uint64_t state = 88172645463325252;

	for (size_t i = 0; nodes && i < count; i++)
		nodes[i] = calloc(1, sizeof(*nodes[i]));
	for (size_t i = count; nodes && i-- > 1;) {
		size_t other = random_next(&state) % (i + 1);
		struct node *node = nodes[i];

		nodes[i] = nodes[other];
		nodes[other] = node;
	}
	for (size_t i = 0; nodes && i < count; i++) {
		nodes[i]->next = first;
		first = nodes[i];
	}
	free(nodes);
	return first;
}

static void *make_large(size_t megabytes)
{
	uint64_t **blocks = calloc(megabytes + 1, sizeof(uint64_t *));

	for (size_t i = 0; blocks && i < megabytes; i++) {
		blocks[i] = malloc(1 << 20);
		for (size_t k = 0; blocks[i] && k < (1 << 20) / sizeof(uint64_t); k++)
			blocks[i][k] = k;
	}
	return blocks;
}

int main(int argc, char **argv)
{
	const size_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;

	kept = argc > 1 && strcmp(argv[1], "large") == 0 ? make_large(count) : make_list(count);
	for (size_t bytes = 1001; bytes <= 1003; bytes++)
		leak(bytes);
	if (argc > 3) {
		(void)puts("ready");
		(void)fflush(stdout);
		while (getchar() != EOF)
			;
	}
	return kept == NULL;
}
