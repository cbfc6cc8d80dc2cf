/* SPDX-License-Identifier: MIT */
/*
 * To show what an epoll has, the kernel waits for its lock, and no signal ends that; who holds it
 * may wait for a page that nobody will ever bring. So a process of ours reads, which is left behind
 * if it takes too long.
 */
#include "target/kernel_held.h"

#include "base/procfs.h"
#include "base/xalloc.h"
#include "ledger/ledger_blocks.h"
#include "target/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	FILES_MAX = 1 << 17, /* descriptors that are looked at: 0.2 s */
	WORDS_MAX = 1 << 20,
	TEXT_MAX_BYTES = 96 * WORDS_MAX, /* a line has some 90 */
	LEAST_ADDRESS = 1 << 16,
};

#define READING_NS 2000000000ull

/* The words behind @key in lines that begin with @begin, if they may be addresses. */
static void take_words(char *text, const char *begin, const char *key, uint64_t **words,
		       size_t *count)
{
	char *line;

	while (text && (line = strsep(&text, "\n"))) {
		const bool is_one = strncmp(line, begin, strlen(begin)) == 0;
		const char *at = is_one ? strstr(line, key) : NULL;
		const uint64_t word = at ? strtoull(at + strlen(key), NULL, 16) : 0;

		if (word >= LEAST_ADDRESS && !(word >> LEDGER_ADDRESS_BITS) && *count < WORDS_MAX)
			*SEEP_APPEND(*words, *count) = word;
	}
}

/* The numbers of its descriptors that are epolls. */
static uint32_t *find_epolls(pid_t pid, size_t *ret_count, bool *ret_is_partial)
{
	static const char name[] = "anon_inode:[eventpoll]";
	DIR *files = opendir(seep_procfs_path(pid, "fd").text);
	const struct dirent *file = NULL;
	uint32_t *epolls = NULL;
	char link[sizeof(name)];
	unsigned looks = 0;

	*ret_count = 0;
	while (files && looks < FILES_MAX && (file = readdir(files))) {
		looks++;
		if (readlinkat(dirfd(files), file->d_name, link, sizeof(link)) ==
			    (ssize_t)sizeof(name) - 1 &&
		    memcmp(link, name, sizeof(name) - 1) == 0)
			*SEEP_APPEND(epolls, *ret_count) = (uint32_t)atoi(file->d_name);
	}
	*ret_is_partial = !files || file;
	if (files)
		(void)closedir(files);
	return epolls;
}

/* In the process that reads: no lock may be taken, and no descriptor kept that others wait for. */
_Noreturn static void pass_on(pid_t pid, const uint32_t *epolls, size_t count, int to)
{
	char path[64], text[4096];

	(void)dup2(to, STDIN_FILENO);
	(void)syscall(SYS_close_range, STDIN_FILENO + 1, UINT32_MAX, 0);
	for (size_t i = 0; i < count; i++) {
		ssize_t bytes;
		int fd;

		(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%u", pid, epolls[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		while ((bytes = read(fd, text, sizeof(text))) > 0)
			if (write(STDIN_FILENO, text, (size_t)bytes) != bytes)
				_exit(1);
		(void)close(fd);
		if (bytes < 0)
			_exit(1);
	}
	_exit(0);
}

/* "tfd:       5 events:       19 data:     7f5c5c000b70  pos:0 ino:1 sdev:f" and so on. */
static bool listen_to(int from, struct seep_kernel_held *held)
{
	SEEP_STRBUF(text, TEXT_MAX_BYTES);
	const bool is_whole = seep_capture_read(from, READING_NS, &text) && !text.overflowed;

	take_words(text.text, "tfd:", " data:", &held->epoll, &held->epoll_count);
	return is_whole && held->epoll_count < WORDS_MAX;
}

static bool read_epolls(pid_t pid, const uint32_t *epolls, size_t count,
			struct seep_kernel_held *held)
{
	bool is_good = false;
	int pair[2], status = 0;
	pid_t reader;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return false;
	/* Without an exit signal it is nobody's child but ours. */
	reader = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	if (reader == 0)
		pass_on(pid, epolls, count, pair[1]);
	(void)close(pair[1]);
	if (reader > 0)
		is_good = listen_to(pair[0], held);
	(void)close(pair[0]);
	if (reader > 0 && !is_good)
		(void)kill(reader, SIGKILL);
	else if (reader > 0)
		is_good = waitpid(reader, &status, __WALL) == reader && status == 0;
	return is_good;
}

void seep_kernel_held_read(pid_t pid, struct seep_kernel_held *ret_held)
{
	SEEP_FREED char *timers = seep_procfs_read((uint32_t)pid, "timers", NULL);
	SEEP_FREED uint32_t *epolls = NULL;
	size_t count;

	*ret_held = (struct seep_kernel_held){ 0 };
	/* "signal: 60/00007f5c5c000b70" */
	take_words(timers, "signal:", "/", &ret_held->timers, &ret_held->timer_count);
	epolls = find_epolls(pid, &count, &ret_held->is_partial);
	if (count && !read_epolls(pid, epolls, count, ret_held))
		ret_held->is_partial = true;
}

void seep_kernel_held_done(struct seep_kernel_held *held)
{
	free(held->epoll);
	free(held->timers);
	*held = (struct seep_kernel_held){ 0 };
}
