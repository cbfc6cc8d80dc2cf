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
