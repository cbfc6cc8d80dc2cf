/* SPDX-License-Identifier: MIT */
/* One of two plugins of the same shape; see hostile_plugins. */
#include <stdlib.h>

void *volatile hostile_kept_a;

__attribute__((noipa)) void hostile_site_a(void)
{
	hostile_kept_a = malloc(1000);
}

void hostile_run(void)
{
	hostile_site_a();
	__asm__ volatile("");
}
