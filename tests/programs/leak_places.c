/* SPDX-License-Identifier: MIT */
// build: -pthread
/* Leaks by where a pointer lies, where that is hard to read: memory that forks leave out. */
#include "leak.h"

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

static const struct leak_case cases[] = {
	{ "not_forked", "C30", "REACHABLE 30100 100; LOST 302 1", "live", not_forked },
	{ "wiped_by_fork", "C30", "REACHABLE 30300 100; LOST 304 1", "live fast", wiped_by_fork },
	{ "block_not_forked", "C30", "REACHABLE 262144 1; REACHABLE 30500 100; LOST 306 1", "live",
	  block_not_forked },
	{ "shared_not_forked", "C30", "REACHABLE 30700 100; LOST 308 1", "live",
	  shared_not_forked },
	{ "much_not_forked", "C30", "REACHABLE 30900 100; LOST 310 1", "live", much_not_forked },
	{ "secret", "C31", "MAYBE-LOST|REACHABLE 31100 100; MAYBE-LOST|REACHABLE 312 1", "live",
	  secret },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return leak_main(argc, argv, cases);
}
