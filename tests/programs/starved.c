/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * starved HOW MS: a thread that meets new call stacks hardly runs, for MS milliseconds, while others
 * compute, and two meet new call stacks now and then. How long their longest malloc took is printed,
 * less what they could have run and had no processor.
 *   idle     it is SCHED_IDLE
 *   fifo     a SCHED_FIFO thread keeps it from its processor
 *   stopped  it is stopped again and again, wherever it is, and for long
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "truth.h"

enum { COMPUTERS = 4, ASKERS = 2, DEPTH = 16 };

TRUTH_SITE(meet);

static volatile int is_over;
static unsigned long long longest_ns[ASKERS];

static unsigned long long now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

/* How long this thread could have run and did not, since it began. */
static unsigned long long delayed_ns(void)
{
	unsigned long long ran, delayed = 0;
	char text[64] = "";
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

	EXPECT(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	EXPECT(sscanf(text, "%llu %llu", &ran, &delayed) == 2);
	EXPECT(close(fd) == 0);
	return delayed;
}

static SITE void meet_by(unsigned long path, unsigned depth, unsigned long long *longest);

/* As many call stacks as there are paths. */
static SITE void left(unsigned long path, unsigned depth, unsigned long long *longest)
{
	meet_by(path, depth, longest);
}

static SITE void right(unsigned long path, unsigned depth, unsigned long long *longest)
{
	meet_by(path, depth, longest);
}

static SITE void meet(unsigned long long *longest)
{
	unsigned long long delayed = longest ? delayed_ns() : 0, began = now_ns(), took;
	void *block;

	block = truth_hide_ptr(malloc(24));
	took = now_ns() - began;
	if (longest) {
		delayed = delayed_ns() - delayed;
		took -= delayed < took ? delayed : took;
	}
	truth_alloced(&site_meet, 24);
	free(block);
	truth_freed(&site_meet, 24);
	if (longest && took > *longest)
		*longest = took;
}

static void meet_by(unsigned long path, unsigned depth, unsigned long long *longest)
{
	if (depth == 0)
		meet(longest);
	else if (path & 1)
		left(path >> 1, depth - 1, longest);
	else
		right(path >> 1, depth - 1, longest);
}

static void *compute(void *unused)
{
	volatile unsigned long sum = 0;

	while (!is_over)
		sum += 1;
	return unused;
}

static void *meet_new(void *unused)
{
	for (unsigned long path = 0; !is_over; path++)
		meet_by(path, DEPTH, NULL);
	return unused;
}

static void *ask(void *longest)
{
	for (unsigned long path = 1ul << 15 | (unsigned long)(uintptr_t)longest >> 3; !is_over;
	     path += 7) {
		meet_by(path, DEPTH, longest);
		(void)usleep(2000);
	}
	return NULL;
}

static void be_stopped(int signal)
{
	const struct timespec pause = { 0, 300000000 };

	(void)signal;
	(void)nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	const struct sched_param least = { 0 }, some = { 1 };
	pthread_t threads[COMPUTERS + ASKERS + 1], *starved = threads;
	unsigned long long until;
	int count = 0, how;
	cpu_set_t one;

	EXPECT(argc == 3);
	how = argv[1][0];
	until = now_ns() + strtoull(argv[2], NULL, 10) * 1000000;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	EXPECT(pthread_create(&threads[count++], NULL, meet_new, NULL) == 0);
	for (int i = 0; i < (how == 'f' ? 1 : COMPUTERS); i++)
		EXPECT(pthread_create(&threads[count++], NULL, compute, NULL) == 0);
	if (how == 'i')
		EXPECT(pthread_setschedparam(*starved, SCHED_IDLE, &least) == 0);
	if (how == 'f') {
		EXPECT(pthread_setaffinity_np(*starved, sizeof(one), &one) == 0);
		EXPECT(pthread_setaffinity_np(threads[1], sizeof(one), &one) == 0);
		if (pthread_setschedparam(threads[1], SCHED_FIFO, &some) != 0)
			(void)fprintf(stderr, "no SCHED_FIFO\n");
	}
	if (how == 's')
		EXPECT(signal(SIGUSR1, be_stopped) != SIG_ERR);
	for (int i = 0; i < ASKERS; i++)
		EXPECT(pthread_create(&threads[count++], NULL, ask, &longest_ns[i]) == 0);
	while (now_ns() < until) {
		if (how == 's')
			(void)pthread_kill(*starved, SIGUSR1);
		(void)usleep(how == 's' ? 301000 : 10000);
	}
	is_over = 1;
	for (int i = 0; i < count; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
	truth_print();
	printf("note longest_us=%llu\n",
	       (longest_ns[0] > longest_ns[1] ? longest_ns[0] : longest_ns[1]) / 1000);
	return truth_failures != 0;
}
