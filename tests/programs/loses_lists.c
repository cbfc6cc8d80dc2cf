/* SPDX-License-Identifier: MIT */
/*
 * Loses three blocks of 64 bytes, each of which leads to five of 48, and keeps one of 1000. Says
 * "ready", then waits for the end of its input, and ends with the status, or by the signal, that it
 * was given: "3", "signal 11".
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

struct node {
	struct node *next;
	char text[40];
};

static void *volatile kept;

static APART struct node *make_list(int nodes)
{
	struct node *head = NULL;

	while (nodes-- > 0) {
		struct node *node = calloc(1, sizeof(*node));

		if (!node)
			exit(97);
		memcpy(node->text, "a secret", sizeof("a secret"));
		node->next = head;
		head = node;
	}
	return head;
}

static APART void lose_lists(void)
{
	for (int i = 0; i < 3; i++) {
		struct node *volatile *holder = calloc(8, sizeof(*holder));

		if (!holder)
			exit(97);
		holder[0] = make_list(5);
		__asm__ volatile("" : : "r"(holder) : "memory");
	}
}

/* Nothing of what was called before may stay on the stack. */
static APART void overwrite_stack(void)
{
	char bytes[16384];

	memset(bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

int main(int argc, char **argv)
{
	/* Its buffer would be allocated after "ready". */
	setvbuf(stdin, NULL, _IONBF, 0);
	kept = malloc(1000);
	lose_lists();
	overwrite_stack();
	if (puts("ready") < 0 || fflush(stdout) != 0)
		return 98;
	while (getchar() != EOF)
		;
	if (argc > 2)
		raise(atoi(argv[2]));
	return argc > 1 ? atoi(argv[1]) : 0;
}
