/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * fork_cut N SEED: N forked children, one after the other, each killed in its 1,000 first
 * allocations or a little later, most of them about the thousandth: where a child gets a ledger.
 * A little after that number it waits, or on a busy machine each would come much further. Every
 * second child has a second thread. What they have begun and what they have done is in shared
 * memory.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "truth.h"

enum { BYTES = 64, ROUNDS = 1500, ABOUT = 990, AFTER = 40, SPIN_MAX = 20000 };

TRUTH_SITE(main);

/* [0] begun, [1] done. */
struct counts {
	unsigned long long allocs[2], frees[2];
};

static struct counts *now;
static unsigned long long last;

static void *work(void *rounds)
{
	for (int i = 0; i < (int)(intptr_t)rounds; i++) {
		void *block;

		while (__atomic_load_n(&now->allocs[0], __ATOMIC_RELAXED) >= last)
			(void)pause();
		truth_add(&now->allocs[0], 1);
		block = truth_hide_ptr(malloc(BYTES));
		truth_add(&now->allocs[1], 1);
		if (i % 3 == 0)
			continue;
		truth_add(&now->frees[0], 1);
		free(block);
		truth_add(&now->frees[1], 1);
	}
	return NULL;
}

static void be_child(int second)
{
	pthread_t thread;

	/* For which the C library allocates a block. */
	if (second) {
		truth_add(&now->allocs[0], 1);
		EXPECT(pthread_create(&thread, NULL, work, (void *)ROUNDS) == 0);
		truth_add(&now->allocs[1], 1);
	}
	(void)work((void *)ROUNDS);
	for (;;)
		(void)pause();
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	struct counts sums = { { 0 }, { 0 } };

	now = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(now != MAP_FAILED);
	srandom(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	/* Children inherit a ledger. */
	EXPECT(truth_hide_ptr(malloc(1)) != NULL);
	truth_alloced(&site_main, 1);
	for (int i = 0; i < count; i++) {
		unsigned long long at = i % 4 ? ABOUT + (unsigned)random() % 20
					      : 50 + (unsigned)random() % 1200;
		volatile long spin = random() % SPIN_MAX;
		pid_t pid;

		memset(now, 0, sizeof(*now));
		last = at + 1 + (unsigned)random() % AFTER;
		pid = fork();
		if (pid == 0)
			be_child(i % 2);
		while (__atomic_load_n(&now->allocs[0], __ATOMIC_RELAXED) < at)
			continue;
		while (spin-- > 0)
			continue;
		(void)kill(pid, SIGKILL);
		EXPECT(waitpid(pid, NULL, 0) == pid);
		for (int k = 0; k < 2; k++) {
			sums.allocs[k] += now->allocs[k];
			sums.frees[k] += now->frees[k];
		}
	}
	truth_line("note begun_allocs=%llu done_allocs=%llu begun_frees=%llu done_frees=%llu\n",
		   sums.allocs[0], sums.allocs[1], sums.frees[0], sums.frees[1]);
	truth_print();
	return truth_failures != 0;
}
