/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * fork_rare HOW N: forks that once broke the parent, or lost what a child did.
 *   unload    one thread forks N times; another opens and closes a plugin, whose functions allocate
 *             in the children
 *   scribble  for N ms a child that has become another user writes random and chosen words into all
 *             that it shares with its parent, which allocates in 8 threads
 *   reach     such a child tries to reach more of what its parent counts in: by mremap(), by
 *             remap_file_pages(); the parent allocates N times
 *   acts      a child that acts for another user when it allocates first, and not when it ends
 *   ends      in N children a second thread allocates while the first one ends
 *   beside    a child's second thread allocates and frees N times while the first one's first
 *             allocation is under way
 *   unnoticed N children of a fork that calls no handlers: a second thread allocates first
 *   none      N children of one allocation each; the parent allocates nothing
 *   exits     the same as "none", and the children end by exit()
 *   inherited N children free 10 blocks of the parent's each, and do nothing else
 *   first     the same as "none", before any constructor has run
 */
#include <dlfcn.h>
#include <grp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "truth.h"

enum { WRITERS = 8, BYTES = 64, LIVE = 64, INHERITED = 10, RANGES = 64 };

TRUTH_MAKER(allocate, malloc(bytes));

static volatile int is_over;

static void wait_for(pid_t child)
{
	int status = -1;

	EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

/* The plugin's function while it is there: a child may call it, but not the loader. */
static void (*volatile all)(void);

static void *open_and_close(void *path)
{
	while (!is_over) {
		void *plugin = dlopen(path, RTLD_NOW);

		EXPECT(plugin != NULL);
		all = (void (*)(void))(uintptr_t)dlsym(plugin, "allocate_by_all");
		(void)usleep(100);
		all = NULL;
		EXPECT(dlclose(plugin) == 0);
	}
	return NULL;
}

static void unload(int forks)
{
	static char path[8192];
	pthread_t thread;

	(void)snprintf(path, sizeof(path), "%s", truth_beside("lib_many.so"));
	EXPECT(pthread_create(&thread, NULL, open_and_close, path) == 0);
	for (int i = 0; i < forks; i++) {
		pid_t child = fork();
		void (*call)(void) = all;

		if (child == 0) {
			if (call)
				call();
			_exit(0);
		}
		wait_for(child);
	}
	is_over = 1;
	EXPECT(pthread_join(thread, NULL) == 0);
}

static void *churn(void *unused)
{
	void *live[LIVE] = { 0 };

	for (unsigned i = 0; !is_over; i++) {
		void **block = &live[i % LIVE];

		if (*block)
			truth_freed(&site_allocate, BYTES + i % LIVE);
		free(*block);
		*block = allocate(BYTES + i % LIVE);
	}
	for (unsigned i = 0; i < LIVE; i++) {
		if (live[i])
			truth_freed(&site_allocate, BYTES + i);
		free(live[i]);
	}
	return unused;
}

struct range {
	uint64_t *begin;
	uint64_t *end;
};

/* Without a stream, which would allocate before the child is another user. */
static int shared_ranges(struct range *ranges)
{
	static char maps[1 << 18];
	int fd = open("/proc/self/maps", O_RDONLY), count = 0;
	ssize_t used = 0, got;

	while ((got = read(fd, maps + used, sizeof(maps) - 1 - (size_t)used)) > 0)
		used += got;
	(void)close(fd);
	for (char *line = strtok(maps, "\n"); line && count < RANGES; line = strtok(NULL, "\n")) {
		unsigned long begin, end;
		char mode[5];

		if (sscanf(line, "%lx-%lx %4s", &begin, &end, mode) == 3 && mode[1] == 'w' &&
		    mode[3] == 's')
			ranges[count++] = (struct range){ (uint64_t *)begin, (uint64_t *)end };
	}
	return count;
}

static void write_everywhere(long until_ms)
{
	static const uint64_t chosen[] = { 0, 1, UINT32_MAX, UINT64_MAX, 1ull << 63, 0x41414140 };
	struct range ranges[RANGES];
	int count = shared_ranges(ranges);
	uint64_t draw = 88172645463325252ull;
	struct timespec now;

	do {
		for (int i = 0; i < 100000 && count; i++) {
			const struct range *range = &ranges[draw % (unsigned)count];
			size_t words = (size_t)(range->end - range->begin);

			draw ^= draw << 13, draw ^= draw >> 7, draw ^= draw << 17;
			/* Most of a sparse file's pages nobody looks at. */
			if (words > 4096 && draw & 7)
				words = 4096;
			range->begin[draw / 64 % words] = draw & 32 ? draw : chosen[draw % 6];
		}
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until_ms);
}

static void become_nobody(void)
{
	/* By system calls: what libc's functions say to their hooks is not said. */
	if (syscall(SYS_setgroups, 0, NULL) == 0)
		(void)syscall(SYS_setresuid, 65534, 65534, 65534);
}

static void scribble(int milliseconds)
{
	pthread_t threads[WRITERS];
	struct timespec now;
	pid_t child;

	free(truth_hide_ptr(malloc(1)));
	child = fork();
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (child == 0) {
		become_nobody();
		write_everywhere(now.tv_sec * 1000 + now.tv_nsec / 1000000 + milliseconds);
		(void)syscall(SYS_exit_group, 0);
	}
	for (int i = 0; i < WRITERS; i++)
		EXPECT(pthread_create(&threads[i], NULL, churn, NULL) == 0);
	wait_for(child);
	is_over = 1;
	for (int i = 0; i < WRITERS; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void reach(int count)
{
	const size_t whole = (size_t)400 << 20;
	struct range ranges[RANGES];
	pid_t child;

	free(allocate(BYTES));
	truth_freed(&site_allocate, BYTES);
	child = fork();
	if (child == 0) {
		int found;

		become_nobody();
		found = shared_ranges(ranges);
		for (int i = 0; i < found; i++) {
			uint64_t *at = ranges[i].begin;
			const size_t bytes = (size_t)(ranges[i].end - at) * sizeof(*at);

			for (int page = 0; page < 4; page++)
				if (syscall(SYS_remap_file_pages, at, 4096, 0, page, 0) == 0)
					memset(at, 1, 4096);
			at = mremap(at, bytes, whole, MREMAP_MAYMOVE);
			/* Beyond the file's end this is a SIGBUS, its own affair. */
			if (at != MAP_FAILED)
				memset((char *)at + bytes, 1, whole - bytes);
		}
		(void)syscall(SYS_exit_group, 0);
	}
	(void)waitpid(child, NULL, 0);
	for (int i = 0; i < count; i++) {
		free(allocate(BYTES));
		truth_freed(&site_allocate, BYTES);
	}
}

static void acts(void)
{
	pid_t child;

	free(truth_hide_ptr(malloc(1)));
	child = fork();
	if (child == 0) {
		if (syscall(SYS_setresuid, -1, 65534, -1) != 0)
			_exit(0);
		free(truth_hide_ptr(malloc(BYTES)));
		(void)syscall(SYS_setresuid, -1, 0, -1);
		free(truth_hide_ptr(malloc(BYTES)));
		_exit(0);
	}
	wait_for(child);
}

static volatile int blocks_to_make, has_begun;

static void *make_blocks(void *unused)
{
	while (!has_begun)
		;
	(void)usleep(20000);
	for (int i = 0; i < blocks_to_make; i++) {
		free(allocate(BYTES));
		truth_freed(&site_allocate, BYTES);
	}
	return unused;
}

static void *begin_first(void *unused)
{
	has_begun = 1;
	free(allocate(BYTES));
	truth_freed(&site_allocate, BYTES);
	return unused;
}

static void *just_end(void *unused)
{
	return unused;
}

/* Stacks that the parent has are used again in the child: pthread_create() allocates nothing. */
static void leave_stacks(void)
{
	pthread_t threads[2];

	free(truth_hide_ptr(malloc(1)));
	for (int i = 0; i < 2; i++)
		EXPECT(pthread_create(&threads[i], NULL, just_end, NULL) == 0);
	for (int i = 0; i < 2; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void beside(int count)
{
	pthread_t threads[2];
	pid_t child;

	leave_stacks();
	child = fork();
	if (child == 0) {
		truth_reset();
		blocks_to_make = count;
		EXPECT(pthread_create(&threads[0], NULL, make_blocks, NULL) == 0);
		EXPECT(pthread_create(&threads[1], NULL, begin_first, NULL) == 0);
		for (int i = 0; i < 2; i++)
			EXPECT(pthread_join(threads[i], NULL) == 0);
		truth_print_child();
		_exit(truth_failures != 0);
	}
	wait_for(child);
}

static void unnoticed(int count)
{
	void *block = truth_hide_ptr(malloc(BYTES));

	leave_stacks();
	for (int i = 0; i < count; i++) {
		pid_t child = (pid_t)syscall(SYS_fork);
		pthread_t thread;

		if (child == 0) {
			EXPECT(pthread_create(&thread, NULL, begin_first, NULL) == 0);
			EXPECT(pthread_join(thread, NULL) == 0);
			free(block);
			free(realloc(truth_hide_ptr(aligned_alloc(BYTES, BYTES)), BYTES + 1));
			_exit(truth_failures != 0);
		}
		wait_for(child);
	}
}

/* Counts what it has allocated in memory that all share; may be killed between the two. */
static void *allocate_on(void *counter)
{
	for (;;) {
		free(truth_hide_ptr(malloc(BYTES)));
		(void)__atomic_fetch_add((int *)counter, 1, __ATOMIC_RELAXED);
	}
}

static void ends(int count)
{
	int *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	EXPECT(made != MAP_FAILED);
	leave_stacks();
	for (int i = 0; i < count; i++) {
		const int before = *made;
		pthread_t thread;
		pid_t child = fork();

		if (child == 0) {
			EXPECT(pthread_create(&thread, NULL, allocate_on, made) == 0);
			while (__atomic_load_n(made, __ATOMIC_RELAXED) < before + 100)
				;
			_exit(0);
		}
		wait_for(child);
	}
	(void)dprintf(1, "made %d\n", *made);
}

static void none(int count, bool by_exit)
{
	for (int i = 0; i < count; i++) {
		pid_t child = fork();

		if (child == 0) {
			free(truth_hide_ptr(malloc(BYTES)));
			if (by_exit)
				exit(0);
			_exit(0);
		}
		wait_for(child);
	}
}

static void inherited(int count)
{
	void *blocks[INHERITED];

	for (int i = 0; i < INHERITED; i++)
		blocks[i] = truth_hide_ptr(malloc(BYTES));
	for (int i = 0; i < count; i++) {
		pid_t child = fork();

		if (child == 0) {
			for (int k = 0; k < INHERITED; k++)
				free(blocks[k]);
			_exit(0);
		}
		wait_for(child);
	}
}

static void before_constructors(int argc, char **argv, char **environment)
{
	(void)environment;
	if (argc != 3 || strcmp(argv[1], "first") != 0)
		return;
	free(truth_hide_ptr(malloc(BYTES)));
	none(atoi(argv[2]), false);
}

static __attribute__((section(".preinit_array"),
		      used)) void (*at_first)(int, char **, char **) = before_constructors;

int main(int argc, char **argv)
{
	static char buffer[256];
	int count;

	EXPECT(argc == 3 && setvbuf(stdout, buffer, _IOFBF, sizeof(buffer)) == 0);
	count = atoi(argv[2]);
	if (strcmp(argv[1], "unload") == 0)
		unload(count);
	else if (strcmp(argv[1], "scribble") == 0)
		scribble(count);
	else if (strcmp(argv[1], "reach") == 0)
		reach(count);
	else if (strcmp(argv[1], "acts") == 0)
		acts();
	else if (strcmp(argv[1], "ends") == 0)
		ends(count);
	else if (strcmp(argv[1], "beside") == 0)
		beside(count);
	else if (strcmp(argv[1], "unnoticed") == 0)
		unnoticed(count);
	else if (strcmp(argv[1], "none") == 0)
		none(count, false);
	else if (strcmp(argv[1], "exits") == 0)
		none(count, true);
	else if (strcmp(argv[1], "inherited") == 0)
		inherited(count);
	truth_print();
	return truth_failures != 0;
}
