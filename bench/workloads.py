# SPDX-License-Identifier: MIT
"""What is measured: the one list of rows, and how the programs they run come to be.

A row's command is a function of an Input: which size, and built for whom. The small size is for
--quick and for peers that are so slow that nobody would wait for them on the full one.
"""

import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
from typing import Callable

HERE = pathlib.Path(__file__).resolve().parent


class Failure(Exception):
    """Something could not be measured; the text says why, in one sentence."""


def sh(*command, **options):
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise Failure(f"{' '.join(map(str, command))}: {said[-500:]}")
    return done.stdout


@dataclasses.dataclass(frozen=True)
class Input:
    """What one run works on."""

    scratch: pathlib.Path  # where programs are built; lives as long as the whole measurement
    small: bool = False
    leak: bool = False  # built with -fsanitize=leak

    def size(self, full, small):
        return str(small if self.small else full)

    def program(self, source):
        name = pathlib.Path(source)
        out = self.scratch / (name.stem + ("-leak" if self.leak else ""))
        if not out.exists():
            compiler = ["g++", "-std=gnu++17"] if name.suffix == ".cc" else ["gcc", "-std=gnu17"]
            flags = ["-fsanitize=leak"] if self.leak else []
            sh(*compiler, "-O2", "-g", "-D_GNU_SOURCE", *flags, HERE / source, "-o", out,
               "-lpthread")  # fmt: skip
        return out

    def preload(self, source, *flags):
        """A library of ours that goes in front of a program."""
        out = self.scratch / (pathlib.Path(source).stem + ".so")
        if not out.exists():
            sh("g++", "-std=gnu++17", "-O2", "-fPIC", "-shared", HERE / source, "-o", out, *flags)
        return out

    def templates(self, units):
        """A C++ source that keeps a compiler busy."""
        source = self.scratch / f"work{units}.cc"
        if not source.exists():
            source.write_text(sh(sys.executable, HERE / "gen_cc.py", units))
        return source


def make_list(threads, depth=5, rounds=1):
    def command(work):
        nodes = work.size(1000000, 100000)
        arguments = ["--threads", threads, "--depth", depth, "--nodes", nodes, "--rounds", rounds]
        return [work.program("list.cc"), *map(str, arguments)], {}

    return command


def make_own(source, *arguments):
    """A program of ours; each argument is a text, or a pair: full and small."""

    def command(work):
        words = [work.size(*a) if isinstance(a, tuple) else str(a) for a in arguments]
        return [work.program(source), *words], {}

    return command


def make_cpython(full, small, small_share="1"):
    def command(work):
        python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
        environment = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1"}
        size = [work.size(full, small), work.size("1", small_share)]
        return [python, "-sS", HERE / "cpython.py", *size], environment

    return command


SMALL_CC = """\
#include <vector>
int f(std::vector<int> v) { v.push_back(1); return (int)v.size(); }
"""


def make_cc1plus(work):
    preprocessed = work.scratch / work.size("full.ii", "small.ii")
    if not preprocessed.exists():
        source = work.scratch / "small.cc" if work.small else work.templates(5)
        if work.small:
            source.write_text(SMALL_CC)
        sh("g++", "-std=gnu++17", "-E", "-P", source, "-o", preprocessed)
    compiler = sh("g++", "-print-prog-name=cc1plus").strip()
    return [
        compiler, "-fpreprocessed", "-quiet", "-O1", "-std=gnu++17", preprocessed,
        "-o", "/dev/null",
    ], {}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Row:
    title: str
    command: Callable | None = None
    # process: one program from start to end; redis, end, symbols: see measuring.py
    kind: str = "process"
    key: str = "time_ns"
    goal: tuple = (None, None)  # seep's ratio to plain: first goal, aim
    goal_of: str = "time"  # what they are a ratio of: a figure of GOALS in tables.py
    tier_goals: tuple = (None, None)  # of counts and sampled: CPU time, or the rate
    threads: int = 1
    small: str = ""  # the small input, as the table says it; empty: as large as the full one
    # Shown in a table of its own, a line per variant: (key, heading, unit divisor, digits)
    columns: tuple = ()
    about: str = ""  # a sentence under that table
    without: dict = dataclasses.field(default_factory=dict)  # peer: why it is not measured
    wait_s: int = 120  # a run that takes longer is given up
    # Of a program that is not ours: its command line, and what finds the figure that it prints.
    line: str = ""
    figure: re.Pattern | None = None


MS, US, MB = 1e6, 1e3, 1e6
A_TENTH = "a tenth of the input"
VALGRIND_THREADS = dict.fromkeys(("memcheck", "massif", "dhat"),
                                 "valgrind has 500 threads at most by default")  # fmt: skip
FORK_COLUMNS = (
    ("back_ns", "fork() back in the parent, µs", US, 0),
    ("whole_ns", "child ends at once, waited for, µs", US, 0),
    ("allocating_ns", "child allocates once, then ends, µs", US, 0),
    ("quiet_cpu_ns", "CPU time, child ends at once", US, 0),
    ("once_cpu_ns", "allocates once", US, 0),
    ("ten_cpu_ns", "ten blocks", US, 0),
    ("many_cpu_ns", "500 blocks, 100 places", US, 0),
    ("frees_cpu_ns", "frees 200 inherited", US, 0),
    ("grown_cpu_ns", "1,100 blocks", US, 0),
    ("execs_cpu_ns", "one block, exec", US, 0),
)


def make_memory(title, *arguments, **more):
    """Own memory with some blocks alive, of a kind of bench/blocks.c."""
    columns = (
        ("time_ns", "time to allocate, ms", MS, 0),
        ("rss_bytes", "resident, MB", MB, 1),
        ("own_bytes", "own memory, MB", MB, 1),
        ("own_share", "own memory, % of the heap", 0.01, 1),
    )
    return Row(title, make_own("blocks.c", *arguments), columns=columns, **more)


ROWS = {
    "list1": Row("std::list, 10⁶ nodes per thread, 5 deep, 1 thread", make_list(1),
                 goal=(1.40, 1.20), small=A_TENTH),
    "list2": Row("the same, 2 threads", make_list(2), goal=(1.40, 1.20), threads=2, small=A_TENTH),
    "list4": Row("the same, 4 threads", make_list(4), goal=(1.40, 1.20), threads=4, small=A_TENTH),
    "list16": Row("the same, 16 threads", make_list(16), goal=(1.25, 1.15), threads=16,
                  small=A_TENTH),
    "list35": Row("the same, 35 deep, 2 threads", make_list(2, 35), goal=(1.7, 1.4), threads=2,
                  small=A_TENTH),
    "warm5": Row("std::list built three times, 5 deep, 2 threads", make_list(2, 5, 3),
                 goal=(1.30, 1.20), goal_of="cpu", tier_goals=(1.40, 1.13), threads=2,
                 small=A_TENTH),
    "warm35": Row("the same, 35 deep", make_list(2, 35, 3), goal=(1.55, 1.40), goal_of="cpu",
                  tier_goals=(1.42, 1.13), threads=2, small=A_TENTH),
    "paths": Row("worst case: 4,096 random stacks, 14 deep, nothing else done",
                 make_own("paths.cc", (2000000, 200000)), goal=(5.0, 3.0),
                 tier_goals=(1.30, 1.10), small=A_TENTH),
    "cpython": Row("CPython json + ast, `PYTHONMALLOC=malloc`", make_cpython(12, 1, "0.1"),
                   goal=(1.25, 1.12), tier_goals=(1.15, 1.03), small="1/120 of the input"),
    "cc1plus": Row("cc1plus -O1", make_cc1plus, goal=(1.15, 1.08), tier_goals=(1.09, 1.02), small="five lines of source"),
    "factor": Row("factoring a number of 32 digits by continued fractions",
                  make_own("factor.c", (35473982882373940397174231425427,
                                        3962734667711337023224252619), (200, 300)),
                  goal=(1.8, 1.5), goal_of="cpu", small="a number of 28 digits"),
    "cover": Row("minimising 150 random functions of 13 variables",
                 make_own("cover.c", (150, 15), 13, 150), small=A_TENTH),
    "larson": Row("5,000 blocks of 8 to 1,000 bytes per thread, handed to 10 threads, 8 at once",
                  make_own("larson.cc", 8, (2000000, 200000)), goal=(1.33, None),
                  tier_goals=(None, 1.09), threads=8,
                  small=A_TENTH),
    "larson_sized": Row("the same, by sized `operator delete`",
                        make_own("larson.cc", "--sized", 8, (2000000, 200000)),
                        goal=(1.33, None), threads=8, small=A_TENTH),
    "service": Row("C++ server, some 50 MB live, stacks 15 to 37 deep, 64 threads",
                   make_own("service.cc", (40000, 4000), (3000, 300)), threads=64, small=A_TENTH),
    "server": Row("server: random replacing, blocks handed from thread to thread, 16 threads",
                  make_own("server.c", 16, (200000, 20000)), threads=16, small=A_TENTH),
    "handover": Row("producers and consumers, 8 threads",
                    make_own("handover.c", 4, (500000, 50000)), threads=8, small=A_TENTH),
    "pass": Row("batches of 64-byte blocks through one queue, 8 threads",
                make_own("pass.c", 8, (800, 80)), threads=8, small=A_TENTH),
    "scratch": Row("8-byte blocks, each written 100 times, 4 threads",
                   make_own("scratch.c", 4, (1000000, 100000)), threads=4, small=A_TENTH),
    "churn": Row("40,000 threads one after another, 4 at a time, 128 blocks each",
                 make_own("crowd.c", 4, 2, (10000, 1000)), threads=4, small=A_TENTH),
    "redis": Row("redis under redis-benchmark, requests per second", kind="redis",
                 key="requests_per_s", goal=(0.95, 0.98), goal_of="rate", tier_goals=(0.92, 0.98),
                 small="a twentieth of the requests"),
    "crowd": Row("1,000 threads at once, 19,200 blocks each", threads=1000,
                 command=make_own("crowd.c", 1000, (300, 10)), small="a thirtieth of the input",
                 columns=(("time_ns", "time, ms", MS, 0), ("cpu_ns", "CPU time, ms", MS, 0),
                          ("rss_bytes", "resident, MB", MB, 1),
                          ("own_per_thread", "own memory per thread, KB", 1e3, 1)),
                 about="Threads allocate in turns. Own memory is what is resident beyond the plain "
                       "run, with every thread alive; the goal is 24 KB per thread.",
                 without=VALGRIND_THREADS),
    "latency": Row("latency of a free() with its malloc()", key="p50_ns",
                   command=make_own("latency.c", (2000000, 200000)), small=A_TENTH,
                   columns=(("p50_ns", "median, ns", 1, 0), ("p99_ns", "99 %", 1, 0),
                            ("p999_ns", "99.9 %", 1, 0), ("p9999_ns", "99.99 %", 1, 0)),
                   about="10,000 blocks of mixed sizes live, stacks 4 to 11 deep, one thread."),
    "blocks": make_memory("memory for 10 M live blocks of 24 bytes", (10000000, 1000000), "full",
                          small=A_TENTH,
                          about="Own memory is what is resident beyond the plain run, for an "
                                "allocator of its own the difference between the two. Goal, here "
                                "and in the next: 25 % of the heap + 16 MB; aim: 20 %. The heap "
                                "is what the allocator holds, touched or not."),
    "sparse": make_memory("the same, 100,000 blocks that are left of 10 M",
                          (100000, 10000), "sparse", small=A_TENTH),
    "between": make_memory("the same, 20,000 small blocks between untouched ones of 100 KB", 20000,
                           "between"),
    "arenas": make_memory("the same, 1,000 threads with a heap of its own each, 16 blocks", 1000,
                          "arenas", without=VALGRIND_THREADS),
    "large5k": make_memory("the same, 20,000 blocks of 5 KB, their first page touched", 20000,
                           "large", 5 << 10),
    "large20k": make_memory("the same, of 20 KB", 20000, "large", 20 << 10),
    "large200k": make_memory("the same, of 200 KB", 20000, "large", 200 << 10),
    "large2m": make_memory("the same, of 2 MB", 20000, "large", 2 << 20,
                           without=dict.fromkeys(("memcheck", "massif", "dhat"),
                                                 "valgrind has no room for 40 GB")),
    "fork": Row("fork(), hardly a block alive", make_own("forks.c", 0, 35, (200, 50)),
                key="back_ns", columns=FORK_COLUMNS,
                about="Called 35 frames deep, by a stack that has allocated before. CPU time is "
                      "that of parent and child. A child of 1,100 blocks makes a ledger of its "
                      "own, and so does one that calls exec; the others count in their parent's."),
    "fork10m": Row("fork() with 10 M blocks alive",
                   make_own("forks.c", (10000000, 1000000), 35, (30, 10)), key="back_ns",
                   small=A_TENTH, columns=FORK_COLUMNS,
                   about="The page tables of what the tool keeps beside the heap are copied too."),
    "end": Row("end of a small program", kind="end", key="tail_ns",
               command=make_own("list.cc", "--threads", 1, "--nodes", 1000),
               columns=(("tail_ns", "last instruction to prompt, ms", MS, 1),
                        ("process_ns", "start to prompt, ms", MS, 1)),
               about="The whole tool, from the program's last instruction until whoever started it "
                     "may go on: `seep run`, heaptrack with its interpreter. The program is the "
                     "list with 1,000 nodes."),
    "endpython": Row("end of CPython with 17,600 stacks", make_cpython(3, 1), kind="end",
                     key="tail_ns", small="a third of the input",
                     columns=(("tail_ns", "last instruction to prompt, ms", MS, 1),
                              ("process_ns", "start to prompt, ms", MS, 1)),
                     about="The recording is written and its symbols are looked up in that time."),
    "symbols": Row("20,000 random addresses of a C++ program, with inlines", kind="symbols",
                   small="2,000 addresses",
                   columns=(("time_ns", "time, ms", MS, 0),
                            ("peak_bytes", "peak memory, MB", MB, 1),
                            ("frames", "frames", 1, 0)),
                   about="Starting and opening included. Goal: 500 ms; aim: 200 ms."),
}  # fmt: skip


def add_command(name, line, figure):
    """A row for any program: it runs where we were started and is measured from start to end, or by
    the number that the group of @figure finds in its output, of which more is better."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name) or name in ROWS:
        raise Failure(f"'{name}' cannot be the name of a command: a row's, or not [A-Za-z0-9_.-]")
    try:
        words = shlex.split(line)
        pattern = re.compile(figure, re.M) if figure else None
    except (ValueError, re.error) as error:
        raise Failure(f"{name}: {error}") from None
    program = shutil.which(words[0]) if words else None
    if not program:
        raise Failure(f"{name}: no program '{words[0] if words else ''}'")
    if pattern and pattern.groups != 1:
        raise Failure(f"{name}: '{figure}' has {pattern.groups} groups, not one")
    ROWS[name] = Row(f"`{name}`" + (", the rate it prints" if pattern else ""),
                     lambda _: ([program, *words[1:]], {}), key="figure" if pattern else "time_ns", line=line,
                     figure=pattern, wait_s=1800)  # fmt: skip


def check_names(names):
    for name in names:
        if name not in ROWS:
            raise Failure(f"no row '{name}'; known: {', '.join(ROWS)}")
