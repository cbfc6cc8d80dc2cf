/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdlib.h>
#include <stdint.h>
static inline void plant_lose(const void *p)
{
	__asm__ volatile("" ::"r"(p) : "memory");
}
static inline double plant_secs(void)
{
	const char *s = getenv("SECS");
	return s ? atof(s) : 20;
}
