# SPDX-License-Identifier: MIT
"""Wrong usage is told in one message on stderr, with status 2, and nothing is run."""

import pytest

from harness import program
from help_text import commands

# The words, and what the message has to say of them.
WRONG = [
    (["-x"], "-x is not an option of seep itself"),
    (["no-such-command"], "unknown command 'no-such-command'"),
    (["qurey"], 'did you mean "seep query"'),
    (["query", "--jsno", "a", "b"], "did you mean --json"),
    (["run"], "an argument is missing"),
    (["run", "--"], "an argument is missing"),
    (["run", "--no-such-option", "--", "/bin/true"], "unknown option --no-such-option"),
    (["run", "-o"], "--output needs a value"),
    (["run", "-o", "", "/bin/true"], "the name of the recording is empty"),
    (["run", "--depth", "abc", "--", "/bin/true"], "--depth: 'abc' is not a number"),
    (["run", "--depth", "-1", "--", "/bin/true"], "--depth: '-1' is not a number"),
    (["run", "--depth", "", "--", "/bin/true"], "--depth: '' is not a number"),
    (["run", "--depth", " 5", "--", "/bin/true"], "--depth: ' 5' is not a number"),
    (["run", "--depth", "5x", "--", "/bin/true"], "--depth: '5x' is not a number"),
    (["run", "--depth", "99999999999999999999999", "--", "/bin/true"], "too large"),
    (["run", "--mode", "some", "--", "/bin/true"], "must be one of all, scoped, off"),
    (["run", "--follow", "(", "/bin/true"], "'(' is not a regular expression"),
    (["run", "--growth-after", "1ms", "--", "true"], "--growth-after is below 100 ms"),
    (["run", "--growth-after", "0", "--growth-exitcode", "3", "--", "true"],
     "--growth-exitcode needs growth to be looked for"),
    (["run", "--ledger-max", "99E", "/bin/true"], "--ledger-max: '99E' is too large"),
    (["run", "--ledger-max", "1", "/bin/true"],
     "--ledger-max: '1' is too small; the minimum is 256 KB"),
    (["run", "--ledger-max", "0", "/bin/true"], "--ledger-max: '0' is too small"),
    (["run", "--ledger-max", "x", "/bin/true"], "--ledger-max: 'x' is not a size"),
    (["run", "--size-min", "2K", "--size-max", "1K", "true"], "--size-max is below --size-min"),
    (["run", "--module", "", "/bin/true"], "--module needs the name"),
    (["run", "--module", "x" * 5000, "/bin/true"],
     "--module are too long: all options together have room for 4095 bytes"),
    (["run", "--size-max", "99E", "/bin/true"], "--size-max: '99E' is too large"),
    (["run", "--size-max", "much", "/bin/true"], "--size-max: 'much' is not a size"),
    (["run", "--snapshot-every", "0", "/bin/true"], "the minimum is 10 ms"),
    (["run", "--snapshot-every", "5ms", "/bin/true"], "--snapshot-every: '5ms' is too small"),
    (["run", "--snapshot-every", "soon", "true"], "--snapshot-every: 'soon' is not a duration"),
    (["run", "--snapshot-every", "1s", "--snapshot-keep", "0", "/bin/true"],
     "--snapshot-keep: '0' is too small"),
    (["report"], "usage"),
    (["report", "--no-such-option"], "unknown option --no-such-option"),
    (["report", ""], "argument 1 is empty"),
    (["report", "/nonexistent.seep"], "/nonexistent.seep: no such file"),
    (["report", "/etc/passwd"], "/etc/passwd: neither a recording nor a ledger"),
    (["report", "--by", "colour", "x.seep"], "--by: 'colour' must be one of"),
    (["report", "--by", "size", "x"], "must be one of live, peak, allocs, temporary"),
    (["report", "--top", "many", "x.seep"], "--top: 'many' is not a number"),
    (["report", "--tree", "--flat", "x"], "exclude each other"),
    (["report", "--top", "3", "--tree", "x"], "cannot be used with --tree"),
    (["report", "--module", "", "x"], "name of a module"),
    (["report", "--module", "!", "x"], "name of a module"),
    (["query", "", "SELECT 1"], "argument 1 is empty"),
    (["query", "x.seep", ""], "argument 2 is empty"),
    (["leaks", "--leak-kinds=lots", "x.seep"], "--leak-kinds: 'lots' must be one of all, LOST,"),
    (["leaks", "--why=there", "x.seep"], "--why: 'there' must be an address"),
    (["leaks", "--error-exitcode=0", "x.seep"], "--error-exitcode: '0' is too small"),
    (["leaks", "--error-exitcode=256", "x.seep"], "--error-exitcode: '256' is too large"),
    (["leaks", "--suppressions=missing.supp", "x.seep"], "missing.supp: no such file"),
    (["leaks", "missing.seep"], "missing.seep: no such file"),
    (["top", "--json"], "--json needs --once"),
    (["top", "--once", "--csv"], "exclude each other"),
    (["top", "--wait", "x", "1"], "names the process already"),
    (["top", "--interval", "1ms", "--once"], "--interval"),
    (["top", "--once", "0"], "no ledger of process 0"),
    (["top", "--once", "/no/such"], "no process that is recorded is called /no/such"),
    (["top", "--once", "nosuch"], "no process that is recorded is called nosuch"),
    (["ps", "--json=odd"], "--json: 'odd' must be strings"),
    (["ps", "one", "two"], "'two' is one argument too many"),
    (["ps", "--reap", "--json"], "--reap cannot be used with --json"),
    (["completion", "csh"], "csh"),
    (["help", "--man", "nothing"], "nothing"),
]


@pytest.mark.fast
@pytest.mark.parametrize("words, said", WRONG, ids=[" ".join(words)[:60] for words, _ in WRONG])
def test_wrong_usage_is_refused(seep, words, said):
    done = seep.command(*words, cwd=seep.directory)
    assert (done.status, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") <= 4 and done.stderr.strip()
    text = done.stderr.decode()
    command = f"seep {words[0]}" if words[0] in commands() else "seep"
    assert text.startswith(f"{command}: ") and said in text
    assert list(seep.directory.glob("*.seep")) == []


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
