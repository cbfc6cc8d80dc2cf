/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * What guards and quarantine are to find, or not. `PROGRAM CASE` does it, in a function of the case's
 * name; `PROGRAM CASE wait` says so then, and waits for its input to end.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define EXPECT(what) ((what) ? (void)0 : (void)(fprintf(stderr, "not so: %s\n", #what), _exit(9)))

static void *volatile kept[1 << 20];

static void write_at(unsigned char *block, long offset)
{
	volatile unsigned char *at = block + offset;

	*at = 0x41;
}

APART static void overflow_by_1(void)
{
	unsigned char *block = malloc(100);

	write_at(block, 100);
	free(block);
}

APART static void overflow_at_7(void)
{
	unsigned char *block = malloc(100);

	write_at(block, 107);
	free(block);
}

APART static void overflow_kept(void)
{
	kept[0] = malloc(100);
	write_at(kept[0], 100);
}

APART static void overflow_large(void)
{
	kept[0] = malloc(1000000);
	write_at(kept[0], 1000000);
}

APART static void overflow_new(void)
{
	unsigned char *block = aligned_alloc(64, 65);

	write_at(block, 65);
	free(block);
}

APART static void overflow_realloc(void)
{
	unsigned char *block = malloc(24);

	write_at(block, 24);
	block = realloc(block, 48);
	EXPECT(block);
	free(block);
}

APART static void underflow_by_1(void)
{
	unsigned char *block = malloc(100);

	write_at(block, -1);
	free(block);
}

APART static void underflow_deep(void)
{
	unsigned char *block = malloc(100);

	for (long at = -40; at < 0; at++)
		write_at(block, at);
	free(block);
}

APART static void underflow_kept(void)
{
	kept[0] = calloc(10, 10);
	write_at(kept[0], -1);
}

APART static void use_after_free(void)
{
	unsigned char *volatile block = malloc(100);

	free(block);
	write_at(block, 50);
}

/* Enough is freed after it that it does not wait any more. */
APART static void use_then_more(void)
{
	use_after_free();
	for (int i = 0; i < 100000; i++) {
		void *volatile other = malloc(300);

		free(other);
	}
}

APART static void free_twice(void)
{
	void *volatile block = malloc(100);

	free(block);
	free(block);
}

/* It does not wait, and what was before it is no memory any more. */
APART static void free_large_twice(void)
{
	void *volatile block = malloc(100 << 20);

	free(block);
	free(block);
}

/* Both are looked at many times before they are freed, or leave. */
APART static void damage_then_more(void)
{
	overflow_kept();
	use_after_free();
	for (int i = 0; i < 100; i++)
		free(kept[1] = malloc(300));
	free(kept[0]);
}

/* The same place is damaged of one block after the other, after a look each. */
APART static void damage_again(void)
{
	for (int i = 0; i < 3; i++) {
		overflow_kept();
		kept[1] = malloc(300);
		kept[2] = malloc(300);
		free(kept[0]);
	}
}

/* By the parent, before the child and while it lives. */
APART static void damage_of_parent(void)
{
	int status;
	pid_t child;

	use_after_free();
	child = fork();
	if (child == 0) {
		free(kept[0] = malloc(200));
		exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

APART static void damage_in_child(void)
{
	void *volatile block = malloc(100);
	int status;
	pid_t child = fork();

	if (child == 0) {
		overflow_by_1();
		exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
	free(block);
}

static void check(const unsigned char *block, size_t bytes, unsigned char byte)
{
	for (size_t i = 0; i < bytes; i++)
		EXPECT(block[i] == byte);
}

static unsigned char *filled(void *block, size_t bytes)
{
	EXPECT(block);
	return memset(block, 0x5c, bytes);
}

APART static void all_right(void)
{
	for (size_t size = 0; size < 9000; size += size < 200 ? 1 : 777) {
		unsigned char *block = filled(malloc(size), size), *zeros = calloc(1, size + 1);

		check(zeros, size + 1, 0);
		free(zeros);
		EXPECT(malloc_usable_size(block) >= size && (uintptr_t)block % 16 == 0);
		filled(block, malloc_usable_size(block));
		block = realloc(block, size * 2 + 1);
		EXPECT(block);
		check(block, size, 0x5c);
		block = realloc(filled(block, size * 2 + 1), size / 2 + 1);
		EXPECT(block);
		check(block, size / 2 + 1, 0x5c);
		block = reallocarray(block, size + 1, 3);
		EXPECT(block);
		check(block, size / 2 + 1, 0x5c);
		free(filled(block, (size + 1) * 3));
		for (size_t alignment = 16; alignment <= 1 << 16; alignment *= 4) {
			void *made = NULL;

			EXPECT(posix_memalign(&made, alignment, size) == 0);
			EXPECT((uintptr_t)made % alignment == 0);
			free(filled(made, size));
			made = memalign(alignment, size);
			EXPECT((uintptr_t)made % alignment == 0);
			made = realloc(filled(made, size), size + 50);
			check(made, size, 0x5c);
			free(made);
			free(filled(aligned_alloc(alignment, alignment), alignment));
		}
		free(filled(valloc(size), size));
		free(filled(pvalloc(size), size));
	}
	free(NULL);
	EXPECT(malloc_usable_size(NULL) == 0);
	EXPECT(realloc(malloc(10), 0) == NULL);
	free(realloc(NULL, 10));
}

/* As without: no memory, and the pointer stays. */
APART static void refused(void)
{
	void *volatile stays = &kept, *made = (void *)stays;
	volatile size_t huge = SIZE_MAX - 64, half = SIZE_MAX / 2 - 8;

	EXPECT(malloc(huge) == NULL && malloc(half) == NULL && calloc(huge, 2) == NULL);
	EXPECT(calloc(1, half) == NULL && memalign(64, half) == NULL && pvalloc(huge) == NULL);
	EXPECT(posix_memalign(&made, 64, half) == 12 && made == stays);
	EXPECT(posix_memalign(&made, 3, 8) == 22 && made == stays);
	made = filled(malloc(10), 10);
	EXPECT(realloc(made, half) == NULL);
	check(made, 10, 0x5c);
	free(made);
}

APART static void many(void)
{
	for (int i = 0; i < 1 << 20; i++)
		kept[i] = filled(malloc(1 + i % 200), 1 + i % 200);
	for (int i = 0; i < 1 << 20; i += 2) {
		free(kept[i]);
		kept[i] = NULL;
	}
}

static void *play(void *unused)
{
	void *own[64] = { NULL };

	(void)unused;
	for (unsigned i = 0; i < 100000; i++) {
		const unsigned at = i * 7919 % 64, size = i * 31 % 3000;

		if (i % 3 == 0)
			own[at] = realloc(own[at], size + 1);
		else {
			free(own[at]);
			own[at] = filled(malloc(size), size);
		}
	}
	for (unsigned i = 0; i < 64; i++)
		free(own[i]);
	return NULL;
}

/* Some go on while the process ends. */
APART static void threads(void)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		EXPECT(pthread_create(&thread[i], NULL, play, NULL) == 0);
	EXPECT(pthread_join(thread[0], NULL) == 0);
}

static void *play_on(void *unused)
{
	for (;;)
		play(unused);
	return NULL;
}

/* Until the process ends. */
APART static void busy(void)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		EXPECT(pthread_create(&thread, NULL, play_on, NULL) == 0);
}

APART static void busy_and_wrong(void)
{
	overflow_kept();
	busy();
}

/* It has a damaged block of its parent's, and one of its own. */
APART static void child_waits(void)
{
	int ready[2];
	char byte;

	overflow_kept();
	EXPECT(pipe(ready) == 0);
	if (fork() == 0) {
		kept[1] = malloc(200);
		write_at(kept[1], 200);
		EXPECT(write(ready[1], "", 1) == 1);
		_exit(getchar() == EOF ? 0 : 1);
	}
	EXPECT(read(ready[0], &byte, 1) == 1);
}

APART static void everything(void)
{
	for (int i = 0; i < 3; i++) {
		unsigned char *block = malloc(100);

		kept[i] = block;
		write_at(block, 100 + i);
	}
	kept[3] = calloc(10, 10);
	write_at(kept[3], -1);
	kept[4] = malloc(100);
	for (long at = -40; at < 0; at++)
		write_at(kept[4], at);
	kept[5] = malloc(1000000);
	write_at(kept[5], 1000000);
	use_after_free();
}

struct item {
	struct item *next;
	char rest[92];
};

/* 1 MB, and a list of 100 items, are lost; as much is held. */
APART static void lose(void)
{
	struct item *list = NULL;

	for (int i = 0; i < 100; i++) {
		struct item *item = malloc(100);

		EXPECT(item);
		item->next = list;
		list = item;
	}
	(void)filled(malloc(1 << 20), 1 << 20);
}

APART static void loses_and_holds(void)
{
	struct item **first = malloc(1 << 20);

	lose();
	EXPECT(first);
	memset(first, 0, 1 << 20);
	for (int i = 0; i < 100; i++)
		first[i * 1000] = malloc(100);
	kept[0] = first;
	kept[1] = memalign(4096, 1 << 20);
	EXPECT(kept[1]);
	*(void **)kept[1] = malloc(77);
}

/* glibc writes to the first words of what it has. */
APART static void look_at_freed(void)
{
	unsigned char *volatile block = filled(malloc(1000), 1000);

	free(block);
	printf("freed %d %d\n", block[500], block[999]);
}

static void handle(int number)
{
	(void)number;
}

/* Before it allocates. */
APART static void handler_in_child(void)
{
	struct sigaction own = { .sa_handler = handle }, now;
	int status;

	free(filled(malloc(100), 100));
	if (fork() == 0) {
		EXPECT(sigaction(SIGSEGV, &own, NULL) == 0);
		free(filled(malloc(100), 100));
		EXPECT(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == handle);
		_exit(0);
	}
	EXPECT(wait(&status) > 0 && status == 0);
	EXPECT(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
}

static const struct {
	const char *name;
	void (*does)(void);
} cases[] = {
#define CASE(name)          \
	{                   \
#name, name \
	}
	CASE(overflow_by_1),	CASE(overflow_at_7),
	CASE(overflow_kept),	CASE(overflow_large),
	CASE(overflow_new),	CASE(overflow_realloc),
	CASE(underflow_by_1),	CASE(underflow_deep),
	CASE(underflow_kept),	CASE(use_after_free),
	CASE(use_then_more),	CASE(free_twice),
	CASE(free_large_twice), CASE(damage_in_child),
	CASE(damage_then_more), CASE(damage_again),
	CASE(damage_of_parent), CASE(all_right),
	CASE(refused),		CASE(many),
	CASE(threads),		CASE(busy),
	CASE(busy_and_wrong),	CASE(child_waits),
	CASE(everything),	CASE(loses_and_holds),
	CASE(look_at_freed),	CASE(handler_in_child),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc > 1 && strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].does();
			if (argc > 2) {
				puts("ready");
				EXPECT(fflush(stdout) == 0 && getchar() == EOF);
			}
			return 0;
		}
	return 99;
}
