# SPDX-License-Identifier: MIT
"""Wrong usage is told in one message on stderr, with status 2, and nothing is run."""

import pytest

from harness import program

WRONG = [
    ["run"],
    ["run", "--"],
    ["run", "--no-such-option", "--", "/bin/true"],
    ["run", "-o"],
    ["run", "--depth", "abc", "--", "/bin/true"],
    ["run", "--depth", "-1", "--", "/bin/true"],
    ["run", "--depth", "", "--", "/bin/true"],
    ["run", "--depth", " 5", "--", "/bin/true"],
    ["run", "--depth", "5x", "--", "/bin/true"],
    ["run", "--depth", "99999999999999999999999", "--", "/bin/true"],
    ["run", "--mode", "some", "--", "/bin/true"],
    ["report"],
    ["report", "--no-such-option"],
    ["report", ""],
    ["query", "", "SELECT 1"],
    ["query", "x.seep", ""],
    ["run", "-o", "", "/bin/true"],
    ["report", "--by", "colour", "x.seep"],
    ["report", "--top", "many", "x.seep"],
    ["no-such-command"],
]


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_usage_is_refused(seep, words):
    done = seep.command(*words, cwd=seep.directory)
    assert done.status == 2
    assert done.stdout == b""
    assert done.stderr.count(b"\n") <= 4 and done.stderr.strip()
    assert list(seep.directory.glob("*.seep")) == []


def test_a_missing_or_foreign_file_is_named(seep):
    missing = seep.command("report", "nothing.seep", cwd=seep.directory)
    (seep.directory / "text.seep").write_text("no recording\n" * 1000)
    foreign = seep.command("report", "text.seep", cwd=seep.directory)
    for done, name in ((missing, b"nothing.seep"), (foreign, b"text.seep")):
        assert done.status not in (0, 1) and done.status > 0
        assert done.stdout == b""
        assert name in done.stderr


@pytest.mark.parametrize(
    "value", ["bogus=1", "depth=abc", "depth=-1", "depth=", "mode=none", "=", "depth"]
)
def test_a_wrong_runtime_option_is_told_and_the_program_runs(seep, value):
    """The message goes to stderr; the program itself must not suffer."""
    result, _ = seep.run([program("mini_dlsym")], env={"SEEP_OPTIONS": value})
    assert result.status == 0
    assert b"truth by_next" in result.stdout
    assert result.stderr != b""


def test_help_is_on_stdout_and_lists_the_commands(seep):
    done = seep.command("--help")
    assert (done.status, done.stderr) == (0, b"")
    for command in (b"run", b"report"):
        assert command in done.stdout
