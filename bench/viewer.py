# SPDX-License-Identifier: MIT
"""What `seep top` costs: the program that it watches, and the processor that it runs on.

Pairs of runs, recorded alone and recorded while watched, take turns, so that both meet the same
machine; shown are the medians of the pairs' ratios. Then the processor's time of `seep top` itself,
beside a program with 200,000 call stacks and 64 threads.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

import machine

HERE = pathlib.Path(__file__).resolve().parent
TITLE = "## Watching"
CONTEXTS = "200000"
THREADS = "64"


def build(folder):
    for source in (HERE / "server.c", HERE.parent / "tests/programs/many_contexts.c"):
        subprocess.run(["gcc", "-O2", "-g", "-w", "-D_GNU_SOURCE", source, "-o",
                        folder / source.stem, "-lpthread"], check=True)  # fmt: skip


def start(seep, folder, command):
    """A recorded program, and the path of its ledger."""
    environment = dict(os.environ, LD_PRELOAD=str(seep.parent / "libseep.so"), SEEP_DIR=str(folder))
    process = subprocess.Popen([str(word) for word in command], env=environment,
                               stdout=subprocess.DEVNULL)  # fmt: skip
    while not (ledgers := list(folder.glob(f"*.{process.pid}.*.ledger"))):
        time.sleep(0.001)
    return process, ledgers[0]


def watch(seep, ledger):
    return subprocess.Popen([seep, "top", ledger, "--csv"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)  # fmt: skip


def one_run(seep, folder, operations, watched):
    """Seconds of the clock and of the processor that the program took."""
    begun = time.perf_counter()
    process, ledger = start(seep, folder, [folder / "server", "1", operations])
    viewer = watch(seep, ledger) if watched else None
    _, _, usage = os.wait4(process.pid, 0)
    clock = time.perf_counter() - begun
    if viewer:
        viewer.terminate()
        viewer.wait()
    ledger.unlink()
    return clock, usage.ru_utime + usage.ru_stime


def processor_seconds(pid):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def share(seep, folder, seconds):
    """Of one processor, from when it has read all stacks and their names."""
    process, ledger = start(seep, folder,
                            [folder / "many_contexts", THREADS, CONTEXTS, str(seconds * 2 + 60)])  # fmt: skip
    time.sleep(10)
    viewer = watch(seep, ledger)
    time.sleep(8)
    begun, used = time.perf_counter(), processor_seconds(viewer.pid)
    time.sleep(seconds)
    used = (processor_seconds(viewer.pid) - used) / (time.perf_counter() - begun)
    for one in (viewer, process):
        one.kill()
        one.wait()
    ledger.unlink()
    return used


def measure(seep, folder, options):
    yield TITLE
    yield ""
    yield (f"A program that replaces random blocks of 1,000, {options.operations:,} times in one thread, recorded, with "
           f"`seep top` beside it (a refresh each second) and without; {options.rounds} pairs that take turns.")  # fmt: skip
    yield ""
    one_run(seep, folder, options.operations // 10, False)
    pairs = []
    for round_number in range(options.rounds):
        order = (False, True) if round_number % 2 else (True, False)
        runs = {watched: one_run(seep, folder, options.operations, watched) for watched in order}
        pairs.append((runs[True], runs[False]))
    yield "| | alone | watched | ratio of pairs, median (quartiles) |"
    yield "|---|---|---|---|"
    for index, name in enumerate(("clock", "processor")):
        ratios = [watched[index] / alone[index] for watched, alone in pairs]
        low, middle, high = statistics.quantiles(ratios, n=4)
        alone = statistics.median(alone[index] for _, alone in pairs)
        watched = statistics.median(watched[index] for watched, _ in pairs)
        yield f"| {name} | {alone:.2f} s | {watched:.2f} s | {middle:.3f} ({low:.3f}-{high:.3f}) |"
    yield ""
    used = share(seep, folder, options.seconds)
    yield (f"`seep top` beside {int(CONTEXTS):,} call stacks of {THREADS} threads, a refresh each second: "
           f"{used * 100:.1f} % of a processor (goal: below 5 %).")  # fmt: skip


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/viewer", description=__doc__.split("\n\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parent / "build-release"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--operations", type=int, default=60000000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="little: does it work?")
    parser.add_argument("--markdown", type=pathlib.Path, help="page to put the section into")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds, options.operations, options.seconds = 3, 2000000, 3
    machine.measure(options, TITLE, "/dev/shm", build, measure)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
