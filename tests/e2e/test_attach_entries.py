# SPDX-License-Identifier: MIT
"""`seep attach` and allocators inside a program: recorded where their functions begin, to the byte, and put
back to the byte; or left alone, and said so."""

import json
import pathlib
import re

import pytest

from attach_target import attach, check_sums, detach, target
from harness import SOURCE, contexts_of, need, program, run_plain

ROUNDS = 20
THREADS, HELD = 8, 64  # as entry_talk.c has them
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
OWN = ["entry_own.c"]

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
    "tcmalloc": (["gcc", "-O2"], "tc_", ["libtcmalloc_minimal.a", "-lm", "-lstdc++"]),
}


def build(folder, words, prefix, parts, *more):
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
         SOURCE / "tests/programs/entry/entry_talk.c", *sources, "-o", output])
    assert done.status == 0, done.stderr.decode(errors="replace")
    return output


def said(seep, pid, command="attach", words=()):
    done = seep.command(command, "--json", *words, str(pid))
    assert done.status == 0, done.stderr.decode()
    return json.loads(done.stdout)["allocator"]


def code_of(process):
    """All that the program has in its code."""
    maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
    with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
        found = []
        for begin, end in re.findall(r"^(\w+)-(\w+) r-xp .*/entry_talk$", maps, re.M):
            memory.seek(int(begin, 16))
            found.append(memory.read(int(end, 16) - int(begin, 16)))
    assert found
    return found


def code_mappings(process):
    return re.findall(r"^\S+ r-xp", pathlib.Path(f"/proc/{process.pid}/maps").read_text(), re.M)


@pytest.mark.parametrize("name", CASES)
def test_an_allocator_inside_a_program_is_counted_to_the_byte(seep, name):
    words, prefix, parts = CASES[name]
    with target(build(seep.directory, words, prefix, parts), "0") as process:
        process.ask("round")
        # That page of code gets what threads are led by, which stays: docs/attach.md.
        assert attach(seep, process.pid).attached
        detach(seep, process.pid)
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
def test_twenty_rounds_under_eight_threads_miss_no_free(seep, name):
    words, prefix, parts = CASES[name]
    with target(build(seep.directory, words, prefix, parts), str(THREADS)) as process:
        before = None
        for number in range(ROUNDS):
            attempt = attach(seep, process.pid, "--deadline", "5s")
            assert attempt.attached, attempt.reason
            path = seep.directory / f"{number}.seep"
            detach(seep, process.pid, "-o", path)
            report = seep.load(path)
            check_sums(report)
            totals = report["totals"]
            assert totals["missed_frees"] == 0
            assert totals["live_blocks"] <= THREADS * HELD, totals
            assert "entered-allocator" in {line["code"] for line in report["unseen"]}
            before = before or (code_of(process), len(code_mappings(process)))
        assert (code_of(process), len(code_mappings(process))) == before


REFUSED = {
    "short": ("SHORT", "je_free of entry_talk is too short"),
    "returns": ("RETURNS", "je_free of entry_talk begins with an instruction that cannot be moved"),
    "calls": ("CALLS", "je_free of entry_talk begins with an instruction that cannot be moved"),
    "loops": ("LOOPS", "je_free of entry_talk has a branch to its first instructions"),
    "within": ("WITHIN", "je_within of entry_talk begins inside of what would be replaced"),
    "copy": ("COPY", "je_free.part.0 of entry_talk is a copy that the compiler made"),
    "sizeless": ("SIZELESS", "je_free of entry_talk has no known size"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_where_one_function_cannot_be_replaced_none_is(seep, name):
    word, reason = REFUSED[name]
    built = build(seep.directory, ["gcc", "-O2", f"-DREFUSED_{word}"], "je_", ["entry_own.c"])
    with target(built, "0") as process:
        assert attach(seep, process.pid).attached
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


@pytest.mark.parametrize("refused, words", [("", "are recorded where they begin"),
                                            ("-DREFUSED_SHORT", "not seen: je_free of entry_talk is too short")])
def test_doctor_says_it_beforehand(seep, refused, words):
    built = build(seep.directory, ["gcc", "-O2", *refused.split()], "je_", OWN)
    with target(built, "0") as process:
        assert words in " ".join(seep.command("doctor", str(process.pid)).stdout.decode().split())
