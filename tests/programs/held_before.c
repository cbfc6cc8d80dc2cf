/* SPDX-License-Identifier: MIT */
/*
 * What a program built before it was recorded holds blocks that it allocates afterwards: arrays, heads
 * of lists, trees, in every arena. Others are lost, and stale words in freed memory of that time lead
 * to them. Says "before", waits for a line, says of each size how many blocks are held or lost, says
 * "after" and waits again. Held blocks have even sizes, lost ones odd sizes.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

enum {
	SLOTS = 1000,
	LARGE_SLOTS = 50000, /* with a mapping of its own */
	HEADS = 300,
	LINKS = 5,
	DEPTH = 8, /* of the tree */
	CACHED = 5,
	BINNED = 30,
	FAST = 27, /* of which a thread keeps 7 */
	CACHED_BYTES = 120,
	FAST_BYTES = 104,
	BINNED_BYTES = 2000,
	LAST_BYTES = 5000,
};

struct node {
	struct node *left, *right;
	void *payload;
	long spare[5];
};

static void **slots, **large, ***heads, **of_thread;
static struct node *tree;
static void **volatile cached[CACHED], **volatile fast[FAST], **volatile binned[BINNED];
static void **volatile threads_own[CACHED];
static pthread_barrier_t barrier;

/* Each size has a place of its own to be allocated at. */
#define CHILD(bytes)                                 \
	static APART void *child_##bytes(void)       \
	{                                            \
		void *volatile made = malloc(bytes); \
                                                     \
		memset(made, 0x11, bytes);           \
		return made;                         \
	}
CHILD(40)
CHILD(41)
CHILD(45)
CHILD(48)
CHILD(49)
CHILD(53)
CHILD(56)
CHILD(57)
CHILD(61)
CHILD(72)
CHILD(88)
CHILD(92)

static APART void clobber_stack(void)
{
	volatile char area[64 << 10];

	for (size_t i = 0; i < sizeof(area); i++)
		area[i] = 0x22;
}

static APART void *zeroed(size_t bytes)
{
	return memset(malloc(bytes), 0, bytes);
}

static struct node *grow(int depth)
{
	struct node *node = zeroed(sizeof(*node));

	if (depth > 1) {
		node->left = grow(depth - 1);
		node->right = grow(depth - 1);
	}
	return node;
}

/* Each container beside something that stays, so that none joins another when it is freed. */
static APART void contain(void **volatile *containers, int count, size_t bytes)
{
	for (int i = 0; i < count; i++) {
		containers[i] = zeroed(bytes);
		*(void *volatile *)zeroed(24) = NULL;
	}
}

/* Puts a block where the container's last words are, and frees that. */
static APART void lose_in(void **volatile *containers, int count, size_t bytes,
			  void *(*child)(void))
{
	for (int i = 0; i < count; i++)
		containers[i][bytes / sizeof(void *) - 2] = child();
	for (int i = 0; i < count; i++) {
		free((void *)containers[i]);
		containers[i] = NULL;
	}
}

static void *thread_main(void *unused)
{
	of_thread = zeroed(SLOTS * sizeof(*of_thread));
	contain(threads_own, CACHED, CACHED_BYTES);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < SLOTS; i++)
		of_thread[i] = child_88();
	lose_in(threads_own, CACHED, CACHED_BYTES, child_61);
	clobber_stack();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return unused;
}

static APART void *volatile *lost_holder(void)
{
	return zeroed(64);
}

static APART uintptr_t build_before(void)
{
	slots = zeroed(SLOTS * sizeof(*slots));
	large = zeroed(LARGE_SLOTS * sizeof(*large));
	heads = zeroed(HEADS * sizeof(*heads));
	for (int i = 0; i < HEADS; i++)
		heads[i] = zeroed(24);
	tree = grow(DEPTH);
	contain(cached, CACHED, CACHED_BYTES);
	contain(fast, FAST, FAST_BYTES);
	contain(binned, BINNED, BINNED_BYTES);
	/* Lost itself: nobody can tell, and what it holds is held. */
	return ~(uintptr_t)lost_holder();
}

static int fill(struct node *node)
{
	if (!node)
		return 0;
	node->payload = child_72();
	return 1 + fill(node->left) + fill(node->right);
}

static APART void say(const char *verdict, int bytes, int count)
{
	printf("%s %d %d\n", verdict, bytes, count);
}

static APART void hold(uintptr_t hidden)
{
	for (int i = 0; i < SLOTS; i++)
		slots[i] = child_40();
	for (int i = 0; i < LARGE_SLOTS; i += 50)
		large[i] = child_48();
	for (int i = 0; i < HEADS; i++) {
		void **last = (void **)heads[i];

		for (int k = 0; k < LINKS; k++)
			last = *last = memset(child_56(), 0, 56);
	}
	*(void *volatile *)~hidden = child_92();
	say("held", 40, SLOTS);
	say("held", 48, LARGE_SLOTS / 50);
	say("held", 56, HEADS * LINKS);
	say("held", 72, fill(tree));
	say("held", 88, SLOTS);
	say("held", 92, 1);
}

static APART void lose(void)
{
	void **volatile last;

	for (int i = 0; i < 300; i++)
		(void)child_41();
	lose_in(cached, CACHED, CACHED_BYTES, child_45);
	lose_in(fast, FAST, FAST_BYTES, child_49);
	lose_in(binned, BINNED, BINNED_BYTES, child_53);
	last = zeroed(LAST_BYTES);
	last[LAST_BYTES / sizeof(void *) / 2] = child_57();
	free((void *)last);
	say("lost", 41, 300);
	say("lost", 45, CACHED);
	say("lost", 49, FAST);
	say("lost", 53, BINNED);
	say("lost", 57, 1);
	say("lost", 61, CACHED);
}

static void wait_for_line(const char *text)
{
	puts(text);
	fflush(stdout);
	while (getchar() != '\n')
		;
}

int main(void)
{
	pthread_t thread;
	uintptr_t hidden;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, thread_main, NULL) != 0)
		return 1;
	pthread_barrier_wait(&barrier);
	hidden = build_before();
	wait_for_line("before");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	hold(hidden);
	lose();
	clobber_stack();
	wait_for_line("after");
	pthread_barrier_wait(&barrier);
	return pthread_join(thread, NULL);
}
