#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scores the verdict GROWING against what the programs growth_* say of themselves.

    SEEP_BUILD=build tests/soak/growth_table.py [--seeds 5] [--unit-ms 20] [--jobs 4] [--only NAME]
    SEEP_BUILD=build tests/soak/growth_table.py --series FOLDER --seeds 6

A program plays 300 simulated seconds, and --growth-after is 60 of them. Each of its functions that
allocates is one case: GROWING or not. --series records the live bytes of each instead, for
tests/unit/test_growth_replay.c.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("SEEP_BUILD", "build")).resolve()
AFTER_UNITS = 60
READ_UNITS = 3


def truth_of(output):
    truth = {}
    for line in output.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in ("GROWING", "STEADY"):
            truth[words[1]] = words[0] == "GROWING"
    return truth


def function_in(names, truth):
    """The innermost of the program's own functions that are in a call stack."""
    for name in names:
        for function in truth:
            if re.search(rf"\b{function}\b", name or ""):
                return function
    return None


def run_recorded(program, seed, unit_ms):
    """What the program says, and the functions that seep calls GROWING."""
    with tempfile.TemporaryDirectory() as folder:
        recording = f"{folder}/x.seep"
        run = subprocess.run(
            [BUILD / "seep", "run", "-q", "-o", recording, "--no-leak-check",
             "--growth-after", f"{AFTER_UNITS * unit_ms}ms", "--", program, str(unit_ms), str(seed)],
            stdout=subprocess.PIPE, text=True, check=True)
        report = json.loads(subprocess.run([BUILD / "seep", "report", "--json", recording],
                                           stdout=subprocess.PIPE, text=True, check=True).stdout)
    truth = truth_of(run.stdout)
    grown = {}
    for context in report["contexts"]:
        growth = context.get("growth")
        if not growth or growth["verdict"] != "GROWING":
            continue
        names = [report["frames"][frame]["function"] for frame in context["frames"]]
        grown[function_in(names, truth) or "?"] = growth["evidence"]
    return truth, grown


def score(programs, options):
    tally = collections.Counter()
    wrong = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {(program.name, seed): pool.submit(run_recorded, program, seed, options.unit_ms)
                for program in programs for seed in range(1, options.seeds + 1)}
        for (name, seed), job in jobs.items():
            truth, grown = job.result()
            if not truth:
                sys.exit(f"{name} says nothing of itself")
            for function, is_growing in truth.items():
                found = function in grown
                tally[is_growing, found] += 1
                if found != is_growing:
                    wrong.append(f"{name} {seed}: {function} is "
                                 f"{'GROWING' if is_growing else 'STEADY'}, "
                                 f"{'said to grow: ' + grown[function] if found else 'missed'}")
            if "?" in grown:
                tally[False, True] += 1
                wrong.append(f"{name} {seed}: a stack of no function of its own: {grown['?']}")
    right, missed, false = tally[True, True], tally[True, False], tally[False, True]
    for line in wrong:
        print(line)
    print(f"{len(programs)} programs, {options.seeds} seeds: {right} GROWING found, {missed} missed, "
          f"{false} false, {tally[False, False]} STEADY; "
          f"precision {right / max(1, right + false):.3f}, "
          f"recall {right / max(1, right + missed):.3f}")


def record_series(program, seed, unit_ms):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, LD_PRELOAD=str(BUILD / "libseep.so"), SEEP_DIR=folder)
        process = subprocess.Popen([program, str(unit_ms), str(seed)], env=environment,
                                   stdout=subprocess.PIPE, text=True)
        while not (ledgers := list(pathlib.Path(folder).glob("*.ledger"))):
            time.sleep(0.001)
        reader = subprocess.run([BUILD / "bench_live_series", ledgers[0],
                                 str(READ_UNITS * unit_ms)],
                                stdout=subprocess.PIPE, text=True, check=True)
        truth = truth_of(process.communicate()[0])
    lines = []
    for line in reader.stdout.splitlines():
        name, series = line.split(" ", 1)
        name = function_in(name.split(";"), truth)
        if name:
            lines.append(f"{program.name} {seed} {name} {'GROWING' if truth[name] else 'STEADY'} "
                         f"{AFTER_UNITS * unit_ms} {series}")
    return lines


def record_all(programs, options):
    folder = pathlib.Path(options.series)
    folder.mkdir(parents=True, exist_ok=True)
    for program in programs:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            parts = pool.map(lambda seed, program=program:
                             record_series(program, seed, options.unit_ms),
                             range(1, options.seeds + 1))
            lines = [line for part in parts for line in part]
        (folder / f"{program.name}.txt").write_text("\n".join(lines) + "\n")
        print(f"{program.name}: {len(lines)} series")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--unit-ms", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--only", default="")
    parser.add_argument("--series", default="")
    options = parser.parse_args()
    programs = sorted(path for path in (BUILD / "programs").glob("growth_*")
                      if options.only in path.name and os.access(path, os.X_OK))
    if not programs:
        sys.exit(f"there are no programs growth_* in {BUILD}/programs")
    (record_all if options.series else score)(programs, options)


if __name__ == "__main__":
    main()
