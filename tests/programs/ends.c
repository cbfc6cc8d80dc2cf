/* SPDX-License-Identifier: MIT */
// build: -pthread @lib_ends
/*
 * ends MODE: makes who started it its recorder, says where it is going to end, and ends. Its
 * handlers and destructors each add 1 to a word.
 */
#include "ledger/ledger.h"
#include "own_ledger.h"

#include <error.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern volatile unsigned long long ends_ran;

static struct ledger_control *control;

static void count(void)
{
	ends_ran++;
}

static __attribute__((destructor)) void destroy(void)
{
	count();
}

static void say(uintptr_t stack)
{
	printf("tid %d stack %zu ran %zu\n", (int)syscall(SYS_gettid), (size_t)stack,
	       (size_t)&ends_ran);
}

static void register_recorder(void)
{
	int fd = own_ledger_open();
	struct ledger_header *header;

	if (fd < 0)
		exit(2);
	header = mmap(NULL, LEDGER_FIXED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (header == MAP_FAILED)
		exit(3);
	(void)close(fd);
	control = (struct ledger_control *)((char *)header + LEDGER_PAGE_BYTES);
	atomic_store(&control->recorder_pid, (uint32_t)getppid());
}

/* What is not an argument of @end has a value of its own. */
static void call(void *end, long a, void *b, void *c)
{
	uintptr_t stack;

	__asm__ volatile("lea -128(%%rsp), %0" : "=r"(stack));
	stack &= ~(uintptr_t)15;
	say(stack - 8);
	__asm__ volatile("mov %0, %%rsp\n"
			 "mov $0x1111, %%ebx\n"
			 "mov $0x2222, %%ebp\n"
			 "mov $0x3333, %%r12d\n"
			 "mov $0x4444, %%r13d\n"
			 "mov $0x5555, %%r14d\n"
			 "mov $0x6666, %%r15d\n"
			 "call *%1\n"
			 "ud2\n"
			 :
			 : "c"(stack), "a"(end), "D"(a), "S"(b), "d"(c)
			 : "memory");
	__builtin_unreachable();
}

static pthread_t main_thread;

static void *end_thread(void *mode)
{
	if (mode)
		call((void *)exit, 5, NULL, NULL);
	(void)pthread_join(main_thread, NULL);
	say((uintptr_t)__builtin_frame_address(0));
	return NULL;
}

static void exit_again(void)
{
	_exit(7);
}

static void fork_in_handler(void)
{
	pid_t child = fork();
	int status;

	if (child > 0)
		(void)waitpid(child, &status, 0);
	else
		free(malloc(1));
}

static void *const program = (void *)(uintptr_t) "/bin/true";
static char *arguments[] = { (char *)(uintptr_t) "true", NULL };

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	pthread_t thread;

	free(malloc(1));
	setvbuf(stdout, NULL, _IONBF, 0);
	if (atexit(count) || at_quick_exit(count) || at_quick_exit(count))
		return 4;
	register_recorder();
	if (strcmp(mode, "exit") == 0)
		call((void *)exit, 3, NULL, NULL);
	if (strcmp(mode, "_exit") == 0)
		call((void *)_exit, 3, NULL, NULL);
	if (strcmp(mode, "_Exit") == 0)
		call((void *)_Exit, -3, NULL, NULL);
	if (strcmp(mode, "quick_exit") == 0)
		call((void *)quick_exit, 3, NULL, NULL);
	if (strcmp(mode, "abort") == 0)
		call((void *)abort, 3, NULL, NULL);
	if (strcmp(mode, "execve") == 0)
		call((void *)execve, (long)program, arguments, NULL);
	if (strcmp(mode, "execv") == 0)
		call((void *)execv, (long)program, arguments, NULL);
	if (strcmp(mode, "execl") == 0)
		call((void *)execl, (long)program, arguments[0], NULL);
	if (strcmp(mode, "again") == 0 && atexit(exit_again) == 0)
		call((void *)exit, 3, NULL, NULL);
	if (strcmp(mode, "fork") == 0 && atexit(fork_in_handler) == 0)
		call((void *)exit, 3, NULL, NULL);
	if (strcmp(mode, "thread") == 0)
		(void)pthread_create(&thread, NULL, end_thread, &thread);
	if (strcmp(mode, "last") == 0) {
		/* It outlives main, and its return ends the process. */
		main_thread = pthread_self();
		(void)pthread_create(&thread, NULL, end_thread, NULL);
		pthread_exit(NULL);
	}
	if (strcmp(mode, "thread") == 0)
		(void)pthread_join(thread, NULL);
	say((uintptr_t)__builtin_frame_address(0));
	if (strcmp(mode, "error") == 0)
		error(6, 0, "the end");
	if (strcmp(mode, "refused") == 0)
		(void)execv("/", arguments);
	return 0;
}
