/* SPDX-License-Identifier: MIT */
/*
 * late_start LIBRARY OFFSET DIRECTORY OPTIONS: loads the runtime into a process that has been
 * running for a while, as somebody who attaches does, hands it functions and options, and then
 * allocates by its hooks. OFFSET is rt_start_with()'s in LIBRARY, in hexadecimal; 0: it is not
 * called.
 */
#include "runtime/life/start.h"
#include "truth.h"

#include <dlfcn.h>
#include <link.h>

TRUTH_SITE(by_malloc);
TRUTH_SITE(by_realloc);
TRUTH_SITE(by_new);

static unsigned long long passed_on;

/* The next realloc is ours: the runtime was given it by hand. */
static void *next_realloc(void *block, size_t bytes)
{
	passed_on++;
	return realloc(block, bytes);
}

static void *(*hook_malloc)(size_t);
static void *(*hook_realloc)(void *, size_t);
static void *(*hook_new)(size_t);
static void (*hook_free)(void *);

SITE void *by_malloc(size_t bytes)
{
	truth_alloced(&site_by_malloc, bytes);
	return hook_malloc(bytes);
}

SITE void *by_realloc(void *block, size_t bytes)
{
	truth_alloced(&site_by_realloc, bytes);
	return hook_realloc(block, bytes);
}

SITE void *by_new(size_t bytes)
{
	truth_alloced(&site_by_new, bytes);
	return hook_new(bytes);
}

static struct rt_next by_hand(void)
{
	struct rt_next next = { 0 };

#define RT_HOOK(symbol, type, parameters) \
	next.symbol = (type(*) parameters)dlsym(RTLD_DEFAULT, #symbol);
#include "runtime/next/hooks.def"
	next.realloc = next_realloc;
	return next;
}

int main(int argc, char **argv)
{
	void *before = malloc(1000);
	struct rt_next next = by_hand();
	struct rt_start start = {
		.next = &next,
		.options = argv[4],
		.dir = argv[3],
		.arguments = argv,
		.session = 0x5eed,
	};
	uintptr_t offset = strtoul(argv[2], NULL, 16);
	struct ledger_control *(*start_with)(const struct rt_start *);
	struct link_map *map;
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	void *blocks[100];

	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
		return 2;
	if (!offset)
		return 0;
	start_with = (void *)(map->l_addr + offset);
	hook_malloc = dlsym(library, "malloc");
	hook_realloc = dlsym(library, "realloc");
	hook_new = dlsym(library, "_Znwm");
	hook_free = dlsym(library, "free");
	if (!start_with(&start))
		return 3;
	/* Once is enough; whoever comes second finds it done. */
	if (start_with(&start) == NULL)
		return 4;
	hook_free(before);
	for (int i = 0; i < 100; i++)
		blocks[i] = by_malloc(i * 10);
	for (int i = 0; i < 40; i++) {
		truth_freed(&site_by_malloc, i * 10);
		hook_free(blocks[i]);
	}
	blocks[40] = by_realloc(blocks[40], 5000);
	truth_freed(&site_by_malloc, 400);
	by_new(77);
	truth_line("note passed_on=%llu\n", passed_on);
	truth_print();
	return truth_failures != 0;
}
