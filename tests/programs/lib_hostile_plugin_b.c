/* SPDX-License-Identifier: MIT */
/* One of two plugins of the same shape; see hostile_plugins. */
#include <stdlib.h>

void *volatile hostile_kept_b;

__attribute__((noipa)) void hostile_site_b(void)
{
	hostile_kept_b = malloc(1000);
}

void hostile_run(void)
{
	hostile_site_b();
	__asm__ volatile("");
}
