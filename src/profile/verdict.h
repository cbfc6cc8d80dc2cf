/* SPDX-License-Identifier: MIT */
/*
 * The verdicts on live blocks, once: constant, name in reports and JSON, whether it is a leak by
 * default (--leak-kinds), and what it means in one sentence.
 */
#ifndef SEEP_PROFILE_VERDICT_H
#define SEEP_PROFILE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define SEEP_VERDICTS(V)									\
	V(LOST,		"LOST",		true,	"no pointer leads to it")			\
	V(LOST_CYCLE,	"LOST-CYCLE",	true,	"only blocks that it leads to itself point to it") \
	V(LOST_WITH,	"LOST-WITH",	true,	"only lost blocks point to it")			\
	V(MAYBE_LOST,	"MAYBE-LOST",	false,	"only a doubtful pointer leads to it")	\
	V(FORK_ORPHAN,	"FORK-ORPHAN",	false,	"lost, but a parent process allocated it") \
	V(RUNTIME,	"RUNTIME",	false,	"libc, libstdc++ or the loader keeps it to its end") \
	V(SUPPRESSED,	"SUPPRESSED",	false,	"a suppression matches it, or what leads to it") \
	V(IGNORED,	"IGNORED",	false,	"the program said that it is no leak")		\
	V(REACHABLE,	"REACHABLE",	false,	"a pointer leads to it")
/* clang-format on */

enum seep_verdict {
#define V(constant, name, is_leak, meaning) SEEP_VERDICT_##constant,
	SEEP_VERDICTS(V)
#undef V
		SEEP_VERDICT_COUNT,
};

/* Those that are leaks unless --leak-kinds says otherwise, a bit each. */
enum {
	SEEP_LEAK_KINDS = 0
#define V(constant, name, is_leak, meaning) | (is_leak) << SEEP_VERDICT_##constant
	SEEP_VERDICTS(V)
#undef V
};

#define SEEP_VERDICTS_ALL ((UINT32_C(1) << SEEP_VERDICT_COUNT) - 1)

/* Static storage; "unknown" of a number that a newer seep wrote. */
const char *seep_verdict_name(unsigned verdict);
const char *seep_verdict_meaning(unsigned verdict);

/* Counts as a leak unless --leak-kinds says otherwise. */
bool seep_verdict_is_leak(unsigned verdict);

/*
 * The verdicts that a word in any case stands for, a bit each: one by its name, or those of
 * valgrind's definite, indirect, possible, reachable and all. 0: none.
 */
uint32_t seep_verdicts_called(const char *word, size_t length);

/* The one of valgrind's words that says most of this verdict; "all" where it has none. */
const char *seep_verdict_kind(unsigned verdict);

#endif
