# SPDX-License-Identifier: MIT
"""How far off the tiers counts and sampled are: programs recorded exactly, and a hundred times each in
the others, beside the samplers of jemalloc and gperftools.

A program is recorded exactly several times, and what those differ by is its own doing: figures that are
not the same each time are compared with their range.
"""

import argparse
import collections
import dataclasses
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import machine
from peers import PEERS, SAMPLE_BYTES
from workloads import HERE, Failure, Input, make_cc1plus, make_cpython, make_list, make_own

TITLE = "## How far off are they?"
FIGURES = ("live_bytes", "peak_bytes", "alloc_bytes")
HEADS = ("live at exit", "peak", "allocated")
LARGE = 0.01  # of all: the stacks that are looked at
NEAR = 0.05
RATE = int(SAMPLE_BYTES)
LEAST = 2 * RATE  # less in all is not much of a sum
SHM = pathlib.Path("/dev/shm")
# Options of as many letters: programs copy their environment, in which they stand. A sample has no leaks.
TIERS = {
    "exact": ["--depth", "65536"],
    "counts": ["--tier", "counts"],
    "sampled": ["--tier", "sampled", "--no-leak-check"],
}

AWK = """\
function put(i) { kept[i] = i * 2 ""; groups[i % 5000] = groups[i % 5000] "x" }
BEGIN { for (i = 0; i < 200000; i++) put(i); print length(kept) }"""
PERL = """\
sub put { my $i = shift; $h{$i} = [$i, "a$i"]; push @a, { x => $i } }
put($_) for 0 .. 100000; print scalar(@a)"""
SQL = """\
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
insert into t select i, printf('row %d of many', i * 7919 % 60000), i / 7.0 from n;
create index tb on t(b);
select count(*), max(b), length(group_concat(substr(b, 1, 3))) from (select b from t order by c desc);"""


def installed(program, *arguments, **environment):
    def command(_work):
        path = shutil.which(program)
        if not path:
            raise Failure(f"{program} is not installed")
        return [path, *arguments], environment

    return command


def make_leaky(work):
    source = HERE.parent / "examples" / "leaky.c"
    return [work.program(source)], {}


# What it is, and its command as those of workloads.ROWS.
PROGRAMS = {
    "list1": ("std::list, 1 thread", make_list(1)),
    "list8": ("the same, 8 threads", make_list(8)),
    "larson": ("larson, 8 threads", make_own("larson.cc", 8, 100000)),
    "server": ("server, 8 threads", make_own("server.c", 8, 100000)),
    "leaky": ("examples/leaky", make_leaky),
    "cpython": ("CPython", make_cpython(1, 1, "0.5")),
    "cc1plus": ("cc1plus -O1", lambda work: make_cc1plus(dataclasses.replace(work, small=True))),
    "gawk": ("gawk", installed("gawk", AWK)),
    "perl": ("perl", installed("perl", "-e", PERL, PERL_HASH_SEED="0", PERL_PERTURB_KEYS="0")),
    "sqlite3": ("sqlite3", installed("sqlite3", ":memory:", SQL)),
}


# ---- one run ---------------------------------------------------------------------------------


def clean(more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SEEP_")}
    return {**kept, **more}


def start(command, environment, folder):
    done = subprocess.run([str(c) for c in command], env=clean(environment), cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)  # fmt: skip
    if done.returncode:
        raise Failure(f"{command[0]}: status {done.returncode}: {done.stderr[-300:]!r}")


def add(sums, key, element):
    """Figures, and the squares of their errors."""
    of = sums.setdefault(key, {f: [0, 0] for f in FIGURES})
    errors = element.get("estimate", {})
    for figure in FIGURES:
        of[figure][0] += element[figure]
        of[figure][1] += errors.get(figure, 0) ** 2


def record(seep, command, more, options, folder):
    """All, by stack and by call site: {figure: [value, square of its error]}; LOST bytes by site."""
    file = folder / "run.seep"
    start([seep, "run", "-q", "-f", "--no-follow", *options, "-o", file, "--", *command], more, folder)
    said = subprocess.run([seep, "report", "--json", file], capture_output=True, check=True).stdout
    report = json.loads(said)
    frames, modules = report["frames"], report["modules"]

    def site(context):
        frame = frames[context["frames"][0]] if context["frames"] else None
        module = modules[frame["module"]]["path"] if frame and frame["module"] is not None else ""
        return f"{context['kind']} {module}+{frame['offset'] if frame else 0:#x}"

    found = {"all": {}, "stacks": {}, "sites": {}, "lost": collections.Counter()}
    add(found["all"], "all", report["totals"])
    found["peak_error"] = report["totals"]["peak_error_bytes"]
    found["counted"] = report["totals"].get("counted_alloc_bytes")
    for context in report["contexts"]:
        add(found["stacks"], context["hash"], context)
        add(found["sites"], site(context), context)
    by_id = {context["id"]: context for context in report["contexts"]}
    for leak in report["leaks"]:
        if leak["verdict"] == "LOST":
            found["lost"][site(by_id[leak["context"]])] += leak["bytes"]
    return found


def unsampled(count, size):
    """What the tools of both make of samples: by the mean size of each stack."""
    return size / -math.expm1(-size / count / RATE) if count else 0


def sample(peer, command, more, folder, work):
    """Live at exit and allocated, as a sampler sees it; None where it does not say."""
    run = pathlib.Path(tempfile.mkdtemp(dir=folder))
    try:
        wrapped, environment = PEERS[peer].wrap(command, run, work)
        start(wrapped, {**more, **environment}, folder)
        texts = [p.read_text() for p in run.iterdir()]
    finally:
        shutil.rmtree(run)
    line = r"^ *t\*: (\d+): (\d+) \[(\d+): (\d+)\]" if peer.startswith("jemalloc") else \
        r"^ *(\d+): +(\d+) \[ *(\d+): +(\d+)\] @ 0x"  # fmt: skip
    # The first of jemalloc's is the sum of them all, whose mean size says nothing.
    stacks = [[int(n) for n in found] for found in re.findall(line, "\n".join(texts), re.M)]
    stacks = stacks[1:] if peer.startswith("jemalloc") else stacks
    live = sum(unsampled(s[0], s[1]) for s in stacks)
    allocated = sum(unsampled(s[2], s[3]) for s in stacks) if peer.startswith("jemalloc") else None
    return {"live_bytes": live, "alloc_bytes": allocated}


# ---- a program -------------------------------------------------------------------------------


@dataclasses.dataclass
class Truth:
    """What exact runs said: of each figure its least and its most."""

    exact: list

    def span(self, group, key, figure):
        values = [run[group].get(key, {}).get(figure, [0, 0])[0] for run in self.exact]
        slack = max(r["peak_error"] for r in self.exact) if figure == "peak_bytes" else 0
        return min(values) - slack, max(values) + slack

    def middle(self, group, key, figure):
        return sum(self.span(group, key, figure)) / 2

    def is_steady(self, group, key, figure):
        """Else it is the program's own doing what this figure is."""
        low, high = self.span(group, key, figure)
        return high - low <= NEAR * self.middle(group, key, figure)

    def large(self, figure):
        least = LARGE * self.middle("all", "all", figure)
        return [k for k in self.exact[0]["stacks"]
                if self.middle("stacks", k, figure) > max(0, least)
                and self.is_steady("stacks", k, figure)]  # fmt: skip


def thin(run, keys):
    """Without the stacks that nobody asks about."""
    run["stacks"] = {k: v for k, v in run["stacks"].items() if k in keys}
    return run


def measure_program(name, options, seep, work):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="seep-accuracy-", dir=SHM))
    try:
        command, more = PROGRAMS[name][1](work)
        exact = [record(seep, command, more, TIERS["exact"], folder) for _ in range(options.exact)]
        truth = Truth(exact)
        keys = {k for f in FIGURES for k in truth.large(f)}
        out = {"exact": [thin(run, keys) for run in exact]}
        more_options = ["--sample-rate", options.sample_rate] if options.sample_rate else []
        for tier in ("counts", "sampled"):
            out[tier] = []
            for number in range(options.runs):
                sys.stderr.write(f"{name}: {tier} {number + 1}\n")
                out[tier].append(thin(record(seep, command, more, TIERS[tier] + more_options, folder), keys))
            if tier == "sampled":
                for run in out[tier]:
                    run["sites"] = {}
        for peer in options.peers:
            out[peer] = [sample(peer, command, more, folder, work) for _ in range(options.runs)]
        return out
    finally:
        shutil.rmtree(folder)


# ---- tables ----------------------------------------------------------------------------------


def value_of(run, group, key, figure):
    return run[group].get(key, {}).get(figure, [0, 0])


def deviations(truth, runs, group, key, figure):
    middle = truth.middle(group, key, figure)
    return [value_of(r, group, key, figure)[0] / middle - 1 for r in runs] if middle else []


def is_held(truth, run, group, key, figure):
    """Is exact's figure within the error? What was not taken at all has none: it is up to three
    times the rate in 95 of 100 cases."""
    low, high = truth.span(group, key, figure)
    value, square = value_of(run, group, key, figure)
    error = math.sqrt(square) if key in run[group] else 3 * RATE
    return low - error <= value <= high + error


def show_bias(found):
    error = statistics.stdev(found) / math.sqrt(len(found))
    return f"{statistics.mean(found):+.2%} ± {error:.2%}"


def sampled_row(title, truth, runs):
    cells = [title]
    for figure in FIGURES:
        if not truth.is_steady("all", "all", figure):
            cells.append("varies")
            continue
        held = statistics.mean(is_held(truth, r, "all", "all", figure) for r in runs)
        off = deviations(truth, runs, "all", "all", figure)
        bias = show_bias(off) if truth.middle("all", "all", figure) >= LEAST else "–"
        stacks = truth.large(figure)
        pairs = [is_held(truth, r, "stacks", k, figure) for k in stacks for r in runs]
        by_stack = f"{statistics.mean(pairs):.0%} of {len(stacks)}" if pairs else "–"
        cells.append(f"{bias}; {held:.0%}; {by_stack}")
    return cells


def show_same(truth, runs, values):
    """Of the figures that are the same in all exact runs: how many are so in each other run."""
    exact, others = [values(r) for r in truth.exact], [values(r) for r in runs]
    fixed = {k for found in exact for k in found if {v.get(k, 0) for v in exact} == {found[k]}}
    same = {k for k in fixed if {v.get(k, 0) for v in others} == {exact[0][k]}}
    return f"{len(same)} of {len(fixed)}" if fixed else "–"


def by_key(group):
    def values(run):
        return {(k, f): found[f][0] for k, found in run[group].items() for f in FIGURES}

    return values


def near_stacks(truth, runs, figure):
    """Stacks and runs within a twentieth, and within the error that is said."""
    stacks = truth.large(figure)
    near, held = [], []
    for key in stacks:
        low, high = truth.span("stacks", key, figure)
        values = [value_of(r, "stacks", key, figure)[0] for r in runs]
        near += [low * (1 - NEAR) <= v <= high * (1 + NEAR) for v in values]
        held += [is_held(truth, r, "stacks", key, figure) for r in runs]
    return f"{statistics.mean(near):.0%}; {statistics.mean(held):.0%} of {len(stacks)}" if near else "–"


def counts_row(title, truth, runs):
    same = [show_same(truth, runs, by_key(group)) for group in ("all", "sites")]
    same.append(show_same(truth, runs, lambda run: run["lost"]))
    return [title, *same, *(near_stacks(truth, runs, f) for f in FIGURES)]


def peers_row(title, truth, found, peers):
    cells = [title]
    for figure in ("live_bytes", "alloc_bytes"):
        middle = truth.middle("all", "all", figure)
        cells.append(f"{middle / 2**20:,.1f} MB")
        for name in ("sampled", *peers):
            if name == "sampled":
                off = deviations(truth, found[name], "all", "all", figure)
            else:
                off = [r[figure] / middle - 1 for r in found[name] if r[figure] is not None]
            shown = middle >= LEAST and len(off) > 0
            cells.append(f"{statistics.mean(off):+.1%} ({statistics.stdev(off):.0%})" if shown else "–")
    return cells


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for cells in rows:
        yield "| " + " | ".join(cells) + " |"
    yield ""


def lines_of(result, runs, exact, peers):
    """The section, of what was measured by now."""
    rows = [(PROGRAMS[n][0], Truth(found["exact"]), found) for n, found in result.items()]
    yield (f"Each program was recorded exactly {exact} times, and {runs} times in each of the other tiers "
           "(`bench/accuracy`). Figures that differ between the exact runs are compared with their range, and "
           "not at all if that is more than 5 %.\n")  # fmt: skip
    yield ("`sampled`: what the mean of all runs is off by, with its standard error; how often exact is within the ±; and how "
           "often by stack, of those above 1 % of all.\n")  # fmt: skip
    yield from table(("", *HEADS), [sampled_row(t, truth, f["sampled"]) for t, truth, f in rows])
    yield ("`counts`: how many figures are the same in each run, of those that are the same in each exact run: in all, by call "
           "site (innermost frame and kind), and what is LOST of a site. By stack, of those above 1 % of all: how many are "
           "within 5 % of exact, and within the ±.\n")  # fmt: skip
    yield from table(("", "in all", "by site", "LOST", *(f"{h}, by stack" for h in HEADS)),
                     [counts_row(t, truth, f["counts"]) for t, truth, f in rows])  # fmt: skip
    yield ("Beside samplers of the same rate: what their sums are off by in the mean, in brackets the standard deviation of one run. "
           "jemalloc counts what it hands out, which is more than was asked for. gperftools tells only what is live, and "
           "takes nothing of the first 16 MB of the main thread.\n")  # fmt: skip
    names = ["seep", *(PEERS[p].title for p in peers)]
    yield from table(("", *(f"{h}{n}" for h in ("live: ", "allocated: ") for n in ("exact", *names))),
                     [peers_row(t, truth, f, peers) for t, truth, f in rows])  # fmt: skip


def measure(seep, scratch, options):
    yield TITLE
    yield ""
    result = {}
    for name in options.programs:
        result[name] = measure_program(name, options, seep, Input(scratch))
        if options.raw:
            options.raw.write_text(json.dumps(result))
    yield from lines_of(result, options.runs, options.exact, options.peers)


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/accuracy", description=__doc__.split("\n\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parent / "build-release"))
    parser.add_argument("--programs", type=lambda text: text.split(","), default=list(PROGRAMS),
                        help="comma-separated; known: " + ",".join(PROGRAMS))  # fmt: skip
    parser.add_argument("--runs", type=int, default=100, help="of each tier (100)")
    parser.add_argument("--exact", type=int, default=5, help="exact runs (5)")
    parser.add_argument("--sample-rate", help="of both tiers, as for seep run (512K)")
    parser.add_argument("--raw", type=pathlib.Path, help="also write every run to this file")
    parser.add_argument("--quick", action="store_true", help="few runs: does it work?")
    parser.add_argument("--markdown", type=pathlib.Path, help="page to put the section into")
    options = parser.parse_args(arguments)
    if options.quick:
        options.runs, options.exact = 3, 2
    samplers = ("jemalloc_sampled", "gperftools_sampled")
    options.peers = [peer for peer in samplers if not PEERS[peer].why_not()]
    machine.measure(options, TITLE, None, lambda _: None, measure)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        sys.exit(f"bench/accuracy: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
