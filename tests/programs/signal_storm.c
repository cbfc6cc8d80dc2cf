/* SPDX-License-Identifier: MIT */
// build: -pthread -ldl
/*
 * Three threads allocate and free under four timers each of 40 to 110 microseconds. Their handlers
 * nest, on an alternate stack and off it, and take, give back and resize blocks of all threads. The
 * kernel holds a signal back while its own handler runs: a handler that is slower than its timer
 * would fill the stack otherwise. Modes (words, in any order):
 *   within  act only where the signal hit the profiler's own code: what any allocator allows
 *   jump    leave by siglongjmp now and then, out of all handlers that interrupted each other
 *   fork    fork in a handler: the child returns into what was interrupted, or ends in some way
 *   bare    fork by _Fork(), which calls no handlers of forks; not within
 *   child   all of it in a forked child, which is young when the storm begins
 * What was begun and what was done is counted for each site. They differ only where a handler left.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "profiler_code.h"
#include "truth.h"

enum {
	THREADS = 3,
	TIMERS = 3,
	RING = 512,
	STORM_MS = 1500,
	QUIET_ROUNDS = 2000,
	FORKS = 60,
	NESTED_MOST = 32, /* or a slow machine never comes back from the handlers */
	STACK_BYTES = 1 << 19,
};

/* [0] begun, [1] done. */
struct counts {
	const char *name;
	unsigned long long allocs[2], bytes[2], frees[2], freed_bytes[2];
};

TRUTH_SITE(after_storm);

struct block {
	struct counts *site;
	size_t bytes;
};

static struct counts by_code = { .name = "code" }, by_handler = { .name = "handler" },
		     by_quiet = { .name = "quiet" };
static struct block *_Atomic ring[RING];
static int within, jumping, forking, bare, as_child;
static int fork_under_way;
static unsigned long long acts, jumps, forks, deepest;
static volatile sig_atomic_t in_child;

static __thread volatile sig_atomic_t nested, may_jump;
static __thread sigjmp_buf again;
static __thread uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	return truth_random(&random_state) % below;
}

/* ---- operations ---------------------------------------------------------------------------- */

static void count(unsigned long long *blocks, unsigned long long *bytes, int done, size_t of)
{
	truth_add(&blocks[done], 1);
	truth_add(&bytes[done], of);
}

static void give_back(struct block *block)
{
	struct counts *site;
	size_t bytes;

	if (!block)
		return;
	site = block->site;
	bytes = block->bytes;
	count(site->frees, site->freed_bytes, 0, bytes);
	free(block);
	count(site->frees, site->freed_bytes, 1, bytes);
}

static struct block *tag(struct block *block, struct counts *site, size_t bytes)
{
	block->site = site;
	block->bytes = bytes;
	return block;
}

static void put(struct block *block)
{
	give_back(__atomic_exchange_n(&ring[draw(RING)], block, __ATOMIC_ACQ_REL));
}

/* Each its own function: one call stack leads through it, and its counts are its own. */
#define TAKE(function, counted)                                       \
	static SITE void function(void)                               \
	{                                                             \
		size_t bytes = sizeof(struct block) + draw(400);      \
		struct block *block;                                  \
                                                                      \
		count((counted)->allocs, (counted)->bytes, 0, bytes); \
		block = (struct block *)malloc(bytes);                \
		count((counted)->allocs, (counted)->bytes, 1, bytes); \
		put(tag(block, (counted), bytes));                    \
	}

TAKE(take_in_code, &by_code)
TAKE(take_in_handler, &by_handler)
TAKE(take_in_quiet, &by_quiet)

static SITE void resize_in_handler(void)
{
	struct block *block = __atomic_exchange_n(&ring[draw(RING)], NULL, __ATOMIC_ACQ_REL);
	size_t bytes = sizeof(*block) + draw(2000), before;
	struct counts *site;

	if (!block)
		return;
	site = block->site;
	before = block->bytes;
	count(site->frees, site->freed_bytes, 0, before);
	count(by_handler.allocs, by_handler.bytes, 0, bytes);
	block = (struct block *)realloc(block, bytes);
	count(site->frees, site->freed_bytes, 1, before);
	count(by_handler.allocs, by_handler.bytes, 1, bytes);
	put(tag(block, &by_handler, bytes));
}

/* ---- handlers ------------------------------------------------------------------------------ */

static void end_child(unsigned way)
{
	char *nothing[] = { NULL };

	take_in_handler();
	switch (way % 5) {
	case 0:
		in_child = 1;
		return;
	case 1:
		_exit(0);
	case 2:
		(void)execve("/bin/true", nothing, nothing);
		_exit(1);
	case 3:
		abort();
	default:
		(void)kill(getpid(), SIGKILL);
	}
}

/* One at a time, and not left: the C library's locks are held meanwhile. */
static void fork_here(void)
{
	const sig_atomic_t could_jump = may_jump;
	pid_t pid;

	if (forks >= FORKS || __atomic_exchange_n(&fork_under_way, 1, __ATOMIC_ACQUIRE))
		return;
	may_jump = 0;
	pid = bare ? _Fork() : fork();
	if (pid == 0) {
		end_child((unsigned)forks);
		return;
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	truth_add(&forks, 1);
	may_jump = could_jump;
	__atomic_store_n(&fork_under_way, 0, __ATOMIC_RELEASE);
}

static void act(void)
{
	uint32_t what = draw(64);

	if (what == 0 && jumping && may_jump) {
		truth_add(&jumps, 1);
		siglongjmp(again, 1);
	}
	if (what == 1 && forking)
		fork_here();
	else if (what < 24)
		take_in_handler();
	else if (what < 44)
		put(NULL);
	else
		resize_in_handler();
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	const ucontext_t *at = (const ucontext_t *)context;
	int saved = errno;

	(void)number;
	(void)info;
	if (in_child || nested == NESTED_MOST ||
	    (within && (uintptr_t)at->uc_mcontext.gregs[REG_RIP] - profiler >= profiler_bytes))
		return;
	nested++;
	truth_add(&acts, 1);
	if (nested > 1)
		truth_add(&deepest, 1);
	act();
	nested--;
	errno = saved;
}

static void set_handlers(void)
{
	struct sigaction action = { .sa_sigaction = on_signal };

	for (int i = 0; i <= TIMERS; i++) {
		action.sa_flags = SA_SIGINFO | SA_RESTART | (i % 2 ? SA_ONSTACK : 0);
		EXPECT(sigaction(i < TIMERS ? SIGRTMIN + i : SIGALRM, &action, NULL) == 0);
	}
}

static void block_signals(int how)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (int i = 0; i < TIMERS; i++)
		(void)sigaddset(&set, SIGRTMIN + i);
	(void)sigaddset(&set, SIGALRM);
	EXPECT(pthread_sigmask(how, &set, NULL) == 0);
}

/* ---- threads ------------------------------------------------------------------------------- */

static void start_timers(timer_t timers[TIMERS])
{
	for (int i = 0; i < TIMERS; i++) {
		struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
					  .sigev_signo = SIGRTMIN + i };
		const struct timespec every = { .tv_nsec = 40000 + 20000 * i };
		const struct itimerspec spec = { every, every };

		event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
		EXPECT(timer_create(CLOCK_MONOTONIC, &event, &timers[i]) == 0);
		EXPECT(timer_settime(timers[i], 0, &spec, NULL) == 0);
	}
}

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Different call stacks, so that slots are flushed and contexts made all the time. */
static SITE void wander(int depth)
{
	if (depth > 0 && draw(2))
		wander(depth - 1);
	else if (depth > 0) {
		wander(depth - 1);
		__asm__ volatile("" ::: "memory");
	} else {
		take_in_code();
	}
	__asm__ volatile("" ::: "memory");
}

static void work(uint64_t end)
{
	while (now_ms() < end && !in_child) {
		wander((int)draw(12));
		if (draw(2))
			put(NULL);
	}
	if (in_child) {
		for (int i = 0; i < 5; i++)
			take_in_quiet();
		_exit(0);
	}
}

static void *run(void *seed)
{
	stack_t own = { .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES };
	const uint64_t end = now_ms() + STORM_MS;
	timer_t timers[TIMERS];

	random_state = (uint64_t)(uintptr_t)seed;
	EXPECT(sigaltstack(&own, NULL) == 0);
	start_timers(timers);
	block_signals(SIG_UNBLOCK);
	if (!sigsetjmp(again, 1))
		may_jump = 1;
	nested = 0;
	work(end);
	may_jump = 0;
	block_signals(SIG_BLOCK);
	for (int i = 0; i < TIMERS; i++)
		EXPECT(timer_delete(timers[i]) == 0);
	for (int i = 0; i < QUIET_ROUNDS; i++)
		take_in_quiet();
	own.ss_flags = SS_DISABLE;
	EXPECT(sigaltstack(&own, NULL) == 0);
	free(own.ss_sp);
	return NULL;
}

/* When nothing interrupts any more, all is exact. */
static SITE void after_storm(void)
{
	for (size_t i = 0; i < QUIET_ROUNDS; i++) {
		TRUTH_TEMPORARY(after_storm, i);
	}
}

static void print(const struct counts *c)
{
	for (int done = 0; done < 2; done++)
		truth_line("note %s_%s_allocs=%llu %s_%s_bytes=%llu %s_%s_frees=%llu "
			   "%s_%s_freed_bytes=%llu\n",
			   c->name, done ? "done" : "begun", c->allocs[done], c->name,
			   done ? "done" : "begun", c->bytes[done], c->name,
			   done ? "done" : "begun", c->frees[done], c->name,
			   done ? "done" : "begun", c->freed_bytes[done]);
}

int main(int argc, char **argv)
{
	struct itimerval every = { { 0, 110 }, { 0, 110 } };
	pthread_t threads[THREADS];
	pid_t child;
	int status;

	for (int i = 1; i < argc; i++) {
		within |= strcmp(argv[i], "within") == 0;
		jumping |= strcmp(argv[i], "jump") == 0;
		forking |= strcmp(argv[i], "fork") == 0;
		bare |= strcmp(argv[i], "bare") == 0;
		as_child |= strcmp(argv[i], "child") == 0;
	}
	find_profiler();
	free(malloc(1));
	if (as_child && (child = fork()) != 0)
		return waitpid(child, &status, 0) != child || status != 0;
	set_handlers();
	block_signals(SIG_BLOCK);
	EXPECT(setitimer(ITIMER_REAL, &every, NULL) == 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&threads[i], NULL, run, (void *)(i + 1)) == 0);
	for (int i = 0; i < THREADS; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < RING; i++)
		give_back(ring[i]);
	after_storm();
	print(&by_code);
	print(&by_handler);
	print(&by_quiet);
	truth_line("note acts=%llu nested=%llu jumps=%llu forks=%llu\n", acts, deepest, jumps,
		   forks);
	truth_print();
	return truth_failures != 0;
}
