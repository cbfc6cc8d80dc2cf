/* SPDX-License-Identifier: MIT */
/*
 * How fast the leak scan marks when memory is there to be looked at: large blocks of nothing, of
 * numbers and of pointers; a million small blocks in a list, in order and shuffled, and in a tree;
 * all lost.
 *
 *	cmake --build build --target bench_marks && build/bench_marks
 */
#include "../tests/unit/scan_fake.h"
#include "scan/components.h"

#include <stdio.h>
#include <time.h>

enum { NODES = 1000000, TIMES = 5 };

static uint64_t random_state = 1;

static uint64_t pick(uint64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % below;
}

static uint64_t *nodes[NODES];

/* Of the processor: others may use it too. */
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct timing {
	uint64_t read_ns, mark_ns, finish_ns;
};

static struct timing scan_once(struct fake *f)
{
	struct scan_root root = fake_root(f, SCAN_ROOT_GLOBAL);
	uint64_t t[4];

	fake_forget(f);
	t[0] = now_ns();
	if (scan_read_blocks(&f->scan, &f->memory, &f->options, &f->blocks))
		abort();
	t[1] = now_ns();
	scan_mark(&f->scan, &root, 1);
	t[2] = now_ns();
	if (scan_finish(&f->scan, &f->result))
		abort();
	t[3] = now_ns();
	return (struct timing){ t[1] - t[0], t[2] - t[1], t[3] - t[2] };
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The best of several times; per block, and by bytes. */
static void measure(struct fake *f, const char *what)
{
	struct timing best = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	double blocks, bytes;

	for (unsigned i = 0; i < TIMES; i++) {
		struct timing t = scan_once(f);

		best.read_ns = smaller(best.read_ns, t.read_ns);
		best.mark_ns = smaller(best.mark_ns, t.mark_ns);
		best.finish_ns = smaller(best.finish_ns, t.finish_ns);
	}
	blocks = (double)f->scan.block_count;
	bytes = (double)f->scan.marked_bytes;
	printf("%-28s %8.0f blocks: read %6.1f ms, mark %6.1f ms, finish %6.1f ms; "
	       "mark %6.1f ns a block, %5.2f GB/s; %llu left\n",
	       what, blocks, (double)best.read_ns / 1e6, (double)best.mark_ns / 1e6,
	       (double)best.finish_ns / 1e6, (double)best.mark_ns / blocks,
	       bytes / (double)best.mark_ns, (unsigned long long)f->result.block_count);
}

static void make_nodes(struct fake *f, bool shuffled)
{
	for (unsigned i = 0; i < NODES; i++)
		nodes[i] = fake_block(f, 24, 1, 0);
	for (unsigned i = NODES - 1; shuffled && i; i--) {
		uint64_t k = pick(i + 1), *node = nodes[i];

		nodes[i] = nodes[k];
		nodes[k] = node;
	}
}

static void large(const char *what, uint64_t (*word)(uint64_t i))
{
	const uint64_t bytes = UINT64_C(64) << 20;
	struct fake *f = fake_new();
	uint64_t at = fake_address(f->arena);

	for (unsigned k = 0; k < 16; k++) {
		uint64_t *block = fake_block(f, bytes - 64, 1, 0);

		f->words[k] = fake_address(block);
		for (uint64_t i = 0; i < bytes / 8 - 8; i++)
			block[i] = word(i) == 1 ? at + 16 : word(i);
	}
	measure(f, what);
	fake_block(f, 1000, 1, 0);
	measure(f, "  and one lost, with hints");
	fake_free(f);
}

static uint64_t zero(uint64_t i)
{
	return i & 0;
}

static uint64_t number(uint64_t i)
{
	return i * 40503 + 2;
}

static uint64_t pointer_at_times(uint64_t i)
{
	return i % 4 ? 0 : 1;
}

static void list(const char *what, bool shuffled, bool held)
{
	struct fake *f = fake_new();

	make_nodes(f, shuffled);
	for (unsigned i = 0; i + 1 < NODES; i++)
		nodes[i][0] = fake_address(nodes[i + 1]);
	f->words[0] = held ? fake_address(nodes[0]) : 0;
	measure(f, what);
	if (!held) {
		struct seep_arena *arena = seep_arena_new();
		uint64_t begin = now_ns();
		uint32_t *leaders;
		uint8_t *roles;

		scan_components(arena, &f->result, &roles, &leaders);
		printf("%-28s components %.1f ms\n", "", (double)(now_ns() - begin) / 1e6);
	}
	fake_free(f);
}

static void tree(const char *what, bool shuffled)
{
	struct fake *f = fake_new();

	make_nodes(f, shuffled);
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned k = 1; k <= 2 && 2 * i + k < NODES; k++)
			nodes[i][k - 1] = fake_address(nodes[2 * i + k]);
	f->words[0] = fake_address(nodes[0]);
	measure(f, what);
	fake_free(f);
}

static void table(const char *what)
{
	struct fake *f = fake_new();
	uint64_t *buckets = fake_block(f, NODES * 8, 1, 0);

	make_nodes(f, true);
	for (unsigned i = 0; i < NODES; i++)
		buckets[i] = fake_address(nodes[i]);
	f->words[0] = fake_address(buckets);
	measure(f, what);
	fake_free(f);
}

int main(void)
{
	large("large, zeros", zero);
	large("large, numbers", number);
	large("large, every 4th a pointer", pointer_at_times);
	list("list, in order", false, true);
	list("list, shuffled", true, true);
	list("list, in order, lost", false, false);
	list("list, shuffled, lost", true, false);
	tree("tree, in order", false);
	tree("tree, shuffled", true);
	table("table of shuffled blocks");
	return 0;
}
