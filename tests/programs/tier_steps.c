/* SPDX-License-Identifier: MIT */
// build: -O1 -lpthread
/*
 * tier_steps: takes blocks, resizes them and gives them back as it is told (attach_talk.h), while its
 * tier is changed from outside: "take", "resize", "give" for all blocks of the round, "threads", "fork".
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "attach_talk.h"

enum { BLOCKS = 20000, ROUNDS = 12, THREADS = 4 };

TRUTH_SITE(take_small);
TRUTH_SITE(take_large);
TRUTH_SITE(resize_one);

struct block {
	void *at;
	size_t bytes;
	struct truth_site *site;
};

static struct block blocks[BLOCKS * ROUNDS];
static int count;

static size_t bytes_of(int i)
{
	return 1 + (size_t)i * 7919 % 900;
}

SITE static void *take_small(size_t bytes)
{
	void *at = malloc(bytes);

	truth_alloced(&site_take_small, bytes);
	return at;
}

SITE static void *take_large(size_t bytes)
{
	void *at = calloc(1, bytes);

	truth_alloced(&site_take_large, bytes);
	return at;
}

SITE static void *resize_one(struct block *block, size_t bytes)
{
	void *at = realloc(block->at, bytes);

	truth_freed(block->site, block->bytes);
	truth_alloced(&site_resize_one, bytes);
	return at;
}

static void give(struct block *block)
{
	truth_freed(block->site, block->bytes);
	free(block->at);
}

static struct block take(int i)
{
	struct block block = { .bytes = bytes_of(i), .site = &site_take_small };

	if (i % 100 == 0) {
		block.bytes *= 400;
		block.site = &site_take_large;
		block.at = take_large(block.bytes);
	} else {
		block.at = take_small(block.bytes);
	}
	return block;
}

static void take_all(void)
{
	for (int i = 0; i < BLOCKS && count < BLOCKS * ROUNDS; i++)
		blocks[count++] = take(i);
}

static void resize_all(void)
{
	for (int i = 0; i < count; i++) {
		const size_t bytes = bytes_of(i + 3);

		blocks[i].at = resize_one(&blocks[i], bytes);
		blocks[i].bytes = bytes;
		blocks[i].site = &site_resize_one;
	}
}

static void give_all(void)
{
	while (count > 0)
		give(&blocks[--count]);
}

static void *run(void *unused)
{
	struct block own[64];

	(void)unused;
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 64; i++)
			own[i] = take(i + round);
		for (int i = 0; i < 64; i++)
			give(&own[i]);
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL) != 0)
			truth_failures++;
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

/* What a child does is counted in a recording of its own. */
static void run_fork(void)
{
	const pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		take_all();
		give_all();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		truth_failures++;
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} commands[] = { { "take", take_all },
			 { "resize", resize_all },
			 { "give", give_all },
			 { "threads", run_threads },
			 { "fork", run_fork } };
	const char *line;

	talk_ready();
	while ((line = talk_line(1000)) != NULL) {
		for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
			if (strcmp(line, commands[i].name) == 0)
				commands[i].run();
		if (*line)
			talk_answer();
	}
	truth_print();
	return talk_end();
}
