# SPDX-License-Identifier: MIT
"""Programs with another malloc than glibc's: what comes by us is counted to the byte, what does
not is said, and the program never notices."""

import ctypes.util
import json
import os
import pathlib
import signal
import subprocess
import time

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
from running import finish, start, wait_until, watched

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
        [need(compiler), "-O1", "-g", "-w", SOURCE / "tests/programs" / source, *words, "-o", output],
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


def record_watched(seep, command):
    """The same for a program that waits for the end of its input: it ends when it is being watched,
    which a program of a millisecond may not be on a busy machine."""
    truth = seep.directory / "watched.truth"
    plain = run_plain(command, env={"TRUTH_FILE": str(truth)})
    process = start(seep, command, env={"TRUTH_FILE": str(truth)}, stdin=subprocess.PIPE)
    wait_until(lambda: watched(seep, "recorded"), "the recorder")
    assert finish(process) == (plain.status, plain.stdout, plain.stderr)
    return seep.load(seep.directory / "run.seep"), truth


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


@pytest.mark.parametrize("name", PRELOADS)
def test_of_a_preloaded_allocator_nothing_is_lost(seep, name):
    result, recordings = seep.run(["/bin/sleep", "0"], env={"LD_PRELOAD": str(library(name))})
    assert result.status == 0, result
    assert not [leak for leak in recordings.main()["leaks"] if leak["verdict"].startswith("LOST")]


def test_what_jemalloc_leaves_in_its_caches_hides_no_leak(seep):
    """The first block of a slab is reached from what jemalloc knows of the slab."""
    env = {"LD_PRELOAD": f"{library('jemalloc')} {program('lib_leak_plant.so')}"}
    result, recordings = seep.run(["/bin/sleep", "0"], env=env)
    assert result.status == 0, result
    lost = [leak["bytes"] for leak in recordings.main()["leaks"] if leak["verdict"] == "LOST"]
    assert sum(lost) >= 1002 + 1003, lost


@pytest.mark.parametrize("name", [None, *PRELOADS])
def test_usable_bytes_are_those_that_the_allocator_says(seep, name):
    """By the class of small requests, by asking for the others; what starts by itself is the same
    in a run that allocates nothing."""
    env = {"LD_PRELOAD": str(library(name))} if name else {}
    usable = {}
    for count in ("0", "50000"):
        result, recordings = seep.run([program("usable_truth"), count], env=env)
        totals = recordings.main()["totals"]
        usable[count] = totals["usable_bytes"], int(result.stdout), totals["live_bytes"]
        assert totals["missed_frees"] == totals["untracked_frees"] == 0
    before, after = usable["0"], usable["50000"]
    # Blocks from before tcmalloc's own start have no usable size, neither then nor at their free().
    assert before[1] == 0 <= before[0] <= 2 * before[2]
    assert after[0] - before[0] == after[1] > after[2] - before[2]


@pytest.mark.parametrize("name", ["realloc_chain", "temporaries", "dlopen_reload"])
@pytest.mark.parametrize("allocator", ["jemalloc", "tcmalloc_minimal", "mimalloc"])
def test_the_ground_truth_programs_under_other_allocators(seep, allocator, name):
    env = {"LD_PRELOAD": str(library(allocator))}
    recordings, truth = record_with_truth(seep, name, env=env)
    check_truth(recordings.main(), truth)


def test_a_variable_named_like_an_allocators_function_is_not_called(seep):
    recordings, truth = record_with_truth(seep, "named_alike")
    report = recordings.main()
    check_truth(report, truth)
    assert report["process"]["allocator"].endswith("lib_named_alike.so")


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


# ---- what goes past us -----------------------------------------------------------------------

PAST_US = {
    "own-allocator",
    "own-operators",
    "bound-elsewhere",
    "private-allocator",
    "outside-malloc",
    "no-allocations",
    "not-looked-at",
}


def past_us(report):
    return PAST_US & set(codes(report))


def record_looked_at(seep, command):
    """What lives for a millisecond ends now and then before the recorder looks, and says so."""
    for _ in range(50):
        _, recordings = seep.run(command)
        report = recordings.main()
        if "it ended before" not in "".join(u["detail"] for u in report["unseen"]):
            break
    return report


@pytest.mark.parametrize(
    "command",
    [["/bin/ls", "/"], ["/usr/bin/python3", "-c", "import json"], [program, "elsewhere"]],
    ids=["ls", "python", "elsewhere"],
)
def test_of_ordinary_programs_nothing_is_said(seep, command):
    if command[0] is program:
        command = [program(command[1])]
    assert past_us(record_looked_at(seep, command)) == set()


@pytest.mark.parametrize("option", [["--mode", "off"], ["--size-max", "1"], ["--module", "no*"]])
def test_what_was_left_out_on_request_did_not_go_past(seep, option):
    """100 MB by malloc, none of which is recorded: no mapping of the program's, no lack of calls."""
    script = "import time; x = bytearray(100 << 20); time.sleep(0.5)"
    command = [need("python3"), "-c", script]
    recordings = seep.record(command, option)
    assert recordings.main()["totals"]["live_bytes"] < 50 << 20
    assert not past_us(recordings.main()) & {"outside-malloc", "no-allocations"}


def test_a_program_with_its_brk_malloc_is_named(seep):
    command = [program("brk_malloc")]
    result, _ = seep.run(command)
    result.same_as(run_plain(command))
    report = record_looked_at(seep, command)
    assert report["totals"]["allocs"] == 0
    assert past_us(report) == {"own-allocator"}
    assert detail(report, "own-allocator").startswith("brk_malloc has a malloc of its own")


def test_it_is_named_also_when_the_program_is_killed(seep):
    process = start(seep, [program("brk_malloc"), "stay"], "-o", seep.directory / "killed.seep")
    assert process.stdout.readline() == b"1\n"
    wait_until(lambda: age_s(process) > 0.5, "the program to be half a second old")
    (watched_one,) = watched(seep)
    os.kill(watched_one["pid"], signal.SIGKILL)
    finish(process)
    done = seep.command("report", "--json", seep.directory / "killed.seep")
    assert "libc.so.6" in detail(json.loads(done.stdout), "own-allocator")


def age_s(process):
    """Since the program's first output, which is after its start."""
    process.first = getattr(process, "first", None) or time.monotonic()
    return time.monotonic() - process.first


@pytest.mark.parametrize("archive", ["libjemalloc.a", "libtcmalloc_minimal.a"])
def test_an_allocator_linked_into_the_program_is_named(seep, archive):
    if not (LIBRARIES / archive).exists():
        pytest.skip(f"{archive} is not installed")
    built = build(seep, "any_allocator.cc", f"-l:{archive}", "-pthread", "-ldl", "-lm", name="linked_in")
    recordings, _ = record(seep, [built])
    report = recordings.main()
    assert past_us(report) == {"own-allocator"}
    assert detail(report, "own-allocator").startswith("linked_in has a malloc of its own")
    assert report["totals"]["live_blocks"] == 0


@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc_minimal", "mimalloc"])
def test_a_dynamically_linked_allocator_is_counted_to_the_byte(seep, name):
    path = library(name)
    built = build(seep, "any_allocator.cc", "-Wl,--no-as-needed", path, "-pthread", name="linked_to")
    recordings, truth = record(seep, [built])
    report = recordings.main()
    check_truth(report, parse_truth(truth.read_text()))
    assert os.path.samefile(report["process"]["allocator"], path)
    assert past_us(report) == set()


@pytest.mark.parametrize(
    "way, code, words",
    [
        ("namespace", "bound-elsewhere", ["lib_elsewhere.so", "libc.so.6"]),
        ("libc", "private-allocator", ["elsewhere allocates", "__libc_malloc of libc.so.6"]),
        ("mmap", "outside-malloc", [" MB of private memory"]),
    ],
)
def test_what_goes_past_us_is_said_and_harms_nothing(seep, way, code, words):
    report, path = record_watched(
        seep, [program("elsewhere"), way, program("lib_elsewhere.so")]
    )
    truth = parse_truth(path.read_text())
    check_truth(report, truth)
    assert past_us(report) == {code}
    for word in words:
        assert word in detail(report, code)
    assert report["totals"]["untracked_frees"] == truth.notes["untracked"]


DEEP = {"plugin.cc": r"""
#include <stdlib.h>
extern "C" void take(int *p) { delete p; }
extern "C" int *give() { return new int[20]; }
extern "C" void take_plain(void *p) { free(p); }
extern "C" void *give_plain() { return malloc(77); }
""", "host.cc": r"""
#include <dlfcn.h>
#include <stdlib.h>
template <class F> F find(void *in, const char *name) { return (F)dlsym(in, name); }
int main(int, char **argv)
{
    void *in = dlopen(argv[1], atoi(argv[2]) | RTLD_DEEPBIND);
    if (!in) return 1;
    for (int i = 0; i < 1000; i++) {
        find<void (*)(int *)>(in, "take")(new int(3));
        delete[] find<int *(*)()>(in, "give")();
        find<void (*)(void *)>(in, "take_plain")(malloc(33));
        free(find<void *(*)()>(in, "give_plain")());
    }
}
"""}


@pytest.mark.parametrize("options", [[], ["--level=10"], ["--tier=counts"], ["--guarded-sample=1"]], ids=" ".join)
@pytest.mark.parametrize("mode", [os.RTLD_NOW, os.RTLD_LAZY], ids=["now", "lazy"])
def test_a_plugin_that_looks_in_the_c_library_first_is_recorded(seep, mode, options):
    for name, text in DEEP.items():
        (seep.directory / name).write_text(text)
    plugin = build(seep, seep.directory / "plugin.cc", "-shared", "-fPIC", name="plugin.so")
    host = build(seep, seep.directory / "host.cc", "-ldl", name="host")
    result, recordings = seep.run([host, plugin, str(mode)], options)
    assert result.status == 0, result
    report = recordings.main()
    totals = report["totals"]
    assert totals["allocs"] >= 4000 and totals["untracked_frees"] == totals["missed_frees"] == 0
    assert past_us(report) == set() and report["findings"] == []
    assert not [leak for leak in report["leaks"] if leak["verdict"].startswith("LOST")]


@pytest.mark.parametrize("words", [["-lgc"], ["-l:libgc.a", "-pthread", "-ldl"]], ids=["so", "a"])
def test_a_collectors_blocks_are_said_to_be_unseen(seep, words):
    if not (LIBRARIES / "libgc.a").exists():
        pytest.skip("libgc-dev is not installed")
    source = seep.directory / "collected.c"
    source.write_text(COLLECTED)
    built = build(seep, source, *words)
    report, _ = record_watched(seep, [built])
    assert past_us(report) == {"private-allocator"}


COLLECTED = r"""
#include <gc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	size_t sum = 0;

	GC_INIT();
	for (int i = 0; i < 100000; i++) {
		char *block = GC_MALLOC(100);

		sum += (size_t)block[i % 100];
	}
	free(malloc(33));
	while (getchar() != EOF)
		;
	printf("%zu\n", sum);
	return 0;
}
"""

def test_own_operators_are_named(seep):
    assert past_us(record_looked_at(seep, [program("hostile_new")])) == {"own-operators"}


def test_what_was_killed_before_anybody_looked_is_said_to_be_so(seep):
    # On a busy machine now and then one is held up for so long that somebody looks.
    for _ in range(50):
        _, recordings = seep.run(["/bin/sh", "-c", "kill -9 $$"])
        if "not-looked-at" in codes(recordings.main()):
            break
    assert "it ended before" in detail(recordings.main(), "not-looked-at")


def test_python_that_keeps_its_objects_to_itself_is_said_to(seep):
    """Unless its memory manager is off; a million tuples are recorded then, and only then."""
    words = ["/usr/bin/python3", "-c", "x = [(i,) for i in range(1000000)]"]
    _, recordings = seep.run(words)
    report = recordings.main()
    assert report["totals"]["allocs"] < 100000
    assert "set PYTHONMALLOC=malloc" in detail(report, "memory-manager")
    _, recordings = seep.run(words, env={"PYTHONMALLOC": "malloc"})
    report = recordings.main()
    assert report["totals"]["allocs"] > 1000000
    assert "memory-manager" not in codes(report)
