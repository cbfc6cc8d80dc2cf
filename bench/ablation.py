# SPDX-License-Identifier: MIT
"""Which part of recording costs how much: libraries with more and more of its parts, in turns.

Each is a release with RT_PARTS defined as its number, the last has everything. Shown are ratios of
CPU time to the plain run of the same round, medians with quartiles; the difference of two neighbours
is what a part costs. Those with few parts only serve to measure: their ledgers are of no use.
"""

import argparse
import functools
import os
import pathlib
import sys

import machine
import tables
from measuring import BEFORE, Bench, Rounds, Variant
from workloads import HERE, ROWS, Failure, check_names, sh

PARTS = ("forward", "+ cell", "+ counters", "+ live total, peak", "+ histogram, usable bytes",
         "+ walk", "everything")  # fmt: skip
ROWS_USUAL = "cpython,cc1plus,warm5,warm35,paths"
TITLE = "## Parts of the runtime"
INTRO = (
    "Ratios of CPU time to the plain run of the same round, medians with quartiles. From left to "
    "right the library does more; what a part costs is the difference to its left neighbour."
)


def library(folder, part):
    return folder / f"parts{part}" / "libseep.so"


def build(options, folder):
    for part in options.parts:
        place = library(folder, part).parent
        flags = f"{os.environ.get('CFLAGS', '')} -DRT_PARTS={part}".strip()
        sh("cmake", "--preset", "release", "-B", place, f"-DCMAKE_C_FLAGS={flags}", cwd=HERE.parent)
        sh("cmake", "--build", place, "--target", "seep_runtime")


def variants_of(options, folder):
    found = [Variant("plain", small=options.quick)]
    for part in options.parts:
        found.append(Variant(PARTS[part], small=options.quick, library=library(folder, part)))
    if options.before:
        before = pathlib.Path(options.before).resolve() / "libseep.so"
        found.append(Variant(BEFORE, small=options.quick, library=before))
    return found


def line_of(name, rounds):
    """A row of the table."""
    summary = tables.summarise(ROWS[name], rounds)
    plain = summary.pop("plain").get("median")
    cells = [tables.show_cpu(entry) for entry in summary.values()]
    cpu = f"{plain['cpu_ns'] / 1e6:,.0f} ms" if plain else "–"
    return f"| `{name}` | {cpu} | " + " | ".join(cells) + " |"


def measure(problems, _seep, folder, options):
    bench = Bench(options, folder)
    variants = variants_of(options, folder)
    yield TITLE
    yield ""
    yield INTRO
    yield ""
    yield "| | plain, CPU time | " + " | ".join(v.name for v in variants[1:]) + " |"
    yield "|---" * (1 + len(variants)) + "|"
    for name in options.rows:
        rounds = Rounds(bench, name, ROWS[name], variants).measure()
        problems += [f"{name}, {v}: {why}" for v, why in rounds.failed.items()]
        yield line_of(name, rounds)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench/ablation", description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", default=ROWS_USUAL, help=f"comma-separated ({ROWS_USUAL})")
    parser.add_argument("--parts", default=",".join(map(str, range(len(PARTS)))),
                        help="numbers of the libraries to measure, comma-separated (all): "
                             + ", ".join(f"{n} {what}" for n, what in enumerate(PARTS)))  # fmt: skip
    parser.add_argument("--rounds", type=int, help="default 11; 1 with --quick")
    parser.add_argument("--row-seconds", type=float, default=600,
                        help="a row that used them gets no more rounds, once it had 3 (600)")  # fmt: skip
    parser.add_argument("--before", help="build directory of another seep, measured in turns")
    parser.add_argument("--quick", action="store_true", help="little, and once: does it work?")
    parser.add_argument("--markdown", type=pathlib.Path, help="page to put the section into")
    # What the harness has more of: there are no peers, and libraries are built by the preset.
    parser.set_defaults(build=str(HERE.parent / "build-release"), seep_options=None)
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (1 if options.quick else 11)
    options.warm_up = 0 if options.quick else 1
    options.rows = options.rows.split(",")
    check_names(options.rows)
    for name in options.rows:
        if ROWS[name].kind not in ("process", "redis"):
            raise Failure(f"row '{name}' does not measure the library alone")
    words = options.parts.split(",")
    if not all(word.isdigit() and int(word) < len(PARTS) for word in words):
        raise Failure(f"--parts: numbers from 0 to {len(PARTS) - 1}, with commas")
    options.parts = [int(word) for word in words]
    return options


def main(arguments):
    options = parse(arguments)
    problems = []
    machine.measure(options, TITLE, None, functools.partial(build, options),
                    functools.partial(measure, problems))  # fmt: skip
    for problem in problems:
        sys.stderr.write(f"bench/ablation: {problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        sys.exit(f"bench/ablation: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
