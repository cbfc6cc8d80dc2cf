# SPDX-License-Identifier: MIT
"""However a process ends, and whatever family it has, its recording is complete."""

import re
import signal

import pytest

from harness import (
    check_totals,
    check_truth,
    differences,
    parse_truth,
    program,
    record_with_truth,
    site,
    total_allocs,
)

ENDS = {
    "return": {"code": 0},
    "exit": {"code": 3},
    "_exit": {"code": 5},
    "_Exit": {"code": 6},
    "quick_exit": {"code": 7},
    "abort": {"signal": signal.SIGABRT},
    "segv": {"signal": signal.SIGSEGV},
    "term": {"signal": signal.SIGTERM},
    "kill": {"signal": signal.SIGKILL},
    "pthread_exit": {"code": 0},
    "thread_exit": {"code": 5},
    "spin": {"code": 6},
}


@pytest.mark.parametrize("mode", ENDS)
def test_every_end_keeps_the_recording_and_the_status(seep, mode):
    recordings, truth = record_with_truth(seep, "exits", mode)
    # Threads that spin while the process ends leave operations half done.
    report = recordings.load(recordings.path) if mode == "spin" else recordings.main()
    check_truth(report, truth)
    process, status = report["process"], ENDS[mode]
    assert process["status"] == status
    assert process["ended"] == ("exit" if "code" in status else "signal")


@pytest.mark.parametrize("before", ["closefds", "nostderr"])
def test_closed_descriptors_take_nothing_away(seep, before):
    recordings, truth = record_with_truth(seep, "exits", before, "exit")
    check_truth(recordings.main(), truth)


def test_exec_ends_one_recording_and_begins_another(seep):
    recordings, truth = record_with_truth(seep, "exits", "exec")
    after = parse_truth((seep.directory / "truth-1.exec").read_text())
    reports = recordings.all()
    assert len(reports) == 2
    for report in reports:
        check_totals(report)
    old = next(r for r in reports if site(r, "exits_work")["allocs"])
    new = next(r for r in reports if site(r, "exits_execd")["allocs"])
    check_truth(old, truth)
    check_truth(new, after)
    assert old["process"]["pid"] == new["process"]["pid"]
    assert old["process"]["ended"] == "exec"
    assert new["process"]["ended"] == "exit"
    assert new["process"]["status"]["code"] == 9


def test_vfork_spawn_and_system_leave_the_parent_alone(seep):
    recordings, truth = record_with_truth(seep, "exits", "children")
    check_truth(recordings.main(), truth)


def test_not_following_records_the_parent_only(seep):
    recordings, truth = record_with_truth(seep, "exits", "children", options=["--no-follow"])
    check_truth(recordings.main(), truth)
    assert len(recordings.all()) == 1


def test_a_daemon_is_recorded_to_its_end(seep):
    recordings, truth = record_with_truth(seep, "exits", "daemon")
    check_truth(recordings.main(), truth)
    (path,) = seep.directory.glob("truth-1.*")
    child = recordings.of(int(path.name.split(".")[1]))
    check_totals(child)
    check_truth(child, parse_truth(path.read_text()))


def child_truths(seep):
    """Truth by pid, of the forked children and of the images they exec'd."""
    forked, execd = {}, {}
    for path in seep.directory.glob("truth-1.*"):
        pid = int(re.match(r"truth-1\.(\d+)", path.name)[1])
        (execd if path.name.endswith(".exec") else forked)[pid] = parse_truth(path.read_text())
    return forked, execd


def test_fork_storm_gives_each_child_its_own_recording(seep):
    recordings, truth = record_with_truth(seep, "fork_storm", "50", "1500")
    check_truth(recordings.main(), truth)
    forked, execd = child_truths(seep)
    assert len(forked) == 50 and len(execd) == 16
    reports = recordings.all()
    # One for the parent, one for each fork, one for each image after exec.
    assert len(reports) == 1 + 50 + 16
    found = []
    for report in reports[1:]:
        check_totals(report)
        pid = report["process"]["pid"]
        if site(report, "after_exec")["allocs"]:
            found += differences(report, execd.pop(pid))
            continue
        child = forked.pop(pid)
        found += differences(report, child)
        totals = report["totals"]
        assert totals["inherited_frees"] == child.inherited["frees"]
        assert totals["inherited_freed_bytes"] == child.inherited["bytes"]
    assert not found, "\n".join(found[:20])
    assert not forked and not execd


def test_small_forks_are_summed_in_the_parents_recording(seep):
    recordings, truth = record_with_truth(seep, "fork_storm", "30", "20")
    report = recordings.main()
    check_truth(report, truth)
    forked, execd = child_truths(seep)
    want = sum(
        site_truth.get(key, 0)
        for child in forked.values()
        for name, site_truth in child.sites.items()
        for key in ["allocs"]
        if name in ("child_work", "child_thread_work")
    )
    assert report["forked"]["processes"] == 30
    # The C library allocates a little for the thread that each child starts.
    assert want <= report["forked"]["allocs"] <= want + 30 * 20
    assert len(recordings.all()) == 1 + len(execd)


def test_a_storm_of_forks_loses_nothing_altogether(seep):
    """The family's total is every child's total: nothing is in two files or in none."""
    recordings, _ = record_with_truth(seep, "fork_storm", "12", "1500")
    reports = recordings.all()
    assert total_allocs(reports) == sum(r["totals"]["allocs"] for r in reports)
    parent = reports[0]["process"]
    assert set(parent["children"]) == {r["process"]["pid"] for r in reports[1:]}


def test_a_program_that_cannot_be_started_has_envs_status(seep):
    missing, _ = seep.run([seep.directory / "not-there"])
    assert missing.status == 127
    (seep.directory / "plain-file").write_text("text")
    refused, _ = seep.run([seep.directory / "plain-file"])
    assert refused.status == 126


def test_the_arguments_and_environment_arrive_unchanged(seep):
    words = ["a b", "", "*", "--json", "-o", "\udcff", "last"]
    script = 'printf "%s|" "$@"; printf "%s" "$MARK"'
    result, _ = seep.run(
        ["/bin/sh", "-c", script, "sh", *words], env={"MARK": "x y"}
    )
    assert result.stdout == b"a b||*|--json|-o|\xff|last|x y"
    assert result.status == 0


def test_an_existing_file_is_refused_without_force(seep):
    target = seep.directory / "there.seep"
    target.write_text("mine")
    done = seep.command("run", "-o", target, "-q", "--", "/bin/true")
    assert done.status in (2, 125)
    assert done.stderr != b""
    assert target.read_text() == "mine"
    forced = seep.command("run", "-o", target, "-q", "--force", "--", program("mini_dlsym"))
    assert forced.status == 0
    assert target.read_bytes()[:6] == b"SQLite"
