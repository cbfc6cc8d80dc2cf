# SPDX-License-Identifier: MIT
"""json and ast, to be run with PYTHONMALLOC=malloc: millions of small blocks under deep stacks."""

import ast
import json
import sys
import time

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 12
SHARE = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0  # of the document and the source


def document():
    return {
        f"key{i}": {"n": i, "f": i / 7, "list": [str(j) for j in range(i % 20)], "t": i % 2 == 0}
        for i in range(int(2000 * SHARE))
    }


def source():
    return "\n".join(
        f"def f{i}(a, b={i}, *c, d=None):\n"
        f"    if a > b and d is not {i}:\n"
        f"        return [x * {i} + a for x in range(b) if x % 3 != {i % 3}]\n"
        f"    return {{'k{i}': (a, b), 'v': f'{{a}}-{{b}}', **(d or {{}})}}\n"
        for i in range(int(300 * SHARE))
    )


def work(data, text):
    total = 0
    for _ in range(ROUNDS):
        encoded = json.dumps(data, sort_keys=True)
        total += len(json.loads(encoded))
        tree = ast.parse(text)
        total += sum(1 for _ in ast.walk(tree))
        total += len(ast.dump(tree))
    return total


def main():
    data, text = document(), source()
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    work(data, text)
    cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    print(f"time_ns={wall} cpu_ns={cpu} end_ns={time.perf_counter_ns()}")


main()
