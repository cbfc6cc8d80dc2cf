/* SPDX-License-Identifier: MIT */
/*
 * Overwrites argv[1] and forks: with "number" by a pointer that is none, with "unmapped" by one
 * to memory that is gone. The child's ledger must not follow it.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "truth.h"

enum { PAGE = 4096, CHILD_STATUS = 5, BYTES = 10 };

TRUTH_SITE(in_parent);

static SITE void in_parent(void)
{
	TRUTH_TEMPORARY(in_parent, BYTES);
}

static SITE void in_child(void)
{
	free(truth_hide_ptr(malloc(BYTES)));
}

static char *gone(const char *text)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	strcpy(page, text);
	(void)munmap(page, PAGE);
	return page;
}

int main(int argc, char **argv)
{
	int status = 0;

	EXPECT(argc == 2);
	in_parent();
	argv[1] = strcmp(argv[1], "number") == 0 ? (char *)1 : gone("consumed");
	if (fork() == 0) {
		in_child();
		_exit(CHILD_STATUS);
	}
	EXPECT(wait(&status) > 0);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_STATUS);
	truth_print();
	return truth_failures != 0;
}
