# SPDX-License-Identifier: MIT
"""A process says which memory is the library's, and which it took from the heap's end itself."""

import re

import pytest

from harness import program


def lines_of(seep, threads):
    done, _ = seep.run([program("own_facts"), str(threads)])
    assert done.status == 0, done
    return dict(line.split(" ", 1) for line in done.stdout.decode().splitlines())


@pytest.mark.parametrize("threads", [1, 200, pytest.param(5000, marks=pytest.mark.slow)])
def test_no_address_of_a_block_is_left_outside_of_the_librarys_own_memory(seep, threads):
    counts = re.fullmatch(r"(\d+) found (\d+) found_own (\d+)", lines_of(seep, threads)["own"])
    entries, found, found_own = map(int, counts.groups())
    assert found == 0
    # Each thread's state has the address of its last block.
    assert found_own >= threads
    assert entries < 100 + threads / 3


@pytest.mark.fast
def test_memory_taken_by_sbrk_and_brk_is_listed(seep):
    lines = lines_of(seep, 1)
    first, end = int(lines["at"], 16), int(lines["end"], 16)
    taken = f"{first:x}-{first + 8192 - 16:x}"
    assert lines["sbrk"] == f"{first:x}-{first + 12288:x}"
    assert lines["less"] == taken
    assert lines["libc"] == "1", "libc took nothing: the step shows nothing"
    assert lines["brk"] == f"{taken} {end:x}-{end + 100:x}"
    assert lines["refused"] == "1 1 1 1"
    assert lines["still"] == lines["brk"] == lines["parent"]
    assert lines["child"] == f"{taken} {end:x}-{end + 164:x}"


def test_a_block_in_realloc_is_named_meanwhile(seep):
    done, _ = seep.run([program("resizing")], env={"SEEP_OPTIONS": "forks=0"})
    assert done.status == 0, done
    assert done.stdout.decode().splitlines() == [
        "meanwhile block 1",
        "after block 0",
        "meanwhile block 1",
        "left block 1",
        "meanwhile block 1",
        "again block 0",
        "meanwhile block 1",
        "child block 0",
    ]
