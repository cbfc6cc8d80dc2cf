/* SPDX-License-Identifier: MIT */
/*
 * Limits its data segment to nothing, with memory in hand, and has a forked child allocate. Prints
 * how often that went well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 500, CHUNKS = 64, CHUNK_BYTES = 60000 };

static void *volatile block;

int main(void)
{
	const struct rlimit none = { 0, 0 };
	void *chunks[CHUNKS];
	int status = 0, done = 0;
	char line[32];

	for (int i = 0; i < CHUNKS; i++)
		chunks[i] = malloc(CHUNK_BYTES);
	for (int i = 0; i < CHUNKS - 1; i++)
		free(chunks[i]);
	if (setrlimit(RLIMIT_DATA, &none) != 0)
		return 1;
	if (fork() == 0) {
		for (int i = 0; i < ROUNDS; i++) {
			block = malloc(40);
			done += block != NULL;
			free(block);
		}
		done = snprintf(line, sizeof(line), "%d\n", done);
		_exit(write(1, line, (size_t)done) != done);
	}
	return wait(&status) < 0 || status != 0;
}
