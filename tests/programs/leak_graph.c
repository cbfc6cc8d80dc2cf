/* SPDX-License-Identifier: MIT */
/* Leaks by the shape of what is lost: single blocks, lists, trees, cycles, chains. */
#include "leak.h"

void __lsan_ignore_object(const void *pointer) __attribute__((weak));

static void *volatile in_data = &in_data;

static APART void direct(void)
{
	(void)block(1001);
}

static APART void globals(void)
{
	leak_keep[0] = block(640);
	in_data = block(641);
}

/* A list of nodes of this size; the first word of each leads to the next. */
static APART void *make_list(size_t nodes, size_t bytes)
{
	void *head = NULL;

	while (nodes--) {
		void *node = block(bytes);

		set_word(node, 0, head);
		head = node;
	}
	return head;
}

static APART void list(void)
{
	(void)make_list(5, 64);
}

static APART void tree(void)
{
	void *a = block(16), *b = block(16), *e = block(16), *c, *f, *g;

	(void)block(16);
	c = block(16);
	f = block(16);
	g = block(16);
	set_word(c, 0, f);
	set_word(c, 1, g);
	set_word(a, 0, b);
	set_word(b, 0, e);
	leak_keep[0] = a;
}

static APART void *make_cycle(size_t bytes)
{
	void *one = block(bytes), *other = block(bytes);

	set_word(one, 0, other);
	set_word(other, 0, one);
	return one;
}

static APART void cycle(void)
{
	(void)make_cycle(64);
}

static APART void cycles_one_way(void)
{
	void *one = make_cycle(72), *other = make_cycle(72);

	set_word(one, 1, other);
}

static APART void cycles_both_ways(void)
{
	void *one = make_cycle(80), *other = make_cycle(80);

	set_word(one, 1, other);
	set_word(other, 1, one);
}

static APART void self(void)
{
	void *one = block(64);

	set_word(one, 0, one);
}

/* The nine chains of valgrind's manual: root, block a, block b, to begins or into the middle. */
static APART void chain(int number, int root_offset, int a, int a_offset)
{
	char *first = a ? (char *)block((size_t)(1010 + number)) : NULL;
	char *second = (char *)block((size_t)(1020 + number));
	char *top = first ? first : second;

	if (first && a_offset >= 0)
		set_word(first, 2, second + a_offset);
	if (root_offset >= 0)
		leak_keep[0] = top + root_offset;
}

#define CHAIN(number, ...)                  \
	static APART void p##number(void)   \
	{                                   \
		chain(number, __VA_ARGS__); \
	}
CHAIN(1, 0, 0, -1)
CHAIN(2, 0, 1, 0)
CHAIN(3, -1, 0, -1)
CHAIN(4, -1, 1, 0)
CHAIN(5, 40, 0, -1)
CHAIN(6, 0, 1, 40)
CHAIN(7, 40, 1, 0)
CHAIN(8, 40, 1, 40)
CHAIN(9, -1, 1, 40)

static APART void million_alive(void)
{
	leak_keep[0] = make_list(1000000, 24);
}

static APART void million_lost(void)
{
	(void)make_list(1000000, 24);
}

static APART void suppressed_root(void)
{
	void *root = block(2001);
	void *child = block(2002);
	void *grandchild = block(2003);

	set_word(root, 3, child);
	set_word(child, 4, grandchild);
}

static APART void plain_lost(void)
{
	(void)block(2005);
}

static APART void suppressed(void)
{
	suppressed_root();
	plain_lost();
}

#define TWICE(call) call, call

/* As an unrolled loop has them: calls at several addresses in one line. */
static APART void copies(void)
{
	TWICE(TWICE(set_word(block(2201), 1, block(2202))));
}

static APART void ignored(void)
{
	void *root = block(2101);
	void *child = block(2102);

	set_word(root, 3, child);
	if (__lsan_ignore_object)
		__lsan_ignore_object(root);
	(void)block(2103);
}

/* Three levels of 20 functions, each calling one of the next level's: 8,000 call stacks. */
typedef void step(unsigned path);

#define INNER(n)                                          \
	static APART void inner_##n(unsigned path)        \
	{                                                 \
		(void)block(32);                          \
		__asm__ volatile("nop #" #n ::"r"(path)); \
	}
#define MIDDLE(n)                                         \
	static APART void middle_##n(unsigned path)       \
	{                                                 \
		inner[path % 20](path / 20);              \
		__asm__ volatile("nop #" #n ::"r"(path)); \
	}
#define OUTER(n)                                          \
	static APART void outer_##n(unsigned path)        \
	{                                                 \
		middle[path % 20](path / 20);             \
		__asm__ volatile("nop #" #n ::"r"(path)); \
	}
#define INNER_NAME(n) inner_##n,
#define MIDDLE_NAME(n) middle_##n,
#define OUTER_NAME(n) outer_##n,
/* clang-format off */
#define OF_20(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) \
	M(15) M(16) M(17) M(18) M(19)

OF_20(INNER)
static step *const inner[] = { OF_20(INNER_NAME) };
OF_20(MIDDLE)
static step *const middle[] = { OF_20(MIDDLE_NAME) };
OF_20(OUTER)
static step *const outer[] = { OF_20(OUTER_NAME) };
/* clang-format on */

static APART void many_stacks(void)
{
	volatile unsigned path;

	for (path = 0; path < 8000; path++)
		outer[path % 20](path / 20);
}

static const struct leak_case cases[] = {
	{ "direct", "A1", "LOST 1001 1", "fast", direct },
	{ "globals", "A2", "REACHABLE 640 1; REACHABLE 641 1", "fast", globals },
	{ "list", "A3", "LOST 64 1 with 256 4", "fast", list },
	{ "tree", "A4",
	  "LOST 16 1; LOST 16 1 with 32 2; REACHABLE 16 1; REACHABLE 16 1; REACHABLE 16 1", "",
	  tree },
	{ "cycle", "A5", "LOST-CYCLE 128 2", "fast", cycle },
	{ "cycles_one_way", "A6", "LOST-CYCLE 288 4", "", cycles_one_way },
	{ "cycles_both_ways", "A6", "LOST-CYCLE 320 4", "", cycles_both_ways },
	{ "self", "A7", "LOST 64 1", "", self },
	{ "p1", "A8", "REACHABLE 1021 1", "", p1 },
	{ "p2", "A8", "REACHABLE 1012 1; REACHABLE 1022 1", "", p2 },
	{ "p3", "A8", "LOST 1023 1", "", p3 },
	{ "p4", "A8", "LOST 1014 1 with 1024 1", "", p4 },
	{ "p5", "A8", "MAYBE-LOST 1025 1 rule interior", "", p5 },
	{ "p6", "A8", "REACHABLE 1016 1; MAYBE-LOST 1026 1 rule interior", "", p6 },
	{ "p7", "A8", "MAYBE-LOST 1017 1 with 1027 1 rule interior; MAYBE-LOST 1027 1", "", p7 },
	{ "p8", "A8", "MAYBE-LOST 1018 1 with 1028 1 rule interior; MAYBE-LOST 1028 1", "", p8 },
	{ "p9", "A8", "LOST 1019 1 with 1029 1", "", p9 },
	{ "million_alive", "A13", "REACHABLE 24000000 1000000", "", million_alive },
	{ "million_lost", "A13", "LOST 24 1 with 23999976 999999", "", million_lost },
	{ "suppressed", "A14",
	  "SUPPRESSED 2001 1; SUPPRESSED 2002 1; SUPPRESSED 2003 1; LOST 2005 1",
	  "suppress=suppressed_root", suppressed },
	{ "ignored", "A15", "IGNORED 2101 1; IGNORED 2102 1; LOST 2103 1", "lsan-api", ignored },
	{ "copies", "G12", "LOST 8804 4 with 8808 4", "fast", copies },
	{ "many_stacks", "G12", "LOST 256000 8000 in 8000", "", many_stacks },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return leak_main(argc, argv, cases);
}
