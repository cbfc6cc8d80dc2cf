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
 * mapped seldom. Chunks of the pool stand apart from it, so that they touch each other.
 */
#define BESIDE_BELOW (UINT64_C(64) << 30)
#define CHUNKS_BELOW (UINT64_C(80) << 30)
enum { BESIDE_BYTES_MAX = 256 << 10, BESIDE_ALIGN = 2 << 20 };

static uintptr_t below_library(uint64_t bytes)
{
	uintptr_t library = (uintptr_t)&rt_global;

	return library < 2 * bytes ? 0 : (library - bytes) & ~(uintptr_t)(BESIDE_ALIGN - 1);
}

/*
 * An address that is likely to be free, next to the one before. Where it is not, the kernel finds
 * another.
 */
static uintptr_t beside(size_t bytes)
{
	static _Atomic uintptr_t next;
	uintptr_t first = below_library(BESIDE_BELOW);
	uintptr_t none = 0;

	if (bytes > BESIDE_BYTES_MAX || !first)
		return 0;
	if (!rt_load(&next))
		(void)atomic_compare_exchange_strong_explicit(
			&next, &none, first, memory_order_relaxed, memory_order_relaxed);
	return atomic_fetch_add_explicit(&next, rt_page_up(bytes), memory_order_relaxed);
}

static void *map(uintptr_t where, size_t bytes)
{
	long ret = rt_syscall6(SYS_mmap, (long)where, (long)bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (ret < 0 && ret > -4096)
		return NULL;
	(void)rt_syscall3(SYS_madvise, ret, (long)bytes, MADV_DONTDUMP);
	return (void *)ret;
}

void *rt_mmap_leaf(size_t bytes)
{
	return map(0, bytes);
}

void *rt_mmap_sparse(size_t bytes)
{
	void *start = map(0, bytes);

	if (start)
		rt_facts_own(start, rt_page_up(bytes));
	return start;
}

/*
 * The pool: what is small is taken from chunks, so that a thread that starts makes no system call
 * for its memory and a forked child maps none. Nothing that was given back is used again.
 */
enum { CHUNK_BYTES = 256 << 10, PIECE_BYTES_MAX = 32 << 10, PIECE_ALIGN = 64 };

/* Where the next piece begins, inside of its chunk; at the edge of one there is no room left. */
static _Atomic uintptr_t pool;

static uintptr_t chunk_up(uintptr_t address)
{
	return (address + CHUNK_BYTES - 1) & ~(uintptr_t)(CHUNK_BYTES - 1);
}

/* Behind the one that ends at @where, if it may be. 0: no memory. */
static uintptr_t chunk_new(uintptr_t where)
{
	uintptr_t start = (uintptr_t)map(where, CHUNK_BYTES);
	uintptr_t wide;

	if (start != chunk_up(start)) {
		(void)rt_syscall3(SYS_munmap, (long)start, CHUNK_BYTES, 0);
		wide = (uintptr_t)map(0, (size_t)2 * CHUNK_BYTES);
		start = chunk_up(wide);
		if (start > wide)
			(void)rt_syscall3(SYS_munmap, (long)wide, (long)(start - wide), 0);
		if (wide)
			(void)rt_syscall3(SYS_munmap, (long)(start + CHUNK_BYTES),
					  (long)(wide + CHUNK_BYTES - start), 0);
	}
	if (start)
		rt_facts_own((void *)start, CHUNK_BYTES);
	return start;
}

/* Whole pages are not shared with others. */
static uintptr_t piece_begin(uintptr_t at, size_t bytes)
{
	return bytes < LEDGER_PAGE_BYTES ? at : rt_page_up(at);
}

static size_t piece_bytes(size_t bytes)
{
	return bytes < LEDGER_PAGE_BYTES ? (bytes + PIECE_ALIGN - 1) & ~(size_t)(PIECE_ALIGN - 1)
					 : rt_page_up(bytes);
}

static void *piece_new(size_t bytes)
{
	uintptr_t at = rt_load(&pool);

	bytes = piece_bytes(bytes);
	for (;;) {
		uintptr_t begin = piece_begin(at, bytes);
		uintptr_t chunk = 0;

		if (chunk_up(begin + bytes) != chunk_up(at) || at == chunk_up(at)) {
			chunk = chunk_new(at ? chunk_up(at) : below_library(CHUNKS_BELOW));
			if (!chunk)
				return NULL;
			begin = chunk;
		}
		if (atomic_compare_exchange_strong_explicit(
			    &pool, &at, begin + bytes, memory_order_relaxed, memory_order_relaxed))
			return (void *)begin;
		if (chunk)
			rt_munmap_sparse((void *)chunk, CHUNK_BYTES);
	}
}

/* Its place in the chunk is lost: few are given back. */
static void piece_free(void *start, size_t bytes)
{
	if (bytes >= LEDGER_PAGE_BYTES)
		(void)rt_syscall3(SYS_madvise, (long)start, (long)rt_page_up(bytes), MADV_DONTNEED);
}

void *rt_mmap(size_t bytes)
{
	void *start = bytes <= PIECE_BYTES_MAX ? piece_new(bytes) : NULL;

	if (!start) {
		start = map(beside(bytes), bytes);
		if (!start)
			return NULL;
		rt_facts_own(start, rt_page_up(bytes));
	}
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
	if (bytes <= PIECE_BYTES_MAX)
		piece_free(start, bytes);
	else
		rt_munmap_sparse(start, bytes);
	if (rt_global.state)
		rt_add(&rt_global.state->private_bytes, -(uint64_t)bytes);
}

void rt_empty_table(void *table, size_t keep, size_t bytes)
{
	uintptr_t from = (uintptr_t)table + keep;
	uintptr_t end = (uintptr_t)table + bytes;
	/* What is smaller shares its pages. */
	uintptr_t pages = bytes < LEDGER_PAGE_BYTES ? end : rt_page_up(from);

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
