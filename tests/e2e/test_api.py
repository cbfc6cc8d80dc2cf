# SPDX-License-Identifier: MIT
"""What a program may say to the library, and ask it, beside leaks, marks and scopes: seep.h."""

import re
import signal

import pytest

from harness import RUNTIME, check_truth, contexts_of, parse_truth, program, record_with_truth
from harness import run_plain


@pytest.mark.fast
def test_what_a_thread_does_not_want_recorded_is_not(seep):
    plain = run_plain([program("recording_off")])
    done, recordings = seep.run([program("recording_off")])
    assert plain.stdout.startswith(b"0 0 0\n") and done.stdout.startswith(b"0 1 1\n")
    report = recordings.main()
    check_truth(report, parse_truth(done.stdout.decode().split("\n", 1)[1]))
    assert report["findings"] == []
    assert "mode-changed" in {line["code"] for line in report["unseen"]}


def test_a_child_goes_on_unrecorded(seep):
    done, recordings = seep.run([program("recording_off"), "child"])
    assert done.stderr == b"child 0\n"
    (main,) = recordings.all()
    assert main["forked"]["alloc_bytes"] < 1 << 20


CASES = [
    ("api_live", "stacks", ""),
    ("api_live", "tags", "thread ''\n"),
    ("api_live", "forked", ""),
    ("api_live", "hooks", ""),
    ("api_live", "storm", ""),
    ("bionic_info", "arguments", ""),
    ("bionic_info", "empty", ""),
    ("bionic_info", "single", ""),
    ("bionic_info", "multi", ""),
    ("bionic_info", "wrong", ""),
    ("api_sizes", "pointers", ""),
    ("api_sizes", "sums", ""),
    ("api_sizes", "forked", ""),
]
OPTIONS = {"bionic_info": ["--mode", "scoped"]}


@pytest.mark.parametrize("name, case, said", CASES)
def test_what_a_program_is_told_is_what_it_did(seep, name, case, said):
    done, _ = seep.run([program(name), case], OPTIONS.get(name, ()))
    assert done.stdout.decode() == said + "failures 0\n"
    assert (done.status, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", sorted({name for name, _, _ in CASES}))
def test_without_the_library_nothing_is_told(name):
    done = run_plain([program(name), "stacks"])
    assert (done.status, done.stdout, done.stderr) == (0, b"no library\nfailures 0\n", b"")


def test_threads_are_told_apart_if_that_is_asked_for(seep):
    done, _ = seep.run([program("api_live"), "tags"], ["--by-thread"])
    assert done.stdout == b"thread 'worker'\nfailures 0\n"


def test_a_ledger_of_anything_leads_nowhere(seep):
    done, _ = seep.run([program("api_live"), "scribbled"])
    assert (done.status, done.stdout) == (0, b"")


def test_a_process_that_is_not_recorded_has_nothing_to_tell():
    """No ledger is made where files may not be as large."""
    words = f"ulimit -f 100; LD_PRELOAD={RUNTIME} exec {program('bionic_info')} empty"
    done = run_plain(["sh", "-c", words])
    assert (done.status, done.stdout) == (0, b"failures 0\n")


def records(text):
    """Of a heap dump, as Android's viewer reads it: (z, size, number, frames)."""
    assert text.startswith("Android Native Heap Dump v1.2\n\nBuild fingerprint: ")
    head, maps = text.split("MAPS\n")
    found = [(int(z), int(size), int(number), frames.split())
             for z, size, number, frames in
             re.findall(r"^z ([01])  sz +(\d+)  num +(\d+)  bt((?: [0-9a-f]+)*)$", head, re.M)]
    total, count, depth = map(int, re.findall(r"^(?:Total|Alloc|Back)[^:]*: (\d+)$", head, re.M))
    assert total == sum(size * number for _, size, number, _ in found)
    assert (count, depth) == (len(found), max(len(frames) for *_, frames in found))
    assert maps.endswith("\nEND\n") and "bionic_info" in maps
    modules = [[int(word, 16) for word in re.match(r"(\w+)-(\w+) r-xp", line).groups()]
               for line in maps.splitlines() if " r-xp " in line]
    for _, _, _, frames in found:
        for at in frames:
            assert any(begin < int(at, 16) <= end for begin, end in modules), at
    return found


def test_a_heap_dump_has_what_is_alive_and_the_mappings(seep):
    done, _ = seep.run([program("bionic_info"), "dump"], ["--mode", "scoped"])
    text, failures = done.stdout.decode().split("END\n")
    assert failures == "failures 0\n"
    assert [found[:3] for found in records(text + "END\n")] == [(0, 4100, 2), (0, 500, 1)]


def test_what_a_child_allocated_is_told_from_what_it_inherited(seep):
    done, _ = seep.run([program("bionic_info"), "forked"], ["--mode", "scoped"])
    text, failures = done.stdout.decode().split("END\n")
    assert failures == "failures 0\n"
    inherited, own = records(text + "END\n")
    assert (inherited[:3], inherited[3], own[:3]) == ((0, 1000, 2), [], (1, 2000, 1))


@pytest.mark.parametrize("case", ["", "tight", "wrong", "child"])
def test_blocks_of_a_pool_count_where_they_were_given_out(seep, case):
    recordings, truth = record_with_truth(seep, "api_pools", *case.split())
    report = recordings.main()
    check_truth(report, truth)
    kinds = {c["kind"] for c in contexts_of(report, "carve_small")}
    assert kinds == {"pool"} and report["findings"] == []
    assert ("unaligned" in {line["code"] for line in report["unseen"]}) == (case in ("tight", "wrong"))


def test_what_is_freed_past_its_pool_is_a_finding(seep):
    done, recordings = seep.run([program("api_pools"), "freed"])
    assert done.status == -signal.SIGABRT
    (finding,) = recordings.main()["findings"]
    assert (finding["kind"], finding["expected"]) == ("mismatched-free", "seep_pool_free")


@pytest.mark.parametrize("options", [["--guard"], ["--quarantine"], ["--mode", "scoped"]], ids="".join)
def test_where_pools_are_not_told_apart_their_chunks_are(seep, options):
    done, recordings = seep.run([program("api_pools")], options)
    report = recordings.main()
    assert done.status == 0 and report["findings"] == []
    assert not contexts_of(report, "carve_small")
