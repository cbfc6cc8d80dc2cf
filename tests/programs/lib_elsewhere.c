/* SPDX-License-Identifier: MIT */
/* A plugin that allocates and frees for elsewhere.c. */
#include <stdlib.h>

void *plugin_alloc(size_t bytes);
void plugin_free(void *block);

void *plugin_alloc(size_t bytes)
{
	return malloc(bytes);
}

void plugin_free(void *block)
{
	free(block);
}
