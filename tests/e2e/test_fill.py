# SPDX-License-Identifier: MIT
"""`--fill`: no word that a block's last owner left in it hides a leak, and the program notices nothing."""

import re

import pytest

from harness import RUNTIME, SEEP, program, run_plain
from page_data import read_page
from test_allocators import PRELOADS, library

COUNT, LOST_BYTES = 64, 1234

WAYS = [
    "malloc", "large", "calloc", "realloc", "reallocarray", "grow", "grow_array", "grow_in_place",
    "memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc",
    "new", "new_array", "new_nothrow", "new_aligned",
]
# glibc gives these the memory that was freed last, so that every word is still there.
REUSED = ["malloc", "large", "realloc", "reallocarray", "grow_in_place", "new", "new_array", "new_nothrow"]


def reuse(seep, *words, options=(), env=None):
    """What new_memory says, how many of its blocks are lost, and the report."""
    result, recordings = seep.run([program("new_memory"), *words], options, env=env)
    assert result.status == 0, result
    report = recordings.main()
    lost = [leak["blocks"] for leak in report["leaks"]
            if leak["verdict"] == "LOST" and leak["bytes"] == leak["blocks"] * LOST_BYTES]
    return result.stdout.decode(), sum(lost), report


def grown_kb(text):
    return int(re.fullmatch(r"grew_kb (\d+)\n", text)[1])


@pytest.mark.parametrize("way", WAYS)
def test_what_was_left_in_new_memory_hides_no_leak(seep, way):
    said, lost, _ = reuse(seep, way, options=["--fill"])
    assert (said, lost) == ("stale 0\n", COUNT)


@pytest.mark.parametrize("way", REUSED)
def test_without_it_new_memory_is_as_it_was(seep, way):
    said, lost, _ = reuse(seep, way, options=["--no-fill"])
    assert int(said.split()[1]) >= COUNT
    assert lost == 0


@pytest.mark.parametrize("option, count", [("--fill", COUNT), ("--no-fill", 0)])
def test_a_pointer_to_what_was_freed_hides_no_leak(seep, option, count):
    result, recordings = seep.run([program("new_memory"), "--dangling", "malloc"], [option])
    assert result.status == 0, result
    assert sum(leak["blocks"] for leak in recordings.main()["leaks"] if leak["verdict"] == "LOST") == count


def test_what_threads_free_that_end_waits_as_long(seep):
    said, _, _ = reuse(seep, "--threads", "malloc", options=["--fill"])
    assert int(said.split()[1]) >= 900


@pytest.mark.parametrize("way", ["malloc", "calloc", "realloc", "memalign", "posix_memalign", "new_nothrow"])
def test_where_there_is_no_memory_freed_blocks_wait_no_longer(seep, way):
    said, _, _ = reuse(seep, "--tight", way, options=["--fill"])
    plain = run_plain([program("new_memory"), "--tight", way])
    assert said == plain.stdout.decode()


def test_what_cannot_grow_stays_as_it_was(seep):
    assert reuse(seep, "--refused", "malloc", options=["--fill"])[0] == ""


@pytest.mark.parametrize("how", ["--twice malloc", "--wrong malloc", "--freed resized", "--freed emptied", "--freed moved"])
def test_what_is_freed_wrongly_is_found_as_without(seep, how):
    words = [program("new_memory"), *how.split()]
    plain, (done, _) = run_plain(words), seep.run(words, ["--fill"])
    assert plain.status and (done.status, done.stderr) == (plain.status, plain.stderr)


@pytest.mark.parametrize("way", WAYS)
def test_all_of_what_is_new_is_filled_and_nothing_else(seep, way):
    said, _, _ = reuse(seep, "--bytes", way, options=["--fill"])
    first = 0 if way == "calloc" else 0x11 if way.startswith("grow") else 0xFA
    assert said == f"bytes {first} {0 if way == 'calloc' else 0xfa}\n"


@pytest.mark.parametrize("way", ["malloc", "calloc", "realloc", "memalign", "valloc", "new", "new_aligned"])
def test_what_the_kernel_has_just_given_stays_untouched(seep, way):
    said, _, _ = reuse(seep, "--untouched", way, options=["--fill"])
    assert grown_kb(said) < 4096


@pytest.mark.parametrize("name", PRELOADS)
def test_other_allocators_memory_is_filled_as_well(seep, name):
    env = {"LD_PRELOAD": str(library(name))}
    for way in "malloc", "large", "grow", "new":
        said, _, _ = reuse(seep, way, options=["--fill"], env=env)
        assert said == "stale 0\n", way
        # What they have at hand for it may be two large pages.
        said, _, _ = reuse(seep, "--untouched", way, options=["--fill"], env=env)
        assert grown_kb(said) < 8192, way


def test_a_calloc_that_needs_not_clear_gives_zeros(seep):
    env = {"LD_PRELOAD": str(program("lib_zeros.so"))}
    for way, said in [("calloc", "bytes 0 0\n"), ("malloc", "bytes 250 250\n"), ("grow", "bytes 17 250\n")]:
        assert reuse(seep, "--bytes", way, options=["--fill"], env=env)[0] == said


@pytest.mark.fast
def test_a_gate_asks_for_it_unless_it_is_told_not_to(seep):
    words = ["--", program("new_memory"), "malloc"]
    for options, status in [([], 9), (["--no-fill"], 0), (["--fill=0"], 9)]:
        done = seep.command("run", "-q", "-f", "-o", "run.seep", "--error-exitcode=9", *options, *words,
                            cwd=seep.directory)
        assert done.status == status, (options, done)


@pytest.mark.fast
def test_a_report_and_its_page_say_what_it_would_do(seep):
    for option, sentence in ("--no-fill", "More is MAYBE-LOST than LOST"), ("--fill", None):
        result, recordings = seep.run([program("new_memory"), "--inside", "malloc"], [option])
        assert result.status == 0, result
        text = seep.command("leaks", recordings.path).stdout.decode()
        page = seep.directory / f"{option}.html"
        assert seep.command("report", recordings.path, f"--html={page}").status == 0
        advice = read_page(page)[0]["advice"]
        if sentence:
            assert advice.startswith(sentence) and "seep run --fill" in advice
            assert advice in " ".join(text.split())
        else:
            assert advice is None and "seep run --fill" not in text


@pytest.mark.fast
def test_the_byte_is_what_was_asked_for_last(seep):
    for options, held, first in [
        (["--fill=0x5a"], "", 0x5A),
        (["--fill=7"], "fill=9", 7),
        ([], "fill=9", 9),
        (["--no-fill"], "fill=9", 0),
    ]:
        said, _, report = reuse(seep, "--bytes", "valloc", options=["--force", *options],
                                env={"SEEP_OPTIONS": held})
        assert said.split()[1] == str(first)
        assert ("fill=" in report["process"]["options"]) == bool(options or held)


def test_what_is_no_byte_is_refused(seep):
    for option, message in [
        ("--fill=256", "--fill: '256' must be a byte"),
        ("--fill=-1", "must be a byte"),
        ("--fill=0xfax", "must be a byte"),
        ("--no-fill", "--fill and --no-fill exclude each other"),
    ]:
        done = seep.command("run", "--fill", option, "--", "true", cwd=seep.directory)
        assert done.status == 2 and message in done.stderr.decode(), done
    plain = {"LD_PRELOAD": str(RUNTIME), "SEEP_OPTIONS": "fill=257", "SEEP_DIR": str(seep.ledger_dir)}
    done = run_plain([program("new_memory"), "calloc"], env=plain)
    assert done.stdout == b"stale 0\n" and b"bad value for fill: 257" in done.stderr


def test_a_program_does_as_it_does_without(seep):
    script = "import json, zlib; print(zlib.crc32(json.dumps([{str(i): i * .5} for i in range(5000)]).encode()))"
    command = ["/usr/bin/python3", "-c", script]
    env = {"PYTHONMALLOC": "malloc"}
    plain = run_plain(command, env=env)
    done = run_plain([SEEP, "run", "-q", "-o", seep.directory / "run.seep", "--fill", *command],
                     env={**seep.environment(env)})
    assert (done.status, done.stdout, done.stderr) == (plain.status, plain.stdout, plain.stderr)
