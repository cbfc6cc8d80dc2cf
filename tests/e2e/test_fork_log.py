# SPDX-License-Identifier: MIT
"""A forked child's ledger says the same whether it was there from the child's first operation or was
made later, when what the child had done until then was replayed into it."""

import os

import pytest

from harness import RUNTIME, check_totals, parse_truth, program, run_plain, site

OPERATIONS = 700
# Of time, and of how the library worked.
NOT_COMPARED = {"peak_at_ns", "own_bytes", "walks", "walks_landed"}
CONTEXT_NOT_COMPARED = {"id", "first_ns", "frames"}


def child_report(seep, seed, forks):
    """What the ledger says that the child gets at its allocation number @forks."""
    env = {
        "LD_PRELOAD": str(RUNTIME),
        "SEEP_DIR": str(seep.ledger_dir),
        "SEEP_OPTIONS": f"forks={forks}",
    }
    command = [program("fork_mix"), str(seed), str(OPERATIONS)]
    assert run_plain(command, env=env).status == 0
    ledgers = list(seep.ledger_dir.glob("*.ledger*"))
    reports = [seep.load(path) for path in ledgers]
    for path in ledgers:
        path.unlink()
    (child,) = (report for report in reports if report["totals"]["inherited_frees"])
    check_totals(child)
    return child


def comparable(report):
    totals = {k: v for k, v in report["totals"].items() if k not in NOT_COMPARED}
    contexts = [
        {k: v for k, v in context.items() if k not in CONTEXT_NOT_COMPARED}
        for context in report["contexts"]
    ]
    return totals, sorted(contexts, key=lambda context: (context["hash"], context["kind"]))


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_replayed_ledger_says_what_one_from_the_start_says(seep, seed):
    at_once = child_report(seep, seed, 1)
    assert at_once["totals"]["temporary"] and at_once["totals"]["untracked_frees"] == 0
    assert len(at_once["contexts"]) > 30
    for forks in (2, 3, 17, 250, 400):
        assert comparable(child_report(seep, seed, forks)) == comparable(at_once)


@pytest.mark.parametrize("how", ["setuid", "chroot", "sandbox", "limit"])
def test_a_child_that_gives_up_its_rights_has_its_ledger_before_that(seep, how):
    if how in ("setuid", "chroot") and os.geteuid() != 0:
        pytest.skip("needs root")
    recordings = seep.record([program("fork_confined"), how])
    main, child = recordings.all()
    assert site(child, "allocate")["allocs"] == 3010
    assert main["totals"]["unrecorded_children"] == 0


@pytest.mark.parametrize("action", ["take", "fork", "end"])
@pytest.mark.parametrize("operation, stride", [("malloc", 37), ("realloc", 41), ("free", 3)])
def test_a_handler_that_interrupts_a_young_child_changes_no_sum(seep, action, operation, stride):
    path = seep.directory / "truth"
    result, recordings = seep.run(
        [program("fork_step"), action, operation, str(stride)],
        env={"TRUTH_FILE": str(path), "SEEP_OPTIONS": "forks=4"},
    )
    assert (result.status, result.stderr) == (0, b"")
    notes = parse_truth(path.read_text()).notes
    assert notes["children"] > 20
    (report,) = recordings.all()
    forked = report["forked"]
    # Whoever is forked in the middle of our books is not recorded, and that is said.
    unrecorded = report["totals"]["unrecorded_children"]
    assert (unrecorded > 0) == (action != "take")
    unseen = unrecorded if action == "end" else 0
    assert forked["frees"] == notes["frees"] - unseen
    assert forked["freed_bytes"] == notes["freed_bytes"] - 50 * unseen
    # What was forked before the hook looked whose child it is has one operation for its own.
    grandchildren = forked["processes"] - notes["children"]
    assert action != "take" or grandchildren == 0
    more = grandchildren if action == "fork" and operation != "free" else 0
    assert forked["allocs"] == notes["allocs"] - 2 * unseen + more
    assert forked["alloc_bytes"] == notes["alloc_bytes"] - 100 * unseen + more * 3000
