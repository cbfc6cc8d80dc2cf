# SPDX-License-Identifier: MIT
"""`seep attach` and allocators inside a program: recorded where their functions begin, to the byte, and put
back to the byte; or left alone, and said so."""

import json
import os
import pathlib
import random
import re
import subprocess
import time

import pytest

from attach_target import attach, check_sums, detach, target
from harness import SEEP, SOURCE, contexts_of, need, program, run_plain

ROUNDS = 20
THREADS, HELD = 8, 64  # as entry_talk.c has them
ROUND_BLOCKS = 50  # that a round keeps
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
OWN = ["entry_own.c"]

# What C++'s operators are linked with.
NEW = {"jemalloc": ["libjemalloc.a", "-ldl", "-lm"], "tcmalloc": ["libtcmalloc_minimal.a", "-lm"]}

# Compiler and words; which functions the program calls; what it is linked with.
CASES = {
    "gcc": (["gcc", "-O2"], "je_", OWN),
    "gcc-one-file": (["gcc", "-O2", "-DONE_FILE"], "je_", []),
    "gcc-endbr64": (["gcc", "-O2", "-fcf-protection"], "mi_", OWN),
    "gcc-fixed-address": (["gcc", "-O1", "-no-pie"], "_rjem_", OWN),
    "gcc-unoptimised": (["gcc", "-O0"], "tc_", OWN),
    "clang": (["clang", "-O2"], "je_", OWN),
    "gcc-malloc": (["gcc", "-O2"], "", OWN),
    "clang-malloc": (["clang", "-O2"], "", OWN),
    "jemalloc": (["gcc", "-O2"], "", ["libjemalloc.a", "-ldl", "-lm", "-lstdc++"]),
    "strangers": (["gcc", "-O2", "-DSTRANGERS"], "je_", OWN),
    "tcmalloc": (["gcc", "-O2"], "tc_", ["libtcmalloc_minimal.a", "-lm", "-lstdc++"]),
}


def build(folder, words, prefix, parts, *more, main="entry_talk.c"):
    compiler, *options = words
    sources = [SOURCE / "tests/programs/entry" / part if part.endswith(".c") else
               LIBRARIES / part if part.endswith(".a") else part for part in parts]
    for part in sources:
        if str(part).endswith(".a") and not part.exists():
            pytest.skip(f"{part.name} is not installed")
    output = folder / "entry_talk"
    done = run_plain(
        [need(compiler), "-g", "-pthread", "-fno-builtin", f"-DPREFIX={prefix}", *options, *more,
         f"-I{SOURCE / 'tests/programs'}", f"-I{SOURCE / 'src'}",
         SOURCE / "tests/programs/entry" / main, *sources, "-o", output])
    assert done.status == 0, done.stderr.decode(errors="replace")
    return output


def said(seep, pid, *words):
    done = seep.command(*(words or ("attach", "--entries")), "--json", str(pid))
    assert done.status == 0, done.stderr.decode()
    return json.loads(done.stdout)["allocator"]


def code_of(process):
    """All that the program has in its code; what threads are led by lies behind it (docs/attach.md)."""
    headers = run_plain(["readelf", "-lW", f"/proc/{process.pid}/exe"]).stdout.decode()
    (size,) = re.findall(r"LOAD +0x\w+ 0x\w+000 0x\w+ (0x\w+) 0x\w+ R E", headers)
    maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
    with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
        found = []
        for begin, end in re.findall(r"^(\w+)-(\w+) r-xp .*/entry_talk$", maps, re.M):
            memory.seek(int(begin, 16))
            found.append(memory.read(min(int(end, 16) - int(begin, 16), int(size, 16))))
    assert found
    return found


def code_mappings(process):
    return re.findall(r"^\S+ r-xp", pathlib.Path(f"/proc/{process.pid}/maps").read_text(), re.M)


def check_counted(seep, process):
    """Two times, and the code is as it was after each."""
    process.ask("round")
    before = code_of(process)
    for _ in range(2):
        assert "are recorded where they begin" in said(seep, process.pid)
        assert code_of(process) != before
        truth = dict(word.split("=") for word in process.ask("round").split())
        report = seep.load(str(process.pid))
        check_sums(report)
        ours = contexts_of(report, "do_round")
        for key in ("allocs", "alloc_bytes", "frees", "freed_bytes"):
            assert sum(c[key] for c in ours) == int(truth[key]), key
        assert report["totals"]["missed_frees"] == 0
        codes = {line["code"] for line in report["unseen"]}
        assert "entered-allocator" in codes
        assert not codes & {"own-allocator", "private-allocator"}
        assert not report["findings"]
        detach(seep, process.pid)
        assert code_of(process) == before
    process.ask("round")


@pytest.mark.parametrize("name", CASES)
def test_an_allocator_inside_a_program_is_counted_to_the_byte(seep, name):
    words, prefix, parts = CASES[name]
    with target(build(seep.directory, words, prefix, parts), "0") as process:
        check_counted(seep, process)


@pytest.mark.parametrize("name", NEW)
def test_operators_of_an_allocator_inside_a_program_are_counted_to_the_byte(seep, name):
    built = build(seep.directory, ["g++", "-O2", "-std=c++17"], "", NEW[name], main="entry_new.cpp")
    with target(built) as process:
        check_counted(seep, process)


def test_unless_it_is_asked_for_no_code_is_written(seep):
    with target(build(seep.directory, ["gcc", "-O2"], "je_", OWN), "0") as process:
        assert said(seep, process.pid, "attach")
        detach(seep, process.pid)
        before, mapped = code_of(process), len(code_mappings(process))
        assert said(seep, process.pid, "attach") == (
            "the allocator inside entry_talk (jemalloc) is not seen; after seep detach, "
            f"seep attach --entries {process.pid} records it")
        detach(seep, process.pid)
        path = seep.directory / "plain.seep"
        assert attach(seep, process.pid, "--for", "100ms", "-o", path).attached
        report = seep.load(path)
        unseen = {line["code"]: line["detail"] for line in report["unseen"]}
        assert "seep attach --entries records it" in unseen["private-allocator"]
        assert "entered-allocator" not in unseen
        assert (code_of(process), len(code_mappings(process))) == (before, mapped)


@pytest.mark.parametrize("prefix, count", [("je_", 4), ("my_", None)])
def test_names_alone_make_no_allocator(seep, prefix, count):
    built = build(seep.directory, ["gcc", "-O2", "-DSTRANGERS"], prefix, OWN)
    with target(built, "0") as process:
        assert attach(seep, process.pid).attached
        detach(seep, process.pid)
        before = code_of(process)
        if count:
            assert said(seep, process.pid).startswith(f"{count} functions of the allocator")
        else:
            assert "not there by names that seep knows" in said(seep, process.pid)
            assert code_of(process) == before
        detach(seep, process.pid)
        assert code_of(process) == before


def test_what_could_not_be_put_back_is_by_the_next_detach(seep):
    with target(build(seep.directory, ["gcc", "-O2"], "je_", OWN), "0") as process:
        assert attach(seep, process.pid).attached
        detach(seep, process.pid)
        before = code_of(process)
        # Nothing stops it while it waits for its child.
        process.ask("hold")
        began = time.monotonic()
        assert "is not recorded: one of its threads does not stop" in said(seep, process.pid)
        assert time.monotonic() - began < 1
        detach(seep, process.pid)
        assert code_of(process) == before
        process.ask("release")
        assert "are recorded where they begin" in said(seep, process.pid)
        process.ask("hold")
        left = said(seep, process.pid, "detach")
        assert re.fullmatch(
            "calls of its own allocator still pass libseep.so, which does nothing: one of its threads "
            f"does not stop; seep detach {process.pid} again puts them back", left)
        assert code_of(process) != before
        process.ask("round")
        # Jumps that are there are not followed by who does not ask for it.
        assert attach(seep, process.pid).attached
        process.ask("round")
        assert not contexts_of(seep.load(str(process.pid)), "do_round")
        detach(seep, process.pid)
        again = seep.command("detach", str(process.pid))
        assert again.status == 2 and left in again.stderr.decode()
        process.ask("release")
        assert said(seep, process.pid, "detach") == "4 functions of its own allocator begin as they did before"
        assert code_of(process) == before
        assert "it is not recorded" in seep.command("detach", str(process.pid)).stderr.decode()
        process.ask("round")


@pytest.mark.parametrize("name", CASES)
def test_twenty_rounds_under_eight_threads_miss_no_free(seep, name):
    words, prefix, parts = CASES[name]
    with target(build(seep.directory, words, prefix, parts), str(THREADS)) as process:
        before, entered = None, 0
        for number in range(ROUNDS):
            attempt = attach(seep, process.pid, "--entries", "--deadline", "5s")
            assert attempt.attached, attempt.reason
            path = seep.directory / f"{number}.seep"
            detach(seep, process.pid, "-o", path)
            report = seep.load(path)
            check_sums(report)
            totals = report["totals"]
            assert totals["missed_frees"] == 0
            assert totals["live_blocks"] <= THREADS * HELD, totals
            entered += "entered-allocator" in {line["code"] for line in report["unseen"]}
            before = before or (code_of(process), len(code_mappings(process)))
        assert (code_of(process), len(code_mappings(process))) == before
        # On a loaded machine a thread may not stop in time, or none call it meanwhile.
        assert entered > ROUNDS // 2


def killed(seep, *words):
    """What was asked of seep, which is killed some time from its start to a little behind its end."""
    running = subprocess.Popen([SEEP, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, **seep.environment()})
    time.sleep(random.uniform(0, 0.04))
    running.kill()
    running.wait()


@pytest.mark.parametrize("name", ["gcc", "jemalloc"])
def test_whoever_is_killed_leaves_no_allocator_half_recorded(seep, name):
    words, prefix, parts = CASES[name]
    with target(build(seep.directory, words, prefix, parts), str(THREADS)) as process:
        assert attach(seep, process.pid, "--entries", "--deadline", "5s").attached
        detach(seep, process.pid)
        before = code_of(process)
        for number in range(ROUNDS):
            killed(seep, "attach", "--entries", str(process.pid))
            process.ask("round")
            if number % 2:
                killed(seep, "detach", str(process.pid))
            # One that has left, and is asked to leave again, puts back what is still there.
            while not re.search("it is not recorded|nobody has attached", seep.command(
                    "detach", "--deadline", "5s", str(process.pid)).stderr.decode()):
                pass
            assert code_of(process) == before, number
            process.ask("round")
        for ledger in seep.ledger_dir.glob("*.ledger"):
            totals = seep.load(ledger)["totals"]
            assert totals["missed_frees"] == 0 and totals["live_blocks"] <= THREADS * HELD + ROUND_BLOCKS


REFUSED = {
    "short": ("SHORT", "je_free of entry_talk is too short"),
    "returns": ("RETURNS", "je_free of entry_talk begins with an instruction that cannot be moved"),
    "calls": ("CALLS", "je_free of entry_talk begins with an instruction that cannot be moved"),
    "loops": ("LOOPS", "je_free of entry_talk has a branch to its first instructions"),
    "retries": ("RETRIES", "je_free of entry_talk has a branch to its first instructions"),
    "elsewhere": ("ELSEWHERE", "of entry_talk is branched into from elsewhere"),
    "within": ("WITHIN", "je_within of entry_talk begins inside of what would be replaced"),
    "copy": ("COPY", "je_free.part.0 of entry_talk is a copy that the compiler made"),
    "sizeless": ("SIZELESS", "je_free of entry_talk has no known size"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_where_one_function_cannot_be_replaced_none_is(seep, name):
    word, reason = REFUSED[name]
    built = build(seep.directory, ["gcc", "-O2", f"-DREFUSED_{word}"], "je_", ["entry_own.c"])
    with target(built, "0") as process:
        assert attach(seep, process.pid, "--entries").attached
        detach(seep, process.pid)
        before = code_of(process)
        assert reason in said(seep, process.pid)
        assert code_of(process) == before
        process.ask("round")
        report = seep.load(str(process.pid))
        assert not contexts_of(report, "do_round")
        detach(seep, process.pid)


def test_a_program_without_one_is_told_nothing(seep):
    with target(program("attach_targets"), "idle") as process:
        assert said(seep, process.pid) is None
        assert said(seep, process.pid, "detach") is None


def test_doctor_says_how_it_is_recorded(seep):
    with target(build(seep.directory, ["gcc", "-O2"], "je_", OWN), "0") as process:
        words = " ".join(seep.command("doctor", str(process.pid)).stdout.decode().split())
        assert "linked in (jemalloc), whose blocks are not seen" in words
        assert f"ecord it by seep attach --entries {process.pid}" in words
