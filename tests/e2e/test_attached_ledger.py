# SPDX-License-Identifier: MIT
"""What is said of a ledger that was made when its process had run for a while, and left while it goes on.

The runtime's part is played here, but for scopes: two words are written into the ledger of a running process.
"""

import os
import re
import shutil
import struct

import pytest

from attach_target import attach, detach, target
from harness import LIMIT_S, RUNTIME, by_path, program
from running import PYTHON, launch, watched

ORIGIN = (116, 2)  # offset in the file, LEDGER_ORIGIN_ATTACH
ENDED = (2 * 4096 + 268, 4)  # LEDGER_ENDED_DETACH
LEFT = "is not recorded any more: it was detached from"
KEEP = "import sys; kept = bytearray(3_000_000); print('ready', flush=True); sys.stdin.read()"


def write_word(ledger, place):
    with open(ledger, "r+b", buffering=0) as file:
        file.seek(place[0])
        file.write(struct.pack("<I", place[1]))


@pytest.fixture
def attached(seep):
    """A process, and its ledger."""
    process = launch(seep, PYTHON, "-c", KEEP)
    assert process.stdout.readline() == b"ready\n"
    (entry,) = watched(seep, "running")
    write_word(entry["ledger"], ORIGIN)
    yield process, entry["ledger"]
    process.communicate(timeout=LIMIT_S)


def report(seep, *words):
    done = seep.command("report", *words, cwd=seep.directory)
    assert done.status == 0, done.stderr.decode()
    return done.stdout.decode()


def test_a_report_says_when_it_was_attached_to_and_what_it_lacks(seep, attached):
    process, ledger = attached
    first, *rest = report(seep, ledger).splitlines()
    assert re.search(r"\(pid \d+\), attached to at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, "
                     r"after it had run for [\d.]+ ms, still running", first)  # fmt: skip
    assert any(line.startswith("Not seen: it had run for ") for line in rest)
    document = seep.load(ledger, cwd=seep.directory)
    assert document["process"]["origin"] == "attach"
    assert 0 < document["process"]["ran_before_ns"] < 60e9
    assert [u["code"] for u in document["unseen"]].count("attached") == 1
    top = seep.command("top", "--once", str(process.pid))
    assert top.status == 0 and b"it had run for " in top.stdout
    assert watched(seep, "running"), "it is as any other that runs"


def test_what_was_detached_from_is_read_and_saved_though_its_process_runs(seep, attached):
    process, ledger = attached
    write_word(ledger, ENDED)
    (entry,) = watched(seep, "detached")
    assert entry["here_pid"] == 0
    assert report(seep, ledger).splitlines()[0].endswith("s, detached")
    assert "bytes live when it was detached from" in report(seep, ledger)
    assert " left behind, " in seep.command("ps").stdout.decode()
    saved = seep.command("save", "-o", "kept.seep", str(process.pid), cwd=seep.directory)
    assert saved.status == 0 and b"the recording replaces the ledger" in saved.stderr
    assert not os.path.exists(ledger) and process.poll() is None
    document = seep.load("kept.seep", cwd=seep.directory)
    assert document["process"]["ended"] == "detached"
    assert document["process"]["status"] is None
    assert document["totals"]["live_bytes"] > 3_000_000


@pytest.mark.parametrize("words", [["top", "--once"], ["mark"], ["mode"], ["snapshot"],
                                   ["check-heap"]])  # fmt: skip
def test_what_needs_a_recorded_process_says_that_it_was_detached_from(seep, attached, words):
    process, ledger = attached
    write_word(ledger, ENDED)
    more = {"mark": ["here"], "mode": ["all"]}.get(words[0], [])
    done = seep.command(*words, str(process.pid), *more, cwd=seep.directory)
    assert done.status != 0 and done.stdout == b""
    assert LEFT in done.stderr.decode()


def test_nobody_looks_for_leaks_of_what_was_detached_from(seep, attached):
    process, ledger = attached
    write_word(ledger, ENDED)
    done = seep.command("leaks", str(process.pid))
    assert done.status == 2
    assert f"not scanned for leaks: the process {LEFT}" in done.stderr.decode()


def test_of_several_ledgers_of_a_process_the_one_that_is_written_is_meant(seep, attached):
    process, ledger = attached
    old = re.sub(r"\.(\d+)\.ledger$", lambda m: f".{int(m[1]) + 7}.ledger", ledger)
    shutil.copy(ledger, old)
    write_word(old, ENDED)
    assert {e["state"] for e in watched(seep)} == {"running", "detached"}
    done = seep.command("mark", str(process.pid), "here")
    assert done.status == 0, done.stderr.decode()
    assert seep.command("ps", "--reap").status == 0
    assert [e["ledger"] for e in watched(seep)] == [ledger]


# What attach_scopes does, and by path of tags: entries, active, allocations, blocks held, frees of its
# own and of others' blocks. "keep" allocates twice and frees once. Of scopes that are open when it is
# attached to nothing is known, as nobody has seen it.
SINCE = {
    "nested": ("ATTACH request keep parse keep leave drop leave keep",
               {"request": (1, 0, 2, 1, 1, 1), "request/parse": (1, 0, 2, 0, 1, 0)}),
    "open": ("ATTACH request keep parse", {"request": (1, 1, 2, 1, 1, 0), "request/parse": (1, 1, 0, 0, 0, 0)}),
    "held": ("ATTACH job keep suspend keep resume keep finish keep", {"job": (1, 0, 4, 2, 2, 0)}),
    "held within": ("ATTACH request job keep leave keep finish keep",
                    {"request": (1, 0, 0, 0, 0, 0), "request/job": (1, 0, 4, 2, 2, 0)}),
    "thread": ("ATTACH thread thread", {"thread": (2, 0, 4, 2, 2, 0)}),
}  # fmt: skip
BEFORE = {
    "open before": ("request keep ATTACH keep parse keep leave leave request keep leave",
                    {"parse": (1, 0, 2, 1, 1, 0), "request": (1, 0, 2, 1, 1, 0)}),
    "held before": ("job ATTACH keep suspend resume keep finish request keep leave",
                    {"request": (1, 0, 2, 1, 1, 0)}),
    "again": ("ATTACH request keep leave DETACH request keep leave ATTACH request keep leave",
              {"request": (1, 0, 2, 1, 1, 0)}),
    "open all the time": ("ATTACH request keep DETACH ATTACH keep parse keep leave leave request keep leave",
                          {"parse": (1, 0, 2, 1, 1, 0), "request": (1, 0, 2, 1, 1, 0)}),
    "left meanwhile": ("ATTACH request parse keep DETACH leave leave ATTACH keep parse keep leave keep",
                       {"parse": (1, 0, 2, 1, 1, 0)}),
    "entered meanwhile": ("ATTACH DETACH request keep ATTACH keep parse keep leave leave keep",
                          {"parse": (1, 0, 2, 1, 1, 0)}),
    "held all the time": ("ATTACH job keep DETACH ATTACH keep finish keep request keep leave",
                          {"request": (1, 0, 2, 1, 1, 0)}),
    "suspended meanwhile": ("ATTACH job keep DETACH suspend ATTACH keep resume keep finish keep", {}),
    "suspended all the time": ("ATTACH job keep suspend DETACH ATTACH resume keep finish request keep leave",
                               {"request": (1, 0, 2, 1, 1, 0)}),
    "held anew": ("ATTACH job keep suspend DETACH ATTACH job keep finish keep", {"job": (1, 0, 2, 1, 1, 0)}),
    "thread again": ("ATTACH thread DETACH thread ATTACH thread", {"thread": (1, 0, 2, 1, 1, 0)}),
}  # fmt: skip
FIGURES = ("entries", "active", "allocs", "held_blocks", "own_frees", "foreign_frees")


def scopes_after(seep, words, **how):
    with target(program("attach_scopes"), **how) as process:
        for word in words:
            if word == "ATTACH":
                assert attach(seep, process.pid).attached
            elif word == "DETACH":
                detach(seep, process.pid)
            else:
                process.ask(word)
        scopes = by_path(seep.load(str(process.pid)))
        found = {"/".join(path): tuple(scope[f] for f in FIGURES) for path, scope in scopes.items()}
        # Those of a ledger that was left stand in the next one with nothing in them.
        return {path: figures for path, figures in found.items() if any(figures)}


@pytest.mark.parametrize("case", SINCE)
def test_scopes_since_an_attach_are_counted_as_in_a_launched_process(seep, case):
    words, expected = SINCE[case]
    words = words.split()
    launched = scopes_after(seep, words[1:], env={**seep.environment(), "LD_PRELOAD": str(RUNTIME)})
    assert launched == expected
    assert scopes_after(seep, words) == expected


@pytest.mark.parametrize("case", BEFORE)
def test_scopes_that_were_entered_before_an_attach_are_nobodys(seep, case):
    words, expected = BEFORE[case]
    assert scopes_after(seep, words.split()) == expected
