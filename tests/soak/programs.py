# SPDX-License-Identifier: MIT
"""Record real programs under real load, and say whether anything about them changed.

Each program of program_list.py runs plainly, recorded, and recorded while every call is also
counted by another library and every 97th walk is compared with libgcc's. Answers (protocol
replies, output, files, status) must be the same in all. Cost: CPU time of the program and its
children, and where a load tool says so the rate, recorded to plain, medians of interleaved rounds.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import traceback

import program_list
from program_run import SOURCE, Failure, Run, Tools, free_port


def install(names, build):
    """Have the packages of these programs, by the means of ./check."""
    packages = sorted({p for n in names for p in program_list.PROGRAMS[n].packages} | {"python3-pytest"})
    script = f'. {SOURCE}/.ci/packages.sh; need_packages {" ".join(packages)}'
    subprocess.run(["sh", "-ec", script], env={**os.environ, "build": str(build)}, check=True)


class Harness:
    def __init__(self, tools, keep):
        self.tools = tools
        self.keep = keep

    def run(self, name, variant, port, shared):
        """One run; its folder is the caller's to remove."""
        shutil.rmtree(self.tools.scratch / "run", ignore_errors=True)
        run = Run(self.tools, variant, name, port, shared)
        try:
            program_list.PROGRAMS[name].drive(run)
        except BaseException:
            run.give_up()
            raise
        if self.keep and variant != "plain":
            target = pathlib.Path(self.keep) / name / variant
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(run.folder / "recordings", target)
            shutil.copy(run.folder / "stderr", target)
        return run


def compare_answers(runs):
    """The names of answers that are not as in the plain run."""
    wanted = runs[0].digest()
    return sorted({k for run in runs for k, v in run.digest().items() if wanted.get(k) != v}
                  | {k for run in runs for k in wanted if k not in run.digest()})  # fmt: skip


def compare_counts(run, reports):
    """Recorded and counted allocations in all, and the processes that differ most."""
    from harness import read_counts  # not before its packages are there; program_run has its folder

    counted = collections.Counter()
    names = {}
    for count in read_counts(run.counts):
        if not count.exe.endswith("/seep"):
            counted[count.pid] += count.allocs
            names[count.pid] = pathlib.Path(count.exe).name
    recorded = collections.Counter()
    for report in reports:
        recorded[report["process"]["pid"]] += report["totals"]["allocs"]
    small = sum(report["forked"]["allocs"] for report in reports)
    all_recorded, all_counted = sum(recorded.values()) + small, sum(counted.values())
    off = [
        {"pid": pid, "exe": names.get(pid), "recorded": n, "counted": counted[pid]}
        for pid, n in recorded.items()
        if abs(n - counted[pid]) > max(10, counted[pid] / 1000)
    ]
    missing = [
        {"pid": pid, "exe": names[pid], "counted": n}
        for pid, n in counted.items()
        if pid not in recorded and n >= 1000
    ]
    return {
        "recorded": all_recorded,
        "counted": all_counted,
        "off": (all_recorded - all_counted) / max(1, all_counted),
        "processes_off": off,
        "processes_missing": missing,
    }


def sum_verify(reports):
    total = collections.Counter()
    for report in reports:
        total.update(report["totals"]["verify"] or {})
    return {k: total[k] for k in ("walks", "landed", "truncated", "differences")}


def odd_totals(reports):
    """Totals that should be zero."""
    total = collections.Counter()
    for report in reports:
        for key in ("dropped", "in_doubt", "missed_frees", "untracked_frees", "abandoned",
                    "unrecorded_children"):  # fmt: skip
            total[key] += report["totals"][key]
    return {k: v for k, v in total.items() if v}


def sum_unseen(reports):
    codes = collections.Counter()
    for report in reports:
        # Of "--top 1" the rest is left out; that is no fact about the program.
        codes.update({u["code"] for u in report["unseen"]} - {"contexts-left-out"})
    return dict(codes)


def ratio(plain, other, key):
    """Median and range of other to plain, round by round; None where it cannot be said."""
    pairs = [(getattr(p, key), getattr(o, key)) for p, o in zip(plain, other)]
    if not pairs or any(not a or not b for a, b in pairs):
        return None
    ratios = sorted(b / a for a, b in pairs)
    return {"median": statistics.median(ratios), "low": ratios[0], "high": ratios[-1]}


def measure(harness, name, rounds):
    program = program_list.PROGRAMS[name]
    port = free_port()
    with tempfile.TemporaryDirectory(dir=harness.tools.scratch) as shared:
        os.chmod(shared, 0o755)
        shared = pathlib.Path(shared)
        checked = harness.run(name, "checked", port, shared)
        verify = sum_verify(checked.reports())
        # With verify every forked child has a ledger of its own: counts are of a run without.
        counted = harness.run(name, "counted", port, shared)
        reports = counted.reports()
        counts = compare_counts(counted, reports)
        result = {
            "name": name,
            "load": program.load,
            "processes": len(reports) + sum(r["forked"]["processes"] for r in reports),
            "recordings": len(reports),
            "count": counts,
            "verify": verify,
            "odd": odd_totals(reports),
            "stderr": counted.stderr.decode(errors="replace"),
        }
        plain, seep = [], []
        for _ in range(rounds):
            plain.append(harness.run(name, "plain", port, shared))
            seep.append(harness.run(name, "seep", port, shared))
        result["unseen"] = sum_unseen(seep[-1].reports())
        result["recorded_odd"] = odd_totals(seep[-1].reports())
    result["answers_differ"] = compare_answers([*plain, *seep, checked, counted])
    result["answers"] = len(plain[0].answers)
    result["cpu"] = ratio(plain, seep, "cpu_s")
    result["rate"] = ratio(plain, seep, "rate")
    result["plain_cpu_s"] = statistics.median(p.cpu_s for p in plain)
    result["recorder_s"] = statistics.median(s.recorder_s for s in seep)
    return result


def problems_of(result):
    """What is wrong about a row, in words."""
    if "refused" in result:
        return []
    if "error" in result:
        return [result["error"]]
    found = [f"answer {name} differs" for name in result["answers_differ"]]
    if abs(result["count"]["off"]) > 0.001:
        found.append(f"count off by {100 * result['count']['off']:.3f} %")
    # Beyond code without unwind information a stack is an assumption, and the report says so.
    if result["verify"]["differences"] and "by-frame-pointer" not in result["unseen"]:
        found.append(f"{result['verify']['differences']} walks differ")
    return found


# ---- the table ---------------------------------------------------------------------------------


def show_ratio(value):
    if value is None:
        return "–"
    return f"{value['median']:.2f} ({value['low']:.2f}–{value['high']:.2f})"


def show_share(part, whole):
    return "–" if not whole else f"{100 * part / whole:.2f} %"


def show_count(count):
    if count["recorded"] == count["counted"]:
        return "equal"
    return f"{count['recorded'] - count['counted']:+,} ({100 * count['off']:+.4f} %)"


def row(result):
    title = f"**{result['name']}**: {result['load']}"
    if "error" in result or "refused" in result:
        return f"| {title} | {result.get('refused') or 'FAILED: ' + result['error']} | | | | | | | | |"
    walks = result["verify"]["walks"]
    answers = "same" if not result["answers_differ"] else ", ".join(result["answers_differ"])
    unseen = ", ".join(f"{code}" for code in result["unseen"]) or "–"
    return (
        f"| {title} | {answers} ({result['answers']}) | {result['processes']} "
        f"| {result['count']['recorded']:,} | {show_count(result['count'])} "
        f"| {result['verify']['differences']} of {walks:,} "
        f"| {show_share(result['verify']['truncated'], walks)} | {unseen} "
        f"| {show_ratio(result['cpu'])} | {show_ratio(result['rate'])} |"
    )


def table(results):
    lines = [
        "| program and load | answers | processes | allocations | against the count "
        "| walks that differ | truncated | unseen | CPU time | rate |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(row(r) for r in results),
    ]
    return "\n".join(lines) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(prog="programs.py", description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?", default=str(SOURCE / "build"))
    parser.add_argument("--only", help="comma-separated: " + ",".join(program_list.PROGRAMS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", help="folder of the table and the figures (BUILD/programs-table)")
    parser.add_argument("--keep", help="folder to keep recordings in")
    parser.add_argument("--no-install", action="store_true")
    options = parser.parse_args(arguments)
    names = options.only.split(",") if options.only else list(program_list.PROGRAMS)
    for name in names:
        if name not in program_list.PROGRAMS:
            parser.error(f"no program '{name}'")
    return options, names


def measure_or_say(harness, name, rounds):
    program = program_list.PROGRAMS[name]
    try:
        if program.refused:
            return {"name": name, "load": program.load,
                    "refused": program_list.refusal(harness, name)}  # fmt: skip
        return measure(harness, name, rounds)
    except (Failure, OSError, subprocess.SubprocessError) as failure:
        traceback.print_exc()
        return {"name": name, "load": program.load, "error": " ".join(str(failure).split())}


def main(arguments):
    options, names = parse(arguments)
    build = pathlib.Path(options.build).resolve()
    if not options.no_install:
        install(names, build)
    out = pathlib.Path(options.out or build / "programs-table")
    out.mkdir(parents=True, exist_ok=True)
    results = []
    scratch = tempfile.TemporaryDirectory(prefix="seep-programs-")
    memory = tempfile.TemporaryDirectory(prefix="seep-programs-", dir="/dev/shm")
    with scratch, memory:
        for folder in (scratch.name, memory.name):
            os.chmod(folder, 0o755)
        tools = Tools(build, pathlib.Path(scratch.name), pathlib.Path(memory.name))
        harness = Harness(tools, options.keep)
        for name in names:
            result = measure_or_say(harness, name, options.rounds)
            results.append(result)
            for problem in problems_of(result):
                print(f"{name}: {problem}", file=sys.stderr)
            # After every program: an interrupted run keeps what it has.
            made = {"date": datetime.date.today().isoformat(), "programs": results}
            (out / "programs.json").write_text(json.dumps(made, indent=1) + "\n")
            (out / "programs.md").write_text(table(results))
    sys.stdout.write(table(results))
    return 1 if any(problems_of(r) for r in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
