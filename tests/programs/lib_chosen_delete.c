/* SPDX-License-Identifier: MIT */
/* operator delete(void *, size_t) as an indirect function: the symbol is its chooser's. */
#include <stdlib.h>

int chosen_deletes;

static void delete_sized(void *block, size_t size)
{
	(void)size;
	chosen_deletes++;
	free(block);
}

static void *choose(void)
{
	return (void *)(size_t)delete_sized;
}

void _ZdlPvm(void *, size_t) __attribute__((ifunc("choose")));
