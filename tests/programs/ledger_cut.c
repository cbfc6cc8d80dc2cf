/* SPDX-License-Identifier: MIT */
/*
 * Cuts its own ledger while others have it mapped, then ends with status 7 and without a word to
 * the library, which would touch what is gone.
 *
 *   away     the whole file, when a recorder has it; then lives on while that looks several times
 *   BYTES    all but so many, and lengthens it again, over and over until its input ends
 *
 * Without a ledger (a plain run) it only ends.
 */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ledger/ledger.h"
#include "own_ledger.h"

enum { STATUS = 7, AWAY_NS = 300000000, PHASE_NS = 20000 };

static void flicker(int fd, off_t least, off_t bytes)
{
	const struct timespec phase = { .tv_nsec = PHASE_NS };
	struct pollfd input = { .fd = 0, .events = POLLIN };

	(void)!write(1, "ready\n", 6);
	while (ppoll(&input, 1, &phase, NULL) == 0) {
		(void)!ftruncate(fd, least);
		(void)nanosleep(&phase, NULL);
		(void)!ftruncate(fd, bytes);
	}
}

static void wait_for_recorder(int fd)
{
	const off_t at = LEDGER_PAGE_BYTES + offsetof(struct ledger_control, recorder_pid);
	const struct timespec phase = { .tv_nsec = PHASE_NS };
	uint32_t pid = 0;

	while (pread(fd, &pid, sizeof(pid), at) == sizeof(pid) && pid == 0)
		(void)nanosleep(&phase, NULL);
}

static void cut_away(int fd)
{
	const struct timespec away = { .tv_nsec = AWAY_NS };

	wait_for_recorder(fd);
	if (ftruncate(fd, 0) == 0)
		(void)nanosleep(&away, NULL);
}

int main(int argc, char **argv)
{
	int fd = own_ledger_open();
	struct stat st;

	if (fd >= 0 && argc == 2 && fstat(fd, &st) == 0) {
		if (strcmp(argv[1], "away") != 0)
			flicker(fd, atol(argv[1]), st.st_size);
		else
			cut_away(fd);
	}
	(void)syscall(SYS_exit_group, STATUS);
	return STATUS;
}
