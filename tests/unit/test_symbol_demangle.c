/* SPDX-License-Identifier: MIT */
/* Names, honest and hostile. */
#include "symbol/demangle.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(names_become_readable)
{
	static const struct {
		const char *mangled;
		const char *readable; /* NULL: not a mangled name */
	} cases[] = {
		{ "_Z3foov", "foo()" },
		{ "_ZNKSt6vectorIiSaIiEE4sizeEv",
		  "std::vector<int, std::allocator<int> >::size() const" },
		{ "_ZN12_GLOBAL__N_16hiddenEi", "(anonymous namespace)::hidden(int)" },
		{ "_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const" },
		{ "_ZN4core3fmt9Formatter3new17h0123456789abcdefE", "core::fmt::Formatter::new" },
		{ "_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h0123456789abcdefE",
		  "<T as core::convert::Into<U>>::into" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "main", NULL },
		{ "_start", NULL },
		{ "_Z", NULL },
		{ "_Znonsense", NULL },
		{ "", NULL },
	};
	struct seep_arena *arena = seep_arena_new();
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *readable = seep_demangle(arena, cases[i].mangled);

		if (cases[i].readable) {
			assert_non_null(readable);
			assert_string_equal(readable, cases[i].readable);
		} else {
			assert_null(readable);
		}
	}
	seep_arena_free(arena);
}

TEST(what_optimisers_append_is_not_part_of_a_name)
{
	static const struct {
		const char *name;
		size_t bytes;
	} cases[] = {
		{ "foo", 3 },
		{ "foo.cold", 3 },
		{ "foo.constprop.0.isra.1", 3 },
		{ "_ZL3foov.part.0.cold", 8 },
		{ "foo.lto_priv.12", 3 },
		{ "main.main", 9 },
		{ "camlStdlib.map_1", 16 },
		{ ".cold", 5 },
		{ "_ZN9a..part..4coldE", 19 },
		{ "a..cold", 7 },
		{ "foo.cold@@V1", 3 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(seep_name_base_bytes(cases[i].name), cases[i].bytes);
}

/* @head, then @unit repeated as often as @bytes allow, then @tail. */
static char *repeated(const char *head, const char *unit, const char *tail, size_t bytes)
{
	char *name = calloc(1, bytes + 64);
	size_t used = strlen(head);

	memcpy(name, head, used);
	while (used + strlen(unit) + strlen(tail) <= bytes) {
		memcpy(name + used, unit, strlen(unit));
		used += strlen(unit);
	}
	strcpy(name + used, tail);
	return name;
}

TEST(names_of_great_depth_or_length_are_survived)
{
	static const struct {
		const char *head;
		const char *unit;
		const char *tail;
	} cases[] = {
		{ "_Z1f", "P", "i" },	    { "_Z1f", "PF", "vvE" },
		{ "_Z1f", "A_", "i" },	    { "_Z1fI", "1aI", "iE" },
		{ "_ZN", "1a", "Ev" },	    { "_Z1fIX", "nt", "Li1EE" },
		{ "_Z1fIXpl", "pl", "E" },  { "_Z1f", "M1a", "i" },
		{ "_ZZ", "Z", "1fvE" },	    { "_Z1fIJ", "J", "E" },
		{ "_Z1fDT", "cl", "E" },    { "_RNvC", "N", "1a" },
		{ "_RINv", "INv", "C1aE" }, { "_RIC1a", "R", "uE" },
		{ "_RIC1a", "S", "uE" },    { "_Z1fSt4pairI", "S_S_", "E" },
		{ "_Z1f", "U1a", "i" },	    { "_Zcv", "cv", "i" },
	};
	struct seep_arena *arena = seep_arena_new();
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = repeated(cases[i].head, cases[i].unit, cases[i].tail, 4096);

		(void)seep_demangle(arena, name);
		free(name);
		name = repeated(cases[i].head, cases[i].unit, cases[i].tail, 100000);
		assert_null(seep_demangle(arena, name));
		free(name);
	}
	seep_arena_free(arena);
}

/* Each template argument refers to the two before it: the text doubles, the name grows by six. */
TEST(a_name_of_exponential_text_is_left_alone)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct seep_arena *arena = seep_arena_new();
	char name[512] = "_Z1f1aIiiE";
	size_t i;

	for (i = 0; i < 35; i++) {
		char unit[16] = "S_IS0_S0_E";

		(void)snprintf(unit, sizeof(unit), "S_IS%c_S%c_E", digits[i], digits[i]);
		strcat(name, unit);
	}
	assert_null(seep_demangle(arena, name));
	seep_arena_free(arena);
}

/* Each function type is in the next one's: none of 2^60 steps says anything. */
TEST(a_name_of_exponential_time_is_left_alone)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct seep_arena *arena = seep_arena_new();
	char name[512] = "_Z1fDp";
	size_t i;

	for (i = 0; i < 60; i++)
		strcat(name, "Fv");
	strcat(name, "1AS_E");
	for (i = 0; i < 59; i++) {
		char unit[16] = "S0_E";

		if (i < 36)
			unit[1] = digits[i];
		else
			(void)snprintf(unit, sizeof(unit), "S1%c_E", digits[i - 36]);
		strcat(name, unit);
	}
	assert_null(seep_demangle(arena, name));
	assert_string_equal(seep_demangle(arena, "_Z3foov"), "foo()");
	seep_arena_free(arena);
}
