# SPDX-License-Identifier: MIT
"""Processes that seep attaches to, attempts at it, and what is counted of these; for tests and soak."""

import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import select
import statistics
import subprocess
import time

from harness import LIMIT_S, parse_truth

# Which share of attempts has to succeed within a second. Who does nothing but load and unload
# libraries in its only thread is hardly ever at a place where anything may be done in it.
SHARE, SHARE_LOADING = 0.98, 0.80
WITHIN_S = 1.0

# Longer than a target takes for an answer, however busy the machine is.
ANSWER_S = 30


def children_of(pid):
    with contextlib.suppress(OSError):
        return [int(c) for c in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def state_of(pid):
    """R, S, D, T (stopped), t (traced), Z; None when there is none."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return None


class Target:
    """A program that talks as tests/programs/attach_talk.h says; `words` are before its command."""

    def __init__(self, *command, words=(), env=None, **how):
        command = [os.fspath(word) for word in command]
        self.process = subprocess.Popen(
            [*map(os.fspath, words), *command], bufsize=0, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(env or {})}, **how)
        self.name = os.path.basename(command[0])
        self.unread = b""
        self.last = None
        line = self.line()
        if line != "ready":
            self.process.kill()
            raise EOFError(f"{command} said {line!r}: {self.finish()}")
        self.pid = self.process.pid
        # Behind chroot and unshare it may be a child, and has their pid otherwise.
        while children_of(self.pid) and self.comm() != self.name[:15]:
            (self.pid,) = children_of(self.pid)

    def comm(self):
        return pathlib.Path(f"/proc/{self.pid}/comm").read_text().strip()

    def send(self, line):
        try:
            self.process.stdin.write(f"{line}\n".encode())
        except BrokenPipeError:
            raise AssertionError(f"it has ended: {self.finish()}") from None

    def line(self):
        """The next line that it prints, None at the end; it has half a minute."""
        end = time.monotonic() + ANSWER_S
        while b"\n" not in self.unread:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            assert ready, f"{self.name} is silent, in state {state_of(self.pid)}"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                return None
            self.unread += data
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode()

    def ask(self, line):
        """Its answer, which has to come."""
        self.send(line)
        found = []
        while (answer := self.line()) != ".":
            assert answer is not None, f"it ended: {self.finish()}"
            found.append(answer)
        return "\n".join(found)

    def truth(self):
        """What it says of itself after another round of work."""
        return parse_truth(self.ask("round"))

    def notes(self):
        return {k: int(v) for word in self.ask("round").split()[1:] for k, v in [word.split("=")]}

    def finish(self):
        """Its status and last words."""
        if not self.last:
            out, err = self.process.communicate(timeout=LIMIT_S)
            self.last = (self.unread + out).decode(), err.decode()
        return self.process.returncode, *self.last

    def end(self):
        """It lives, and has found nothing wrong with itself; its last words."""
        status, out, err = self.finish()
        assert (status, err) == (0, ""), (status, out, err)
        assert out.splitlines()[-1] == "ok", out
        return out

    def close(self):
        """After a failure nothing stays behind."""
        if self.process.poll() is None:
            with contextlib.suppress(OSError):
                os.kill(self.pid, 9)
            self.process.kill()
            self.process.communicate()


@contextlib.contextmanager
def target(*command, **how):
    """A Target that has to end well if the test does."""
    made = Target(*command, **how)
    try:
        yield made
        made.end()
    finally:
        made.close()


@dataclasses.dataclass
class Attempt:
    """One `seep attach`: whether it attached, and what it said."""

    attached: bool
    wall_s: float
    stopped_ns: int
    reason: str
    status: int
    longest_ns: int = 0  # the longest stop of one thread

    def in_time(self):
        return self.attached and self.wall_s <= WITHIN_S


def attach(seep, pid, *options):
    began = time.monotonic()
    done = seep.command("attach", "--json", *options, str(pid))
    wall_s = time.monotonic() - began
    return read_attempt(done, pid, wall_s)


def read_attempt(done, pid, wall_s=0.0):
    """Status, document and message say the same."""
    said = done.stderr.decode()
    assert done.status in (0, 2), (done.status, said)
    if not done.stdout:
        assert done.status != 0 and said.startswith("seep attach: "), said
        return Attempt(False, wall_s, 0, said.removeprefix("seep attach: ").strip(), done.status)
    told = json.loads(done.stdout)
    assert told["attached"] == (done.status == 0), (told, said)
    assert told["pid"] == pid
    if not told["attached"]:
        assert said.startswith("seep attach: "), said
    return Attempt(told["attached"], wall_s, told["stopped_ns"], told["reason"] or "", done.status,
                   told["longest_stop_ns"])


def is_recorded(seep, pid):
    """Whether `seep ps` lists the running process, wherever its ledger is."""
    done = seep.command("ps", "--json")
    assert done.status == 0, done.stderr.decode()
    return any(p["pid"] == pid and p["state"] in ("running", "recorded")
               for p in json.loads(done.stdout)["processes"])


def holdings(pid):
    """Its descriptors, by what they lead to, and how many mappings it has."""
    folder = pathlib.Path(f"/proc/{pid}/fd")
    files = sorted(os.readlink(path) for path in folder.iterdir())
    return files, len(pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines())


def told_why(attempt):
    """Nothing was done to the target, and a sentence says why."""
    assert not attempt.attached
    assert len(attempt.reason.split()) >= 4, attempt
    return attempt.reason


def detach(seep, pid, *options):
    # On a machine short of processors its threads may hardly run within a second.
    done = seep.command("detach", "--deadline", "10s", *options, str(pid))
    assert done.status == 0, done.stderr.decode()
    return done


class Tally:
    """Attempts at one target."""

    def __init__(self, name):
        self.name = name
        self.attempts = []

    def add(self, attempt):
        self.attempts.append(attempt)
        return attempt.attached

    def in_time(self):
        return sum(a.in_time() for a in self.attempts)

    def reasons(self):
        """Refusals by reason, without what differs from one to the next."""
        words = (" ".join("N" if any(map(str.isdigit, w)) else w for w in a.reason.split())
                 for a in self.attempts if not a.attached)
        return collections.Counter(words)

    def late(self):
        return sum(a.attached and not a.in_time() for a in self.attempts)

    def stops_ms(self):
        """Of all threads together."""
        return [a.stopped_ns / 1e6 for a in self.attempts if a.attached]

    def longest_ms(self):
        """The longest stop of one thread, of each."""
        return [a.longest_ns / 1e6 for a in self.attempts if a.attached]

    def text(self):
        stops = self.stops_ms()
        line = f"{self.name}: {self.in_time()} of {len(self.attempts)} attached within {WITHIN_S:g} s"
        if stops:
            line += f", stopped for {statistics.median(stops):.2f} ms, {max(stops):.2f} at most"
        if self.late():
            line += f"; {self.late()} later"
        return line + "".join(f"; {n} refused: {why}" for why, n in self.reasons().items())

    def check(self, share=SHARE):
        """One may miss by chance: 20 rounds cannot show 98 %."""
        print(self.text())
        assert self.in_time() >= share * len(self.attempts) - 1, self.text()


def check_sums(report):
    """The parts make the whole, and what lives is what was allocated and not freed."""
    totals = report["totals"]
    for key in ("allocs", "alloc_bytes", "frees", "freed_bytes", "live_blocks", "live_bytes"):
        assert totals[key] == sum(c[key] for c in report["contexts"]), key
    for sums in (totals, *report["contexts"]):
        assert sums["live_blocks"] == sums["allocs"] - sums["frees"] >= 0
        assert sums["live_bytes"] == sums["alloc_bytes"] - sums["freed_bytes"] >= 0
    assert totals["dropped"] == 0


def rounds(seep, process, count, during=None):
    """Attach and detach again and again; what is recorded in between is consistent."""
    tally = Tally(process.name)
    for number in range(count):
        path = seep.directory / f"round-{number}.seep"
        if tally.add(attach(seep, process.pid, "--deadline", "1s")):
            if during:
                during(number)
            detach(seep, process.pid, "-o", path)
            check_sums(seep.load(path))
            path.unlink()
    return tally
