/* SPDX-License-Identifier: MIT */
// build: -D_GLIBCXX_USE_CXX11_ABI=0
/* Reference-counted std::string: its pointer leads to the text, behind lengths and the count. */
#include "leak.h"

#include <string>

namespace
{

/* Never destroyed. */
alignas(std::string) char kept[sizeof(std::string)];

APART void counted_string()
{
	new (kept) std::string(875, 'x');
	__asm__ volatile("" ::"r"(kept) : "memory");
}

const leak_case cases[] = {
	{ "counted_string", "B6", "REACHABLE 900 1 rule string", "", counted_string },
	{ NULL, NULL, NULL, NULL, NULL },
};

} // namespace

int main(int argc, char **argv)
{
	return leak_main(argc, argv, cases);
}
