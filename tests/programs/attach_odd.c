// SPDX-License-Identifier: MIT
// build: -pthread -ldl
/*
 * attach_odd MODE [FILE...]: programs that do, or have, what hardly any other does, when a tool attaches.
 * The main thread does the odd thing over and over, and each checks all the time that it goes on as it
 * should. attach_talk.h says how it is talked to.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "attach_talk.h"
#include "seccomp_filter.h"

static char **files; /* that were named */

static void start_thread(void *(*work)(void *))
{
	pthread_t thread;
	sigset_t all, before;

	(void)sigfillset(&all);
	EXPECT(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
	EXPECT(pthread_create(&thread, NULL, work, NULL) == 0);
	EXPECT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

static void *wait_forever(void *arg)
{
	for (;;)
		(void)pause();
	return arg;
}

static void take_and_free(void)
{
	unsigned i;

	for (i = 0; i < 1000; i++) {
		char *volatile block = malloc(100 + i);

		EXPECT(block != NULL);
		block[99 + i] = 1;
		free(block);
	}
}

/* ---- joins, setids: a lock of the C library that loading needs is held all the time ------------- */

static void *touch_stack(void *arg)
{
	volatile char bytes[65536];

	memset((char *)bytes, 1, sizeof(bytes));
	return arg;
}

static void join_many(void)
{
	pthread_t all[24];
	unsigned i;

	for (i = 0; i < 24; i++)
		EXPECT(pthread_create(&all[i], NULL, touch_stack, NULL) == 0);
	for (i = 0; i < 24; i++)
		EXPECT(pthread_join(all[i], NULL) == 0);
}

static void start_two(void)
{
	start_thread(wait_forever);
	start_thread(wait_forever);
}

static void set_ids(void)
{
	unsigned i;

	for (i = 0; i < 200; i++)
		EXPECT(seteuid(geteuid()) == 0);
}

/* ---- suspends: sigsuspend() returns for each signal, and for nothing else ----------------------- */

static sigset_t unblocked;
static pthread_t suspended;
static volatile sig_atomic_t is_woken;
static unsigned wakes;

static void wake(int number)
{
	(void)number;
	is_woken = 1;
}

static void *wake_main(void *arg)
{
	for (;;) {
		unsigned before = __atomic_load_n(&wakes, __ATOMIC_ACQUIRE);
		volatile unsigned i;

		for (i = 0; i < 30000; i++)
			;
		(void)pthread_kill(suspended, SIGUSR1);
		while (__atomic_load_n(&wakes, __ATOMIC_ACQUIRE) == before)
			(void)usleep(20);
	}
	return arg;
}

static void start_waker(void)
{
	sigset_t one;

	suspended = pthread_self();
	(void)sigemptyset(&one);
	(void)sigaddset(&one, SIGUSR1);
	EXPECT(pthread_sigmask(SIG_BLOCK, &one, &unblocked) == 0);
	(void)signal(SIGUSR1, wake);
	start_thread(wake_main);
}

static void suspend(void)
{
	unsigned i;

	for (i = 0; i < 200; i++) {
		EXPECT(sigsuspend(&unblocked) < 0 && is_woken);
		is_woken = 0;
		__atomic_add_fetch(&wakes, 1, __ATOMIC_RELEASE);
	}
}

/* ---- forks: of a process that is looked at by another thread ------------------------------------ */

static int count_module(struct dl_phdr_info *info, size_t bytes, void *count)
{
	(void)info;
	(void)bytes;
	++*(unsigned *)count;
	return 0;
}

static void fork_many(void)
{
	unsigned i;
	int status;

	for (i = 0; i < 20; i++) {
		pid_t child = fork();
		unsigned count = 0;

		if (child == 0) {
			(void)alarm(10);
			(void)dl_iterate_phdr(count_module, &count);
			_exit(count < 2);
		}
		EXPECT(waitpid(child, &status, 0) == child && status == 0);
	}
}

/* ---- vforks: a child in the same memory ends while the parent is looked at ---------------------- */

static void vfork_one(void)
{
	struct timespec span = { .tv_nsec = 50000000 };
	pid_t child = vfork();
	int status;

	if (child == 0) {
		(void)nanosleep(&span, NULL);
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

/* ---- named: a library that was loaded by the number of a descriptor ------------------------------ */

static void load_by_number(void)
{
	const int from = open(truth_beside("lib_attach_plugin.so"), O_RDONLY);
	const int file = memfd_create("odd", MFD_CLOEXEC);
	static char bytes[128 << 10];
	const ssize_t count = read(from, bytes, sizeof(bytes));
	char name[64];

	(void)close(from);
	EXPECT(count > 0 && write(file, bytes, (size_t)count) == count);
	(void)dup2(file, from); /* it will be the lowest that is free */
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", from);
	EXPECT(dlopen(name, RTLD_NOW) != NULL);
	(void)close(from);
	(void)close(file);
}

/* ---- space, copied: a second C library, one that nobody else knows ------------------------------- */

static void open_space(void)
{
	EXPECT(dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW) != NULL);
}

static int copy_library(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	const int fd = strstr(info->dlpi_name, "/libc.so.6") ? open(info->dlpi_name, O_RDONLY) : -1;
	/* Below the stack and above all libraries there is room for 128 MB. */
	char *above = (char *)(((uintptr_t)&info - (64 << 20)) & -(uintptr_t)4096);
	struct stat about;
	size_t room;

	(void)bytes;
	(void)arg;
	if (fd < 0)
		return 0;
	EXPECT(fstat(fd, &about) == 0);
	room = (size_t)about.st_size;
	EXPECT(mmap(above, room, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == above);
	EXPECT(mmap(NULL, room, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	(void)close(fd);
	return 0;
}

static void copy_libraries(void)
{
	(void)dl_iterate_phdr(copy_library, NULL);
}

/* ---- code: made at run time in static data, with the address of malloc in it --------------------- */

static unsigned char code[4096] __attribute__((aligned(4096)));

static void make_code(void)
{
	static const unsigned char jump[] = { 0x48, 0x8b, 0x05, 9, 0, 0, 0, 0xff, 0xe0 };
	void *(*function)(size_t) = malloc;

	memcpy(code, jump, sizeof(jump));
	memcpy(code + 16, &function, sizeof(function));
	EXPECT(mprotect(code, sizeof(code), PROT_READ | PROT_EXEC) == 0);
}

static void call_code(void)
{
	void *(*function)(size_t);
	unsigned char *at = code;
	unsigned i;

	memcpy(&function, &at, sizeof(function));
	for (i = 0; i < 1000; i++)
		free(function(100 + i));
}

/* ---- bare, null: a thread that has no storage of its own, or none at all -------------------------- */

static int nap_bare(void *arg)
{
	const struct timespec span = { .tv_nsec = 5000000 };

	(void)arg;
	for (;;) {
		register long none __asm__("r10") = 0;
		long result = SYS_nanosleep;

		__asm__ volatile("syscall"
				 : "+a"(result)
				 : "D"(&span), "S"(0), "r"(none)
				 : "rcx", "r11", "memory");
	}
	return 0;
}

enum {
	BARE_FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		     CLONE_SYSVSEM,
	BARE_BYTES = 1 << 20
};

static char *bare_stack(void)
{
	char *stack = mmap(NULL, BARE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	EXPECT(stack != MAP_FAILED);
	return stack + BARE_BYTES;
}

static void start_bare(void)
{
	EXPECT(clone(nap_bare, bare_stack(), BARE_FLAGS, NULL) > 0);
}

static void start_null(void)
{
	EXPECT(clone(nap_bare, bare_stack(), BARE_FLAGS | CLONE_SETTLS, NULL, NULL, NULL, NULL) >
	       0);
}

/* ---- stacks: small ones, with something right below what is used --------------------------------- */

enum { SMALL_BYTES = 4096, USED_BYTES = 512, SPINS = 2000000 };

static ucontext_t on_own, on_small;
static unsigned char *below; /* SMALL_BYTES, and then the stack */

static void spin(void)
{
	__asm__ volatile("mov %0, %%rcx\n1: dec %%rcx\njnz 1b" : : "i"(SPINS) : "rcx", "cc");
}

static void spin_on_small(void)
{
	/* Nothing below the red zone is used here. */
	for (;;) {
		spin();
		(void)swapcontext(&on_small, &on_own);
	}
}

static void start_small_at(unsigned char *at)
{
	below = at;
	EXPECT(getcontext(&on_small) == 0);
	on_small.uc_stack.ss_sp = below + SMALL_BYTES;
	on_small.uc_stack.ss_size = USED_BYTES;
	makecontext(&on_small, spin_on_small, 0);
	memset(below, 0x5a, SMALL_BYTES);
}

static void start_small(void)
{
	static unsigned char bytes[SMALL_BYTES + USED_BYTES] __attribute__((aligned(16)));

	start_small_at(bytes);
}

/* Right below the thread-local storage of the first thread, and one mapping with it. */
static void start_small_mapped(void)
{
	unsigned char *at = mmap(NULL, 2 * SMALL_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(at != MAP_FAILED);
	start_small_at(at);
}

static unsigned char *in_main; /* of its frame */

static void start_small_in_main(void)
{
	start_small_at(in_main);
}

static void use_small(void)
{
	unsigned i;

	(void)swapcontext(&on_own, &on_small);
	for (i = 0; i < SMALL_BYTES; i++)
		EXPECT(below[i] == 0x5a);
	spin();
	take_and_free();
}

/* ---- jumps: a handler that leaves by a jump, a thousand times a second ---------------------------- */

static sigjmp_buf before_jump;
static volatile sig_atomic_t may_jump;

static void jump(int number)
{
	(void)number;
	if (may_jump)
		siglongjmp(before_jump, 1);
}

static void spin_and_jump(void)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	volatile unsigned jumps = 0;

	(void)signal(SIGALRM, jump);
	EXPECT(setitimer(ITIMER_REAL, &often, NULL) == 0);
	if (sigsetjmp(before_jump, 1) != 0)
		jumps++;
	may_jump = 1;
	while (jumps < 20)
		;
	may_jump = 0;
	EXPECT(setitimer(ITIMER_REAL, &never, NULL) == 0);
}

/* ---- clockless, tables, named files, leaderless --------------------------------------------------- */

static void drop_vdso(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long begin = 0, end = 0;
	char line[512];

	EXPECT(maps != NULL);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]"))
			EXPECT(sscanf(line, "%lx-%lx", &begin, &end) == 2);
	(void)fclose(maps);
	EXPECT(munmap((void *)begin, end - begin) == 0);
}

/* A second thread with descriptors of its own: both have a file of their own at each number. */
static int own_number, shared_number;

static void *use_own_table(void *arg)
{
	struct stat about;

	EXPECT(unshare(CLONE_FILES) == 0);
	__atomic_store_n(&own_number, open("/dev/null", O_RDONLY), __ATOMIC_RELEASE);
	for (;;) {
		(void)usleep(20000);
		EXPECT(fstat(own_number, &about) == 0);
	}
	return arg;
}

static void start_own_table(void)
{
	start_thread(use_own_table);
	while (!__atomic_load_n(&own_number, __ATOMIC_ACQUIRE))
		(void)sched_yield();
}

static void check_table(void)
{
	volatile unsigned i;
	struct stat about;

	if (!shared_number)
		shared_number = open("/dev/zero", O_RDONLY);
	for (i = 0; i < 100000; i++)
		;
	EXPECT(fstat(shared_number, &about) == 0);
}

/* The first thread ends, and another one does its work. */
static void *serve(void *arg);

static void leave(void)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, serve, NULL) == 0);
	pthread_exit(NULL);
}

static void load_files(void)
{
	char **file;

	for (file = files; *file; file++)
		EXPECT(dlopen(*file, RTLD_NOW | RTLD_GLOBAL) != NULL);
}

/* ---- registers: all that a thread has, in a loop that calls nothing ------------------------------ */

unsigned long keep(unsigned long rounds);

__asm__(".type keep, @function\n"
	"keep: .cfi_startproc\n"
	"mov %rdi, %rcx\n"
	"mov $1, %eax\n mov $2, %edx\n mov $4, %esi\n mov $8, %edi\n"
	"mov $16, %r8d\n mov $32, %r9d\n mov $64, %r10d\n mov $128, %r11d\n"
	"movq %r11, %xmm0\n movq $256, -8(%rsp)\n movq $512, -128(%rsp)\n"
	"stc\n"
	"1: jrcxz 2f\n lea -1(%rcx), %rcx\n jmp 1b\n"
	"2: adc %rdx, %rax\n add %rsi, %rax\n add %rdi, %rax\n"
	"add %r8, %rax\n add %r9, %rax\n add %r10, %rax\n add %r11, %rax\n"
	"movq %xmm0, %rdx\n add %rdx, %rax\n add -8(%rsp), %rax\n add -128(%rsp), %rax\n"
	"ret\n .cfi_endproc\n .size keep, .-keep\n");

/* Longer than who was killed and who comes next need. */
static void handle_slowly(int number)
{
	const struct timespec time = { .tv_nsec = 100000000 };

	(void)number;
	(void)nanosleep(&time, NULL);
}

static void set_alarms(int how)
{
	sigset_t alarms;

	(void)sigemptyset(&alarms);
	(void)sigaddset(&alarms, SIGALRM);
	EXPECT(sigprocmask(how, &alarms, NULL) == 0);
}

static void handle_alarms(void)
{
	struct sigaction action = { .sa_handler = handle_slowly, .sa_flags = SA_RESTART };

	EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
	set_alarms(SIG_BLOCK);
}

static void keep_registers(void)
{
	set_alarms(SIG_UNBLOCK);
	EXPECT(keep(1000000) == 1152);
	set_alarms(SIG_BLOCK);
}

static const struct mode {
	const char *name;
	void (*start)(void);
	void (*step)(void); /* over and over by the main thread; NULL: it waits in poll */
} modes[] = {
	{ "joins", NULL, join_many },
	{ "setids", start_two, set_ids },
	{ "suspends", start_waker, suspend },
	{ "forks", start_two, fork_many },
	{ "vforks", start_two, vfork_one },
	{ "named", load_by_number, NULL },
	{ "space", open_space, take_and_free },
	{ "copied", copy_libraries, NULL },
	{ "code", make_code, call_code },
	{ "bare", start_bare, take_and_free },
	{ "null", start_null, take_and_free },
	{ "stacks", start_small, use_small },
	{ "mapped-stacks", start_small_mapped, use_small },
	{ "stacks-in-main", start_small_in_main, use_small },
	{ "jumps", NULL, spin_and_jump },
	{ "confines", NULL, NULL },
	{ "clockless", drop_vdso, take_and_free },
	{ "tables", start_own_table, check_table },
	{ "leaderless", leave, NULL },
	{ "registers", handle_alarms, keep_registers },
	{ "files", load_files, take_and_free },
};

static const struct mode *mode;

/* At its end, when it confines itself. */
static const int allowed[] = { SYS_write, SYS_exit_group };

static void *serve(void *arg)
{
	const char *line;

	talk_ready();
	while ((line = talk_line(mode->step ? 0 : 1000))) {
		if (mode->step)
			mode->step();
		if (*line) {
			take_and_free();
			talk_answer();
		}
	}
	if (strcmp(mode->name, "confines") == 0)
		EXPECT(set_filter(allowed, sizeof(allowed) / sizeof(*allowed), SECCOMP_RET_ALLOW,
				  SECCOMP_RET_KILL_PROCESS) == 0);
	_exit(talk_end());
	return arg;
}

int main(int argc, char **argv)
{
	unsigned char bytes[SMALL_BYTES + USED_BYTES] __attribute__((aligned(16)));
	size_t i;

	in_main = bytes;
	for (i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(modes[i].name, argv[1]) == 0)
			mode = &modes[i];
	if (!mode) {
		(void)fprintf(stderr, "attach_odd: which mode?\n");
		return 2;
	}
	files = argv + 2;
	if (mode->start)
		mode->start();
	(void)serve(NULL);
	return 0;
}
