// SPDX-License-Identifier: MIT
// Allocates by C++'s operators in each of their forms, with an allocator linked in that has its own.
#include <cstddef>
#include <new>

extern "C" {
#include "attach_talk.h"
}

enum { KEPT = 50 };

struct alignas(64) wide {
	char bytes[192];
};

static void *volatile keeper; // so that no pair of new and delete is left out

template <typename T> static T *kept(T *block)
{
	keeper = block;
	return block;
}

extern "C" __attribute__((noinline)) void do_round()
{
	unsigned long allocs = 0, alloc_bytes = 0, frees = 0, freed_bytes = 0;

	for (unsigned i = 0; i < KEPT; i++) {
		const std::size_t bytes = 100 + i;

		// Sized, as delete of a complete type is; of an array; without a size; without a throw; aligned.
		delete kept(new std::max_align_t);
		delete[] kept(new char[bytes]);
		::operator delete(kept(::operator new(bytes)));
		::operator delete(kept(::operator new(bytes)), bytes);
		::operator delete(kept(::operator new(bytes, std::nothrow)), std::nothrow);
		delete kept(new wide);
		(void)kept(::operator new(bytes));
		allocs += 7;
		alloc_bytes += sizeof(std::max_align_t) + 5 * bytes + sizeof(wide);
		frees += 6;
		freed_bytes += sizeof(std::max_align_t) + 4 * bytes + sizeof(wide);
	}
	truth_line("allocs=%lu alloc_bytes=%lu frees=%lu freed_bytes=%lu\n", allocs, alloc_bytes,
		   frees, freed_bytes);
}

int main()
{
	char line[16];

	talk_ready();
	while (read(STDIN_FILENO, line, sizeof(line)) > 0) {
		if (line[0] == 'r')
			do_round();
		talk_answer();
	}
	return talk_end();
}
