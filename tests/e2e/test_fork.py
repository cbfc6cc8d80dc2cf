# SPDX-License-Identifier: MIT
"""Forked children of every kind are counted exactly, each in a ledger of its own, also where they are
gone at once, killed, or have no recorder."""

import time

import pytest

from harness import (
    LIMIT_S,
    RUNTIME,
    check_totals,
    check_truth,
    parse_truth,
    program,
    read_report,
    record_with_truth,
    run_plain,
    site,
)

# How many processes of one child allocate or free.
KINDS = {
    "none": 0,
    "exec": 0,
    "few": 1,
    "many": 1,
    "killed": 1,
    "thread": 1,
    "vfork": 0,
    "nested": 2,
    "daemon": 1,
    "handler": 1,
    "threads": 1,
}
COUNT = 20
# What the last process of a daemon writes, it writes after the program has ended.
SMALL = {"few": (10, 5), "killed": (500, 0), "nested": (10, 0), "handler": (10, 5)}


def truths(place, count):
    """The children's, by pid, once all of them are there and whole."""
    until = time.monotonic() + LIMIT_S
    while True:
        found = {int(path.suffix[1:]): path.read_text() for path in place.glob("truth.*")}
        if len(found) >= count and all(text.endswith("\n") for text in found.values()):
            return {pid: parse_truth(text) for pid, text in found.items()}
        assert time.monotonic() < until, f"{len(found)} of {count} children wrote their truth"


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_recorder_each_child_has_its_ledger(seep, kind):
    env = {
        "LD_PRELOAD": str(RUNTIME),
        "SEEP_DIR": str(seep.ledger_dir),
        "TRUTH_FILE": str(seep.directory / "truth"),
    }
    assert run_plain([program("fork_kinds"), kind, str(COUNT)], env=env).status == 0
    expected = truths(seep.directory, 0 if kind in ("exec", "vfork") else COUNT * KINDS[kind])
    for pid, truth in expected.items():
        ledgers = list(seep.ledger_dir.glob(f"fork_kinds.{pid}.*.ledger"))
        if not truth.sites:
            assert not ledgers
            continue
        report = read_report(seep.command("report", *ledgers, "--json").stdout)
        check_totals(report)
        check_truth(report, truth)
        if kind in ("few", "handler", "threads"):
            assert report["totals"]["inherited_frees"] == 2
        assert report["totals"]["threads"] == (2 if kind == "thread" else 1)
        assert not report["totals"]["in_doubt"] and not report["totals"]["missed_frees"]


@pytest.mark.parametrize("kind", SMALL)
def test_the_sums_of_small_children_are_their_parents(seep, kind):
    recordings, truth = record_with_truth(seep, "fork_kinds", kind, str(COUNT))
    (report,) = recordings.all()
    check_truth(report, truth)
    allocs, frees = (COUNT * figure for figure in SMALL[kind])
    assert report["forked"] == {
        "processes": COUNT * KINDS[kind],
        "allocs": allocs,
        "alloc_bytes": allocs * 100,
        "frees": frees,
        "freed_bytes": frees * 100,
        "live_bytes": (allocs - frees) * 100,
    }
    assert not seep.ledgers()


def test_large_children_have_recordings(seep):
    recordings, _ = record_with_truth(seep, "fork_kinds", "many", "5")
    reports = recordings.all()
    assert len(reports) == 1 + 5
    for report in reports[1:]:
        assert site(report, "allocate")["allocs"] == site(report, "allocate")["live_blocks"] == 5000
