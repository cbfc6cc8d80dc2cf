# SPDX-License-Identifier: MIT
"""How fast the page of --html is: to open it, to zoom, to search; and how large.

Two recordings have some 200,000 nodes: clang as it compiles a generated source, and the program of bench/million,
all of whose frames have C++ names, files and lines. Beside the page: speedscope with what `seep export
--to speedscope` writes, and a page with the same tree by d3-flame-graph. Viewers take turns in one
Chromium, each page in a process of its own; shown are medians. Then a recording with a million nodes.
"""

import argparse
import base64
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys

import machine
import million

HERE = pathlib.Path(__file__).resolve().parent
WEB = HERE.parent / "web"
sys.path.insert(0, str(HERE.parent / "tests" / "e2e"))
from page_data import read_page, stacks  # noqa: E402

TITLE = "## The page"
PEERS = {"speedscope": "1.25.0", "d3-flame-graph": "5.0.0", "d3-selection": "3.0.0"}
UNITS = "6"
# Some 200,000 nodes and a million.
STACKS = {"libraries": "25000", "million": "125000"}
SEARCH = "visit"
GOALS = {"open": 500, "zoom": 50, "search": 100}
GOAL_BYTES = 1.5e6
GOAL_MILLION_MS = 3000
HEAD = "| | open | zoom | search | size |\n|---|---|---|---|---|"


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, **options)  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"bench/page: {command[0]}: status {done.returncode}: {done.stderr[:500]}")
    return done.stdout


def npm(folder, *words):
    run("npm", *words, "--ignore-scripts", "--no-audit", "--no-fund", "--silent", cwd=folder)


def build(folder):
    """Packages, and what is recorded."""
    if not (WEB / "node_modules" / ".package-lock.json").exists():
        npm(WEB, "ci")
    (folder / "package.json").write_text('{"private": true, "type": "module"}\n')
    npm(folder, "install", *(f"{name}@{version}" for name, version in PEERS.items()))


def compiler(folder):
    """The command by which clang++ starts itself to compile a source."""
    source = folder / "units.cc"
    source.write_text(run(sys.executable, HERE / "gen_cc.py", UNITS))
    driver = ["clang++", "-std=c++17", "-O1", "-c", source, "-o", folder / "units.o"]
    done = subprocess.run([*map(str, driver), "-###"], capture_output=True, text=True, check=True)
    return shlex.split(next(line for line in done.stderr.splitlines() if '"-cc1"' in line))


def record(seep, folder, name, command):
    recording = folder / f"{name}.seep"
    run(seep, "run", "-q", "-o", recording, "--", *command, cwd=folder)
    page = folder / f"{name}.html"
    run(seep, "report", recording, "--html", page)
    return recording, page


def tree_of(page):
    """Nodes [parent, number of the name, bytes allocated], and names in full."""
    view, document = read_page(page)
    columns, frames = document["contexts"], document["frames"]
    full = {}
    for number, frame in zip(view["function"], frames):
        full.setdefault(number, frame["function"] or view["functions"][number])
    nodes, known = [[0, 0, 0]], {}
    names = ["all", *(full[number] for number in sorted(full))]
    index = {number: at + 1 for at, number in enumerate(sorted(full))}
    for context, stack in enumerate(stacks(columns)):
        value, at = columns["alloc_bytes"][context], 0
        nodes[0][2] += value
        for frame in reversed(stack):
            key = (at, view["function"][frame])
            if key not in known:
                known[key] = len(nodes)
                nodes.append([at, index[key[1]], 0])
            at = known[key]
            nodes[at][2] += value
    return {"names": names, "nodes": nodes}


def d3_page(folder, tree):
    """One file, as the page of seep is."""
    modules = folder / "node_modules"
    run(WEB / "node_modules/.bin/esbuild", HERE / "page_d3.js", "--bundle", "--minify",
        f"--outfile={folder}/d3.js", "--log-level=warning", cwd=folder,
        env={**os.environ, "NODE_PATH": str(modules)})  # fmt: skip
    data = json.dumps(tree, separators=(",", ":")).replace("<", "\\u003c")
    page = folder / "d3.html"
    page.write_text(f"""<!doctype html><meta charset="utf-8"><title>d3</title>
<style>{(modules / "d3-flame-graph/dist/d3-flamegraph.css").read_text()}</style><input id="search"><div id="chart"></div>
<script id="tree" type="application/json">{data}</script><script>{(folder / "d3.js").read_text()}</script>""")  # fmt: skip
    return page


def speedscope_page(seep, folder, recording):
    """As its own command opens a file: the address names a script that hands over the profile."""
    profile, script = folder / "speedscope.json", folder / "speedscope.js"
    run(seep, "export", recording, "--to", "speedscope", "--by", "allocs", "-o", profile)
    text = base64.b64encode(profile.read_bytes()).decode()
    script.write_text(f'speedscope.loadFileFromBase64("{profile.name}", "{text}")')
    index = folder / "node_modules/speedscope/dist/release/index.html"
    return profile, f"{index.as_uri()}#localProfilePath={script}"


def measure_pages(folder, rounds, pages):
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"chromium": "/usr/bin/chromium", "rounds": rounds, "pages": pages}))
    return json.loads(run("node", HERE / "page.mjs", plan))


def row(title, runs, size):
    """Medians of the clock, in brackets of the main thread's processor time."""
    cells = []
    for name in GOALS:
        clocks = [one[name]["clock"] for one in runs if name in one]
        if not clocks:
            cells.append(next(one["failed"] for one in runs if "failed" in one))
            continue
        processor = statistics.median(one[name]["processor"] for one in runs if name in one)
        cells.append(f"{statistics.median(clocks):,.0f} ms ({processor:,.0f})")
    return f"| {title} | {' | '.join(cells)} | {size / 1e6:.1f} MB |"


def what(tree, text):
    named = [len(name) for name in (tree["names"][at] for _, at, _ in tree["nodes"]) if " + 0x" not in name]
    return (f"{text}: {len(tree['nodes']) - 1:,} nodes, {len(named) / len(tree['nodes']):.0%} of which have names, of "
            f"{statistics.median(named):.0f} characters (median).")  # fmt: skip


def beside(seep, folder, options, text, recorded):
    """A table of all viewers with one recording."""
    recording, page = recorded
    tree = tree_of(page)
    d3 = d3_page(folder, tree)
    profile, scope = speedscope_page(seep, folder, recording)
    viewers = {
        "seep": ("seep", f"{page.as_uri()}#flame", page),
        "d3-flame-graph": ("d3", d3.as_uri(), d3),
        "speedscope": ("speedscope", scope, profile),
    }
    found = measure_pages(folder, options.rounds, [{"viewer": viewer, "url": url, "search": SEARCH}
                                                   for viewer, url, _ in viewers.values()])  # fmt: skip
    yield what(tree, text)
    yield ""
    yield HEAD
    for (title, (_, _, file)), runs in zip(viewers.items(), found["found"]):
        yield row(title, runs, file.stat().st_size)
    yield f"| goal | {' | '.join(f'{goal} ms' for goal in GOALS.values())} | {GOAL_BYTES / 1e6} MB |"
    yield ""


def measure(seep, folder, options):
    yield TITLE
    yield ""
    yield (f"Medians of {options.rounds} rounds in which viewers take turns in one Chromium, in brackets the processor time of the "
           "page's main thread. Open: from navigation to the picture of all nodes by what they allocated; zoom: from a "
           f"click to the picture of what it zooms to; search: from what is typed (`{SEARCH}`) to the picture with marks. Where a "
           "viewer fails, its message stands instead. Chromium's own processes count among the others on the machine.")  # fmt: skip
    yield ""
    clang = record(seep, folder, "clang", compiler(folder))
    yield from beside(seep, folder, options, "clang, which compiles a generated source", clang)
    if options.quick:
        return
    program = million.build_program(options.work or folder / "million")
    for name, stacks in STACKS.items():
        recorded = record(seep, folder, name, [program, program.parent, stacks, "1"])
        text = f"{int(stacks):,} call stacks through 50 libraries (`bench/million`)"
        if name == "libraries":
            yield from beside(seep, folder, options, text, recorded)
        else:
            yield from alone(folder, options, text, recorded)


def alone(folder, options, text, recorded):
    _, page = recorded
    found = measure_pages(folder, options.rounds, [{"viewer": "seep", "url": f"{page.as_uri()}#flame",
                                                    "search": SEARCH}])  # fmt: skip
    yield what(tree_of(page), text)
    yield ""
    yield HEAD
    yield row("seep", found["found"][0], page.stat().st_size)
    yield f"| goal | {GOAL_MILLION_MS:,} ms | | | |"


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/page", description=__doc__.split("\n\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parent / "build-release"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=pathlib.Path, help="folder that keeps the program of the larger recording")
    parser.add_argument("--quick", action="store_true", help="once, without the larger recording: does it work?")
    parser.add_argument("--markdown", type=pathlib.Path, help="page to put the section into")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds = 1
    machine.measure(options, TITLE, None, build, measure)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
