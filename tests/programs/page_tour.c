/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Something for each view of the page: leaks of several verdicts, a list that grows, epochs between
 * marks, threads, recursion, hundreds of call stacks, temporary blocks, another process. With an
 * argument it is another version of itself, of which `seep diff` shows something for each verdict.
 */
#include "seep/seep.h"
#include "truth.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

enum { STACKS = 700, TICKS = 240, TICK_NS = 5000000, CHILD_BLOCKS = 2000 };

struct item {
	struct item *next;
	char text[120];
};

static void *volatile kept[STACKS];
static struct item *history;
static void *volatile cache[64], *volatile left[64];
static int other_version;

SITE static void *counted(size_t bytes)
{
	return malloc(bytes);
}

#include "stack_tree.h"

SITE static void fill_cache(size_t bytes)
{
	for (int i = 0; i < 64; i++)
		cache[i] = malloc(bytes);
}

/* Called at all in one of the versions only. */
SITE static void only_before(void)
{
	left[0] = malloc(70000);
}

SITE static void only_after(void)
{
	left[1] = calloc(1, 90000);
}

SITE static void remember(void)
{
	struct item *item = malloc(sizeof(*item));

	item->next = history;
	history = item;
}

SITE static void fleeting(size_t bytes)
{
	void *volatile block = malloc(bytes);

	free(block);
}

SITE static void descend(unsigned depth)
{
	if (depth == 0)
		left[2] = malloc(12345);
	else
		descend(depth - 1);
	__asm__ volatile("" : : : "memory");
}

SITE static void lose_one(size_t bytes)
{
	*(volatile char *)malloc(bytes) = 1;
}

SITE static struct item *new_item(struct item *next)
{
	struct item *item = malloc(sizeof(*item));

	item->next = next;
	return item;
}

SITE static void lose_list(void)
{
	struct item *volatile first = NULL;

	for (int i = 0; i < 10; i++)
		first = new_item(first);
	first = NULL;
}

SITE static void lose_cycle(void)
{
	struct item *volatile one = new_item(NULL);

	one->next = new_item(one);
	one = NULL;
}

static void *work(void *name)
{
	struct timespec tick = { .tv_nsec = TICK_NS };

	(void)pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < TICKS; i++) {
		if (strcmp(name, "worker-1") == 0)
			remember();
		for (int k = 0; k < 50; k++)
			fleeting(100 + k);
		(void)nanosleep(&tick, NULL);
	}
	return NULL;
}

static void have_a_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < CHILD_BLOCKS; i++)
			kept[i % STACKS] = malloc(2000);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	static char *const names[] = { "worker-1", "worker-2" };
	pthread_t threads[2];

	(void)argv;
	other_version = argc > 1;
	fill_cache(other_version ? 3000 : 2000);
	(void)seep_mark("warm");
	for (int i = 0; i < 2; i++)
		(void)pthread_create(&threads[i], NULL, work, names[i]);
	for (unsigned i = 0; i < STACKS; i++)
		kept[i] = left_22(i * 2654435761U >> 10);
	(void)seep_mark("serving");
	for (int i = 0; i < (other_version ? 1 : 5); i++)
		lose_one(1000);
	lose_list();
	lose_cycle();
	descend(40);
	for (int i = 0; i < 2; i++)
		(void)pthread_join(threads[i], NULL);
	(void)seep_mark("closing");
	if (other_version)
		only_after();
	else
		only_before();
	have_a_child();
	return 0;
}
