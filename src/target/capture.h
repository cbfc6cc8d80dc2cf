/* SPDX-License-Identifier: MIT */
/*
 * Run a helper of the system (the dynamic loader, the package manager) and read what it prints.
 */
#ifndef SEEP_TARGET_CAPTURE_H
#define SEEP_TARGET_CAPTURE_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

enum seep_capture_stream { SEEP_CAPTURE_STDOUT = 1, SEEP_CAPTURE_STDERR = 2 };

struct seep_capture {
	char *text; /* terminated; release with free() */
	uint32_t pid;
};

/**
 * seep_capture_run - run @argv and collect one of its streams
 * @argv: NULL-terminated; argv[0] is the path
 * @envp: NULL-terminated
 *
 * The other stream and standard input are /dev/null. Text beyond 256 KB is read and dropped; after
 * ten seconds the helper is killed.
 *
 * Returns: false when it cannot be started.
 */
SEEP_NODISCARD bool seep_capture_run(char *const argv[], char *const envp[],
				     enum seep_capture_stream stream,
				     struct seep_capture *ret_capture);

/* Append what comes from @fd up to its end. False: not within @most_ns, or it cannot be read. */
bool seep_capture_read(int fd, uint64_t most_ns, struct seep_strbuf *text);

#endif
