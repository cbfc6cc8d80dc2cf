/* SPDX-License-Identifier: MIT */
/*
 * Calls the allocator with the names of PREFIX, which is linked in. Each round says what it allocated and
 * freed; threads allocate and free all the time, and look whether what they wrote is there.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach_talk.h"

#ifdef ONE_FILE
/* gcc sees what the functions leave alone (-fipa-ra), and may keep it in registers. */
#include "entry_own.c"
#else
#define GLUE(a, b) a##b
#define NAMED(a, b) GLUE(a, b)
#define NAME(function) NAMED(PREFIX, function)
void *NAME(malloc)(size_t bytes);
void *NAME(calloc)(size_t count, size_t bytes);
void *NAME(realloc)(void *block, size_t bytes);
void NAME(free)(void *block);
#endif

enum { THREADS_MAX = 8, HELD = 64, KEPT = 100 };

static volatile int is_over, is_wrong;

static void *churn(void *argument)
{
	uint32_t seed = (uint32_t)(uintptr_t)argument;
	unsigned char *held[HELD] = { 0 };

	while (!is_over) {
		uint32_t i, bytes;

		seed = seed * 1103515245 + 12345;
		i = seed >> 8 & (HELD - 1);
		bytes = 32 + (seed >> 16 & 511);
		NAME(free)(held[i]);
		held[i] = NAME(malloc)(bytes);
		memset(held[i], (int)i, bytes);
		if ((seed >> 24 & 7) == 0)
			held[i] = NAME(realloc)(held[i], bytes + 100);
		for (uint32_t j = 0; j < bytes; j++)
			is_wrong |= held[i][j] != i;
	}
	for (int i = 0; i < HELD; i++)
		NAME(free)(held[i]);
	return NULL;
}

/*
 * Like talk_line(), but by read() alone: poll() is taken up by another call once it was interrupted, of
 * which nobody can tell what waits there, and where a program is its own allocator that is no safe point.
 */
static const char *read_line(void)
{
	static char line[16];
	size_t used = 0;

	while (used < sizeof(line) - 1 && read(STDIN_FILENO, line + used, 1) == 1) {
		if (line[used] == '\n') {
			line[used] = '\0';
			return line;
		}
		used++;
	}
	return NULL;
}

static __attribute__((noinline)) void do_round(void)
{
	unsigned long allocs = 0, alloc_bytes = 0, frees = 0, freed_bytes = 0;
	void *kept[KEPT];

	for (unsigned i = 0; i < KEPT; i++) {
		char *cleared = NAME(calloc)(3, i + 6);

		kept[i] = NAME(realloc)(NAME(malloc)(100 + i), 300 + i);
		for (unsigned j = 0; j < 3 * (i + 6); j++)
			is_wrong |= cleared[j] != 0;
		NAME(free)(cleared);
		NAME(free)(NULL);
		allocs += 3;
		alloc_bytes += 3 * (i + 6) + 100 + i + 300 + i;
		frees += 2;
		freed_bytes += 3 * (i + 6) + 100 + i;
	}
	for (unsigned i = 0; i < KEPT / 2; i++) {
		NAME(free)(kept[i]);
		frees++;
		freed_bytes += 300 + i;
	}
	truth_line("allocs=%lu alloc_bytes=%lu frees=%lu freed_bytes=%lu\n", allocs, alloc_bytes,
		   frees, freed_bytes);
}

static int hold[2];

/* Until a byte comes it waits for its child, and nothing stops it. */
static void *wait_for_child(void *argument)
{
	char byte;

	if (vfork() == 0) {
		(void)close(hold[1]);
		_exit(read(hold[0], &byte, 1) != 1);
	}
	return argument;
}

int main(int argc, char **argv)
{
	const int count = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t threads[THREADS_MAX], holder;
	const char *line;

	for (int i = 0; i < count; i++)
		(void)pthread_create(&threads[i], NULL, churn, &threads[i]);
	talk_ready();
	while ((line = read_line())) {
		if (strcmp(line, "round") == 0)
			do_round();
		if (strcmp(line, "hold") == 0)
			is_wrong |= pipe(hold) != 0 ||
				    pthread_create(&holder, NULL, wait_for_child, NULL) != 0;
		if (strcmp(line, "release") == 0)
			is_wrong |= write(hold[1], "", 1) != 1 || pthread_join(holder, NULL) != 0;
		talk_answer();
	}
	is_over = 1;
	for (int i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
	truth_failures += is_wrong;
	return talk_end();
}
