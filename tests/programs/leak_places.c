/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Leaks by where a pointer lies, where that is hard to read: memory that forks leave out, that is
 * read-only by now, or the kernel's.
 */
#include "leak.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGE = 4096, HELD = 100, DONTFORK = 10, WIPEONFORK = 18 };

static char *map(size_t bytes, int flags, int file)
{
	char *made = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);

	EXPECT(made != (char *)MAP_FAILED);
	return made;
}

static APART void hold(char *area, size_t bytes)
{
	int i;

	for (i = 0; i < HELD; i++)
		set_word(area, 8 + i, block(bytes));
}

static APART void not_forked(void)
{
	char *area = map(4 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	EXPECT(madvise(area, 4 * PAGE, DONTFORK) == 0);
	hold(area, 301);
	lose(302);
}

static APART void wiped_by_fork(void)
{
	char *area = map(4 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	EXPECT(madvise(area, 4 * PAGE, WIPEONFORK) == 0);
	hold(area, 303);
	lose(304);
}

/* Of registered buffers (RDMA) the block itself is in such memory. */
static APART void block_not_forked(void)
{
	char *made = (char *)block(64 * PAGE);

	leak_keep[0] = made;
	hold(made + 4 * PAGE - 16, 305);
	EXPECT(madvise(made - 16, 32 * PAGE, DONTFORK) == 0);
	lose(306);
}

static APART void shared_not_forked(void)
{
	char *area = map(2000 * PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);

	EXPECT(madvise(area, 2000 * PAGE, DONTFORK) == 0);
	hold(area + 1000 * PAGE, 307);
	lose(308);
}

/* More than the process should stand still for: it is looked through as it stands. */
static APART void much_not_forked(void)
{
	size_t bytes = 100 << 20;
	char *area = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	memset(area, 0x11, bytes);
	EXPECT(madvise(area, bytes, DONTFORK) == 0);
	hold(area + bytes / 2, 309);
	lose(310);
}

/* Memory that nobody else may read. Where the kernel has none, it is as any other. */
static APART void secret(void)
{
	int file = (int)syscall(447 /* memfd_secret */, 0);
	char *area;

	if (file >= 0 && ftruncate(file, PAGE) == 0)
		area = map(PAGE, MAP_SHARED, file);
	else
		area = map(PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	hold(area, 311);
	if (file < 0)
		leak_keep[0] = block(312);
	else
		lose(312);
}

static char of_program[4 * PAGE] __attribute__((aligned(4096))) = { 1 };

static APART void data_made_read_only(void)
{
	set_word(of_program + PAGE, 3, block(320));
	EXPECT(mprotect(of_program + PAGE, PAGE, PROT_READ) == 0);
	lose(321);
}

/* More than a megabyte, of which a page was written; the rest is the file's. */
static APART void file_made_read_only(void)
{
	int file = open("/proc/self/exe", O_RDONLY);
	size_t bytes = 8 << 20;
	char *area = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);

	EXPECT(area != (char *)MAP_FAILED);
	set_word(area, 3, block(322));
	EXPECT(mprotect(area, bytes, PROT_READ) == 0);
	lose(323);
}

static APART void memfd_made_read_only(void)
{
	int file = memfd_create("leak", 0);
	char *area;

	EXPECT(file >= 0 && ftruncate(file, PAGE) == 0);
	area = map(PAGE, MAP_SHARED, file);
	set_word(area, 7, block(324));
	EXPECT(mprotect(area, PAGE, PROT_READ) == 0);
	lose(325);
}

static APART void memfd_mapped_read_only(void)
{
	void *words[2] = { NULL, block(326) };
	int file = memfd_create("leak", 0);

	EXPECT(file >= 0 && write(file, words, sizeof(words)) == sizeof(words));
	EXPECT(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0) != MAP_FAILED);
	words[1] = NULL;
	lose(327);
}

static APART void shared_made_read_only(void)
{
	char *area = map(PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);

	set_word(area, 7, block(328));
	EXPECT(mprotect(area, PAGE, PROT_READ) == 0);
	lose(329);
}

/* Vaults: one that nobody may open, and one that may only be written. */
static APART void made_unreadable(void)
{
	char *area = map(5 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	set_word(area + PAGE, 3, block(334));
	set_word(area + 3 * PAGE, 3, block(335));
	EXPECT(mprotect(area + PAGE, PAGE, PROT_NONE) == 0);
	EXPECT(mprotect(area + 3 * PAGE, PAGE, PROT_WRITE) == 0);
	lose(336);
}

static APART void unreadable_not_forked(void)
{
	char *area = map(PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	set_word(area, 3, block(337));
	EXPECT(madvise(area, PAGE, MADV_DONTFORK) == 0);
	EXPECT(mprotect(area, PAGE, PROT_NONE) == 0);
	lose(338);
}

/* A server that has each connection in epoll alone, which gives it back with its events. */
static APART void in_epoll(void)
{
	int epoll = epoll_create1(0), i;

	for (i = 0; i < HELD; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data = { .ptr = block(330) } };

		EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, eventfd(0, 0), &event) == 0);
	}
	lose(331);
}

static APART void in_timer(void)
{
	struct sigevent event;
	timer_t timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGRTMIN;
	event.sigev_value.sival_ptr = block(332);
	EXPECT(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	event.sigev_value.sival_ptr = NULL;
	lose(333);
}

static const struct leak_case cases[] = {
	{ "not_forked", "C30", "REACHABLE 30100 100; LOST 302 1", "live", not_forked },
	{ "wiped_by_fork", "C30", "REACHABLE 30300 100; LOST 304 1", "live fast", wiped_by_fork },
	{ "block_not_forked", "C30", "REACHABLE 262144 1; REACHABLE 30500 100; LOST 306 1", "live",
	  block_not_forked },
	{ "shared_not_forked", "C30", "REACHABLE 30700 100; LOST 308 1", "live",
	  shared_not_forked },
	{ "much_not_forked", "C30", "REACHABLE 30900 100; LOST 310 1", "live", much_not_forked },
	{ "data_made_read_only", "C32", "REACHABLE 320 1; LOST 321 1", "live",
	  data_made_read_only },
	{ "file_made_read_only", "C32", "REACHABLE 322 1; LOST 323 1", "live",
	  file_made_read_only },
	{ "memfd_made_read_only", "C33", "REACHABLE 324 1; LOST 325 1", "live",
	  memfd_made_read_only },
	{ "memfd_mapped_read_only", "C33", "REACHABLE 326 1; LOST 327 1", "live",
	  memfd_mapped_read_only },
	{ "shared_made_read_only", "C33", "REACHABLE 328 1; LOST 329 1", "live",
	  shared_made_read_only },
	{ "made_unreadable", "C35",
	  "MAYBE-LOST 334 1 rule unreadable; MAYBE-LOST 335 1 rule unreadable; LOST 336 1", "live",
	  made_unreadable },
	{ "unreadable_not_forked", "C35", "MAYBE-LOST 337 1 rule unreadable; LOST 338 1", "live",
	  unreadable_not_forked },
	{ "in_epoll", "C34", "REACHABLE 33000 100; LOST 331 1", "live fast", in_epoll },
	{ "in_timer", "C34", "REACHABLE 332 1; LOST 333 1", "live", in_timer },
	{ "secret", "C31", "MAYBE-LOST|REACHABLE 31100 100; MAYBE-LOST|REACHABLE 312 1", "live",
	  secret },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return leak_main(argc, argv, cases);
}
