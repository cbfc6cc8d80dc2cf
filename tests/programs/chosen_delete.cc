// SPDX-License-Identifier: MIT
// build: @lib_chosen_delete
// An operator delete that is chosen when the program is loaded is called as often as without seep.
#include <cstdio>

extern "C" int chosen_deletes;

struct thing {
	char bytes[100];
};

int main()
{
	for (int i = 0; i < 10; i++) {
		thing *one = new thing;

		__asm__ volatile("" : : "r"(one) : "memory");
		delete one;
	}
	std::printf("deletes=%d\n", chosen_deletes);
	return 0;
}
