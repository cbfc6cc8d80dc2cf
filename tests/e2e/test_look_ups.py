# SPDX-License-Identifier: MIT
"""dlsym() finds what it finds without seep, but for functions that seep stands in front of."""

import os
import subprocess

import pytest

from harness import LIMIT_S, RUNTIME, program

IN_LIBC = {f"{name} in libc{old}: libc.so.6" for name in ("malloc", "free") for old in ("", ", old")}
# By a version RTLD_NEXT has always passed over libraries without versions.
OTHERS = {"malloc behind the library", "malloc behind, old", "free behind the library", "free behind, old"}


def lines(seep, *preload):
    done = subprocess.run(
        [program("looks_up")],
        env={**os.environ, **seep.environment({"LD_PRELOAD": ":".join(map(str, preload))})},
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert done.stderr == b"errno 77\n"
    return done.stdout.decode().splitlines()


@pytest.mark.fast
def test_look_ups_find_the_same_and_the_hooks(seep):
    plain, recorded = lines(seep), lines(seep, RUNTIME)
    differ = [(a, b) for a, b in zip(plain, recorded, strict=True) if a != b]
    assert {a for a, _ in differ} >= IN_LIBC
    assert all(b == a.replace("libc.so.6", "libseep.so") for a, b in differ)
    assert {a.split(":")[0] for a in plain if a.startswith(("malloc", "free"))} - {
        a.split(":")[0] for a, _ in differ
    } == OTHERS


@pytest.mark.parametrize("first", [True, False])
def test_another_library_in_front_of_dlsym_finds_the_same(seep, first):
    other = program("lib_hooks_dlsym.so")
    order = (RUNTIME, other) if first else (other, RUNTIME)
    for before, now in zip(lines(seep, other), lines(seep, *order), strict=True):
        assert now in (before, before.replace("libc.so.6", "libseep.so"))
        assert now == before or before.startswith(("malloc", "free"))


def test_a_malloc_that_calls_what_it_looked_up_is_called_once(seep):
    done, recordings = seep.run([program("own_malloc_looked_up")])
    assert (done.status, done.stdout) == (0, b"1000 calls\n")
    assert recordings.main()["totals"]["allocs"] >= 1000
