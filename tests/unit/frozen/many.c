/* SPDX-License-Identifier: MIT */
/*
 * What the frozen recordings here are of: something of everything that a recording can hold. For
 * each version of the schema that was released there is one, made once and never again:
 *
 *	gcc -O2 -g -pthread -D_GNU_SOURCE -ffile-prefix-map=$PWD=. -o /tmp/many many.c
 *	cd / && env -i seep run --by-thread --size-min 20 -o /tmp/schema-N.seep -- /tmp/many one 'two three'
 *	gzip -9n /tmp/schema-N.seep
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[64];
static int count;

static inline __attribute__((always_inline)) void keep(size_t bytes)
{
	kept[count++] = malloc(bytes);
}

__attribute__((noinline)) static void recurse(int depth)
{
	if (depth > 0)
		recurse(depth - 1);
	else
		keep(1000);
	__asm__ volatile("" ::: "memory");
}

static void *work(void *name)
{
	(void)pthread_setname_np(pthread_self(), name);
	keep(200);
	kept[count] = malloc(70000);
	free(kept[count]);
	return NULL;
}

static void in_thread(const char *name)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, (void *)name) == 0)
		(void)pthread_join(thread, NULL);
}

static void in_child(bool exec)
{
	pid_t child = fork();

	if (child == 0) {
		keep(33);
		if (exec)
			(void)execl("/bin/true", "true", NULL);
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
}

int main(void)
{
	recurse(12);
	recurse(2);
	in_thread("first");
	in_thread("second");
	kept[count++] = aligned_alloc(64, 640);
	kept[count++] = calloc(10, 30);
	kept[0] = realloc(kept[0], 2000);
	for (int i = 0; i < 5; i++) {
		kept[count] = malloc(50);
		free(kept[count]);
	}
	(void)usleep(1200 * 1000); /* the recorder sets a mark after a second */
	for (int i = 0; i < 2; i++)
		keep(100);
	in_child(false);
	in_child(true);
	return 3;
}
