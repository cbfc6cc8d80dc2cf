/* SPDX-License-Identifier: MIT */
/*
 * asks_leaks UID: becomes UID and asks for leak checks of 20,000 blocks for two seconds; prints how
 * many there were.
 */
#define _GNU_SOURCE
#include "seep/seep.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *kept[20000];

static double now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	const uid_t uid = argc > 1 ? (uid_t)atoi(argv[1]) : 0;
	double end;
	int count = 0;

	for (int i = 0; i < 20000; i++)
		kept[i] = malloc(100);
	if (setresuid(uid, uid, uid) < 0)
		return 2;
	for (end = now() + 2; now() < end; count++)
		if (seep_leaks_count() != 0)
			return 3;
	printf("%d\n", count);
	return 0;
}
