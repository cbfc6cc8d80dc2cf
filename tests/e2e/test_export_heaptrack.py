# SPDX-License-Identifier: MIT
"""Exports for heaptrack: heaptrack_print counts from the made-up log what was recorded, for every
stack, and heaptrack_gui opens the same file."""

import gzip

import pytest

import export_readers as readers
from export_clients import sums
from export_readers import HEAPTRACK_COSTS, heaptrack_bytes
from test_export import cxx, export, hostile, recorded  # noqa: F401 (fixtures)
from test_export_valgrind import load, some  # noqa: F401 (a fixture)
from windows import Window


def exported(recordings, folder):
    """Heaptrack looks at the name of a file."""
    path = folder / "run.heaptrack.gz"
    export(recordings, "heaptrack", "-o", path)
    return path


def check_temporary(report, have, want):
    """Where several threads had a temporary block at the peak, one of them is counted."""
    few = sum(want.values()) - sum(have.values())
    assert 0 <= few < report["totals"]["threads"]
    assert all(have.get(key, 0) <= value for key, value in want.items())


def test_heaptrack_has_every_stack_with_calls_temporary_ones_leaks_and_peak(some, tmp_path):
    report = load(some)
    path = exported(some, tmp_path)
    for cost, key in HEAPTRACK_COSTS.items():
        have = readers.heaptrack_costs(path, tmp_path, cost)
        want = sums((readers.heaptrack_line(c), c[key]) for c in report["contexts"])
        if cost == "temporary":
            check_temporary(report, have, want)
        else:
            assert have == want, cost
    calls, totals = readers.heaptrack_calls(path)
    assert calls == sums((readers.heaptrack_frames(c), c["allocs"]) for c in report["contexts"])
    assert totals["calls to allocation functions"] == str(report["totals"]["allocs"])
    assert totals["peak heap memory consumption"] == heaptrack_bytes(report["totals"]["peak_bytes"])
    assert totals["total memory leaked"] == heaptrack_bytes(report["totals"]["live_bytes"])
    resident = max(s["rss_bytes"] for s in report["timeline"])
    resident = max(resident, report["process"]["peak_rss_bytes"])
    assert totals["peak RSS (including heaptrack overhead)"] == heaptrack_bytes(resident)


def test_heaptrack_log_follows_the_timeline_up_to_the_peak_and_down(recorded, tmp_path):
    report = load(recorded("peak_sawtooth"))
    start_ns, timeline = report["process"]["start_ns"], report["timeline"]
    sizes, live, at_ms, levels = [], 0, 0, []
    for line in gzip.open(exported(recorded("peak_sawtooth"), tmp_path), "rt"):
        kind, *words = line.split()
        if kind == "a":
            sizes.append(int(words[0], 16))
        elif kind in "+-":
            live += sizes[int(words[0], 16)] * (1 if kind == "+" else -1)
        elif kind == "c":
            levels.append((at_ms, live))
            at_ms = int(words[0], 16)
    levels.append((at_ms, live))
    peak_ms = (report["totals"]["peak_at_ns"] - start_ns) // 10**6
    assert (peak_ms in [ms for ms, _ in levels]) and live == report["totals"]["live_bytes"]
    for ms, level in levels:
        # At most what was live then or before, so that the curve only lacks its falls. The first
        # sample may come late.
        before = [s["live_bytes"] for s in timeline if (s["at_ns"] - start_ns) // 10**6 <= ms]
        if ms < peak_ms:
            assert not before or level <= max(before)


def window_bytes(value):
    """As heaptrack's window prints them."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value}B" if unit == "B" else f"{value:.1f}{unit}"
        value /= 1000
    raise ValueError(value)


@pytest.mark.slow
def test_heaptrack_gui_opens_the_file_and_shows_the_totals(recorded, tmp_path):
    report = load(recorded("peak_sawtooth"))
    totals = report["totals"]
    window = Window(tmp_path, "heaptrack_gui", exported(recorded("peak_sawtooth"), tmp_path))
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


def test_a_profile_without_contexts_is_a_log_without_events(recorded, tmp_path):
    recordings = recorded("temporaries", "--mode", "off")
    calls, totals = readers.heaptrack_calls(exported(recordings, tmp_path))
    assert (calls, totals["total memory leaked"]) == ({}, "0B")
