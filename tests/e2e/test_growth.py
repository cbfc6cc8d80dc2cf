# SPDX-License-Identifier: MIT
"""What grows is named with file and line, while it runs and when it has freed everything."""

import contextlib
import json
import os
import re
import subprocess

import pytest

from harness import LIMIT_S, SEEP, SOURCE, program
from running import wait_until, watched

UNIT_MS = 10
AFTER = ("--growth-after", f"{60 * UNIT_MS}ms")


def growth_of(report):
    """By function: the growth of each context that has one, and where it allocates."""
    found = {}
    for context in report["contexts"]:
        if "growth" in context:
            frame = context["frames"][0]
            found.setdefault(frame["function"], []).append((context["growth"], frame))
    return found


def line_of_allocation(source, function):
    """The call of malloc in a function that has one."""
    lines = (SOURCE / "tests/programs" / source).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if re.search(rf"\b{function}\(.*\)$", line))
    return next(i for i, line in enumerate(lines[start:], start + 1) if "alloc(" in line)


def play(seep, name, *options):
    return seep.run([program(f"growth_{name}"), str(UNIT_MS), "1"],
                    options=[*AFTER, "--no-leak-check", *options])


def test_a_list_that_is_freed_at_the_end_has_grown(seep):
    _, recordings = play(seep, "list")
    found = growth_of(recordings.main())
    assert list(found) == ["append_audit"]
    for growth, frame in found["append_audit"]:
        assert growth["verdict"] == "GROWING"
        assert growth["returned"]
        assert growth["evidence"].endswith("then all of it was given back")
        assert frame["file"].endswith("tests/programs/growth_list.c")
        assert frame["line"] == line_of_allocation("growth_list.c", "append_audit")
    text = seep.command("report", "--by", "growth", recordings.path).stdout.decode()
    assert "GROWING: 1 call stack, " in text
    assert "append_audit" in text and "growth_list.c:" in text


def test_a_queue_that_lags_is_named(seep):
    found = growth_of(play(seep, "queue")[1].main())
    assert list(found) == ["enqueue_message"]


@pytest.mark.parametrize("name", ("cache", "rings"))
def test_what_reaches_its_size_is_not_named(seep, name):
    _, recordings = play(seep, name)
    assert growth_of(recordings.main()) == {}
    text = seep.command("report", "--by", "growth", recordings.path).stdout.decode()
    assert "No call stack grew for 600 ms" in text


def test_growth_sets_the_exit_status(seep):
    assert play(seep, "list", "--growth-exitcode", "7")[0].status == 7
    assert play(seep, "rings", "--growth-exitcode", "7")[0].status == 0


def test_growth_is_not_looked_for_unless_there_is_time(seep):
    _, recordings = seep.run([program("growth_list"), str(UNIT_MS), "1"])
    assert growth_of(recordings.main()) == {}
    text = seep.command("report", "--by", "growth", recordings.path).stdout.decode()
    assert "Growth was not judged: process" in text


@contextlib.contextmanager
def recorded(seep, name):
    """The pid of one that plays for as long as it is looked at."""
    process = subprocess.Popen(
        [SEEP, "run", "-q", *AFTER, "-o", seep.directory / "x.seep", "--",
         program(name), str(UNIT_MS), "1", "100000"],
        env={**os.environ, **seep.environment()}, stdout=subprocess.DEVNULL)
    try:
        yield str(wait_until(lambda: watched(seep), "its ledger")[0]["pid"])
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT_S)


def test_ps_has_the_trend_while_it_runs(seep):
    with recorded(seep, "growth_list"):
        (growing,) = wait_until(lambda: [entry for entry in watched(seep)
                                         if entry.get("growing_contexts")], "growth")
    assert growing["growing_bytes_per_hour"] > 0


def test_who_comes_late_says_what_the_recorder_says(seep):
    """Of enqueue_message most blocks are freed: one look at the ledger tells nothing."""
    with recorded(seep, "growth_queue") as pid:
        def look():
            said = json.loads(seep.command("top", pid, "--once", "--json", "-i", "20ms").stdout)
            (entry,) = watched(seep)
            return said["totals"]["growing"]["contexts"] and entry.get("growing_contexts") and (said, entry)

        document, entry = wait_until(look, "growth")
        other = json.loads(seep.command("top", pid, "--once", "--json", "-i", "20ms", "--growth-after",
                                        "1h").stdout)
    (said,) = [context for context in document["contexts"] if "growth" in context]
    assert document["frames"][said["blamed"]]["function"] == "enqueue_message"
    assert said["growth"]["verdict"] == "GROWING"
    assert document["totals"]["growing"]["contexts"] == entry["growing_contexts"] == 1
    assert document["totals"]["growing"]["bytes_per_hour"] == pytest.approx(
        entry["growing_bytes_per_hour"], rel=0.5)
    assert other["totals"]["growing"]["contexts"] == 0


@pytest.mark.parametrize("name, functions", (("queue", {"enqueue_message"}), ("list", {"append_audit"}),
                                             ("rings", set())))
def test_a_command_is_run_for_each_stack_that_grows(seep, tmp_path, name, functions):
    told = tmp_path / "told"
    values = "$SEEP_FUNCTION|$SEEP_CALLERS|$SEEP_HASH|$SEEP_PID|$SEEP_EVIDENCE"
    result, recordings = play(seep, name, "--on-growth", f'echo "{values}" >> {told}')
    assert result.status == 0
    lines = [line.split("|") for line in told.read_text().splitlines()] if told.exists() else []
    main = recordings.main()
    by_hash = {context["hash"]: context for context in main["contexts"]}
    assert {line[0] for line in lines} == functions and len(lines) == len({line[2] for line in lines})
    for function, callers, number, pid, evidence in lines:
        frames = [frame["function"] for frame in by_hash[number]["frames"]]
        assert function in frames and callers.split(" ← ")[-1] in frames[frames.index(function) + 1:]
        assert pid == str(main["process"]["pid"]) and "ever freed" in evidence


def test_blocks_that_stay_too_long_are_stale_until_they_are_freed(seep):
    result, recordings = seep.run([program("expired"), "4"], options=["--growth-after", "100ms"])
    truth = [int(word) for word in result.stdout.split()[1::2]]
    ((growth, _frame),) = growth_of(recordings.main())["take"]
    assert [growth["freed_late"], growth["stale_blocks"], growth["bytes"]] == [truth[0], 0, 0]
    assert growth["verdict"] is None
    assert growth["evidence"] == f"{truth[0]} blocks expired and then freed"
