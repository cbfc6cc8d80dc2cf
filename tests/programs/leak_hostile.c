/* SPDX-License-Identifier: MIT */
// build: -pthread -rdynamic
/* Leaks in processes that are hard to look at: signals, holes in memory, locks, many mappings. */
#include "leak.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { PAGE = 4096, GUARD_INSTALL = 102 };

static char *map(size_t bytes)
{
	void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(made != MAP_FAILED);
	return (char *)made;
}

static void start(void *(*function)(void *))
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, function, NULL) == 0);
}

static volatile int handled;

static void allocate_in_handler(int number)
{
	(void)number;
	free(block(60));
	handled++;
}

static void catch_signal(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	EXPECT(sigaction(number, &action, NULL) == 0);
}

static void run_timer(int which, suseconds_t us)
{
	struct itimerval every = { { 0, us }, { 0, us } };

	EXPECT(setitimer(which, &every, NULL) == 0);
}

/* The main thread is not in malloc meanwhile: handlers may not interrupt it there. */
static void allocating_handler(void)
{
	lose(1801);
	catch_signal(SIGALRM, allocate_in_handler);
	run_timer(ITIMER_REAL, 200);
	while (handled < 500)
		pause();
	run_timer(ITIMER_REAL, 0);
}

static void count_signal(int number)
{
	(void)number;
	handled++;
}

static void signal_storm(void)
{
	lose(1802);
	catch_signal(SIGALRM, count_signal);
	catch_signal(SIGCHLD, count_signal);
	run_timer(ITIMER_REAL, 200);
}

static int look_at_module(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	(void)info;
	(void)bytes;
	(void)unused;
	free(block(61));
	return 0;
}

static void *look_at_modules(void *unused)
{
	(void)unused;
	for (;;)
		dl_iterate_phdr(look_at_module, NULL);
	return NULL;
}

static void in_loader_lock(void)
{
	lose(1803);
	start(look_at_modules);
}

static void *open_and_close(void *unused)
{
	(void)unused;
	for (;;)
		dlclose(dlopen("libm.so.6", RTLD_NOW));
	return NULL;
}

static void *trace_back(void *unused)
{
	void *frames[16];

	(void)unused;
	for (;;)
		free(backtrace_symbols(frames, backtrace(frames, 16)));
	return NULL;
}

static void loader_and_backtrace(void)
{
	lose(1804);
	start(open_and_close);
	start(trace_back);
}

static char in_bss[4 * PAGE] __attribute__((aligned(4096)));

/*
 * A hole in a block and one in .bss, with pointers on both sides. The pages are whole again at the
 * end.
 */
static void holes(void)
{
	char *made = (char *)aligned_alloc(PAGE, 5 * PAGE);

	EXPECT(made);
	memset(made, 0x11, 5 * PAGE);
	leak_keep[0] = made;
	set_word(made, 3, block(4341));
	set_word(made + 4 * PAGE, 3, block(4342));
	set_word(in_bss, 5, block(4344));
	set_word(in_bss + 3 * PAGE, 5, block(4345));
	EXPECT(mprotect(made + 2 * PAGE, PAGE, PROT_NONE) == 0);
	EXPECT(mprotect(in_bss + PAGE, 2 * PAGE, PROT_NONE) == 0);
	lose(4343);
}

static void *unmap_and_map(void *unused)
{
	(void)unused;
	for (;;) {
		char *area = map(64 * PAGE);

		area[0] = area[33 * PAGE] = 1;
		EXPECT(munmap(area + 32 * PAGE, 32 * PAGE) == 0);
		EXPECT(munmap(area, 32 * PAGE) == 0);
	}
	return NULL;
}

static void vanishing_pages(void)
{
	lose(1806);
	start(unmap_and_map);
}

/* A page that nobody will ever fill: who reads it waits for ever. */
static void unfilled_page(void)
{
	long file = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	lose(1807);
	if (file < 0)
		return;
	EXPECT(ioctl((int)file, UFFDIO_API, &api) == 0);
	area.range.start = (uintptr_t)map(16 * PAGE);
	area.range.len = 16 * PAGE;
	EXPECT(ioctl((int)file, UFFDIO_REGISTER, &area) == 0);
}

static void guarded_pages(void)
{
	char *area = map(16 * PAGE);

	set_word(area, 3, block(1808));
	set_word(area + 15 * PAGE, 3, block(1809));
	(void)madvise(area + 4 * PAGE, 4 * PAGE, GUARD_INSTALL);
	lose(1810);
}

static void *wait_without_signals(void *unused)
{
	sigset_t all;

	(void)unused;
	sigfillset(&all);
	EXPECT(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
	for (;;)
		pause();
	return NULL;
}

static void no_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	EXPECT(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
	lose(1811);
	start(wait_without_signals);
}

/* Mappings that do not merge: every other page is read-only. */
static void map_pages(size_t mappings)
{
	char *area = map(mappings * PAGE);
	size_t i;

	for (i = 0; i < mappings; i += 2)
		EXPECT(mprotect(area + i * PAGE, PAGE, PROT_READ) == 0);
	area[PAGE] = 1;
}

static void many_mappings(void)
{
	lose(8686);
	map_pages(2000);
}

static void most_mappings(void)
{
	lose(8687);
	map_pages(60000);
}

static void idle(void)
{
	lose(1812);
}

static void own_handlers(void)
{
	int number;

	lose(1813);
	for (number = 1; number < NSIG; number++)
		if (number != SIGKILL && number != SIGSTOP && number != 32 && number != 33 &&
		    number != SIGCHLD)
			catch_signal(number, count_signal);
}

__attribute__((destructor)) static void no_signal_came(void)
{
	struct sigaction now;

	if (sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == count_signal)
		EXPECT(handled == 0);
}

static void *(*volatile allocate)(size_t) = malloc;

/* A call from code without a name, unwind information or frame pointer. */
static void from_generated_code(void)
{
	/* sub $8,%rsp; call *%rsi; xor %eax,%eax; add $8,%rsp; ret */
	static const unsigned char code[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd6, 0x31,
					      0xc0, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	char *page = map(PAGE);

	memcpy(page, code, sizeof(code));
	EXPECT(mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0);
	((void (*)(size_t, void *))page)(1814, (void *)allocate);
}

static const struct leak_case cases[] = {
	{ "allocating_handler", "H1", "LOST 1801 1", "", allocating_handler },
	{ "signal_storm", "H2", "LOST 1802 1", "live", signal_storm },
	{ "in_loader_lock", "H3", "LOST 1803 1", "live", in_loader_lock },
	{ "loader_and_backtrace", "H4", "LOST 1804 1", "live", loader_and_backtrace },
	{ "holes", "H5",
	  "LOST 4343 1; REACHABLE 4341 1; REACHABLE 4342 1; REACHABLE 4344 1; REACHABLE 4345 1", "",
	  holes },
	{ "vanishing_pages", "H6", "LOST 1806 1", "live", vanishing_pages },
	{ "unfilled_page", "H6", "LOST 1807 1", "live", unfilled_page },
	{ "guarded_pages", "H6", "LOST 1810 1; REACHABLE 1808 1; REACHABLE 1809 1", "live",
	  guarded_pages },
	{ "no_signals", "H7", "LOST 1811 1", "live", no_signals },
	{ "many_mappings", "H8", "LOST 8686 1", "", many_mappings },
	{ "most_mappings", "H8", "LOST 8687 1", "", most_mappings },
	{ "idle", "H9", "LOST 1812 1", "live fast", idle },
	{ "own_handlers", "H10", "LOST 1813 1", "live", own_handlers },
	{ "from_generated_code", "H12", "LOST 1814 1", "", from_generated_code },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return leak_main(argc, argv, cases);
}
