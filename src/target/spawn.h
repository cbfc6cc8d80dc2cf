/* SPDX-License-Identifier: MIT */
/*
 * Starts the target as if seep were not there: with the descriptors, directory, process group,
 * signal mask and signal dispositions that seep itself was started with. The child is forked and
 * then waits for a byte on a pipe (the gate), so that whatever needs its pid (the name of the
 * output, the recorder) is ready before the program's first instruction.
 */
#ifndef SEEP_TARGET_SPAWN_H
#define SEEP_TARGET_SPAWN_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct seep_spawn {
	pid_t pid;
	int fd; /* to the child: lets it go, has the errno of a failed execve(); -1 once done */
};

/* What the runtime needs to know, by environment. Strings are borrowed. */
struct seep_spawn_environment {
	const char *library;   /* goes first in LD_PRELOAD */
	const char *options;   /* added to SEEP_OPTIONS; NULL or "" = none */
	const char *directory; /* SEEP_DIR */
	uint64_t session;      /* SEEP_SESSION */
};

/* Our own environment with these in it, for execve(). Release with _free(). */
char **seep_spawn_environment_list(const struct seep_spawn_environment *environment)
	__attribute__((returns_nonnull));
void seep_spawn_environment_free(char **list);

/**
 * seep_spawn_fork - fork a child that waits to become @path
 * @argv:      NULL-terminated; argv[0] as the person typed it
 * @ret_spawn: set on success only; end it by _release or _abandon
 *
 * Call this before changing signal handling or starting threads: the child inherits both.
 * Descriptors 0 to 2 that are closed stay closed for the child, see seep_spawn_guard_stdio().
 *
 * Returns: 0, or -SEEP_ESYS.
 */
SEEP_NODISCARD int seep_spawn_fork(const char *path, char *const argv[],
				   const struct seep_spawn_environment *environment,
				   struct seep_spawn *ret_spawn, struct seep_error *err);

/**
 * seep_spawn_release - let the child execute the program
 * @ret_errno: 0, or why execve() failed; the child has ended then, not waited for
 */
void seep_spawn_release(struct seep_spawn *spawn, int *ret_errno);

/* End the waiting child, which has done nothing, and reap it. After _release a no-op. */
void seep_spawn_abandon(struct seep_spawn *spawn);

/*
 * Put /dev/null, close-on-exec, wherever descriptor 0, 1 or 2 is closed: otherwise a file of ours
 * could get the number and receive what is meant for stderr.
 */
void seep_spawn_guard_stdio(void);

/**
 * seep_spawn_end_as - end this process as @wait_status says that the target ended
 *
 * By the same signal (without a second core file), or by the same exit code. Does not return.
 */
void seep_spawn_end_as(int wait_status) __attribute__((noreturn));

/* Helpers of the system (the dynamic loader, the package manager), run to read what they print. */
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
