# SPDX-License-Identifier: MIT
"""What grows is named with file and line, while it runs and when it has freed everything."""

import os
import re
import subprocess

import pytest

from harness import LIMIT_S, SEEP, SOURCE, program
from running import watched

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


def test_ps_has_the_trend_while_it_runs(seep):
    process = subprocess.Popen(
        [SEEP, "run", "-q", *AFTER, "-o", seep.directory / "x.seep", "--",
         program("growth_list"), str(UNIT_MS), "1"],
        env={**os.environ, **seep.environment()}, stdout=subprocess.DEVNULL)
    growing = []
    while process.poll() is None and not growing:
        growing = [entry for entry in watched(seep) if entry.get("growing_contexts")]
    process.communicate(timeout=LIMIT_S)
    assert growing and growing[0]["growing_bytes_per_hour"] > 0


def test_blocks_that_stay_too_long_are_stale_until_they_are_freed(seep):
    result, recordings = seep.run([program("expired"), "4"], options=["--growth-after", "100ms"])
    truth = [int(word) for word in result.stdout.split()[1::2]]
    ((growth, _frame),) = growth_of(recordings.main())["take"]
    assert [growth["freed_late"], growth["stale_blocks"], growth["bytes"]] == [truth[0], 0, 0]
    assert growth["verdict"] is None
    assert growth["evidence"] == f"{truth[0]} blocks expired and then freed"
