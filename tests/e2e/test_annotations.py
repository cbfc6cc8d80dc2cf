# SPDX-License-Identifier: MIT
"""What programs say of their blocks, in LeakSanitizer's words and in those of seep.h, is recorded."""

import os
import struct
import subprocess

import pytest

from harness import LIMIT_S, SEEP, program

NOT_SCANNED = b"seep: no recorder follows this process: not scanned\n"


def run(seep, name, *arguments, options=""):
    env = {"LD_PRELOAD": str(SEEP.parent / "libseep.so"), "SEEP_DIR": str(seep.ledger_dir)}
    return subprocess.run(
        [program(name), *arguments],
        env={**os.environ, **env, "SEEP_OPTIONS": "exit_wait_ms=100" + options},
        capture_output=True,
        timeout=LIMIT_S,
    )


@pytest.mark.fast
def test_marks_reach_the_page_map_and_a_report_needs_a_recorder(seep):
    done = run(seep, "own_words")
    assert done.stdout == b"failures 0\n"
    assert done.stderr == NOT_SCANNED
    assert done.returncode == 0


def test_a_recorder_is_asked_and_waited_for(seep):
    done = run(seep, "own_words", "ask")
    assert done.stdout == b"failures 0\n" * 2
    assert done.stderr == b""
    assert done.returncode == 0


def test_a_check_ends_the_program_if_it_was_told_to(seep):
    done = run(seep, "own_words", "ask", options=":leak_exitcode=9")
    assert done.stdout == b"failures 0\n"
    assert done.returncode == 9


def test_without_the_library_nothing_happens():
    done = subprocess.run([program("own_words")], capture_output=True, timeout=LIMIT_S)
    assert done.stdout == b"no library, failures 0\n"
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_programs_suppressions_are_in_the_ledger(seep):
    run(seep, "own_words")
    ledgers = [p.read_bytes() for p in seep.ledger_dir.glob("own_words.*")]
    # Its child's names it as parent.
    (ledger,) = (data for data in ledgers if not data[504])
    offset, length = struct.unpack_from("II", ledger, 8192 + 664)
    (strings,) = struct.unpack_from("Q", ledger, 120 + 6 * 24 + 8)
    assert ledger[strings + offset :][:length] == b"leak:made_to_be_lost\n"
