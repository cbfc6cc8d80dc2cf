/* SPDX-License-Identifier: MIT */
/*
 * late_start LIBRARY: loads the runtime into a process that has been running for a while, and asks
 * for a mark, which would begin the recording of a process that had it preloaded.
 */
#include <dlfcn.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	void *block = malloc(1000);
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*mark)(const char *) = library ? dlsym(library, "seep_rt_mark") : NULL;

	free(block);
	if (!mark)
		return 2;
	return mark("loaded") != -1;
}
