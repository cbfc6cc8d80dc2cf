# SPDX-License-Identifier: MIT
"""Names that are hard to carry: spaces, bytes that are no text, stripped and renamed programs."""

import os
import shutil
import subprocess

import pytest

from harness import (
    SOURCE, check_truth, contexts_of, functions, need, parse_truth, program, run_plain,
)

NAMES = [
    b"two words",
    b"tab\tand\nline",
    b"caf\xc3\xa9",
    b"not utf8 \xff\xfe",
    b'quote"back\\slash',
    b"percent %p %e %d",
    b"-dash",
    b"x" * 200,
]


@pytest.mark.parametrize("name", NAMES, ids=[ascii(n)[2:-1][:20] for n in NAMES])
def test_a_program_of_any_name_is_recorded(seep, name):
    folder = os.path.join(os.fsencode(seep.directory), name)
    os.mkdir(folder)
    copy = os.path.join(folder, name)
    shutil.copy(program("mini_dlsym"), copy)
    truth = seep.directory / "truth"
    result, recordings = seep.run([copy, name], env={"TRUTH_FILE": str(truth)})
    assert (result.status, result.stdout, result.stderr) == (0, b"", b"")
    report = recordings.main()
    check_truth(report, parse_truth(truth.read_text()))
    for path in recordings.folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0


def test_a_recording_may_have_any_name(seep):
    for name in NAMES:
        target = os.path.join(os.fsencode(seep.directory), name + b".seep")
        if b"%" in name:
            continue
        done = seep.command("run", "-o", target, "-q", "--", program("mini_dlsym"))
        assert done.status == 0, done.stderr
        assert os.path.exists(target)
        assert seep.command("report", target, "--json").status == 0


def copy_stripped(seep, *, debuglink):
    copy = seep.directory / "stripped"
    shutil.copy(program("mini_dlsym"), copy)
    objcopy = need("objcopy")
    if debuglink:
        debug = seep.directory / "stripped.debug"
        subprocess.run([objcopy, "--only-keep-debug", copy, debug], check=True)
    subprocess.run([need("strip"), copy], check=True)
    if debuglink:
        subprocess.run([objcopy, f"--add-gnu-debuglink={debug}", copy], check=True)
    return copy


def test_a_stripped_program_finds_its_separate_debug_file(seep):
    copy = copy_stripped(seep, debuglink=True)
    truth = seep.directory / "truth"
    recordings = seep.record([copy], env={"TRUTH_FILE": str(truth)})
    report = recordings.main()
    check_truth(report, parse_truth(truth.read_text()))
    for context in contexts_of(report, "by_next"):
        assert functions(context)[1:3] == ["one_round", "main"]
        assert context["frames"][0]["file"].endswith("mini_dlsym.c")
        assert context["frames"][0]["line"] > 0


def test_a_stripped_program_is_counted_without_names(seep):
    copy = copy_stripped(seep, debuglink=False)
    truth_path = seep.directory / "truth"
    recordings = seep.record([copy], env={"TRUTH_FILE": str(truth_path)})
    report, truth = recordings.main(), parse_truth(truth_path.read_text())
    own = [c for c in report["contexts"] if c["frames"] and c["frames"][0]["module"] == str(copy)]
    for key, name in (("allocs", "allocs"), ("live_bytes", "live_bytes")):
        want = sum(site[name] for site in truth.sites.values())
        assert sum(context[key] for context in own) == want
    assert all(context["frames"][0]["build_id"] for context in own)
    assert all(context["frames"][0]["offset"] for context in own)


def test_names_in_the_report_text_are_harmless(seep):
    """Control bytes of a program's name reach no terminal as they are."""
    copy = os.path.join(os.fsencode(seep.directory), b"evil\x1b[31mname")
    shutil.copy(program("mini_dlsym"), copy)
    recordings = seep.record([copy, b"\x1b]0;title\x07"])
    done = seep.command("report", recordings.path)
    assert done.status == 0
    assert b"\x1b" not in done.stdout and b"\x07" not in done.stdout


def test_the_working_directory_may_be_gone(seep):
    gone = seep.directory / "gone"
    gone.mkdir()
    script = f'cd "{gone}" && rmdir "{gone}" && exec "$0"'
    command = ["/bin/sh", "-c", script, program("mini_dlsym")]
    env = {"TRUTH_FILE": str(seep.directory / "truth")}
    plain = run_plain(command, env=env)
    gone.mkdir()
    result, recordings = seep.run(command, env=env)
    result.same_as(plain)
    truth = parse_truth((seep.directory / "truth").read_text())
    reports = [r for r in recordings.all() if contexts_of(r, "by_next")]
    assert len(reports) == 1
    check_truth(reports[0], truth)


def blamed_for(seep, recording, size, *options):
    """The line of the function to blame, and the lines behind it, of the stack of one such block."""
    text = seep.command("report", recording, "--top", "50", *options).stdout.decode()
    (stack,) = [part for part in text.split("\n\n") if f" {size} (" in part.split("\n")[0]]
    lines = [line.split("  ")[0] for line in map(str.strip, stack.split("\n")[1:])]
    return [line for line in lines if not line.startswith("via std::__")]


def line_of(text):
    lines = (SOURCE / "tests" / "programs" / "callables.cc").read_text().split("\n")
    return 1 + next(i for i, line in enumerate(lines) if text in line)


@pytest.mark.parametrize("lines", [True, False], ids=["debug", "release"])
def test_what_the_library_calls_is_the_programs_own(seep, lines):
    """With -O2 a job is part of std::function's code: the pool that runs it is not to blame."""
    copy = seep.directory / "callables"
    shutil.copy(program("callables"), copy)
    if not lines:
        subprocess.run([need("strip"), "--strip-debug", copy], check=True)
    recording = seep.record([copy]).path
    lambdas = [f"main::{{lambda:{line_of(f'keep({n}000)')}}}" if lines else f"main::{{lambda()#{i}}}"
               for i, n in ((1, 1), (2, 2), (4, 6))]
    pool = "(anon)::run_all"
    for size, name in (("1000 B", lambdas[0]), ("2.0 KB", lambdas[1]),
                       ("2.9 KB", "(anon)::Indexer::operator()")):
        stack = [line for line in blamed_for(seep, recording, size) if line != "(anon)::keep"]
        assert stack[0] == name, stack
        assert pool in stack
        assert not any("_M_invoke" in line for line in stack)
    assert lambdas[2] in blamed_for(seep, recording, "5.9 KB")
    assert blamed_for(seep, recording, "71.0 KB")[0] == "C++ emergency pool"


def test_two_types_from_one_line_are_two_rows(seep):
    recording = seep.record([program("callables")]).path
    for size, name in (("3.9 KB", "Conn"), ("4.9 KB", "Invoice")):
        stack = blamed_for(seep, recording, size)
        assert stack[0].startswith(f"via std::make_shared<(anon)::{name}>"), stack
        assert stack[1] == "(anon)::serve"


LAMBDAS = r"""
#include <string>
#include <thread>
namespace app { struct Cache { void fill(int); }; }
void app::Cache::fill(int k)
{
    auto make = [k] { auto *p = new std::string(100 + k, 'a'); asm volatile("" ::"r"(p) : "memory"); };
    for (int i = 0; i < k; i++) make();
}
int main(int argc, char **)
{
#ifdef MORE
    auto first = [] { return 1; };
    argc += first() - 1;
#endif
    app::Cache().fill(5 * argc);
    std::thread([] { auto *p = new std::string(300, 'b'); asm volatile("" ::"r"(p) : "memory"); }).join();
}
"""


def record_lambdas(seep, *words, compiler="g++", level="-O1"):
    (seep.directory / "lambdas.cc").write_text(LAMBDAS)
    built = seep.directory / "lambdas"
    done = run_plain([need(compiler), level, "-g", "-pthread", *words, seep.directory / "lambdas.cc", "-o", built])
    assert done.status == 0, done.stderr
    recordings = seep.record([built])
    name = shutil.copy(recordings.path, seep.directory / f"of{len(words)}.seep")
    return name, recordings.main()


@pytest.mark.parametrize("level", ["-O0", "-O1"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_lambda_outside_of_its_class_is_told_with_it(seep, compiler, level):
    _, report = record_lambdas(seep, compiler=compiler, level=level)
    names = {frame["function"] for frame in report["frames"] if frame["function"]}
    owner = "app::Cache::fill" + ("(int)" if compiler == "clang++" else "")
    assert any(name.startswith(owner + "::{lambda:7}") for name in names), names


def test_known_leaks_stay_known_when_a_lambda_is_added(seep):
    before, report = record_lambdas(seep)
    after, changed = record_lambdas(seep, "-DMORE")
    for number, of in ((1, report), (2, changed)):
        assert any(f"{{lambda()#{number}}}" in (frame["function"] or "") for frame in of["frames"])
    done = seep.command("check", "--baseline", before, "-b", "leaks<=0", after)
    assert done.status == 0, done.stdout.decode()
