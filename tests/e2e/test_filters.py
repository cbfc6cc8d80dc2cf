# SPDX-License-Identifier: MIT
"""What is not to be recorded is not counted, costs no correctness, and is said."""

import pytest

from harness import PROGRAMS, contexts_of, parse_truth, program, site

LEAKY = PROGRAMS.parent / "examples" / "leaky"


def codes(report):
    return {line["code"] for line in report["unseen"]}


@pytest.mark.fast
def test_a_size_filter_counts_what_it_lets_through(seep):
    """examples/leaky: 400 uploads of 4,096 bytes, 80 of them lost; all else is smaller."""
    result, recordings = seep.run([LEAKY], env={"SEEP_OPTIONS": "size_min=4096"})
    report = recordings.main()
    assert result.status == 0
    upload = site(report, "receive_upload")
    assert (upload["allocs"], upload["bytes"]) == (400, 400 * 4096)
    assert (upload["live_blocks"], upload["live_bytes"]) == (80, 80 * 4096)
    assert not contexts_of(report, "session_remember")
    assert "double-free-off" in codes(report)


def test_a_size_filter_from_above_leaves_the_large_ones_out(seep):
    _, recordings = seep.run([LEAKY], env={"SEEP_OPTIONS": "size_max=64"})
    report = recordings.main()
    upload = site(report, "receive_upload")
    assert (upload["allocs"], upload["bytes"]) == (400, 400 * 64)


def test_mode_off_records_nothing_and_frees_stay_harmless(seep):
    result, recordings = seep.run([program("threads_cross")], options=["--mode", "off"])
    report = recordings.main()
    assert result.status == 0
    assert parse_truth(result.stdout.decode()).sites
    assert (report["totals"]["allocs"], report["totals"]["live_bytes"]) == (0, 0)
    assert report["process"]["mode"] == "off"
    assert "double-free-off" in codes(report)
