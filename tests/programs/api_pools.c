/* SPDX-License-Identifier: MIT */
// build: -pthread
/* api_pools [CASE]: a program with pools counts itself what it says of them; misused, too. */
#include "truth.h"

#include "seep/seep.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

TRUTH_SITE(chunk_of);
TRUTH_SITE(carve_small);
TRUTH_SITE(carve_large);
TRUTH_SITE(carve_tight);

struct pool {
	char *chunk, *next;
	size_t bytes;
};

enum { HEADER = 64 };

SITE static struct pool chunk_of(size_t bytes)
{
	char *chunk = malloc(bytes);

	/* As much is freed, and the header allocated. */
	truth_alloced(&site_chunk_of, bytes);
	truth_freed(&site_chunk_of, bytes);
	truth_alloced(&site_chunk_of, HEADER);
	seep_pool_add(chunk + HEADER, bytes - HEADER);
	return (struct pool){ chunk, chunk + HEADER, bytes };
}

static void *cut(struct pool *pool, size_t bytes, size_t step)
{
	char *made = pool->next;

	pool->next += (bytes + step - 1) & -step;
	return made;
}

#define CARVES(site)                                        \
	SITE static void *site(void *made, size_t bytes)    \
	{                                                   \
		truth_tag_block(made, &site_##site, bytes); \
		seep_pool_alloc(made, bytes);               \
		return made;                                \
	}
CARVES(carve_small)
CARVES(carve_large)

static void give(void *block)
{
	truth_untag_block(block);
	seep_pool_free(block);
}

static void end_chunk(struct pool *pool)
{
	seep_pool_remove(pool->chunk + HEADER, pool->bytes - HEADER);
	truth_freed(&site_chunk_of, HEADER);
	free(pool->chunk);
}

static void *counts(void *unused)
{
	for (size_t bytes = 3000; bytes < 4 << 20; bytes *= 3) {
		struct pool pool = chunk_of(bytes);
		void *last = NULL;

		/* Each other one is given back, the others go with the pool. */
		while (pool.next + 10000 < pool.chunk + bytes) {
			const size_t bytes_small = 40 + bytes % 500;
			void *small = carve_small(cut(&pool, bytes_small, 32), bytes_small);
			void *large = carve_large(cut(&pool, 5000, 4096), 5000);

			if (last)
				give(last);
			/* The same memory again. */
			give(large);
			give(carve_large(large, 4500));
			give(small);
			last = carve_small(small, bytes_small);
		}
		if (last)
			truth_untag_block(last);
		end_chunk(&pool);
	}
	return unused;
}

static struct pool kept;

static void keep(void)
{
	kept = chunk_of(100000);
	for (int i = 0; i < 100; i++)
		(void)carve_small(cut(&kept, 100, 32), 100);
}

/* 16 bytes each: every other one has the cell of the one before. */
SITE static void carve_tight(struct pool pool)
{
	for (int i = 0; i < 50; i++) {
		if (i % 2 == 0)
			truth_alloced(&site_carve_tight, 16);
		seep_pool_alloc(cut(&pool, 16, 16), 16);
	}
	seep_pool_alloc(pool.next + 8, 16);
}

static void in_handler(int number)
{
	static char memory[64] __attribute__((aligned(32)));

	seep_pool_alloc(memory, 50);
	seep_pool_free(memory);
	(void)number;
}

static void wrong(void)
{
	char *block = malloc(500), local[64];

	seep_pool_free(NULL);
	seep_pool_free(block);
	seep_pool_free(local);
	seep_pool_free((void *)-16);
	seep_pool_free((char *)kept.chunk + HEADER + 32);
	seep_pool_alloc(NULL, 10);
	seep_pool_alloc(block, 10);
	seep_pool_alloc((void *)-16, 10);
	seep_pool_add(NULL, 100);
	seep_pool_add((void *)-16, 100);
	seep_pool_add(block + 500, 100);
	seep_pool_add(block, 0);
	seep_pool_remove(NULL, 1000);
	seep_pool_remove((void *)-16, SIZE_MAX);
	seep_pool_remove(local, SIZE_MAX - 4096);
	free(block);
}

static void in_child(void)
{
	int status = 1;

	if (fork() == 0) {
		void *mine = carve_small(cut(&kept, 200, 32), 200);

		seep_pool_free(kept.chunk + HEADER);
		seep_pool_free(mine);
		end_chunk(&kept);
		_exit(0);
	}
	(void)wait(&status);
	if (status)
		abort();
}

int main(int argc, char **argv)
{
	pthread_t id;

	(void)setvbuf(stdout, NULL, _IONBF, 0);
	counts(NULL);
	pthread_create(&id, NULL, counts, NULL);
	pthread_join(id, NULL);
	keep();
	signal(SIGUSR1, in_handler);
	raise(SIGUSR1);
	if (argc > 1 && strcmp(argv[1], "tight") == 0)
		carve_tight(chunk_of(10000));
	if (argc > 1 && strcmp(argv[1], "wrong") == 0)
		wrong();
	if (argc > 1 && strcmp(argv[1], "child") == 0)
		in_child();
	truth_print_as("");
	if (argc > 1 && strcmp(argv[1], "freed") == 0)
		free(kept.chunk + HEADER + 128);
	return 0;
}
