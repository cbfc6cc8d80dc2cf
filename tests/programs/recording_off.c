/* SPDX-License-Identifier: MIT */
// build: -pthread
/* Threads that say what is not to be recorded; the truth is what is. Prints, too, what the calls return. */
#include "truth.h"

#include "seep/seep.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

TRUTH_SITE(recorded);
TRUTH_SITE(unrecorded);
TRUTH_SITE(moved);

static void *volatile kept[4096];
static unsigned kept_count;

SITE static void *recorded(size_t bytes)
{
	truth_alloced(&site_recorded, bytes);
	return malloc(bytes);
}

/* With a library these count nothing; without, nobody counts. */
SITE static void *unrecorded(size_t bytes)
{
	void *block = malloc(bytes);

	kept[kept_count++] = block;
	return block;
}

SITE static void *moved(void *block, size_t bytes, int counts)
{
	if (counts)
		truth_alloced(&site_moved, bytes);
	return realloc(block, bytes);
}

static void *off_for_itself(void *beside)
{
	unsigned before = seep_recording_disable();

	for (int i = 0; i < 100; i++)
		free(unrecorded(50));
	/* What others allocated is freed all the same. */
	truth_freed(&site_recorded, 70);
	free(beside);
	seep_recording_restore(before);
	kept[kept_count++] = recorded(71);
	return NULL;
}

static void in_handler(int number)
{
	unsigned before = seep_recording_disable();

	free(unrecorded(60));
	seep_recording_restore(before);
	(void)number;
}

static void nested(void)
{
	unsigned outer = seep_recording_disable(), inner = seep_recording_disable(), enabled;

	(void)unrecorded(10);
	seep_recording_restore(inner);
	(void)unrecorded(11);
	enabled = seep_recording_enable();
	kept[kept_count++] = recorded(12);
	seep_recording_restore(enabled);
	(void)unrecorded(13);
	seep_recording_restore(outer);
	kept[kept_count++] = recorded(14);
	printf("%u %u %u\n", outer, inner, enabled);
}

static void moves(void)
{
	void *block = recorded(100);
	unsigned before = seep_recording_disable();

	truth_freed(&site_recorded, 100);
	block = moved(block, 2000, 0);
	block = moved(block, 3000, 0);
	seep_recording_restore(before);
	block = moved(block, 4000, 1);
	block = moved(block, 50, 1);
	truth_freed(&site_moved, 4000);
	kept[kept_count++] = block;
}

/* A place that was freed, taken again unrecorded, and freed again, is no double free. */
static void again(void)
{
	for (int i = 0; i < 100; i++) {
		unsigned before;

		truth_freed(&site_recorded, 40);
		free(recorded(40));
		before = seep_recording_disable();
		free(unrecorded(40));
		seep_recording_restore(before);
	}
}

static void in_child(void)
{
	unsigned before = seep_recording_disable();

	if (fork() == 0) {
		(void)unrecorded(1 << 21);
		_exit(seep_recording_enable() == before + 1 ? 0 : 1);
	}
	seep_recording_restore(before);
	{
		int status;

		(void)wait(&status);
		fprintf(stderr, "child %d\n", WEXITSTATUS(status));
	}
}

int main(int argc, char **argv)
{
	pthread_t id;

	/* Of stdio. */
	(void)setvbuf(stdout, NULL, _IONBF, 0);
	nested();
	moves();
	again();
	pthread_create(&id, NULL, off_for_itself, recorded(70));
	pthread_join(id, NULL);
	signal(SIGUSR1, in_handler);
	raise(SIGUSR1);
	if (argc > 1)
		in_child();
	truth_print_as("");
	return 0;
}
