/* SPDX-License-Identifier: MIT */
/*
 * abort() that does not end the program: its handler leaves by siglongjmp. Fifty times; then the
 * program is killed, or exits if it is asked to. What it allocated since must be in the recording.
 */
#include <setjmp.h>
#include <signal.h>

#include "truth.h"

enum { TIMES = 50, BYTES = 7 };

TRUTH_SITE(after_abort);

static sigjmp_buf again;
static void *volatile kept;

static void on_abort(int number)
{
	(void)number;
	siglongjmp(again, 1);
}

static SITE void after_abort(void)
{
	kept = malloc(BYTES);
	truth_alloced(&site_after_abort, BYTES);
}

int main(int argc, char **argv)
{
	(void)signal(SIGABRT, on_abort);
	for (volatile int i = 0; i < TIMES; i++) {
		if (!sigsetjmp(again, 1))
			abort();
		after_abort();
	}
	truth_print();
	(void)argv;
	if (argc > 1)
		_exit(5);
	return kill(getpid(), SIGKILL);
}
