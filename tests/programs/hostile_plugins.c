/* SPDX-License-Identifier: MIT */
/*
 * Loads two plugins in turn, calls each once and unloads it, which frees nothing of the plugin:
 * the second stands where the first did, and its allocation must not get the first one's name.
 */
#include <dlfcn.h>
#include <libgen.h>

#include "truth.h"

enum { BYTES = 1000 };

TRUTH_SITE(hostile_site_a);
TRUTH_SITE(hostile_site_b);

static void use(const char *name, struct truth_site *site)
{
	static char path[8192];
	ssize_t length = readlink("/proc/self/exe", path, 4096);
	void (*run)(void);
	void *handle;

	EXPECT(length > 0);
	path[length] = '\0';
	(void)dirname(path);
	(void)snprintf(path + strlen(path), 64, "/%s", name);
	handle = dlopen(path, RTLD_NOW);
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
