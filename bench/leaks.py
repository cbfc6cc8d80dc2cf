# SPDX-License-Identifier: MIT
"""What a leak scan costs: how long the process stands still, how fast memory is looked through, and
what the check at the end of a run adds, beside LeakSanitizer's.

Variants take turns in every round; shown are medians with quartiles. Each scan has to find the three
planted leaks, or its figures do not count.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import machine

HERE = pathlib.Path(__file__).resolve().parent
PLANTED = [1001, 1002, 1003]
SCANS = 3  # a round: a pause is short, and the machine may have others to serve meanwhile
TITLE = "## Leak scans"
INTRO = """
A list of blocks of 24 bytes in random order, and blocks of 1 MB full of small numbers; three blocks are lost. Variants
take turns; shown are medians of {rounds} rounds, in brackets quartiles. First whole runs, and what the check at their end
adds. Then scans of a process that waits, {scans} of each: for how long it stands still (goal: 20 ms per GB, aim 10), how much is looked
through, and how fast (goal: 2 GB/s, aim 6), all that a scan does but stopping counted.
"""


def quartiles(values, scale, form):
    if len(values) < 4:
        return form % (statistics.median(values) * scale)
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{form} ({form}-{form})" % (middle * scale, low * scale, high * scale)


def build(folder):
    for name, flags in (("plain", []), ("lsan", ["-fsanitize=leak"])):
        subprocess.run(["gcc", "-O2", "-g", *flags, HERE / "leaks.c", "-o", folder / name], check=True)


def lost_sizes(report):
    return sorted(leak["bytes"] for leak in report["leaks"] if leak["verdict"] == "LOST")


def timed(command, **options):
    """Nanoseconds of the clock and of the processor, and how it ended."""
    begun, used = time.perf_counter_ns(), machine.own_seconds()
    done = subprocess.run([str(c) for c in command], capture_output=True, check=False, **options)
    return time.perf_counter_ns() - begun, (machine.own_seconds() - used) * 1e9, done


def ends(seep, folder, count, rounds):
    """Wall time of whole runs: plain, recorded, recorded with the check, and under LeakSanitizer."""
    work = ["list", count]
    run = [seep, "run", "-q", "-f", "-o", folder / "end.seep"]
    variants = {
        "plain": [folder / "plain", *work],
        "seep, no check": [*run, "--no-leak-check", "--", folder / "plain", *work],
        "seep": [*run, "--", folder / "plain", *work],
        "LeakSanitizer": [folder / "lsan", *work],
    }
    times = {name: [] for name in variants}
    for number in range(rounds + 1):
        for name, command in variants.items():
            *spent, done = timed(command)
            if name == "seep":
                report = json.loads(timed([seep, "report", "--json", folder / "end.seep"])[2].stdout)
                if lost_sizes(report) != PLANTED:
                    sys.exit(f"bench/leaks: seep found {lost_sizes(report)}")
            elif name == "LeakSanitizer" and b"3006 byte(s) leaked" not in done.stderr:
                sys.exit(f"bench/leaks: LeakSanitizer said {done.stderr[-300:]!r}")
            if number:
                times[name].append(spent)
    return times


def scans(seep, folder, work, rounds):
    """Scans of a process that waits; each figure of `scan`."""
    command = [seep, "run", "-q", "-f", "--no-leak-check", "-o", folder / "live.seep", "--",
               folder / "plain", *work, "wait"]  # fmt: skip
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
    process.stdout.readline()
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    found = []
    for number in range(rounds * SCANS + 1):
        spent, cpu, done = timed([seep, "leaks", "--json", children[0]])
        report = json.loads(done.stdout)
        if lost_sizes(report) != PLANTED:
            sys.exit(f"bench/leaks: a scan found {lost_sizes(report)}: {done.stderr[-300:]!r}")
        if number:
            found.append({**report["scan"], "whole_ns": spent, "cpu_ns": cpu})
    resident = 1024 * int(next(line.split()[1] for line in
                               pathlib.Path(f"/proc/{children[0]}/status").read_text().split("\n")
                               if line.startswith("VmRSS")))  # fmt: skip
    process.communicate()
    return resident, found


def ends_table(seep, folder, options):
    yield ("| live blocks | plain | seep, no check | seep | LeakSanitizer "
           "| check adds | of CPU time | its adds | of CPU time |")  # fmt: skip
    yield "|---|---|---|---|---|---|---|---|---|"
    for count in options.counts:
        times = ends(seep, folder, count, options.rounds)
        cells = [quartiles([wall for wall, _ in times[name]], 1e-9, "%.2f") + " s" for name in times]
        for name, without in (("seep", "seep, no check"), ("LeakSanitizer", "plain")):
            for clock in 0, 1:
                adds = [a[clock] - b[clock] for a, b in zip(times[name], times[without])]
                cells.append(quartiles(adds, 1e-6, "%.0f") + " ms")
        yield f"| {count:,} | " + " | ".join(cells) + " |"


def scans_table(seep, folder, options):
    yield ("| memory | resident | method | still | per GB resident | looked through | speed "
           "| all | of CPU time |")  # fmt: skip
    yield "|---|---|---|---|---|---|---|---|---|"
    for work in ([["list", n] for n in options.counts] + [["large", m] for m in options.megabytes]):
        resident, found = scans(seep, folder, work, options.rounds)
        pauses = [scan["pause_ns"] for scan in found]
        speeds = [scan["marked_bytes"] / scan["mark_ns"] for scan in found]
        yield (f"| {work[0]} {work[1]:,} | {resident / 2**30:.2f} GB | {found[0]['method']} "
              f"| {quartiles(pauses, 1e-6, '%.2f')} ms "
              f"| {quartiles(pauses, 2**30 / resident * 1e-6, '%.1f')} ms "
              f"| {found[0]['marked_bytes'] / 2**30:.2f} GB "
              f"| {quartiles(speeds, 1, '%.2f')} GB/s "
              f"| {quartiles([scan['whole_ns'] for scan in found], 1e-6, '%.0f')} ms "
              f"| {quartiles([scan['cpu_ns'] for scan in found], 1e-6, '%.0f')} ms |")  # fmt: skip


def measure(seep, folder, options):
    yield TITLE
    yield INTRO.format(rounds=options.rounds, scans=SCANS * options.rounds)
    yield from ends_table(seep, folder, options)
    yield ""
    yield from scans_table(seep, folder, options)


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/leaks", description=__doc__.split("\n\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parent / "build-release"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--counts", type=lambda text: [int(n) for n in text.split(",")],
                        default=[1000000, 10000000])  # fmt: skip
    parser.add_argument("--megabytes", type=lambda text: [int(n) for n in text.split(",")],
                        default=[1024, 4096])  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="little, and once: does it work?")
    parser.add_argument("--markdown", type=pathlib.Path, help="page to put the section into")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds, options.counts, options.megabytes = 1, [100000], [64]
    machine.measure(options, TITLE, None, build, measure)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
