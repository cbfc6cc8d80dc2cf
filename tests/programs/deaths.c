/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * deaths STEP... DEATH: what a program must not notice of a recorder that waits for its death, then
 * that death. Where it is recorded, it is by `seep run --trace-exit`: each step begins when the
 * process is traced.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seccomp_filter.h"

enum { FAULTS = 100, THREADS = 2000, FORK_BLOCKS = 2000, VALUE = 4242 };

#define EXPECT(condition) expect(!!(condition), #condition)

static void *volatile kept[FORK_BLOCKS];
static volatile sig_atomic_t count;
static sigjmp_buf back;
extern char **environ;

int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static void expect(int good, const char *what)
{
	if (good)
		return;
	printf("failed: %s (%s)\n", what, strerror(errno));
	fflush(stdout);
	_exit(98);
}

static long tracer(void)
{
	char text[4096], *at;
	FILE *file = fopen("/proc/self/status", "r");
	size_t got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[got] = '\0';
	at = strstr(text, "\nTracerPid:");
	return at ? strtol(at + strlen("\nTracerPid:"), NULL, 10) : 0;
}

static void wait_traced(void)
{
	while (getenv("SEEP_SESSION") && !tracer())
		usleep(1000);
}

static void act(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	EXPECT(sigaction(number, &action, NULL) == 0);
	count = 0;
}

static void count_one(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	count++;
}

static char *volatile page;

static void make_writable(int number, siginfo_t *info, void *context)
{
	(void)context;
	EXPECT(number == SIGSEGV && info->si_addr == page + 16 && info->si_code == SEGV_ACCERR);
	EXPECT(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
	count++;
}

static void handled(void)
{
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	act(SIGSEGV, make_writable, 0);
	for (int i = 0; i < FAULTS; i++) {
		EXPECT(mprotect(page, 4096, PROT_READ) == 0);
		page[16] = 1;
	}
	EXPECT(count == FAULTS);
	act(SIGSEGV, count_one, 0);
	signal(SIGSEGV, SIG_DFL);
}

static void jump_back(int number, siginfo_t *info, void *context)
{
	(void)context;
	EXPECT(number == SIGABRT || info->si_addr == NULL);
	siglongjmp(back, 1);
}

static void jumped(void)
{
	volatile int jumps = 0;

	act(SIGSEGV, jump_back, 0);
	if (sigsetjmp(back, 1))
		jumps++;
	if (jumps < FAULTS)
		*(volatile int *)NULL = 1;
	signal(SIGSEGV, SIG_DFL);
}

static void check_value(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	EXPECT(info->si_code == SI_QUEUE && info->si_value.sival_int == VALUE);
	EXPECT(info->si_pid == getpid());
	count++;
}

/* Queued, ignored, blocked and waited for. */
static void sent(void)
{
	const struct timespec soon = { .tv_sec = 10 };
	siginfo_t info;
	sigset_t set;

	act(SIGRTMIN + 3, check_value, 0);
	EXPECT(sigqueue(getpid(), SIGRTMIN + 3, (union sigval){ VALUE }) == 0 && count == 1);
	signal(SIGUSR1, SIG_IGN);
	EXPECT(raise(SIGUSR1) == 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	EXPECT(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	EXPECT(sigqueue(getpid(), SIGUSR2, (union sigval){ VALUE }) == 0);
	EXPECT(sigtimedwait(&set, &info, &soon) == SIGUSR2 && info.si_value.sival_int == VALUE);
	EXPECT(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static void ring(void)
{
	const struct itimerval ms = { .it_value.tv_usec = 1000 };

	EXPECT(setitimer(ITIMER_REAL, &ms, NULL) == 0);
}

/* System calls in which a signal comes end as its handler says, or go on. */
static void interrupted(void)
{
	const struct itimerval none = { 0 }, often = { { 0, 2000 }, { 0, 2000 } };
	const struct timespec some = { .tv_nsec = 30000000 };
	struct timespec left = { 0 };
	int ends[2];
	char byte;

	EXPECT(pipe(ends) == 0);
	act(SIGALRM, count_one, 0);
	ring();
	EXPECT(read(ends[0], &byte, 1) == -1 && errno == EINTR && count == 1);
	ring();
	EXPECT(nanosleep(&(struct timespec){ .tv_sec = 100 }, &left) == -1 && errno == EINTR);
	EXPECT(left.tv_sec == 99);
	/* Nobody handles it: the wait is taken up again each time. */
	signal(SIGALRM, SIG_IGN);
	EXPECT(setitimer(ITIMER_REAL, &often, NULL) == 0);
	EXPECT(nanosleep(&some, NULL) == 0);
	EXPECT(setitimer(ITIMER_REAL, &none, NULL) == 0);
	close(ends[0]);
	close(ends[1]);
}

/* A child that allocates enough to be followed, stopped, continued and killed by its parent. */
static void stopped_child(void)
{
	int ends[2], status;
	char byte;
	pid_t pid;

	EXPECT(pipe(ends) == 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < FORK_BLOCKS; i++)
			kept[i] = malloc(10);
		wait_traced();
		EXPECT(write(ends[1], "r", 1) == 1);
		for (;;)
			pause();
	}
	EXPECT(read(ends[0], &byte, 1) == 1);
	for (int i = 0; i < 20; i++) {
		EXPECT(kill(pid, SIGSTOP) == 0);
		EXPECT(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
		EXPECT(WSTOPSIG(status) == SIGSTOP && kill(pid, SIGCONT) == 0);
		EXPECT(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
	}
	EXPECT(kill(pid, SIGSTOP) == 0);
	EXPECT(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	EXPECT(kill(pid, SIGTERM) == 0 && kill(pid, SIGCONT) == 0 &&
	       waitpid(pid, &status, 0) == pid);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void *end_at_once(void *argument)
{
	return argument;
}

static void threads(void)
{
	pthread_t at_once[4];

	for (int i = 0; i < THREADS; i += 4) {
		for (int j = 0; j < 4; j++)
			EXPECT(pthread_create(&at_once[j], NULL, end_at_once, NULL) == 0);
		for (int j = 0; j < 4; j++)
			EXPECT(pthread_join(at_once[j], NULL) == 0);
	}
}

/* Children of all kinds, none of which is a thread of ours. */
static void children(void)
{
	char *words[] = { (char *)"sh", (char *)"-c", (char *)"exit 7", NULL };
	int status;
	pid_t pid;

	fflush(stdout);
	pid = vfork();
	if (pid == 0) {
		execv("/bin/sh", words);
		_exit(1);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	EXPECT(posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ) == 0);
	EXPECT(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	EXPECT(system("exit 3") == 3 << 8);
	/* Without an exit signal the kernel takes it for a thread. */
	for (int i = 0; i < 20; i++) {
		pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
		if (pid == 0) {
			if (i % 2 == 0)
				syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
			syscall(SYS_exit_group, 5);
		}
		EXPECT(waitpid(pid, &status, __WALL) == pid);
		EXPECT(i % 2 == 0 ? WIFSIGNALED(status) : WEXITSTATUS(status) == 5);
	}
	EXPECT(execv("/nowhere", words) == -1 && errno == ENOENT);
}

/* A leak scan while it is traced, and after it. */
static void asked(void)
{
	for (int i = 0; i < 3; i++) {
		wait_traced();
		EXPECT(!__lsan_do_recoverable_leak_check ||
		       __lsan_do_recoverable_leak_check() == 0);
	}
}

/* restart_syscall() kills: without a signal that it hears no program makes it. */
static void confined(void)
{
	const int call = SYS_restart_syscall;

	EXPECT(set_filter(&call, 1, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW) == 0);
	signal(SIGALRM, SIG_IGN);
	ring();
	EXPECT(nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL) == 0);
}

static void tell_of_going_on(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	EXPECT(write(1, "continued\n", 10) == 10);
}

/* Until it is killed. */
static void stay(void)
{
	act(SIGCONT, tell_of_going_on, SA_RESTART);
	act(SIGUSR1, count_one, SA_RESTART);
	EXPECT(write(1, "ready\n", 6) == 6);
	for (;;)
		pause();
}

static __attribute__((noinline)) void forget(void)
{
	volatile char area[4096];

	for (size_t i = 0; i < sizeof(area); i++)
		area[i] = 0x22;
	__asm__ volatile("xor %%eax,%%eax\n\txor %%ecx,%%ecx\n\txor %%edx,%%edx\n\t"
			 "xor %%esi,%%esi\n\txor %%edi,%%edi\n\txor %%r8d,%%r8d\n\t"
			 "xor %%r9d,%%r9d\n\txor %%r10d,%%r10d\n\txor %%r11d,%%r11d"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
}

static __attribute__((noinline)) void *give(void)
{
	void *volatile lost = malloc(777);

	return lost;
}

static void lose(void)
{
	(void)give();
	forget();
}

static void by_term(void)
{
	lose();
	raise(SIGTERM);
}

static void by_fault(void)
{
	lose();
	*(volatile int *)NULL = 1;
}

static void by_kill(void)
{
	lose();
	kill(getpid(), SIGKILL);
}

static void by_abort(void)
{
	lose();
	abort();
}

/* The handler leaves abort(), and the process dies later. */
static void after_abort(void)
{
	act(SIGABRT, jump_back, 0);
	if (sigsetjmp(back, 1) == 0)
		abort();
	wait_traced();
	by_term();
}

static const struct {
	const char *name;
	void (*run)(void);
} steps[] = {
	{ "handled", handled },
	{ "jumped", jumped },
	{ "sent", sent },
	{ "interrupted", interrupted },
	{ "stopped_child", stopped_child },
	{ "threads", threads },
	{ "children", children },
	{ "asked", asked },
	{ "confined", confined },
	{ "stay", stay },
	{ "by_term", by_term },
	{ "by_fault", by_fault },
	{ "by_kill", by_kill },
	{ "by_abort", by_abort },
	{ "after_abort", after_abort },
};

int main(int argc, char **argv)
{
	kept[0] = malloc(555);
	/* From the first instruction on. */
	EXPECT(!getenv("SEEP_SESSION") || tracer());
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++)
			if (strcmp(argv[i], steps[k].name) == 0) {
				wait_traced();
				printf("%s\n", argv[i]);
				fflush(stdout);
				steps[k].run();
			}
	return 0;
}
