/* SPDX-License-Identifier: MIT */
// build: -std=c++17
/* A program with global operators of its own, which all of its blocks come from. */
#include "misuse_case.h"

#include <map>
#include <new>
#include <string>

APART void *operator new(std::size_t bytes)
{
	return block(bytes);
}

/* With a word of its own in front. */
APART void *operator new[](std::size_t bytes)
{
	auto *made = static_cast<long *>(block(bytes + 16));

	made[0] = 5;
	return made + 2;
}

APART void operator delete(void *made) noexcept
{
	free(made);
	HERE(own_delete);
}

APART void operator delete(void *made, std::size_t) noexcept
{
	free(made);
	HERE(own_sized_delete);
}

APART void operator delete[](void *made) noexcept
{
	if (made)
		free(static_cast<long *>(made) - 2);
	HERE(own_delete_array);
}

APART void operator delete[](void *made, std::size_t) noexcept
{
	::operator delete[](made);
}

static void own_operators()
{
	std::map<int, std::string> all;

	for (int i = 0; i < 300; i++)
		all[i] = std::string(i, 'x');
	delete static_cast<long *>(opaque(new long));
	delete[] static_cast<long *>(opaque(new long[5]));
	delete[] static_cast<std::string *>(opaque(new std::string[5]));
}

/* Its new leads to its block()s, which free() may free. */
static void own_new_freed()
{
	release(new char);
}

static void own_twice()
{
	auto *made = static_cast<long *>(opaque(new long));

	release(made);
	delete static_cast<long *>(opaque(made));
	HERE(own_twice);
}

/* A pointer behind the word in front. */
static void own_array_freed()
{
	release(new char[100]);
}

static const leak_case cases[] = {
	{ "own_operators", "I9", "none", "", own_operators },
	{ "own_new_freed", "I9", "none", "", own_new_freed },
	{ "own_twice", "I9",
	  "double-free free size=8 offset=0 alloc=block freed=release within=own_twice", "",
	  own_twice },
	{ "own_array_freed", "I9", "interior-free free size=116 offset=16 alloc=block here=release",
	  "", own_array_freed },
	{ NULL, NULL, NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	no_core();
	return leak_main(argc, argv, cases);
}
