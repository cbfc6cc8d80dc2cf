/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Sets marks from several threads and a signal handler at once, as many as there is room for and
 * more, and says how many were taken and which names were refused.
 */
#include <pthread.h>
#include <signal.h>

#include "seep/seep.h"
#include "truth.h"

enum { THREADS = 4, EACH = 2500 };

static unsigned long long taken;

static void set(const char *name)
{
	truth_add(&taken, seep_mark(name) == 0);
}

static void handle(int number)
{
	(void)number;
	set("signal");
}

static void *work(void *name)
{
	for (int i = 0; i < EACH; i++) {
		set(name);
		if (i % 500 == 0)
			(void)raise(SIGUSR1);
		free(truth_hide_ptr(malloc(16)));
	}
	return NULL;
}

int main(void)
{
	static const char *const refused[] = {
		"", "now", "a@b", "a\nb", "123456789012345678901234567890123456789012345678", NULL,
	};
	static char names[THREADS][16];
	pthread_t threads[THREADS];

	(void)signal(SIGUSR1, handle);
	errno = 12345;
	set("first");
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		EXPECT(seep_mark(refused[i]) == -1);
	EXPECT(errno == 12345);
	for (int i = 0; i < THREADS; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "thread %d", i);
		EXPECT(pthread_create(&threads[i], NULL, work, names[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	EXPECT(errno == 12345);
	printf("%llu\n", taken);
	return truth_failures;
}
