/* SPDX-License-Identifier: MIT */
/*
 * Allocations that go past whoever is preloaded, beside others that do not: elsewhere WAY [PLUGIN].
 * What is printed holds for those that do not; "note" lines say how many blocks cross over.
 */
#include <dlfcn.h>
#include <sys/mman.h>

#include "truth.h"

enum { ROUNDS = 500, MAPPED_BYTES = 200 << 20 };

void *__libc_malloc(size_t bytes);

TRUTH_SITE(counted);

typedef void *(*alloc_fn)(size_t);
typedef void (*free_fn)(void *);

static SITE void counted(int stays)
{
	void *volatile block = malloc(48);

	truth_alloced(&site_counted, 48);
	if (stays)
		return;
	free(block);
	truth_freed(&site_counted, 48);
}

/* It looks for malloc and free in the C library first. */
static void deep(alloc_fn plugin_alloc, free_fn plugin_free)
{
	for (int i = 0; i < ROUNDS; i++) {
		free(plugin_alloc(100));
		plugin_free(malloc(200));
		plugin_free(plugin_alloc(300));
	}
	truth_line("note untracked=0\n");
}

/* Two C libraries: each frees its own. */
static void apart(alloc_fn plugin_alloc, free_fn plugin_free)
{
	for (int i = 0; i < ROUNDS; i++)
		plugin_free(plugin_alloc((size_t)i));
	truth_line("note untracked=0\n");
}

static void by_libc(void)
{
	for (int i = 0; i < ROUNDS; i++)
		free(__libc_malloc(64));
	truth_line("note untracked=%d\n", ROUNDS);
}

static void by_mmap(void)
{
	char *memory = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	EXPECT(memory != MAP_FAILED);
	memset(memory, 1, MAPPED_BYTES);
	truth_line("note untracked=0\n");
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	void *plugin = NULL;

	if (strcmp(way, "deepbind") == 0)
		plugin = dlopen(argv[2], RTLD_NOW | RTLD_DEEPBIND);
	else if (strcmp(way, "namespace") == 0)
		plugin = dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW);
	for (int i = 0; i < ROUNDS; i++)
		counted(i % 5 == 0);
	if (plugin) {
		alloc_fn plugin_alloc = (alloc_fn)dlsym(plugin, "plugin_alloc");
		free_fn plugin_free = (free_fn)dlsym(plugin, "plugin_free");

		EXPECT(plugin_alloc && plugin_free);
		(strcmp(way, "deepbind") == 0 ? deep : apart)(plugin_alloc, plugin_free);
	} else if (strcmp(way, "libc") == 0) {
		by_libc();
	} else if (strcmp(way, "mmap") == 0) {
		by_mmap();
	} else {
		EXPECT(argc == 1);
	}
	truth_print();
	/* Until whoever wants to look has looked. */
	while (read(STDIN_FILENO, &way, 1) > 0)
		;
	return truth_failures != 0;
}
