/* SPDX-License-Identifier: MIT */
/* A library that leads to blocks: by its data, by its thread-local data. One it loses itself. */
#include <stdlib.h>
#include <string.h>

static void *volatile in_data = &in_data;
static void *volatile in_bss;
static __thread void *volatile in_thread;

void holder_data(void *block);
void holder_bss(void *block);
void holder_thread(void *block);
void holder_lose(size_t bytes);
void holder_free_late(void *block);

void holder_data(void *block)
{
	in_data = block;
}

void holder_bss(void *block)
{
	in_bss = block;
}

void holder_thread(void *block)
{
	in_thread = block;
}

__attribute__((noinline)) void holder_lose(size_t bytes)
{
	void *volatile lost = malloc(bytes);

	if (lost)
		memset(lost, 0x11, bytes);
	lost = NULL;
}

/* Hidden, so that the block is as good as lost until this library's destructor frees it. */
static unsigned long late;

void holder_free_late(void *block)
{
	late = ~(unsigned long)block;
}

__attribute__((destructor)) static void free_late(void)
{
	if (late)
		free((void *)~late);
}
