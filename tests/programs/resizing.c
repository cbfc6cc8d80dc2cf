/* SPDX-License-Identifier: MIT */
// build: @lib_slow_realloc
/*
 * What a thread's cache says of the block that is in realloc(): before, meanwhile, after, left by
 * longjmp.
 */
#include "ledger/ledger.h"
#include "own_ledger.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern void (*slow_realloc_pause)(void *block);

static const struct ledger_cache *cache;
static void *resized;
static jmp_buf back;
static int leave;

static void find_cache(void)
{
	int fd = own_ledger_open();
	const struct ledger_header *header;

	if (fd < 0)
		exit(2);
	header = mmap(NULL, 64 << 20, PROT_READ, MAP_SHARED, fd, 0);
	cache = (const struct ledger_cache *)((const char *)header +
					      header->table[LEDGER_TABLE_CACHES].offset);
	if (header == MAP_FAILED || cache->owner_tid != (uint32_t)syscall(SYS_gettid))
		exit(3);
}

static __attribute__((noinline)) void print(const char *when)
{
	printf("%s block %d\n", when,
	       cache->resizing == (uintptr_t)resized ? 1
	       : cache->resizing		     ? -1
						     : 0);
}

static void pause_here(void *block)
{
	resized = block;
	print("meanwhile");
	if (leave)
		longjmp(back, 1);
}

int main(void)
{
	char *block = malloc(100);

	setvbuf(stdout, NULL, _IONBF, 0);
	find_cache();
	slow_realloc_pause = pause_here;
	block = realloc(block, 5000);
	print("after");
	leave = 1;
	if (!setjmp(back))
		block = realloc(block, 9000);
	print("left");
	leave = 0;
	block = realloc(resized, 7000);
	print("again");
	if (fork() == 0) {
		free(malloc(1));
		find_cache();
		block = realloc(block, 70000);
		print("child");
		_exit(0);
	}
	(void)wait(NULL);
	return 0;
}
