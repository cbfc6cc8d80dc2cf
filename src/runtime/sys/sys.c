/* SPDX-License-Identifier: MIT */
#include "runtime/sys/sys.h"

#include "runtime/rt.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/tables.h"

#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>

/*
 * Far enough below the library that what the program maps does not come between; what is larger is
 * mapped seldom.
 */
#define BESIDE_BELOW (UINT64_C(64) << 30)
enum { BESIDE_BYTES_MAX = 256 << 10, BESIDE_ALIGN = 2 << 20 };

/*
 * An address that is likely to be free, next to the one before. Where it is not, the kernel finds
 * another.
 */
static uintptr_t beside(size_t bytes)
{
	static _Atomic uintptr_t next;
	uintptr_t first = ((uintptr_t)&rt_global - BESIDE_BELOW) & ~(uintptr_t)(BESIDE_ALIGN - 1);
	uintptr_t none = 0;

	if (bytes > BESIDE_BYTES_MAX || (uintptr_t)&rt_global < 2 * BESIDE_BELOW)
		return 0;
	if (!rt_load(&next))
		(void)atomic_compare_exchange_strong_explicit(
			&next, &none, first, memory_order_relaxed, memory_order_relaxed);
	return atomic_fetch_add_explicit(&next, rt_page_up(bytes), memory_order_relaxed);
}

static void *map(uintptr_t where, size_t bytes, int flags)
{
	long ret = rt_syscall6(SYS_mmap, (long)where, (long)bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	if (ret < 0 && ret > -4096)
		return NULL;
	(void)rt_syscall3(SYS_madvise, ret, (long)bytes, MADV_DONTDUMP);
	return (void *)ret;
}

void *rt_mmap_leaf(size_t bytes)
{
	return map(0, bytes, 0);
}

void *rt_mmap_sparse(size_t bytes)
{
	void *start = map(0, bytes, 0);

	if (start)
		rt_facts_own(start, rt_page_up(bytes));
	return start;
}

void *rt_mmap(size_t bytes)
{
	/* A page is written to at once. A table's would cost two faults: it is read before that. */
	void *start = map(beside(bytes), bytes, bytes <= LEDGER_PAGE_BYTES ? MAP_POPULATE : 0);

	if (!start)
		return NULL;
	rt_facts_own(start, rt_page_up(bytes));
	if (rt_global.state)
		rt_add(&rt_global.state->private_bytes, bytes);
	return start;
}

void rt_munmap_sparse(void *start, size_t bytes)
{
	/* First: another thread may get the addresses at once. */
	rt_facts_disown(start, rt_page_up(bytes));
	(void)rt_syscall3(SYS_munmap, (long)start, (long)bytes, 0);
}

void rt_munmap(void *start, size_t bytes)
{
	if (!start)
		return;
	rt_munmap_sparse(start, bytes);
	if (rt_global.state)
		rt_add(&rt_global.state->private_bytes, -(uint64_t)bytes);
}

void rt_empty_table(void *table, size_t keep, size_t bytes)
{
	uintptr_t from = (uintptr_t)table + keep;
	uintptr_t end = (uintptr_t)table + bytes;
	uintptr_t pages = (from + 4095) & ~(uintptr_t)4095;

	for (; from < pages && from < end; from += sizeof(uint64_t))
		rt_store((_Atomic uint64_t *)from, 0);
	if (pages >= end ||
	    rt_syscall3(SYS_madvise, (long)pages, (long)(end - pages), MADV_DONTNEED) == 0)
		return;
	/* Refused, by a filter of the program's: nothing goes back, but nothing stays in it. */
	for (from = pages; from < end; from += sizeof(uint64_t))
		rt_store((_Atomic uint64_t *)from, 0);
}

long rt_read_file(const char *path, char *buffer, size_t max)
{
	long fd = rt_syscall6(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	size_t used = 0;
	long got = 0;

	if (fd < 0)
		return fd;
	while (used < max - 1) {
		got = rt_syscall3(SYS_read, fd, (long)(buffer + used), (long)(max - 1 - used));
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	(void)rt_syscall3(SYS_close, fd, 0, 0);
	buffer[used] = '\0';
	return got < 0 && used == 0 ? got : (long)used;
}

uint32_t rt_getpid(void)
{
	return (uint32_t)rt_syscall3(SYS_getpid, 0, 0, 0);
}

uint32_t rt_gettid(void)
{
	return (uint32_t)rt_syscall3(SYS_gettid, 0, 0, 0);
}

uint32_t rt_getpid_or_tid(void)
{
	const uint32_t pid = rt_getpid();

	return (int32_t)pid > 0 ? pid : rt_gettid();
}

bool rt_is_gone(uint32_t pid, uint32_t tid)
{
	return rt_syscall3(SYS_tgkill, pid, tid, 0) == -ESRCH;
}

rt_clock *rt_vdso_clock;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now = { 0, 0 };

	if (RT_LIKELY(rt_vdso_clock != NULL))
		(void)rt_vdso_clock(clock, &now);
	else
		(void)rt_syscall3(SYS_clock_gettime, clock, (long)&now, 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t rt_now_stands_ns;

uint64_t rt_now_ns(void)
{
	return rt_now_stands_ns ? rt_now_stands_ns : clock_ns(CLOCK_MONOTONIC);
}

uint64_t rt_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

long rt_futex_wait(void *word, uint32_t expected, uint32_t timeout_ms)
{
	struct timespec timeout = { .tv_sec = timeout_ms / 1000,
				    .tv_nsec = (long)(timeout_ms % 1000) * 1000000 };

	return rt_syscall6(SYS_futex, (long)word, FUTEX_WAIT, expected, (long)&timeout, 0, 0);
}

void rt_futex_wake(void *word)
{
	(void)rt_syscall3(SYS_futex, (long)word, FUTEX_WAKE, INT32_MAX);
}

long rt_futex_wake_one(void *word)
{
	return rt_syscall3(SYS_futex, (long)word, FUTEX_WAKE, 1);
}

/* To standard error. It may be a pipe that nobody reads any more: no SIGPIPE shall come of it. */
static void write_line(const char *line, size_t bytes)
{
	const uint64_t pipe_signal = UINT64_C(1) << (SIGPIPE - 1);
	const struct timespec at_once = { 0 };
	uint64_t before = 0, pending = 0;

	(void)rt_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&pipe_signal, (long)&before,
			  sizeof(before), 0, 0);
	/* One that the program has blocked and not heard yet is its own. */
	if (before & pipe_signal)
		(void)rt_syscall3(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0);
	if (rt_syscall3(SYS_write, 2, (long)line, (long)bytes) == -EPIPE &&
	    !(pending & pipe_signal))
		(void)rt_syscall6(SYS_rt_sigtimedwait, (long)&pipe_signal, 0, (long)&at_once,
				  sizeof(pipe_signal), 0, 0);
	(void)rt_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before), 0, 0);
}

void rt_say(const char *const *parts)
{
	char line[1024];
	size_t used = 0;

	for (; *parts; parts++)
		for (const char *p = *parts; *p && used < sizeof(line) - 1; p++) {
			unsigned char c = (unsigned char)*p;

			line[used++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
		}
	line[used++] = '\n';
	write_line(line, used);
}
