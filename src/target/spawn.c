/* SPDX-License-Identifier: MIT */
#include "target/spawn.h"

#include "base/clock.h"
#include "base/path.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *const replaced[] = { "LD_PRELOAD=", "SEEP_OPTIONS=", "SEEP_DIR=",
					"SEEP_SESSION=", NULL };

enum { REPLACED_COUNT = sizeof(replaced) / sizeof(replaced[0]) - 1 };

/* Another seep run outside this one may have put the same library there already. */
static char *preload_entry(const char *library)
{
	const char *held = getenv("LD_PRELOAD");
	size_t bytes = strlen(library);

	if (!held || !*held)
		return seep_xasprintf("LD_PRELOAD=%s", library);
	if (strncmp(held, library, bytes) == 0 && (!held[bytes] || strchr(": ", held[bytes])))
		return seep_xasprintf("LD_PRELOAD=%s", held);
	return seep_xasprintf("LD_PRELOAD=%s:%s", library, held);
}

/* Ours come last, so that what was asked for on the command line wins. */
static char *options_entry(const char *options)
{
	const char *held = getenv("SEEP_OPTIONS");
	int both = held && *held && options && *options;

	return seep_xasprintf("SEEP_OPTIONS=%s%s%s", held ? held : "", both ? ":" : "",
			      options ? options : "");
}

char **seep_spawn_environment_list(const struct seep_spawn_environment *environment)
{
	size_t count = 0, kept = 0;
	char **list;

	while (environ && environ[count])
		count++;
	list = seep_xcalloc(count + REPLACED_COUNT + 1, sizeof(*list));
	for (size_t i = 0; i < count; i++)
		if (!seep_begins_among(environ[i], replaced))
			list[kept++] = seep_xstrdup(environ[i]);
	list[kept++] = preload_entry(environment->library);
	list[kept++] = options_entry(environment->options);
	list[kept++] = seep_xasprintf("SEEP_DIR=%s", environment->directory);
	/* Equally long in each run: programs copy it. */
	list[kept++] = seep_xasprintf("SEEP_SESSION=%020" PRIu64, environment->session);
	return list;
}

void seep_spawn_environment_free(char **list)
{
	for (char **at = list; *at; at++)
		free(*at);
	free(list);
}

/* A number from the other end. -1: that is closed. */
static int receive(int fd, int *ret_number)
{
	ssize_t got;

	do
		got = recv(fd, ret_number, sizeof(*ret_number), 0);
	while (got < 0 && errno == EINTR);
	return got == sizeof(*ret_number) ? 0 : -1;
}

static void __attribute__((noreturn))
run_child(int fd, const char *path, char *const argv[], char *const envp[])
{
	int problem;

	if (receive(fd, &problem) != 0)
		_exit(0);
	/* The shell gets a text that the kernel does not know. @path has a slash: no PATH. */
	(void)execvpe(path, argv, envp);
	problem = errno;
	(void)send(fd, &problem, sizeof(problem), MSG_NOSIGNAL);
	_exit(problem == ENOENT ? 127 : 126);
}

int seep_spawn_fork(const char *path, char *const argv[],
		    const struct seep_spawn_environment *environment, struct seep_spawn *ret_spawn,
		    struct seep_error *err)
{
	int ends[2], problem;
	char **envp;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return seep_fail_errno(err, errno, "cannot make a connection to the program");
	envp = seep_spawn_environment_list(environment);
	(void)fflush(NULL);
	pid = fork();
	problem = errno;
	if (pid == 0) {
		/* Our copy of the other end would keep us waiting after seep is gone. */
		(void)close(ends[0]);
		run_child(ends[1], path, argv, envp);
	}
	seep_spawn_environment_free(envp);
	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return seep_fail_errno(err, problem, "cannot fork");
	}
	*ret_spawn = (struct seep_spawn){ .pid = pid, .fd = ends[0] };
	return 0;
}

void seep_spawn_release(struct seep_spawn *spawn, int *ret_errno)
{
	const int go = 0;

	/* A child that was killed at the gate reads nothing any more. */
	(void)send(spawn->fd, &go, sizeof(go), MSG_NOSIGNAL);
	if (receive(spawn->fd, ret_errno) != 0)
		*ret_errno = 0;
	(void)close(spawn->fd);
	spawn->fd = -1;
}

void seep_spawn_abandon(struct seep_spawn *spawn)
{
	if (spawn->fd < 0)
		return;
	(void)close(spawn->fd);
	spawn->fd = -1;
	while (waitpid(spawn->pid, NULL, 0) < 0 && errno == EINTR) {
	}
}

void seep_spawn_guard_stdio(void)
{
	/* The lowest free number is this one: the ones below are open by now. */
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
			return;
}

void seep_spawn_end_as(int wait_status)
{
	(void)fflush(NULL);
	if (WIFSIGNALED(wait_status)) {
		const struct rlimit no_core = { 0, 0 };
		int number = WTERMSIG(wait_status);
		sigset_t set;

		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)signal(number, SIG_DFL);
		(void)sigemptyset(&set);
		(void)sigaddset(&set, number);
		(void)kill(getpid(), number);
		(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
		/* Only as the init of a PID namespace does one survive this. */
		_exit(128 + number);
	}
	_exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 125);
}

enum {
	TEXT_MAX_BYTES = 256 * 1024,
};

#define TIME_MAX_NS 10000000000ull

static bool start_helper(char *const argv[], char *const envp[], enum seep_capture_stream stream,
			 int to, pid_t *ret_pid)
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
	has_started = start_helper(argv, envp, stream, ends[1], &pid);
	(void)close(ends[1]);
	if (!has_started) {
		(void)close(ends[0]);
		return false;
	}
	text = seep_strbuf_of(TEXT_MAX_BYTES);
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
