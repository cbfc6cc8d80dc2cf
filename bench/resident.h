/* SPDX-License-Identifier: MIT */
/* How much of the process is in memory, with what is shared: a ledger is part of the price. */
#ifndef SEEP_BENCH_RESIDENT_H
#define SEEP_BENCH_RESIDENT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline unsigned long long resident_bytes(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long long kilobytes = 0;
	char line[256];

	if (!status)
		abort();
	while (fgets(line, sizeof(line), status))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kilobytes = strtoull(line + 6, NULL, 10);
	fclose(status);
	return kilobytes * 1024;
}

#endif
