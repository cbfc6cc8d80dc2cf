/* SPDX-License-Identifier: MIT */
// build: -pthread
/* api_sizes CASE: what <sanitizer/allocator_interface.h> tells is what this program holds. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
size_t __sanitizer_get_heap_size(void) __attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *pointer) __attribute__((weak));
int __sanitizer_get_ownership(const volatile void *pointer) __attribute__((weak));

static int failures;
#define CHECK(what)                                               \
	do {                                                      \
		if (!(what)) {                                    \
			printf("line %d: %s\n", __LINE__, #what); \
			failures++;                               \
		}                                                 \
	} while (0)

static size_t now(void)
{
	return __sanitizer_get_current_allocated_bytes();
}

static void pointers(void)
{
	const size_t sizes[] = { 0, 1, 15, 16, 100, 4095, 4096, 5000, 1 << 20, (size_t)3 << 30 };
	int local;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char *volatile block = malloc(sizes[i]);

		CHECK(__sanitizer_get_ownership(block) == 1);
		CHECK(__sanitizer_get_allocated_size(block) == sizes[i]);
		CHECK(!__sanitizer_get_ownership(block + 16) &&
		      !__sanitizer_get_ownership(block + 1));
		CHECK(__sanitizer_get_allocated_size(block + 8) == 0);
		free(block);
		CHECK(!__sanitizer_get_ownership(block));
	}
	errno = 77;
	CHECK(!__sanitizer_get_ownership(NULL) && !__sanitizer_get_ownership(&local));
	CHECK(!__sanitizer_get_ownership((void *)-16) && !__sanitizer_get_ownership((void *)16));
	CHECK(!__sanitizer_get_allocated_size((void *)(UINT64_C(1) << 63)));
	CHECK(errno == 77);
}

static void *volatile kept[1000];

static void *in_thread(void *unused)
{
	for (int i = 0; i < 1000; i++)
		kept[i] = malloc(1000);
	return unused;
}

static void sums(void)
{
	const size_t before = now();
	size_t usable, with_thread;
	pthread_t id;

	in_thread(NULL);
	CHECK(now() == before + 1000 * 1000);
	usable = __sanitizer_get_heap_size();
	CHECK(usable >= now() + 1000 * (malloc_usable_size(kept[0]) - 1000));
	for (int i = 0; i < 1000; i++)
		free(kept[i]);
	CHECK(now() == before);
	CHECK(__sanitizer_get_heap_size() < usable);
	pthread_create(&id, NULL, in_thread, NULL);
	pthread_join(id, NULL);
	with_thread = now() - before;
	/* And what libc keeps of a thread. */
	CHECK(with_thread >= 1000 * 1000 && with_thread < 1000 * 1000 + 10000);
}

static void forked(void)
{
	int status = 1;

	in_thread(NULL);
	if (fork() == 0) {
		void *volatile block = malloc(5000);

		CHECK(now() >= 5000 && now() < 100000);
		/* What it inherited is its own. */
		CHECK(__sanitizer_get_allocated_size(kept[0]) == 1000);
		free(kept[0]);
		CHECK(!__sanitizer_get_ownership(kept[0]) && __sanitizer_get_ownership(block));
		fflush(stdout);
		_exit(failures);
	}
	(void)wait(&status);
	CHECK(status == 0);
}

int main(int argc, char **argv)
{
	(void)setvbuf(stdout, NULL, _IONBF, 0);
	if (!__sanitizer_get_ownership)
		printf("no library\n");
	else if (strcmp(argv[1], "pointers") == 0)
		pointers();
	else if (strcmp(argv[1], "sums") == 0)
		sums();
	else
		forked();
	printf("failures %d\n", failures);
	return failures != 0;
}
