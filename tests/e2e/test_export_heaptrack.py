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
from windows import Window

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


def window_bytes(value):
    """As heaptrack's window prints them."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value}B" if unit == "B" else f"{value:.1f}{unit}"
        value /= 1000
    raise ValueError(value)


def test_heaptrack_gui_opens_the_file_and_shows_the_totals(recorded, tmp_path):
    report = recorded("peak_sawtooth").main()
    totals = report["totals"]
    window = Window(tmp_path, "heaptrack_gui",
                    exported(recorded("peak_sawtooth"), "heaptrack", tmp_path))
    try:
        text = window.wait("calls to allocation functions:", f"{totals['allocs']:,} (",
                           f"{totals['temporary']:,} (", "Most Temporary Allocations",
                           f"{window_bytes(totals['peak_bytes'])} after ")
        for key, shown in (("peak_bytes", window_bytes), ("allocs", str), ("temporary", str)):
            functions = sums((c["frames"][0]["function"], c[key]) for c in report["contexts"])
            assert len(functions) == 3
            assert all(shown(value) in text for value in functions.values()), key
    finally:
        window.close()
