/* SPDX-License-Identifier: MIT */
#include "target/capture.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TEXT_MAX_BYTES = 256 * 1024,
};

#define TIME_MAX_NS 10000000000ull

static bool start(char *const argv[], char *const envp[], enum seep_capture_stream stream, int to,
		  pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	int problem;

	problem = posix_spawn_file_actions_init(&actions);
	if (problem != 0)
		return false;
	for (int fd = 0; fd <= 2 && problem == 0; fd++) {
		if (fd == (int)stream)
			problem = posix_spawn_file_actions_adddup2(&actions, to, fd);
		else
			problem = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null",
								   fd ? O_WRONLY : O_RDONLY, 0);
	}
	if (problem == 0)
		problem = posix_spawn(ret_pid, argv[0], &actions, NULL, argv, envp);
	(void)posix_spawn_file_actions_destroy(&actions);
	return problem == 0;
}

bool seep_capture_read(int fd, uint64_t most_ns, struct seep_strbuf *text)
{
	const uint64_t end_ns = seep_monotonic_ns() + most_ns;

	for (;;) {
		struct pollfd wanted = { .fd = fd, .events = POLLIN };
		const int64_t left_ns = (int64_t)(end_ns - seep_monotonic_ns());
		char chunk[4096];
		ssize_t got;

		if (left_ns <= 0)
			return false;
		if (poll(&wanted, 1, (int)(left_ns / 1000000) + 1) <= 0)
			continue;
		got = read(fd, chunk, sizeof(chunk));
		if (got == 0 || (got < 0 && errno != EINTR))
			return got == 0;
		if (got > 0)
			seep_strbuf_add(text, chunk, (size_t)got);
	}
}

bool seep_capture_run(char *const argv[], char *const envp[], enum seep_capture_stream stream,
		      struct seep_capture *ret_capture)
{
	struct seep_strbuf text;
	bool has_started;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	has_started = start(argv, envp, stream, ends[1], &pid);
	(void)close(ends[1]);
	if (!has_started) {
		(void)close(ends[0]);
		return false;
	}
	seep_strbuf_init(&text, TEXT_MAX_BYTES);
	if (!seep_capture_read(ends[0], TIME_MAX_NS, &text))
		(void)kill(pid, SIGKILL);
	(void)close(ends[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
	}
	*ret_capture = (struct seep_capture){
		.text = seep_strbuf_take(&text),
		.pid = (uint32_t)pid,
	};
	return true;
}
