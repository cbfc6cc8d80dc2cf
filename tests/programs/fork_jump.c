/* SPDX-License-Identifier: MIT */
/*
 * fork_jump N: N forked children, one after the other, that make 3,000 blocks each while a timer's
 * handler leaves by longjmp whatever it interrupts, several times in a millisecond.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "truth.h"

enum { BYTES = 24, BLOCKS = 3000, STEP_US = 100 };

static sigjmp_buf out;
static volatile sig_atomic_t may_leave;

static void on_alarm(int number)
{
	(void)number;
	if (may_leave)
		siglongjmp(out, 1);
}

static void be_child(void)
{
	const struct itimerval often = { { 0, STEP_US }, { 0, STEP_US } }, never = { 0 };

	EXPECT(truth_hide_ptr(malloc(BYTES)) != NULL);
	EXPECT(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (volatile int i = 0; i < BLOCKS; i++) {
		if (sigsetjmp(out, 1) == 0) {
			may_leave = 1;
			(void)truth_hide_ptr(malloc(BYTES));
		}
		may_leave = 0;
	}
	EXPECT(setitimer(ITIMER_REAL, &never, NULL) == 0);
	_exit(truth_failures != 0);
}

int main(int argc, char **argv)
{
	int status;

	EXPECT(argc == 2 && truth_hide_ptr(malloc(1)) != NULL);
	(void)signal(SIGALRM, on_alarm);
	for (int i = 0; i < atoi(argv[1]); i++) {
		if (fork() == 0)
			be_child();
		EXPECT(wait(&status) > 0 && status == 0);
	}
	return truth_failures != 0;
}
