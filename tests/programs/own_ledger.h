/* SPDX-License-Identifier: MIT */
/* The ledger of the process that asks, as a program that wants to meddle with it finds it. */
#ifndef TESTS_PROGRAMS_OWN_LEDGER_H
#define TESTS_PROGRAMS_OWN_LEDGER_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Open to read and write; -1: there is none in SEEP_DIR, as in a plain run. */
static inline int own_ledger_open(void)
{
	static char prefix[512], path[8192];
	const char *directory = getenv("SEEP_DIR");
	DIR *dir = directory ? opendir(directory) : NULL;
	struct dirent *entry;
	int fd = -1;

	(void)snprintf(prefix, sizeof(prefix), "%s.%d.", program_invocation_short_name,
		       (int)getpid());
	while (dir && fd < 0 && (entry = readdir(dir)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    strstr(entry->d_name, ".ledger")) {
			(void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
			fd = open(path, O_RDWR);
		}
	if (dir)
		(void)closedir(dir);
	return fd;
}

#endif
