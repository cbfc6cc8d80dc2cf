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

/* Linux 5.14; the C library's headers may be older. */
enum { RT_MADV_POPULATE_READ = 22, RT_MADV_POPULATE_WRITE = 23 };

static inline long rt_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

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
 * too.
 */
void *rt_mmap(size_t bytes);
void rt_munmap(void *start, size_t bytes);

/* The same for memory of which little will be touched: the caller counts what is. */
void *rt_mmap_sparse(size_t bytes);
void rt_munmap_sparse(void *start, size_t bytes);

/* The same for a leaf of the page map: not noted as the library's own. */
void *rt_mmap_leaf(size_t bytes);

/*
 * Of a mapped table all but the first @keep bytes read zero from now on, and whole pages of that
 * go back to the kernel if it lets them. The table stays mapped: readers that hold it find nothing
 * in it. Both figures are multiples of 8.
 */
void rt_empty_table(void *table, size_t keep, size_t bytes);

/*
 * The whole pages of a variable with RT_LARGE that has served for now: they are zero again. What is
 * used at the start only would be copied at each fork.
 */
void rt_give_back(void *start, size_t bytes);

/* Open read-only and read at most @max - 1 bytes; terminates. Returns the length or < 0. */
long rt_read_file(const char *path, char *buffer, size_t max);

uint32_t rt_getpid(void);
uint32_t rt_gettid(void);

/* Where a filter of the program's refuses getpid: right in a process's first thread. */
uint32_t rt_getpid_or_tid(void);

/* No thread of the process @pid has the id @tid (any more). */
bool rt_is_gone(uint32_t pid, uint32_t tid);

/* While it is not 0, rt_now_ns() says this: what is recorded is of that time. */
extern RT_HIDDEN uint64_t rt_now_stands_ns;

/*
 * The vDSO's clock_gettime(), which makes no system call where the kernel has a clock for that. Set
 * at the start; NULL: there is none. libc's may be another library's, that says another time and
 * takes locks.
 */
typedef int rt_clock(clockid_t clock, struct timespec *ret);
extern RT_HIDDEN rt_clock *rt_vdso_clock;

/* CLOCK_MONOTONIC and CLOCK_REALTIME. */
uint64_t rt_now_ns(void);
uint64_t rt_realtime_ns(void);

/* CLOCK_MONOTONIC up to some milliseconds late, for a part of the time that it takes. */
uint64_t rt_now_about_ns(void);

/* Wait on a futex shared between processes; wake all who do, or one. Return as the kernel does. */
long rt_futex_wait(void *word, uint32_t expected, uint32_t timeout_ms);
void rt_futex_wake(void *word);
long rt_futex_wake_one(void *word);

/* For the one-line messages of a misconfiguration: write(2) to standard error, whole. */
void rt_say(const char *const *parts);

#endif
