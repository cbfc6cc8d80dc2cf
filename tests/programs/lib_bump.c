/* SPDX-License-Identifier: MIT */
/*
 * An allocator that may be interrupted anywhere and entered again: blocks come from a static
 * area by one atomic add and are never used twice. Preloaded after the profiler it lets a signal
 * handler allocate while malloc itself is on the stack. What it handed out is written at the end to
 * $BUMP_FILE.<program>, so that a tool in front of the program does not overwrite it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEADER = 16 };

static const size_t area_bytes = (size_t)4 << 30;
static char *area;
static size_t used;
static unsigned long long allocs, bytes_given, frees;
static int answers_allocate;

__attribute__((constructor)) static void choose(void)
{
	answers_allocate = getenv("BUMP_ANSWERS") != NULL;
}

static char *area_get(void)
{
	char *start = __atomic_load_n(&area, __ATOMIC_ACQUIRE), *none = NULL;

	if (start)
		return start;
	start = (char *)mmap(NULL, area_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		_exit(99);
	if (__atomic_compare_exchange_n(&area, &none, start, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return start;
	(void)munmap(start, area_bytes);
	return none;
}

static void *take(size_t alignment, size_t size)
{
	char *start = area_get();
	size_t need, offset;
	uintptr_t block;

	if (size > area_bytes / 4) {
		errno = ENOMEM;
		return NULL;
	}
	if (alignment < 16)
		alignment = 16;
	need = (HEADER + alignment + size + 15) & ~(size_t)15;
	offset = __atomic_fetch_add(&used, need, __ATOMIC_RELAXED);
	if (offset + need > area_bytes)
		_exit(98);
	block = ((uintptr_t)start + offset + HEADER + alignment - 1) & ~(alignment - 1);
	((size_t *)block)[-1] = size;
	__atomic_fetch_add(&allocs, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bytes_given, size, __ATOMIC_RELAXED);
	return (void *)block;
}

static size_t size_of(const void *block)
{
	return ((const size_t *)block)[-1];
}

void *malloc(size_t size)
{
	return take(16, size);
}

void free(void *block)
{
	if (block)
		__atomic_fetch_add(&frees, 1, __ATOMIC_RELAXED);
}

/* C23's: one calls another's symbol, for some blocks; what is neither has ended there. */
void free_sized(void *block, size_t size);
void free_sized(void *block, size_t size)
{
	if (block && size_of(block) != size)
		_exit(96);
	if (size % 2)
		free(block);
	else if (block)
		__atomic_fetch_add(&frees, 1, __ATOMIC_RELAXED);
}

void free_aligned_sized(void *block, size_t alignment, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	if ((uintptr_t)block % alignment)
		_exit(96);
	free_sized(block, size);
}

/* Fresh pages of the area are zero, and no block is used twice. */
void *calloc(size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return take(16, total);
}

void *realloc(void *old, size_t size)
{
	void *block;

	if (!old)
		return take(16, size);
	if (size == 0) {
		free(old);
		return NULL;
	}
	block = take(16, size);
	if (!block)
		return NULL;
	memcpy(block, old, size < size_of(old) ? size : size_of(old));
	free(old);
	return block;
}

void *reallocarray(void *old, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, total);
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
	return take(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return take(alignment, size);
}

int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	if (alignment < sizeof(void *) || (alignment & (alignment - 1)))
		return EINVAL;
	*ret_block = take(alignment, size);
	return *ret_block ? 0 : ENOMEM;
}

void *valloc(size_t size)
{
	return take(4096, size);
}

void *pvalloc(size_t size);
void *pvalloc(size_t size)
{
	return take(4096, size);
}

/* With BUMP_ANSWERS=allocating: by way of a block that it takes for the answer. */
size_t malloc_usable_size(void *block);
size_t malloc_usable_size(void *block)
{
	void *volatile scratch = answers_allocate ? malloc(24) : NULL;

	free(scratch);
	return block ? size_of(block) : 0;
}

__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("BUMP_FILE");
	char name[4096], text[200];
	int fd, length;

	if (!path)
		return;
	(void)snprintf(name, sizeof(name), "%s.%s", path, program_invocation_short_name);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	length = snprintf(text, sizeof(text), "allocs=%llu bytes=%llu frees=%llu\n", allocs,
			  bytes_given, frees);
	if (length > 0 && write(fd, text, (size_t)length) < 0)
		_exit(97);
	(void)close(fd);
}
