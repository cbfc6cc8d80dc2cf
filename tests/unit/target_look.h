/* SPDX-License-Identifier: MIT */
/*
 * A child that lays out memory, says where, and waits; and what seep_roots_find() makes of it.
 */
#ifndef SEEP_TESTS_TARGET_LOOK_H
#define SEEP_TESTS_TARGET_LOOK_H

#include "base/release.h"
#include "base/clock.h"
#include "base/error.h"
#include "ledger/ledger.h"
#include "ledger/ledger_facts.h"
#include "scan/scan.h"
#include "base/maps.h"
#include "target/remote_memory.h"
#include "target/roots.h"
#include "target/stop.h"
#include "unit.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_MAX = 64, BLOCKS_MAX = 64 };

/* Shared by child and test. */
struct truth {
	uint64_t at[AT_MAX]; /* addresses that the test knows the meaning of */
	struct scan_block blocks[BLOCKS_MAX];
	uint64_t block_count;
	struct ledger_facts facts;
	bool is_at_exit;
	bool filtered;	/* there are blocks that are not among these */
	bool will_spin; /* the child is where it should be once this is not 0: */
	volatile uint64_t spins;
	pid_t pid; /* of a descendant to look at instead; 0: the child */
	int ready; /* descriptor: a byte for each thread or child that waits */
	uint32_t allocator;
};

struct look {
	struct truth *truth;
	pid_t child;
	pid_t pid; /* looked at */
	struct seep_stopped *stopped;
	struct seep_maps maps;
	struct seep_memory *memory;
	struct ledger_header header;
	struct scan scan;
	struct seep_roots roots;
	uint64_t took_ns;
};

static struct look look; /* what the test has looked at */

static inline uint64_t address_of(const volatile void *at)
{
	return (uint64_t)(uintptr_t)at;
}

static inline char *map(size_t bytes, int protection, int flags, int fd)
{
	char *at = mmap(NULL, bytes, protection, flags, fd, 0);

	if (at == MAP_FAILED)
		_exit(1);
	return at;
}

static inline void *map_private(size_t bytes)
{
	return map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* Unknown to the compiler, which would else object to what the tests look at. */
static inline uint64_t word_at(uint64_t address)
{
	__asm__ volatile("" : "+r"(address));
	return *(volatile uint64_t *)(uintptr_t)address;
}

static inline void *add_block(struct truth *truth, void *block, size_t bytes)
{
	truth->blocks[truth->block_count++] = (struct scan_block){ .address = address_of(block),
								   .size = bytes };
	return block;
}

static inline int by_block(const void *left, const void *right)
{
	const struct scan_block *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/* In the child: this thread is where it should be. Never returns. */
static inline void stand(struct truth *truth)
{
	(void)!write(truth->ready, "", 1);
	for (;;)
		(void)pause();
}

static void *shared_memory(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* Start the child and wait until @count of its threads stand; then look. */
static void look_at(void (*child)(struct truth *truth), unsigned count)
{
	SEEP_RELEASED(seep_untouched_done) struct seep_untouched pages;
	struct seep_roots_from from;
	int pair[2];
	char byte;

	look = (struct look){ .truth = shared_memory(sizeof(*look.truth)) };
	look.truth->allocator = LEDGER_ALLOCATOR_GLIBC;
	assert_int_equal(pipe(pair), 0);
	look.truth->ready = pair[1];
	look.child = fork();
	if (look.child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		child(look.truth);
		stand(look.truth);
	}
	(void)close(pair[1]);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(read(pair[0], &byte, 1), 1);
	(void)close(pair[0]);
	while (look.truth->will_spin && !look.truth->spins)
		(void)sched_yield();
	look.pid = look.truth->pid ? look.truth->pid : look.child;
	qsort(look.truth->blocks, look.truth->block_count, sizeof(struct scan_block), by_block);
	assert_int_equal(seep_stop(look.pid, &look.stopped, NULL), 0);
	assert_int_equal(seep_maps_read(look.pid, &look.maps, NULL), 0);
	assert_int_equal(seep_memory_open(look.maps.tid, 64 << 20, &look.memory, NULL), 0);
	look.header.allocator = look.truth->allocator;
	look.header.blocks.granule_shift = 5;
	look.scan = (struct scan){ .blocks = look.truth->blocks,
				   .block_count = look.truth->block_count };
	seep_untouched_init(&pages, 0, &look.maps);
	from = (struct seep_roots_from){
		.memory = look.memory,
		.pages = &pages,
		.maps = &look.maps,
		.threads = look.stopped->threads,
		.thread_count = look.stopped->thread_count,
		.scan = &look.scan,
		.header = &look.header,
		.facts = &look.truth->facts,
		.at_exit = look.truth->is_at_exit,
		.filtered = look.truth->filtered,
	};
	look.took_ns = seep_monotonic_ns();
	seep_roots_find(&from, &look.roots);
	look.took_ns = seep_monotonic_ns() - look.took_ns;
}

static int look_done(void **state)
{
	(void)state;
	seep_stop_release(look.stopped);
	(void)kill(look.pid, SIGKILL);
	(void)kill(look.child, SIGKILL);
	assert_int_equal(waitpid(look.child, NULL, 0), look.child);
	seep_roots_done(&look.roots);
	seep_memory_close(look.memory);
	seep_maps_done(&look.maps);
	(void)munmap(look.truth, sizeof(*look.truth));
	return 0;
}

/* The strongest reason for the word at @address to be a root, or SCAN_ROOT_NONE. */
static const struct scan_root *root_at(uint64_t address)
{
	for (size_t i = 0; i < look.roots.count; i++)
		if (look.roots.items[i].begin <= address && address < look.roots.items[i].end)
			return &look.roots.items[i];
	return NULL;
}

static enum scan_root_kind kind_at(uint64_t address)
{
	const struct scan_root *root = root_at(address);

	return root ? (enum scan_root_kind)root->kind : SCAN_ROOT_NONE;
}

/* Is there a root of this kind and rule whose own words hold @value? */
static inline bool has_word(uint64_t value, enum scan_root_kind kind, enum scan_rule rule)
{
	for (size_t i = 0; i < look.roots.count; i++) {
		const struct scan_root *root = &look.roots.items[i];

		for (size_t k = 0; root->words && k < (root->end - root->begin) / 8; k++)
			if (root->words[k] == value && root->kind == kind && root->rule == rule)
				return true;
	}
	return false;
}

/* @child has laid out what it has, and @count of its threads stand; released at the end. */
#define LOOK_TEST(name, child, count)            \
	static int look_for_##name(void **state) \
	{                                        \
		(void)state;                     \
		look_at(child, count);           \
		return 0;                        \
	}                                        \
	TEST_WITH(look_for_##name, name, look_done)

#define assert_kind(name, kind) assert_int_equal(kind_at(look.truth->at[name]), SCAN_ROOT_##kind)

#endif
