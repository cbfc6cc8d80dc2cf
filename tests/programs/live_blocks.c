/* SPDX-License-Identifier: MIT */
/*
 * Blocks of every size and kind, some freed again, then a child that frees a part of what it
 * inherits and has more of its own. Each process prints its pid and its live blocks, "ADDRESS SIZE
 * FAMILY" and "." at the end, and waits until its standard input ends. Nothing else is allocated.
 */
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 4096, MALLOC = 0, MEMALIGN = 1 };

static struct {
	void *at;
	size_t size;
	int family;
} blocks[BLOCKS];
static unsigned count;

static void keep(void *at, size_t size, int family)
{
	if (!at)
		_exit(3);
	blocks[count].at = at;
	blocks[count].size = size;
	blocks[count++].family = family;
}

static void drop(unsigned i)
{
	free(blocks[i].at);
	blocks[i].at = NULL;
}

static void resize(unsigned i, size_t size)
{
	blocks[i].at = realloc(blocks[i].at, size);
	blocks[i].size = size;
	blocks[i].family = MALLOC;
}

static void allocate(size_t seed)
{
	static const size_t sizes[] = { 0,
					1,
					24,
					25,
					4071,
					4072,
					4095,
					4096,
					4097,
					5000,
					65000,
					131072,
					1 << 20,
					5 << 20,
					(1ul << 30) - 1,
					1ul << 30,
					(1ul << 30) + 17 };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		keep(malloc(sizes[i]), sizes[i], MALLOC);
	for (size_t i = 0; i < 1000; i++)
		keep(malloc(i * seed % 9000), i * seed % 9000, MALLOC);
	for (size_t align = 16; align <= 2 << 20; align *= 4) {
		keep(memalign(align, 100 + align / 3), 100 + align / 3, MEMALIGN);
		keep(aligned_alloc(align, align), align, MEMALIGN);
	}
	keep(calloc(3, 3333), 9999, MALLOC);
	for (unsigned i = count - 900; i < count; i += 7)
		drop(i);
	for (unsigned i = count - 899; i < count; i += 7)
		resize(i, i % 2 ? 40 + i : 200000);
}

static void print(const char *format, ...)
{
	static char line[128];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(STDOUT_FILENO, line, (size_t)length) != length)
		_exit(4);
}

static void print_blocks(void)
{
	print("%d\n", (int)getpid());
	for (unsigned i = 0; i < count; i++)
		if (blocks[i].at)
			print("%lx %zu %d\n", (unsigned long)blocks[i].at, blocks[i].size,
			      blocks[i].family);
	print(".\n");
}

static void child(void)
{
	unsigned inherited = count;
	char byte;

	for (unsigned i = 0; i < inherited; i += 3)
		if (blocks[i].at)
			drop(i);
	for (unsigned i = 1; i < inherited; i += 33)
		if (blocks[i].at)
			resize(i, 100 + i);
	allocate(53);
	print_blocks();
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	_exit(0);
}

int main(void)
{
	int status = 0;
	pid_t pid;

	/* Where only an ancestor may look, and children inherit it not. */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	allocate(37);
	print_blocks();
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		child();
	}
	return waitpid(pid, &status, 0) != pid || status;
}
