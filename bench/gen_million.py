# SPDX-License-Identifier: MIT
"""Writes one library's source for million.cc: functions that call any other one, some by inlining."""

import sys

FUNCTIONS = 60

HEAD = """\
#include "million.h"

namespace library{part:02} {{
"""

FUNCTION = """
struct worker{n:02} {{
	uint64_t seed;
	unsigned left;

	inline __attribute__((always_inline)) void delegate(struct walk *walk) const
	{{
		walk_next(walk, seed)(walk, seed, left);
		walk->returns += {a};
	}}

	__attribute__((noinline)) static void visit(struct walk *walk, uint64_t seed, unsigned left);
}};

void worker{n:02}::visit(struct walk *walk, uint64_t seed, unsigned left)
{{
	const unsigned calls = walk_calls(seed);

	if (left == 0) {{
		walk_allocate(walk, seed);
		walk->returns += {b};
		return;
	}}
	for (unsigned i = 0; i < calls; i++) {{
		const uint64_t next = walk_mix(seed, i);

		switch (next & 3) {{
		case 0:
			walk_next(walk, next)(walk, next, left - 1);
			walk->returns += {c};
			break;
		case 1:
			walk_next(walk, next)(walk, next, left - 1);
			walk->returns ^= {d};
			break;
		case 2:
			walk_next(walk, next)(walk, next, left - 1);
			walk->returns -= {e};
			break;
		default:
			worker{n:02}{{ next, left - 1 }}.delegate(walk);
		}}
	}}
}}
"""

TAIL = """
}}

extern "C" walk_visit *const part{part:02}_visits[] = {{
{visits}
}};
"""


def generate(part):
    text = HEAD.format(part=part)
    for n in range(FUNCTIONS):
        base = (part * FUNCTIONS + n) * 5 + 3
        text += FUNCTION.format(n=n, a=base, b=base + 1, c=base + 2, d=base + 3, e=base + 4)
    visits = "\n".join(f"\tlibrary{part:02}::worker{n:02}::visit," for n in range(FUNCTIONS))
    return text + TAIL.format(part=part, visits=visits)


if __name__ == "__main__":
    sys.stdout.write(generate(int(sys.argv[1])))
