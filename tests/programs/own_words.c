/* SPDX-License-Identifier: MIT */
// build: -pthread -rdynamic
/*
 * own_words [MODE]: what programs say of their blocks reaches the page map, and what they ask a
 * recorder, played by a thread of this one. Prints what is not as it should be, and its return
 * values.
 */
#include "ledger/ledger_blocks.h"
#include "ledger/ledger_facts.h"
#include "own_ledger.h"
#include "seep/seep.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));
void __lsan_ignore_object(const void *block) __attribute__((weak));
void __lsan_register_root_region(const void *begin, size_t bytes) __attribute__((weak));
void __lsan_unregister_root_region(const void *begin, size_t bytes) __attribute__((weak));
void __lsan_do_leak_check(void) __attribute__((weak));
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:made_to_be_lost\n";
}

static struct ledger_header *header;
static struct ledger_control *control;
static struct ledger_state *state;
static const struct ledger_facts *facts;
static int failures;

#define CHECK(what)                                               \
	do {                                                      \
		if (!(what)) {                                    \
			printf("line %d: %s\n", __LINE__, #what); \
			failures++;                               \
		}                                                 \
	} while (0)

static void map_ledger(void)
{
	int fd = own_ledger_open();
	struct stat file;

	if (fd < 0 || fstat(fd, &file) != 0)
		exit(2);
	header = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (header == MAP_FAILED)
		exit(3);
	(void)close(fd);
	control = (struct ledger_control *)((char *)header + LEDGER_PAGE_BYTES);
	state = (struct ledger_state *)((char *)header + 2 * LEDGER_PAGE_BYTES);
	facts = (const struct ledger_facts *)(uintptr_t)header->blocks.facts;
}

/* -1: no live block is noted there. */
static int marks_of(const void *block)
{
	uintptr_t address = (uintptr_t)block;
	const uint64_t *leaf =
		((uint64_t **)(uintptr_t)header->blocks.leaves)[address >> LEDGER_LEAF_SHIFT];
	uintptr_t inside = address & ((1u << LEDGER_LEAF_SHIFT) - 1);
	const struct ledger_large *large;
	uint64_t cell;

	if (!leaf)
		return -1;
	cell = leaf[inside >> header->blocks.granule_shift];
	if (ledger_cell_state(cell) == LEDGER_CELL_LIVE &&
	    ledger_cell_begin(cell, address) == address)
		return (int)ledger_cell_marks(cell);
	large = (const struct ledger_large *)(leaf +
					      ledger_leaf_cells(header->blocks.granule_shift));
	cell = large[inside >> LEDGER_LARGE_SHIFT].cell;
	if (ledger_cell_state(cell) == LEDGER_CELL_LIVE &&
	    ledger_large_begin(cell, address) == address)
		return (int)ledger_cell_marks(cell);
	return -1;
}

static __attribute__((noinline)) void *allocate(size_t bytes)
{
	void *volatile block = malloc(bytes);

	return block;
}

/* From one place, so that each is as quick as the library can be. */
static void switch_often(void)
{
	enum { ROUNDS = 3000 };
	static void *blocks[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned off = i / 7 % 2;

		if (off)
			__lsan_disable();
		blocks[i] = allocate(i % 1500 ? 40 : 40000);
		if (off)
			__lsan_enable();
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK(marks_of(blocks[i]) == (int)(i / 7 % 2));
		free(blocks[i]);
	}
}

static void *in_thread(void *unused)
{
	void *block = allocate(10);

	CHECK(marks_of(block) == 0);
	free(block);
	__lsan_disable();
	block = allocate(10);
	CHECK(marks_of(block) == 1);
	free(block);
	return unused;
}

static void nest(void)
{
	void *blocks[5];
	pthread_t thread;
	unsigned before;

	__lsan_disable();
	__lsan_disable();
	CHECK(pthread_create(&thread, NULL, in_thread, NULL) == 0);
	(void)pthread_join(thread, NULL);
	__lsan_enable();
	blocks[0] = allocate(20);
	__lsan_enable();
	blocks[1] = allocate(20);
	__lsan_enable();
	blocks[2] = allocate(20);
	before = seep_leaks_disable();
	CHECK(before == 0 && seep_leaks_disable() == 1);
	CHECK(seep_leaks_enable() == 1);
	blocks[3] = allocate(20);
	seep_leaks_restore(1);
	blocks[4] = calloc(1, 20000);
	seep_leaks_restore(before);
	CHECK(marks_of(blocks[0]) == 1 && marks_of(blocks[1]) == 0 && marks_of(blocks[2]) == 0);
	CHECK(marks_of(blocks[3]) == 0 && marks_of(blocks[4]) == 1);
	for (int i = 0; i < 5; i++)
		free(blocks[i]);
}

static void resize(void)
{
	char *block, *plain = allocate(64);

	__lsan_disable();
	block = allocate(64);
	plain = realloc(plain, 70);
	__lsan_enable();
	CHECK(marks_of(plain) == 1);
	for (size_t bytes = 65; bytes < 300000; bytes = bytes * 3 / 2) {
		block = realloc(block, bytes);
		CHECK(marks_of(block) == 1);
	}
	CHECK(realloc(block, (size_t)1 << 46) == NULL && marks_of(block) == 1);
	free(block);
	block = allocate(300000);
	CHECK(marks_of(block) == 0);
	free(block);
	free(plain);
}

static void ignore(void)
{
	static char no_block[100];
	char *small = allocate(100), *none = allocate(0), *large = allocate(5000),
	     *huge = allocate(100 << 20), *beside = allocate(100);

	__lsan_ignore_object(small + 99);
	CHECK(marks_of(small) == 1 && marks_of(beside) == 0);
	__lsan_ignore_object(beside + 100);
	CHECK(marks_of(beside) == 0);
	seep_leak_ignore(none);
	CHECK(marks_of(none) == 1);
	seep_leak_ignore(large + 4999);
	CHECK(marks_of(large) == 1);
	seep_leak_ignore(huge + (90 << 20));
	CHECK(marks_of(huge) == 1);
	seep_leak_ignore(NULL);
	seep_leak_ignore(no_block);
	seep_leak_ignore((void *)UINTPTR_MAX);
	free(huge);
	seep_leak_ignore(huge);
	CHECK(marks_of(huge) == -1);
	free(small);
	free(none);
	free(large);
	free(beside);
}

static unsigned regions_of(const void *begin, size_t bytes)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < facts->region_count; i++)
		count += facts->regions[i].begin == (uintptr_t)begin &&
			 facts->regions[i].end == (uintptr_t)begin + bytes;
	return count;
}

static void regions(void)
{
	static char region[4096];

	__lsan_register_root_region(region, sizeof(region));
	seep_root_region_add(region, sizeof(region));
	CHECK(regions_of(region, sizeof(region)) == 2);
	__lsan_unregister_root_region(region, 5);
	__lsan_unregister_root_region(region, sizeof(region));
	CHECK(regions_of(region, sizeof(region)) == 1);
	seep_root_region_remove(region, sizeof(region));
	CHECK(regions_of(region, sizeof(region)) == 0);
}

/* Young, then with a ledger of its own: both know the marks of what was allocated before. */
static void in_child(void)
{
	void *before = NULL, *young, *grown;
	int status;

	__lsan_disable();
	before = allocate(50);
	if (fork() == 0) {
		young = allocate(60);
		CHECK(marks_of(young) == 1 && marks_of(before) == 1);
		__lsan_enable();
		before = realloc(before, 5000);
		CHECK(marks_of(before) == 1);
		grown = allocate(60);
		CHECK(marks_of(grown) == 0);
		__lsan_ignore_object(grown);
		CHECK(marks_of(grown) == 1);
		for (int i = 0; i < 1500; i++)
			free(allocate(100));
		CHECK(marks_of(young) == 1 && marks_of(grown) == 1 && marks_of(before) == 1);
		_exit(failures);
	}
	__lsan_enable();
	CHECK(wait(&status) > 0 && status == 0);
	free(before);
}

/* ---- asking --------------------------------------------------------------------------------- */

/* What is lost in turns: of each answer how many, and how many are listed. */
static const struct {
	unsigned lost, listed, kind;
} answers[] = {
	{ 0, 0, LEDGER_SCAN_REPORT }, { 2, 2, LEDGER_SCAN_REPORT }, { 3, 3, LEDGER_SCAN_REPORT },
	{ 3, 3, LEDGER_SCAN_COUNT },  { 3, 3, LEDGER_SCAN_REPORT }, { 3, 2, LEDGER_SCAN_COUNT },
	{ 1, 1, LEDGER_SCAN_COUNT },  { 2, 2, LEDGER_SCAN_REPORT },
};
enum { ANSWERS = sizeof(answers) / sizeof(answers[0]) };

static void *lost_blocks[3];
static uintptr_t asker_frame;
static unsigned lost_from;

/* The table of the ledger's file, mapped as whoever answers has it. */
static struct ledger_lost *lost_list(void)
{
	const uint64_t at = header->table[LEDGER_TABLE_LOST].offset;

	return (struct ledger_lost *)((char *)header + at);
}

static void *answer(void *unused)
{
	for (uint32_t i = 0; i < ANSWERS; i++) {
		struct ledger_lost *list;

		while (state->scan_request == i)
			(void)usleep(500);
		CHECK(state->scan_kind == answers[i].kind);
		/* What lies below on its stack is not the program's. */
		CHECK(facts->exit_tid == (uint32_t)getpid());
		CHECK(facts->exit_stack < asker_frame && facts->exit_stack > asker_frame - 1024);
		CHECK(state->table[LEDGER_TABLE_LOST].ready >= 4096);
		list = lost_list();
		for (unsigned k = 0; k < answers[i].listed; k++) {
			list[k].address = (uintptr_t)lost_blocks[lost_from + k];
			list[k].bytes = 10 + k;
		}
		/* Of the second time that they are to be marked, the third is left. */
		lost_from = i == 5 ? 2 : 0;
		control->scan_leaks = answers[i].lost;
		control->scan_leak_bytes = 100;
		control->scan_listed = answers[i].listed;
		control->scan_answer = i + 1;
		(void)syscall(SYS_futex, &control->scan_answer, FUTEX_WAKE, 9, NULL, NULL, 0);
	}
	return unused;
}

static unsigned hooked, hooked_bytes;

static void hook(const struct seep_leak *leak, void *user)
{
	CHECK(user == &hooked && leak->address == lost_blocks[hooked % 3]);
	CHECK(seep_leaks_count() == -1);
	hooked++;
	hooked_bytes += (unsigned)leak->bytes;
}

static void ask(void)
{
	pthread_t recorder;

	asker_frame = (uintptr_t)__builtin_frame_address(0);
	for (unsigned i = 0; i < 3; i++)
		lost_blocks[i] = allocate(10 + i);
	control->recorder_pid = (uint32_t)getpid();
	control->scan_ready = 1;
	CHECK(pthread_create(&recorder, NULL, answer, NULL) == 0);
	CHECK(__lsan_do_recoverable_leak_check() == 0);
	CHECK(__lsan_do_recoverable_leak_check() == 1);
	CHECK(__lsan_do_recoverable_leak_check() == 1);
	CHECK(seep_leaks_count() == 3);
	seep_leaks_set_hook(hook, &hooked);
	CHECK(seep_leaks_report() == 3);
	CHECK(hooked == 3 && hooked_bytes == 33);
	seep_leaks_set_hook(NULL, NULL);
	CHECK(marks_of(lost_blocks[0]) == 0);
	CHECK(seep_leaks_mark_reported() == 3);
	for (unsigned i = 0; i < 3; i++)
		CHECK(marks_of(lost_blocks[i]) == LEDGER_CELL_REPORTED);
	CHECK(facts->exit_tid == 0);
	printf("failures %d\n", failures);
	__lsan_do_leak_check();
	(void)pthread_join(recorder, NULL);
	/* Once only: there is nobody to answer. */
	__lsan_do_leak_check();
	control->recorder_pid = 0;
	control->scan_ready = 0;
}

static void ask_nobody(void)
{
	pid_t gone = fork();

	if (gone == 0)
		_exit(0);
	(void)waitpid(gone, NULL, 0);
	CHECK(seep_leaks_report() == -1);
	CHECK(seep_leaks_count() == -1);
	/* One that has gone, and does not answer any more. */
	control->recorder_pid = (uint32_t)gone;
	control->scan_ready = 1;
	CHECK(seep_leaks_mark_reported() == -1);
	control->recorder_pid = 0;
	control->scan_ready = 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	errno = 77;
	if (!__lsan_disable) {
		/* Without the library. */
		CHECK(seep_leaks_disable() == 0 && seep_leaks_enable() == 0);
		seep_leak_ignore(argv);
		CHECK(seep_leaks_report() == -1 && seep_leaks_count() == -1);
		printf("no library, failures %d\n", failures);
		return 0;
	}
	free(allocate(1));
	map_ledger();
	errno = 77;
	switch_often();
	nest();
	ignore();
	regions();
	CHECK(errno == 77);
	resize();
	in_child();
	if (argc > 1)
		ask();
	else
		ask_nobody();
	printf("failures %d\n", failures);
	return failures != 0;
}
