# SPDX-License-Identifier: MIT
"""`seep check-heap`: what is damaged in a process that goes on running, from outside."""

import contextlib
import json
import os
import re
import subprocess

import pytest

from harness import LIMIT_S, SCHEMA, SEEP, need, program
from json_schema import Validator
from running import launch
from test_guards import findings

EVERYTHING = [
    # kind, offset in the block, its size, how often, the function that allocated it, that freed it
    ("rear-guard", 100, 100, 3, "everything", "nobody"),
    ("front-guard", -16, 100, 1, "everything", "nobody"),
    ("front-guard", -1, 100, 1, "everything", "nobody"),
    ("rear-guard", 1000000, 1000000, 1, "everything", "nobody"),
    ("use-after-free", 50, 100, 1, "use_after_free", "use_after_free"),
]


@contextlib.contextmanager
def waiting(seep, case, options, **how):
    """guards, which has done that and waits."""
    env = {"SEEP_OPTIONS": options}
    with launch(seep, program("guards"), case, "wait", env=env, **how) as process:
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.stdin.close()
        assert process.wait(timeout=LIMIT_S) == 0


def look(seep, process):
    done = seep.command("check-heap", "--json", str(process.pid))
    document = json.loads(done.stdout)
    assert list(Validator(SCHEMA, closed=True).check(document, SCHEMA["$defs"]["check_heap"], "$")) == []
    assert done.status == (1 if document["findings"] else 0) and not done.stderr, done
    return document


@pytest.mark.fast
@pytest.mark.parametrize("options", ["guard=16", "guard=16:guarded_sample=1000:fill_free=7"])
def test_all_that_is_damaged_is_found_and_the_process_goes_on(seep, options):
    with waiting(seep, "everything", options) as process:
        for _ in range(3):
            document = look(seep, process)
            assert document["live_blocks"] >= 6 and document["waiting_blocks"] >= 1
            found = [(f["kind"], f["block"]["offset"], f["block"]["size"], f["count"], f["alloc_frames"][0],
                      (f["free_frames"] or ["nobody"])[0]) for f in findings(document)]
            assert sorted(found, key=str) == sorted(EVERYTHING, key=str)
            assert all(f["here_frames"] == [] for f in document["findings"])


@pytest.mark.fast
def test_people_read_the_same(seep):
    with waiting(seep, "everything", "guard=16") as process:
        done = seep.command("check-heap", "guards")
        text = done.stdout.decode()
        assert done.status == 1 and text.startswith(f"guards (pid {process.pid})")
        assert "Heap errors: 5 of 5" in text and "1. rear-guard, 3 times: memory was written right behind a" in text
        assert re.search(r"\nLooked at \d+ live blocks and \d+ that wait in [\d.]+ (ms|µs|s)\n$", text), text


@pytest.mark.parametrize("options, looks", [
    ("guard=16:quarantine=0", 50), ("guard=16", 10), ("guard=48:quarantine=65536", 10), ("quarantine=65536", 10),
    ("guard=16:guarded_sample=50", 10)])
def test_a_busy_program_that_is_right_has_no_finding(seep, options, looks):
    with waiting(seep, "busy", options) as process:
        for _ in range(looks):
            document = look(seep, process)
            assert document["findings"] == []
            assert document["live_blocks"] > 0


def test_damage_is_found_while_other_threads_are_busy(seep):
    with waiting(seep, "busy_and_wrong", "guard=16:quarantine=0") as process:
        for _ in range(10):
            assert [f["kind"] for f in look(seep, process)["findings"]] == ["rear-guard"]


@pytest.mark.fast
def test_nothing_in_the_process_changes(seep):
    """Neither is it stopped, nor is a word in it written."""
    strace = need("strace")
    with waiting(seep, "everything", "guard=16") as process:
        calls = seep.directory / "calls"
        done = subprocess.run([strace, "-f", "-o", calls, "-e", "trace=ptrace,process_vm_writev,open,openat",
                               need("env"), f"SEEP_DIR={seep.ledger_dir}", SEEP, "check-heap", str(process.pid)],
                              stdout=subprocess.PIPE, check=False, timeout=LIMIT_S)
        assert done.returncode == 1
        assert not re.search(r"ptrace\(|process_vm_writev\(|/mem\".*O_RDWR|ledger\".*O_RDWR", calls.read_text())


@pytest.mark.fast
def test_who_cannot_be_looked_at_is_said(seep):
    with waiting(seep, "everything", "fill=250") as process:
        done = seep.command("check-heap", str(process.pid))
        assert done.status == 2 and done.stdout == b""
        assert b"was not started with guards; start it with \"seep run --guard\"" in done.stderr
    done = seep.command("check-heap", str(process.pid))
    assert done.status == 2 and f"process {process.pid} has ended".encode() in done.stderr
    done = seep.command("check-heap", "nosuch")
    assert done.status == 2 and b"no process that is recorded is called nosuch" in done.stderr


def test_a_process_of_another_user_is_named_as_that(seep):
    if os.geteuid() != 0:
        pytest.skip("needs root to run as another user")
    with subprocess.Popen(["sleep", "1000"], user=65534) as other:
        done = seep.command("check-heap", str(other.pid))
        other.kill()
    assert done.status == 2 and b"runs as user 65534: run seep as that user" in done.stderr


def test_a_forked_child_is_looked_at_with_what_it_inherited(seep):
    with waiting(seep, "child_waits", "guard=16") as process:
        (child,) = open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii").read().split()
        done = seep.command("check-heap", "--json", child)
        found = [(f["kind"], f["alloc_frames"]) for f in findings(json.loads(done.stdout))]
        assert done.status == 1
        assert [kind for kind, _ in found] == ["rear-guard"] * len(found) and len(found) == 2
        assert sum("child_waits" in frames for _, frames in found) == 1  # the other one is its parent's
