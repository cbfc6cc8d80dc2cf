/* SPDX-License-Identifier: MIT */
// build: -pthread -ldl -fno-omit-frame-pointer
/*
 * A thread calls through generated code; then another unmaps it and loads a library with the same
 * bytes in its place, and the thread calls through that, its stack the same to the word.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "truth.h"

enum { ROUNDS = 500, BYTES = 17, CODE_BYTES = 16, PAGE_BYTES = 4096 };

TRUTH_SITE(leaf);

static void (*volatile place)(void (*)(void));
static pthread_barrier_t turn;

SITE void leaf(void)
{
	TRUTH_TEMPORARY(leaf, BYTES);
}

SITE void middle(void)
{
	place(leaf);
	__asm__ volatile("" ::: "memory");
}

SITE void rounds(void)
{
	for (int i = 0; i < ROUNDS; i++)
		middle();
}

static void *thread_main(void *unused)
{
	(void)unused;
	for (int phase = 0; phase < 2; phase++) {
		pthread_barrier_wait(&turn);
		rounds();
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

static void let_it_run(void)
{
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
}

static void *load(void)
{
	void *handle = dlopen(truth_beside("lib_code_place.so"), RTLD_NOW);

	EXPECT(handle != NULL);
	*(void **)&place = dlsym(handle, "place");
	return handle;
}

int main(void)
{
	unsigned char code[CODE_BYTES];
	pthread_t thread;
	void *handle, *before, *page;

	handle = load();
	before = (void *)place;
	memcpy(code, before, sizeof(code));
	dlclose(handle);
	page = mmap(before, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	EXPECT(page == before);
	memcpy(page, code, sizeof(code));
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&thread, NULL, thread_main, NULL);
	let_it_run();
	munmap(page, PAGE_BYTES);
	load();
	EXPECT((void *)place == before);
	let_it_run();
	pthread_join(thread, NULL);
	truth_print();
	return truth_failures != 0;
}
