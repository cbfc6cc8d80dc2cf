# SPDX-License-Identifier: MIT
"""What the tests of running programs share: start one in the background or on a terminal, and wait
for what it does.
"""

import contextlib
import json
import os
import pty
import subprocess
import time

import pytest

from harness import LIMIT_S, RUNTIME, SCHEMA, SEEP, need, program, run_plain
from json_schema import Validator

PYTHON = "/usr/bin/python3"
TRUE = "/bin/true"


# Waits for a signal, names it and ends with 40 + its number. os.write, because the signal may come
# while "ready" is on its way: a print in the handler may not re-enter a buffered print.
CATCH = r"""
import os, signal, sys, time
def end(number, frame):
    os.write(1, b"caught %d\n" % number)
    sys.exit(40 + number)
for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1):
    signal.signal(n, end)
os.write(1, b"ready\n")
while True:
    time.sleep(60)
"""


def apart(*more):
    """The words before a command that give it mounts of its own, and what `more` names for unshare.

    Without the right to that, the test is skipped with what unshare says.
    """
    words = [need("unshare"), "--mount", *more]
    # In a chroot whose root is no mount point the root's propagation cannot be set.
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        if not any(line.split()[4] == "/" for line in mounts):
            words[2:2] = ["--propagation", "unchanged"]
    tried = run_plain([*words, "true"])
    if tried.status != 0:
        pytest.skip(tried.stderr.decode().strip())
    return words


def start(seep, command, *options, env=None, **how):
    """Begin a run in the background; the caller waits for it."""
    words = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", *options, "--", *command]
    return subprocess.Popen(
        [os.fspath(word) for word in words],
        env={**os.environ, **seep.environment(env)},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how},
    )


def launch(seep, *command, env=None, **how):
    """Begin a program with the library and without a recorder; the caller waits for it."""
    return subprocess.Popen(
        [os.fspath(word) for word in command],
        env={**os.environ, **seep.environment({"LD_PRELOAD": str(RUNTIME), **(env or {})})},
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **how},
    )


def finish(process):
    out, err = process.communicate(timeout=LIMIT_S)
    return process.returncode, out, err


def wait_until(condition, what):
    """Poll for something that has no event to wait for; fail if it never comes. What is awaited is a
    text, or a function that makes one in the end."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    pytest.fail(f"waited in vain for {what() if callable(what) else what}")


def watched(seep, state=None):
    """The processes that `seep ps` lists from this test's folder, without those of other users of
    this machine and of other builds, which it finds in the usual folders."""
    done = seep.command("ps", "--json")
    assert done.status == 0
    document = json.loads(done.stdout)
    ours = [p for p in document["processes"] if p["ledger"].startswith(f"{seep.ledger_dir}/")]
    schema = Validator(SCHEMA, closed=True)
    document["processes"] = ours
    assert list(schema.check(document, SCHEMA["$defs"]["ps"], "$")) == []
    return [p for p in ours if state is None or p["state"] == state]


def ledger_of(seep, pid):
    return next(p["ledger"] for p in watched(seep) if p["pid"] == pid)


class Terminal:
    """A session on a pseudo terminal, with a process group in its foreground."""

    def __init__(self, words, env):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.execve(os.fspath(words[0]), [os.fspath(w) for w in words], env)
        self.pid = pid

    def read_until(self, text):
        data = b""
        while text not in data:
            data += os.read(self.fd, 4096)
        return data

    def drain(self):
        data = b""
        with contextlib.suppress(OSError):
            while chunk := os.read(self.fd, 4096):
                data += chunk
        return data

    def wait(self, flags=0):
        _, status = os.waitpid(self.pid, flags)
        return status


def on_terminal(seep, columns, *words, env=None):
    """What seep prints on a terminal of so many columns."""
    leader, follower = os.openpty()
    try:
        subprocess.run(["stty", "cols", str(columns), "rows", "24"], stdin=follower, check=True)
        child = subprocess.Popen(
            [os.fspath(word) for word in (SEEP, *words)],
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=subprocess.PIPE,
            env={**os.environ, **seep.environment(env)},
        )
        os.close(follower)
        text = b""
        with contextlib.suppress(OSError):  # the other side is closed
            while part := os.read(leader, 65536):
                text += part
        assert child.wait(timeout=LIMIT_S) == 0
        child.stderr.close()
    finally:
        os.close(leader)
    return text.decode().replace("\r\n", "\n")


class Steps:
    """tests/programs/mark_steps, which does what it is told and knows what it holds."""

    def __init__(self, seep, env=None):
        self.process = launch(seep, program("mark_steps"), env=env, text=True)
        self.pid = self.process.pid
        self.do("- keep_a 0")  # It has begun, and has a ledger.

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def do(self, *lines):
        for line in lines:
            assert self.ask(line) == "ok", line

    def mark(self, name):
        assert self.ask(f"! {name}") == "0"

    def list(self, line):
        found = [self.ask(line).split()]
        while found[-1] != ["."]:
            found.append(self.process.stdout.readline().split())
        return found[:-1]

    def held(self, first, last=0):
        """What it says itself of what lives between two of its marks: blocks and bytes by site."""
        return {site: (int(n), int(size)) for site, n, size in self.list(f"? {first} {last}")}

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=LIMIT_S) == 0
        self.process.stdout.close()
