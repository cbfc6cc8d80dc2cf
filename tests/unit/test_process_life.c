/* SPDX-License-Identifier: MIT */
/* Whether the process of a ledger still runs its program. */
#include "unit.h"

#include "base/procfs.h"
#include "profile/process_life.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ledger_state ended;

static struct seep_ledger new_ledger(void)
{
	struct seep_ledger ledger = { .state = &ended };
	char path[] = "/tmp/test_process_life.XXXXXX";

	ledger.fd = mkstemp(path);
	assert_true(ledger.fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ftruncate(ledger.fd, 4096), 0);
	return ledger;
}

static void *map(int fd)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

/* A process that has @mapped mapped (-1: nothing), and a ledger with its pid and start. */
static pid_t start(struct seep_ledger *ledger, int mapped)
{
	struct seep_procfs_stat stat;
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (mapped >= 0)
			(void)map(mapped);
		(void)!write(ready[1], "", 1);
		(void)pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	assert_true(seep_procfs_stat((uint32_t)pid, &stat));
	ledger->map.at = map(ledger->fd);
	ledger->view.header.pid = (uint32_t)pid;
	ledger->view.header.start_ticks = stat.start_ticks;
	return pid;
}

static void end(struct seep_ledger *ledger, pid_t pid)
{
	siginfo_t info;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(seep_process_life(ledger, NULL), SEEP_PROCESS_DEAD); /* a zombie */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(seep_process_life(ledger, NULL), SEEP_PROCESS_DEAD);
	(void)munmap(ledger->map.at, 4096);
	(void)close(ledger->fd);
}

TEST(a_process_runs_while_it_has_the_ledger_mapped)
{
	struct seep_ledger ledger = new_ledger();
	const pid_t pid = start(&ledger, ledger.fd);
	struct ledger_header *header = &ledger.view.header;
	uint32_t found = 0;

	assert_int_equal(seep_process_life(&ledger, &found), SEEP_PROCESS_RUNNING);
	assert_int_equal(found, pid);
	/* In another time namespace it counts its start otherwise. */
	header->start_ticks += 12345;
	assert_int_equal(seep_process_life(&ledger, NULL), SEEP_PROCESS_RUNNING);
	header->boot_id[3] = 1;
	assert_int_equal(seep_process_life(&ledger, NULL), SEEP_PROCESS_DEAD);
	header->boot_id[3] = 0;
	/* Of a namespace that nobody here is in: whether it runs cannot be told. */
	header->pid_namespace = 1;
	assert_int_equal(seep_process_life(&ledger, NULL), SEEP_PROCESS_UNKNOWN);
	header->pid_namespace = 0;
	end(&ledger, pid);
}

TEST(a_forked_child_that_has_it_mapped_is_another)
{
	struct seep_ledger ledger = new_ledger();
	const pid_t pid = start(&ledger, ledger.fd);

	ledger.view.header.pid = (uint32_t)getpid();
	ledger.view.header.start_ticks++;
	(void)munmap(ledger.map.at, 4096);
	ledger.map.at = NULL;
	assert_int_equal(seep_process_life(&ledger, NULL), SEEP_PROCESS_DEAD);
	ledger.map.at = map(ledger.fd);
	ledger.view.header.pid = (uint32_t)pid;
	end(&ledger, pid);
}

TEST(a_process_that_was_detached_from_is_not_recorded_whether_it_runs_or_not)
{
	struct seep_ledger ledger = new_ledger();
	const pid_t pid = start(&ledger, ledger.fd);

	ended.ended = LEDGER_ENDED_DETACH;
	assert_int_equal(seep_process_life(&ledger, NULL), SEEP_PROCESS_DETACHED);
	ledger.view.header.pid = 0;
	assert_int_equal(seep_process_life(&ledger, NULL), SEEP_PROCESS_DETACHED);
	ended.ended = LEDGER_ENDED_RUNNING;
	ledger.view.header.pid = (uint32_t)pid;
	end(&ledger, pid);
}

TEST(what_has_another_file_mapped_runs_another_program)
{
	struct seep_ledger ledger = new_ledger(), other = new_ledger();
	const pid_t pid = start(&ledger, other.fd);

	assert_int_equal(seep_process_life(&ledger, NULL), SEEP_PROCESS_REPLACED);
	ledger.view.header.start_ticks++; /* its pid came again */
	assert_int_equal(seep_process_life(&ledger, NULL), SEEP_PROCESS_DEAD);
	(void)close(other.fd);
	end(&ledger, pid);
}
