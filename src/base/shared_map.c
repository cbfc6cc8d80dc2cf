/* SPDX-License-Identifier: MIT */
/*
 * The handler walks a list while other threads add to it. So guards are never freed, only used
 * again, and an entry counts while its base is not 0.
 */
#include "base/shared_map.h"

#include "base/xalloc.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

struct seep_map_guard {
	struct seep_map_guard *next; /* constant once it is in the list */
	_Atomic uintptr_t base;	     /* 0: not in use. Stored last, cleared first */
	_Atomic uintptr_t end;	     /* a multiple of the page size */
	_Atomic int protection;
	_Atomic bool cut;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* leaf; guards what is not atomic */
static struct seep_map_guard *_Atomic guards;
static size_t used_count;
static struct sigaction held; /* what SIGBUS did before */
static uintptr_t page_bytes;

static struct seep_map_guard *find_guard(uintptr_t at)
{
	struct seep_map_guard *guard = atomic_load_explicit(&guards, memory_order_acquire);

	for (; guard; guard = guard->next) {
		uintptr_t base = atomic_load_explicit(&guard->base, memory_order_acquire);
		uintptr_t end = atomic_load_explicit(&guard->end, memory_order_acquire);

		/* Looked at again: it may have become another mapping's in between. */
		if (base != 0 && at >= base && at < end &&
		    atomic_load_explicit(&guard->base, memory_order_relaxed) == base)
			return guard;
	}
	return NULL;
}

static bool put_zeros(struct seep_map_guard *guard, uintptr_t at)
{
	uintptr_t page = at & ~(page_bytes - 1);
	uintptr_t end = atomic_load_explicit(&guard->end, memory_order_relaxed);
	int protection = atomic_load_explicit(&guard->protection, memory_order_relaxed);

	atomic_store_explicit(&guard->cut, true, memory_order_release);
	return mmap((void *)page, end - page, protection,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	const int errno_before = errno;
	const uintptr_t at = (uintptr_t)info->si_addr;
	/* Codes of 0 and below are of those that were sent; they have no address. */
	struct seep_map_guard *guard = info->si_code > 0 ? find_guard(at) : NULL;

	(void)context;
	if (!guard || !put_zeros(guard, at)) {
		(void)sigaction(number, &held, NULL);
		(void)raise(number);
	}
	errno = errno_before;
}

static int install(struct seep_error *err)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	(void)sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, &held) == 0
		       ? 0
		       : seep_fail_errno(err, errno, "cannot handle SIGBUS");
}

static struct seep_map_guard *new_guard(void)
{
	struct seep_map_guard *guard = atomic_load_explicit(&guards, memory_order_relaxed);

	while (guard && atomic_load_explicit(&guard->base, memory_order_relaxed) != 0)
		guard = guard->next;
	if (guard)
		return guard;
	guard = seep_xcalloc(1, sizeof(*guard));
	guard->next = atomic_load_explicit(&guards, memory_order_relaxed);
	atomic_store_explicit(&guards, guard, memory_order_release);
	return guard;
}

/* NULL: SIGBUS cannot be handled. */
static struct seep_map_guard *set_guard(void *at, size_t bytes, int protection,
					struct seep_error *err)
{
	struct seep_map_guard *guard = NULL;

	(void)pthread_mutex_lock(&lock);
	if (used_count > 0 || install(err) == 0) {
		used_count++;
		guard = new_guard();
		atomic_store_explicit(&guard->cut, false, memory_order_relaxed);
		atomic_store_explicit(&guard->protection, protection, memory_order_relaxed);
		atomic_store_explicit(&guard->end,
				      ((uintptr_t)at + bytes + page_bytes - 1) & ~(page_bytes - 1),
				      memory_order_relaxed);
		atomic_store_explicit(&guard->base, (uintptr_t)at, memory_order_release);
	}
	(void)pthread_mutex_unlock(&lock);
	return guard;
}

int seep_shared_map_open(int fd, size_t bytes, bool writable, struct seep_shared_map *ret_map,
			 struct seep_error *err)
{
	struct seep_shared_map map = { .bytes = bytes };
	int protection = PROT_READ | (writable ? PROT_WRITE : 0);

	map.at = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
	if (map.at == MAP_FAILED)
		return seep_fail_errno(err, errno, "cannot map");
	map.guard = set_guard(map.at, bytes, protection, err);
	if (!map.guard) {
		(void)munmap(map.at, bytes);
		return -SEEP_ESYS;
	}
	*ret_map = map;
	return 0;
}

bool seep_shared_map_is_cut(const struct seep_shared_map *map)
{
	return atomic_load_explicit(&map->guard->cut, memory_order_acquire);
}

void seep_shared_map_close(struct seep_shared_map *map)
{
	if (!map->at)
		return;
	/* First: another thread's mapping may come to lie at the same address at once. */
	atomic_store_explicit(&map->guard->base, 0, memory_order_release);
	(void)munmap(map->at, map->bytes);
	(void)pthread_mutex_lock(&lock);
	if (--used_count == 0)
		(void)sigaction(SIGBUS, &held, NULL);
	(void)pthread_mutex_unlock(&lock);
	*map = (struct seep_shared_map){ .at = NULL };
}
