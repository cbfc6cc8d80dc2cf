# SPDX-License-Identifier: MIT
"""Measure what recording costs: rows of work, plain, under seep and under other tools.

In every round each variant runs once, in turns, so that a machine that changes its speed changes
it for all. The first round is dropped. A ratio is that of one round; shown are its median and
quartiles over the rounds. Programs that print `time_ns=` are measured over their workload alone,
others from start to end. Any program can be a row (--command). The runtime is preloaded without a
recorder and with every default on; ledgers and profiles lie in /dev/shm and are removed after each
run.
"""

import argparse
import json
import pathlib
import shutil
import signal
import sys
import tempfile

import machine
import tables
import workloads
from measuring import ORACLE, Bench, Rounds, progress, variants_of
from peers import PEERS
from workloads import HERE, ROWS, Failure


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parent / "build-release"),
                        help="build directory with libseep.so (default: build-release)")  # fmt: skip
    parser.add_argument("--rows", help="comma-separated; known: " + ",".join(ROWS))
    parser.add_argument("--command", action="append", default=[], metavar="NAME=COMMAND LINE",
                        help="a row for any program, measured from start to end; other rows only "
                             "by --rows; repeatable")  # fmt: skip
    parser.add_argument("--command-figure", action="append", default=[], metavar="NAME=REGEX",
                        help="measure that command by the number that the group finds in its "
                             "output, the last time; more is better")  # fmt: skip
    parser.add_argument("--peers", help="comma-separated, or none; known: " + ",".join(PEERS))
    parser.add_argument("--quick", action="store_true",
                        help="small inputs and few rounds: does the script work?")  # fmt: skip
    parser.add_argument("--rounds", type=int, help="default 11; 2 with --quick")
    parser.add_argument("--warm-up", type=int, help="rounds that are dropped (1; 0 with --quick)")
    parser.add_argument("--peer-rounds", type=int, help="at most for a peer (3; 1 with --quick)")
    parser.add_argument("--peer-seconds", type=float, default=10,
                        help="per row; a peer that used them gets no more rounds (10)")  # fmt: skip
    parser.add_argument("--row-seconds", type=float, default=100,
                        help="a row whose plain and recorded runs used them gets no more "
                             "rounds, once it had 3 (100)")  # fmt: skip
    parser.add_argument("--no-seep", action="store_true")
    parser.add_argument("--before", help="build directory of another seep, measured in turns with "
                                         "this one")  # fmt: skip
    parser.add_argument("--tiers", action="store_true",
                        help="measure the tiers counts and sampled in turns with exact")
    parser.add_argument("--no-install", action="store_true",
                        help="measure with the peers that are there")  # fmt: skip
    parser.add_argument("--perf", action="store_true", help="also profile a recorded run of each")
    parser.add_argument("--seep-options", help="SEEP_OPTIONS of the recorded runs")
    parser.add_argument("--markdown", help="also write the tables to this file")
    parser.add_argument("--out", help="folder of the results (default: BUILD/bench)")
    options = parser.parse_args(arguments)
    for name, usual, quick in (("rounds", 11, 2), ("warm_up", 1, 0), ("peer_rounds", 3, 1)):
        if getattr(options, name) is None:
            setattr(options, name, quick if options.quick else usual)
    known = list(ROWS)
    commands = add_commands(options)
    rows = options.rows.split(",") if options.rows else [] if commands else known
    workloads.check_names(rows)
    return options, rows + commands


def pairs(texts):
    for text in texts:
        name, equals, rest = text.partition("=")
        if not equals:
            raise Failure(f"'{text}' has no '='")
        yield name, rest


def add_commands(options):
    """Rows of --command; their names."""
    patterns = dict(pairs(options.command_figure))
    commands = dict(pairs(options.command))
    for name, line in commands.items():
        workloads.add_command(name, line, patterns.pop(name, None))
    for name in patterns:
        raise Failure(f"no --command is named '{name}'")
    return list(commands)


def choose_peers(options):
    """Those that are asked for and there, and why the others are not."""
    if options.peers == "none":
        return [], {}
    names = options.peers.split(",") if options.peers else list(PEERS)
    for name in names:
        if name not in PEERS:
            raise Failure(f"no peer '{name}'; known: {', '.join(PEERS)}")
    missing = {name: PEERS[name].why_not() for name in names}
    missing = {name: why for name, why in missing.items() if why}
    for name, why in missing.items():
        sys.stderr.write(f"measured without {PEERS[name].title}: {why}\n")
    return [name for name in names if name not in missing], missing


def why_not(row):
    if row.kind == "redis" and not (shutil.which("redis-server") and shutil.which("redis-cli")):
        return "redis-server or redis-tools is not installed"
    if row.kind == "symbols" and not shutil.which(ORACLE):
        return f"{ORACLE} is not installed"
    return None


def new_result(options, bench, peers, missing):
    return {
        "machine": machine.describe(bench.build),
        "rounds": options.rounds,
        "warm_up": options.warm_up,
        "peer_rounds": options.peer_rounds,
        "peer_seconds": options.peer_seconds,
        "row_seconds": options.row_seconds,
        "quick": options.quick,
        "peers": peers,
        "versions": {p: PEERS[p].version() for p in peers},
        "missing": missing,
        "rows": {},
    }


def write(result, options, out):
    """After every row: an interrupted run keeps what it has."""
    (out / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    text = tables.page(result)
    (out / "result.md").write_text(text)
    if options.markdown:
        pathlib.Path(options.markdown).write_text(text)


def measure(options, names, scratch):
    """Returns what did not work: rows that could not be measured plainly or under seep."""
    bench = Bench(options, scratch)
    if not options.no_seep and not bench.runtime.exists():
        raise Failure(f"{bench.runtime} is not there; build first, or use --no-seep")
    peers, missing = choose_peers(options)
    out = pathlib.Path(options.out) if options.out else bench.build / "bench"
    out.mkdir(parents=True, exist_ok=True)
    neighbours = machine.Neighbours()
    result = new_result(options, bench, peers, missing)
    bad = []
    for name in names:
        row = ROWS[name]
        if why := why_not(row):
            bad.append(f"{name}: {why}")
            continue
        rounds = Rounds(bench, name, row, variants_of(row, bench, peers)).measure()
        bad += [f"{name}, {v}: {why}" for v, why in rounds.failed.items() if v not in PEERS]
        summary = tables.summarise(row, rounds)
        result["rows"][name] = {
            "title": row.title,
            "quick": options.quick,
            "peers": peers,
            "summary": summary,
            "samples": rounds.samples,
        }
        if options.perf and row.kind == "process" and not options.no_seep:
            sys.stderr.write(f"profile: {bench.profile(row, out, name)}\n")
        result["neighbours"] = neighbours.share()
        write(result, options, out)
    if result["rows"]:
        sys.stdout.write((out / "result.md").read_text())
    return bad


def main(arguments):
    options, names = parse(arguments)
    with tempfile.TemporaryDirectory(prefix="seep-bench-") as scratch:
        bad = measure(options, names, pathlib.Path(scratch))
    progress("")
    for line in bad:
        sys.stderr.write(f"bench/run: {line}\n")
    return 1 if bad else 0


if __name__ == "__main__":
    # So that what was started is ended, and temporary folders go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        sys.exit(f"bench/run: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
