# SPDX-License-Identifier: MIT
"""A recording of a million call stacks: how long its making and its reports take, and in how much memory.

Fifty C++ libraries with debug information are written and compiled, and a program walks random call
paths through them. It is run plainly, then recorded; then come the reports. Every command runs
with everything in the file cache. `--ledger` also reports straight from a ledger, where names are
looked up each time.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import machine

HERE = pathlib.Path(__file__).resolve().parent
PARTS = 50
GOAL_S = 3


def compile_part(folder, part):
    source, library = folder / f"part{part:02}.cc", folder / f"libpart{part:02}.so"
    text = subprocess.run([sys.executable, HERE / "gen_million.py", str(part)],
                          check=True, capture_output=True).stdout  # fmt: skip
    source.write_bytes(text)
    subprocess.run(["g++", "-O2", "-g", "-fPIC", "-shared", "-Wl,--build-id", "-I", HERE,
                    source, "-o", library], check=True)  # fmt: skip


def build_program(folder):
    """Minutes at first; a folder that is given with --work keeps them."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [n for n in range(PARTS) if not (folder / f"libpart{n:02}.so").exists()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda part: compile_part(folder, part), missing))
    program = folder / "million"
    if not program.exists():
        subprocess.run(["g++", "-O2", "-g", "-D_GNU_SOURCE", HERE / "million.cc", "-o", program,
                        "-lpthread"], check=True)  # fmt: skip
    return program


class Watched:
    """A command's own peak memory, which its children's would hide in what wait4() says."""

    def __init__(self, command):
        before = time.perf_counter()
        self.process = subprocess.Popen([str(c) for c in command],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        self.peak_bytes = 0
        poll = threading.Thread(target=self.watch)
        poll.start()
        self.last_line = before
        self.text = ""
        for line in self.process.stdout:
            self.last_line = time.perf_counter()
            self.text += line.decode(errors="replace") if len(self.text) < 10000 else ""
        self.error = self.process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = status
        end = time.perf_counter()
        poll.join()
        if status:
            sys.exit(f"bench/million: {command[0]}: status {status}: {self.error[-500:]}")
        self.wall_s = end - before
        self.after_last_line_s = end - self.last_line
        self.cpu_s = usage.ru_utime + usage.ru_stime

    def watch(self):
        status = f"/proc/{self.process.pid}/status"
        while self.process.returncode is None:
            try:
                text = pathlib.Path(status).read_text()
            except OSError:
                return
            found = re.search(r"VmHWM:\s*(\d+)", text)
            if found:
                self.peak_bytes = int(found.group(1)) * 1024
            time.sleep(0.01)


def figures(text):
    return {name: float(value) for name, value in re.findall(r"\b(\w+)=([\d.]+)", text)}


def row(what, watched, seconds=None, note=""):
    seconds = watched.wall_s if seconds is None else seconds
    print(f"| {what} | {seconds:.2f} s | {watched.cpu_s:.2f} s "
          f"| {watched.peak_bytes / 1e6:.0f} MB | {note} |", flush=True)  # fmt: skip


def reports(seep, file):
    """Each view; the first twice, since the file was not read before."""
    views = [
        ("report", []), ("report", []), ("report --by allocs", ["--by", "allocs"]),
        ("report --tree", ["--tree"]), ("report --flat", ["--flat"]),
        ("report --raw", ["--raw"]), ("report --json --top 100", ["--json", "--top", "100"]),
        ("report --json", ["--json"]),
    ]  # fmt: skip
    first = None
    for number, (name, options) in enumerate(views):
        watched = Watched([seep, "report", file, *options])
        if number == 1:
            first = watched.wall_s
        if number > 0:
            row(name, watched, note=f"goal {GOAL_S} s" if number == 1 else "")
    query = "SELECT live_bytes, function, stack FROM top ORDER BY 1 DESC LIMIT 20"
    row("query, largest 20 with their stacks", Watched([seep, "query", file, query]))
    return first


def check_size(seep, file, wanted):
    """The claim is about so many stacks, this deep, in so many modules, and nothing lost."""
    query = ("SELECT (SELECT count(*) FROM context), (SELECT count(*) FROM module),"
             " (SELECT value FROM total WHERE name = 'dropped')")  # fmt: skip
    text = Watched([seep, "query", file, "--csv", query]).text
    contexts, modules, dropped = map(int, text.splitlines()[-1].split(","))
    if contexts < wanted or modules < PARTS or dropped:
        sys.exit(f"bench/million: {contexts} stacks, {modules} modules, {dropped} dropped")
    return contexts, modules


def measure(options, folder):
    seep = pathlib.Path(options.build).resolve() / "seep"
    program = build_program(pathlib.Path(options.work) if options.work else folder / "program")
    command = [program, program.parent, str(options.stacks), "1"]
    file = folder / "million.seep"
    plain = Watched(command)
    print(f"\n{', '.join(f'{k}: {v}' for k, v in machine.describe(seep.parent).items())}\n")
    print("| what | time | processor time | peak memory | |\n|---|---|---|---|---|")
    row("the program, plain", plain)
    run = Watched([seep, "run", "-q", "-o", file, "--", *command])
    found = figures(run.text)
    row("`seep run`", run, note=f"{found['ns_per_pair'] / 1000:.1f} µs per new stack")
    row("of which after the program's last line", run, run.after_last_line_s)
    contexts, modules = check_size(seep, file, options.stacks)
    first = reports(seep, file)
    if options.ledger:
        ledger_report(seep, command)
    print(f"\n{contexts:,} stacks, {found['frames_average'] + 2:.1f} frames on average without the"
          f" inlined ones, {modules} modules, {file.stat().st_size / 1e6:.0f} MB.")  # fmt: skip
    return first


def ledger_report(seep, command):
    """No recorder: the ledger stays, and every report over it names its addresses."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="seep-bench-", dir="/dev/shm"))
    try:
        subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "SEEP_DIR": str(directory),
                            "LD_PRELOAD": str(seep.parent / "libseep.so")})  # fmt: skip
        (ledger,) = directory.rglob("*.ledger")
        row("report of a ledger", Watched([seep, "report", ledger]))
    finally:
        shutil.rmtree(directory)


def main(arguments):
    parser = argparse.ArgumentParser(prog="bench/million", description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parent / "build-release"),
                        help="build directory with seep (default: build-release)")  # fmt: skip
    parser.add_argument("--stacks", type=int, default=1000000)
    parser.add_argument("--work", help="folder that keeps the compiled program (default: none)")
    parser.add_argument("--ledger", action="store_true", help="also a report of a ledger")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="seep-bench-") as folder:
        first = measure(options, pathlib.Path(folder))
    if first > GOAL_S:
        print(f"The report took longer than {GOAL_S} s.")
    return first > GOAL_S


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
