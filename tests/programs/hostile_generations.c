/* SPDX-License-Identifier: MIT */
/*
 * Allocates from generated code, whose stacks have one frame only, and changes the list of modules
 * between any two allocations. Return addresses differ by single bits, as the numbers of such
 * changes do. Prints each address and how often it allocated.
 */
#include <dlfcn.h>
#include <sys/mman.h>

#include "truth.h"

enum { ROUNDS = 64, PLACES = 4, STEP = 32, CALLED_AT = 10, RETURNS_AT = 20 };

#define PAGE ((unsigned char *)0x10000000000)

/* push %rbp; push %rbx; xor %ebp, %ebp; sub $8, %rsp; mov $malloc, %rax; call *%rax; ... ret */
static const unsigned char code[] = { 0x55, 0x53, 0x31, 0xed, 0x48, 0x83, 0xec, 8,    0x48,
				      0xb8, 0,	  0,	0,    0,    0,	  0,	0,    0,
				      0xff, 0xd0, 0x48, 0x83, 0xc4, 8,	  0x5b, 0x5d, 0xc3 };

static void change_modules(void)
{
	void *handle = dlopen(truth_beside("lib_hostile_plugin_a.so"), RTLD_NOW);
	void (*run)(void);

	EXPECT(handle != NULL);
	*(void **)&run = dlsym(handle, "hostile_run");
	run();
	(void)dlclose(handle);
}

int main(void)
{
	void *(*const callee)(size_t) = malloc;
	unsigned counts[PLACES] = { 0 };

	EXPECT(mmap(PAGE, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == PAGE);
	for (int i = 0; i < PLACES; i++) {
		memcpy(PAGE + i * STEP, code, sizeof(code));
		memcpy(PAGE + i * STEP + CALLED_AT, &callee, sizeof(callee));
	}
	for (int round = 0; round < ROUNDS; round++) {
		const int i = round % 32 == 0 ? round / 32 : 2 + round % 2;
		void *(*allocate)(size_t) = (void *(*)(size_t))(uintptr_t)(PAGE + i * STEP);

		change_modules();
		(void)truth_hide_ptr(allocate(100));
		counts[i]++;
	}
	for (int i = 0; i < PLACES; i++)
		(void)printf("%lu %u\n", (unsigned long)(uintptr_t)(PAGE + i * STEP + RETURNS_AT),
			     counts[i]);
	return truth_failures != 0;
}
