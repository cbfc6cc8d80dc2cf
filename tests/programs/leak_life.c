/* SPDX-License-Identifier: MIT */
// build: -pthread
/* Leaks by how a process lives and ends: exits, signals, exec, children, confinement. */
#include "leak.h"
#include "seccomp_filter.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { NOBODY = 65534, CHILDREN = 20 };

int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
extern char **environ;

static void returned(void)
{
	lose(1001);
}

static void exited(void)
{
	lose(1002);
	exit(3);
}

static void exited_now(void)
{
	lose(1003);
	_exit(4);
}

static void exited_now_c(void)
{
	lose(1004);
	_Exit(5);
}

static void quick(void)
{
	lose(1005);
	quick_exit(6);
}

static void aborted(void)
{
	lose(1011);
	no_core();
	abort();
}

static void crashed(void)
{
	lose(1012);
	no_core();
	*(volatile int *)SHOWN(HIDDEN(NULL)) = 1;
}

static void terminated(void)
{
	lose(1013);
	raise(SIGTERM);
}

static void interrupted(void)
{
	lose(1014);
	raise(SIGINT);
}

static void killed(void)
{
	lose(1015);
	kill(getpid(), SIGKILL);
}

static void became_another(void)
{
	char *words[] = { (char *)"leak_life", (char *)"returned", NULL };

	lose(1016);
	execv("/proc/self/exe", words);
	_exit(96);
}

static void ran_others(void)
{
	char *words[] = { (char *)"true", NULL };
	int status = -1;
	pid_t pid;

	lose(1017);
	pid = vfork();
	if (pid == 0) {
		execv("/bin/true", words);
		_exit(1);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT(posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ) == 0);
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT(system("exit 3") == 3 << 8);
}

/*
 * Of children that end within some 25 ms nobody looks at what they leave: there may be thousands.
 */
static void linger(void)
{
	usleep(500000);
}

static void wait_for(pid_t pid)
{
	int status = -1;

	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void child_leaks(void)
{
	pid_t pid;

	leak_keep[0] = block(1018);
	pid = fork();
	if (pid == 0) {
		lose(1019);
		linger();
		exit(0);
	}
	wait_for(pid);
}

static void child_ends_at_once(void)
{
	pid_t pid;

	lose(1020);
	pid = fork();
	if (pid == 0)
		_exit(0);
	wait_for(pid);
}

static sem_t begun;
static volatile int over;

static void *holder(void *unused)
{
	void *volatile held = block(100);
	void *volatile more = block(200);

	(void)unused;
	EXPECT(sem_post(&begun) == 0);
	while (!over)
		usleep(1000);
	free(held);
	free(more);
	return NULL;
}

/* Children of a process with threads, which are not there any more in the children. */
static void children_of_threads(void)
{
	pthread_t threads[13];
	pid_t children[CHILDREN];
	int i;

	EXPECT(sem_init(&begun, 0, 0) == 0);
	for (i = 0; i < 13; i++)
		EXPECT(pthread_create(&threads[i], NULL, holder, NULL) == 0);
	for (i = 0; i < 13; i++)
		EXPECT(sem_wait(&begun) == 0);
	for (i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			lose(5757);
			linger();
			exit(0);
		}
	}
	for (i = 0; i < CHILDREN; i++)
		wait_for(children[i]);
	over = 1;
	for (i = 0; i < 13; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void became_daemon(void)
{
	int ends[2];
	char byte;
	pid_t pid;

	EXPECT(pipe(ends) == 0);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		(void)setsid();
		if (fork() != 0)
			_exit(0);
		EXPECT(null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2);
		lose(1021);
		linger();
		exit(0);
	}
	wait_for(pid);
	close(ends[1]);
	EXPECT(read(ends[0], &byte, 1) == 0);
}

static void closed_stderr(void)
{
	lose(1022);
	EXPECT(close(2) == 0);
}

static void closed_all(void)
{
	lose(1023);
	EXPECT(close_range(3, ~0U, 0) == 0);
}

static void changed_root(void)
{
	lose(1024);
	EXPECT(chdir("/proc/self/fdinfo") == 0 && chroot(".") == 0);
}

static void gave_up_root(void)
{
	lose(1025);
	EXPECT(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

static void not_dumpable(void)
{
	lose(1026);
	EXPECT(prctl(PR_SET_DUMPABLE, 0) == 0);
}

static uintptr_t for_handler;

static void free_at_exit(void)
{
	free(SHOWN(for_handler));
}

static void leak_at_exit(void)
{
	lose(5252);
}

static void handler_frees(void)
{
	for_handler = HIDDEN(block(1030));
	EXPECT(atexit(free_at_exit) == 0);
}

static void handler_leaks(void)
{
	EXPECT(atexit(leak_at_exit) == 0);
}

static void before_main(void)
{
}

static void after_main(void)
{
}

static const char *chosen = "";

__attribute__((constructor)) static void construct(int argc, char **argv)
{
	if (argc < 2)
		return;
	chosen = argv[1];
	if (strcmp(chosen, "before_main") == 0)
		lose(1031);
}

__attribute__((destructor)) static void destruct(void)
{
	if (strcmp(chosen, "after_main") == 0)
		lose(5454);
}

static void *open_holder(int how, int apart)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	void *library;

	EXPECT(length > 0);
	path[length] = 0;
	strcpy(strrchr(path, '/'), "/lib_leak_holder.so");
	library = apart ? dlmopen(LM_ID_NEWLM, path, how) : dlopen(path, how);
	EXPECT(library);
	return library;
}

static void library_frees_late(void)
{
	void *library = open_holder(RTLD_NOW, 0);

	((void (*)(void *))dlsym(library, "holder_free_late"))(block(1032));
}

/* The figures that seep's own check gives at these moments: 0, then 1, then 1. */
static void checks_from_code(void)
{
	int first = 0, second = 1, third = 1;

	linger();
	if (__lsan_do_recoverable_leak_check)
		first = __lsan_do_recoverable_leak_check();
	lose(1337);
	if (__lsan_do_recoverable_leak_check)
		second = __lsan_do_recoverable_leak_check();
	lose(23);
	if (__lsan_do_recoverable_leak_check)
		third = __lsan_do_recoverable_leak_check();
	EXPECT(first == 0 && second == 1 && third == 1);
	_exit(0);
}

static void bound_deeply(void)
{
	void *library = open_holder(RTLD_NOW | RTLD_DEEPBIND, 0);

	((void (*)(size_t))dlsym(library, "holder_lose"))(1033);
}

static void in_other_namespace(void)
{
	void *library = open_holder(RTLD_NOW, 1);

	((void (*)(size_t))dlsym(library, "holder_lose"))(1034);
}

static void limited(void)
{
	struct rlimit none = { 0, 0 }, some = { 1UL << 30, 1UL << 30 };

	lose(1035);
	EXPECT(setrlimit(RLIMIT_AS, &some) == 0);
	EXPECT(setrlimit(RLIMIT_NOFILE, &none) == 0);
	EXPECT(setrlimit(RLIMIT_FSIZE, &none) == 0);
	EXPECT(setrlimit(RLIMIT_NPROC, &none) == 0);
}

static const struct leak_case cases[] = {
	{ "returned", "E1", "LOST 1001 1", "fast", returned },
	{ "exited", "E1", "LOST 1002 1", "", exited },
	{ "exited_now", "E2", "LOST 1003 1", "fast", exited_now },
	{ "exited_now_c", "E2", "LOST 1004 1", "", exited_now_c },
	{ "quick", "E2", "LOST 1005 1", "", quick },
	{ "aborted", "E3", "LOST 1011 1", "trace-exit", aborted },
	{ "crashed", "E4", "LOST 1012 1", "trace-exit", crashed },
	{ "terminated", "E5", "LOST 1013 1", "trace-exit", terminated },
	{ "interrupted", "E5", "LOST 1014 1", "trace-exit", interrupted },
	{ "killed", "E5", "none", "unscanned no-lsan no-valgrind", killed },
	{ "became_another", "E6", "LOST 1016 1; LOST 1001 1", "exec no-lsan no-valgrind",
	  became_another },
	{ "ran_others", "E7", "LOST 1017 1", "", ran_others },
	{ "child_leaks", "E8", "REACHABLE 1018 1; child LOST 1019 1", "follow", child_leaks },
	{ "child_ends_at_once", "E9", "LOST 1020 1", "follow children=0", child_ends_at_once },
	{ "children_of_threads", "E10", "none; child LOST 5757 1; child FORK-ORPHAN 3900 26",
	  "follow children=20", children_of_threads },
	{ "became_daemon", "E11", "none; child LOST 1021 1", "follow", became_daemon },
	{ "closed_stderr", "E12", "LOST 1022 1", "", closed_stderr },
	{ "closed_all", "E12", "LOST 1023 1", "", closed_all },
	{ "changed_root", "E13", "LOST 1024 1", "root live", changed_root },
	{ "gave_up_root", "E14", "LOST 1025 1", "root live", gave_up_root },
	{ "not_dumpable", "E14", "LOST 1026 1", "live", not_dumpable },
	{ "handler_frees", "E16", "none", "", handler_frees },
	{ "handler_leaks", "E16", "LOST 5252 1", "", handler_leaks },
	{ "before_main", "E17", "LOST 1031 1 flag startup", "", before_main },
	{ "after_main", "E17", "LOST 5454 1", "", after_main },
	{ "library_frees_late", "E18", "none", "", library_frees_late },
	{ "checks_from_code", "E19", "LOST 1337 1; LOST 23 1", "lsan-api reports",
	  checks_from_code },
	{ "bound_deeply", "E20", "LOST 1033 1", "no-lsan no-valgrind", bound_deeply },
	{ "in_other_namespace", "E20", "none", "unseen=bound-elsewhere no-lsan no-valgrind",
	  in_other_namespace },
	{ "limited", "E22", "LOST 1035 1", "", limited },
	{ NULL, NULL, NULL, NULL, NULL },
};

/*
 * leak_life --confine COMMAND...: run it, and all that it starts, without ptrace and its relatives:
 * they fail; with --confine-kill they end who calls them.
 */
static int confine(uint32_t refusal, char **command)
{
	const int calls[] = { SYS_ptrace, SYS_process_vm_readv };

	EXPECT(set_filter(calls, 2, refusal, SECCOMP_RET_ALLOW) == 0);
	execvp(command[0], command);
	return 95;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "--confine") == 0)
		return confine(SECCOMP_RET_ERRNO | EPERM, argv + 2);
	if (argc > 2 && strcmp(argv[1], "--confine-kill") == 0)
		return confine(SECCOMP_RET_KILL_PROCESS, argv + 2);
	return leak_main(argc, argv, cases);
}
