/* SPDX-License-Identifier: MIT */
// build: -O1 -lpthread
/*
 * busy_truth FILE [milliseconds [seed]]
 *
 * A busy program that may be killed at any instruction and still tells what it did: its counts
 * per process, thread and site lie in FILE, mapped shared. Before an operation the thread writes
 * down what it is about to change and makes its sequence odd; after it, it changes the counts and
 * makes the sequence even. So a reader knows the truth but for one operation per thread. Threads
 * churn and hand blocks to each other, take thousands of new call paths in bursts (PHASE_GROW),
 * end and start again; the main thread forks (PHASE_FORK), and the children do the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SITES = 8,
	THREADS = 6, /* 0 is the main thread */
	PROCESSES = 32,
	POOL = 256,
	MAILBOX = 64,
	PATHS = 16,
	MAX_GROWN = 12000, /* call paths taken in bursts by one process and its children */
	CHILD_THREADS = 3,
	MAX_FAMILY = 3, /* the children of children do not fork */
};

enum phase { PHASE_NONE, PHASE_CHURN, PHASE_GROW, PHASE_FORK };

/* ---- the shared file: test_kill.py reads this layout ----------------------------------------- */

struct counts {
	uint64_t allocs, bytes, frees, freed_bytes;
};

/* One site's part of the operation in progress; site SITES = a block of the parent process. */
struct pending {
	uint64_t site;
	struct counts before, after;
};

struct thread_truth {
	_Atomic uint64_t sequence; /* odd while an operation is in progress */
	_Atomic uint64_t phase;
	uint64_t pending_count;
	struct pending pending[2];
	struct counts sites[SITES + 1];
};

struct process_truth {
	_Atomic uint64_t pid;
	_Atomic uint64_t parent;
	_Atomic uint64_t ended; /* 1 + status, stored just before _exit */
	uint64_t unused;
	struct thread_truth threads[THREADS];
};

struct truth_file {
	uint64_t magic;
	uint64_t sites, threads, processes;
	_Atomic uint64_t used;
	uint64_t unused[3];
	struct process_truth process[PROCESSES];
};

_Static_assert(sizeof(struct pending) == 72, "test_kill.py");
_Static_assert(sizeof(struct thread_truth) == 24 + 2 * 72 + (SITES + 1) * 32, "test_kill.py");

/* ---- state ----------------------------------------------------------------------------------- */

struct header {
	uint32_t site;
	uint32_t pid;
	uint64_t bytes;
};

struct worker {
	struct thread_truth *truth;
	uint64_t random;
	uint32_t index;
	struct header *pool[POOL];
	pthread_t thread;
};

static struct truth_file *file;
static struct process_truth *process;
static struct worker workers[THREADS];
static _Atomic(struct header *) mailbox[MAILBOX];
static uint32_t own_pid;
static _Atomic uint32_t grown;
static int family; /* 0 in the first process */
static uint64_t end_ns;
static uint64_t seed = 1;
static __thread struct worker *self;

static void die(const char *what)
{
	perror(what);
	_exit(3);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t draw(struct worker *w, uint32_t below)
{
	uint64_t x = w->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	w->random = x;
	return (uint32_t)(((x * 0x2545f4914f6cdd1dull) >> 32) * below >> 32);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* x86 keeps stores in order; only the compiler has to be told. */
static inline void in_order(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

static void plan(struct thread_truth *t, uint32_t site, struct counts change)
{
	struct pending *p = &t->pending[t->pending_count++];
	struct counts now = t->sites[site];

	/* A realloc within one site changes it twice: both parts in one entry. */
	if (t->pending_count == 2 && t->pending[0].site == site) {
		p = &t->pending[0];
		now = p->after;
		t->pending_count = 1;
	} else {
		p->site = site;
		p->before = now;
	}
	now.allocs += change.allocs;
	now.bytes += change.bytes;
	now.frees += change.frees;
	now.freed_bytes += change.freed_bytes;
	p->after = now;
}

static void plan_free(struct thread_truth *t, const struct header *block)
{
	struct counts change = { 0, 0, 1, block->bytes };

	plan(t, block->pid == own_pid ? block->site : SITES, change);
}

static void begin(struct thread_truth *t)
{
	in_order();
	atomic_store_explicit(&t->sequence, t->sequence + 1, memory_order_relaxed);
	in_order();
}

static void finish(struct thread_truth *t)
{
	in_order();
	for (uint64_t i = 0; i < t->pending_count; i++)
		t->sites[t->pending[i].site] = t->pending[i].after;
	in_order();
	atomic_store_explicit(&t->sequence, t->sequence + 1, memory_order_relaxed);
	in_order();
	t->pending_count = 0;
}

static struct header *label(struct header *block, uint32_t site, size_t bytes)
{
	if (!block)
		die("allocation");
	block->site = site;
	block->pid = own_pid;
	block->bytes = bytes;
	return block;
}

static void plan_alloc(struct thread_truth *t, uint32_t site, size_t bytes)
{
	struct counts change = { 1, bytes, 0, 0 };

	plan(t, site, change);
}

/* Each site is a function of its own name that stays on the call stack. */
#define SITE(n, expression)                                                       \
	__attribute__((noipa, used)) static struct header *site_##n(size_t bytes) \
	{                                                                         \
		struct thread_truth *t = self->truth;                             \
		struct header *block;                                             \
                                                                                  \
		plan_alloc(t, n, bytes);                                          \
		begin(t);                                                         \
		block = (expression);                                             \
		finish(t);                                                        \
		return label(block, n, bytes);                                    \
	}

static struct header *take_aligned(size_t bytes)
{
	void *block = NULL;

	return posix_memalign(&block, 256, bytes) ? NULL : block;
}

SITE(0, malloc(bytes))
SITE(1, malloc(bytes))
SITE(2, calloc(1, bytes))
SITE(3, calloc(bytes, 1))
SITE(4, aligned_alloc(64, bytes))
SITE(5, take_aligned(bytes))
SITE(6, realloc(NULL, bytes))

__attribute__((noipa, used)) static struct header *site_7(struct header *old, size_t bytes)
{
	struct thread_truth *t = self->truth;
	struct header *block;

	plan_free(t, old);
	plan_alloc(t, 7, bytes);
	begin(t);
	block = realloc(old, bytes);
	finish(t);
	return label(block, 7, bytes);
}

static struct header *(*const sites[])(size_t) = { site_0, site_1, site_2, site_3,
						   site_4, site_5, site_6 };

__attribute__((noipa)) static void drop(struct header *block)
{
	struct thread_truth *t = self->truth;

	plan_free(t, block);
	begin(t);
	free(block);
	finish(t);
}

static size_t draw_bytes(struct worker *w)
{
	size_t bytes = sizeof(struct header) + draw(w, draw(w, 8) ? 200 : 3000);

	return draw(w, 2000) ? bytes : bytes + draw(w, 400000);
}

__attribute__((noipa)) static void operate(struct worker *w)
{
	struct header **slot = &w->pool[draw(w, POOL)];
	size_t bytes = draw_bytes(w);

	if (*slot && draw(w, 8) == 0) {
		*slot = site_7(*slot, bytes);
	} else {
		if (*slot)
			drop(*slot);
		*slot = sites[draw(w, 7)](bytes);
	}
	if (draw(w, 4) == 0)
		*slot = atomic_exchange_explicit(&mailbox[draw(w, MAILBOX)], *slot,
						 memory_order_acq_rel);
}

/* ---- new call paths -------------------------------------------------------------------------- */

static void path(struct worker *w, uint64_t route, int depth);

#define PATH(n)                                                                                  \
	__attribute__((noipa)) static void path_##n(struct worker *w, uint64_t route, int depth) \
	{                                                                                        \
		path(w, route, depth);                                                           \
		__asm__ volatile("" ::"i"(n) : "memory");                                        \
	}

PATH(0)
PATH(1)
PATH(2)
PATH(3)
PATH(4)
PATH(5)
PATH(6)
PATH(7)
PATH(8)
PATH(9)
PATH(10)
PATH(11)
PATH(12)
PATH(13)
PATH(14)
PATH(15)

__attribute__((noipa)) static void path(struct worker *w, uint64_t route, int depth)
{
	static void (*const paths[PATHS])(struct worker *, uint64_t, int) = {
		path_0, path_1, path_2,	 path_3,  path_4,  path_5,  path_6,  path_7,
		path_8, path_9, path_10, path_11, path_12, path_13, path_14, path_15,
	};

	if (depth == 0)
		operate(w);
	else
		paths[route % PATHS](w, route / PATHS, depth - 1);
	__asm__ volatile("" ::: "memory");
}

static void grow(struct worker *w)
{
	uint32_t count = 300 + draw(w, 500);

	/* Bounded, or reading the ledgers takes longer than making them. */
	if (atomic_fetch_add_explicit(&grown, count, memory_order_relaxed) > MAX_GROWN)
		return;
	atomic_store_explicit(&w->truth->phase, PHASE_GROW, memory_order_relaxed);
	for (; count > 0; count--) {
		uint64_t route = (uint64_t)draw(w, UINT32_MAX) << 32 | draw(w, UINT32_MAX);

		path(w, route, 3 + (int)draw(w, 8));
	}
	atomic_store_explicit(&w->truth->phase, PHASE_CHURN, memory_order_relaxed);
}

/* ---- threads and processes ------------------------------------------------------------------- */

static void work(struct worker *w, uint32_t rounds)
{
	self = w;
	for (uint32_t i = 0; i < rounds && now_ns() < end_ns; i++) {
		for (uint32_t n = 500 + draw(w, 4000); n > 0; n--)
			operate(w);
		if (draw(w, 60) == 0)
			grow(w);
	}
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	work(w, 1 + draw(w, 60));
	return NULL;
}

static void worker_start(struct worker *w)
{
	int rc = pthread_create(&w->thread, NULL, worker_main, w);

	if (rc) {
		errno = rc;
		die("pthread_create");
	}
}

/* Takes a place in the file before the process's first operation. */
static void process_begin(void)
{
	uint64_t at = atomic_fetch_add_explicit(&file->used, 1, memory_order_relaxed);

	if (at >= PROCESSES)
		_exit(0);
	process = &file->process[at];
	own_pid = (uint32_t)getpid();
	process->parent = (uint64_t)getppid();
	process->pid = own_pid;
	for (uint32_t i = 0; i < THREADS; i++) {
		struct worker *w = &workers[i];

		w->truth = &process->threads[i];
		w->index = i;
		w->random = (seed * 1000003u + at * 131u + i + 1) * 0x9e3779b97f4a7c15ull | 1;
		(void)draw(w, 2);
	}
	self = &workers[0];
}

static void process_end(int status)
{
	process->ended = 1 + (uint64_t)status;
	if (family)
		_exit(status);
}

static void child_main(void);

static void fork_child(struct worker *w)
{
	pid_t pid;

	if (file->used >= PROCESSES || family >= MAX_FAMILY)
		return;
	atomic_store_explicit(&w->truth->phase, PHASE_FORK, memory_order_relaxed);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0)
		child_main();
	atomic_store_explicit(&w->truth->phase, PHASE_CHURN, memory_order_relaxed);
}

static void run_process(uint32_t thread_count, uint32_t rounds)
{
	struct worker *w = &workers[0];

	for (uint32_t i = 1; i < thread_count; i++)
		worker_start(&workers[i]);
	for (uint32_t round = 0; round < rounds && now_ns() < end_ns; round++) {
		uint32_t other = 1 + draw(w, thread_count - 1);

		work(w, 1 + draw(w, 3));
		if (draw(w, 20) == 0)
			fork_child(w);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		/* A thread that starts takes over what an ended one left in its counters. */
		if (pthread_tryjoin_np(workers[other].thread, NULL) == 0)
			worker_start(&workers[other]);
	}
	for (uint32_t i = 1; i < thread_count; i++)
		pthread_join(workers[i].thread, NULL);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	process_end(0);
}

static void child_main(void)
{
	family++;
	/* Other threads were cut off somewhere in an operation: their slots may hold freed blocks.
	 * What lies in the mailbox is whole. */
	for (uint32_t i = 1; i < THREADS; i++)
		memset(workers[i].pool, 0, sizeof(workers[i].pool));
	process_begin();
	run_process(CHILD_THREADS, 4 + draw(self, 12));
	_exit(0);
}

static void map_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		die(path);
	if (ftruncate(fd, sizeof(struct truth_file)))
		die("ftruncate");
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		die("mmap");
	close(fd);
	file->sites = SITES;
	file->threads = THREADS;
	file->processes = PROCESSES;
	in_order();
	file->magic = 0x3168747572747962; /* "bytruth1" */
}

static void print_truth(void)
{
	struct counts sum[SITES + 1] = { 0 };

	for (uint32_t i = 0; i < THREADS; i++)
		for (uint32_t s = 0; s <= SITES; s++) {
			const struct counts *c = &process->threads[i].sites[s];

			sum[s].allocs += c->allocs;
			sum[s].bytes += c->bytes;
			sum[s].frees += c->frees;
			sum[s].freed_bytes += c->freed_bytes;
		}
	for (uint32_t s = 0; s < SITES; s++)
		printf("truth site_%u allocs=%llu bytes=%llu frees=%llu freed_bytes=%llu\n", s,
		       (unsigned long long)sum[s].allocs, (unsigned long long)sum[s].bytes,
		       (unsigned long long)sum[s].frees, (unsigned long long)sum[s].freed_bytes);
}

int main(int argc, char **argv)
{
	uint64_t milliseconds = argc > 2 ? strtoull(argv[2], NULL, 0) : 10000;

	if (argc < 2) {
		fprintf(stderr, "usage: busy_truth FILE [milliseconds [seed]]\n");
		return 2;
	}
	if (argc > 3)
		seed = strtoull(argv[3], NULL, 0);
	map_file(argv[1]);
	end_ns = now_ns() + milliseconds * 1000000u;
	process_begin();
	run_process(THREADS, UINT32_MAX);
	print_truth();
	return 0;
}
