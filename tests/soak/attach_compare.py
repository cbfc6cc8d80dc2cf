#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/soak/attach_compare.py [ROUNDS]: what a process pays while it is attached to, and afterwards.

The same work, 6 million allocations through stacks of up to 12 frames of the program's own, in turns: in a
process that is never touched and another one such, which shows what the ratios are good for; in one
that `seep run` launched; in one that is attached to for the work, and in the same after it was let go.
Who begins changes from round to round. Prints medians of the processor time, and of the ratios to the
first process of the same round.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile

# The folder of the tests' helpers.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from attach_target import Target, attach, detach  # noqa: E402
from harness import PROGRAMS, SEEP, Seep  # noqa: E402

JOB = [PROGRAMS / "attach_targets", "job"]
KINDS = ("plain", "plain again", "launched", "attached", "detached")


def work_ms(target):
    return target.notes()["time_ns"] / 1e6


def visit(seep, target):
    """Its time while it is attached to, and then."""
    attempt = attach(seep, target.pid)
    if not attempt.attached:
        sys.exit(f"attach_compare: {attempt.reason}")
    attached = work_ms(target)
    detach(seep, target.pid)
    return {"attached": attached, "detached": work_ms(target)}


def measure(seep, number, plain, again, launched, visited):
    """One round; each kind's time."""
    turns = [
        lambda: {"plain": work_ms(plain)},
        lambda: {"plain again": work_ms(again)},
        lambda: {"launched": work_ms(launched)},
        lambda: visit(seep, visited),
    ]
    found = {}
    for turn in turns[number % len(turns):] + turns[:number % len(turns)]:
        found.update(turn())
    return found


def start(seep):
    run = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", "--"]
    return [Target(*JOB), Target(*JOB), Target(*JOB, words=run, env=seep.environment()), Target(*JOB)]


def print_table(rows):
    print("| | processor time, ms | to plain, median (least – most) |\n|---|---|---|")
    for kind in KINDS:
        ratios = sorted(row[kind] / row["plain"] for row in rows)
        print(f"| {kind} | {statistics.median(row[kind] for row in rows):.1f} "
              f"| {statistics.median(ratios):.3f} ({ratios[0]:.3f} – {ratios[-1]:.3f}) |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rounds", nargs="?", type=int, default=11)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="seep-compare-") as folder:
        seep = Seep(folder)
        targets = start(seep)
        try:
            for target in targets:
                work_ms(target)  # pages and branches that a first time pays for
            rows = [measure(seep, number, *targets) for number in range(options.rounds)]
            for target in targets:
                target.end()
        finally:
            for target in targets:
                target.close()
            seep.close()
    print_table(rows)


if __name__ == "__main__":
    main()
