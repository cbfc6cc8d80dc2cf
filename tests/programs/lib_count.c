/* SPDX-License-Identifier: MIT */
/*
 * An independent count of a program's allocations, to compare a recording with: the next library's
 * functions with an atomic add in front, and nothing else. Counters live in a shared mapping of
 * $COUNT_PREFIX.<pid>.<n>, so they are complete however the process ends; n grows with every
 * exec. A forked child starts a file of its own; a vfork child counts to its parent.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The file's layout; the harness reads it as little-endian words. */
struct counts {
	char magic[8];
	uint64_t pid;
	uint64_t allocs, alloc_bytes, frees;
	uint64_t by_function[8];
	char exe[1024];
};

enum function { F_MALLOC, F_CALLOC, F_REALLOC, F_REALLOCARRAY, F_ALIGNED, F_FREE };

/* The program's own allocator may be another library's: jemalloc's blocks must not meet libc's. */
static struct {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *old, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	void (*free)(void *block);
} next;

/* Until the constructor has run, and when the file cannot be made, counts stay here. */
static struct counts early;
static struct counts *counts = &early;

/* Before the first call that is counted, and so while there is one thread. */
static void find_next(void)
{
	*(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next.memalign = dlsym(RTLD_NEXT, "memalign");
	*(void **)&next.valloc = dlsym(RTLD_NEXT, "valloc");
	*(void **)&next.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	*(void **)&next.free = dlsym(RTLD_NEXT, "free");
	*(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
	if (!next.malloc || !next.calloc || !next.realloc || !next.memalign || !next.free)
		abort();
}

#define NEXT(function) (next.malloc ? (void)0 : find_next(), next.function)

static inline void add(uint64_t *counter, uint64_t amount)
{
	__atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

static void *counted(void *block, size_t size, enum function function)
{
	if (!block)
		return NULL;
	add(&counts->allocs, 1);
	add(&counts->alloc_bytes, size);
	add(&counts->by_function[function], 1);
	return block;
}

static void count_free(void)
{
	add(&counts->frees, 1);
	add(&counts->by_function[F_FREE], 1);
}

void *malloc(size_t size)
{
	return counted(NEXT(malloc)(size), size, F_MALLOC);
}

void *calloc(size_t n, size_t size)
{
	return counted(NEXT(calloc)(n, size), n * size, F_CALLOC);
}

static void free_here(void *block)
{
	if (block)
		count_free();
	NEXT(free)(block);
}

void free(void *block)
{
	free_here(block);
}

/* C23's. */
void free_sized(void *block, size_t size);
void free_sized(void *block, size_t size)
{
	(void)size;
	free_here(block);
}

void free_aligned_sized(void *block, size_t alignment, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	free_here(block);
}

static void *resize(void *old, size_t size, enum function function)
{
	void *block = NEXT(realloc)(old, size);

	if (old && (block || size == 0))
		count_free();
	return counted(block, size, function);
}

void *realloc(void *old, size_t size)
{
	return resize(old, size, F_REALLOC);
}

void *reallocarray(void *old, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return resize(old, total, F_REALLOCARRAY);
}

void *memalign(size_t alignment, size_t size)
{
	return counted(NEXT(memalign)(alignment, size), size, F_ALIGNED);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	int saved = errno;
	void *block;

	if (alignment < sizeof(void *) || (alignment & (alignment - 1)))
		return EINVAL;
	block = memalign(alignment, size);
	errno = saved;
	if (!block)
		return ENOMEM;
	*ret_block = block;
	return 0;
}

void *valloc(size_t size)
{
	return counted(NEXT(valloc)(size), size, F_ALIGNED);
}

void *pvalloc(size_t size)
{
	return counted(NEXT(pvalloc)(size), size, F_ALIGNED);
}

/*
 * operator new and delete, for an allocator behind us that has its own: its malloc gives the
 * blocks. The reserved names: Itanium C++ ABI, 5.1.
 */
static void *new_block(size_t size, size_t alignment, const char *name)
{
	/* Two blocks of less could share a cell of seep's page map, which comes after us here. */
	size_t bytes = size < 16 ? 16 : size;
	void *block = alignment ? NEXT(memalign)(alignment, bytes) : NEXT(malloc)(bytes);
	void *(*other)(size_t, size_t);

	if (block)
		return counted(block, size, alignment ? F_ALIGNED : F_MALLOC);
	/* It throws, or ends in NULL. */
	*(void **)&other = dlsym(RTLD_NEXT, name);
	return other ? other(size, alignment) : NULL;
}

#define NEW(name)                                 \
	void *name(size_t size)                   \
	{                                         \
		return new_block(size, 0, #name); \
	}
#define NEW_ALIGNED(name)                                 \
	void *name(size_t size, size_t alignment)         \
	{                                                 \
		return new_block(size, alignment, #name); \
	}
#define DELETE(name)              \
	void name(void *block)    \
	{                         \
		free_here(block); \
	}

/* What follows the block in the arguments of delete is not looked at. */
NEW(_Znwm)
NEW(_Znam)
NEW(_ZnwmRKSt9nothrow_t)
NEW(_ZnamRKSt9nothrow_t)
NEW_ALIGNED(_ZnwmSt11align_val_t)
NEW_ALIGNED(_ZnamSt11align_val_t)
NEW_ALIGNED(_ZnwmSt11align_val_tRKSt9nothrow_t)
NEW_ALIGNED(_ZnamSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)

static int create(const char *prefix)
{
	char path[4096];
	int n, fd;

	for (n = 0; n < 1000; n++) {
		(void)snprintf(path, sizeof(path), "%s.%d.%d", prefix, (int)getpid(), n);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static struct counts *map_new(void)
{
	const char *prefix = getenv("COUNT_PREFIX");
	struct counts *map;
	int fd = prefix ? create(prefix) : -1;

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, sizeof(*map)) != 0) {
		(void)close(fd);
		return NULL;
	}
	map = (struct counts *)mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (map == MAP_FAILED)
		return NULL;
	memcpy(map->magic, "counts1", 8);
	map->pid = (uint64_t)getpid();
	if (readlink("/proc/self/exe", map->exe, sizeof(map->exe) - 1) < 0)
		map->exe[0] = '?';
	return map;
}

static void start_child(void)
{
	int saved = errno;
	struct counts *map = map_new();

	memset(&early, 0, sizeof(early));
	counts = map ? map : &early;
	errno = saved;
}

/* Before other constructors, while there is one thread. */
__attribute__((constructor(101))) static void start(void)
{
	int saved = errno;
	struct counts *map = map_new();
	size_t i;

	if (map) {
		map->allocs = early.allocs;
		map->alloc_bytes = early.alloc_bytes;
		map->frees = early.frees;
		for (i = 0; i < sizeof(map->by_function) / sizeof(*map->by_function); i++)
			map->by_function[i] = early.by_function[i];
		counts = map;
	}
	(void)pthread_atfork(NULL, NULL, start_child);
	errno = saved;
}
