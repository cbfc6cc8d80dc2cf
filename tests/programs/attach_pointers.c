// SPDX-License-Identifier: MIT
// build: -ldl
/*
 * Every way to keep the address of malloc and free that a tool which attaches may have to change,
 * or cannot: calls, a constant table, variables, structs on the heap, what dlsym gave, what an
 * indirect function resolves to. "round" allocates by each and frees in turns by another one.
 * test_attach.py builds it with several linkers, with and without lazy binding, PLT and PIE.
 */
#include <dlfcn.h>

#include "attach_talk.h"

enum { BLOCKS = 40, CROSSED = 300, BYTES = 96 };

struct functions {
	void *(*take)(size_t);
	void (*give)(void *);
};

static const struct functions in_constants = { malloc, free };
static struct functions in_data = { malloc, free };
static struct functions in_zeros;
static struct functions *on_heap;
static struct functions looked_up;

static SITE void *take_here(size_t bytes)
{
	void *volatile block = malloc(bytes);

	return block;
}

static void *(*choose_take(void))(size_t)
{
	return take_here;
}

void *take_chosen(size_t bytes) __attribute__((ifunc("choose_take")));

#define ROUTE(name, call)                           \
	TRUTH_SITE(name);                           \
	static SITE void *name(void)                \
	{                                           \
		void *volatile block = call;        \
                                                    \
		EXPECT(block != NULL);              \
		truth_alloced(&site_##name, BYTES); \
		return block;                       \
	}

/* Read anew at each use: the compiler may not put the function in the pointer's place. */
static const struct functions *functions_at(const struct functions *place)
{
	return truth_hide_ptr((void *)place);
}

ROUTE(by_call, malloc(BYTES))
ROUTE(by_constant, functions_at(&in_constants)->take(BYTES))
ROUTE(by_data, functions_at(&in_data)->take(BYTES))
ROUTE(by_zeros, functions_at(&in_zeros)->take(BYTES))
ROUTE(by_heap, functions_at(on_heap)->take(BYTES))
ROUTE(by_dlsym, functions_at(&looked_up)->take(BYTES))
ROUTE(by_ifunc, take_chosen(BYTES))

static void *(*const routes[])(void) = { by_call, by_constant, by_data, by_zeros,
					 by_heap, by_dlsym,    by_ifunc };
static struct truth_site *const sites[] = { &site_by_call,  &site_by_constant, &site_by_data,
					    &site_by_zeros, &site_by_heap,     &site_by_dlsym,
					    &site_by_ifunc };
enum { ROUTES = sizeof(routes) / sizeof(*routes) };

static void give(void *block, unsigned way)
{
	static const struct functions *const places[] = { &in_constants, &in_data, &in_zeros,
							  &looked_up };

	if (way % 6 == 4)
		functions_at(on_heap)->give(block);
	else if (way % 6 == 5)
		free(block);
	else
		functions_at(places[way % 6])->give(block);
}

/* Allocated by one way, freed by another; of its addresses many come again. */
static SITE void crossed(void)
{
	static unsigned char *blocks[ROUTES];
	unsigned i, route;

	for (i = 0; i < CROSSED; i++) {
		for (route = 0; route < ROUTES; route++) {
			blocks[route] = routes[route]();
			memset(blocks[route], (int)route, BYTES);
		}
		for (route = 0; route < ROUTES; route++) {
			truth_freed(sites[route], BYTES);
			EXPECT(blocks[route][0] == route && blocks[route][BYTES - 1] == route);
			give(blocks[route], i + route);
		}
	}
}

/* Some are kept for ever. */
static void run_round(void)
{
	unsigned i, route;

	for (route = 0; route < ROUTES; route++)
		for (i = 0; i < BLOCKS; i++)
			(void)routes[route]();
	crossed();
	truth_print();
}

int main(void)
{
	const char *line;

	in_zeros = in_data;
	looked_up.take = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
	looked_up.give = (void (*)(void *))dlsym(RTLD_DEFAULT, "free");
	on_heap = malloc(sizeof(*on_heap));
	*on_heap = in_data;
	/* Binds what is bound lazily: both cases are of interest, a table half bound most. */
	give(by_call(), 5);
	truth_freed(&site_by_call, BYTES);
	talk_ready();
	while ((line = talk_line(1000))) {
		if (strcmp(line, "begin") == 0)
			truth_reset();
		else if (strcmp(line, "round") == 0)
			run_round();
		if (*line)
			talk_answer();
	}
	return talk_end();
}
