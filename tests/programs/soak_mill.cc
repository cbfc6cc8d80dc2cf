/* SPDX-License-Identifier: MIT */
// build: -pthread -ldl
/*
 * A long-lived program that does everything at once and keeps its own account of it, to the byte:
 * workers that free each other's blocks, threads that come and go, forks, plugins loaded and
 * unloaded, realloc chains, exceptions, and a timer whose handler allocates and leaves by
 * siglongjmp. It works in rounds, so that there are moments at which nothing moves:
 *
 *   run MS NAP_US   on standard input: work for so long, with such naps, then print the account
 *   end of input    free everything, print the account, end
 *
 * Blocks are taken in functions soak_*, which stay visible in the call stack, and nowhere else.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <new>

#define SITE extern "C" __attribute__((noipa, used))
#define KEPT __attribute__((noipa))

enum {
	WORKERS = 3,
	SLOTS = 4096,
	HEIRLOOMS = 64,
	WAVE = 8,
	WAVE_EACH = 24,
	CHILD_ALLOCS = 200,
	CHILD_FREES = 150,
	STEPS = 64,
	TICK_US = 1000,
	PLUGIN_BYTES = 70,
};

enum kind { KIND_FREE, KIND_DELETE, KIND_DELETE_ARRAY };

/* Stands at the beginning of every block. */
struct tag {
	size_t bytes;
	enum kind kind;
};

struct account {
	unsigned long long allocs, alloc_bytes, frees, freed_bytes;
};

typedef void *plugin_fn(size_t);

static struct account account;
static unsigned long long children, threads, loads, throws_, jumps;
static void *slots[SLOTS];
static void *heirlooms[HEIRLOOMS];
static char directory[4096];

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;
static bool is_open, is_over;
static int parked;
static unsigned nap_us;

/* ---- the account -------------------------------------------------------------------------- */

static void add(unsigned long long *counter, unsigned long long amount)
{
	(void)__atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

static void *take(void *block, size_t bytes, enum kind kind)
{
	struct tag *tag = (struct tag *)block;

	if (!block)
		abort();
	tag->bytes = bytes;
	tag->kind = kind;
	add(&account.allocs, 1);
	add(&account.alloc_bytes, bytes);
	return block;
}

static void count_free(const void *block)
{
	add(&account.frees, 1);
	add(&account.freed_bytes, ((const struct tag *)block)->bytes);
}

static void drop(void *block)
{
	if (!block)
		return;
	count_free(block);
	switch (((struct tag *)block)->kind) {
	case KIND_FREE:
		free(block);
		break;
	case KIND_DELETE:
		operator delete(block);
		break;
	case KIND_DELETE_ARRAY:
		operator delete[](block);
		break;
	}
}

SITE void *soak_malloc(size_t bytes)
{
	return take(malloc(bytes), bytes, KIND_FREE);
}

SITE void *soak_calloc(size_t bytes)
{
	return take(calloc(1, bytes), bytes, KIND_FREE);
}

SITE void *soak_memalign(size_t bytes)
{
	void *block = NULL;

	if (posix_memalign(&block, 256, bytes) != 0)
		abort();
	return take(block, bytes, KIND_FREE);
}

/* Of blocks of malloc only. */
SITE void *soak_realloc(void *block, size_t bytes)
{
	count_free(block);
	return take(realloc(block, bytes), bytes, KIND_FREE);
}

SITE void *soak_new(size_t bytes)
{
	return take(operator new(bytes), bytes, KIND_DELETE);
}

SITE void *soak_new_array(size_t bytes)
{
	return take(operator new[](bytes), bytes, KIND_DELETE_ARRAY);
}

SITE void *soak_handler(size_t bytes)
{
	return take(malloc(bytes), bytes, KIND_FREE);
}

SITE void *soak_plugin(plugin_fn *entry, size_t bytes)
{
	return take(entry(bytes), bytes, KIND_FREE);
}

static void print_account(void)
{
	char text[512];
	int length = snprintf(text, sizeof(text),
			      "account allocs=%llu alloc_bytes=%llu frees=%llu freed_bytes=%llu "
			      "children=%llu child_allocs=%d child_frees=%d threads=%llu "
			      "loads=%llu throws=%llu jumps=%llu\n",
			      account.allocs, account.alloc_bytes, account.frees,
			      account.freed_bytes, children, CHILD_ALLOCS, CHILD_FREES, threads,
			      loads, throws_, jumps);

	if (write(STDOUT_FILENO, text, (size_t)length) != length)
		_exit(3);
}

/* ---- one step ----------------------------------------------------------------------------- */

static uint32_t roll(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33);
}

static void put(uint32_t dice, void *block)
{
	drop(__atomic_exchange_n(&slots[dice % SLOTS], block, __ATOMIC_ACQ_REL));
}

static void *chain(uint32_t dice)
{
	size_t bytes = sizeof(struct tag) + dice % 64;
	void *block = soak_malloc(bytes);

	for (unsigned i = 0; i < dice % 9; i++) {
		/* Up and down, and now and then over the threshold of mmap. */
		bytes = i % 5 == 4 ? bytes / 2 + sizeof(struct tag) : bytes * 3;
		block = soak_realloc(block, bytes);
	}
	return block;
}

struct thrown {
	void *block;
};

static KEPT void throw_from(unsigned depth, size_t bytes)
{
	if (depth == 0)
		throw thrown{ soak_malloc(bytes) };
	throw_from(depth - 1, bytes + 1);
	__asm__ volatile("" : : : "memory");
}

static void throw_and_catch(uint32_t dice)
{
	try {
		throw_from(dice % 20, sizeof(struct tag) + dice % 500);
	} catch (const thrown &error) {
		drop(error.block);
	}
	add(&throws_, 1);
}

static void step(uint64_t *state)
{
	uint32_t dice = roll(state), where = roll(state);
	size_t bytes = sizeof(struct tag) + dice / 16 % 600;

	switch (dice % 16) {
	case 0:
		put(where, chain(dice / 16));
		break;
	case 1:
		put(where, soak_calloc(bytes));
		break;
	case 2:
		put(where, soak_memalign(bytes));
		break;
	case 3:
		put(where, soak_new(bytes));
		break;
	case 4:
		put(where, soak_new_array(bytes * 4));
		break;
	case 5:
		throw_and_catch(dice / 16);
		break;
	case 6:
		put(where, NULL);
		break;
	default:
		put(where, soak_malloc(bytes));
		break;
	}
}

/* ---- signals ------------------------------------------------------------------------------ */

/* Set only where the thread is in code of its own: in malloc no handler may allocate or leave. */
static thread_local volatile sig_atomic_t may_leave;
static thread_local sigjmp_buf landing;
static thread_local void *brought;

static KEPT void leave(unsigned depth)
{
	if (depth > 0)
		leave(depth - 1);
	__asm__ volatile("" : : : "memory");
	siglongjmp(landing, 1);
}

static void on_tick(int)
{
	if (!may_leave)
		return;
	may_leave = 0;
	brought = soak_handler(sizeof(struct tag) + account.allocs % 90);
	add(&jumps, 1);
	leave(account.allocs % 16);
}

/* Some time for a signal to hit. What its handler left behind goes among the others. */
static KEPT void compute(uint32_t where)
{
	if (sigsetjmp(landing, 1) == 0) {
		may_leave = 1;
		for (volatile unsigned i = 0; i < 10000; i = i + 1)
			continue;
		may_leave = 0;
	}
	void *block = brought;

	brought = NULL;
	if (block)
		put(where, block);
}

static void mask_ticks(int how)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGALRM);
	(void)pthread_sigmask(how, &set, NULL);
}

/* The main thread, which the kernel prefers, mostly sleeps: it leaves the ticks to the others. */
static void start_timer(void)
{
	struct itimerval every = { { 0, TICK_US }, { 0, TICK_US } };
	struct sigaction action;

	mask_ticks(SIG_BLOCK);
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_tick;
	action.sa_flags = SA_RESTART;
	if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &every, NULL) != 0)
		abort();
}

/* ---- workers ------------------------------------------------------------------------------ */

static void nap(void)
{
	struct timespec time = { 0, nap_us * 1000L };

	while (nanosleep(&time, &time) != 0)
		continue;
}

/* Wait until there is work. False: never again. */
static bool pass_gate(void)
{
	bool over;

	(void)pthread_mutex_lock(&gate);
	if (!is_open) {
		parked++;
		(void)pthread_cond_broadcast(&gate_moved);
		while (!is_open && !is_over)
			(void)pthread_cond_wait(&gate_moved, &gate);
		parked--;
	}
	over = is_over;
	(void)pthread_mutex_unlock(&gate);
	return !over;
}

static void *worker(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	mask_ticks(SIG_UNBLOCK);
	while (pass_gate()) {
		for (int i = 0; i < STEPS; i++)
			step(&state);
		compute(roll(&state));
		nap();
	}
	return NULL;
}

static void set_gate(bool open, bool over)
{
	(void)pthread_mutex_lock(&gate);
	is_open = open;
	is_over = over;
	(void)pthread_cond_broadcast(&gate_moved);
	while (!open && !over && parked < WORKERS)
		(void)pthread_cond_wait(&gate_moved, &gate);
	(void)pthread_mutex_unlock(&gate);
}

/* ---- what comes and goes ------------------------------------------------------------------ */

static void *short_life(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	mask_ticks(SIG_UNBLOCK);
	for (int i = 0; i < WAVE_EACH; i++)
		step(&state);
	compute(roll(&state));
	return NULL;
}

static void wave(uint64_t *state)
{
	pthread_t thread[WAVE];

	for (int i = 0; i < WAVE; i++) {
		if (pthread_create(&thread[i], NULL, short_life, (void *)(uintptr_t)roll(state)))
			abort();
	}
	for (int i = 0; i < WAVE; i++)
		(void)pthread_join(thread[i], NULL);
	threads += WAVE;
}

static void use_plugin(const char *name, uint64_t *state)
{
	char path[sizeof(directory) + 64];
	plugin_fn *entry;
	void *handle;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		abort();
	*(void **)&entry = dlsym(handle, "plugin_entry");
	for (int i = 0; i < 4; i++)
		put(roll(state), soak_plugin(entry, PLUGIN_BYTES));
	(void)dlclose(handle);
	loads++;
}

/* Only what is safe between fork and exec of a threaded process, and malloc, which glibc allows. */
static void live_as_child(void)
{
	void *own[CHILD_ALLOCS];

	for (int i = 0; i < CHILD_ALLOCS; i++)
		own[i] = malloc((size_t)i + 1);
	for (int i = 0; i < CHILD_FREES; i++)
		free(own[i]);
	for (int i = 0; i < HEIRLOOMS; i += 2)
		free(heirlooms[i]);
	_exit(0);
}

static void have_child(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		live_as_child();
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		continue;
	if (pid < 0 || status != 0)
		abort();
	children++;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void work(uint64_t ms, uint64_t *state)
{
	uint64_t end = now_ms() + ms;

	set_gate(true, false);
	for (unsigned turn = 0; now_ms() < end; turn++) {
		wave(state);
		use_plugin(turn % 2 ? "lib_plugin_a.so" : "lib_plugin_b.so", state);
		use_plugin(turn % 3 ? "lib_plugin_b.so" : "lib_plugin_a.so", state);
		if (turn % 4 == 0)
			have_child();
		for (int i = 0; i < 8; i++)
			nap();
	}
	set_gate(false, false);
}

/* ---- commands ----------------------------------------------------------------------------- */

/* One line, without stdio: its buffers would be blocks that are not in the account. */
static bool read_line(char *line, size_t bytes)
{
	size_t used = 0;

	while (used + 1 < bytes && read(STDIN_FILENO, line + used, 1) == 1) {
		if (line[used] == '\n') {
			line[used] = '\0';
			return true;
		}
		used++;
	}
	return false;
}

static void free_all(void)
{
	for (int i = 0; i < SLOTS; i++)
		put((uint32_t)i, NULL);
	for (int i = 0; i < HEIRLOOMS; i++)
		drop(heirlooms[i]);
}

int main()
{
	ssize_t length = readlink("/proc/self/exe", directory, sizeof(directory) - 1);
	pthread_t thread[WORKERS];
	unsigned long long ms;
	uint64_t state = 1;
	char line[128];

	if (length <= 0)
		return 2;
	(void)dirname(directory);
	for (int i = 0; i < HEIRLOOMS; i++)
		heirlooms[i] = soak_malloc(sizeof(struct tag) + (size_t)i);
	start_timer();
	for (int i = 0; i < WORKERS; i++) {
		if (pthread_create(&thread[i], NULL, worker, (void *)(uintptr_t)(i + 1)) != 0)
			abort();
	}
	set_gate(false, false);
	print_account();
	while (read_line(line, sizeof(line)) && sscanf(line, "run %llu %u", &ms, &nap_us) == 2) {
		work(ms, &state);
		print_account();
	}
	set_gate(false, true);
	for (int i = 0; i < WORKERS; i++)
		(void)pthread_join(thread[i], NULL);
	free_all();
	print_account();
	return 0;
}
