# SPDX-License-Identifier: MIT
"""With --by-thread each stack is counted under the name that its thread had at the time."""

import re

import pytest

from harness import check_truth, contexts_of, record_with_truth

STORM_NAMES = ("main", "own a", "own b", "other a", "other b")
NAME_LINE = re.compile(r"^thread (.*) allocs=(\d+) bytes=(\d+)$", re.M)


def by_thread(report, function):
    """(allocations, bytes) through a function, by thread name."""
    found = {}
    for context in contexts_of(report, function):
        allocs, size = found.get(context["thread"], (0, 0))
        found[context["thread"]] = (allocs + context["allocs"], size + context["alloc_bytes"])
    return found


def record(seep, *arguments, options=("--by-thread",)):
    recordings, truth = record_with_truth(seep, "by_thread", *arguments, options=options)
    text = (seep.directory / f"truth-{seep.count}").read_text()
    names = {n: (int(a), int(b)) for n, a, b in NAME_LINE.findall(text)}
    return recordings, truth, names


@pytest.mark.fast
def test_every_allocation_is_counted_under_the_name_of_its_moment(seep):
    recordings, truth, names = record(seep)
    report = recordings.main()
    check_truth(report, truth)
    assert len(names) == 5
    assert by_thread(report, "kept") == names


def test_a_forked_child_goes_on_with_its_own_names(seep):
    recordings, _, _ = record(seep)
    parent = recordings.main()["process"]["pid"]
    (child,) = [r for r in recordings.all() if r["process"]["ppid"] == parent]
    assert by_thread(child, "kept") == {"main name": (1000, 8000), "the child": (1000, 8000)}


def test_without_the_option_threads_share_their_stacks(seep):
    recordings, truth, _ = record(seep, options=())
    report = recordings.main()
    check_truth(report, truth)
    assert by_thread(report, "kept").keys() == {None}


def test_names_that_change_all_the_time_lose_no_allocation(seep):
    recordings, truth, _ = record(seep, "storm")
    report = recordings.main()
    check_truth(report, truth)
    found = by_thread(report, "kept")
    assert found.keys() >= {"stormby own a", "stormby own b"}
    # And no name was read in the middle of a change.
    assert found.keys() <= {f"stormby {name}" for name in STORM_NAMES}


def test_names_beyond_the_limit_are_counted_together_and_that_is_said(seep):
    recordings, truth, _ = record(seep, "4200")
    report = recordings.main()
    check_truth(report, truth)
    found = by_thread(report, "kept")
    assert found["worker 0"] == (1, 100)
    # The main thread may have taken one of the 4,094.
    assert found["(all others)"][0] in (106, 107)
    assert "thread-names" in {line["code"] for line in report["unseen"]}


# ---- in a report ---------------------------------------------------------------------------


def shown(seep, recordings, *options):
    done = seep.command("report", recordings.path, *options)
    assert done.status == 0, done.stderr.decode()
    return done.stdout.decode()


def test_a_report_lists_the_threads_and_whose_each_stack_is(seep):
    recordings, _, _ = record(seep, "20")
    text = shown(seep, recordings)
    # 20 workers and main.
    assert re.search(r"^THREAD +LIVE +BLOCKS +PEAK +ALLOCS +%$", text, re.M)
    assert re.search(r"^\(13 more\) +1\.3 KB +13 ", text, re.M)
    assert re.search(r"threads: worker \d+ 5\.0%, .* and 17 more", text)
    assert text.count("     kept ") == 1
    apart = shown(seep, recordings, "--by-thread", "--top", "100")
    assert apart.count("100 B (") == apart.count("     kept ") == 20
    assert len(re.findall(r", thread worker \d+$", apart, re.M)) == 20


def test_a_report_of_some_threads_keeps_the_shares_of_the_whole(seep):
    recordings, _, names = record(seep)
    text = shown(seep, recordings, "--thread", "first", "--thread", "second")
    whole = recordings.main()["totals"]["live_bytes"]
    share = 100 * (names["first"][1] + names["second"][1]) / whole
    assert f"Shown: thread first, second only, {share:.1f}% of the bytes live" in text
    assert "other_named" not in text
    # Other views, and what makes no sense.
    for view in ("--tree", "--flat", "--raw"):
        assert "self_named" in shown(seep, recordings, "--thread", "first", view)
        assert "other_named" not in shown(seep, recordings, "--thread", "first", view)
    assert seep.command("report", recordings.path, "--by-thread", "--tree").status == 2


def test_a_report_by_thread_of_a_recording_without_threads_is_refused_with_the_remedy(seep):
    recordings, _, _ = record(seep, options=())
    done = seep.command("report", recordings.path, "--thread", "first")
    assert done.status == 2 and done.stdout == b""
    assert b"seep run --by-thread" in done.stderr


def test_a_thread_that_is_not_there_is_an_error_that_names_those_that_are(seep):
    recordings, _, _ = record(seep)
    done = seep.command("report", recordings.path, "--thread", "frist")
    assert done.status == 2 and done.stdout == b""
    assert b'no thread of any stack matches "frist"; did you mean first?' in done.stderr
