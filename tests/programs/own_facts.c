/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * own_facts THREADS: what a process says of its own memory to whoever looks for pointers to its
 * blocks. Each of THREADS threads has blocks whose addresses it keeps inverted; then all writable
 * memory without a name is searched for them, but for the threads' stacks. Prints how many are
 * found, with and without the library's own memory, which is not to look like the program's, how
 * long its list is, and what stands in the list of memory taken by sbrk() and brk() at each of
 * several steps.
 */
#include "ledger/ledger_blocks.h"
#include "ledger/ledger_facts.h"
#include "own_ledger.h"

#include <inttypes.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { THREADS_MAX = 6000, STACK_BYTES = 256 << 10, DEEP_FRAMES = 400, AREAS_MAX = 1 << 16 };

static struct ledger_header header;
static const struct ledger_facts *facts;
static uintptr_t hidden[THREADS_MAX];
static pthread_barrier_t barrier;
static unsigned thread_count;

static void find_facts(void)
{
	int fd = own_ledger_open();

	if (fd < 0 || read(fd, &header, sizeof(header)) != sizeof(header))
		exit(2);
	(void)close(fd);
	facts = (const struct ledger_facts *)(uintptr_t)header.blocks.facts;
	if (facts->bytes != sizeof(*facts))
		exit(3);
}

/* Deep enough for some that the library needs more memory for the thread's call stack. */
static __attribute__((noinline)) uintptr_t allocate(unsigned depth)
{
	volatile uintptr_t inverted;

	inverted = depth ? allocate(depth - 1) : ~(uintptr_t)malloc(100);
	return inverted;
}

static void *wait_in_thread(void *argument)
{
	uintptr_t *to = argument;

	*to = allocate((to - hidden) % 7 ? 0 : DEEP_FRAMES);
	(void)pthread_barrier_wait(&barrier);
	(void)pthread_barrier_wait(&barrier);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return (x > y) - (x < y);
}

static int is_in(const struct ledger_range *list, uint32_t count, uintptr_t begin, uintptr_t end)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i].begin && begin >= list[i].begin && end <= list[i].end)
			return 1;
	return 0;
}

static int is_leaf(uintptr_t at)
{
	const uint64_t *leaves = (const uint64_t *)(uintptr_t)header.blocks.leaves;
	uint64_t bytes = ledger_leaf_pages(header.blocks.granule_shift) * (LEDGER_PAGE_BYTES + 1);

	for (unsigned i = 0; i < LEDGER_LEAVES; i++)
		if (leaves[i] && at - leaves[i] < bytes)
			return 1;
	return 0;
}

/* Page by page: mappings side by side are one for the kernel. */
static void search(uintptr_t begin, uintptr_t end, unsigned *found, unsigned *found_own)
{
	unsigned char resident;

	for (; begin < end; begin += LEDGER_PAGE_BYTES) {
		uintptr_t inverted;
		int own = -1;

		if (mincore((void *)begin, LEDGER_PAGE_BYTES, &resident) || !resident)
			continue;
		for (unsigned i = 0; i < LEDGER_PAGE_BYTES / sizeof(uintptr_t); i++) {
			inverted = ~((const uintptr_t *)begin)[i];
			if (!bsearch(&inverted, hidden, thread_count, sizeof(*hidden), compare))
				continue;
			if (own < 0)
				own = is_in(facts->own, facts->own_count, begin,
					    begin + LEDGER_PAGE_BYTES);
			if (own)
				++*found_own;
			else if (!is_leaf(begin))
				++*found;
		}
	}
}

static char *stacks, *kept[2];

static void search_all(void)
{
	static struct {
		uintptr_t begin, end;
	} areas[AREAS_MAX];
	static char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned count = 0, found = 0, found_own = 0;
	char rights[5];
	int at;

	setvbuf(maps, NULL, _IONBF, 0);
	while (count < AREAS_MAX && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %n",
			   &areas[count].begin, &areas[count].end, rights, &at) == 3 &&
		    rights[0] == 'r' && rights[1] == 'w' && !line[at])
			count++;
	(void)fclose(maps);
	for (unsigned i = 0; i < count; i++)
		if (areas[i].begin >= (uintptr_t)stacks + (uintptr_t)thread_count * STACK_BYTES ||
		    areas[i].end <= (uintptr_t)stacks)
			search(areas[i].begin, areas[i].end, &found, &found_own);
	printf("own %u found %u found_own %u\n", (unsigned)facts->own_count, found, found_own);
}

static void run_threads(void)
{
	static pthread_t threads[THREADS_MAX];
	pthread_attr_t attributes;

	stacks = mmap(NULL, (size_t)thread_count * STACK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	(void)pthread_barrier_init(&barrier, NULL, thread_count + 1);
	(void)pthread_attr_init(&attributes);
	for (unsigned i = 0; i < thread_count; i++) {
		/* Others' mappings come between the library's. */
		(void)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		(void)pthread_attr_setstack(&attributes, stacks + (size_t)i * STACK_BYTES,
					    STACK_BYTES);
		if (pthread_create(&threads[i], &attributes, wait_in_thread, &hidden[i]))
			exit(4);
	}
	(void)pthread_barrier_wait(&barrier);
	qsort(hidden, thread_count, sizeof(*hidden), compare);
	search_all();
	(void)pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < thread_count; i++)
		(void)pthread_join(threads[i], NULL);
}

static void print_taken(const char *step)
{
	printf("%s", step);
	for (uint32_t i = 0; i < facts->taken_count; i++)
		if (facts->taken[i].begin)
			printf(" %" PRIx64 "-%" PRIx64, facts->taken[i].begin, facts->taken[i].end);
	printf("\n");
}

static void take(void)
{
	char *first = sbrk(8192), *end;
	int refused;

	(void)sbrk(4096);
	printf("at %" PRIxPTR "\n", (uintptr_t)first);
	print_taken("sbrk");
	(void)sbrk(-4096 - 16);
	print_taken("less");
	/* libc takes the next: it is not the program's. */
	kept[0] = malloc(100000);
	kept[1] = malloc(100000);
	end = sbrk(0);
	printf("libc %d\n", kept[1] > first && kept[1] < end);
	if (brk(end + 100) != 0)
		exit(5);
	printf("end %" PRIxPTR "\n", (uintptr_t)end);
	print_taken("brk");
	errno = 0;
	refused = sbrk(INTPTR_MAX) == (void *)-1;
	printf("refused %d %d", refused, errno == ENOMEM);
	errno = 0;
	refused = brk((void *)(UINTPTR_MAX / 4)) == -1;
	printf(" %d %d\n", refused, errno == ENOMEM);
	print_taken("still");
}

int main(int argc, char **argv)
{
	free(malloc(1));
	setvbuf(stdout, NULL, _IONBF, 0);
	find_facts();
	take();
	if (fork() == 0) {
		(void)sbrk(64);
		print_taken("child");
		_exit(0);
	}
	(void)wait(NULL);
	print_taken("parent");
	thread_count = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	if (thread_count > THREADS_MAX)
		return 6;
	run_threads();
	return 0;
}
