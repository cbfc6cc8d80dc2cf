/* SPDX-License-Identifier: MIT */
// build: -ldl -pthread
/*
 * A clock_gettime() as those have it that fake the time: it reads its configuration, for which
 * stdio allocates, and holds a lock meanwhile. From inside an allocation it cannot be called.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int (*next)(clockid_t, struct timespec *);
	FILE *configuration;

	(void)pthread_mutex_lock(&lock);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
	configuration = fopen("/dev/null", "r");
	if (configuration)
		(void)fclose(configuration);
	(void)pthread_mutex_unlock(&lock);
	return next(clock, ret_time);
}
