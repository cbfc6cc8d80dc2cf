/* SPDX-License-Identifier: MIT */
#include "runtime/sys/sys.h"

#include "ledger/ledger_blocks.h"
#include "runtime/rt.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/tables.h"

#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>

/*
 * What is mapped is put side by side, from here on: far enough below the library that what the
 * program maps does not come between. The kernel copies less at a fork where it is one mapping, and
 * few tables of pages. So the first, the page map's upper level, of which the last pages are used
 * most, ends where others begin.
 */
#define BESIDE_BELOW (UINT64_C(64) << 30)
enum {
	BESIDE_BYTES_MAX = 64 << 20,
	REGION_BYTES = 2 << 20, /* of one table of pages */
	CHUNK_BYTES = 256 << 10,
};
#define BESIDE_FIRST_BYTES (LEDGER_LEAVES * sizeof(void *) + LEDGER_LEAVES_PAGES)

struct place {
	uintptr_t begin; /* 0: anywhere */
	uintptr_t end;
};

static uintptr_t align_up(uintptr_t address, size_t align)
{
	return (address + align - 1) & ~(uintptr_t)(align - 1);
}

/* 0: the library lies elsewhere than usual. */
static uintptr_t first_place(void)
{
	uintptr_t library = (uintptr_t)&rt_global;

	if (library < 2 * BESIDE_BELOW)
		return 0;
	return align_up(library - BESIDE_BELOW, REGION_BYTES) - BESIDE_FIRST_BYTES + CHUNK_BYTES;
}

static _Atomic uintptr_t beside_next;

/*
 * @bytes from an address that is likely to be free, next to the one before. Where it is not, the
 * kernel finds another. With @edge, up to the first multiple of it that leaves @bytes or more.
 */
static struct place beside(size_t bytes, size_t edge)
{
	uintptr_t before = rt_load(&beside_next);
	struct place place;

	if (bytes > BESIDE_BYTES_MAX)
		return (struct place){ 0, bytes };
	do {
		place.begin = before ? before : first_place();
		place.end = align_up(place.begin + bytes, edge);
		if (!place.begin)
			return place;
	} while (!atomic_compare_exchange_weak_explicit(
		&beside_next, &before, place.end, memory_order_relaxed, memory_order_relaxed));
	return place;
}

static void *map(struct place where)
{
	const size_t bytes = where.end - where.begin;
	long ret = rt_syscall6(SYS_mmap, (long)where.begin, (long)bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (ret < 0 && ret > -4096)
		return NULL;
	(void)rt_syscall3(SYS_madvise, ret, (long)bytes, MADV_DONTDUMP);
	return (void *)ret;
}

static void *map_own(struct place where)
{
	void *start = map(where);

	if (start)
		rt_facts_own(start, rt_page_up(where.end - where.begin));
	return start;
}

void *rt_mmap_leaf(size_t bytes)
{
	return map((struct place){ 0, bytes });
}

void *rt_mmap_sparse(size_t bytes)
{
	return map_own(beside(bytes, LEDGER_PAGE_BYTES));
}

/*
 * The pool: what is small is taken from chunks, so that a thread that starts makes no system call
 * for its memory and a forked child maps none. Nothing that was given back is used again.
 */
enum { PIECE_BYTES_MAX = 32 << 10, PIECE_ALIGN = 64 };

/* Where the next piece begins, inside of its chunk; at the edge of one there is no room left. */
static _Atomic uintptr_t pool;

static uintptr_t chunk_up(uintptr_t address)
{
	return align_up(address, CHUNK_BYTES);
}

/* What can be taken from up to the next edge; 0: no memory. */
static uintptr_t chunk_new(void)
{
	struct place where = beside(2 * PIECE_BYTES_MAX, CHUNK_BYTES);
	uintptr_t begin = (uintptr_t)map_own(where);
	uintptr_t end = where.end;

	if (begin && begin != where.begin) {
		/* Another place has edges elsewhere. */
		rt_munmap_sparse((void *)begin, where.end - where.begin);
		begin = (uintptr_t)map_own((struct place){ 0, (size_t)2 * CHUNK_BYTES });
		end = (begin + (size_t)2 * CHUNK_BYTES) & ~(uintptr_t)(CHUNK_BYTES - 1);
	}
	return begin && end - begin > CHUNK_BYTES ? end - CHUNK_BYTES : begin;
}

/* Whole pages are not shared with others. */
static uintptr_t piece_begin(uintptr_t at, size_t bytes)
{
	return bytes < LEDGER_PAGE_BYTES ? at : rt_page_up(at);
}

static size_t piece_bytes(size_t bytes)
{
	return bytes < LEDGER_PAGE_BYTES ? align_up(bytes, PIECE_ALIGN) : rt_page_up(bytes);
}

static void *piece_new(size_t bytes)
{
	uintptr_t at = rt_load(&pool);

	bytes = piece_bytes(bytes);
	for (;;) {
		uintptr_t begin = piece_begin(at, bytes);
		uintptr_t chunk = 0;

		if (chunk_up(begin + bytes) != chunk_up(at) || at == chunk_up(at)) {
			chunk = chunk_new();
			if (!chunk)
				return NULL;
			begin = chunk;
		}
		if (atomic_compare_exchange_strong_explicit(
			    &pool, &at, begin + bytes, memory_order_relaxed, memory_order_relaxed))
			return (void *)begin;
		if (chunk)
			rt_munmap_sparse((void *)chunk, chunk_up(chunk + 1) - chunk);
	}
}

/* Its place in the chunk is lost: few are given back. */
static void piece_free(void *start, size_t bytes)
{
	if (bytes >= LEDGER_PAGE_BYTES)
		rt_give_back(start, rt_page_up(bytes));
}

void *rt_mmap(size_t bytes)
{
	void *start = bytes <= PIECE_BYTES_MAX ? piece_new(bytes) : NULL;

	if (start && bytes <= LEDGER_PAGE_BYTES)
		/* A table is read first, which would cost another page fault. */
		*(volatile char *)start = 0;
	if (!start) {
		start = map_own(beside(bytes, LEDGER_PAGE_BYTES));
		if (!start)
			return NULL;
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

void rt_give_back(void *start, size_t bytes)
{
	/* In the last page, if it is a part, stand others. */
	bytes &= ~(size_t)(LEDGER_PAGE_BYTES - 1);
	(void)rt_syscall3(SYS_madvise, (long)start, (long)bytes, MADV_DONTNEED);
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

uint64_t rt_now_about_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
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
