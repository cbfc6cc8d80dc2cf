#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/soak/attach_service_found.py [ROUNDS] [--gdb GDB]: the line of a leak in a service that runs.

The service, attach_leak.cc, is built as Debian builds packages (FLAGS; stripped, its debug information in
a file beside it) and has leaked for a while, under load. It is attached to by seep, and another one by
`heaptrack --pid`, which uses gdb. After some seconds each is asked what leaks: `seep leaks`, while it
goes on; heaptrack, once it was detached. Prints for each round and tool how long it took until the line
stood there and at which place, how many requests the service answered meanwhile, for how long it did
not answer, and whether it survived.
"""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from harness import SEEP  # noqa: E402

SOURCE = pathlib.Path(__file__).with_name("attach_leak.cc")
FLAGS = ("-g -O2 -fstack-protector-strong -Wformat -Werror=format-security -Wdate-time -D_FORTIFY_SOURCE=2"
         " -Wl,-z,relro -pthread")
(LINE,) = [n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if "/* the leak */" in text]
PLACE = f"{SOURCE.name}:{LINE}"

LEAKED_S = 20  # before it is attached to
WATCHED_S = 5  # each time that requests are counted
ATTACH_MAX_S = 60


def build(folder):
    made = folder / "attach_leak"
    debug = folder / "attach_leak.debug"
    subprocess.run(["g++", *FLAGS.split(), SOURCE, "-o", made], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", made, debug], check=True)
    subprocess.run(["strip", made], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", made], check=True)
    return made


class Service:
    """With its clients, in another process."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "serve"], stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        port = self.process.stdout.readline().strip()
        self.load = subprocess.Popen([program, "load", port], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True)

    def ask(self):
        """Requests answered since this was last asked, the longest one in s, and connections that broke."""
        print(file=self.load.stdin, flush=True)
        answered, longest_us, failed = map(int, self.load.stdout.readline().split())
        return answered, longest_us / 1e6, failed

    def per_second(self):
        self.ask()
        began = time.monotonic()
        time.sleep(WATCHED_S)
        answered, longest_s, _ = self.ask()
        return answered / (time.monotonic() - began), longest_s

    def ended_by(self):
        """None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(timeout=0.5)
        return None

    def close(self):
        for process in (self.load, self.process):
            process.kill()
            process.communicate()


class Seep:
    name = "seep"

    def __init__(self, folder, _):
        self.env = {**os.environ, "SEEP_DIR": str(folder)}

    def call(self, *words):
        return subprocess.run([SEEP, *map(str, words)], env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False).stdout

    def attach(self, pid):
        said = self.call("attach", pid)
        return "" if said.startswith("attached to") else said

    def find(self, pid):
        """What leaks, the first one first; and what it says before."""
        head, *leaks = re.split(r"(?m)^ +\d+\. ", self.call("leaks", pid))
        return leaks, head

    def detach(self, pid):
        self.call("detach", pid)


class Heaptrack:
    name = "heaptrack"

    def __init__(self, folder, gdb):
        self.folder = folder
        self.env = dict(os.environ)
        if gdb:
            (folder / "gdb").symlink_to(pathlib.Path(gdb).resolve())
            self.env["PATH"] = f"{folder}:{self.env['PATH']}"

    def attach(self, pid):
        # By bash: where its sh is dash, Ctrl-C ends the script without its trap, which detaches.
        words = ["bash", shutil.which("heaptrack"), "-o", self.folder / "found", "--pid", str(pid)]
        self.process = subprocess.Popen(words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        said, end = b"", time.monotonic() + ATTACH_MAX_S
        while b"injection finished" not in said:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                return f"not done within {ATTACH_MAX_S} s: {said.decode()}"
            said += os.read(self.process.stdout.fileno(), 4096) or b"injection finished"
        wrong = [text for text in said.decode().splitlines() if re.search("Couldn't|No symbol|rror", text)]
        return "; ".join(wrong)

    def detach(self, pid):
        """As Ctrl-C does."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.communicate(timeout=ATTACH_MAX_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()

    def find(self, pid):
        self.detach(pid)
        words = ["heaptrack_print", "-f", self.folder / "found.zst", "-p0", "-a0", "-T0", "-l1", "-n1000"]
        said = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False).stdout
        head, *leaks = re.split(r"(?m)^(?=\S+ leaked over)", said.partition("MEMORY LEAKS")[2])
        return leaks, head


@dataclasses.dataclass
class Row:
    tool: str
    before: float = 0  # requests per second
    attach_s: float = 0
    refused: str = ""
    attached: float = 0
    still_s: float = 0  # the longest that a request took, from the attach to the end
    found_s: float = 0
    place: int = 0  # of the line among what is said to leak; 0: it is not there
    leaks: int = 0
    said: str = ""
    after: float = 0
    ended: int | None = None

    def text(self):
        if self.refused or self.ended is not None:
            what = f"not attached: {' '.join(self.refused.split())}" if self.refused else ""
            died = f"the service ended with {self.ended}" if self.ended is not None else "the service lives"
            return f"| {self.tool} | {self.attach_s:.1f} | {what} | | | {died} |"
        return (f"| {self.tool} | {self.attach_s:.2f} | {self.found_s:.1f}; {self.place} of {self.leaks} "
                f"| {100 * self.attached / self.before:.0f} %, then {100 * self.after / self.before:.0f} % "
                f"| {1000 * self.still_s:.0f} | the service lives |")


HEAD = ("| | attached after, s | the line after, s; its place | requests per second while attached, and after"
        " | longest request, ms | in the end |\n|---|---|---|---|---|---|")


def visit(row, tool, service):
    row.before, _ = service.per_second()
    service.ask()
    began = time.monotonic()
    row.refused = tool.attach(service.pid)
    row.attach_s = time.monotonic() - began
    longest = [service.ask()[1]]
    if row.refused or service.ended_by() is not None:
        tool.detach(service.pid)
        return
    row.attached, still_s = service.per_second()
    longest.append(still_s)
    leaks, head = tool.find(service.pid)
    row.found_s = time.monotonic() - began
    row.leaks = len(leaks)
    row.place = next((n for n, leak in enumerate(leaks, 1) if PLACE in leak), 0)
    row.said = head + "".join(leaks[:1])
    longest.append(service.ask()[1])
    tool.detach(service.pid)
    row.after, still_s = service.per_second()
    row.still_s = max(*longest, still_s)


def round_of(kind, program, gdb):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="seep-found-", dir="/dev/shm"))
    service = Service(program)
    row = Row(kind.name)
    try:
        time.sleep(LEAKED_S)
        visit(row, kind(folder, gdb), service)
        row.ended = service.ended_by()
    finally:
        service.close()
        shutil.rmtree(folder, ignore_errors=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rounds", nargs="?", type=int, default=3)
    parser.add_argument("--gdb", help="for heaptrack; the one that is installed")
    parser.add_argument("--only", choices=["seep", "heaptrack"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="seep-found-") as folder:
        program = build(pathlib.Path(folder))
        print(f"{PLACE} is what leaks\n\n{HEAD}", flush=True)
        rows = []
        for _ in range(options.rounds):
            for kind in (Seep, Heaptrack):
                if options.only in (None, kind.name):
                    rows.append(round_of(kind, program, options.gdb))
                    print(rows[-1].text(), flush=True)
    for kind in (Seep, Heaptrack):
        told = [row for row in rows if row.tool == kind.name and row.said]
        if told:
            print(f"\n{kind.name}, the line after {statistics.median(r.found_s for r in told):.1f} s:\n"
                  f"{told[-1].said}")
    found = [row.place == 1 and row.found_s < 60 and row.ended is None for row in rows if row.tool == "seep"]
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
