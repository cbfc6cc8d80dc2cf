/* SPDX-License-Identifier: MIT */
/*
 * Every way in which a process can end, chosen by the argument. The truth is complete before the
 * end; what comes later only frees or allocates outside the counted functions. Words before the
 * mode: "closefds" closes every descriptor above 2 first, "nostderr" closes 2.
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "truth.h"

enum { BLOCKS = 1500, SPINNERS = 4 };

TRUTH_MAKER(exits_work, malloc(bytes));
TRUTH_MAKER(exits_thread, malloc(bytes));
TRUTH_MAKER(exits_execd, malloc(bytes));

static char *const no_arguments[] = { (char *)(uintptr_t) "true", NULL };
static void *kept[2 * BLOCKS];
extern char **environ;

static void work(void)
{
	int i;

	for (i = 0; i < BLOCKS; i++) {
		size_t bytes = (size_t)i + 1;
		void *block = exits_work(bytes);

		if (i % 3 == 0) {
			kept[i] = block;
			continue;
		}
		free(block);
		truth_freed(&site_exits_work, bytes);
	}
	EXPECT(truth_hide_ptr(kept) != NULL);
}

static void status_or_exit(void)
{
	if (truth_failures)
		_exit(99);
}

static void finish(void)
{
	truth_print();
	status_or_exit();
}

/* Outlives main and finishes the program. */
static void *after_main(void *main_thread)
{
	int i;

	EXPECT(pthread_join(*(pthread_t *)main_thread, NULL) == 0);
	for (i = 0; i < BLOCKS; i++)
		kept[BLOCKS + i] = exits_thread(123);
	finish();
	return NULL;
}

static void leave_main_to_thread(void)
{
	static pthread_t self, thread;

	self = pthread_self();
	EXPECT(pthread_create(&thread, NULL, after_main, &self) == 0);
	pthread_exit(NULL);
}

static void *exit_from_thread(void *arg)
{
	int i;

	for (i = 0; i < BLOCKS; i++)
		kept[BLOCKS + i] = exits_thread(123);
	finish();
	exit(arg ? 4 : 5);
}

static void in_thread(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, function, arg) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
}

/* Not counted: how far they get before the process ends is nobody's to know. */
static void *spin(void *arg)
{
	for (;;)
		free(truth_hide_ptr(malloc((size_t)(uintptr_t)arg)));
	return NULL;
}

static void exit_while_others_spin(void)
{
	pthread_t threads[SPINNERS];
	uintptr_t i;

	for (i = 0; i < SPINNERS; i++)
		EXPECT(pthread_create(&threads[i], NULL, spin, (void *)(i * 100)) == 0);
	finish();
	exit(6);
}

static void run_children(void)
{
	char *const *argv = no_arguments;
	pid_t pid = vfork();
	int status = -1;

	if (pid == 0) {
		(void)execv("/bin/true", argv);
		_exit(1);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0);
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT(system("exit 3") == 3 << 8);
	/* A vfork child that ends without exec shares the heap: nothing of ours may close. */
	pid = vfork();
	if (pid == 0)
		_exit(7);
	EXPECT(waitpid(pid, &status, 0) == pid && status == 7 << 8);
	work();
}

/* The usual double fork; the grandchild's truth has its pid. The parent waits for the end. */
static void become_daemon(void)
{
	int ends[2];
	char byte;

	EXPECT(pipe(ends) == 0);
	if (fork() == 0) {
		(void)setsid();
		if (fork() != 0)
			_exit(0);
		truth_reset();
		work();
		truth_print_child();
		exit(0);
	}
	(void)close(ends[1]);
	EXPECT(wait(NULL) > 0);
	EXPECT(read(ends[0], &byte, 1) == 0);
}

static void exec_again(void)
{
	char *argv[] = { (char *)(uintptr_t) "exits", (char *)(uintptr_t) "execd", NULL };

	finish();
	(void)execv("/proc/self/exe", argv);
	_exit(98);
}

static int main_after_exec(void)
{
	int i;

	for (i = 0; i < BLOCKS; i++)
		kept[i] = exits_execd(50);
	truth_print_as(".exec");
	return 9;
}

static void quick_handler(void)
{
	free(truth_hide_ptr(malloc(64)));
}

static void crash(void)
{
	*(volatile int *)truth_hide_ptr(NULL) = 1;
}

static int end_by(const char *mode)
{
	finish();
	if (strcmp(mode, "exit") == 0)
		exit(3);
	if (strcmp(mode, "_exit") == 0)
		_exit(5);
	if (strcmp(mode, "_Exit") == 0)
		_Exit(6);
	if (strcmp(mode, "quick_exit") == 0 && at_quick_exit(quick_handler) == 0)
		quick_exit(7);
	if (strcmp(mode, "abort") == 0)
		abort();
	if (strcmp(mode, "segv") == 0)
		crash();
	if (strcmp(mode, "kill") == 0)
		(void)kill(getpid(), SIGKILL);
	if (strcmp(mode, "term") == 0)
		(void)raise(SIGTERM);
	return 0;
}

/* True when @mode was a longer way to the end, which may not come back at all. */
static int special(const char *mode)
{
	if (strcmp(mode, "exec") == 0)
		exec_again();
	else if (strcmp(mode, "pthread_exit") == 0)
		leave_main_to_thread();
	else if (strcmp(mode, "thread_exit") == 0)
		in_thread(exit_from_thread, NULL);
	else if (strcmp(mode, "spin") == 0)
		exit_while_others_spin();
	else if (strcmp(mode, "children") == 0)
		run_children();
	else if (strcmp(mode, "daemon") == 0)
		become_daemon();
	else
		return 0;
	return 1;
}

int main(int argc, char **argv)
{
	struct rlimit no_core = { 0, 0 };
	int i = 1;

	EXPECT(setrlimit(RLIMIT_CORE, &no_core) == 0);
	if (i < argc && strcmp(argv[i], "execd") == 0)
		return main_after_exec();
	for (; i < argc - 1; i++) {
		if (strcmp(argv[i], "closefds") == 0)
			EXPECT(close_range(3, ~0U, 0) == 0);
		if (strcmp(argv[i], "nostderr") == 0)
			EXPECT(close(2) == 0);
	}
	work();
	if (i < argc && special(argv[i])) {
		finish();
		return 0;
	}
	return end_by(i < argc ? argv[i] : "return");
}
