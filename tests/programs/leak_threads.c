/* SPDX-License-Identifier: MIT */
// build: -pthread
/* Leaks by threads: what a live one leads to, and what one leaves behind when it ends. */
#include "leak.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

static sem_t begun;
static volatile int go_on;

static APART void wait_begun(void)
{
	while (sem_wait(&begun) != 0)
		;
}

static APART void stay(void)
{
	EXPECT(sem_post(&begun) == 0);
	for (;;)
		pause();
}

static void start_with(void *(*function)(void *), void *argument, pthread_attr_t *attributes)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, attributes, function, argument) == 0);
}

static void start(void *(*function)(void *))
{
	start_with(function, NULL, NULL);
}

static void run(void *(*function)(void *))
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, function, NULL) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
}

/* ---- roots ---- */

/* Hidden, so that only the register leads to it. */
static uintptr_t to_register;
static volatile int is_in_register;

static void *in_register_thread(void *unused)
{
	(void)unused;
	to_register = HIDDEN(block(1201));
	clobber_stack();
	__asm__ volatile(
		"mov %[hidden], %%rbx\n\t"
		"xor %[mask], %%rbx\n\t"
		"movl $1, %[there]\n"
		"1:\tcmpl $0, %[go_on]\n\t"
		"je 1b\n\t"
		"xor %%ebx, %%ebx"
		: [there] "=m"(is_in_register)
		: [hidden] "m"(to_register), [mask] "r"(0x5a5a5a5a5a5a5a5aUL), [go_on] "m"(go_on)
		: "rbx", "cc", "memory");
	return NULL;
}

static APART void in_register(void)
{
	start(in_register_thread);
	while (!is_in_register)
		;
}

static void *on_stack_thread(void *unused)
{
	void *volatile held = block(1202);

	(void)unused;
	stay();
	return held;
}

static APART void on_stack(void)
{
	start(on_stack_thread);
	wait_begun();
}

static void *argument_thread(void *argument)
{
	stay();
	return argument;
}

static APART void argument(void)
{
	start_with(argument_thread, block(1203), NULL);
	wait_begun();
}

static APART void own_stack(void)
{
	size_t bytes = 256 << 10;
	pthread_attr_t attributes;
	void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(stack != MAP_FAILED && pthread_attr_init(&attributes) == 0);
	EXPECT(pthread_attr_setstack(&attributes, stack, bytes) == 0);
	start_with(on_stack_thread, NULL, &attributes);
	EXPECT(pthread_attr_destroy(&attributes) == 0);
	wait_begun();
}

static void on_signal(int number)
{
	void *volatile held = block(1205);

	(void)number;
	stay();
	__asm__ volatile("" ::"r"(held));
}

static char alternate[64 << 10];

static void *alternate_thread(void *unused)
{
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	void *volatile held = block(1204);

	(void)unused;
	EXPECT(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0);
	EXPECT(pthread_kill(pthread_self(), SIGUSR2) == 0);
	return held;
}

static APART void on_alternate_stack(void)
{
	start(alternate_thread);
	wait_begun();
}

enum { KEY_THREADS = 10 };
static pthread_key_t keys[PTHREAD_KEYS_MAX];
static unsigned key_count;

static void *all_keys_thread(void *unused)
{
	volatile unsigned i;

	(void)unused;
	for (i = 0; i < key_count; i++)
		EXPECT(pthread_setspecific(keys[i], block(100)) == 0);
	clobber_stack();
	stay();
	return NULL;
}

/* libseep.so may have one key of its own, so the number is not the maximum: 1,000 of 1,024. */
static APART void all_keys(void)
{
	int i;

	while (key_count < 1000) {
		EXPECT(pthread_key_create(&keys[key_count], NULL) == 0);
		key_count++;
	}
	for (i = 0; i < KEY_THREADS; i++)
		start(all_keys_thread);
	for (i = 0; i < KEY_THREADS; i++)
		wait_begun();
}

/* ---- ends ---- */

static void *ends_with_local(void *unused)
{
	void *volatile held = block(1717);

	(void)unused;
	__asm__ volatile("" ::"r"(held));
	return NULL;
}

static APART void local_of_ended(void)
{
	run(ends_with_local);
}

static void *returns_block(void *unused)
{
	(void)unused;
	return block(1919);
}

static APART void result_dropped(void)
{
	run(returns_block);
}

static void *returns_block_later(void *unused)
{
	(void)unused;
	EXPECT(sem_post(&begun) == 0);
	return block(1920);
}

static APART void wait_for_one_thread(void)
{
	int i;

	/* Until the kernel lists the main thread alone. */
	for (i = 0; i < 60000; i++) {
		FILE *status = fopen("/proc/self/status", "r");
		char line[128];
		int threads = 0;

		EXPECT(status);
		while (fgets(line, sizeof(line), status))
			(void)sscanf(line, "Threads: %d", &threads);
		fclose(status);
		if (threads == 1)
			return;
		(void)usleep(1000);
	}
	EXPECT(!"the thread ends");
}

static APART void detached_result(void)
{
	pthread_attr_t attributes;

	EXPECT(pthread_attr_init(&attributes) == 0);
	EXPECT(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
	start_with(returns_block_later, NULL, &attributes);
	EXPECT(pthread_attr_destroy(&attributes) == 0);
	wait_for_one_thread();
}

static APART void never_joined(void)
{
	start(ends_with_local);
	wait_for_one_thread();
}

static pthread_key_t resetting;
static volatile int rounds;

static void set_again(void *value)
{
	free(value);
	rounds++;
	if (rounds < 4)
		EXPECT(pthread_setspecific(resetting, block(1301)) == 0);
}

static void *key_thread(void *unused)
{
	(void)unused;
	EXPECT(pthread_setspecific(resetting, block(1300)) == 0);
	return NULL;
}

static APART void key_destructor(void)
{
	EXPECT(pthread_key_create(&resetting, set_again) == 0);
	run(key_thread);
	EXPECT(rounds == 4);
}

static void free_it(void *held)
{
	free(held);
}

static void *cancelled_thread(void *unused)
{
	void *volatile held = block(8484);

	(void)unused;
	stay();
	return held;
}

static void *cleaned_thread(void *unused)
{
	void *held = block(8485);

	(void)unused;
	pthread_cleanup_push(free_it, held);
	stay();
	pthread_cleanup_pop(1);
	return NULL;
}

static void cancel(void *(*function)(void *))
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, function, NULL) == 0);
	wait_begun();
	EXPECT(pthread_cancel(thread) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
}

static APART void cancelled(void)
{
	cancel(cancelled_thread);
}

static APART void cancelled_clean(void)
{
	cancel(cleaned_thread);
}

static void *after_main(void *main_thread)
{
	EXPECT(pthread_join(*(pthread_t *)main_thread, NULL) == 0);
	(void)block(1003);
	clobber_stack();
	exit(0);
}

static APART void main_leaves(void)
{
	static pthread_t self;

	self = pthread_self();
	(void)block(1004);
	clobber_stack();
	start_with(after_main, &self, NULL);
	pthread_exit(NULL);
}

static void *spin(void *unused)
{
	(void)unused;
	free(malloc(24));
	EXPECT(sem_post(&begun) == 0);
	for (;;) {
		void *volatile made = malloc(24);

		free(made);
	}
	return NULL;
}

static APART void spinning_exit(void)
{
	int i;

	(void)block(5656);
	for (i = 0; i < 4; i++)
		start(spin);
	for (i = 0; i < 4; i++)
		wait_begun();
}

static void on_timer(union sigval unused)
{
	(void)unused;
	(void)block(8181);
	clobber_stack();
	EXPECT(sem_post(&begun) == 0);
}

static APART void timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD };
	struct itimerspec when = { .it_value = { .tv_nsec = 1000000 } };
	timer_t made;

	event.sigev_notify_function = on_timer;
	EXPECT(timer_create(CLOCK_MONOTONIC, &event, &made) == 0);
	EXPECT(timer_settime(made, 0, &when, NULL) == 0);
	wait_begun();
	EXPECT(timer_delete(made) == 0);
}

static void *churn(void *number)
{
	volatile int i; /* one call site */

	for (i = 0; i < 20; i++)
		free(block(50));
	if (((uintptr_t)number) % 100 == 7)
		for (i = 0; i < 4; i++)
			(void)block(1 + 3 * 11);
	return NULL;
}

/* One in a hundred loses four blocks. */
static APART void many_threads(void)
{
	pthread_t threads[50];
	uintptr_t i, k;

	for (i = 0; i < 5000; i += 50) {
		for (k = 0; k < 50; k++)
			EXPECT(pthread_create(&threads[k], NULL, churn, (void *)(i + k)) == 0);
		for (k = 0; k < 50; k++)
			EXPECT(pthread_join(threads[k], NULL) == 0);
	}
}

static void *handed;

static void *make_handed(void *unused)
{
	(void)unused;
	handed = block(1401);
	return NULL;
}

static void *free_handed(void *unused)
{
	(void)unused;
	free(handed);
	handed = NULL;
	return NULL;
}

static void *make_handed_and_wait(void *unused)
{
	make_handed(unused);
	EXPECT(sem_post(&begun) == 0);
	while (!go_on)
		usleep(100);
	return NULL;
}

static APART void handed_over(void)
{
	pthread_t thread;

	run(make_handed);
	run(free_handed);
	EXPECT(pthread_create(&thread, NULL, make_handed_and_wait, NULL) == 0);
	wait_begun();
	run(free_handed);
	go_on = 1;
	EXPECT(pthread_join(thread, NULL) == 0);
}

/* A thread that libc knows nothing of: it may not call it. Its stack alone leads to the block. */
static uintptr_t to_raw;
static volatile int raw_is_there;

static int raw_thread(void *unused)
{
	void *volatile held = SHOWN(to_raw);

	(void)unused;
	to_raw = 0;
	raw_is_there = 1;
	for (;;)
		__asm__ volatile("pause" ::"r"(&held) : "memory");
	return 0;
}

static APART void raw_clone(void)
{
	size_t bytes = 64 << 10;
	char *stack = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

	EXPECT(stack != (char *)MAP_FAILED);
	to_raw = HIDDEN(block(1501));
	clobber_stack();
	EXPECT(clone(raw_thread, stack + bytes,
		     CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			     CLONE_SYSVSEM,
		     NULL) > 0);
	while (!raw_is_there)
		usleep(100);
}

void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void *loses(void *unused)
{
	(void)unused;
	(void)block(1602);
	return NULL;
}

static APART void disabled_here(void)
{
	if (__lsan_disable)
		__lsan_disable();
	(void)block(1601);
	run(loses);
	if (__lsan_enable)
		__lsan_enable();
	(void)block(1603);
}

/* ---- deaths ---- */

static void killed_with_threads(void)
{
	in_register();
	on_stack();
	(void)block(1604);
	clobber_stack();
	raise(SIGTERM);
}

static void *crashing_thread(void *unused)
{
	on_stack();
	(void)unused;
	(void)block(1605);
	clobber_stack();
	*(volatile int *)SHOWN(HIDDEN(NULL)) = 1;
	return NULL;
}

static void crashed_in_thread(void)
{
	void *volatile held = block(1606);

	no_core();
	run(crashing_thread);
	free(held);
}

/* What a function that calls none keeps below its stack pointer. */
static void crashed_in_leaf(void)
{
	no_core();
	to_register = HIDDEN(block(1607));
	clobber_stack();
	__asm__ volatile("mov %[hidden], %%rbx\n\t"
			 "xor %[mask], %%rbx\n\t"
			 "mov %%rbx, -120(%%rsp)\n\t"
			 "xor %%ebx, %%ebx\n\t"
			 "movl $1, (%%rbx)"
			 :
			 : [hidden] "m"(to_register), [mask] "r"(0x5a5a5a5a5a5a5a5aUL)
			 : "rbx", "cc", "memory");
}

static const struct leak_case cases[] = {
	{ "all_keys", "C5", "REACHABLE 1000000 10000", "", all_keys },
	{ "in_register", "C7", "REACHABLE 1201 1", "", in_register },
	{ "on_stack", "C8", "REACHABLE 1202 1", "fast", on_stack },
	{ "argument", "C9", "REACHABLE 1203 1", "", argument },
	{ "own_stack", "C10", "REACHABLE 1202 1", "", own_stack },
	{ "on_alternate_stack", "C11", "REACHABLE 1204 1; REACHABLE 1205 1", "",
	  on_alternate_stack },
	{ "local_of_ended", "D1", "LOST 1717 1", "fast", local_of_ended },
	{ "result_dropped", "D2", "LOST 1919 1", "", result_dropped },
	{ "detached_result", "D3", "LOST 1920 1", "", detached_result },
	{ "never_joined", "D4", "LOST 1717 1", "", never_joined },
	{ "key_destructor", "D5", "none", "", key_destructor },
	{ "cancelled", "D8", "LOST 8484 1", "", cancelled },
	{ "cancelled_clean", "D8", "none", "", cancelled_clean },
	{ "main_leaves", "D9", "LOST 1003 1; LOST 1004 1", "", main_leaves },
	{ "spinning_exit", "D10", "LOST 5656 1", "", spinning_exit },
	{ "timer", "D11", "LOST 8181 1", "", timer },
	{ "many_threads", "D12", "LOST 6800 200", "", many_threads },
	{ "handed_over", "D13", "none", "", handed_over },
	{ "raw_clone", "D14", "REACHABLE 1501 1", "", raw_clone },
	{ "disabled_here", "D15", "IGNORED 1601 1; LOST 1602 1; LOST 1603 1", "lsan-api",
	  disabled_here },
	{ "killed_with_threads", "E5", "REACHABLE 1201 1; REACHABLE 1202 1; LOST 1604 1",
	  "trace-exit", killed_with_threads },
	{ "crashed_in_thread", "E4", "REACHABLE 1202 1; REACHABLE 1606 1; LOST 1605 1",
	  "trace-exit", crashed_in_thread },
	{ "crashed_in_leaf", "E4", "REACHABLE 1607 1", "trace-exit", crashed_in_leaf },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	EXPECT(sem_init(&begun, 0, 0) == 0);
	return leak_main(argc, argv, cases);
}
