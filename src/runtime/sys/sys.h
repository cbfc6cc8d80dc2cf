/* SPDX-License-Identifier: MIT */
/*
 * System calls made directly: no errno, no cancellation points, no lazy binding, callable from
 * the middle of malloc. Each returns what the kernel returns: a value or a negative errno.
 */
#ifndef SEEP_RUNTIME_SYS_H
#define SEEP_RUNTIME_SYS_H

#include "runtime/rt.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

/* Any call that we made would kill: none is made, and all fail with EPERM. */
extern RT_HIDDEN _Atomic bool rt_is_strict;
/* The program has entered a sandbox: a call that it does not make itself may kill. */
extern RT_HIDDEN _Atomic bool rt_is_confined;

static inline long rt_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret = -1; /* EPERM */
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	if (RT_UNLIKELY(rt_load(&rt_is_strict)))
		return ret;
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static inline long rt_syscall3(long nr, long a, long b, long c)
{
	return rt_syscall6(nr, a, b, c, 0, 0, 0);
}

/*
 * Private anonymous memory without reservation, zeroed; NULL on failure. At a multiple of 64, what
 * is a page or more in pages of its own. Counted in private_bytes, and noted as the library's own
 * (rt_facts.h). What is small is taken from a pool, and what is less so lies side by side:
 * thousands of threads have some each, and it is to be few ranges, and few mappings of the kernel's
 * too. Between all of it and the program's own memory lies some that nobody can access, so that a
 * program that writes beyond its blocks dies of that as it would without us. What is unmapped
 * becomes such memory.
 */
void *rt_mmap(size_t bytes);
void rt_munmap(void *start, size_t bytes);

/* The same for memory of which little will be touched: the caller counts what is. */
void *rt_mmap_sparse(size_t bytes);
void rt_munmap_sparse(void *start, size_t bytes);

/* The same for a leaf of the page map. */
void *rt_mmap_leaf(size_t bytes);

/* So much more private memory than before, or less. What a forked child was given counts as its own. */
void rt_count_private(int64_t bytes);

/* Without access, on both sides of what is mapped apart. */
enum { RT_GUARD_BYTES = 64 << 10 };

/* Zeros, or the whole of a file, shared, between guards of its own; unmapped, its place is free. */
void *rt_map_alone(size_t bytes);
void *rt_map_file(int fd, size_t bytes);
void rt_unmap_alone(void *start, size_t bytes);

/*
 * Memory for the length of one rare call, which would be too much for a stack that may be tiny: @bytes
 * that hold anything, at a multiple of 16; NULL: no memory. Any thread, any signal, no lock: pieces lie
 * in a few places, and whoever takes one leaves the place empty. One that is left by longjmp, or by a
 * fork of another thread, is lost. Giving NULL back is nothing.
 */
void *rt_scratch_take(size_t bytes);
void rt_scratch_give(void *scratch);

/* Of this process: the soft limit, RLIM_INFINITY if there is none. */
uint64_t rt_limit_of(int resource);

/*
 * Of a mapped table all but the first @keep bytes read zero from now on, and whole pages of that
 * go back to the kernel if it lets them. The table stays mapped: readers that hold it find nothing
 * in it. Both figures are multiples of 8.
 */
void rt_empty_table(void *table, size_t keep, size_t bytes);

/* Open read-only and read at most @max - 1 bytes; terminates. Returns the length or < 0. */
long rt_read_file(const char *path, char *buffer, size_t max);

/*
 * @path from the root on: itself, or in @buffer of @max bytes, where it is relative to the present
 * working directory. NULL: too long, or that has no path, as one out of reach.
 */
const char *rt_absolute_path(const char *path, char *buffer, size_t max);

uint32_t rt_getpid(void);
uint32_t rt_gettid(void);

/* Where a filter of the program's refuses getpid: right in a process's first thread. */
uint32_t rt_getpid_or_tid(void);

/* No thread of the process @pid has the id @tid (any more). */
bool rt_is_gone(uint32_t pid, uint32_t tid);

/*
 * The vDSO's clock_gettime(), which makes no system call where the kernel has a clock for that. Set
 * at the start; NULL: there is none. libc's may be another library's, that says another time and
 * takes locks.
 */
typedef int rt_clock(clockid_t clock, struct timespec *ret);
extern RT_HIDDEN rt_clock *rt_vdso_clock;

/* Reading the processor's own counter is forbidden: times are up to some milliseconds late. */
extern RT_HIDDEN _Atomic bool rt_clock_is_coarse;

/* CLOCK_MONOTONIC and CLOCK_REALTIME. */
uint64_t rt_now_ns(void);
/* The first one where a call is a good part of what it costs. */
RT_INLINE uint64_t rt_now_quickly_ns(void)
{
	struct timespec now;

	if (RT_UNLIKELY(!rt_vdso_clock) || RT_UNLIKELY(rt_load(&rt_clock_is_coarse)) ||
	    RT_UNLIKELY(rt_vdso_clock(CLOCK_MONOTONIC, &now) != 0))
		return rt_now_ns();
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
uint64_t rt_realtime_ns(void);
/* For how long this thread has run: a system call. */
uint64_t rt_cpu_ns(void);

/* Wait on a futex shared between processes; wake all who do. Returns as the kernel does. */
long rt_futex_wait(void *word, uint32_t expected, uint32_t timeout_us);
void rt_futex_wake(void *word);

/*
 * All parts one after the other, in @into of @max bytes, terminated. False: they are too long, and
 * cut.
 */
#define rt_text(into, max, ...) \
	rt_text_parts((into), (max), (const char *const[]){ __VA_ARGS__, NULL })
bool rt_text_parts(char *into, size_t max, const char *const *parts);

/* @value in @base, 10 or 16: the end of @buffer. */
enum { RT_DIGITS_BYTES = 21 };
const char *rt_digits(uint64_t value, unsigned base, char buffer[RT_DIGITS_BYTES]);

/* Control characters in @text become '?'. Returns its end. */
char *rt_make_printable(char *text);

/* For the one-line messages of a misconfiguration: write(2) to standard error, whole. */
#define rt_say(...) rt_say_parts((const char *const[]){ __VA_ARGS__, NULL })
void rt_say_parts(const char *const *parts);

#endif
