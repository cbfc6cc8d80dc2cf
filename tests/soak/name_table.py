#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whose function do leaks and growing rows name, and do they name its type? Prints a table of docs/symbols.md.

    tests/soak/name_table.py [--before BUILD] [--only NAME,NAME] BUILD

The programs in names/ leak and grow in functions of their own, mostly by way of a library. Each is built
-O2 without -g and with, runs for 26 seconds, and is looked at by `seep top --once` and
`seep report --by lost`. It needs their libraries: libboost-dev libuv1-dev libglib2.0-dev libxml2-dev
qtbase5-dev libprotobuf-dev protobuf-compiler liblua5.4-dev, and rustc.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent / "names"
JOBS, SECONDS, LOOK_AT = 10, 26, 17
# Functions of each program, as names begin; and who allocates which type, where a build with lines can tell.
PROGRAMS = {
    "asio": ("Boost.Asio", "Session|Server|main", [("Server", "Session"), ("Server::tick", "AuditLine")]),
    "uv": ("libuv, C", "do_work|on_connection|on_read|echo_back|remember_line|tick|main", []),
    "pool": (
        "thread pool, `std::function`",
        "main|Indexer|handle_conn|make_cycle|Pool|Square|Circle",
        [("handle_conn", "Conn"), ("main", "Picture"), ("make_cycle", "Order"), ("Pool", "Invoice"), ("Pool", "Reading")],
    ),
    "coro": (
        "coroutines, C++20",
        "main|decode|fetch_user|handle_request|forgotten|spawn",
        [("handle_request", "Ticket"), ("handle_request", "Row")],
    ),
    "qt": ("Qt 5", "main|Store|Document|load_map|read_reply", [("Store", "Invoice")]),
    "glib": ("GLib, C", "tick|worker|open_document|cache_reply|split_header|build_", []),
    "xml": ("libxml2, C", "main|parse_feed|lose_|add_feed|detach_node|dump", []),
    "pbuf": (
        "protobuf",
        "main|parse_invoice|lose_|open_conn|Typed|shop::",
        [("Typed", "shop::Line"), ("Typed", "shop::Conn")],
    ),
    "lua": ("Lua 5.4, C", "main|l_|lose_state", []),
    "service": (
        "Rust",
        "<?service::",
        [("accept_conn", "Conn"), ("keep", "Reading"), ("keep", "Invoice"), ("make_cycle", "Node"), ("insert", "Invoice")],
    ),
}
FLAGS = {"uv": "-luv", "asio": "-pthread", "pool": "-pthread", "pbuf": "-lprotobuf -pthread"}
PACKAGES = {"qt": "Qt5Core", "glib": "gobject-2.0 gio-2.0", "xml": "libxml-2.0", "lua": "lua5.4"}


def build(name, lines, folder):
    source = next(HERE.glob(f"{name}.[cr]*"))
    out = folder / f"{name}-{'g' if lines else 'n'}"
    debug = ["-g"] if lines else []
    if source.suffix == ".rs":
        subprocess.run(["rustc", "-O", *debug, "-o", out, source], check=True)
        return out
    flags = FLAGS.get(name, "").split()
    if name in PACKAGES:
        asked = ["pkg-config", "--cflags", "--libs", *PACKAGES[name].split()]
        flags += subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()
    sources = [source]
    if name == "pbuf":
        subprocess.run(["protoc", f"--cpp_out={folder}", "-I", HERE, "pbuf.proto"], check=True)
        sources.append(folder / "pbuf.pb.cc")
    compiler = ["gcc"] if source.suffix == ".c" else ["g++", f"-std=c++{20 if name == 'coro' else 17}"]
    subprocess.run([*compiler, "-O2", "-fPIC", *debug, f"-I{HERE}", f"-I{folder}", *sources, "-o", out, *flags], check=True)
    return out


def look(seep, program, folder):
    """The rows of top that grow, all its rows, and the stacks of its leaks."""
    place = folder / f"ledgers-{program.name}"
    place.mkdir(mode=0o700)
    env = {**os.environ, "SEEP_DIR": str(place), "SECS": str(SECONDS)}
    record = folder / f"{program.name}.seep"
    target = subprocess.Popen([seep, "run", "-q", "-f", "--growth-after", "8s", "-o", record, program], env=env)
    time.sleep(LOOK_AT)
    top = [seep, "top", "--once", "-i", "2s", "--growth-after", "8s"]
    table = []
    # A machine that is busy may have had no time for an interval.
    while target.poll() is None and not any("FUNCTION" in line for line in table):
        table = subprocess.run(top, env=env, capture_output=True, text=True).stdout.split("\n")
    target.wait()
    lost = [seep, "report", "--by", "lost", record]
    leaks = subprocess.run(lost, env=env, check=True, capture_output=True, text=True).stdout
    head = next(i for i, line in enumerate(table) if "FUNCTION" in line)
    verdict, name, where = (table[head].index(word) for word in ("VERDICT", "FUNCTION", "PLACE"))
    rows = [line for line in table[head + 1 :] if line[name:].strip() and not line.startswith("GROWING")]
    stacks = re.split(r"\n +\d+\. ", leaks.split("\nVERDICT")[0])[1:]
    first = r"\n     (?!via |with |hash:|and )(\S.*?)(?:  |\n|$)"
    return (
        [(r[name:where].strip(), r[where:]) for r in rows if "GROWING" in r[verdict - 1 : name]],
        [r[name:where].strip() for r in rows],
        [m.group(1) for m in (re.search(first, "\n" + s.split("\n", 1)[1]) for s in stacks) if m],
    )


def score(name, looked):
    _, own, types = PROGRAMS[name]
    growing, rows, leaks = looked
    named = rows + leaks
    return (
        (sum(bool(re.match(own, leak)) for leak in leaks), len(leaks)),
        (sum(bool(re.match(own, row)) for row, _ in growing), len(growing)),
        (sum(growing.count(row) > 1 for row in growing), len(growing)),
        (sum(any(re.search(f, n) and re.search(rf"\b{t}\b", n) for n in named) for f, t in types), len(types)),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(PROGRAMS), help="some of the programs")
    parser.add_argument("build", type=pathlib.Path)
    options = parser.parse_args()
    seeps = [folder.resolve() / "seep" for folder in (options.before, options.build) if folder]
    print("| program | build | leaks blamed on it | growing rows blamed on it | rows alike | types named |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        folder = pathlib.Path(temporary)
        jobs = {}
        for name in options.only.split(","):
            for lines in (False, True):
                program = build(name, lines, folder)
                for seep in seeps:
                    into = folder / f"{seeps.index(seep)}-{program.name}"
                    into.mkdir()
                    jobs.setdefault((name, lines), []).append(pool.submit(look, seep, program, into))
        for (name, lines), looks in jobs.items():
            scores = [score(name, job.result()) for job in looks]
            cells = [" → ".join("{} of {}".format(*s[k]) for s in scores) for k in range(4)]
            cells[3] = cells[3] if lines and PROGRAMS[name][2] else ""
            print(f"| {PROGRAMS[name][0]} | {'-g' if lines else ''} | {' | '.join(cells)} |", flush=True)


main()
