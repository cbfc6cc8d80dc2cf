/* SPDX-License-Identifier: MIT */
/* Patterns of names, and lists of them. */
#include <string.h>

#include "core/glob.h"
#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool matches(const char *glob, const char *name)
{
	return core_glob_match((struct core_glob){ glob, strlen(glob) }, name, strlen(name));
}

TEST(a_glob_matches_all_of_a_name)
{
	static const struct {
		const char *glob;
		const char *name;
		bool match;
	} cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "*", "libc.so.6", true },
		{ "libc.so.6", "libc.so.6", true },
		{ "libc.so", "libc.so.6", false },
		{ "libc.so*", "libc.so.6", true },
		{ "*.so.6", "libc.so.6", true },
		{ "lib*.so*", "libc.so.6", true },
		{ "lib*.so*", "libc.dylib", false },
		{ "*a*b*c*", "xxaxxbxxcxx", true },
		{ "*a*b*c*", "xxaxxcxxbxx", false },
		{ "lib?.so", "libc.so", true },
		{ "lib?.so", "lib.so", false },
		{ "lib[cm].so", "libm.so", true },
		{ "lib[cm].so", "libz.so", false },
		{ "lib[!cm].so", "libz.so", true },
		{ "lib[!cm].so", "libc.so", false },
		{ "v[0-9]", "v7", true },
		{ "v[0-9]", "vx", false },
		{ "[]]", "]", true },
		{ "[a-]", "-", true },
		{ "[x", "[x", true },
		{ "a[", "a[", true },
		{ "a\\b", "a\\b", true },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (matches(cases[i].glob, cases[i].name) != cases[i].match)
			fail_msg("%s and %s", cases[i].glob, cases[i].name);
}

TEST(a_list_lets_through_what_no_exclusion_names)
{
	static const struct {
		const char *list;
		const char *name;
		bool match;
	} cases[] = {
		{ "", "libc.so.6", true },
		{ "a,b", "b", true },
		{ "a,b", "c", false },
		{ "!a", "b", true },
		{ "!a", "a", false },
		{ "lib*,!libc*", "libm.so", true },
		{ "lib*,!libc*", "libc.so", false },
		{ "!libc*,lib*", "libc.so", false },
		{ "lib*,!libc*", "prog", false },
		{ ",,a,", "a", true },
		{ "!", "a", true },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (core_glob_list_match(cases[i].list, cases[i].name, strlen(cases[i].name)) !=
		    cases[i].match)
			fail_msg("%s and %s", cases[i].list, cases[i].name);
}

TEST(many_stars_take_no_exponential_time)
{
	static char glob[2000];
	static char name[4000];

	for (size_t i = 0; i + 2 < sizeof(glob); i += 2) {
		glob[i] = '*';
		glob[i + 1] = 'a';
	}
	memset(name, 'a', sizeof(name) - 2);
	name[sizeof(name) - 2] = 'b';
	assert_false(matches(glob, name));
}
