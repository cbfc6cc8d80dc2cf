/* SPDX-License-Identifier: MIT */
/* What the kernel keeps for a process: our own, and one that does not let go of it. */
#include "target/kernel_held.h"
#include "base/clock.h"
#include "unit.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 2000, PAGE = 4096 };

static void add(int epoll, uint64_t word)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .u64 = word } };

	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, eventfd(1, EFD_CLOEXEC), &event), 0);
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

TEST(all_that_may_be_addresses_is_read)
{
	const int epoll = epoll_create1(EPOLL_CLOEXEC), other = epoll_create1(EPOLL_CLOEXEC);
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	struct seep_kernel_held held;
	timer_t timer;

	for (uint64_t i = 0; i < WORDS / 2; i++)
		add(epoll, UINT64_C(0x7f0000000000) + i);
	add(epoll, 17);
	add(epoll, UINT64_MAX);
	add(other, UINT64_C(0x560000000010));
	event.sigev_value.sival_ptr = &held;
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	seep_kernel_held_read(getpid(), &held);
	assert_false(held.is_partial);
	assert_int_equal(held.epoll_count, WORDS / 2 + 1);
	qsort(held.epoll, held.epoll_count, sizeof(*held.epoll), by_value);
	assert_int_equal(held.epoll[0], UINT64_C(0x560000000010));
	for (uint64_t i = 0; i < WORDS / 2; i++)
		assert_int_equal(held.epoll[i + 1], UINT64_C(0x7f0000000000) + i);
	assert_int_equal(held.timer_count, 1);
	assert_int_equal(held.timers[0], (uint64_t)(uintptr_t)&held);
	seep_kernel_held_done(&held);
	(void)timer_delete(timer);
	for (int fd = epoll; close(fd) == 0; fd++)
		;
}

static void *page; /* that nobody ever fills */

static void *wait_for_event(void *epoll)
{
	(void)epoll_wait(*(int *)epoll, page, 1, -1);
	return NULL;
}

/* epoll holds its lock while it writes what is ready to a page that does not come. */
static void hold_lock(int ready)
{
	const int fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct uffd_msg message;
	pthread_t thread;

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	area.range.start = (uintptr_t)page;
	area.range.len = PAGE;
	if (fault < 0 || ioctl(fault, UFFDIO_API, &api) < 0 ||
	    ioctl(fault, UFFDIO_REGISTER, &area) < 0) {
		(void)!write(ready, "-", 1);
		return;
	}
	add(epoll, 1 << 20);
	(void)pthread_create(&thread, NULL, wait_for_event, &epoll);
	(void)!read(fault, &message, sizeof(message));
	(void)!write(ready, "+", 1);
}

TEST(an_epoll_that_is_locked_for_ever_is_not_waited_for)
{
	const uint64_t began_ns = seep_monotonic_ns();
	struct seep_kernel_held held;
	int pair[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(pair), 0);
	child = fork();
	if (child == 0) {
		hold_lock(pair[1]);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(pair[0], &byte, 1), 1);
	if (byte == '+') {
		seep_kernel_held_read(child, &held);
		assert_true(held.is_partial);
		assert_true(seep_monotonic_ns() - began_ns < 20 * SEEP_NS_PER_S);
		seep_kernel_held_done(&held);
	}
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void)close(pair[0]);
	(void)close(pair[1]);
	if (byte != '+')
		skip(); /* only root may wait so in the kernel */
}
