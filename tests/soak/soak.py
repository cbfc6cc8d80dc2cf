#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/soak/soak.py [SECONDS]: does seep's account drift, or does its memory grow?

Runs tests/programs/soak_mill under `seep run`, and once more without, as the measure. Between
rounds nothing moves in it; then seep's live blocks and bytes have to be the program's own. While
it works, reports and lists are made of its ledger all the time, and a mark is set every minute.
Prints a line a minute and a verdict; status 1 when anything is wrong.

What may grow: 96 bytes for each row, of which every mark asks one for each context. It is taken off.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(os.environ.get("SEEP_SOURCE", pathlib.Path(__file__).parents[2])).resolve()
BUILD = pathlib.Path(os.environ.get("SEEP_BUILD", SOURCE / "build")).resolve()
SEEP = BUILD / "seep"
MILL = BUILD / "programs" / "soak_mill"

SITES = "soak_"
ROW_BYTES = 96
# Beyond what stands in docs/internals/ledger.md no knowledge of the ledger: the state page.
STATE_AT, TABLE_ROWS = 8192, 2

# After the warm-up, seep's own memory may be this much more than it was then, and a quarter of what
# the program itself has grown by (docs/internals/architecture.md, "Memory": 8 bytes for each 32).
WARM_UP_SHARE = 0.25
# Tables of stacks and threads are full only then: a shorter run is all warm-up.
OWN_FROM_S = 120
OWN_SHARE, OWN_SLACK_BYTES, OWN_OF_PLAIN = 0.02, 512 << 10, 0.25
# Resident sets depend on how threads happen to run: a loose bound, for what nobody thought of.
RSS_SHARE, RSS_SLACK_BYTES = 0.10, 8 << 20
# Address space that is mapped and never given back shows in page tables, and nowhere else.
TABLES_SHARE, TABLES_SLACK_BYTES = 0.10, 192 << 10


@dataclasses.dataclass
class Look:
    """One moment of rest."""

    at_s: float
    own_bytes: int  # ledger without rows, and private memory
    rows: int
    rss_bytes: int
    plain_rss_bytes: int
    recorder_rss_bytes: int
    tables_bytes: int  # page tables, beyond plain
    other_bytes: int  # live in stacks that are not the program's own account


class Mill:
    """The program, plain or recorded, at the other end of two pipes."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(
            [os.fspath(word) for word in command],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.account = self.read()

    def read(self):
        line = self.process.stdout.readline().decode()
        if not line.startswith("account "):
            raise EOFError(f"the program said {line!r} and no account")
        return {k: int(v) for k, v in (word.split("=") for word in line.split()[1:])}

    def begin(self, ms, nap_us):
        self.process.stdin.write(b"run %d %d\n" % (ms, nap_us))
        self.process.stdin.flush()

    def end_round(self):
        self.account = self.read()

    def end(self):
        self.process.stdin.close()
        self.account = self.read()
        return self.process.wait(timeout=120)


class Viewers:
    """Look at the ledger all the time, as people would."""

    def __init__(self, ledger, env, pause_s):
        self.pause_s = pause_s
        self.commands = [
            ["report", ledger, "--json", "--top", "5"],
            ["ps", "--json"],
            ["report", ledger],
        ]
        self.env = env
        self.looks = 0
        self.problems = []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.stop.wait(self.pause_s):
            command = [os.fspath(SEEP), *self.commands[self.looks % len(self.commands)]]
            done = subprocess.run(command, env=self.env, capture_output=True, check=False)
            self.looks += 1
            if done.returncode != 0:
                self.problems.append(f"{command[1:]}: {done.stderr.decode(errors='replace')}")
            elif "--json" in command:
                json.loads(done.stdout)

    def end(self):
        self.stop.set()
        self.thread.join()


def status_bytes(pid, key):
    """A size in /proc/PID/status."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


def wait_for_ledger(folder, pid_of):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for path in folder.glob("soak_mill.*.ledger"):
            return path
        if pid_of.poll() is not None:
            break
        time.sleep(0.02)
    raise EOFError("no ledger came into being")


def read_state(ledger):
    """Real and private bytes and how many rows, by docs/internals/ledger.md."""
    with open(ledger, "rb") as file:
        file.seek(STATE_AT)
        state = file.read(4096)
    reserved, ready = struct.unpack_from("<QQ", state, 16 * TABLE_ROWS)
    real, = struct.unpack_from("<Q", state, 256)
    private, = struct.unpack_from("<Q", state, 344)
    return real, private, ready, min(reserved, ready)


def sums(report):
    """The figures of all stacks through the counted functions, and what else is live."""
    own = {"allocs": 0, "alloc_bytes": 0, "frees": 0, "freed_bytes": 0}
    other = 0
    frames = enumerate(report["frames"])
    sites = {i for i, frame in frames if (frame["function"] or "").startswith(SITES)}
    for context in report["contexts"]:
        if any(i in sites for i in context["frames"]):
            for key in own:
                own[key] += context[key]
        else:
            other += context["live_bytes"]
    return own, other


class Soak:
    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="seep-soak-"))
        shm = pathlib.Path("/dev/shm")
        base = shm if os.access(shm, os.W_OK) else None
        self.ledgers = pathlib.Path(tempfile.mkdtemp(prefix="seep-soak-", dir=base))
        self.recording = self.folder / "soak.seep"
        self.env = {**os.environ, "SEEP_DIR": str(self.ledgers)}
        self.looks = []
        self.marks = 0
        self.problems = []

    def say(self, text):
        print(text, flush=True)

    def problem(self, text):
        self.problems.append(text)
        self.say(f"PROBLEM: {text}")

    def start(self):
        command = [SEEP, "run", "-q", "-o", self.recording, "--", MILL]
        self.recorded = Mill(command, self.env)
        self.plain = Mill([MILL], os.environ)
        self.ledger = wait_for_ledger(self.ledgers, self.recorded.process)
        self.pid = int(self.ledger.name.split(".")[1])
        self.began = time.monotonic()
        self.viewers = Viewers(self.ledger, self.env, self.arguments.pause)

    def report(self, path):
        done = subprocess.run(
            [SEEP, "report", path, "--json"], env=self.env, capture_output=True, check=False
        )
        if done.returncode != 0:
            raise EOFError(done.stderr.decode(errors="replace"))
        return json.loads(done.stdout)

    def compare(self, report, when):
        """To the byte: everything that was ever counted, not only what is live."""
        own, other = sums(report)
        for key, value in own.items():
            if value != self.recorded.account[key]:
                self.problem(
                    f"{when}: {key} is {value}, the program says {self.recorded.account[key]}"
                )
        for key in ("dropped", "in_doubt", "unrecorded_children", "missed_frees"):
            if report["totals"][key]:
                self.problem(f"{when}: {key} is {report['totals'][key]}")
        return other

    def look(self):
        at = time.monotonic() - self.began
        report = self.report(self.ledger)
        other = self.compare(report, f"after {at:.0f} s")
        real, private, rows_ready, rows = read_state(self.ledger)
        self.looks.append(
            Look(
                at,
                real + private - rows_ready * ROW_BYTES,
                rows,
                status_bytes(self.pid, "VmRSS"),
                status_bytes(self.plain.process.pid, "VmRSS"),
                status_bytes(self.recorded.process.pid, "VmRSS"),
                max(0, status_bytes(self.pid, "VmPTE")
                    - status_bytes(self.plain.process.pid, "VmPTE")),
                other,
            )
        )

    def print_look(self):
        look, account = self.looks[-1], self.recorded.account
        live_blocks = account["allocs"] - account["frees"]
        live_bytes = account["alloc_bytes"] - account["freed_bytes"]
        self.say(
            f"{look.at_s:6.0f} s  {account['allocs']} allocs, {live_blocks} blocks live, "
            f"{live_bytes} bytes; {account['threads']} threads, {account['children']} forks, "
            f"{account['loads']} loads, {account['throws']} throws, {account['jumps']} jumps, "
            f"{self.marks} marks, {self.viewers.looks} views | own {look.own_bytes >> 10} KB, "
            f"{look.rows} rows, rss {look.rss_bytes >> 10} (plain {look.plain_rss_bytes >> 10}), "
            f"page tables {look.tables_bytes >> 10}, recorder {look.recorder_rss_bytes >> 10}, others' live {look.other_bytes}"
        )

    def mark(self):
        done = subprocess.run(
            [SEEP, "mark", self.ledger, f"minute {self.marks + 1}"], capture_output=True, check=False
        )
        if done.returncode == 0:
            self.marks += 1
        else:
            self.problem(f"no mark was set: status {done.returncode}")

    def work(self):
        arguments = self.arguments
        end = self.began + arguments.seconds
        next_line = 0.0
        while time.monotonic() < end:
            for mill in (self.recorded, self.plain):
                mill.begin(int(arguments.round * 1000), arguments.nap_us)
            for mill in (self.recorded, self.plain):
                mill.end_round()
            self.look()
            if time.monotonic() - self.began >= next_line:
                self.print_look()
                self.mark()
                next_line += arguments.line

    def warm_and_later(self, values):
        """The largest value of the warm-up, and the largest after it."""
        warm = max(1, int(len(values) * WARM_UP_SHARE))
        return max(values[: warm + 1]), max(values[warm:])

    def check_flat(self, what, values, share, slack):
        then, later = self.warm_and_later(values)
        self.say(f"{what}: {then >> 10} KB after the warm-up, at most {later >> 10} KB later")
        if later > then * (1 + share) + slack:
            self.problem(f"{what} grew from {then} to {later} bytes")

    def check_memory(self):
        if time.monotonic() - self.began >= OWN_FROM_S:
            self.check_own_memory()
        else:
            self.say(f"own memory: not judged before {OWN_FROM_S} s")
        tables = [k.tables_bytes for k in self.looks]
        self.check_flat("page tables beyond plain", tables, TABLES_SHARE, TABLES_SLACK_BYTES)
        recorder = [k.recorder_rss_bytes for k in self.looks]
        self.check_flat("recorder", recorder, RSS_SHARE, 1 << 20)

    def check_own_memory(self):
        then, later = self.warm_and_later([k.plain_rss_bytes for k in self.looks])
        slack = OWN_SLACK_BYTES + int((later - then) * OWN_OF_PLAIN)
        self.check_flat("own memory", [k.own_bytes for k in self.looks], OWN_SHARE, slack)
        self.check_flat(
            "resident beyond plain",
            [max(0, k.rss_bytes - k.plain_rss_bytes) for k in self.looks],
            RSS_SHARE,
            RSS_SLACK_BYTES,
        )

    def check_recording(self):
        report = self.report(self.recording)
        self.compare(report, "in the recording")
        account, forked = self.recorded.account, report["forked"]
        want = {
            "processes": account["children"],
            "allocs": account["children"] * account["child_allocs"],
            "frees": account["children"] * account["child_frees"],
        }
        for key, value in want.items():
            if forked[key] != value:
                self.problem(f"forked {key} is {forked[key]}, the program says {value}")
        left = list(self.ledgers.glob("*.ledger"))
        if left:
            self.problem(f"{len(left)} ledgers are left")

    def finish(self):
        self.viewers.end()
        for problem in self.viewers.problems[:10]:
            self.problem(problem)
        for name, mill in (("recorded", self.recorded), ("plain", self.plain)):
            status = mill.end()
            if status != 0:
                self.problem(f"the {name} program ended with {status}")
        self.check_recording()
        self.check_memory()

    def clean(self):
        for mill in ("recorded", "plain"):
            process = getattr(self, mill, None)
            if process and process.process.poll() is None:
                process.process.kill()
        shutil.rmtree(self.ledgers, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", nargs="?", type=float, default=3600)
    parser.add_argument("--round", type=float, default=10, help="seconds of work between looks")
    parser.add_argument("--line", type=float, default=60, help="seconds between lines and marks")
    parser.add_argument("--nap-us", type=int, default=5000, help="how much the program idles")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between two views")
    soak = Soak(parser.parse_args())
    try:
        soak.start()
        soak.work()
        soak.finish()
    except (EOFError, OSError, subprocess.SubprocessError) as error:
        soak.problem(f"it broke off: {error}")
    finally:
        soak.clean()
    found = len(soak.problems)
    print(f"soak: {len(soak.looks)} comparisons, " + (f"{found} PROBLEMS" if found else "no drift"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
