# SPDX-License-Identifier: MIT
"""Names that were kept from an earlier run: the same as without, and never another file's."""

import os
import shutil
import subprocess

import pytest

from harness import need, program

PROGRAM = """
#include <stdlib.h>
void *kept;
__attribute__((noinline)) void NAME(void) { kept = malloc(99); }
int main(void) { NAME(); return 0; }
"""


def kept_files(seep):
    return sorted(p for p in (seep.cache_dir / "symbols").glob("*") if p.suffix == ".answers")


def frames_of(report):
    """What every address is called, as lists that belong to addresses."""
    found = {}
    for context in report["contexts"]:
        for frame in context["frames"]:
            place = (frame["module"], frame["offset"])
            found.setdefault(place, set()).add(
                (frame["function"], frame["file"], frame["line"], frame["inlined"])
            )
    return found


def record(seep, command, *options):
    result, recordings = seep.run(command, options)
    assert result.status == 0, result.stderr
    return recordings.main()


@pytest.mark.fast
@pytest.mark.parametrize("name", ["symbol_zoo", "temporaries"])
def test_kept_names_equal_those_that_are_looked_up(seep, name):
    command = [program(name)]
    without = frames_of(record(seep, command, "--no-symbol-cache"))
    assert kept_files(seep) == []
    cold = frames_of(record(seep, command))
    files = kept_files(seep)
    assert files and all(p.stat().st_mode & 0o777 == 0o600 for p in files)
    assert (seep.cache_dir / "symbols").stat().st_mode & 0o777 == 0o700
    times = [p.stat().st_mtime_ns for p in files]
    warm = frames_of(record(seep, command))
    assert any(inlined for names in warm.values() for *_, inlined in names)
    assert warm == cold == without
    # Nothing had to be looked up, so nothing was written.
    assert [p.stat().st_mtime_ns for p in kept_files(seep)] == times


def test_names_outlive_their_files(seep):
    """A program that was stripped since keeps the names of its build-id."""
    copy = seep.directory / "copy"
    shutil.copy(program("temporaries"), copy)
    before = frames_of(record(seep, [copy]))
    subprocess.run([need("strip"), copy], check=True)
    assert frames_of(record(seep, [copy])) == before
    unnamed = frames_of(record(seep, [copy], "--no-symbol-cache"))
    assert any(names != before[place] for place, names in unnamed.items())


def build(seep, name):
    source, binary = seep.directory / "source.c", seep.directory / "binary"
    source.write_text(PROGRAM.replace("NAME", name))
    subprocess.run([need("gcc"), "-g", "-Wl,--build-id", "-o", binary, source], check=True)
    return binary


def names_in(report, path):
    return {
        f["function"] for c in report["contexts"] for f in c["frames"] if f["module"] == str(path)
    }


def test_a_program_that_was_built_anew_has_its_new_names(seep):
    for name in ("first_name", "second_one"):
        binary = build(seep, name)
        for _ in range(2):
            assert {name, "main"} <= names_in(record(seep, [binary]), binary)


def test_debug_files_that_come_later_are_seen(seep):
    """Nothing is kept of a module without debug information."""
    binary = build(seep, "first_name")
    whole = seep.directory / "whole"
    whole.mkdir()
    shutil.copy(binary, whole / "binary")
    subprocess.run([need("strip"), binary], check=True)
    assert "first_name" not in names_in(record(seep, [binary]), binary)
    named = record(seep, [binary], "--symbols", whole)
    assert "first_name" in names_in(named, binary)


@pytest.mark.parametrize("content", [b"", b"SEEPSYM", os.urandom(5000)])
def test_files_that_are_no_answers_are_replaced(seep, content):
    command = [program("temporaries")]
    before = frames_of(record(seep, command))
    files = kept_files(seep)
    for path in files:
        path.write_bytes(content)
    assert frames_of(record(seep, command)) == before
    assert all(p.read_bytes() != content for p in files)
