/* SPDX-License-Identifier: MIT */
/* Memory of another process: what was read is what is there, holes and all, by either way. */
#include "../programs/seccomp_filter.h"
#include "target/remote_memory.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 1000 };

/* A child that has the same memory as we had, and sleeps. */
static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void end_child(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static uint32_t random_number(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static bool is_shut(int page)
{
	return page % 7 < 3;
}

/*
 * Pages with numbers in them; some are not there, and some are there and unreadable for the process
 * itself, by a pattern that has runs of all lengths.
 */
static uint32_t *make_pages(bool holes[PAGES])
{
	uint32_t *words = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t state = 7;

	assert_true(words != MAP_FAILED);
	for (size_t i = 0; i < (size_t)PAGES * PAGE / 4; i++)
		words[i] = (uint32_t)i ^ 0x5a5a5a5a;
	for (int page = 0; page < PAGES;) {
		const bool hole = random_number(&state) & 1;

		for (uint32_t run = random_number(&state) % 40 + 1; run && page < PAGES; run--)
			holes[page++] = hole;
	}
	for (int page = 0; page < PAGES; page++) {
		uint32_t *at = words + (size_t)page * PAGE / 4;

		if (holes[page])
			assert_int_equal(munmap(at, PAGE), 0);
		else if (is_shut(page))
			assert_int_equal(mprotect(at, PAGE, PROT_NONE), 0);
	}
	return words;
}

static bool is_hole(const uint32_t *words, const bool holes[PAGES], uint64_t address)
{
	return holes[(address - (uint64_t)words) / PAGE];
}

/* One view: all of it is as it should be. Returns how far it went. */
static uint64_t check_view(struct seep_memory *memory, const uint32_t *words,
			   const bool holes[PAGES], uint64_t address, uint64_t bytes)
{
	const struct scan_memory view = seep_memory_for_scan(memory);
	uint64_t got = 0;
	const uint8_t *data = view.view(view.user, address, bytes, &got);
	assert_in_range(got, 1, bytes);
	for (uint64_t at = 0; at < got; at++)
		if (is_hole(words, holes, address + at) != !data)
			fail_msg("%s byte at %#lx is %s", data ? "unreadable" : "readable",
				 (unsigned long)(address + at), data ? "there" : "not there");
	if (!data)
		return got;
	for (uint64_t at = 0; at < got; at++) {
		const uint64_t offset = address + at - (uint64_t)words;
		const uint32_t word = (uint32_t)(offset / 4) ^ 0x5a5a5a5a;

		if (data[at] != (uint8_t)(word >> offset % 4 * 8))
			fail_msg("wrong byte at %#lx", (unsigned long)(address + at));
	}
	return got;
}

static void force(struct seep_memory *memory, const uint32_t *words, const bool holes[PAGES])
{
	for (int page = 0; page < PAGES; page++)
		if (!holes[page] && is_shut(page))
			seep_memory_force(memory, (uint64_t)words + (uint64_t)page * PAGE,
					  (uint64_t)words + (uint64_t)(page + 1) * PAGE);
}

static void check_all(pid_t pid, const uint32_t *words, const bool holes[PAGES],
		      uint64_t kept_bytes)
{
	const uint64_t begin = (uint64_t)words, end = begin + (uint64_t)PAGES * PAGE;
	struct seep_memory *memory;
	uint32_t state = 1;

	assert_int_equal(seep_memory_open(pid, kept_bytes, &memory, NULL), 0);
	force(memory, words, holes);
	for (int turn = 0; turn < 2; turn++)
		for (uint64_t at = begin; at < end;)
			at += check_view(memory, words, holes, at, end - at);
	for (int i = 0; i < 20000; i++) {
		uint64_t at = begin + random_number(&state) % (end - begin);

		/* What is large does not stay, and what is small does, until all is forgotten. */
		(void)check_view(memory, words, holes, at,
				 i % 50 ? random_number(&state) % 500 + 1 : end - at);
		if (i == 10000) {
			seep_memory_forget(memory);
			force(memory, words, holes);
		}
	}
	seep_memory_close(memory);
}

TEST(all_that_is_there_is_seen_and_nothing_else)
{
	static bool holes[PAGES];
	uint32_t *words = make_pages(holes);
	pid_t pid = start_child();

	/* The child's are read: the same numbers, and ours can be compared with. */
	check_all(pid, words, holes, 64 << 20);
	check_all(pid, words, holes, 1); /* what is kept has to make room all the time */
	end_child(pid);
	assert_int_equal(munmap(words, (size_t)PAGES * PAGE), 0);
}

/* From now on this process has no such call. */
static void refuse(int number)
{
	if (set_filter(&number, 1, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW) < 0)
		_exit(99);
}

/* In a child, since a filter stays. @body returns what it exits with; 0 is right. */
static void run_in_child(int (*body)(pid_t target, const uint32_t *words), const uint32_t *words)
{
	pid_t target = start_child(), pid = fork();
	int status;

	if (pid == 0)
		_exit(body(target, words));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	end_child(target);
	assert_int_equal(status, 0);
}

static int read_pages(struct seep_memory *memory, const uint32_t *words)
{
	static uint32_t copy[PAGE];
	uint64_t got;

	if (!seep_memory_read(memory, (uint64_t)words, copy, sizeof(copy)) ||
	    memcmp(copy, words, sizeof(copy)) != 0)
		return 2;
	/* Behind the last page there is nothing. */
	if (seep_memory_read(memory, (uint64_t)(words + PAGE), copy, sizeof(copy)))
		return 3;
	const struct scan_memory view = seep_memory_for_scan(memory);
	const uint32_t *data = view.view(view.user, (uint64_t)words, 4 * PAGE, &got);

	if (!data || data[1] != words[1])
		return 4;
	data = view.view(view.user, (uint64_t)(words + PAGE), 4 * PAGE, &got);
	return data ? 5 : 0;
}

static int read_by_file(pid_t target, const uint32_t *words)
{
	struct seep_memory *memory;

	refuse(SYS_process_vm_readv);
	return seep_memory_open(target, 1, &memory, NULL) ? 1 : read_pages(memory, words);
}

static int read_by_wanted_file(pid_t target, const uint32_t *words)
{
	struct seep_memory *memory;

	if (seep_memory_open(target, 1, &memory, NULL) != 0)
		return 1;
	seep_memory_use_file(memory);
	refuse(SYS_process_vm_readv);
	return read_pages(memory, words);
}

TEST(a_file_is_read_where_it_is_wanted_or_the_call_is_refused)
{
	uint32_t *words = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

	for (uint32_t i = 0; i < PAGE; i++)
		words[i] = i;
	assert_int_equal(munmap(words + PAGE, 4 * PAGE), 0);
	run_in_child(read_by_file, words);
	run_in_child(read_by_wanted_file, words);
	assert_int_equal(munmap(words, 4 * PAGE), 0);
}

static int read_refused(pid_t target, const uint32_t *words)
{
	struct seep_memory *memory;
	struct seep_error err = { 0 };

	(void)words;
	refuse(SYS_process_vm_readv);
	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 1;
	if (seep_memory_open(target, 0, &memory, &err) != -SEEP_EREFUSED)
		return 2;
	return strstr(err.text, "cannot be read") ? 0 : 3;
}

TEST(both_refused_is_said)
{
	if (getuid() != 0)
		skip();
	run_in_child(read_refused, NULL);
}

TEST(a_process_that_has_ended_is_not_found)
{
	struct seep_memory *memory;
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(seep_memory_open(pid, 0, &memory, NULL), -SEEP_ENOTFOUND);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(seep_memory_open(pid, 0, &memory, NULL), -SEEP_ENOTFOUND);
}

TEST(memory_for_the_marker_is_zeroed_and_aligned)
{
	struct seep_memory *memory;
	struct scan_memory from;

	assert_int_equal(seep_memory_open(getpid(), 0, &memory, NULL), 0);
	from = seep_memory_for_scan(memory);
	for (uint64_t bytes = 1; bytes < 16 << 20; bytes = bytes * 3 + 1) {
		uint8_t *start = from.allocate(from.user, bytes);

		assert_non_null(start);
		assert_int_equal((uintptr_t)start % PAGE, 0);
		for (uint64_t i = 0; i < bytes; i++)
			assert_int_equal(start[i], 0);
		memset(start, 1, bytes);
	}
	assert_null(from.allocate(from.user, UINT64_MAX / 2));
	seep_memory_close(memory);
}
