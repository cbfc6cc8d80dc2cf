/* SPDX-License-Identifier: MIT */
/*
 * A server of REQUESTS requests, whose functions share others: log_line() is called from
 * handle_request() and from main(), grow() is inlined into parse(), descend() calls itself. Then it
 * waits for standard input to end.
 */
#include <stdio.h>
#include <stdlib.h>

enum { REQUESTS = 10, BODY = 100, LINE = 30, NODE = 24, DEPTH = 5, NAMES = 7 };

struct node {
	struct node *next;
	char text[NODE - sizeof(void *)];
};

static struct node *list;

/* After a call: it is not the last thing that its function does. */
#define STAY() __asm__ volatile("" ::: "memory")
#define ALONE __attribute__((noinline, noclone))

static inline __attribute__((always_inline)) char *grow(size_t bytes)
{
	char *room = malloc(bytes);

	*(volatile char *)room = 1;
	return room;
}

ALONE static void parse(void)
{
	char *body = grow(BODY);

	STAY();
	free(body);
}

ALONE static void log_line(void)
{
	char *line = malloc(LINE);

	*(volatile char *)line = 1;
	free(line);
}

ALONE static void descend(int depth)
{
	struct node *node = malloc(sizeof(*node));

	node->next = list;
	list = node;
	if (depth > 1)
		descend(depth - 1);
	STAY();
}

ALONE static void handle_request(void)
{
	parse();
	log_line();
	descend(DEPTH);
	STAY();
}

int main(void)
{
	for (int i = 0; i < REQUESTS; i++)
		handle_request();
	for (int i = 0; i < NAMES; i++)
		log_line();
	(void)printf("ready\n");
	(void)fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
