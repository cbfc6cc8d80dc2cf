/* SPDX-License-Identifier: MIT */
// build: -Wl,-z,now
/*
 * How much of a painted stack each operation writes to, beyond what switching to it takes: "note
 * NAME BYTES". Where an operation comes first it meets a new stack, rules and perhaps a module.
 */
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "truth.h"

enum { STACK_BYTES = 64 << 10, PAINT = 0xa5 };

static ucontext_t here, there;
static unsigned char *stack;
static void *volatile block;

static SITE void nothing(void)
{
}

static SITE void first_malloc(void)
{
	block = malloc(100);
}

static void *(*volatile plugin_alloc)(size_t bytes);

static SITE void plugins_first(void)
{
	block = plugin_alloc(100);
}

static SITE void later_malloc(void)
{
	block = malloc(100);
}

static SITE void large_malloc(void)
{
	block = malloc(1 << 20);
}

static SITE void free_it(void)
{
	free(block);
}

static SITE void enlarge(void)
{
	block = realloc(block, 3000);
}

static SITE void aligned(void)
{
	block = aligned_alloc(64, 640);
}

static SITE void zeroed(void)
{
	block = calloc(3, 40);
}

static unsigned painted(void (*operation)(void))
{
	unsigned left = 0;

	(void)memset(stack, PAINT, STACK_BYTES);
	EXPECT(getcontext(&there) == 0);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK_BYTES;
	there.uc_link = &here;
	makecontext(&there, operation, 0);
	EXPECT(swapcontext(&here, &there) == 0);
	while (stack[left] == PAINT)
		left++;
	return STACK_BYTES - left;
}

int main(void)
{
	static const struct {
		const char *name;
		void (*operation)(void);
	} operations[] = {
		{ "first_malloc", first_malloc },   { "free", free_it },
		{ "later_malloc", later_malloc },   { "realloc", enlarge },
		{ "free_again", free_it },	    { "large_malloc", large_malloc },
		{ "free_large", free_it },	    { "aligned_alloc", aligned },
		{ "free_aligned", free_it },	    { "calloc", zeroed },
		{ "plugins_first", plugins_first },
	};
	void *plugin = dlopen(truth_beside("lib_elsewhere.so"), RTLD_NOW);
	unsigned none, bytes;

	EXPECT(plugin != NULL);
	*(void **)&plugin_alloc = dlsym(plugin, "plugin_alloc");

	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(stack != MAP_FAILED);
	none = painted(nothing);
	for (unsigned i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		bytes = painted(operations[i].operation) - none;
		truth_line("note %s=%u\n", operations[i].name, bytes);
	}
	truth_flush(STDOUT_FILENO);
	if (fork() == 0) {
		bytes = painted(zeroed) - none;
		truth_line("note childs_first=%u\n", bytes);
		truth_flush(STDOUT_FILENO);
		_exit(truth_failures != 0);
	}
	EXPECT(wait(NULL) > 0);
	return truth_failures != 0;
}
