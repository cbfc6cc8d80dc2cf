# SPDX-License-Identifier: MIT
"""Where names come from when the files are elsewhere, came later, went away or were replaced."""

import os
import re
import shutil
import subprocess

import pytest

from harness import Recordings, check_truth, contexts_of, functions, need, parse_truth, program


def build_id_of(path):
    note = subprocess.run([need("readelf"), "-n", path], check=True, capture_output=True)
    return re.search(rb"Build ID: (\w+)", note.stdout).group(1).decode()


def take_apart(seep, folder, name="mini_dlsym"):
    """A stripped copy of the program, and DIR/.build-id/…, where its debug file is."""
    copy, symbols = seep.directory / "copy", seep.directory / folder
    shutil.copy(program(name), copy)
    build_id = build_id_of(copy)
    debug = symbols / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run([need("objcopy"), "--only-keep-debug", copy, debug], check=True)
    subprocess.run([need("strip"), copy], check=True)
    return copy, symbols


def record(seep, copy, *options):
    truth = seep.directory / "truth"
    recordings = seep.record([copy], options, env={"TRUTH_FILE": str(truth)})
    return recordings, parse_truth(truth.read_text())


def own_frames(report, path):
    return [f for c in report["contexts"] for f in c["frames"] if f["module"] == str(path)]


@pytest.mark.fast
def test_symbols_fill_in_what_an_old_recording_lacks(seep):
    copy, symbols = take_apart(seep, "symbols")
    recordings, truth = record(seep, copy)
    assert not any(f["function"] for f in own_frames(recordings.main(), copy))
    late = recordings.load(recordings.path, "--symbols", symbols)
    check_truth(late, truth)
    for context in contexts_of(late, "by_next"):
        assert functions(context)[1:3] == ["one_round", "main"]
        assert context["frames"][0]["line"] > 0
    # What is filled in later is what would have been recorded.
    recordings, truth = record(seep, copy, "--symbols", symbols)
    early = recordings.main()
    check_truth(early, truth)
    assert sorted(c["hash"] for c in late["contexts"]) == sorted(c["hash"] for c in early["contexts"])


def test_names_that_are_there_are_never_lost(seep):
    """The files have gone since, and the directory holds nothing: the report is the same."""
    copy = seep.directory / "copy"
    shutil.copy(program("mini_dlsym"), copy)
    subprocess.run([need("strip"), "--strip-debug", copy], check=True)
    recordings, _ = record(seep, copy)
    before = recordings.main()
    assert any(f["function"] == "by_next" for f in own_frames(before, copy))
    copy.unlink()
    (seep.directory / "empty").mkdir()
    assert recordings.load(recordings.path, "--symbols", seep.directory / "empty") == before


def test_the_inlined_calls_of_a_recording_survive_another_look(seep):
    recordings, truth = record(seep, program("temporaries"), "--symbols", seep.directory)
    before = recordings.main()
    assert any(f["inlined"] for c in before["contexts"] for f in c["frames"])
    assert recordings.load(recordings.path, "--symbols", seep.directory) == before


def record_what_vanishes(seep, copy, last):
    """The recording of a copy of mini_dlsym, which runs the shell command `last` before it ends."""
    shutil.copy(program("mini_dlsym"), copy)
    path = seep.directory / "out" / "run.seep"
    path.parent.mkdir()
    done = seep.command(
        "run", "-o", path, "-q", "--no-follow", "--", copy, "last", last,
        env={"TRUTH_FILE": str(seep.directory / "truth")},
    )
    assert done.status == 0, done.stderr
    return path


def no_names_line(seep, path):
    text = " ".join(seep.command("report", path).stdout.decode().split())
    return re.search(r"No names for code in copy [^)]*\)", text)[0]


@pytest.mark.parametrize("where", ["elsewhere/copy", "elsewhere{}", "elsewhere/.build-id/"])
def test_a_program_that_was_moved_is_found_by_name_path_and_build_id(seep, where):
    """Another machine's files: a folder of them, a copy of its root, a store by build-id."""
    copy = seep.directory / "copy"
    folder = seep.directory / "elsewhere"
    build_id = build_id_of(program("mini_dlsym"))
    target = seep.directory / where.format(copy)
    if where.endswith("/"):
        target = target / build_id[:2] / build_id[2:]
    target.parent.mkdir(parents=True)
    path = record_what_vanishes(seep, copy, f"mv '{copy}' '{target}'")
    recordings = Recordings(seep, path.parent)
    frames = own_frames(recordings.load(path), copy)
    assert frames and not any(f["function"] for f in frames)
    assert {f["build_id"] for f in frames} == {build_id}
    assert all(f["offset"] for f in frames)
    assert no_names_line(seep, path) == "No names for code in copy (file is gone)"
    truth = parse_truth((seep.directory / "truth").read_text())
    check_truth(recordings.load(path, "--symbols", folder), truth)


def test_a_program_that_was_replaced_is_not_believed(seep):
    copy = seep.directory / "copy"
    other = program("recursion")
    found = record_what_vanishes(seep, copy, f"cp --remove-destination '{other}' '{copy}'")
    want = "No names for code in copy (build-id differs: the file was replaced)"
    assert no_names_line(seep, found) == want
    # The old file, put aside by an installer, heals it.
    (seep.directory / "old").mkdir()
    shutil.copy(program("mini_dlsym"), seep.directory / "old" / "copy")
    done = seep.command("report", found, "--symbols", seep.directory / "old")
    # The C library may have none.
    assert b"by_next" in done.stdout and not re.search(rb"No names.*\bcopy \(", done.stdout)


def test_an_unloaded_library_keeps_its_names_and_its_identity(seep):
    """Its build-id and offsets too, so that a report elsewhere still finds its file."""
    copy = seep.directory / "programs"
    copy.mkdir()
    names = ["dlopen_reload", "lib_plugin_a.so", "lib_plugin_b.so"]
    for name in names:
        shutil.copy(program(name), copy / name)
    for name in names[1:]:
        subprocess.run([need("strip"), copy / name], check=True)
    truth = seep.directory / "truth"
    recordings = seep.record([copy / names[0]], env={"TRUTH_FILE": str(truth)})
    report = recordings.main()
    for name in names[1:]:
        frames = own_frames(report, copy / name)
        assert frames
        assert {f["build_id"] for f in frames} == {build_id_of(program(name))}
        assert not any(f["file"] for f in frames)
    shutil.rmtree(copy)
    report = recordings.load(recordings.path, "--symbols", program(names[0]).parent)
    check_truth(report, parse_truth(truth.read_text()))
    for name in names[1:]:
        assert all(f["file"] for f in own_frames(report, copy / name))


def test_a_directory_that_cannot_be_searched_is_an_error(seep):
    file = seep.directory / "file"
    file.write_text("")
    for directory, why in ((seep.directory / "none", "No such file"), (file, "Not a directory")):
        for words in (("run", "--symbols", directory, "--", "/bin/true"),
                      ("report", "--symbols", directory, "x.seep")):
            if words[0] == "report":
                recordings, _ = record(seep, program("mini_dlsym"))
                words = ("report", "--symbols", directory, recordings.path)
            done = seep.command(*words)
            assert (done.status, done.stdout) == (2, b"")
            assert f"--symbols {directory}: {why}" in done.stderr.decode()
    assert os.listdir(seep.directory / "recorded-1")


INLINED = r"""
#include <stdlib.h>
static void *volatile kept;
static inline __attribute__((always_inline)) void keep_one(size_t bytes) { kept = malloc(bytes); }
int main(void)
{
	for (int i = 0; i < 10; i++)
		keep_one(VARIANT + 100);
	return 0;
}
"""


def compile_inlined(seep, name, *options):
    """SEEP's directory/built/NAME, whose main() has keep_one() inlined."""
    built = seep.directory / "built"
    built.mkdir(exist_ok=True)
    (built / f"{name}.c").write_text(INLINED.replace("VARIANT", str(len(name))))
    command = [need("gcc"), "-O1", *options, "-o", name, f"{name}.c"]
    subprocess.run(command, cwd=built, check=True)
    return built / name


def report_text(seep, *arguments):
    done = seep.command("report", *arguments)
    assert done.status == 0, done.stderr
    return " ".join(done.stdout.decode().split())


def test_a_lost_split_unit_is_named_and_can_be_given_later(seep):
    binary = compile_inlined(seep, "split", "-g", "-gsplit-dwarf")
    (unit,) = binary.parent.glob("*.dwo")
    (seep.directory / "later").mkdir()
    unit.rename(seep.directory / "later" / unit.name)
    recordings = seep.record([binary])
    text = report_text(seep, recordings.path)
    missing = f"{unit.name} with its debug information was not found"
    assert f"Inlined functions are missing in split ({missing})" in text
    assert "keep_one" not in text and "main" in text
    text = report_text(seep, recordings.path, "--symbols", seep.directory / "later")
    assert "keep_one" in text and missing not in text


def test_a_lost_dwz_file_is_named_and_can_be_given_later(seep):
    # Long names, which dwz moves from both to the file that they share.
    binary = compile_inlined(seep, "one", "-g")
    other = compile_inlined(seep, "another", "-g")
    command = [need("dwz"), "-m", "shared.dwz", binary, other]
    subprocess.run(command, cwd=binary.parent, check=True)
    later = seep.directory / "later" / ".dwz"
    later.mkdir(parents=True)
    (binary.parent / "shared.dwz").rename(later / "shared.dwz")
    recordings = seep.record([binary])
    text = report_text(seep, recordings.path)
    assert "in one (shared.dwz with its debug information was not found)" in text
    assert "keep_one" not in text
    text = report_text(seep, recordings.path, "--symbols", seep.directory / "later")
    assert "keep_one" in text and "was not found" not in text


def test_a_program_without_lines_is_named(seep):
    binary = compile_inlined(seep, "bare")
    recordings = seep.record([binary])
    text = report_text(seep, recordings.path)
    assert "No lines for code in bare (no debug information)" in text


def test_a_function_has_the_name_that_its_callers_use(seep):
    source = seep.directory / "alias.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "__attribute__((noinline)) void *___made(size_t n) { return malloc(n); }\n"
        "__attribute__((noinline)) void *_own(size_t n) { return malloc(n + 1); }\n"
        'extern void *made(size_t) __attribute__((alias("___made")));\n'
        "int main(void) { return !made(10) | !_own(10); }\n"
    )
    binary = seep.directory / "alias"
    subprocess.run([need("gcc"), "-g", "-O1", "-o", binary, source], check=True)
    _, recordings = seep.run([binary])
    report = recordings.main()
    assert [len(contexts_of(report, name)) for name in ("made", "_own", "___made")] == [1, 1, 0]
