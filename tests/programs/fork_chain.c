/* SPDX-License-Identifier: MIT */
/* A chain of forks under RLIMIT_DATA. Each allocates; the last one needs a good part of it. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "truth.h"

enum { GENERATIONS = 6, LIMIT_BYTES = 800 << 20, LAST_BYTES = 300 << 20 };

int main(void)
{
	const struct rlimit limit = { LIMIT_BYTES, LIMIT_BYTES };

	EXPECT(setrlimit(RLIMIT_DATA, &limit) == 0);
	for (int i = 0; i < GENERATIONS; i++) {
		pid_t pid = fork();
		int status = 1;

		if (pid != 0) {
			EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
			return truth_failures != 0;
		}
		free(truth_hide_ptr(malloc(100)));
	}
	EXPECT(truth_hide_ptr(malloc(LAST_BYTES)) != NULL);
	return truth_failures != 0;
}
