# SPDX-License-Identifier: MIT
"""The examples of scopes in C, C++ and Rust: each runs without seep as with it, and its figures are right."""

import shutil

import pytest

from harness import BUILD, SOURCE, by_path, need, run_plain

C = {
    **{(f"tenant={name}",): (100, 0, 0) for name in ("red", "green", "blue")},
    **{(f"tenant={name}", "parse"): (100, 200, 0) for name in ("red", "green", "blue")},
    **{(f"tenant={name}", "render"): (100, 100, 0) for name in ("red", "green")},
    ("tenant=blue", "render"): (100, 100, 100000),
    **{(f"report={name}",): (1, 1, 0) for name in ("red", "green", "blue")},
}
# What libstdc++ allocates for a vector or an exception is its own affair.
CXX = {
    ("job=thumbnails",): (12, None, 0),
    ("job=thumbnails", "load"): (12, None, 0),
    ("job=thumbnails", "check"): (12, None, 0),
    ("job=index",): (1, None, 0),
    ("job=index", "load"): (1, None, 0),
}
# The vector of what is kept is Rust's own affair.
RUST = {
    **{(f"tenant={name}",): (40, 0, 0) for name in ("red", "blue")},
    **{(f"tenant={name}", "render"): (40, 40, 0) for name in ("red", "blue")},
    **{(f"tenant={name}", "parse"): (40, 40, 0) for name in ("red", "blue")},
    ("tenant=blue", "cache of blue"): (40, None, None),
}


def check(seep, path, wanted):
    plain = run_plain([path])
    assert plain.status == 0 and plain.stderr == b""
    result, recordings = seep.run([path])
    result.same_as(plain)
    found = by_path(recordings.main())
    assert found.keys() == wanted.keys()
    for tags, (entries, allocs, held) in wanted.items():
        scope = found[tags]
        assert (scope["entries"], scope["active"]) == (entries, 0), tags
        assert allocs in (None, scope["allocs"]) and held in (None, scope["held_bytes"]), tags
    return found


@pytest.mark.fast
def test_requests_in_c(seep):
    check(seep, BUILD / "examples" / "requests", C)


@pytest.mark.fast
def test_jobs_in_cxx(seep):
    check(seep, BUILD / "examples" / "jobs", CXX)


@pytest.fixture(scope="module", name="crate")
def fixture_crate(tmp_path_factory):
    """A copy, since cargo writes beside the sources."""
    need("rustc")
    folder = tmp_path_factory.mktemp("crate") / "seep"
    built = shutil.ignore_patterns("target", "Cargo.lock")
    shutil.copytree(SOURCE / "examples" / "rust", folder, ignore=built)
    return folder


def cargo(crate, *words, **env):
    done = run_plain([need("cargo"), *words, "--offline", "--quiet"], cwd=crate, env=env)
    assert done.status == 0, done.stderr.decode()
    assert done.stderr == b""


@pytest.mark.parametrize("profile", ["debug", "release"])
def test_requests_in_rust(seep, crate, profile):
    cargo(crate, "build", "--example", "requests", *(["--release"] if profile == "release" else []))
    found = check(seep, crate / "target" / profile / "examples" / "requests", RUST)
    assert found["tenant=blue", "cache of blue"]["held_bytes"] >= 40 * 3000


def test_the_example_in_the_crates_description_runs(crate):
    cargo(crate, "test", "--doc", CARGO_TARGET_DIR="target")
