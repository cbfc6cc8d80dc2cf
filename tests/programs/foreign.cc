/* SPDX-License-Identifier: MIT */
/*
 * What other profilers record for "seep import": blocks that stay, are temporary, and make the peak,
 * by functions with C++ names. Nothing else allocates in these.
 */
#include <cstdio>
#include <cstdlib>
#include <string>

#define SITE __attribute__((noinline, noclone))

enum { KEPT = 1000, KEPT_BYTES = 100, CHURNED = 5000, CHURNED_BYTES = 200, NODES = 64 };

struct node {
	node *next;
	char payload[40];
};

char *volatile kept[KEPT];
static node *list;
static void *volatile hidden;

namespace work
{
SITE void keep(int count)
{
	for (int i = 0; i < count; i++)
		kept[i] = static_cast<char *>(operator new(KEPT_BYTES));
}

template <typename T> class mill
{
      public:
	SITE static void churn(T count)
	{
		for (T i = 0; i < count; i++) {
			hidden = operator new(CHURNED_BYTES);
			operator delete(hidden);
		}
	}
};

class tree
{
      public:
	SITE void grow(int depth);
};

void tree::grow(int depth)
{
	if (depth > 0) {
		grow(depth - 1);
	} else {
		for (int i = 0; i < NODES; i++)
			list = new node{ list, {} };
	}
	hidden = &depth;
}

SITE void *swell(int bytes)
{
	void *block = malloc((size_t)bytes);

	hidden = block;
	return block;
}
} // namespace work

static void say(const char *name, long allocs, long bytes, long live, long temporary, long peak)
{
	(void)printf("truth %s allocs=%ld bytes=%ld live_blocks=%ld live_bytes=%ld temporary=%ld "
		     "peak_bytes=%ld\n",
		     name, allocs, allocs * bytes, live, live * bytes, temporary, peak);
}

int main()
{
	work::tree tree;

	work::keep(KEPT);
	free(work::swell(4 << 20));
	work::mill<int>::churn(CHURNED);
	tree.grow(3);
	say("work::keep(int)", KEPT, KEPT_BYTES, KEPT, 0, KEPT * KEPT_BYTES);
	say("work::mill<int>::churn(int)", CHURNED, CHURNED_BYTES, 0, CHURNED, 0);
	say("work::tree::grow(int)", NODES, sizeof(node), NODES, 0, 0);
	say("work::swell(int)", 1, 4 << 20, 0, 1, 4 << 20);
	return 0;
}
