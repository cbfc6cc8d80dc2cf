/* SPDX-License-Identifier: MIT */
/* Leaks by what a pointer looks like: into the middle, tagged, masked, unaligned, elsewhere. */
#include "leak.h"

static void *volatile zero_sized;

static APART void interior(void)
{
	leak_keep[0] = (char *)block(700) + 16;
}

static APART char *middle_of_holder(void)
{
	char *made = (char *)block(720);

	set_word(made, 1, block(728));
	return made + 16;
}

static APART void interior_on_stack(void)
{
	void *volatile word = middle_of_holder();

	__asm__ volatile("" ::"r"(&word) : "memory");
	exit(0);
}

/* The sizes fill their chunks, so that nothing else begins where they end. */
static APART void past_end(void)
{
	leak_keep[0] = (char *)block(704) + 704;
	leak_keep[1] = block(712);
}

static APART void length_prefix(void)
{
	uint64_t *made = (uint64_t *)block(816);

	made[0] = 808;
	leak_keep[0] = made + 1;
}

static APART void refcount_4(void)
{
	uint32_t *made = (uint32_t *)block(823);

	made[0] = 1;
	leak_keep[0] = made + 1;
}

static APART void refcount_8(void)
{
	uint64_t *made = (uint64_t *)block(827);

	made[0] = 1;
	leak_keep[0] = made + 1;
}

static APART void low_tag(void)
{
	leak_keep[0] = (char *)block(910) + 1;
}

static APART void high_tag(void)
{
	leak_keep[0] = (void *)((uintptr_t)block(911) | (uintptr_t)0x2a << 56);
}

static APART void masked(void)
{
	leak_keep[0] = (void *)HIDDEN(block(909));
}

static APART void unaligned(void)
{
	static char area[64];
	void *made = block(912);

	memcpy(area + 3, &made, sizeof(made));
	__asm__ volatile("" ::"r"(area) : "memory");
}

static APART void in_pipe(void)
{
	int ends[2];
	void *made = block(2222);

	EXPECT(pipe(ends) == 0);
	EXPECT(write(ends[1], &made, sizeof(made)) == sizeof(made));
}

static APART void zero_live(void)
{
	zero_sized = block(0);
}

static APART void zero_lost(void)
{
	(void)block(0);
}

struct nested {
	uint64_t first[4];
	struct {
		uint64_t i1, i2, i3;
	} inner;
	uint64_t rest[50];
};

static APART void nested(void)
{
	leak_keep[0] = &((struct nested *)block(sizeof(struct nested)))->inner.i3;
}

struct link {
	struct link *next, *previous;
};

static struct link list_head = { &list_head, &list_head };

struct member {
	char name[40];
	struct link link;
	char rest[41];
};

static APART void intrusive(void)
{
	volatile int i; /* one call site */

	for (i = 0; i < 3; i++) {
		struct member *made = (struct member *)block(sizeof(*made));

		made->link.next = list_head.next;
		made->link.previous = &list_head;
		list_head.next->previous = &made->link;
		list_head.next = &made->link;
	}
}

static const struct leak_case cases[] = {
	{ "interior", "B1", "MAYBE-LOST 700 1 rule interior", "fast", interior },
	{ "interior_on_stack", "B1", "MAYBE-LOST 720 1 with 728 1 rule interior; MAYBE-LOST 728 1",
	  "", interior_on_stack },
	{ "past_end", "B2", "LOST 704 1; REACHABLE 712 1", "", past_end },
	{ "length_prefix", "B7", "REACHABLE 816 1 rule length", "", length_prefix },
	{ "refcount_4", "B6", "MAYBE-LOST|REACHABLE 823 1", "", refcount_4 },
	{ "refcount_8", "B6", "MAYBE-LOST|REACHABLE 827 1", "", refcount_8 },
	{ "low_tag", "B9", "MAYBE-LOST 910 1 rule low-tag", "fast", low_tag },
	{ "high_tag", "B10", "LOST 911 1 rule high-tag", "", high_tag },
	{ "masked", "B11", "LOST 909 1", "", masked },
	{ "unaligned", "B12", "LOST 912 1 rule unaligned", "", unaligned },
	{ "in_pipe", "B13", "LOST 2222 1", "", in_pipe },
	{ "zero_live", "B14", "REACHABLE 0 1", "", zero_live },
	{ "zero_lost", "B15", "LOST 0 1", "", zero_lost },
	{ "nested", "B16", "MAYBE-LOST 456 1 rule interior", "", nested },
	{ "intrusive", "B17",
	  "MAYBE-LOST 104 1 with 208 2 rule interior; MAYBE-LOST 208 2 rule interior", "",
	  intrusive },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return leak_main(argc, argv, cases);
}
