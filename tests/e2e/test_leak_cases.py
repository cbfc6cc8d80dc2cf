# SPDX-License-Identifier: MIT
"""Every situation of the leak_* programs gets its verdict, in builds by gcc and clang, -O0 and -O2.

What the words in the last column of `PROGRAM --list` mean: `live`, the case waits and is looked at by
`seep leaks PID` as well; `trace-exit`, `follow`, `suppress=FUNCTION`, options of seep run; `unscanned`,
nobody can look, and seep says why; `exec`, several images; `children=N`, so many children say what is
wanted of a child; `named=FUNCTION`, in a stack; `unseen=CODE`; `root`, needs to be root; `no-lsan`,
`no-valgrind`, `lsan-api`, for tests/soak/leak_table.py; `stale` is the program's own.

Not staged: what belongs to attaching (E23, E24, F15, the rows "linked" and "musl"); F18, mappings are no
allocations; C16 with -m32, as libseep.so is of 64 bits (its 64-bit form is); C29's device memory, as this
machine has no such device.
"""

import concurrent.futures
import itertools
import os

import pytest

from harness import LIMIT_S
from leak_run import run_case
from leak_truth import all_cases, variants

ROUNDS = 20
number = itertools.count()


def cases():
    marks = {True: [pytest.mark.fast], False: []}
    return [pytest.param(c, id=str(c), marks=marks[c.has("fast")]) for c in all_cases()]


def check(seep, case, rounds):
    if case.has("root") and os.geteuid() != 0:
        pytest.skip("needs root")
    assert len(variants()) >= 2, "the leak programs are not built"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(run_case, case, v, seep.directory / f"case-{next(number)}", seep.ledger_dir)
            for _ in range(rounds)
            for v in variants()
        ]
        wrong = [sentence for job in jobs for sentence in job.result(timeout=LIMIT_S * rounds)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", cases())
def test_each_block_has_its_verdict(seep, case):
    check(seep, case, 1)


@pytest.mark.slow
@pytest.mark.parametrize("case", cases())
def test_verdicts_do_not_flicker(seep, case):
    check(seep, case, ROUNDS)
