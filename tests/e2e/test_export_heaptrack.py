# SPDX-License-Identifier: MIT
"""Exports for heaptrack: heaptrack_print counts from the made-up log what was recorded, for every
stack, and heaptrack_gui opens the same file."""

import gzip

import pytest

import export_readers as readers
import harness
from export_readers import HEAPTRACK_COSTS, heaptrack_bytes, sums
from harness import program
from test_export_valgrind import exported, recorded  # noqa: F401 (a fixture)

RECORDED = ["symbol_zoo", "peak_sawtooth", "threads_cross", "recursion"]


def temporary_lost(report, counted):
    """By how much the temporary allocations are too few: one for each thread at most."""
    lost = report["totals"]["temporary"] - counted
    assert 0 <= lost < report["totals"]["threads"]
    return lost


@pytest.mark.parametrize("name", RECORDED)
def test_heaptrack_has_every_stack_with_calls_temporary_ones_leaks_and_peak(recorded, name, tmp_path):
    report = recorded(name).main()
    path = exported(recorded(name), "heaptrack", tmp_path)
    for cost, key in HEAPTRACK_COSTS.items():
        have = readers.heaptrack_costs(path, tmp_path, cost)
        want = sums((readers.heaptrack_line(c), c[key]) for c in report["contexts"])
        if cost == "temporary" and temporary_lost(report, sum(have.values())):
            continue
        assert have == want, cost
    calls, totals = readers.heaptrack_calls(path)
    assert calls == sums((readers.heaptrack_frames(c), c["allocs"]) for c in report["contexts"])
    assert totals["calls to allocation functions"] == str(report["totals"]["allocs"])
    temporary_lost(report, int(totals["temporary memory allocations"]))
    assert totals["peak heap memory consumption"] == heaptrack_bytes(report["totals"]["peak_bytes"])
    assert totals["total memory leaked"] == heaptrack_bytes(report["totals"]["live_bytes"])
    resident = max(s["rss_bytes"] for s in report["timeline"])
    resident = max(resident, report["process"]["peak_rss_bytes"])
    assert totals["peak RSS (including heaptrack overhead)"] == heaptrack_bytes(resident)
