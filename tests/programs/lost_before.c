/* SPDX-License-Identifier: MIT */
/*
 * What becomes of lost blocks between two scans. Says "ready" when it is to be looked at.
 *
 * "churn": 400 blocks of 777 bytes are lost: the last pointer to each is in a request that is freed.
 * Then requests come and go, whose memory holds what was there before, until the input ends.
 * "hidden": blocks that only encoded words lead to, so that they look lost. After each byte of input
 * something becomes of them: below.
 */
#include "leak.h"

#include <poll.h>

enum { LOST = 400, LOST_BYTES = 777, REQUESTS = 3000, ROUND = 20000, INSIDE = 64 };

struct request {
	uint64_t id;
	void *body;
	char name[48];
	void *payload;
	char room[];
};

static struct request *requests[REQUESTS];
static uint64_t number = 12345;
static int lost;

static unsigned next_number(void)
{
	number = number * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(number >> 33);
}

/* Not all of it is written, nor is all of the stack. */
static APART struct request *take(uint64_t id)
{
	struct request *request = malloc(sizeof(*request) + 8 * (next_number() % 40));

	EXPECT(request);
	request->id = id;
	request->body = malloc(32 + 8 * (next_number() % 60));
	return request;
}

static APART void handle(struct request *request)
{
	void *volatile locals[32];

	locals[next_number() % 32] = request;
	__asm__ volatile("" : : "r"(locals) : "memory");
}

static APART void drop(struct request *request)
{
	if (request)
		free(request->body);
	free(request);
}

static APART void lose_one(uint64_t id)
{
	struct request *request = take(id);

	set_word(&request->payload, 0, (char *)block(LOST_BYTES) + next_number() % 2 * INSIDE);
	handle(request);
	drop(request);
	lost++;
}

static APART void serve(uint64_t id)
{
	struct request **place = &requests[next_number() % REQUESTS];

	drop(*place);
	*place = take(id);
	handle(*place);
	if (lost < LOST && next_number() % 50 == 0)
		lose_one(id);
}

static void churn(void)
{
	struct pollfd input = { .events = POLLIN };
	uint64_t id = 0;

	while (lost < LOST)
		serve(id++);
	say("ready\n");
	while (poll(&input, 1, 1) == 0)
		for (int i = 0; i < ROUND; i++)
			serve(id++);
}

enum { TO_GLOBAL, CHANGED, OLD_WORD, REUSED, COUNT, FIRST_BYTES = 1001 };
static uintptr_t hidden[COUNT];
static void *volatile kept;   /* by a global */
static void *volatile inside; /* the same, not to its begin */

static APART void hide(void)
{
	for (int i = 0; i < COUNT; i++)
		hidden[i] = HIDDEN(block(FIRST_BYTES + (size_t)i));
}

/* In a block that is new, and in no other place. */
static APART void put_into_block(int i)
{
	set_word(leak_keep[i] = calloc(4, sizeof(void *)), 2, SHOWN(hidden[i]));
}

static APART void show(void)
{
	void *again;

	kept = SHOWN(hidden[TO_GLOBAL]);
	((char *)SHOWN(hidden[CHANGED]))[5] = 1;
	put_into_block(CHANGED);
	put_into_block(OLD_WORD);
	free(SHOWN(hidden[REUSED]));
	again = block(FIRST_BYTES + REUSED);
	EXPECT(HIDDEN(again) == hidden[REUSED]);
	inside = (char *)again + INSIDE;
}

/* What has come back is as any other block from there on. */
static APART void show_less(void)
{
	set_word(leak_keep[CHANGED], 2, NULL);
	set_word(leak_keep[OLD_WORD], 2, NULL);
	kept = (char *)SHOWN(hidden[TO_GLOBAL]) + INSIDE;
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2);
	if (strcmp(argv[1], "churn") == 0) {
		churn();
		return 0;
	}
	hide();
	clobber_stack();
	wait_for_test();
	show();
	clobber_stack();
	wait_for_test();
	show_less();
	clobber_stack();
	wait_for_test();
	return 0;
}
