/* SPDX-License-Identifier: MIT */
// build: -rdynamic @lib_looks_up
/* Prints in which file look-ups of all kinds find their functions, and loading by name its libraries. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

void in_both(void);
void *next_from_library(const char *name);

void in_both(void)
{
}

static void say(const char *how, const char *name, void *found)
{
	const char *error = dlerror();
	Dl_info where = { 0 };

	if (found && dladdr(found, &where) == 0)
		where.dli_fname = "nowhere";
	printf("%s %s: %s%s\n", name, how, found ? strrchr(where.dli_fname, '/') + 1 : "none, ",
	       found ? "" : error);
}

int main(void)
{
	static const char *const names[] = { "malloc", "free", "in_both", "puts",
					     "of no such name" };
	void *libc = dlopen("libc.so.6", RTLD_NOW), *all = dlopen(NULL, RTLD_NOW);

	errno = 77;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		say("by default", names[i], dlsym(RTLD_DEFAULT, names[i]));
		say("behind the program", names[i], dlsym(RTLD_NEXT, names[i]));
		say("behind the library", names[i], next_from_library(names[i]));
		say("in libc", names[i], dlsym(libc, names[i]));
		say("in all", names[i], dlsym(all, names[i]));
		say("in libc, old", names[i], dlvsym(libc, names[i], "GLIBC_2.2.5"));
		say("behind, old", names[i], dlvsym(RTLD_NEXT, names[i], "GLIBC_2.2.5"));
	}
	/* It lies where the program says, not we. */
	say("by its path", "plugin_alloc",
	    dlsym(dlopen("lib_elsewhere.so", RTLD_NOW), "plugin_alloc"));
	say("apart", "plugin_free",
	    dlsym(dlmopen(LM_ID_NEWLM, "lib_elsewhere.so", RTLD_NOW), "plugin_free"));
	fprintf(stderr, "errno %d\n", errno);
	return 0;
}
