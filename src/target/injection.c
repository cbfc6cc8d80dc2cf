/* SPDX-License-Identifier: MIT */
#include "target/injection.h"

#include "base/clock.h"
#include "base/maps.h"
#include "base/release.h"
#include "target/remote_memory.h"
#include "target/tracee.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

enum {
	PAGE_BYTES = 4096,
	SITE_PAGES_MAX = 4096, /* of one mapping that are searched */
};

#define CALL_NS 60000000000ull

static const uint8_t call_instruction[] = { 0x0f, 0x05 };

/* One that lies across two pages is not found; there are others. */
static uint64_t search(struct seep_memory *memory, uint64_t begin, uint64_t end)
{
	uint8_t page[PAGE_BYTES];

	for (unsigned i = 0; i < SITE_PAGES_MAX && begin < end; i++, begin += PAGE_BYTES) {
		const uint8_t *found;

		if (!seep_memory_read(memory, begin, page, sizeof(page)))
			return 0;
		found = memmem(page, sizeof(page), call_instruction, sizeof(call_instruction));
		if (found)
			return begin + (uint64_t)(found - page);
	}
	return 0;
}

/* From the last on, which is the kernel's own, [vdso], most often: it has a few. */
uint64_t seep_injection_site(pid_t pid)
{
	SEEP_RELEASED(seep_maps_done) struct seep_maps maps = { 0 };
	struct seep_memory *memory;
	uint64_t found = 0;

	if (seep_memory_open(pid, 0, &memory, NULL) < 0)
		return 0;
	if (seep_maps_read(pid, &maps, NULL) == 0)
		for (size_t i = maps.count; i-- > 0 && !found;)
			/* Not [vsyscall], whose instructions the kernel emulates. */
			if (maps.items[i].executable && maps.items[i].end < UINT64_C(1) << 63)
				found = search(memory, maps.items[i].begin, maps.items[i].end);
	seep_memory_close(memory);
	return found;
}

bool seep_injection_is_site(pid_t tid, uint64_t address)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, tid, (void *)address, NULL);
	return address && !errno && memcmp(&word, call_instruction, sizeof(call_instruction)) == 0;
}

/*
 * Once the thread runs elsewhere the kernel forgets that it was in a restartable sequence, and
 * would let it go on in the middle of one.
 */
static void save_sequence(struct seep_injection *injection)
{
	injection->rseq = seep_tracee_sequence(injection->tid, &injection->rseq_at);
	if (!injection->rseq || injection->rseq == UINT64_MAX)
		injection->rseq_at = 0;
}

int seep_injection_begin(struct seep_injection *injection, pid_t tid, uint64_t site,
			 struct seep_error *err)
{
	const uint64_t all = UINT64_MAX;

	*injection = (struct seep_injection){ .tid = tid, .site = site };
	if (ptrace(PTRACE_GETREGS, tid, NULL, &injection->saved) == 0 &&
	    ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(all), &injection->blocked) == 0) {
		save_sequence(injection);
		/* No handler may run on borrowed registers. */
		if (ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(all), &all) == 0)
			return 0;
	}
	injection->tid = 0;
	return seep_fail_errno(err, errno, "cannot read the registers of thread %d", tid);
}

void seep_injection_end(struct seep_injection *injection)
{
	const uint64_t deadline_ns = seep_monotonic_ns() + CALL_NS;
	const pid_t tid = injection->tid;
	enum seep_tracee where;
	int signal;

	if (!tid)
		return;
	injection->tid = 0;
	(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	seep_tracee_go(PTRACE_CONT, tid, 0);
	while ((where = seep_tracee_await(tid, deadline_ns, &signal)) != SEEP_TRACEE_STOPPED) {
		if (where == SEEP_TRACEE_RUNS || where == SEEP_TRACEE_GONE)
			return;
		seep_tracee_go(PTRACE_CONT, tid, where == SEEP_TRACEE_SIGNAL ? signal : 0);
	}
	(void)ptrace(PTRACE_SETREGS, tid, NULL, &injection->saved);
	(void)ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(injection->blocked),
		     &injection->blocked);
	if (injection->rseq_at)
		(void)ptrace(PTRACE_POKEDATA, tid, (void *)injection->rseq_at,
			     (void *)injection->rseq);
}

static int put_arguments(struct seep_injection *injection, long number, const uint64_t arguments[6],
			 struct seep_error *err)
{
	struct user_regs_struct registers = injection->saved;

	registers.rip = injection->site;
	registers.rax = (unsigned long long)number;
	registers.orig_rax = UINT64_MAX; /* what it was interrupted in is not taken up now */
	registers.rdi = arguments[0];
	registers.rsi = arguments[1];
	registers.rdx = arguments[2];
	registers.r10 = arguments[3];
	registers.r8 = arguments[4];
	registers.r9 = arguments[5];
	if (ptrace(PTRACE_SETREGS, injection->tid, NULL, &registers) < 0)
		return seep_fail_errno(err, errno, "cannot write the registers of thread %d",
				       injection->tid);
	return 0;
}

/* At the end of a call. Returns false where the kernel makes it once more. */
static bool has_result(const struct seep_injection *injection, int64_t *ret_value)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, injection->tid, NULL, &registers) < 0)
		return false;
	*ret_value = (int64_t)registers.rax;
	return *ret_value < -SEEP_ERESTART_RESTARTBLOCK || *ret_value > -SEEP_ERESTARTSYS;
}

int seep_injection_call(struct seep_injection *injection, long number, const uint64_t arguments[6],
			int64_t *ret_value, struct seep_error *err)
{
	const uint64_t deadline_ns = seep_monotonic_ns() + CALL_NS;
	unsigned long child = 0;
	bool is_inside = false;
	int signal = 0, rc = put_arguments(injection, number, arguments, err);

	injection->child = 0;
	while (rc == 0) {
		seep_tracee_go(PTRACE_SYSCALL, injection->tid, signal);
		const enum seep_tracee where = seep_tracee_await(injection->tid, deadline_ns,
								 &signal);

		if (where != SEEP_TRACEE_SIGNAL)
			signal = 0;
		if (where == SEEP_TRACEE_CALL) {
			is_inside = !is_inside;
			if (!is_inside && has_result(injection, ret_value))
				break;
		} else if (where == SEEP_TRACEE_EVENT) {
			(void)ptrace(PTRACE_GETEVENTMSG, injection->tid, NULL, &child);
			injection->child = (pid_t)child;
		} else if (where == SEEP_TRACEE_GONE) {
			rc = seep_fail(err, SEEP_ESYS, "thread %d was killed", injection->tid);
		} else if (where == SEEP_TRACEE_RUNS) {
			rc = seep_fail(err, SEEP_ESYS, "system call %ld takes too long", number);
		}
	}
	return rc;
}
