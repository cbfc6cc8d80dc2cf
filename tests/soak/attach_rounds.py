#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/soak/attach_rounds.py [ROUNDS] [--only NAMES]: attach to running programs and let them go, over
and over: 500 rounds each, of programs that check themselves, and of servers under load.

Prints a table: how many rounds attached within a second, why others were refused, how long the target
stood still, and whether it lives, answers as before, and was counted consistently. Status 1 when a target
came to harm, a recording contradicts itself, or too few rounds attached.
"""

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from attach_services import PACKAGES, PYTHON, SERVICES
from program_run import SOURCE, Failure, Tools

from attach_target import (  # in tests/e2e, which program_run has found
    SHARE,
    SHARE_LOADING,
    Tally,
    Target,
    check_sums,
    read_attempt,
)
from harness import BUILD, PROGRAMS, Seep, differences

DEADLINE = "1s"
# What a round is that also reads what was recorded; others only attach and detach.
READ_EVERY = 10


class Own:
    """A program of tests/programs, which checks itself."""

    def __init__(self, words, truth=False):
        self.target = Target(*words)
        self.truth = truth

    def pid(self, _):
        return self.target.pid

    def begin(self):
        if self.truth:
            self.target.ask("begin")

    def compare(self, load):
        """What is wrong about what was recorded since begin()."""
        said = self.target.truth()
        report = load()
        check_sums(report)
        return differences(report, said)

    def check(self):
        self.target.ask("round")

    def end(self):
        self.check()
        self.target.end()

    def close(self):
        self.target.close()


def targets(tools):
    """By name, what starts each."""
    own = {mode: ["attach_targets", mode] for mode in (
        "churn", "loader", "loader-alone", "stdio", "idle", "blocked", "many", "truth", "late", "sealed",
        "sealed-kill")}
    own.update({"pointers": ["attach_pointers"], "exceptions": ["attach_cxx"], "forks": ["attach_ends", "fork"],
                "execs": ["attach_ends", "exec"]})
    found = {}
    for name, (file, *words) in own.items():
        command, truth = [PROGRAMS / file, *words], name in ("truth", "late", "exceptions")
        found[name] = lambda command=command, truth=truth: Own(command, truth)
    found["python3"] = lambda: Own(["/usr/bin/python3", "-c", PYTHON])
    for name, service in SERVICES.items():
        found[name] = lambda name=name, service=service: service(tools, name)
    return found


class Rounds:
    """Those of one target."""

    def __init__(self, name, seep, seed):
        self.name = name
        self.seep = seep
        self.chance = random.Random(f"{seed}{name}")
        self.tally = Tally(name)
        self.problems = []

    def attach(self, pid):
        began = time.monotonic()
        done = self.seep.command("attach", "--json", "--deadline", DEADLINE, str(pid))
        return read_attempt(done, pid, time.monotonic() - began)

    def round(self, target, number):
        pid = target.pid(self.chance)
        begin = getattr(target, "begin", None)
        if begin:
            begin()
        if not self.tally.add(self.attach(pid)):
            return
        time.sleep(self.chance.uniform(0, 0.02))
        reads = number % READ_EVERY == 0
        if reads and getattr(target, "truth", False):
            self.problems += target.compare(lambda: self.seep.load(str(pid)))
        self.detach(pid, reads)

    def detach(self, pid, reads):
        path = self.seep.directory / "round.seep"
        done = self.seep.command("detach", *(["-o", path] if reads else []), str(pid))
        if done.status != 0:
            # A process that executes itself or has ended is not there any more.
            if self.name not in ("execs", "PostgreSQL"):
                self.problems.append(f"not detached: {done.stderr.decode().splitlines()[0]}")
                self.seep.command("detach", "--deadline", "10s", str(pid))
        elif reads:
            check_sums(self.seep.load(path))
        path.unlink(missing_ok=True)
        # Without -o they stay.
        for name in self.seep.ledgers():
            # A child may take its own away meanwhile.
            (self.seep.ledger_dir / name).unlink(missing_ok=True)

    def run(self, start, rounds):
        try:
            with contextlib.closing(start()) as target:
                for number in range(rounds):
                    self.round(target, number)
                    if number % READ_EVERY == 0:
                        target.check()
                target.end()
        except (Failure, AssertionError, OSError, EOFError, subprocess.SubprocessError) as error:
            self.problems.append(f"round {len(self.tally.attempts)}: {type(error).__name__}: "
                                 + " ".join(str(error).split())[:400])

    def share(self):
        return SHARE_LOADING if self.name.startswith("loader") else SHARE

    def enough(self):
        # Of these any number may be refused: a filter is in the way, or the process is another before long.
        if self.name in ("sealed", "sealed-kill", "execs"):
            return True
        return self.tally.in_time() >= self.share() * len(self.tally.attempts)

    def row(self):
        stops, longest = (sorted(found) or [0.0] for found in (self.tally.stops_ms(), self.tally.longest_ms()))
        walls = sorted(a.wall_s for a in self.tally.attempts if a.attached) or [0.0]
        why = "; ".join(f"{n}: {reason}" for reason, n in self.tally.reasons().most_common()) or "–"
        return (f"| {self.name} | {len(self.tally.attempts)} | {self.tally.in_time()} "
                f"| {self.tally.late()} | {why} "
                f"| {stops[len(stops) // 2]:.2f} / {stops[-1]:.2f} "
                f"| {longest[len(longest) // 2]:.2f} / {longest[-1]:.2f} "
                f"| {1000 * walls[len(walls) // 2]:.0f} / {1000 * walls[-1]:.0f} "
                f"| {'yes' if not self.problems else f'NO ({len(self.problems)}): {self.problems[0]}'} |")


HEAD = ("| target | rounds | attached within 1 s | later | refused | stopped ms, all together: median / max "
        "| one stop, the longest: median / max | whole command ms: median / max | alive and right |\n"
        "|---|---|---|---|---|---|---|---|---|")


def install(build):
    script = f". {SOURCE}/.ci/packages.sh; need_packages {PACKAGES}"
    subprocess.run(["sh", "-ec", script], env={**os.environ, "build": str(build)}, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rounds", nargs="?", type=int, default=500)
    parser.add_argument("--only", help="comma-separated names of targets")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEEP_SEED", "1")))
    parser.add_argument("--no-install", action="store_true")
    options = parser.parse_args()
    if not options.no_install:
        install(BUILD)
    scratch, memory = (tempfile.mkdtemp(prefix="seep-attach-", dir=base) for base in (None, "/dev/shm"))
    failed = 0
    try:
        for folder in (scratch, memory):
            os.chmod(folder, 0o755)
        tools = Tools(BUILD, pathlib.Path(scratch), pathlib.Path(memory))
        found = targets(tools)
        names = options.only.split(",") if options.only else list(found)
        if unknown := set(names) - set(found):
            parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(found)}")
        print(HEAD, flush=True)
        for name in names:
            seep = Seep(pathlib.Path(tempfile.mkdtemp(dir=scratch)))
            rounds = Rounds(name, seep, options.seed)
            rounds.run(found[name], options.rounds)
            seep.close()
            print(rounds.row(), flush=True)
            for problem in rounds.problems:
                print(f"{name}: {problem}", file=sys.stderr, flush=True)
            if not rounds.enough():
                print(f"{name}: too few rounds attached", file=sys.stderr, flush=True)
            failed += bool(rounds.problems) or not rounds.enough()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(memory, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
