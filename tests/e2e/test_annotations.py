# SPDX-License-Identifier: MIT
"""What programs say of their blocks, in LeakSanitizer's words and in those of seep.h, is recorded."""

import os
import re
import shutil
import struct
import subprocess

import pytest

from harness import LIMIT_S, SEEP, program

LIBRARY = SEEP.parent / "libseep.so"
NOT_FOUND = "the program seep is neither beside libseep.so nor in ../../bin or ../../../bin"


def run(seep, name, *arguments, options="", library=None, directory=None):
    """Without a recorder; by default where the library finds no seep, either."""
    if library is None:
        library = seep.directory / "alone" / "a" / "b" / "libseep.so"
        library.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(LIBRARY, library)
    env = {"LD_PRELOAD": str(library), "SEEP_DIR": str(directory or seep.ledger_dir)}
    return subprocess.run(
        [program(name), *arguments],
        env={**os.environ, **env, "SEEP_OPTIONS": "exit_wait_ms=100" + options},
        cwd=seep.ledger_dir.parent if directory else None,
        capture_output=True,
        timeout=LIMIT_S,
    )


@pytest.mark.fast
def test_marks_reach_the_page_map_and_a_report_needs_the_tool(seep):
    done = run(seep, "own_words")
    assert done.stdout == b"failures 0\n"
    assert done.stderr.decode() == f"seep: not scanned for leaks: {NOT_FOUND}\n"
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
    ledgers = [p.read_bytes() for p in seep.ledger_dir.glob("own_words.*.ledger")]
    # Its child's names it as parent.
    (ledger,) = (data for data in ledgers if not data[504])
    offset, length = struct.unpack_from("II", ledger, 8192 + 520)
    (strings,) = struct.unpack_from("Q", ledger, 120 + 6 * 24 + 8)
    assert ledger[strings + offset :][:length] == b"leak:made_to_be_lost\n"


UNNOTICED = "SIGCHLD 0, wait -1 no child\n"
FOUND = "found 1, errno 77, signals as before\n"
NONE_FOUND = FOUND.replace("found 1", "found 0")


def leaks_in(text):
    return re.findall(r"^  [ \d]+\. .*\n(?:     .*\n)+", text, re.M)


@pytest.mark.fast
def test_without_a_recorder_the_same_leaks_are_found_and_nobody_is_noticed(seep):
    alone = run(seep, "checks_itself", library=LIBRARY)
    recorded, _ = seep.run([program("checks_itself")])
    assert alone.stdout.decode() == FOUND + UNNOTICED == recorded.stdout.decode()
    (leak,) = leaks_in(alone.stderr.decode())
    assert leaks_in(recorded.stderr.decode())[:1] == [leak]
    assert "LOST: 1.3 KB in 1 block, malloc" in leak and "lose" in leak


def test_a_small_forked_child_finds_its_leaks(seep):
    alone = run(seep, "checks_itself", "forked", library=LIBRARY)
    recorded, _ = seep.run([program("checks_itself"), "forked"])
    for done in (alone.stdout, alone.stderr), (recorded.stdout, recorded.stderr):
        assert done[0].decode() == FOUND + UNNOTICED
        assert "LOST: 1.3 KB in 1 block" in leaks_in(done[1].decode())[0]


def test_a_program_that_asks_all_the_time_is_answered_each_time(seep):
    recorded, _ = seep.run([program("checks_itself"), "often"])
    assert recorded.stdout.decode() == FOUND + UNNOTICED
    assert len(leaks_in(recorded.stderr.decode())) >= 41


def test_without_a_recorder_threads_check_in_turns(seep):
    done = run(seep, "checks_itself", "threads", library=LIBRARY)
    assert done.stdout.decode() == FOUND * 4 + UNNOTICED
    reports = done.stderr.decode().split("still running")[1:]
    assert ["5.2 KB in 4 blocks" in report for report in reports] == [True] * 4, done.stderr


def test_a_relative_seep_dir_is_found_from_another_working_directory(seep):
    relative = seep.ledger_dir.name
    done = run(seep, "checks_itself", "moved", library=LIBRARY, directory=relative)
    assert done.stdout.decode() == FOUND + UNNOTICED
    assert len(leaks_in(done.stderr.decode())) == 1


def test_a_check_without_standard_error_does_not_write_into_the_ledger(seep):
    done = run(seep, "checks_itself", "closed", library=LIBRARY)
    assert done.stdout.decode() == FOUND + UNNOTICED
    (ledger,) = seep.ledger_dir.glob("checks_itself.*.ledger")
    assert seep.command("report", ledger).status == 0


@pytest.mark.parametrize("how, library", [("unread", LIBRARY), ("unread", None), ("left", LIBRARY)],
                         ids=["report-not-read", "not-answered", "left-by-longjmp"])
def test_a_check_that_does_not_end_well_ends_nothing(seep, how, library):
    done = run(seep, "checks_itself", how, library=library)
    # Who was started for a check that was left may still hold the process.
    found = FOUND if library and b"could not answer" not in done.stderr else NONE_FOUND
    assert (done.returncode, done.stdout.decode()) == (0, found + UNNOTICED)


def test_a_check_without_a_recorder_ends_the_program_if_it_was_told_to(seep):
    done = run(seep, "checks_itself", "ends", options=":leak_exitcode=9", library=LIBRARY)
    assert (done.returncode, done.stdout) == (9, b"")
    assert len(leaks_in(done.stderr.decode())) == 1


@pytest.mark.parametrize(
    "tool, mode, why",
    [
        ("", 0o644, "the program seep cannot be started"),
        ("#!/bin/sh\nkill -9 $$\n", 0o755, "seep was started for it and could not answer"),
    ],
)
def test_why_nobody_looked_is_said(seep, tool, mode, why):
    place = seep.directory / "alone" / "a" / "b" / "seep"
    place.parent.mkdir(parents=True)
    place.write_text(tool)
    place.chmod(mode)
    done = run(seep, "checks_itself")
    assert done.stdout.decode() == NONE_FOUND + UNNOTICED
    assert done.stderr.decode() == f"seep: not scanned for leaks: {why}\n"


def test_a_recorder_that_was_told_not_to_look_does_not(seep):
    done, _ = seep.run([program("checks_itself")], ["--no-leak-check"])
    assert done.stdout.decode() == NONE_FOUND + UNNOTICED
    assert b"not scanned for leaks: its recorder does not look for leaks\n" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_namespace_that_waits_for_its_first_process_gets_none_of_ours(seep):
    done = run(seep, "checks_itself", "apart", library=LIBRARY)
    assert (done.returncode, done.stdout.decode()) == (1, NONE_FOUND)
    why = "there is no /proc, or its children get another PID namespace"
    assert done.stderr.decode() == f"seep: not scanned for leaks: {why}\n"
