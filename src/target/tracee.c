/* SPDX-License-Identifier: MIT */
#include "target/tracee.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "base/release.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	EVENT_SHIFT = 8,
	CALL_CODE = SIGTRAP | 0x80, /* by PTRACE_O_TRACESYSGOOD */
	/*
	 * Before sleeping: most stops take microseconds. But where others want the processor each
	 * of these may give it away for milliseconds, and who sleeps gets it back at once.
	 */
	YIELDS = 20,
	SHORT_SLEEP_NS = 10000,
	LONG_SLEEP_NS = 1000000,
	SHORT_SLEEPS = 200,
};

static enum seep_tracee meaning(const siginfo_t *info)
{
	const int event = info->si_code >> EVENT_SHIFT;

	if (info->si_code == CALL_CODE && info->si_signo == SIGTRAP)
		return SEEP_TRACEE_CALL;
	if (event == PTRACE_EVENT_STOP)
		return SEEP_TRACEE_STOPPED;
	if (event == PTRACE_EVENT_EXIT)
		return SEEP_TRACEE_EXIT;
	if (event > 0 && event < PTRACE_EVENT_STOP && info->si_signo == SIGTRAP)
		return SEEP_TRACEE_EVENT;
	return SEEP_TRACEE_SIGNAL;
}

/* A process's first thread that ended before the others has no status to give yet. */
static bool has_status(pid_t tid)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD) < 0)
		return true;
	return info.si_pid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED;
}

enum seep_tracee seep_tracee_look(pid_t tid, int *ret_signal)
{
	siginfo_t info;

	*ret_signal = 0;
	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0) {
		*ret_signal = info.si_signo;
		return meaning(&info);
	}
	return has_status(tid) ? SEEP_TRACEE_GONE : SEEP_TRACEE_RUNS;
}

void seep_tracee_go(int request, pid_t tid, int signal)
{
	/* It may have been killed meanwhile, which whoever looks at it next will see. */
	(void)ptrace((enum __ptrace_request)request, tid, NULL, (void *)(intptr_t)signal);
}

char seep_tracee_state(pid_t tid)
{
	struct seep_procfs_stat stat;

	return seep_procfs_stat((uint32_t)tid, &stat) ? stat.state : 0;
}

bool seep_tracee_has_ended(pid_t tid)
{
	const char state = seep_tracee_state(tid);

	return !state || state == 'Z' || state == 'X';
}

bool seep_tracee_write(pid_t tid, uint64_t at, const void *from, size_t bytes)
{
	const struct iovec here = { (void *)(uintptr_t)from, bytes };
	const struct iovec there = { (void *)(uintptr_t)at, bytes };

	return process_vm_writev(tid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

bool seep_tracee_peek(pid_t tid, uint64_t at, void *to, size_t bytes)
{
	for (size_t done = 0; done < bytes; done += sizeof(long)) {
		const size_t part = bytes - done < sizeof(long) ? bytes - done : sizeof(long);
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, tid, (void *)(at + done), NULL);
		if (errno)
			return false;
		memcpy((char *)to + done, &word, part);
	}
	return true;
}

/*
 * The kernel may be set up to refuse that. Once the file is open it is of one memory for good, which is that of a
 * thread that still stands.
 */
static bool write_as_file(pid_t tid, uint64_t at, const void *from, size_t bytes)
{
	SEEP_CLOSED const int to = open(seep_procfs_path(tid, "mem").text, O_WRONLY | O_CLOEXEC);
	long word;

	return to >= 0 && seep_tracee_peek(tid, at, &word, sizeof(word)) &&
	       pwrite(to, from, bytes, (off_t)at) == (ssize_t)bytes;
}

bool seep_tracee_poke(pid_t tid, uint64_t at, const void *from, size_t bytes)
{
	const size_t many = 8 * sizeof(long);

	if (bytes > many && write_as_file(tid, at, from, bytes))
		return true;
	for (size_t done = 0; done < bytes; done += sizeof(long)) {
		const size_t part = bytes - done < sizeof(long) ? bytes - done : sizeof(long);
		long word;

		if (part < sizeof(word) && !seep_tracee_peek(tid, at + done, &word, sizeof(word)))
			return false;
		memcpy(&word, (const char *)from + done, part);
		if (ptrace(PTRACE_POKEDATA, tid, (void *)(at + done), (void *)word) < 0)
			return false;
	}
	return true;
}

uint64_t seep_tracee_sequence(pid_t tid, uint64_t *ret_at)
{
	enum { GET_RSEQ = 0x420f /* since Linux 5.13 */, SECTION_AT = 8 };
	struct {
		uint64_t address;
		uint32_t bytes, signature, flags, spare;
	} area = { 0 };
	uint64_t section;

	*ret_at = 0;
	if (ptrace((enum __ptrace_request)GET_RSEQ, tid, (void *)sizeof(area), &area) < 0 ||
	    !area.address)
		return 0;
	*ret_at = area.address + SECTION_AT;
	return seep_tracee_peek(tid, *ret_at, &section, sizeof(section)) ? section : UINT64_MAX;
}

bool seep_tracee_diverts_calls(pid_t tid)
{
	enum { GET_DISPATCH = 0x4210 };
	struct {
		uint64_t mode, selector, offset, bytes;
	} dispatch = { 0 };

	return ptrace((enum __ptrace_request)GET_DISPATCH, tid, (void *)sizeof(dispatch),
		      &dispatch) == 0 &&
	       dispatch.mode;
}

void seep_tracee_pause(unsigned turns)
{
	const struct timespec span = {
		.tv_nsec = turns < YIELDS + SHORT_SLEEPS ? SHORT_SLEEP_NS : LONG_SLEEP_NS,
	};

	if (turns < YIELDS)
		(void)sched_yield();
	else
		(void)nanosleep(&span, NULL);
}

enum seep_tracee seep_tracee_await(pid_t tid, uint64_t deadline_ns, int *ret_signal)
{
	enum seep_tracee where;

	for (unsigned turns = 0;; turns++) {
		where = seep_tracee_look(tid, ret_signal);
		if (where != SEEP_TRACEE_RUNS || seep_monotonic_ns() > deadline_ns)
			return where;
		seep_tracee_pause(turns);
	}
}
