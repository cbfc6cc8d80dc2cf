/* SPDX-License-Identifier: MIT */
#include "cli/diff_cycle.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/complain.h"
#include "profile/process_life.h"
#include "recorder/ledger_control.h"

static int wait_for_enter(uint32_t round, const struct seep_cycle *cycle, struct seep_error *err)
{
	int byte;

	(void)fprintf(stderr,
		      "seep: round %" PRIu32 " of %" PRIu32
		      ": let it work and come to rest, then press Enter\n",
		      round, cycle->rounds);
	do
		byte = getchar();
	while (byte != '\n' && byte != EOF);
	return byte == EOF
		       ? seep_fail(err, SEEP_ESYS, "standard input ended before Enter was pressed")
		       : 0;
}

/* As system(3): the terminal's interrupts are the command's. */
static int run(char **command, bool *failed, struct seep_error *err)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction before[2];
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int status = 0;
	pid_t pid;
	int rc;

	(void)sigaction(SIGINT, &ignore, &before[0]);
	(void)sigaction(SIGQUIT, &ignore, &before[1]);
	(void)sigemptyset(&defaults);
	if (before[0].sa_handler != SIG_IGN)
		(void)sigaddset(&defaults, SIGINT);
	if (before[1].sa_handler != SIG_IGN)
		(void)sigaddset(&defaults, SIGQUIT);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setsigdefault(&attributes, &defaults);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawnp(&pid, command[0], NULL, &attributes, command, environ);
	(void)posix_spawnattr_destroy(&attributes);
	while (rc == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)sigaction(SIGINT, &before[0], NULL);
	(void)sigaction(SIGQUIT, &before[1], NULL);
	if (rc != 0)
		return seep_fail_errno(err, rc, "cannot run %s", command[0]);
	/* Who interrupts the command means all of this. */
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT))
		(void)raise(WTERMSIG(status));
	if (WIFSIGNALED(status))
		seep_complainf("diff", "%s was killed by signal %d", command[0], WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		seep_complainf("diff", "%s ended with status %d", command[0], WEXITSTATUS(status));
	*failed |= status != 0;
	return 0;
}

static int mark(struct seep_ledger *ledger, uint32_t round, const char *suffix, uint32_t *ret_epoch,
		struct seep_error *err)
{
	char name[LEDGER_MARK_NAME_BYTES];

	if (seep_process_life(ledger, NULL) != SEEP_PROCESS_RUNNING)
		return seep_fail(err, SEEP_ENOTFOUND, "process %u ended in round %" PRIu32,
				 ledger->view.header.pid, round);
	(void)snprintf(name, sizeof(name), "cycle %" PRIu32 "%s", round, suffix);
	return seep_ledger_mark(ledger, name, seep_monotonic_ns(), ret_epoch, err);
}

static void settle(uint64_t ns)
{
	struct timespec left = {
		.tv_sec = (time_t)(ns / SEEP_NS_PER_S),
		.tv_nsec = (long)(ns % SEEP_NS_PER_S),
	};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

int seep_cycle_run(const struct seep_ledger_operand *process, const struct seep_cycle *cycle,
		   struct seep_epochs *ret_epochs, bool *ret_failed, struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	int rc = seep_ledger_operand_open(process, &ledger, err);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < cycle->rounds && rc == 0; i++) {
		rc = mark(&ledger, i + 1, "", &ret_epochs[i].from, err);
		if (rc == 0)
			rc = cycle->command ? run(cycle->command, ret_failed, err)
					    : wait_for_enter(i + 1, cycle, err);
		if (rc == 0)
			rc = mark(&ledger, i + 1, " end", &ret_epochs[i].end, err);
		if (rc == 0)
			settle(cycle->settle_ns);
		else if (i > 0)
			seep_error_prefix(err,
					  "after %" PRIu32 " rounds, whose marks are there "
					  "(seep diff %u@'cycle 1')",
					  i, ledger.view.header.pid);
	}
	return rc;
}
