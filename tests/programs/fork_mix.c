/* SPDX-License-Identifier: MIT */
/*
 * fork_mix SEED N: a forked child does N operations of all kinds in an order that depends on SEED
 * alone: on blocks of its own and on those that it inherited, through functions of different depth.
 */
#include <malloc.h>
#include <sys/wait.h>

#include "truth.h"

enum { BLOCKS = 200, INHERITED = 100, DEPTH = 6, OPERATIONS = 9 };

static void *blocks[BLOCKS];
static unsigned state;

/* xorshift: the C library's would not do, its state may be allocated. */
static unsigned draw(unsigned below)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % below;
}

static size_t draw_size(void)
{
	return draw(20) ? draw(600) : draw(9000);
}

static SITE void change(void **block, unsigned operation)
{
	switch (operation) {
	case 0:
	case 1:
		free(*block);
		*block = malloc(draw_size());
		break;
	case 2:
		free(*block);
		*block = calloc(3, draw_size());
		break;
	case 3:
		free(*block);
		*block = memalign(64, draw_size());
		break;
	case 4:
		*block = realloc(*block, draw_size() + 1);
		break;
	case 5:
		*block = reallocarray(*block, 2, draw_size() + 1);
		break;
	case 6:
		free(truth_hide_ptr(malloc(draw_size())));
		break;
	case 7:
		*block = realloc(*block, 0);
		break;
	default:
		free(*block);
		*block = NULL;
	}
	truth_hide_ptr(*block);
}

static SITE void descend(unsigned depth, void **block, unsigned operation)
{
	if (depth)
		descend(depth - 1, block, operation);
	else
		change(block, operation);
	__asm__ volatile("");
}

static SITE void other_way(unsigned depth, void **block, unsigned operation)
{
	descend(depth, block, operation);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int status;

	EXPECT(argc == 3);
	state = (unsigned)atoi(argv[1]) * 2 + 1;
	for (int i = 0; i < INHERITED; i++)
		blocks[i] = malloc(draw_size());
	if (fork() != 0) {
		EXPECT(wait(&status) > 0 && status == 0);
		return truth_failures != 0;
	}
	for (int i = 0; i < atoi(argv[2]); i++)
		(draw(2) ? descend : other_way)(draw(DEPTH), &blocks[draw(BLOCKS)],
						draw(OPERATIONS));
	return 0;
}
