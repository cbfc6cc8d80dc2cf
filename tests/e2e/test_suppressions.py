# SPDX-License-Identifier: MIT
"""Rules in each syntax hide what they say of a running process, and hashes hold from run to run."""

import subprocess

import pytest

from harness import LIMIT_S, need, program, read_report
from running import start, wait_until, watched

ALL = {"LOST": 192, "LOST-WITH": 720}
BLOCK = "{{\nlists\nMemcheck:Leak\n{}\n}}\n"

# What each rule leaves. The program loses three blocks in lose_lists(), which lead to lists of make_list().
RULES = {
    "function": ("leak:^lose_lists$", {}),
    "file": ("leak:loses_lists.c", {}),
    "module": ("leak:/loses_lists$", {}),
    "callee": ("leak:make_list", {"LOST": 192}),
    "elsewhere": ("leak:lose_list$\nleak:^ake_list\nleak:libother.so", ALL),
    "root": (BLOCK.format("match-leak-kinds: definite\nfun:calloc\nfun:lose_lists"), {}),
    "with": (BLOCK.format("match-leak-kinds: indirect\n...\nfun:main"), {"LOST": 192}),
    "other kind": (BLOCK.format("match-leak-kinds: possible\n...\nfun:main"), ALL),
    "other function": (BLOCK.format("fun:malloc\nfun:lose_lists"), ALL),
    "object": (BLOCK.format("fun:calloc\nobj:*/loses_lists\nfun:main"), {}),
    "source": (BLOCK.format("fun:calloc\nsrc:loses_lists.c:*\nfun:main"), {}),
}


@pytest.fixture
def begin(seep):
    """Starts the program; its pid when it has lost all that it loses."""
    processes = []

    def one():
        process = start(seep, [program("loses_lists")], stdin=subprocess.PIPE)
        processes.append(process)
        assert process.stdout.readline() == b"ready\n"
        wait_until(lambda: len(watched(seep, "recorded")) == len(processes), "the recorder")
        (new,) = {x["pid"] for x in watched(seep, "recorded")} - set(known)
        known.append(new)
        return new

    known = []
    yield one
    for process in processes:
        process.communicate(timeout=LIMIT_S)


def judge(seep, pid, rules):
    """The leaks of a process, and what each rule hit."""
    path = seep.directory / "rules.supp"
    path.write_text(rules)
    done = seep.command("leaks", "--json", "--suppressions", path, str(pid))
    assert done.status == 0, done.stderr.decode()
    report = read_report(done.stdout)
    assert sum(x["bytes"] for x in report["leaks"] if x["verdict"] != "RUNTIME") == 912
    return report["leaks"], {x["text"]: x["bytes"] for x in report["scan"]["suppressions"]
                             if x["file"]}


def lost(leaks):
    sums = {}
    for leak in leaks:
        if leak["verdict"].startswith("LOST"):
            sums[leak["verdict"]] = sums.get(leak["verdict"], 0) + leak["bytes"]
    return sums


def test_each_syntax_hides_what_it_says(seep, begin):
    pid = begin()
    for name, (rules, left) in RULES.items():
        leaks, hits = judge(seep, pid, rules)
        assert lost(leaks) == left, name
        assert sum(hits.values()) == 912 - sum(left.values()), name


def test_a_hash_holds_in_another_run(seep, begin):
    leaks, _ = judge(seep, begin(), "leak:nowhere")
    (root,) = [x for x in leaks if x["verdict"] == "LOST"]
    rule = f"hash:{root['hash']}"
    leaks, hits = judge(seep, begin(), rule)
    assert lost(leaks) == {}
    assert hits == {rule: 912}


def test_valgrind_matches_what_is_generated(seep, begin):
    need("valgrind")
    done = seep.command("leaks", "--gen-suppressions", "--leak-kinds=lost", str(begin()))
    assert done.status == 0
    path = seep.directory / "generated.supp"
    path.write_bytes(done.stdout)
    for options, status in ([], 9), ([f"--suppressions={path}"], 0):
        valgrind = subprocess.run(["valgrind", "-q", "--leak-check=full", "--error-exitcode=9",
                                   *options, program("loses_lists")], stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=LIMIT_S, check=False)
        assert valgrind.returncode == status, valgrind.stderr.decode()


@pytest.mark.parametrize("rules,line", [
    ("leak:fine\nrace:foo\n", 2), ("leak:*", 1), (BLOCK.format("...\nfun:*"), 1),
    ("leak:fine\n{\nopen\nMemcheck:Leak\nfun:x\n", 2)], ids=["race", "all", "any", "open"])
def test_what_cannot_be_read_is_told_by_its_line(seep, rules, line):
    path = seep.directory / "rules.supp"
    path.write_text(rules)
    done = seep.command("run", "--suppressions", path, "--", program("loses_lists"))
    assert (done.status, done.stdout) == (125, b"")
    assert f"rules.supp, line {line}: " in " ".join(done.stderr.decode().split())


def test_a_file_that_is_gone_at_the_end_is_told(seep):
    """Nothing is suppressed then, and whoever reads the recording sees why."""
    path = seep.directory / "rules.supp"
    path.write_text("misuse:main\n")
    words = ["sh", "-c", f"rm {path}; exec {program('free_storm')} 1 1 1"]
    _, recordings = seep.run(words, ["--no-leak-check", "--suppressions", path])
    report = recordings.main()
    assert report["findings"] and not any(f["suppressed_by"] for f in report["findings"])
    assert [u["detail"] for u in report["unseen"] if u["code"] == "suppressions"] == [
        f"no heap error was suppressed: {path}: no such file"]
