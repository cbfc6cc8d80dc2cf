/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Allocates, installs a seccomp filter that answers madvise with the error of that number, and goes
 * on under many new stacks, or in many new threads that live at once. Prints its truth.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "truth.h"

enum { STACKS = 4000, THREADS = 40, BLOCK_BYTES = 48 };

TRUTH_SITE(counted);

static pthread_barrier_t all_live;

SITE static void *counted(size_t bytes)
{
	void *block = malloc(bytes);

	truth_alloced(&site_counted, bytes);
	return block;
}

#include "stack_tree.h"

static void refuse(int number, uint32_t error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void *allocate(void *unused)
{
	(void)unused;
	(void)counted(BLOCK_BYTES);
	(void)pthread_barrier_wait(&all_live);
	return NULL;
}

static void in_threads(void)
{
	pthread_t threads[THREADS];

	EXPECT(pthread_barrier_init(&all_live, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&threads[i], NULL, allocate, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv)
{
	EXPECT(argc == 3);
	(void)counted(BLOCK_BYTES);
	refuse(SYS_madvise, (uint32_t)atoi(argv[1]));
	if (strcmp(argv[2], "threads") == 0)
		in_threads();
	else
		for (unsigned i = 0; i < STACKS; i++)
			(void)left_22(i);
	truth_print();
	return truth_failures != 0;
}
