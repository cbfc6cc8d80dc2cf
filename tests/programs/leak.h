/* SPDX-License-Identifier: MIT */
/*
 * What the leak_* programs share: one table of cases each. Every block of a case has a size of its
 * own, so that bytes identify it. `PROGRAM --list` prints the table, `PROGRAM CASE` prints what is
 * to be said of the case and stages it. A want is one of, several are separated by "; ":
 *
 *	VERDICT BYTES BLOCKS [with BYTES BLOCKS] [rule NAME] [flag NAME] [in LEAKS]
 *		a leak, or several together. VERDICT may be A|B, and a figure *
 *	none		nothing is lost, nothing maybe
 *	child WANT	the same of a forked child
 *
 * LOST-CYCLE counts all blocks of the cycle and what is lost with them. REACHABLE, IGNORED and
 * SUPPRESSED wants are of the blocks named; of the others there must be exactly those wanted.
 *
 * Nothing but the words of a case may lead to a block: cases are functions of their own, and the
 * stack that they leave is overwritten, but for those whose subject is just that ("stale").
 */
#ifndef LEAK_H
#define LEAK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define HIDDEN(pointer) ((uintptr_t)(pointer) ^ 0x5a5a5a5a5a5a5a5aUL)
#define SHOWN(hidden) ((void *)((hidden) ^ 0x5a5a5a5a5a5a5a5aUL))

struct leak_case {
	const char *name;
	const char *row; /* of the catalogue of situations */
	const char *want;
	const char *how; /* words for the test and for leak_main(), see test_leak_cases.py */
	void (*run)(void);
};

static void *volatile leak_keep[128]; /* a global that leads to what is kept */
static int leak_status;		      /* of main */

/* A block of this size with bytes that are no pointers; the compiler may not look inside. */
static APART void *block(size_t bytes)
{
	void *made = malloc(bytes);

	if (made)
		memset(made, 0x11, bytes);
	__asm__ volatile("" : "+r"(made)::"memory");
	return made;
}

static inline void set_word(void *at, size_t index, void *pointer)
{
	((void *volatile *)at)[index] = pointer;
}

static inline void say(const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t written = write(1, text, left);

		if (written <= 0)
			_exit(97);
		text += written;
		left -= (size_t)written;
	}
}

static inline void expect(int good, const char *what)
{
	if (good)
		return;
	say("failed: ");
	say(what);
	say("\n");
	_exit(98);
}
#define EXPECT(condition) expect(!!(condition), #condition)

static inline void no_core(void)
{
	struct rlimit none = { 0, 0 };

	EXPECT(setrlimit(RLIMIT_CORE, &none) == 0);
}

/* Overwrite what lies below: the stack that a case has left. */
static APART void clobber_stack(void)
{
	volatile char area[128 << 10];
	size_t i;

	for (i = 0; i < sizeof(area); i++)
		area[i] = 0x22;
	__asm__ volatile("xor %%eax,%%eax\n\txor %%ecx,%%ecx\n\txor %%edx,%%edx\n\t"
			 "xor %%esi,%%esi\n\txor %%edi,%%edi\n\txor %%r8d,%%r8d\n\t"
			 "xor %%r9d,%%r9d\n\txor %%r10d,%%r10d\n\txor %%r11d,%%r11d\n\t"
			 "pxor %%xmm0,%%xmm0\n\tpxor %%xmm1,%%xmm1\n\tpxor %%xmm2,%%xmm2"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0",
			   "xmm1", "xmm2", "memory");
}

static inline void lose(size_t bytes)
{
	(void)block(bytes);
	clobber_stack();
}

static APART int has_word(const char *words, const char *word)
{
	const char *at = strstr(words, word);

	return at && (at == words || at[-1] == ' ');
}

static APART void say_wants(const char *want)
{
	while (*want) {
		size_t length = strcspn(want, ";");

		say("want ");
		while (length--)
			(void)!write(1, want++, 1);
		say("\n");
		want += *want == ';';
		want += *want == ' ';
	}
}

/* Says so, and waits until the test closes or writes to standard input. */
static APART void wait_for_test(void)
{
	char byte;

	say("ready\n");
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
}

static APART void list_cases(const struct leak_case *cases)
{
	for (; cases->name; cases++) {
		say(cases->name);
		say("\t");
		say(cases->row);
		say("\t");
		say(cases->want);
		say("\t");
		say(cases->how);
		say("\n");
	}
}

/* What main does. The table ends with an empty case. */
static APART int leak_main(int argc, char **argv, const struct leak_case *cases)
{
	const char *how;

	if (argc < 2 || strcmp(argv[1], "--list") == 0) {
		list_cases(cases);
		return 0;
	}
	while (cases->name && strcmp(cases->name, argv[1]) != 0)
		cases++;
	EXPECT(cases->name);
	how = cases->how;
	say_wants(cases->want);
	cases->run();
	if (!has_word(how, "stale"))
		clobber_stack();
	if (has_word(how, "live"))
		wait_for_test();
	return leak_status;
}

#endif
