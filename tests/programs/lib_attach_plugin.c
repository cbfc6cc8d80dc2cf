/* SPDX-License-Identifier: MIT */
/* What programs that are attached to load, call and unload, over and over; see attach_targets. */
#include <stdlib.h>
#include <string.h>

__attribute__((noipa)) void *attach_plugin_alloc(size_t bytes);
__attribute__((noipa)) void attach_plugin_free(void *block);

void *attach_plugin_alloc(size_t bytes)
{
	void *block = malloc(bytes);

	if (block)
		memset(block, 0x5a, bytes);
	return block;
}

void attach_plugin_free(void *block)
{
	free(block);
}
