# SPDX-License-Identifier: MIT
"""What the tests of `seep top` share: programs that do what they are told while they are watched."""

import contextlib
import json
import subprocess

from harness import LIMIT_S, SCHEMA, program
from json_schema import Validator
from running import launch, start, wait_until, watched

# Readings that are judged soon.
QUICK = ("--interval", "100ms", "--growth-after", "2s")


class Told:
    """A recorded program that reads lines and answers; without a recorder unless asked for."""

    def __init__(self, seep, name, recorder=False, path=None, cwd=None):
        command = path or program(name)
        self.seep = seep
        self.process = (start(seep, [command], stdin=subprocess.PIPE, cwd=cwd) if recorder
                        else launch(seep, command, cwd=cwd))
        self.answer()

    @property
    def pid(self):
        return str(self.process.pid)

    def answer(self):
        return self.process.stdout.readline().decode()

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.answer()

    def ledger(self):
        """The path and pid of the ledger that it has now."""
        entries = wait_until(lambda: watched(self.seep, "running") or
                             watched(self.seep, "recorded"), "its ledger")
        return entries[0]["ledger"], entries[0]["pid"]

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode


@contextlib.contextmanager
def told(seep, name, **how):
    target = Told(seep, name, **how)
    try:
        yield target
    finally:
        target.process.kill()
        target.process.communicate(timeout=LIMIT_S)


def top_json(seep, *words):
    """What --once --json says, checked against its schema."""
    done = seep.command("top", "--once", "--json", *words)
    assert done.status == 0, done.stderr.decode()
    document = json.loads(done.stdout)
    assert list(Validator(SCHEMA, closed=True).check(document, SCHEMA["$defs"]["top"], "$")) == []
    for context in document["contexts"]:
        frames = document["frames"]
        context["blamed"] = None if context["blamed"] is None else frames[context["blamed"]]
        context["frames"] = [frames[i] for i in context["frames"]]
    return document


def blamed(document, function):
    """The contexts that lines of text give this name."""
    return [c for c in document["contexts"] if (c["blamed"] or {}).get("function") == function]
