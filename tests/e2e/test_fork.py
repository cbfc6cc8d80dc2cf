# SPDX-License-Identifier: MIT
"""Forked children of every kind are counted exactly, also where they are gone at once, killed, or have
no recorder: those that allocate much in a ledger of their own, the others in their ancestor's."""

import os
import re
import shutil
import time

import pytest

from harness import (
    LIMIT_S,
    RUNTIME,
    check_totals,
    check_truth,
    parse_truth,
    program,
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
    "race": 1,
    "vfork": 0,
    "nested": 2,
    "daemon": 1,
    "late": 1,
    "large": 1,
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
def test_without_a_recorder_each_child_has_its_ledger_if_asked_for(seep, kind):
    env = {
        "LD_PRELOAD": str(RUNTIME),
        "SEEP_DIR": str(seep.ledger_dir),
        "TRUTH_FILE": str(seep.directory / "truth"),
        "SEEP_OPTIONS": "forks=1",
    }
    assert run_plain([program("fork_kinds"), kind, str(COUNT)], env=env).status == 0
    expected = truths(seep.directory, 0 if kind in ("exec", "vfork") else COUNT * KINDS[kind])
    for pid, truth in expected.items():
        ledgers = list(seep.ledger_dir.glob(f"fork_kinds.{pid}.*.ledger"))
        if not truth.sites:
            assert not ledgers
            continue
        report = seep.load(*ledgers)
        check_totals(report)
        check_truth(report, truth)
        if kind in ("few", "handler", "threads"):
            assert report["totals"]["inherited_frees"] == 2
        assert report["totals"]["threads"] == (2 if kind in ("thread", "race") else 1)
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
        "inherited_frees": 2 * COUNT if kind in ("few", "handler") else 0,
        "inherited_freed_bytes": report["forked"]["inherited_freed_bytes"],
    }
    assert not list(seep.ledger_dir.iterdir())


def alone(seep):
    return {"LD_PRELOAD": str(RUNTIME), "SEEP_DIR": str(seep.ledger_dir)}


def reports_of_ledgers(seep):
    paths = seep.ledger_dir.glob("*.ledger*")
    return [seep.load(path) for path in paths]


def first_of(reports):
    """Of the process that began first; its pid may be the highest."""
    return min(reports, key=lambda r: r["process"]["start_ns"])


@pytest.mark.parametrize("kind", SMALL)
def test_without_a_recorder_small_children_are_in_their_parents_ledger(seep, kind):
    assert run_plain([program("fork_kinds"), kind, str(COUNT)], env=alone(seep)).status == 0
    reports = reports_of_ledgers(seep)
    allocs, frees = (COUNT * figure for figure in SMALL[kind])
    # Whoever is killed could not add its figures to its parent's.
    assert len(reports) == 1 + (COUNT if kind == "killed" else 0)
    main = first_of(reports)
    own = [r["totals"] for r in reports if r is not main]
    for report in reports:
        check_totals(report)
    assert main["forked"]["processes"] + len(own) == COUNT * KINDS[kind]
    assert main["forked"]["allocs"] + sum(t["allocs"] for t in own) == allocs
    assert main["forked"]["frees"] + sum(t["frees"] for t in own) == frees


@pytest.mark.parametrize("kind", ["many", "race"])
def test_what_a_child_counted_before_it_had_a_ledger_is_in_no_other(seep, kind):
    assert run_plain([program("fork_kinds"), kind, "5"], env=alone(seep)).status == 0
    reports = reports_of_ledgers(seep)
    assert len(reports) == 1 + 5
    for report in reports:
        check_totals(report)
        assert set(report["forked"].values()) == {0}
    assert sorted(site(r, "allocate")["allocs"] for r in reports)[1] == (
        5000 if kind == "many" else 6000
    )


def bounds(truth):
    return [
        (truth.notes[f"done_{what}"], what, truth.notes[f"begun_{what}"])
        for what in ("allocs", "frees")
    ]


@pytest.mark.parametrize("seed", range(3))
def test_of_children_that_are_killed_nothing_is_missing_or_counted_twice(seep, seed):
    done = run_plain([program("fork_cut"), "60", str(seed)], env=alone(seep))
    assert done.status == 0
    truth = parse_truth(done.stdout.decode())
    reports = reports_of_ledgers(seep)
    main = first_of(reports)
    assert main["forked"]["processes"] == 60 - (len(reports) - 1)
    for least, what, most in bounds(truth):
        own = sum(r["totals"][what] for r in reports if r is not main)
        assert least <= main["forked"][what] + own <= most


def test_the_sums_of_the_run_have_what_killed_children_did_once(seep):
    result, recordings = seep.run([program("fork_cut"), "100", "7"])
    assert result.status == 0
    truth = parse_truth(result.stdout.decode())
    main, *others = recordings.all()
    assert main["run"]["processes"] == 101
    assert main["forked"]["processes"] == 100 - len(others)
    for least, what, most in bounds(truth):
        assert least <= main["run"][what] - main["totals"][what] <= most
        own = sum(r["totals"][what] for r in others)
        assert main["run"][what] == main["totals"][what] + main["forked"][what] + own
    assert not seep.ledgers()


def test_a_recording_has_what_children_did_after_their_parents_end(seep):
    _, recordings = seep.run(["sh", "-c", f"{program('fork_kinds')} late 3; true"])
    _, report = recordings.all()
    assert report["process"]["exe"].endswith("fork_kinds")
    forked = report["forked"]
    assert (forked["processes"], forked["allocs"], forked["alloc_bytes"]) == (3, 60, 6000)


@pytest.mark.parametrize("whose", ["ours", "anothers"])
def test_the_sums_of_the_run_have_what_a_child_did_before_and_after_its_parents_end_once(seep, whose):
    result, recordings = seep.run([program("fork_orphan"), whose])
    assert (result.status, result.stderr) == (0, b"")
    main, parent = recordings.all()
    assert parent["totals"]["allocs"] == 1500
    assert main["run"]["allocs"] == main["totals"]["allocs"] + 1500 + 10 + 7
    assert main["run"]["processes"] == 3
    assert not list(seep.ledger_dir.iterdir())


def test_a_handler_that_leaves_by_longjmp_does_not_keep_a_child_from_its_ledger(seep):
    env = {"LD_PRELOAD": str(program("lib_bump.so"))}
    result, recordings = seep.run([program("fork_jump"), "10"], env=env)
    assert (result.status, result.stderr) == (0, b"")
    assert len(recordings.paths()) == 1 + 10
    assert not list(seep.ledger_dir.iterdir())


def test_children_are_counted_that_are_forked_while_another_thread_makes_the_ledger(seep):
    """Or said: those forked in the moment when the making begins, a few, or while it takes long."""
    result, recordings = seep.run([program("fork_beside"), "150"])
    assert (result.status, result.stderr) == (0, b"")
    main = recordings.main()
    counted = main["run"]["allocs"] - main["totals"]["allocs"]
    assert counted + 5 * sum(map(unrecorded, recordings.all())) == int(result.stdout)
    assert counted > 150 * 1100


def test_few_large_blocks_are_worth_a_recording(seep):
    recordings, _ = record_with_truth(seep, "fork_kinds", "large", "2")
    reports = recordings.all()
    assert len(reports) == 1 + 2
    for report in reports[1:]:
        assert report["totals"]["peak_bytes"] == 1 << 20
    assert set(reports[0]["forked"].values()) == {0}


@pytest.mark.parametrize("option", ["--no-fill", "--fill"])
def test_large_children_have_recordings(seep, option):
    """Where all leaks are wanted they wait for the recorder, which had not heard of them yet."""
    recordings, _ = record_with_truth(seep, "fork_kinds", "many", "5", options=[option])
    reports = recordings.all()
    assert len(reports) == 1 + 5
    for report in reports[1:]:
        assert site(report, "allocate")["allocs"] == site(report, "allocate")["live_blocks"] == 5000
        assert (report["scan"]["why_not"] is None) is (option == "--fill")


def test_no_child_makes_two_ledgers(seep):
    env = {"LD_PRELOAD": str(RUNTIME), "SEEP_DIR": str(seep.ledger_dir), "SEEP_OPTIONS": "forks=1"}
    done = run_plain([program("fork_rush"), "1200"], env=env)
    assert (done.status, done.stderr) == (0, b"")
    names = [path.name for path in seep.ledger_dir.glob("*.ledger*")]
    assert len(names) == 1201 and all(name.endswith(".0.ledger") for name in names)


def unrecorded(report):
    """How many children it says were not recorded."""
    said = [line["detail"] for line in report["unseen"] if line["code"] == "unrecorded-child"]
    return int(said[0].split()[0]) if said else 0


WORKERS = """import os
child = os.fork()
kept = [bytearray(100) for _ in range(3000)]
if child == 0:
    os._exit(0)
os.wait()
"""


def test_what_a_worker_drops_of_its_parents_tables_was_its_own_memory(seep):
    _, recordings = seep.run(["/usr/bin/python3", "-c", WORKERS], env={"PYTHONMALLOC": "malloc"})
    main, worker = recordings.all()
    assert worker["totals"]["own_bytes"] > main["totals"]["own_bytes"] // 10
    assert "ledger-damaged" not in [line["code"] for line in worker["unseen"]]


WORKER = """import os
worker = os.fork()
if worker == 0:
    kept = [bytearray(100) for _ in range(3000)]
    os.setuid(65534)
    for _ in range(5):
        if os.fork() == 0:
            kept = [bytearray(100) for _ in range(50)]
            os._exit(0)
        os.wait()
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, and another user")
def test_children_of_a_worker_that_gave_up_its_rights_are_said(seep):
    """Their ledgers are another user's: the run cannot record them."""
    _, recordings = seep.run(["/usr/bin/python3", "-c", WORKER], env={"PYTHONMALLOC": "malloc"})
    try:
        assert [unrecorded(report) for report in recordings.all()] == [0, 5]
    finally:
        shutil.rmtree("/dev/shm/seep-65534", ignore_errors=True)


@pytest.mark.parametrize("how, count, said",
                         [("unload", 300, 0), ("scribble", 2000, None), ("unnoticed", 20, 20),
                          ("reach", 50000, None), ("acts", 1, 1 if os.geteuid() == 0 else 0)])
def test_what_children_do_to_themselves_and_to_what_they_share_never_hurts_the_parent(seep, how, count, said):
    command = [program("fork_rare"), how, str(count)]
    result, recordings = seep.run(command)
    assert (result.status, result.stderr) == (0, b"")
    report = recordings.main()
    assert report["totals"]["in_doubt"] == 0
    if how in ("scribble", "reach"):
        check_truth(report, parse_truth(result.stdout.decode()))
    assert said is None or unrecorded(report) == said


def test_what_a_thread_does_while_another_ends_a_small_child_is_counted(seep):
    children = 50
    result, recordings = seep.run([program("fork_rare"), "ends", str(children)])
    report = recordings.main()
    made = int(re.search(rb"made (\d+)", result.stdout).group(1))
    counted = report["run"]["allocs"] - report["totals"]["allocs"]
    assert result.status == 0 and made <= counted <= made + children


def test_what_is_done_at_the_end_for_libraries_is_in_a_small_childs_sums(seep):
    late = {"LD_PRELOAD": str(program("lib_late_end.so"))}
    result, recordings = seep.run([program("fork_rare"), "exits", "5"], env=late)
    assert (result.status, result.stderr) == (0, b"")
    assert recordings.main()["forked"]["allocs"] == 5 * (1 + 50)


def test_what_a_thread_does_while_another_makes_the_ledger_is_counted(seep):
    """On a file system that takes a second to make the ledger as large as it is to be."""
    delay = ["-e", "trace=ftruncate", "-e", "inject=ftruncate:delay_enter=1000000"]
    preload = ["-E", f"LD_PRELOAD={RUNTIME}", "-E", f"SEEP_DIR={seep.ledger_dir}"]
    env = {"TRUTH_FILE": str(seep.directory / "truth")}
    strace = ["strace", "-f", "-qq", "-o", "/dev/null", *delay, *preload]
    assert run_plain([*strace, program("fork_rare"), "beside", "1500"], env=env).status == 0
    ((pid, truth),) = truths(seep.directory, 1).items()
    (report,) = (r for r in reports_of_ledgers(seep) if r["process"]["pid"] == pid)
    totals = report["totals"]
    assert (totals["allocs"], totals["frees"]) == (truth.sites["allocate"]["allocs"],) * 2
    assert [u["code"] for u in report["unseen"]] == ["early"]


@pytest.mark.parametrize("how, inherited", [("none", 0), ("first", 0), ("inherited", 10)])
def test_of_a_preloaded_program_small_children_leave_one_ledger(seep, how, inherited):
    assert run_plain([program("fork_rare"), how, "100"], env=alone(seep)).status == 0
    (report,) = reports_of_ledgers(seep)
    forked = report["forked"]
    assert (forked["processes"], forked["inherited_frees"]) == (100, 100 * inherited)
    assert forked["allocs"] == forked["frees"] == (0 if inherited else 100)
