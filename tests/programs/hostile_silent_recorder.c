/* SPDX-License-Identifier: MIT */
/*
 * Registers its parent, which knows nothing of it, as a recorder that never answers, and ends
 * under a timer that interrupts every wait. The end must not be held up for longer than the 300 ms
 * that it allows. Without a ledger (a plain run) it only ends.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "ledger/ledger.h"
#include "own_ledger.h"
#include "truth.h"

enum { WAIT_MS = 300, STATUS = 3 };

static void on_alarm(int number)
{
	(void)number;
}

int main(void)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } };
	int fd = own_ledger_open();

	if (fd >= 0) {
		struct ledger_control *control = mmap(NULL, LEDGER_PAGE_BYTES,
						      PROT_READ | PROT_WRITE, MAP_SHARED, fd,
						      LEDGER_PAGE_BYTES);

		EXPECT(control != MAP_FAILED);
		control->exit_wait_ms = WAIT_MS;
		control->recorder_pid = (uint32_t)getppid();
		puts("registered");
	}
	(void)fflush(stdout);
	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &often, NULL);
	_exit(truth_failures ? 1 : STATUS);
}
