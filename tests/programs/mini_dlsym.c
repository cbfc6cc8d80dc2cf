/* SPDX-License-Identifier: MIT */
/*
 * malloc and free obtained by dlsym: from the next object, from the default scope, from a handle
 * of the program and from one of the C library.
 */
#include <dlfcn.h>

#include "truth.h"

enum { ROUNDS = 1000 };

typedef void *malloc_fn(size_t);
typedef void free_fn(void *);

static malloc_fn *next_malloc, *default_malloc, *handle_malloc, *libc_malloc;
static malloc_fn *volatile pointer_malloc = malloc;
static free_fn *next_free, *default_free, *handle_free, *libc_free;
static free_fn *volatile pointer_free = free;

TRUTH_MAKER(by_next, next_malloc(bytes));
TRUTH_MAKER(by_default, default_malloc(bytes));
TRUTH_MAKER(by_handle, handle_malloc(bytes));
TRUTH_MAKER(by_libc, libc_malloc(bytes));
TRUTH_MAKER(by_pointer, pointer_malloc(bytes));

static void look_up(void)
{
	void *program = dlopen(NULL, RTLD_NOW), *libc = dlopen("libc.so.6", RTLD_NOW);
	const char *version = "GLIBC_2.2.5";

	EXPECT(program && libc);
	*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&next_free = dlsym(RTLD_NEXT, "free");
	*(void **)&default_malloc = dlsym(RTLD_DEFAULT, "malloc");
	*(void **)&default_free = dlsym(RTLD_DEFAULT, "free");
	*(void **)&handle_malloc = dlsym(program, "malloc");
	*(void **)&handle_free = dlsym(program, "free");
	*(void **)&libc_malloc = dlsym(libc, "malloc");
	*(void **)&libc_free = dlvsym(libc, "free", version);
	EXPECT(dlsym(libc, "no such function") == NULL && dlerror() != NULL);
	EXPECT(dlvsym(libc, "malloc", "no such version") == NULL && dlerror() != NULL);
	EXPECT(next_malloc && default_malloc && handle_malloc && libc_malloc);
	EXPECT(next_free && default_free && handle_free && libc_free);
	/* A look-up inside the profiler must not leave its error to the program. */
	EXPECT(dlerror() == NULL);
}

/* Freed through another way than they came, every fourth not at all. */
static void one_round(int i)
{
	static void *kept[5 * ROUNDS];
	size_t bytes = (size_t)(i % 500) + 1;
	void *a = by_next(bytes), *b = by_default(bytes), *c = by_handle(bytes);
	void *d = by_pointer(bytes), *e = by_libc(bytes);

	if (i % 4 == 0) {
		kept[i * 5] = a;
		kept[i * 5 + 1] = b;
		kept[i * 5 + 2] = c;
		kept[i * 5 + 3] = d;
		kept[i * 5 + 4] = e;
		EXPECT(truth_hide_ptr(kept) != NULL);
		return;
	}
	pointer_free(a);
	truth_freed(&site_by_next, bytes);
	handle_free(b);
	truth_freed(&site_by_default, bytes);
	libc_free(c);
	truth_freed(&site_by_handle, bytes);
	default_free(d);
	truth_freed(&site_by_pointer, bytes);
	next_free(e);
	truth_freed(&site_by_libc, bytes);
}

/* mini_dlsym [last COMMAND]: a shell command is run at the end, while the program still is. */
int main(int argc, char **argv)
{
	EXPECT(dlerror() == NULL);
	look_up();
	for (int i = 0; i < ROUNDS; i++)
		one_round(i);
	truth_print();
	if (argc == 3 && strcmp(argv[1], "last") == 0)
		EXPECT(system(argv[2]) == 0);
	return truth_failures != 0;
}
