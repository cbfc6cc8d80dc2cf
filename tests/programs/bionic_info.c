/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * bionic_info CASE: what programs that were written for Android's C library are given. All that is recorded
 * is what is allocated in a scope: run it by --mode scoped.
 */
#include "seep/seep.h"

#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noipa))

static int failures;
#define CHECK(what)                                               \
	do {                                                      \
		if (!(what)) {                                    \
			printf("line %d: %s\n", __LINE__, #what); \
			failures++;                               \
		}                                                 \
	} while (0)

static uint8_t *info;
static size_t overall, each, total, depth;

static void ask(void)
{
	overall = each = total = depth = 99;
	info = (uint8_t *)"before";
	get_malloc_leak_info(&info, &overall, &each, &total, &depth);
	CHECK(!info == !overall && !each == !overall && !total == !overall);
	CHECK(!overall || (each == 16 + 8 * depth && overall % each == 0));
}

static const size_t *entry(size_t i)
{
	return (const size_t *)(info + i * each);
}

static void arguments(void)
{
	void *five[5] = { &info, &overall, &each, &total, &depth };

	for (int i = 0; i < 5; i++) {
		void *given[5];

		memcpy(given, five, sizeof(given));
		given[i] = NULL;
		info = (uint8_t *)1;
		overall = each = total = depth = 99;
		get_malloc_leak_info(given[0], given[1], given[2], given[3], given[4]);
		CHECK(info == (uint8_t *)1 && overall == 99 && each == 99 && total == 99 &&
		      depth == 99);
	}
}

static void empty(void)
{
	ask();
	CHECK(!info);
	free_malloc_leak_info(info);
}

static void *from[64];
static int from_count;
static void *volatile held[64];
static int held_count;

SITE static void hold(size_t bytes, int count)
{
	SEEP_SCOPE("held");

	from_count = backtrace(from, 64);
	for (int i = 0; i < count; i++)
		held[held_count++] = malloc(bytes);
}

/* Another caller: the stack is one frame longer. */
SITE static void hold_deeper(size_t bytes, int count)
{
	hold(bytes, count);
	__asm__ volatile("");
}

static void check_entry(size_t i, size_t size, size_t count)
{
	CHECK(entry(i)[0] == size && entry(i)[1] == count);
	CHECK(entry(i)[2] != 0);
}

static void single(void)
{
	hold(200, 1);
	ask();
	CHECK(overall == each && total == 200 && depth == (size_t)from_count);
	check_entry(0, 200, 1);
	CHECK(memcmp(entry(0) + 3, from + 1, sizeof(void *) * (size_t)(from_count - 1)) == 0);
	free_malloc_leak_info(info);
	free(held[0]);
	empty();
}

static void multi(void)
{
	hold(500, 1);
	hold_deeper(4100, 2);
	hold(100, 5);
	hold_deeper(100, 3);
	hold(9000, 1);
	ask();
	CHECK(overall == 5 * each && total == 500 + 2 * 4100 + 100 * 8 + 9000);
	check_entry(0, 9000, 1);
	check_entry(1, 4100, 2);
	check_entry(2, 500, 1);
	/* Of one size: the longer stack first. */
	check_entry(3, 100, 3);
	check_entry(4, 100, 5);
	CHECK(entry(3)[1 + depth] != 0 && entry(4)[1 + depth] == 0);
	free_malloc_leak_info(info);
}

static void forked(void)
{
	int status = 1;

	hold(1000, 2);
	if (fork() == 0) {
		hold(2000, 1);
		ask();
		CHECK(overall == 2 * each && total == 4000);
		CHECK(entry(0)[0] == 1000 && entry(0)[1] == 2 && entry(0)[2] == 0);
		check_entry(1, 2000 | 1u << 31, 1);
		free_malloc_leak_info(info);
		CHECK(seep_dump_text(1) == 0);
		fflush(stdout);
		_exit(failures);
	}
	(void)wait(&status);
	CHECK(status == 0);
}

static void wrong(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *second;

	hold(1000, 1);
	memset(page, 'x', 8192);
	mprotect(page, 4096, PROT_READ);
	free_malloc_leak_info(NULL);
	free_malloc_leak_info((uint8_t *)16);
	free_malloc_leak_info((uint8_t *)-8);
	free_malloc_leak_info((uint8_t *)page + 16);
	free_malloc_leak_info((uint8_t *)page + 4096 + 16);
	free_malloc_leak_info(held[0]);
	CHECK(page[4096] == 'x' && page[5000] == 'x');
	ask();
	second = info;
	ask();
	free_malloc_leak_info(second);
	free_malloc_leak_info(second);
	free_malloc_leak_info(info + each);
	check_entry(0, 1000, 1);
	free_malloc_leak_info(info);
	free_malloc_leak_info(info);
	/* Its place is given back. */
	for (int i = 0; i < 20000; i++) {
		ask();
		free_malloc_leak_info(info);
	}
}

static void dump(void)
{
	int ends[2];

	hold(500, 1);
	hold_deeper(4100, 2);
	CHECK(seep_dump_text(1) == 0);
	CHECK(seep_dump_text(-1) == -1);
	CHECK(pipe2(ends, O_NONBLOCK) == 0);
	CHECK(seep_dump_text(ends[0]) == -1);
	for (int i = 0; i < 100; i++)
		(void)seep_dump_text(ends[1]);
	CHECK(seep_dump_text(ends[1]) == -1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "arguments", arguments },
		      { "empty", empty },
		      { "single", single },
		      { "multi", multi },
		      { "forked", forked },
		      { "wrong", wrong },
		      { "dump", dump } };

	(void)backtrace(from, 64);
	if (!get_malloc_leak_info) {
		printf("no library\n");
		CHECK(!free_malloc_leak_info && seep_dump_text(1) == -1);
	}
	for (size_t i = 0; get_malloc_leak_info && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(cases[i].name, argv[1]) == 0)
			cases[i].run();
	printf("failures %d\n", failures);
	return failures != 0;
}
