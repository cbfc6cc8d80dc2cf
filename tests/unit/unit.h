/* SPDX-License-Identifier: MIT */
/*
 * cmocka, and tests that need no list: TEST(what_is_expected) { ... }. A file of tests needs no main(),
 * unless there is something to do before or after all of them.
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct unit_case {
	struct CMUnitTest test;
	int line; /* they run in this order */
};

#define TEST(name) TEST_WITH(NULL, name, NULL)

/* Between two fixtures of cmocka; NULL: none. What they leave in *state is there in *state. */
#define TEST_WITH(before, name, after)                                    \
	static void name(void **state);                                   \
	TEST_ENTRY(name, __LINE__, { #name, name, before, after, NULL }); \
	static void name(__attribute__((unused)) void **state)

/* A function that several tests share, each with an argument of its own in *state. */
#define TEST_OF(name, function, argument) \
	TEST_ENTRY(name, __LINE__, { #name, function, NULL, NULL, (void *)(argument) })

#define TEST_ENTRY(name, line, ...)                                        \
	static const struct unit_case case_##name = { __VA_ARGS__, line }; \
	static const struct unit_case *const entry_##name                  \
		__attribute__((used, section("unit_cases"))) = &case_##name

/* Runs them all, between two fixtures of the whole. Returns how many failed. */
int unit_run(CMFixtureFunction before, CMFixtureFunction after);

/* Root is refused nothing: if that is who runs them, then once more as somebody without rights. */
int unit_run_as_nobody_too(void);

#endif
