# SPDX-License-Identifier: MIT
"""With --by-thread each stack is counted under the name that its thread had at the time."""

import re

import pytest

from harness import check_truth, contexts_of, record_with_truth

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


def test_names_beyond_the_limit_are_counted_together_and_that_is_said(seep):
    recordings, truth, _ = record(seep, "1100")
    report = recordings.main()
    check_truth(report, truth)
    found = by_thread(report, "kept")
    assert found["worker 0"] == (1, 100)
    # The main thread may have taken one of the 1,024.
    assert found["(all other threads)"][0] in (76, 77)
    assert "thread-names" in {line["code"] for line in report["unseen"]}
