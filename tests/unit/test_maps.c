/* SPDX-License-Identifier: MIT */
/* The list of a process's mappings: from text, and from processes that are really there. */
#include "unit.h"

#include "base/maps.h"

#include "base/error.h"
#include "base/xalloc.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(lines_are_read_to_the_last_field)
{
	struct seep_maps maps;

	seep_maps_parse(
		seep_xstrdup(
			"1000-3000 rw-p 00002000 fd:01 77                         /tmp/a b (deleted)\n"
			"3000-4000 ---s 00000000 00:00 0 \n"
			"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]\n"),
		&maps);
	assert_int_equal(maps.count, 3);
	assert_int_equal(maps.items[0].begin, 0x1000);
	assert_int_equal(maps.items[0].end, 0x3000);
	assert_int_equal(maps.items[0].offset, 0x2000);
	assert_int_equal(maps.items[0].device_major, 0xfd);
	assert_int_equal(maps.items[0].device_minor, 1);
	assert_int_equal(maps.items[0].inode, 77);
	assert_true(maps.items[0].readable && maps.items[0].writable);
	assert_false(maps.items[0].executable || maps.items[0].shared);
	assert_string_equal(maps.items[0].name, "/tmp/a b (deleted)");
	assert_true(maps.items[1].shared && !maps.items[1].readable);
	assert_string_equal(maps.items[1].name, "");
	assert_true(maps.items[2].executable);
	assert_string_equal(maps.items[2].name, "[vsyscall]");
	seep_maps_done(&maps);
}

TEST(what_is_no_line_of_maps_is_passed_over)
{
	struct seep_maps maps;

	seep_maps_parse(seep_xstrdup("\n"
				     "-\n"
				     "1000\n"
				     "1000-2000\n"
				     "1000-2000 rw\n"
				     "1000-2000 rw-p 0\n"
				     "1000-2000 rw-p 0 fd\n"
				     "2000-1000 rw-p 00000000 00:00 0\n"
				     "5000-6000 rw-p 00000000 00:00 0 good\n"
				     "5800-7000 rw-p 00000000 00:00 0 overlaps\n"
				     "7000-8000 rw-p 00000000 00:00 0 cut off"),
			&maps);
	assert_int_equal(maps.count, 1);
	assert_string_equal(maps.items[0].name, "good");
	seep_maps_done(&maps);
}

TEST(an_address_finds_its_mapping)
{
	static const struct {
		uint64_t address;
		int index; /* of the mapping that it is in */
		size_t from;
	} cases[] = {
		{ 0, -1, 0 },	  { 0xfff, -1, 0 },  { 0x1000, 0, 0 },	    { 0x1fff, 0, 0 },
		{ 0x2000, 1, 1 }, { 0x2fff, 1, 1 },  { 0x3000, -1, 2 },	    { 0x4fff, -1, 2 },
		{ 0x5000, 2, 2 }, { 0x6000, -1, 3 }, { UINT64_MAX, -1, 3 },
	};
	struct seep_maps maps;

	seep_maps_parse(seep_xstrdup("1000-2000 rw-p 00000000 00:00 0\n"
				     "2000-3000 r--p 00000000 00:00 0\n"
				     "5000-6000 rw-p 00000000 00:00 0\n"),
			&maps);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct seep_mapping *found = seep_maps_find(&maps, cases[i].address);

		assert_ptr_equal(found, cases[i].index < 0 ? NULL : &maps.items[cases[i].index]);
		assert_int_equal(seep_maps_from(&maps, cases[i].address), cases[i].from);
	}
	seep_maps_done(&maps);
	assert_null(seep_maps_find(&maps, 0x1000));
}

TEST(our_own_mappings_are_found)
{
	char *area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct seep_mapping *found;
	struct seep_maps maps;

	assert_int_equal(seep_maps_read(getpid(), &maps, NULL), 0);
	assert_int_equal(maps.tid, getpid());
	found = seep_maps_find(&maps, (uint64_t)(uintptr_t)area);
	assert_non_null(found);
	assert_true(found->shared && found->writable);
	found = seep_maps_find(&maps, (uint64_t)(uintptr_t)&found);
	assert_non_null(found);
	assert_string_equal(found->name, "[stack]");
	seep_maps_done(&maps);
	assert_int_equal(munmap(area, 8192), 0);
}

TEST(a_process_that_is_gone_is_not_found)
{
	struct seep_maps maps;
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(seep_maps_read(pid, &maps, NULL), -SEEP_ENOTFOUND); /* a zombie */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(seep_maps_read(pid, &maps, NULL), -SEEP_ENOTFOUND);
}

/* The first thread is a zombie as soon as it can be joined. */
static void *outlive(void *argument)
{
	const pthread_t *first = argument;

	if (pthread_join(*first, NULL) == 0)
		(void)!write(STDOUT_FILENO, "", 1);
	for (;;)
		(void)pause();
	return NULL;
}

TEST(mappings_are_read_after_the_first_thread_ended)
{
	static pthread_t first, other;
	struct seep_maps maps;
	int pair[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pair), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(pair[1], STDOUT_FILENO);
		first = pthread_self();
		if (pthread_create(&other, NULL, outlive, &first) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	(void)close(pair[1]);
	assert_int_equal(read(pair[0], &byte, 1), 1);
	assert_int_equal(seep_maps_read(pid, &maps, NULL), 0);
	assert_int_not_equal(maps.tid, pid);
	assert_non_null(seep_maps_find(&maps, (uint64_t)(uintptr_t)&first));
	seep_maps_done(&maps);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(pair[0]);
}
