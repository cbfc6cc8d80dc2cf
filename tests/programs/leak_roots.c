/* SPDX-License-Identifier: MIT */
// build: -pthread
/* Leaks by where a pointer lies: mappings, libraries, regions, the environment, coroutines. */
#include "leak.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <pwd.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGE = 4096, STACK = 64 << 10 };

void __lsan_register_root_region(const void *begin, size_t bytes) __attribute__((weak));
void __lsan_unregister_root_region(const void *begin, size_t bytes) __attribute__((weak));

static void *map(size_t bytes, int flags, int file)
{
	void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);

	EXPECT(made != MAP_FAILED);
	return made;
}

static APART void in_mmap(void)
{
	set_word(map(3 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1), 100, block(2020));
}

static APART void in_memfd(void)
{
	int file = memfd_create("leak", 0);

	EXPECT(file >= 0 && ftruncate(file, PAGE) == 0);
	set_word(map(PAGE, MAP_SHARED, file), 7, block(2021));
	EXPECT(close(file) == 0);
}

static APART void in_brk(void)
{
	void *made = block(2024);
	char *area = (char *)sbrk(PAGE);

	EXPECT(area != (char *)-1);
	area = (char *)(((uintptr_t)area + 15) & ~(uintptr_t)15);
	set_word(area, 8, made);
	(void)block(200005); /* beyond what the heap has: glibc goes on behind the area */
}

/* The region is a block that is lost itself, so that it counts as registered or not at all. */
static APART void *region(size_t holder_bytes, size_t bytes)
{
	void *holder = block(holder_bytes);

	set_word(holder, 5, block(bytes));
	if (__lsan_register_root_region)
		__lsan_register_root_region(holder, holder_bytes);
	return holder;
}

static APART void registered(void)
{
	(void)region(730, 731);
}

static APART void unregistered(void)
{
	void *holder = region(732, 733);

	if (__lsan_unregister_root_region)
		__lsan_unregister_root_region(holder, 732);
}

static APART void registered_twice(void)
{
	void *holder = region(734, 735);

	if (__lsan_register_root_region) {
		__lsan_register_root_region(holder, 734);
		__lsan_unregister_root_region(holder, 734);
	}
}

static APART void region_with_holes(void)
{
	char *area = (char *)map(5 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	set_word(area, 1, block(741));
	set_word(area + 2 * PAGE, 1, block(742));
	set_word(area + 4 * PAGE, 1, block(743));
	EXPECT(mprotect(area + PAGE, PAGE, PROT_NONE) == 0);
	EXPECT(mprotect(area + 3 * PAGE, PAGE, PROT_NONE) == 0);
	if (__lsan_register_root_region)
		__lsan_register_root_region(area, 5 * PAGE);
	(void)block(744);
}

static void *open_holder(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	void *library;

	EXPECT(length > 0);
	path[length] = 0;
	strcpy(strrchr(path, '/'), "/lib_leak_holder.so");
	library = dlopen(path, RTLD_NOW);
	EXPECT(library);
	return library;
}

static APART void call_holder(void *library, const char *function, void *made)
{
	void (*hold)(void *) = (void (*)(void *))dlsym(library, function);

	EXPECT(hold);
	hold(made);
}

static APART void in_open_library(void)
{
	void *library = open_holder();

	call_holder(library, "holder_data", block(2525));
	call_holder(library, "holder_bss", block(2526));
	((void (*)(size_t))dlsym(library, "holder_lose"))(2626);
	leak_keep[0] = library;
}

static APART void in_closed_library(void)
{
	void *library = open_holder();

	call_holder(library, "holder_bss", block(2527));
	((void (*)(size_t))dlsym(library, "holder_lose"))(2627);
	EXPECT(dlclose(library) == 0);
}

static APART void in_library_thread_data(void)
{
	void *library = open_holder();

	call_holder(library, "holder_thread", block(2528));
	leak_keep[0] = library;
}

static __thread void *volatile in_thread;

static APART void thread_local_data(void)
{
	in_thread = block(1130);
}

static pthread_key_t keys[PTHREAD_KEYS_MAX];

static APART void first_key(void)
{
	EXPECT(pthread_key_create(&keys[0], NULL) == 0);
	EXPECT(pthread_setspecific(keys[0], block(1131)) == 0);
}

static APART void later_key(void)
{
	int i;

	for (i = 0; i < 48; i++)
		EXPECT(pthread_key_create(&keys[i], NULL) == 0);
	EXPECT(pthread_setspecific(keys[47], block(1132)) == 0);
}

static APART void leave_by_exit(void)
{
	void *volatile held = block(1140);
	void *volatile lost = block(1141);

	lost = NULL;
	clobber_stack();
	exit(held && !lost ? 0 : 96);
}

static APART void in_environment(void)
{
	char *text = (char *)block(64);

	memset(text, 'x', 63);
	memcpy(text, "LEAK=", 5);
	text[63] = 0;
	EXPECT(putenv(text) == 0);
}

static APART void of_libc(void)
{
	setlocale(LC_ALL, "");
	(void)getpwnam("root");
	(void)strerror(4242);
	printf("printed\n");
	(void)block(1150);
}

/* Where nothing was ever written, nothing is looked for, and nothing waited for. */
static APART void huge_mapping(void)
{
	char *area = (char *)mmap(NULL, 4UL << 40, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	EXPECT(area != (char *)MAP_FAILED);
	(void)map(PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);
	(void)block(1155);
}

static ucontext_t outside, inside;

static void coroutine(void)
{
	void *volatile held = block(1160);

	EXPECT(swapcontext(&inside, &outside) == 0);
	__asm__ volatile("" ::"r"(held));
}

static APART void start_coroutine(void *stack)
{
	EXPECT(getcontext(&inside) == 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = STACK;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	EXPECT(swapcontext(&outside, &inside) == 0);
}

static APART void coroutine_on_heap(void)
{
	leak_keep[0] = block(STACK);
	start_coroutine(leak_keep[0]);
}

static APART void coroutine_on_mapping(void)
{
	start_coroutine(map(STACK, MAP_PRIVATE | MAP_ANONYMOUS, -1));
}

/* ---- words that are left on a stack ---- */

static APART void stale_frame(void)
{
	void *volatile held = block(4040);

	__asm__ volatile("" ::"r"(held));
}

enum { OFFSETS = 45 };

static uintptr_t hidden[OFFSETS];

static APART void make_hidden(void)
{
	volatile int i;

	for (i = 0; i < OFFSETS; i++)
		hidden[i] = HIDDEN(block(4100));
}

/* A pointer at each offset below the stack pointer that exit() is about to be called with. */
static APART void plant_below(char *sp)
{
	int i;

	for (i = 0; i < OFFSETS; i++) {
		*(void *volatile *)(sp - 64 - 8 * i) = SHOWN(hidden[i]);
		((volatile uintptr_t *)hidden)[i] = 0;
	}
}

static APART void stale_below_exit(void)
{
	uintptr_t sp;
	long i;

	make_hidden();
	clobber_stack();
	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
	/* Not by a call, whose own frame would lie there. */
	__asm__ volatile("lea -64(%[sp]), %%rdi\n\t"
			 "mov %[hidden], %%rsi\n\t"
			 "mov %[count], %%ecx\n"
			 "1:\tmov (%%rsi), %%rax\n\t"
			 "movq $0, (%%rsi)\n\t"
			 "xor %[mask], %%rax\n\t"
			 "mov %%rax, (%%rdi)\n\t"
			 "add $8, %%rsi\n\t"
			 "sub $8, %%rdi\n\t"
			 "dec %%ecx\n\t"
			 "jnz 1b\n\t"
			 "xor %%eax, %%eax\n\txor %%edi, %%edi\n\txor %%esi, %%esi"
			 :
			 : [sp] "r"(sp), [hidden] "r"(hidden), [count] "i"(OFFSETS),
			   [mask] "r"(0x5a5a5a5a5a5a5a5aUL)
			 : "rax", "rcx", "rsi", "rdi", "memory", "cc");
	exit(0);
}

static APART void stale_below_return(void)
{
	make_hidden();
	clobber_stack();
	plant_below((char *)__builtin_frame_address(0) - 256);
}

/* One frame stores, another of the same size, which does not, ends the program. */
static APART void store(void)
{
	void *volatile words[8];

	words[3] = block(4041);
	__asm__ volatile("" ::"r"(words) : "memory");
}

static APART void end_over_it(void)
{
	void *volatile words[8];

	__asm__ volatile("" ::"r"(words) : "memory");
	exit(0);
}

static APART void same_frame_size(void)
{
	store();
	end_over_it();
}

/* It saves its caller's registers, as far as the compiler does that where nothing returns. */
static APART void end_with_registers(void)
{
	__asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory");
	exit(0);
}

static APART void held_by_caller(void)
{
	void (*volatile end)(void) = end_with_registers;
	void *held = block(4043);

	clobber_stack();
	end();
	free(held);
}

static APART void malloc_and_print(void)
{
	char *text = (char *)malloc(4042);

	strcpy(text, "printed");
	printf("%s\n", text);
	fflush(stdout);
}

static const struct leak_case cases[] = {
	{ "tls", "C1", "REACHABLE 1130 1", "", thread_local_data },
	{ "tls_dlopen", "C2", "REACHABLE 2528 1", "", in_library_thread_data },
	{ "first_key", "C3", "REACHABLE 1131 1", "", first_key },
	{ "later_key", "C4", "REACHABLE 1132 1", "", later_key },
	{ "coroutine_on_heap", "C12", "REACHABLE 65536 1; REACHABLE 1160 1", "",
	  coroutine_on_heap },
	{ "coroutine_on_mapping", "C12", "REACHABLE 1160 1", "", coroutine_on_mapping },
	{ "stale_frame", "C13", "LOST 4040 1", "stale", stale_frame },
	{ "stale_below_exit", "C14", "LOST 184500 45", "stale", stale_below_exit },
	{ "stale_below_return", "C14", "LOST 184500 45", "stale", stale_below_return },
	{ "same_frame_size", "C15", "REACHABLE 4041 1", "stale missed", same_frame_size },
	{ "held_by_caller", "C15", "REACHABLE 4043 1", "", held_by_caller },
	{ "malloc_and_print", "C16", "LOST 4042 1", "stale", malloc_and_print },
	{ "in_mmap", "C17", "REACHABLE 2020 1", "fast", in_mmap },
	{ "in_memfd", "C18", "REACHABLE 2021 1", "", in_memfd },
	{ "in_brk", "C19", "REACHABLE 2024 1; LOST 200005 1", "", in_brk },
	{ "registered", "C20", "LOST 730 1; REACHABLE 731 1", "lsan-api", registered },
	{ "unregistered", "C20", "LOST 732 1 with 733 1", "lsan-api", unregistered },
	{ "registered_twice", "C20", "LOST 734 1; REACHABLE 735 1", "lsan-api", registered_twice },
	{ "region_with_holes", "C21",
	  "REACHABLE 741 1; REACHABLE 742 1; REACHABLE 743 1; LOST 744 1", "lsan-api",
	  region_with_holes },
	{ "in_open_library", "C22", "REACHABLE 2525 1; REACHABLE 2526 1; LOST 2626 1", "",
	  in_open_library },
	{ "in_closed_library", "C23", "LOST 2527 1; LOST 2627 1", "named=holder_lose",
	  in_closed_library },
	{ "leave_by_exit", "C25", "REACHABLE 1140 1; LOST 1141 1", "", leave_by_exit },
	{ "in_environment", "C27", "REACHABLE 64 1", "", in_environment },
	{ "of_libc", "C28", "LOST 1150 1", "", of_libc },
	{ "huge_mapping", "C29", "LOST 1155 1", "", huge_mapping },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return leak_main(argc, argv, cases);
}
