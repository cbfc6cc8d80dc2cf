// SPDX-License-Identifier: MIT
// build: -pthread -ldl
/*
 * attach_targets MODE: what a tool may meet when it attaches to a process, and lets it go again:
 * threads that are in malloc, in the loader or in stdio at any moment, that sleep, that take no
 * signal, that are many. Each checks all the time that its memory is its own. attach_talk.h says
 * how it is talked to; "begin" and "round" are of the modes that know what they allocate.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "attach_talk.h"
#include "seccomp_filter.h"

enum { THREADS_MAX = 512 };

static pthread_t threads[THREADS_MAX];
static unsigned thread_count;

/* Signals stay with the main thread. */
static void start_threads(void *(*work)(void *), unsigned count)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	uintptr_t i;

	EXPECT(pthread_attr_init(&attributes) == 0);
	EXPECT(pthread_attr_setstacksize(&attributes, 256 << 10) == 0);
	(void)sigfillset(&all);
	EXPECT(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
	for (i = 0; i < count; i++)
		EXPECT(pthread_create(&threads[thread_count++], &attributes, work, (void *)i) == 0);
	EXPECT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
	(void)pthread_attr_destroy(&attributes);
}

static void join_threads(void)
{
	while (thread_count > 0)
		EXPECT(pthread_join(threads[--thread_count], NULL) == 0);
}

static void nap_ms(long ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	(void)nanosleep(&time, NULL);
}

/* ---- churn: threads that do nothing but allocate, with what was counted at any time --------- */

enum { CHURN_THREADS = 8, CHURN_SLOTS = 64 };

/* A line of the processor's cache for each thread, who alone writes it. */
struct churn_counts {
	unsigned long long allocs, frees;
	char pad[48];
};
static struct churn_counts churn_counts[CHURN_THREADS];

static void churn_count(unsigned long long *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELEASE);
}

static void churn_mark(unsigned char *block, size_t bytes)
{
	memset(block, (int)bytes & 0xff, bytes);
	memcpy(block, &bytes, sizeof(bytes));
}

static size_t churn_check(const unsigned char *block)
{
	size_t bytes;

	memcpy(&bytes, block, sizeof(bytes));
	EXPECT(bytes >= 16 && bytes < 4096);
	EXPECT(block[sizeof(bytes)] == (bytes & 0xff) && block[bytes - 1] == (bytes & 0xff));
	return bytes;
}

static unsigned char *churn_take(uint32_t dice, size_t bytes)
{
	void *block = NULL;

	switch (dice % 5) {
	case 0:
		return calloc(1, bytes);
	case 1:
		return aligned_alloc(64, bytes);
	case 2:
		EXPECT(posix_memalign(&block, 32, bytes) == 0);
		return block;
	default:
		return malloc(bytes);
	}
}

static SITE void *churn_work(void *arg)
{
	static unsigned char *all[CHURN_THREADS][CHURN_SLOTS];
	uintptr_t number = (uintptr_t)arg;
	struct churn_counts *counts = &churn_counts[number];
	unsigned char **slots = all[number];
	uint64_t state = number + 1;
	unsigned i;

	while (!talk_ended) {
		uint32_t dice = truth_random(&state);
		size_t bytes = 16 + (dice >> 8) % 1000;
		unsigned char **slot = &slots[dice >> 25];

		if (!*slot) {
			*slot = churn_take(dice, bytes);
			churn_count(&counts->allocs);
			churn_mark(*slot, bytes);
		} else if (dice % 4 == 0) {
			(void)churn_check(*slot);
			*slot = realloc(*slot, bytes);
			churn_count(&counts->allocs);
			churn_count(&counts->frees);
			churn_mark(*slot, bytes);
		} else {
			(void)churn_check(*slot);
			free(*slot);
			churn_count(&counts->frees);
			*slot = NULL;
		}
	}
	for (i = 0; i < CHURN_SLOTS; i++)
		free(slots[i]);
	return NULL;
}

static void churn_start(void)
{
	start_threads(churn_work, CHURN_THREADS);
}

/* What had been done when this was asked, or a little more. */
static void churn_round(void)
{
	unsigned long long allocs = 0, frees = 0;
	unsigned i;

	for (i = 0; i < CHURN_THREADS; i++) {
		allocs += __atomic_load_n(&churn_counts[i].allocs, __ATOMIC_ACQUIRE);
		frees += __atomic_load_n(&churn_counts[i].frees, __ATOMIC_ACQUIRE);
	}
	truth_line("note allocs=%llu frees=%llu\n", allocs, frees);
}

/* ---- loader: a thread that is nearly always in ld.so ---------------------------------------- */

static unsigned long long loads;
static char plugin_path[PATH_MAX];

static void load_once(void)
{
	void *plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
	void *(*take)(size_t);
	void (*give)(void *);
	unsigned char *block;

	EXPECT(plugin != NULL);
	if (!plugin)
		return;
	*(void **)&take = dlsym(plugin, "attach_plugin_alloc");
	*(void **)&give = dlsym(plugin, "attach_plugin_free");
	EXPECT(take && give);
	block = take(100);
	EXPECT(block && block[0] == 0x5a && block[99] == 0x5a);
	give(block);
	EXPECT(dlclose(plugin) == 0);
	truth_add(&loads, 1);
}

static void *loader_work(void *arg)
{
	while (!talk_ended)
		load_once();
	return arg;
}

static void loader_start(void)
{
	(void)snprintf(plugin_path, sizeof(plugin_path), "%s",
		       truth_beside("lib_attach_plugin.so"));
	start_threads(loader_work, 1);
}

static void loader_alone_start(void)
{
	(void)snprintf(plugin_path, sizeof(plugin_path), "%s",
		       truth_beside("lib_attach_plugin.so"));
}

static void loader_alone_step(void)
{
	unsigned i;

	for (i = 0; i < 100; i++)
		load_once();
}

static void loader_end(void)
{
	join_threads();
	truth_line("note loads=%llu\n", loads);
}

/* ---- stdio: locks and buffers of libc, and its own calls of malloc -------------------------- */

static int compare_words(const void *a, const void *b)
{
	const uint32_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* Beyond 1,024 bytes qsort works in a block of its own. */
static void sort_words(uint64_t *state)
{
	static uint32_t words[4096];
	unsigned i;

	for (i = 0; i < 4096; i++)
		words[i] = truth_random(state);
	qsort(words, 4096, sizeof(*words), compare_words);
	for (i = 1; i < 4096; i++)
		EXPECT(words[i - 1] <= words[i]);
}

static void read_lines(unsigned lines)
{
	static char text[4096];
	FILE *file = fmemopen(text, sizeof(text), "w+");
	char *line = NULL;
	size_t room = 0;
	unsigned i, number;

	EXPECT(file != NULL);
	for (i = 0; i < lines; i++)
		EXPECT(fprintf(file, "%u %0*u\n", i, (int)i % 200 + 1, i) > 0);
	rewind(file);
	for (i = 0; i < lines; i++) {
		EXPECT(getline(&line, &room, file) > 0);
		EXPECT(sscanf(line, "%u", &number) == 1 && number == i);
	}
	free(line);
	EXPECT(fclose(file) == 0);
}

static void stdio_step(void)
{
	static FILE *nowhere;
	static uint64_t state = 5;
	unsigned i;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	EXPECT(nowhere != NULL);
	for (i = 0; i < 2000; i++)
		EXPECT(fprintf(nowhere, "%u %s %f\n", i, "words", i / 3.0) > 0);
	sort_words(&state);
	read_lines(30);
}

/* ---- blocked: no thread takes a signal; one sleeps, one waits, one works --------------------- */

static uint32_t blocked_futex;

static void *blocked_work(void *arg)
{
	volatile unsigned long long turns = 0;

	while (!talk_ended) {
		switch ((uintptr_t)arg % 3) {
		case 0:
			nap_ms(10000);
			break;
		case 1:
			(void)syscall(SYS_futex, &blocked_futex, FUTEX_WAIT_PRIVATE, 0, NULL, NULL,
				      0);
			break;
		default:
			turns++;
		}
	}
	return NULL;
}

static void blocked_start(void)
{
	sigset_t all;

	start_threads(blocked_work, 3);
	(void)sigfillset(&all);
	EXPECT(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
}

/* The sleeper may be in the middle of its ten seconds. */
static void blocked_end(void)
{
	__atomic_store_n(&blocked_futex, 1, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &blocked_futex, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	EXPECT(pthread_join(threads[1], NULL) == 0);
	EXPECT(pthread_join(threads[2], NULL) == 0);
}

/* ---- many: 500 threads, each awake now and then --------------------------------------------- */

enum { MANY = 500 };

static SITE void *many_work(void *arg)
{
	uintptr_t number = (uintptr_t)arg;

	while (!talk_ended) {
		unsigned char *block = malloc(100 + number);

		churn_mark(block, 100 + number);
		nap_ms(500 + (long)number);
		EXPECT(churn_check(block) == 100 + number);
		free(block);
	}
	return NULL;
}

static void many_start(void)
{
	start_threads(many_work, MANY);
}

/* ---- truth: what was allocated since "begin", by where --------------------------------------- */

TRUTH_SITE(at_malloc);
TRUTH_SITE(at_calloc);
TRUTH_SITE(at_realloc);
TRUTH_SITE(at_reallocarray);
TRUTH_SITE(at_aligned_alloc);
TRUTH_SITE(at_posix_memalign);
TRUTH_SITE(at_memalign);
TRUTH_SITE(at_valloc);
TRUTH_SITE(at_strdup);
TRUTH_SITE_KNOWN(at_asprintf, TRUTH_LIVE_COUNT);
TRUTH_SITE(at_thread);
TRUTH_SITE(at_pointer);
TRUTH_SITE(at_resized);
TRUTH_SITE(at_lost);
TRUTH_SITE(attach_plugin_alloc);

/* The head of a block of at least 64 bytes; blocks of a turn before "begin" are of no site. */
struct kept {
	struct truth_tag tag;
	struct kept *next;
	unsigned turn;
};

static struct kept *kept;
static unsigned turn;
static unsigned long long old_frees, old_resizes;

static void keep(void *block, struct truth_site *site, size_t bytes)
{
	struct kept *head = block;

	EXPECT(head != NULL);
	truth_tag_block(head, site, bytes);
	head->turn = turn;
	head->next = kept;
	kept = head;
}

/* Counts that a block ends; says whether it is of this turn. */
static int ends(struct kept *head)
{
	if (head->turn != turn)
		return 0;
	truth_untag_block(head);
	return 1;
}

#define AT(site, call)                            \
	static SITE void site(size_t bytes)       \
	{                                         \
		void *block = call;               \
                                                  \
		keep(block, &site_##site, bytes); \
	}

static void *take_posix_memalign(size_t bytes)
{
	void *block = NULL;

	EXPECT(posix_memalign(&block, 128, bytes) == 0);
	return block;
}

static const char *text_of(size_t bytes)
{
	static char text[1024];

	memset(text, 'x', bytes - 1);
	text[bytes - 1] = '\0';
	return text;
}

static void *take_asprintf(size_t bytes)
{
	char *text = NULL;

	EXPECT(asprintf(&text, "%s", text_of(bytes)) == (int)bytes - 1);
	return text;
}

static void *(*volatile malloc_pointer)(size_t);

AT(at_malloc, malloc(bytes))
AT(at_calloc, calloc(1, bytes))
AT(at_realloc, realloc(truth_hide_ptr(NULL), bytes))
AT(at_reallocarray, reallocarray(truth_hide_ptr(NULL), 1, bytes))
AT(at_aligned_alloc, aligned_alloc(64, bytes))
AT(at_posix_memalign, take_posix_memalign(bytes))
AT(at_memalign, memalign(256, bytes))
AT(at_valloc, valloc(bytes))
AT(at_strdup, strdup(text_of(bytes)))
AT(at_asprintf, take_asprintf(bytes))
AT(at_pointer, malloc_pointer(bytes))

static SITE void *at_thread(void *arg)
{
	size_t bytes = (size_t)arg;

	keep(malloc(bytes), &site_at_thread, bytes);
	return NULL;
}

static void in_thread(size_t bytes)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, at_thread, (void *)bytes) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
}

/* Loaded for this call alone, and gone before the figures are asked for. */
static void in_plugin(size_t bytes)
{
	void *plugin = dlopen(truth_beside("lib_attach_plugin.so"), RTLD_NOW | RTLD_LOCAL);
	void *(*take)(size_t);

	EXPECT(plugin != NULL);
	*(void **)&take = dlsym(plugin, "attach_plugin_alloc");
	keep(take(bytes), &site_attach_plugin_alloc, bytes);
	EXPECT(dlclose(plugin) == 0);
}

/* No pointer to it stays anywhere. */
static SITE void at_lost(size_t bytes)
{
	void *volatile block = malloc(bytes);

	EXPECT(block != NULL);
	truth_alloced(&site_at_lost, bytes);
	block = NULL;
}

/* Of what was kept, by turns: frees one, resizes one, leaves two. */
static SITE void at_resized(void)
{
	struct kept *old = kept, *next;
	unsigned number = 0;

	kept = NULL;
	for (; old; old = next) {
		next = old->next;
		switch (number++ % 4) {
		case 0:
			old_frees += !ends(old);
			free(old);
			break;
		case 1:
			old_resizes += !ends(old);
			keep(realloc(old, 300 + number), &site_at_resized, 300 + number);
			break;
		default:
			old->next = kept;
			kept = old;
		}
	}
}

static void truth_begin(void)
{
	truth_reset();
	turn++;
	old_frees = old_resizes = 0;
}

typedef void (*maker)(size_t bytes);

static void truth_round(void)
{
	static const maker makers[] = { at_malloc,	 at_calloc,	   at_realloc,
					at_reallocarray, at_aligned_alloc, at_posix_memalign,
					at_memalign,	 at_valloc,	   at_strdup,
					at_asprintf,	 in_thread,	   in_plugin };
	size_t i, n;

	for (i = 0; i < sizeof(makers) / sizeof(*makers); i++)
		for (n = 0; n < 10 + i; n++)
			makers[i](128 + 16 * n + i);
	/* What the word held before "begin" may be of before the tool came. */
	malloc_pointer = malloc;
	at_pointer(200);
	for (n = 0; n < 5; n++)
		at_lost(1000 + n);
	at_resized();
	truth_print();
	truth_line("note old_frees=%llu old_resizes=%llu\n", old_frees, old_resizes);
}

static void late_round(void)
{
	unsigned i;

	for (i = 0; i < 20; i++)
		in_plugin(400 + i);
	truth_print();
}

/* ---- sealed: a filter of system calls that attaching may not run into ------------------------ */

static void seal(uint32_t otherwise)
{
	static const int allowed[] = {
		SYS_read,
		SYS_write,
		SYS_poll,
		SYS_brk,
		SYS_mmap,
		SYS_munmap,
		SYS_mremap,
		SYS_madvise,
		SYS_futex,
		SYS_clock_gettime,
		SYS_getpid,
		SYS_gettid,
		SYS_exit_group,
		SYS_rt_sigaction,
		SYS_getrandom,
		SYS_rt_sigreturn,
		SYS_restart_syscall,
	};

	EXPECT(set_filter(allowed, sizeof(allowed) / sizeof(*allowed), SECCOMP_RET_ALLOW,
			  otherwise) == 0);
}

static void sealed_start(void)
{
	seal(SECCOMP_RET_ERRNO | EPERM);
}

static void sealed_kill_start(void)
{
	seal(SECCOMP_RET_KILL_PROCESS);
}

static void sealed_round(void)
{
	unsigned i;

	for (i = 0; i < 100; i++)
		at_malloc(100 + i);
	truth_print();
}

/* ---- job: a fixed amount of work, and the processor time that it took ------------------------ */

enum { JOB_STEPS = 6000000, JOB_SLOTS = 4096, JOB_DEPTH = 12 };

static SITE void *job_take(size_t bytes, unsigned depth)
{
	void *volatile block = depth ? job_take(bytes, depth - 1) : malloc(bytes);

	return block;
}

static unsigned long long cpu_ns(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (unsigned long long)time.tv_sec * 1000000000 + (unsigned long long)time.tv_nsec;
}

static void job_round(void)
{
	static void *slots[JOB_SLOTS];
	unsigned long long began = cpu_ns();
	uint64_t state = 77;
	unsigned i;

	for (i = 0; i < JOB_STEPS; i++) {
		uint32_t dice = truth_random(&state);
		void **slot = &slots[dice >> 12 & (JOB_SLOTS - 1)];

		free(*slot);
		*slot = job_take(16 + (dice >> 4) % 256, dice % JOB_DEPTH);
	}
	for (i = 0; i < JOB_SLOTS; i++) {
		free(slots[i]);
		slots[i] = NULL;
	}
	truth_line("note time_ns=%llu\n", cpu_ns() - began);
}

static void idle_start(void)
{
}

/* ---- mapped: its libraries are mapped a second and third time, whole, to be read --------------- */

static int map_library(struct dl_phdr_info *info, size_t bytes, void *above)
{
	const int fd = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
	char **at = above;
	struct stat about;

	(void)bytes;
	if (fd < 0)
		return 0;
	EXPECT(fstat(fd, &about) == 0);
	*at -= (about.st_size + 0xffff) & ~0xffff;
	EXPECT(mmap(*at, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0) == *at);
	EXPECT(mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	(void)close(fd);
	return 0;
}

/* As who prints a backtrace does. Below the stack and above all libraries there is room for 128 MB. */
static void mapped_start(void)
{
	char *above = (char *)(((uintptr_t)&above - (64 << 20)) & -(uintptr_t)4096);

	(void)dl_iterate_phdr(map_library, &above);
}

static const struct mode {
	const char *name;
	void (*start)(void);
	void (*step)(void); /* over and over by the main thread; NULL: it waits in poll */
	void (*begin)(void);
	void (*round)(void);
	void (*end)(void);
} modes[] = {
	{ "churn", churn_start, NULL, NULL, churn_round, join_threads },
	{ "loader", loader_start, NULL, NULL, NULL, loader_end },
	{ "loader-alone", loader_alone_start, loader_alone_step, NULL, NULL, loader_end },
	{ "stdio", idle_start, stdio_step, NULL, NULL, NULL },
	{ "idle", idle_start, NULL, NULL, NULL, NULL },
	{ "blocked", blocked_start, NULL, NULL, NULL, blocked_end },
	{ "many", many_start, NULL, NULL, NULL, join_threads },
	{ "truth", idle_start, NULL, truth_begin, truth_round, NULL },
	{ "mapped", mapped_start, NULL, truth_begin, truth_round, NULL },
	{ "late", idle_start, NULL, truth_begin, late_round, NULL },
	{ "sealed", sealed_start, NULL, truth_begin, sealed_round, NULL },
	{ "sealed-kill", sealed_kill_start, NULL, truth_begin, sealed_round, NULL },
	{ "job", idle_start, NULL, NULL, job_round, NULL },
};

static void serve(const struct mode *mode)
{
	const char *line;

	while ((line = talk_line(mode->step ? 0 : 1000))) {
		if (mode->step)
			mode->step();
		if (strcmp(line, "begin") == 0 && mode->begin)
			mode->begin();
		else if (strcmp(line, "round") == 0 && mode->round)
			mode->round();
		if (*line)
			talk_answer();
	}
}

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		modes[i].start();
		talk_ready();
		serve(&modes[i]);
		if (modes[i].end)
			modes[i].end();
		return talk_end();
	}
	(void)fprintf(stderr, "attach_targets: which mode?\n");
	return 2;
}
