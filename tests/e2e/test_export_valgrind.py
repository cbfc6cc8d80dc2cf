# SPDX-License-Identifier: MIT
"""Exports for valgrind's programs: ms_print, callgrind_annotate and dh_view.html show the totals,
every stack, frame and value of the recording; KCachegrind opens the same file."""

import re

import pytest

import export_readers as readers
import harness
from export_clients import sums
from test_export import cxx, exported, hostile, recorded  # noqa: F401 (fixtures)
from windows import Window

# Recursion, threads, a peak in the middle, frames at the limit of what is folded; then what is
# unusual: stacks that were not stored, or cut.
RECORDED = {
    "export_cxx": ["--by-thread"],
    "symbol_zoo": [],
    "peak_sawtooth": [],
    "threads_cross": [],
    "recursion": [],
    "many_stacks": ["--ledger-max", "256K"],
    "operators": ["--depth", "1"],
}


def load(recordings):
    return recordings.load(recordings.path)


@pytest.fixture(params=[*RECORDED, "hostile names"])
def some(request):
    """One recording after the other."""
    if request.param == "hostile names":
        return request.getfixturevalue("hostile")
    return request.getfixturevalue("recorded")(request.param, *RECORDED[request.param])


def test_massif_has_the_timeline_and_every_stack_at_the_peak_and_the_end(some, tmp_path):
    report = load(some)
    process, totals = report["process"], report["totals"]
    snapshots, peak = readers.massif(exported(some, "massif", tmp_path))
    trees = [i for i, (_, _, tree) in enumerate(snapshots) if tree]
    assert trees == [peak, len(snapshots) - 1]
    for at, key in ((peak, "peak_bytes"), (len(snapshots) - 1, "live_bytes")):
        assert snapshots[at][1] == totals[key]
        assert sums(snapshots[at][2].items()) == sums(
            (readers.massif_stack(report, c), c[key]) for c in report["contexts"]), key
    end_ms = (process["end_ns"] - process["start_ns"]) // 10**6
    plain = [s[:2] for i, s in enumerate(snapshots[:-1]) if i != peak]
    assert plain == [(min((s["at_ns"] - process["start_ns"]) // 10**6, end_ms), s["live_bytes"])
                     for s in report["timeline"]]
    assert snapshots[peak][0] == (totals["peak_at_ns"] - process["start_ns"]) // 10**6
    assert snapshots[-1][0] == end_ms


def callgrind_wanted(report, names):
    """Own and inclusive figures by function, and those of calls: a stack counts once for each
    function, in the outermost call of it."""
    own, inclusive, calls = {}, {}, {}

    def add(to, key, figures):
        to[key] = [a + b for a, b in zip(to.get(key, [0] * len(names)), figures)]

    for context in report["contexts"]:
        figures = [context[name] for name in names]
        stack = readers.callgrind_names(report, context)
        add(own, stack[-1], figures)
        for i, name in enumerate(stack):
            first = name not in stack[:i]
            if first:
                add(inclusive, name, figures)
            if i > 0:
                add(calls, (stack[i - 1], name), figures if first else [0] * len(names))
    return own, inclusive, calls


def test_callgrind_has_every_function_and_call_with_recursion_counted_once(some, tmp_path):
    report = load(some)
    path = exported(some, "callgrind", tmp_path, "--by", "live")
    names, total, inclusive, calls = readers.callgrind(path, "--inclusive=yes")
    want_own, want_inclusive, want_calls = callgrind_wanted(report, names)
    assert names == ["live_bytes", "live_blocks", "peak_bytes", "peak_blocks", "allocs",
                     "alloc_bytes", "temporary"]
    assert total == [sum(c[key] for c in report["contexts"]) for key in names]
    assert inclusive == want_inclusive
    assert calls == want_calls
    _, _, own, _ = readers.callgrind(path, "--inclusive=no")
    assert {k: v for k, v in own.items() if any(v)} == want_own


def test_callgrind_puts_the_asked_figures_first(recorded, tmp_path):
    path = exported(recorded("recursion"), "callgrind", tmp_path, "--by", "temporary")
    assert readers.callgrind(path)[0][:2] == ["temporary", "live_bytes"]


def test_callgrind_shows_values_and_calls_beside_the_source(recorded, tmp_path):
    folder = harness.SOURCE / "tests" / "programs"
    path = exported(recorded("peak_sawtooth"), "callgrind", tmp_path, "--by", "allocs")
    text = readers.run("callgrind_annotate", "--show=allocs", "--show-percs=no", path)
    truth = load(recorded("peak_sawtooth"))
    allocs = sum(c["allocs"] for c in harness.contexts_of(truth, "saw_b"))
    source = (folder / "peak_sawtooth.c").read_text()
    line = source.split("saw_b(size_t bytes)\n")[1].splitlines()[1]
    assert re.search(rf"^ *{allocs:,}  {re.escape(line)}$", text, re.M)
    assert re.search(rf"^ *{allocs:,}  => .*:saw_b \({allocs:,}x\)$", text, re.M)


@pytest.mark.slow
def test_kcachegrind_opens_the_file_and_shows_the_functions(recorded, tmp_path):
    path = exported(recorded("peak_sawtooth"), "callgrind", tmp_path, "--by", "allocs")
    report = load(recorded("peak_sawtooth"))
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config" / "kcachegrindrc").write_text("[TipOfDay]\nRunOnStart=false\n")
    window = Window(tmp_path, "kcachegrind", path)
    try:
        total = report["totals"]["allocs"]
        text = window.wait(f"Total Allocations Cost: {total:,}".replace(",", " "), "saw_c")
        for name in ("saw_a", "saw_b", "saw_c"):
            allocs = sum(c["allocs"] for c in harness.contexts_of(report, name))
            assert f"{100 * allocs / total:.2f}" in text
    finally:
        window.close()


def test_dhat_has_every_stack_at_the_peak_at_the_end_and_in_all(some, tmp_path):
    report = load(some)
    tree = readers.dhat(exported(some, "dhat", tmp_path), tmp_path)
    want = {}
    for context in report["contexts"]:
        stack = (context["kind"], *readers.valgrind_stack(report, context))
        figures = [context[key] for key in readers.DHAT_VALUES.values()]
        want[stack] = [a + b for a, b in zip(figures, want.get(stack, [0] * len(figures)))]
    assert dict(readers.dhat_stacks(tree)) == want
    totals = {key: sum(c[key] for c in report["contexts"]) for key in readers.DHAT_VALUES.values()}
    text = tree["text"].replace("\xa0", " ")
    assert f"PID:     {report['process']['pid']}\n" in text
    assert "lifetimes are not known" in text
    assert re.search(rf"Total: +{totals['alloc_bytes']:,} bytes \(100%.*?\)"
                     rf" in {totals['allocs']:,} blocks", text)
    assert f"At t-gmax: {totals['peak_bytes']:,} bytes" in text
    assert f"At t-end:  {totals['live_bytes']:,} bytes" in text
    assert "avg lifetime NaN" in text


def test_a_profile_without_contexts_is_opened_too(recorded, tmp_path):
    recordings = recorded("temporaries", "--mode", "off")
    snapshots, _ = readers.massif(exported(recordings, "massif", tmp_path))
    assert snapshots[-1][1] == 0
    names, total, functions, _ = readers.callgrind(exported(recordings, "callgrind", tmp_path))
    assert (total, functions) == ([0] * len(names), {})
    tree = readers.dhat(exported(recordings, "dhat", tmp_path), tmp_path)
    assert tree["root"]["_totalBytes"] == 0
