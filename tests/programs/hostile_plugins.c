/* SPDX-License-Identifier: MIT */
/*
 * Loads two plugins in turn, calls each once and unloads it, which frees nothing of the plugin:
 * the second stands where the first did, and its allocation must not get the first one's name.
 */
#include <dlfcn.h>

#include "truth.h"

enum { BYTES = 1000 };

TRUTH_SITE(hostile_site_a);
TRUTH_SITE(hostile_site_b);

static void use(const char *name, struct truth_site *site)
{
	void *handle = dlopen(truth_beside(name), RTLD_NOW);
	void (*run)(void);

	EXPECT(handle != NULL);
	*(void **)&run = dlsym(handle, "hostile_run");
	run();
	truth_alloced(site, BYTES);
	(void)dlclose(handle);
}

int main(void)
{
	use("lib_hostile_plugin_a.so", &site_hostile_site_a);
	use("lib_hostile_plugin_b.so", &site_hostile_site_b);
	truth_print();
	return truth_failures != 0;
}
