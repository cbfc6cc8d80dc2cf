/* SPDX-License-Identifier: MIT */
/* Allocation that cannot fail: sizes of zero, overflow, and the one line at the end. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "unit.h"

TEST(zero_bytes_give_a_pointer_to_free)
{
	free(seep_xmalloc(0));
	free(seep_xcalloc(0, 8));
	free(seep_xrealloc(NULL, 8, 0));
	free(seep_xmemdup("", 0));
}

TEST(copies_are_equal_and_terminated)
{
	char *text = seep_xstrndup("abcdef", 3);
	char *number = seep_xasprintf("%s-%d", text, 7);
	char *bytes = seep_xmemdup("a\0b", 3);

	assert_string_equal(text, "abc");
	assert_string_equal(number, "abc-7");
	assert_memory_equal(bytes, "a\0b", 3);
	free(text);
	free(number);
	free(bytes);
}

TEST(what_an_array_is_extended_by_is_zeroed)
{
	uint32_t *items = seep_xextend(NULL, 0, 2, sizeof(*items));

	items[0] = items[1] = 7;
	items = seep_xextend(items, 2, 5, sizeof(*items));
	for (int i = 0; i < 5; i++)
		assert_int_equal(items[i], i < 2 ? 7 : 0);
	free(items);
}

/* What a child that asks for too much says on stderr; *ret_status as from waitpid(). */
static size_t say_when_out_of_memory(size_t count, size_t item_bytes, char *said, size_t said_bytes,
				     int *ret_status)
{
	int ends[2];
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit no_core = { 0, 0 };

		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)signal(SIGABRT, SIG_DFL);
		(void)dup2(ends[1], STDERR_FILENO);
		free(seep_xrealloc(NULL, count, item_bytes));
		_exit(0);
	}
	(void)close(ends[1]);
	got = read(ends[0], said, said_bytes - 1);
	(void)close(ends[0]);
	assert_int_equal(waitpid(child, ret_status, 0), child);
	assert_true(got >= 0);
	said[got] = '\0';
	return (size_t)got;
}

TEST(overflowing_product_is_one_line_and_an_abort)
{
	char said[200];
	int status = 0;

	(void)say_when_out_of_memory(SIZE_MAX / 2, 4, said, sizeof(said), &status);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	/* A sanitizer may say something before. */
	assert_non_null(strstr(said, "seep: out of memory\n"));
}
