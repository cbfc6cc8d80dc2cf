# SPDX-License-Identifier: MIT
"""What a program may say to the library, and ask it, beside leaks, marks and scopes: seep.h."""

import pytest

from harness import check_truth, parse_truth, program, run_plain


@pytest.mark.fast
def test_what_a_thread_does_not_want_recorded_is_not(seep):
    plain = run_plain([program("recording_off")])
    done, recordings = seep.run([program("recording_off")])
    assert plain.stdout.startswith(b"0 0 0\n") and done.stdout.startswith(b"0 1 1\n")
    report = recordings.main()
    check_truth(report, parse_truth(done.stdout.decode().split("\n", 1)[1]))
    assert report["findings"] == []
    assert "mode-changed" in {line["code"] for line in report["unseen"]}


def test_a_child_goes_on_unrecorded(seep):
    done, recordings = seep.run([program("recording_off"), "child"])
    assert done.stderr == b"child 0\n"
    (main,) = recordings.all()
    assert main["forked"]["alloc_bytes"] < 1 << 20


CASES = [
    ("api_live", "stacks", ""),
    ("api_live", "tags", "thread ''\n"),
    ("api_live", "forked", ""),
    ("api_live", "hooks", ""),
    ("api_live", "storm", ""),
]


@pytest.mark.parametrize("name, case, said", CASES)
def test_what_a_program_is_told_is_what_it_did(seep, name, case, said):
    done, _ = seep.run([program(name), case])
    assert done.stdout.decode() == said + "failures 0\n"
    assert (done.status, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", sorted({name for name, _, _ in CASES}))
def test_without_the_library_nothing_is_told(name):
    done = run_plain([program(name), "stacks"])
    assert (done.status, done.stdout, done.stderr) == (0, b"no library\nfailures 0\n", b"")


def test_threads_are_told_apart_if_that_is_asked_for(seep):
    done, _ = seep.run([program("api_live"), "tags"], ["--by-thread"])
    assert done.stdout == b"thread 'worker'\nfailures 0\n"


def test_a_ledger_of_anything_leads_nowhere(seep):
    done, _ = seep.run([program("api_live"), "scribbled"])
    assert (done.status, done.stdout) == (0, b"")
