# SPDX-License-Identifier: MIT
"""The peak by stack is one moment of the run: the program knows which functions held what then."""

import pytest

from harness import check_truth, record_with_truth, site

ONE_THREAD = [
    ["peak_malloc_free"],
    pytest.param(["peak_swap", "falling"], marks=pytest.mark.fast),
    ["peak_swap", "rising"],
    ["peak_swap", "realloc"],
    ["peak_sawtooth"],
]


@pytest.mark.parametrize("command", ONE_THREAD, ids=" ".join)
def test_one_threads_peak_is_exact_by_function(seep, command):
    recordings, truth = record_with_truth(seep, *command)
    report = recordings.main()
    check_truth(report, truth)
    assert report["totals"]["peak_exact"] is True
    assert report["totals"]["peak_error_bytes"] == 0


def error_bytes(totals):
    """What the recording states, which must itself be small: (2n+1) T with n threads.
    See docs/internals/ledger.md."""
    stated = totals["peak_error_bytes"]
    small = (2 * totals["threads"] + 3) * 1024
    assert stated <= max(totals["peak_bytes"] // 256, min(small, totals["peak_bytes"] // 25))
    return stated


def test_eight_threads_peak_by_function_is_within_the_stated_error(seep):
    recordings, truth = record_with_truth(seep, "peak_threads", "steps")
    report = recordings.main()
    check_truth(report, truth, ignore=["peak_bytes"])
    allowed = error_bytes(report["totals"])
    # Each thread's operation in progress counts as done or not.
    allowed += 8 * 1100
    off = {
        name: site(report, name)["peak_bytes"] - want["peak_bytes"]
        for name, want in truth.sites.items()
        if "peak_bytes" in want
    }
    assert all(abs(value) <= allowed for value in off.values()), (off, allowed)


def test_eight_threads_peak_total_is_within_the_stated_error(seep):
    recordings, truth = record_with_truth(seep, "peak_threads", "churn")
    report = recordings.main()
    check_truth(report, truth)
    totals = report["totals"]
    # The C library's own blocks for eight threads are live then too.
    allowed = error_bytes(totals) + 8 * (400 + 500)
    assert abs(totals["peak_bytes"] - truth.notes["peak_total"]) <= allowed


@pytest.mark.parametrize("end", ["exit 0", "kill -9 $$"])
def test_a_peak_of_nothing_has_no_time(seep, end):
    _, recordings = seep.run(["/bin/sh", "-c", end], ["--mode", "off"])
    totals = recordings.main()["totals"]
    assert (totals["allocs"], totals["peak_bytes"], totals["peak_at_ns"]) == (0, 0, None)


@pytest.mark.parametrize("way", ["exit", "kill"])
def test_the_time_of_a_peak_that_is_the_last_state_is_the_end(seep, way):
    recordings, _ = record_with_truth(seep, "peak_end", way)
    report = recordings.main()
    totals = report["totals"]
    assert totals["peak_bytes"] == totals["live_bytes"] > 100_000 - 1
    assert totals["peak_at_ns"] == report["process"]["end_ns"] > report["process"]["start_ns"]
