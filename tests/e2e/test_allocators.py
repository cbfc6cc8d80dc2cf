# SPDX-License-Identifier: MIT
"""Programs with another malloc than glibc's: what comes by us is counted to the byte, what does
not is said, and the program never notices."""

import ctypes.util
import os
import pathlib

import pytest

from harness import (
    SOURCE,
    check_truth,
    contexts_of,
    need,
    parse_truth,
    program,
    record_with_truth,
    run_plain,
)

PRELOADS = ["jemalloc", "tcmalloc_minimal", "tcmalloc", "mimalloc"]
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")


def library(name):
    """The path of a shared library of this machine; without it the test is skipped."""
    soname = ctypes.util.find_library(name)
    if soname is None:
        pytest.skip(f"lib{name} is not installed")
    return LIBRARIES / soname


def codes(report):
    return [entry["code"] for entry in report["unseen"]]


def detail(report, code):
    found = [entry["detail"] for entry in report["unseen"] if entry["code"] == code]
    assert found, f"no {code} among {codes(report)}"
    return found[0]


def build(seep, source, *words, name=None):
    """A test program linked in a way that needs a package which a plain build does without."""
    output = seep.directory / (name or pathlib.Path(source).stem)
    compiler = "g++" if str(source).endswith(".cc") else "gcc"
    done = run_plain(
        [need(compiler), "-O2", "-g", "-w", SOURCE / "tests/programs" / source, *words, "-o", output],
        env={"CPATH": str(SOURCE / "tests/programs")},
    )
    assert done.status == 0, done.stderr.decode(errors="replace")
    return output


def record(seep, command, env=None, options=()):
    """Run plainly and recorded, alike to the byte; the main report and the truth."""
    folder = seep.directory
    plain_truth, truth = folder / "plain.truth", folder / "recorded.truth"
    plain = run_plain(command, cwd=folder, env={**(env or {}), "TRUTH_FILE": str(plain_truth)})
    result, recordings = seep.run(
        command, cwd=folder, env={**(env or {}), "TRUTH_FILE": str(truth)}, options=options
    )
    result.same_as(plain)
    return recordings, truth


# ---- preloaded -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRELOADS)
def test_a_preloaded_allocator_is_counted_to_the_byte(seep, name):
    path = library(name)
    recordings, truth = record_with_truth(
        seep, "any_allocator", env={"LD_PRELOAD": str(path)}, options=["--follow", "any"]
    )
    report = recordings.main()
    check_truth(report, truth)
    assert report["process"]["allocator"] == str(path)
    assert report["totals"]["missed_frees"] == 0
    assert report["totals"]["untracked_frees"] == 0
    assert report["totals"]["usable_bytes"] >= report["totals"]["live_bytes"]
    assert "other-allocator" in codes(report)
    kinds = {
        "any_malloc": {"malloc"},
        "any_new": {"new"},
        "any_new_array_nothrow": {"new[]"},
        "any_new_aligned": {"aligned new"},
        "any_new_array_aligned": {"aligned new[]"},
    }
    for function, expected in kinds.items():
        assert {c["kind"] for c in contexts_of(report, function)} == expected, function
    # The forked child: its own truth, and what it inherited.
    (child,) = [r for r in recordings.all() if r["process"]["pid"] != report["process"]["pid"]]
    path = next(p for p in seep.directory.glob("truth-*.*"))
    check_truth(child, parse_truth(path.read_text()))
    assert child["totals"]["inherited_frees"] == 1


@pytest.mark.parametrize("name", ["realloc_chain", "temporaries", "dlopen_reload"])
@pytest.mark.parametrize("allocator", ["jemalloc", "tcmalloc_minimal", "mimalloc"])
def test_the_ground_truth_programs_under_other_allocators(seep, allocator, name):
    env = {"LD_PRELOAD": str(library(allocator))}
    recordings, truth = record_with_truth(seep, name, env=env)
    check_truth(recordings.main(), truth)


def test_blocks_that_an_allocator_does_not_know_are_not_shown_to_it(seep):
    """jemalloc has no pvalloc: libc's gives a block whose usable size jemalloc must not be asked."""
    env = {"LD_PRELOAD": str(library("jemalloc"))}
    recordings, truth = record_with_truth(seep, "lone_pvalloc", env=env)
    check_truth(recordings.main(), truth)


def test_an_allocator_that_wraps_sizes_does_not_spoil_the_sums(seep):
    """tcmalloc's pvalloc rounds a size near 2^64 up to 0 and succeeds."""
    env = {"LD_PRELOAD": str(library("tcmalloc_minimal"))}
    recordings, _ = record(seep, [program("lone_pvalloc"), "wrap"], env=env)
    assert recordings.main()["totals"]["alloc_bytes"] < 1 << 30
