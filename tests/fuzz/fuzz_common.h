/* SPDX-License-Identifier: MIT */
/*
 * What the fuzzers share: a source of choices, system calls that fail when told to, and the bound
 * on what one input may cost. Each fuzzer is one program, so state is static.
 */
#ifndef SEEP_TESTS_FUZZ_COMMON_H
#define SEEP_TESTS_FUZZ_COMMON_H

#include "core/fnv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define FUZZ_UNUSED __attribute__((unused))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* ---- choices ------------------------------------------------------------------------------- */

struct fuzz_random {
	uint64_t state;
};

static FUZZ_UNUSED uint64_t fuzz_next(struct fuzz_random *random)
{
	uint64_t x = random->state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* 0 when @limit is 0. */
static FUZZ_UNUSED uint64_t fuzz_below(struct fuzz_random *random, uint64_t limit)
{
	return limit ? fuzz_next(random) % limit : 0;
}

/* How an input chooses what else happens to it, the same each time. */
static FUZZ_UNUSED uint64_t fuzz_hash(const uint8_t *data, size_t size)
{
	uint64_t hash = core_fnv_bytes(CORE_FNV_BASIS, data, size);

	return hash ^ hash >> 29;
}

/* A word that a reader might trip over, given the one that stands there and a count it knows. */
static FUZZ_UNUSED uint64_t fuzz_word(struct fuzz_random *random, uint64_t old, uint64_t count)
{
	switch (fuzz_below(random, 10)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return old ^ 1ull << fuzz_below(random, 64);
	case 3:
		return old + fuzz_below(random, 5) - 2;
	case 4:
		return count + fuzz_below(random, 3) - 1;
	case 5:
		return 1ull << fuzz_below(random, 64);
	case 6:
		return (1ull << fuzz_below(random, 64)) - 1;
	case 7:
		return fuzz_next(random);
	default:
		return fuzz_below(random, count + 2);
	}
}

/* ---- system calls that fail ------------------------------------------------------------------ */

/* Calls that still succeed; below 0: all do. */
static int fuzz_calls_left = -1;
static int fuzz_errno;

static FUZZ_UNUSED void fuzz_fail_calls(uint64_t choice)
{
	static const int errors[] = { EIO, EACCES, ENOMEM, EINTR, ENOENT, ENXIO };

	fuzz_calls_left = (int)(choice % 24);
	fuzz_errno = errors[choice / 24 % (sizeof(errors) / sizeof(errors[0]))];
}

static FUZZ_UNUSED void fuzz_let_calls_succeed(void)
{
	fuzz_calls_left = -1;
}

/* One call in each run fails; what follows, a repetition or the clearing up, succeeds. */
static bool fuzz_fails(void)
{
	if (fuzz_calls_left < 0 || fuzz_calls_left-- > 0)
		return false;
	errno = fuzz_errno;
	return true;
}

/* The linker puts these in front of the tool's calls: see FUZZ_WRAPPED in CMakeLists.txt. */
ssize_t __real_pread(int fd, void *buffer, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t at)
{
	return fuzz_fails() ? -1 : __real_pread(fd, buffer, bytes, at);
}

ssize_t __real_read(int fd, void *buffer, size_t bytes);
ssize_t __wrap_read(int fd, void *buffer, size_t bytes);
ssize_t __wrap_read(int fd, void *buffer, size_t bytes)
{
	return fuzz_fails() ? -1 : __real_read(fd, buffer, bytes);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	return fuzz_fails() ? -1 : __real_open(path, flags, mode);
}

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return fuzz_fails() ? MAP_FAILED : __real_mmap(at, bytes, protection, flags, fd, offset);
}

int __real_fstat(int fd, struct stat *about);
int __wrap_fstat(int fd, struct stat *about);
int __wrap_fstat(int fd, struct stat *about)
{
	return fuzz_fails() ? -1 : __real_fstat(fd, about);
}

off_t __real_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence)
{
	return fuzz_fails() ? -1 : __real_lseek(fd, offset, whence);
}

/* What is read of a result, so that the compiler lets it be read. */
static FUZZ_UNUSED volatile size_t fuzz_length;

/* ---- bounds ---------------------------------------------------------------------------------- */

enum { FUZZ_CPU_MAX_S = 2 };

static struct timespec fuzz_began;

static FUZZ_UNUSED void fuzz_begin(void)
{
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &fuzz_began);
}

/*
 * Processor time, since other programs run beside; libFuzzer's own -timeout is for what waits, its
 * -rss_limit_mb for memory.
 */
static FUZZ_UNUSED void fuzz_end(void)
{
	struct timespec now;
	double spent;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	spent = (double)(now.tv_sec - fuzz_began.tv_sec) +
		1e-9 * (double)(now.tv_nsec - fuzz_began.tv_nsec);
	if (spent < FUZZ_CPU_MAX_S)
		return;
	(void)fprintf(stderr, "this input took %.1f s of processor time\n", spent);
	abort();
}

/* ---- files ----------------------------------------------------------------------------------- */

static char fuzz_path[64];

static void fuzz_remove_file(void)
{
	(void)unlink(fuzz_path);
}

/* Write the input where the reader expects a file: fuzz_path. */
static FUZZ_UNUSED void fuzz_write_file(const uint8_t *data, size_t size)
{
	FILE *file;

	if (!*fuzz_path) {
		(void)snprintf(fuzz_path, sizeof(fuzz_path), "/dev/shm/seep_fuzz.%d",
			       (int)getpid());
		(void)atexit(fuzz_remove_file);
	}
	file = fopen(fuzz_path, "w");
	if (!file || (size && fwrite(data, 1, size, file) != size) || fclose(file) != 0) {
		perror(fuzz_path);
		_exit(1);
	}
}

#endif
