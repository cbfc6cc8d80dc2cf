/* SPDX-License-Identifier: MIT */
/*
 * Two plugins loaded, used and unloaded in turn, so that the second's code stands at the first's
 * addresses with other frames. Blocks of an unloaded plugin must keep its name and path.
 */
#include <dlfcn.h>
#include <link.h>

#include "truth.h"

enum { TURNS = 40, EACH = 50, BYTES = 70 };

/* The allocating functions are in the plugins; this side counts for them. */
TRUTH_SITE(plugin_a_alloc);
TRUTH_SITE(plugin_b_alloc);
TRUTH_SITE(call_plugin);

typedef void *entry_fn(size_t);

static void *kept[2 * TURNS * EACH];
static int kept_count;

static SITE void *call_plugin(entry_fn *entry, size_t bytes)
{
	void *block = entry(bytes);

	truth_alloced(&site_call_plugin, bytes);
	return block;
}

static void use(entry_fn *entry, struct truth_site *site)
{
	int i;

	for (i = 0; i < EACH; i++) {
		void *block = call_plugin(entry, BYTES);

		truth_alloced(site, BYTES);
		if (i % 5 == 0) {
			kept[kept_count++] = block;
			continue;
		}
		free(block);
		truth_freed(site, BYTES);
		truth_freed(&site_call_plugin, BYTES);
	}
}

/* Gives the address at which the plugin stood. */
static uintptr_t load_and_use(const char *name, struct truth_site *site)
{
	const char *path = truth_beside(name);
	struct link_map *map;
	entry_fn *entry;
	uintptr_t base;
	void *handle;

	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	EXPECT(handle != NULL);
	if (!handle)
		return 0;
	*(void **)&entry = dlsym(handle, "plugin_entry");
	map = (struct link_map *)handle;
	base = (uintptr_t)map->l_addr;
	use(entry, site);
	EXPECT(dlclose(handle) == 0);
	EXPECT(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
	(void)dlerror();
	return base;
}

int main(void)
{
	int i, reused = 0;

	for (i = 0; i < TURNS; i++) {
		uintptr_t first = load_and_use("lib_plugin_a.so", &site_plugin_a_alloc);

		reused += load_and_use("lib_plugin_b.so", &site_plugin_b_alloc) == first;
	}
	truth_line("note reused=%d\n", reused);
	truth_print();
	return truth_failures != 0;
}
