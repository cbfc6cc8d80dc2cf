# SPDX-License-Identifier: MIT
"""Handlers that allocate and free while they interrupt the profiler: nothing crashes, hangs, or is
counted otherwise than the program counts, by place, number and byte. The program says what it had
begun and what it had done; the two differ by what its handlers left by longjmp."""

import pytest

from harness import check_totals, check_truth, functions, parse_truth, program

COUNTS = {"allocs": "allocs", "bytes": "alloc_bytes", "frees": "frees", "freed_bytes": "freed_bytes"}
PLACES = {
    "code": ["take_in_code"],
    "handler": ["take_in_handler", "resize_in_handler", "no stack"],
    "quiet": ["take_in_quiet"],
}
# Interrupted anywhere, the C library's malloc would wait for itself: there another one is used.
MODES = ["", "jump", "fork", "fork jump", "within", "within jump", "within fork", "within fork jump"]
# _Fork() takes no locks of the C library's malloc, which the child calls: only with another one.
MODES += ["fork bare"]
# The same in a forked child, which gets its ledger meanwhile.
MODES += ["child", "child jump", "child within", "child within jump fork"]


def recorded(report, place, key):
    """The sum over the contexts whose innermost frame is of the place."""
    leaves = [functions(c)[0] if c["frames"] else "no stack" for c in report["contexts"]]
    return sum(c[key] for c, leaf in zip(report["contexts"], leaves) if leaf in PLACES[place])


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.replace(" ", "-") or "anywhere")
def test_what_handlers_do_in_the_middle_of_our_books_is_counted(seep, mode):
    words = mode.split()
    env = {} if "within" in words else {"LD_PRELOAD": str(program("lib_bump.so"))}
    path = seep.directory / "truth"
    result, recordings = seep.run(
        [program("signal_storm"), *words], env={**env, "TRUTH_FILE": str(path)}
    )
    assert (result.status, result.stderr) == (0, b"")
    truth = parse_truth(path.read_text())
    notes = truth.notes
    assert notes["acts"] > 200 and notes["nested"] > 0
    assert ("jump" in words) == (notes["jumps"] > 0)
    assert ("fork" in words) == (notes["forks"] > 0)

    report = recordings.load(recordings.path)
    if "child" in words:
        # What it did before then is in its parent's no more.
        assert "fork" in words or set(report["forked"].values()) == {0}
        (report,) = recordings.all()[1:]
    totals = report["totals"]
    check_truth(report, truth)
    for place in PLACES:
        for name, key in COUNTS.items():
            begun, done = (notes[f"{place}_{when}_{name}"] for when in ("begun", "done"))
            assert done <= recorded(report, place, key) <= begun, (place, key)
    # What was left in the middle is said; nothing else is in doubt.
    assert totals["in_doubt"] <= totals["abandoned"] + notes["jumps"]
    assert totals["abandoned"] <= notes["jumps"]
    if not notes["jumps"]:
        check_totals(report)
    # What had no slot has no place in the peak, and the recording says by how much that may be off.
    no_stack = sum(c["alloc_bytes"] for c in report["contexts"] if not c["frames"])
    assert not totals["peak_exact"]
    assert totals["peak_error_bytes"] >= no_stack > 0
    if mode == "within":
        assert 0 <= totals["usable_bytes"] - totals["live_bytes"] <= 32 * totals["live_blocks"]
    assert report["forked"]["processes"] <= notes["forks"]
