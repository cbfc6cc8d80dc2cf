# SPDX-License-Identifier: MIT
"""Real programs do not notice: same output and status, and an independent count agrees.

Each program runs plainly, recorded, and under tests/programs/lib_count.c. Where two runs never
allocate alike (hashes and threads of Python's tests) one run is both recorded and counted.
"""

import subprocess
import sys

import pytest

import real_inputs
from harness import (
    SEEP,
    SOURCE,
    count_environment,
    need,
    program,
    read_counts,
    run_plain,
    total_allocs,
)

HERE = SOURCE / "tests" / "e2e"
PYTHON_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "PYTHONMALLOC": "malloc",
    "PYTHONDONTWRITEBYTECODE": "1",
}


# What the recorded run has beside the counted one: programs that copy their environment count it.
AS_MANY_VARIABLES = {"SEEP_DIR": "", "SEEP_SESSION": ""}


def check_no_loss(reports):
    for report in reports:
        assert report["totals"]["dropped"] == 0, report["process"]["exe"]
        assert report["totals"]["in_doubt"] == 0, report["process"]["exe"]


def check_count(reports, counts):
    """The family's allocations agree within a thousandth with the independent count."""
    counted = sum(c.allocs for c in counts if c.exe != str(SEEP))
    recorded = total_allocs(reports)
    assert counted > 0
    by_exe = {}
    for c in counts:
        by_exe[c.exe] = by_exe.get(c.exe, 0) + c.allocs
    assert abs(recorded - counted) <= counted / 1000, (recorded, counted, by_exe)


def compare(seep, command, env=None, stdin=None, outputs=()):
    """Plain, counted and recorded runs of the same command in the test's directory."""
    folder = seep.directory
    env = {"LC_ALL": "C", **(env or {})}

    def produced():
        return [(folder / name).read_bytes() for name in outputs]

    plain = run_plain(command, cwd=folder, env=env, stdin=stdin)
    plain_outputs = produced()
    counted = run_plain(
        command,
        cwd=folder,
        env=count_environment(folder / "counts", {**env, **AS_MANY_VARIABLES}),
        stdin=stdin,
    )
    counted.same_as(plain)
    recorded, recordings = seep.run(
        command, cwd=folder, env={**env, "COUNT_PREFIX": ""}, stdin=stdin
    )
    recorded.same_as(plain)
    assert produced() == plain_outputs
    reports = recordings.summaries()
    check_no_loss(reports)
    check_count(reports, read_counts(folder / "counts"))


def compare_one_run(seep, command, env=None):
    """Plain, and then one run that is both recorded and counted."""
    folder = seep.directory
    env = {"LC_ALL": "C", **(env or {})}
    plain = run_plain(command, cwd=folder, env=env)
    both, recordings = seep.run(
        command, cwd=folder, env=count_environment(folder / "counts", env)
    )
    both.same_as(plain)
    reports = recordings.summaries()
    check_no_loss(reports)
    check_count(reports, read_counts(folder / "counts"))


def test_bash(seep):
    real_inputs.words(seep.directory / "words.txt")
    script = seep.directory / "script.sh"
    script.write_text(real_inputs.BASH)
    compare(seep, [need("bash"), script])


def test_perl(seep):
    real_inputs.words(seep.directory / "words.txt")
    script = seep.directory / "script.pl"
    script.write_text(real_inputs.PERL)
    compare(seep, [need("perl"), script], env={"PERL_HASH_SEED": "0"})


def test_sqlite3(seep):
    script = seep.directory / "script.sql"
    script.write_text(real_inputs.SQL)
    compare(seep, [need("sqlite3"), ":memory:"], stdin=script)


@pytest.mark.parametrize(
    "arguments",
    [
        ["log", "--patch", "--stat"],
        ["blame", "file0.txt"],
        ["status"],
        ["fsck", "--full"],
        ["grep", "-n", "new in 1"],
        ["rev-parse", "no-such-thing"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_git(seep, arguments):
    need("git")
    folder = seep.directory / "repository"
    real_inputs.repository(folder)
    command = [need("git"), "-C", folder, "-c", "grep.threads=1", *arguments]
    compare(seep, command, env=real_inputs.GIT_ENVIRONMENT)


def test_gcc(seep):
    source = SOURCE / "tests" / "programs" / "api_all.c"
    words = ["-std=gnu17", "-O2", "-g", "-Wall", "-D_GNU_SOURCE=", "-c", source, "-o", "out.o"]
    compare(seep, [need("gcc"), *words], outputs=["out.o"])


def test_gcc_with_an_error(seep):
    source = seep.directory / "broken.c"
    source.write_text("#include <stdio.h>\nint main(void) { return missing(1 }\n")
    compare(seep, [need("gcc"), "-c", source, "-o", "out.o"])


def test_gxx_compiles_and_links(seep):
    source = SOURCE / "tests" / "programs" / "operators.cc"
    words = ["-std=c++17", "-O1", "-g", source, "-o", "out"]
    compare(seep, [need("g++"), *words], outputs=["out"])


def python_with_tests():
    """An interpreter that has its own test suite; distributions ship it apart."""
    for name in (sys.executable, "python3"):
        done = subprocess.run(
            [
                name,
                "-c",
                "import sys, test.test_json, test.test_dict, test.test_threading;"
                "print(sys.executable)",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout.strip()
    pytest.skip("no python3 here has its own tests (package libpython3.11-testsuite)")


@pytest.mark.slow
@pytest.mark.parametrize("module", ["test_json", "test_dict", "test_threading"])
def test_pythons_own_tests(seep, module):
    command = [python_with_tests(), HERE / "outcomes.py", f"test.{module}"]
    compare_one_run(seep, command, env=PYTHON_ENVIRONMENT)


@pytest.mark.fast
def test_two_counts_of_one_run_are_equal(seep):
    """Every call of the program's own is in both, to the last."""
    folder = seep.directory
    env = count_environment(folder / "counts", {"TRUTH_FILE": str(folder / "truth")})
    result, recordings = seep.run([program("api_all")], env=env)
    assert (result.status, result.stderr) == (0, b"")
    (counts,) = [c for c in read_counts(folder / "counts") if c.exe.endswith("/api_all")]
    totals = recordings.main()["totals"]
    assert (totals["allocs"], totals["frees"]) == (counts.allocs, counts.frees)
