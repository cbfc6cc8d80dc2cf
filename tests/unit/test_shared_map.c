/* SPDX-License-Identifier: MIT */
/* Mappings whose file is cut under them. */
#include "base/shared_map.h"
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, PAGES = 6, BYTES = PAGES * PAGE_BYTES - 100 };

static int fd;
static struct seep_error err;

/* Every byte is its page's number, from 1 on. */
static int setup(void **state)
{
	FILE *file = tmpfile();

	(void)state;
	fd = dup(fileno(file));
	for (int i = 0; i < BYTES; i++)
		(void)fputc(i / PAGE_BYTES + 1, file);
	return fclose(file);
}

static int teardown(void **state)
{
	(void)state;
	return close(fd);
}

static struct seep_shared_map map_it(bool writable)
{
	struct seep_shared_map map = { 0 };

	if (seep_shared_map_open(fd, BYTES, writable, &map, &err) != 0)
		fail_msg("%s", err.text);
	return map;
}

static int byte_of(const struct seep_shared_map *map, int page)
{
	return ((const volatile unsigned char *)map->at)[page * PAGE_BYTES + 7];
}

TEST_WITH(setup, what_is_gone_reads_as_zeros_and_is_noted, teardown)
{
	struct seep_shared_map map = map_it(false);

	assert_int_equal(byte_of(&map, 5), 6);
	assert_int_equal(ftruncate(fd, 2 * PAGE_BYTES), 0);
	assert_int_equal(byte_of(&map, 1), 2);
	assert_false(seep_shared_map_is_cut(&map));
	assert_int_equal(byte_of(&map, 4), 0);
	assert_true(seep_shared_map_is_cut(&map));
	/* Those before the page that was touched first. */
	assert_int_equal(byte_of(&map, 3), 0);
	assert_int_equal(byte_of(&map, 5), 0);
	assert_int_equal(byte_of(&map, 0), 1);
	seep_shared_map_close(&map);
}

TEST_WITH(setup, what_is_written_where_nothing_is_does_no_harm, teardown)
{
	struct seep_shared_map map = map_it(true);

	assert_int_equal(ftruncate(fd, 0), 0);
	((volatile unsigned char *)map.at)[3 * PAGE_BYTES] = 9;
	assert_true(seep_shared_map_is_cut(&map));
	assert_int_equal(((volatile unsigned char *)map.at)[3 * PAGE_BYTES], 9);
	seep_shared_map_close(&map);
}

TEST_WITH(setup, other_mappings_are_left_alone, teardown)
{
	struct seep_shared_map first = map_it(false);
	struct seep_shared_map second = map_it(false);
	struct seep_shared_map third;

	assert_int_equal(ftruncate(fd, PAGE_BYTES), 0);
	assert_int_equal(byte_of(&first, 2), 0);
	assert_false(seep_shared_map_is_cut(&second));
	seep_shared_map_close(&first);
	third = map_it(false);
	assert_false(seep_shared_map_is_cut(&third));
	assert_int_equal(byte_of(&second, 2), 0);
	assert_true(seep_shared_map_is_cut(&second));
	assert_false(seep_shared_map_is_cut(&third));
	seep_shared_map_close(&second);
	seep_shared_map_close(&third);
	seep_shared_map_close(&third);
}

static bool handles_sigbus(void)
{
	struct sigaction now;

	(void)sigaction(SIGBUS, NULL, &now);
	return (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_IGN;
}

/* Programs that seep starts inherit what is ignored. */
TEST_WITH(setup, the_signal_is_ours_only_while_there_are_mappings, teardown)
{
	void (*before)(int) = signal(SIGBUS, SIG_IGN);
	struct seep_shared_map first = map_it(false);
	struct seep_shared_map second = map_it(false);

	seep_shared_map_close(&first);
	assert_true(handles_sigbus());
	seep_shared_map_close(&second);
	assert_false(handles_sigbus());
	(void)signal(SIGBUS, before);
}

/* In a child of its own: gives the signal that it died of. */
static int death_by(void (*cause)(void))
{
	const struct rlimit none = { 0 };
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct seep_shared_map map;

		(void)setrlimit(RLIMIT_CORE, &none);
		(void)signal(SIGBUS, SIG_DFL);
		map = map_it(false);
		cause();
		_exit(map.at ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void touch_a_mapping_of_somebody_else(void)
{
	volatile unsigned char *bytes = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (ftruncate(fd, 0) == 0 && bytes != MAP_FAILED)
		(void)bytes[2 * PAGE_BYTES];
}

static void send_the_signal(void)
{
	(void)kill(getpid(), SIGBUS);
}

TEST_WITH(setup, a_bus_error_elsewhere_is_one, teardown)
{
	assert_int_equal(death_by(touch_a_mapping_of_somebody_else), SIGBUS);
	assert_int_equal(death_by(send_the_signal), SIGBUS);
}

enum { THREADS = 4, ROUNDS = 300 };

static void *map_and_cut(void *argument)
{
	(void)argument;
	for (int i = 0; i < ROUNDS; i++) {
		struct seep_shared_map map = { 0 };
		FILE *file = tmpfile();

		assert_non_null(file);
		assert_int_equal(ftruncate(fileno(file), BYTES), 0);
		assert_int_equal(seep_shared_map_open(fileno(file), BYTES, false, &map, NULL), 0);
		assert_int_equal(byte_of(&map, i % PAGES), 0);
		assert_false(seep_shared_map_is_cut(&map));
		assert_int_equal(ftruncate(fileno(file), 0), 0);
		assert_int_equal(byte_of(&map, i % PAGES), 0);
		assert_true(seep_shared_map_is_cut(&map));
		seep_shared_map_close(&map);
		(void)fclose(file);
	}
	return NULL;
}

TEST_WITH(setup, threads_do_not_meet, teardown)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, map_and_cut, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}
