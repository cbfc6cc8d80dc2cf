# SPDX-License-Identifier: MIT
"""Every wrong free and access of the misuse_* programs is named, and nothing that is right; in builds by
gcc and clang, -O0 and -O2.

What the words in the last column of `PROGRAM --list` mean: `guard`, `quarantine` and `sample`, only with
that option can it be known; `no-quarantine`, where freed blocks wait other things are wrong with it; `reuses`, it is
of memory that the next block gets, so that freed blocks may not wait; `no-guard`, the program takes the bytes
in front of a block for a number of objects, and would not end; `c23`, the function is there only
in libseep.so; `missed`, nothing that seep looks at can tell (docs/heap-errors.md).
"""

import concurrent.futures
import itertools
import json
import os
import subprocess

import pytest

from harness import LIMIT_S, SEEP, program, run_plain
from leak_run import ready
from leak_truth import LEAK_DIR, variants
from misuse_truth import SETTINGS, is_function, misuse_cases, read, run_case, settings_of

ROUNDS = 20
number = itertools.count()


def cases():
    return [
        pytest.param(c, id=str(c), marks=[pytest.mark.fast] if c.has("fast") else [])
        for c in misuse_cases()
    ]


def check(seep, case, runs):
    """`runs` are (variant, setting)."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(
                run_case, case, *run, seep.directory / f"case-{next(number)}", seep.ledger_dir
            )
            for run in runs
        ]
        wrong = [sentence for job in jobs for sentence in job.result(timeout=LIMIT_S)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", cases())
def test_each_misuse_is_named_and_nothing_else(seep, case):
    """In each build as it is usual for the case, in one under all settings."""
    usual, *others = settings_of(case)
    check(seep, case, [(v, usual) for v in variants()] + [("gcc-O2", s) for s in others])


@pytest.mark.slow
@pytest.mark.parametrize("case", cases())
def test_findings_do_not_flicker(seep, case):
    check(seep, case, [(v, s) for v in variants() for s in settings_of(case)] * ROUNDS)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_programs_are_built_by(compiler):
    if not any(v.startswith(compiler) for v in variants()):
        pytest.skip(f"{compiler} is not installed")
    assert {f"{compiler}-O0", f"{compiler}-O2"} <= set(variants())


def record(seep, program, name, *options, status=0):
    result, recordings = seep.run([LEAK_DIR / "gcc-O2" / program, name], options)
    assert result.status == status, result.stderr
    return recordings


def test_a_finding_is_the_same_in_each_run(seep):
    """Under different addresses; and its document is as the schema says."""
    runs = [record(seep, "misuse_cxx", "many_times").main() for _ in range(2)]
    (one,), (two,) = [run["findings"] for run in runs]
    assert one["hash"] == two["hash"] and one["pointer"] != two["pointer"]
    for run in runs:
        (finding,) = run["findings"]
        process = run["process"]
        assert process["start_ns"] <= finding["at_ns"] <= process["end_ns"]
        assert finding["tid"] == process["pid"]
        assert (finding["thread"], finding["suppressed_by"]) == ("misuse_cxx", None)


def test_a_finding_counts_neither_as_allocation_nor_as_free(seep):
    wrong, right = [
        record(seep, "misuse_cxx", name).main()["totals"]
        for name in ("by_new_array-to_delete", "by_new-to_delete")
    ]
    for key in ("allocs", "alloc_bytes", "frees", "live_blocks", "peak_bytes", "untracked_frees"):
        assert wrong[key] == right[key], key


def test_marks_do_not_make_two_of_one(seep):
    """A block's row is that of its epoch."""
    report = record(seep, "misuse_cxx", "many_times", "--snapshot-every", "100ms").main()
    assert [f["count"] for f in report["findings"]] == [1000]


def test_what_a_running_process_did_wrong_is_told(seep):
    words = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", "--",
             LEAK_DIR / "gcc-O2" / "misuse_cxx", "while_running"]
    with subprocess.Popen([os.fspath(w) for w in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**os.environ, **seep.environment()}) as process:
        ready(process)
        pid = subprocess.run(["pgrep", "-x", "misuse_cxx", "-P", str(process.pid)],
                             stdout=subprocess.PIPE, check=True).stdout.decode().strip()
        live = seep.load(pid)
        top = json.loads(seep.command("top", "--once", "--json", "--interval", "50ms", pid).stdout)
        process.communicate(timeout=LIMIT_S)
    later = seep.load(seep.directory / "run.seep")
    for report in (live, later):
        (finding,) = report["findings"]
        assert (finding["kind"], finding["freeing"]) == ("mismatched-free", "free")
    assert live["findings"][0]["hash"] == later["findings"][0]["hash"]
    (finding,) = top["findings"]
    assert finding.pop("pid") == int(pid)
    for report, found in (live, live["findings"][0]), (top, finding):
        for key in ("alloc_frames", "here_frames"):
            found[key] = [report["frames"][i]["function"] for i in found[key]]
    assert finding == live["findings"][0]


@pytest.mark.parametrize("filter_", [("--size-min=5000",), ("--module=!misuse_c",), ("--mode=off",)])
@pytest.mark.parametrize("name", ["right_functions", "right_many_times", "of_private_malloc"])
def test_with_a_filter_nothing_that_is_right_is_a_finding(seep, name, filter_):
    """Blocks that are not recorded are freed as others are."""
    report = record(seep, "misuse_c", name, *filter_).main()
    assert report["findings"] == []


@pytest.mark.parametrize("filter_", [("--size-min=5000",), ("--mode=off",)])
def test_with_a_filter_a_double_free_is_not_judged(seep, filter_):
    report = record(seep, "misuse_c", "twice", *filter_, status=-6).main()
    assert report["findings"] == []


PROGRAMS = {
    "python": ["/usr/bin/python3", "-c", "import json, ast, re, unittest; json.dumps([1] * 1000)"],
    "bash": ["bash", "-c", 'a=(); for i in {1..999}; do a+=("$i$i"); done; echo "${a[@]}" | wc -c'],
    "git": ["git", "--version"],
    "compiler": ["g++", "-O1", "-x", "c++", "-c", "-o", "/dev/null", "-include", "map", "/dev/null"],
    "sort": ["sh", "-c", "seq 20000 | sort -r | awk '{ s += $1 } END { print s }'"],
    "perl": ["perl", "-e", 'my %h; $h{$_ % 97} .= "x$_" for 1..20000; print length $h{5}'],
}


@pytest.mark.parametrize("setting", ["usual", "level"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_others_have_no_findings(seep, name, setting):
    plain = run_plain(PROGRAMS[name])
    result, recordings = seep.run(PROGRAMS[name], SETTINGS[setting])
    result.same_as(plain)
    reports = [read(path, seep.environment()) for path in recordings.paths()]
    assert reports and [f for r in reports for f in r["findings"]] == []


def test_no_frame_of_the_library_is_in_a_stack(seep):
    report = record(seep, "misuse_cxx", "by_new-to_free", "--free-stacks").main()
    (finding,) = report["findings"]
    for key in ("here_frames", "alloc_frames"):
        frames = [report["frames"][i] for i in finding[key]]
        assert is_function(frames[-3], "main") or is_function(frames[-1], "_start"), frames
        assert not any("libseep" in (f["module"] or "") for f in frames)


def storm(seep, *words, status=0):
    result, recordings = seep.run([program("free_storm"), *words], ["--no-leak-check"])
    assert result.status == status, result.stderr
    return int(result.stdout), recordings.main()


@pytest.mark.parametrize("end", [[], ["kill"]])
def test_of_many_findings_none_is_lost(seep, end):
    """10,000 and more a second, by several threads; the same when the program is killed."""
    frees, report = storm(seep, "4", "30000", "10", *end, status=-9 if end else 0)
    assert sum(f["count"] for f in report["findings"]) == frees
    assert len(report["findings"]) > 500
    assert {f["kind"] for f in report["findings"]} == {"size-mismatch"}


def test_heap_errors_alone_set_the_status(seep):
    words = [program("free_storm"), "1", "1", "1"]
    for options, status in ([], 9), (["--mode=off"], 0):
        result, recordings = seep.run(words, ["--no-leak-check", "--error-exitcode=9", *options])
        assert result.status == status, result.stderr
        assert "fill" not in (recordings.main()["process"]["options"] or "")


def test_findings_that_have_no_room_are_counted(seep):
    frees, report = storm(seep, "2", "60000", "30")
    lost = [u["detail"] for u in report["unseen"] if u["code"] == "findings-full"]
    assert len(lost) == 1
    missing = int(lost[0].split()[0].replace(",", ""))
    assert missing > 0 and sum(f["count"] for f in report["findings"]) + missing == frees


def test_an_error_in_a_stripped_program_has_its_names(seep):
    """From the file with debug information that it names."""
    for source, name, options in (
        ("misuse_c", "twice", []),
        ("misuse_access", "behind_by_1", ["--guard"]),
        ("misuse_access", "in_front_by_1", ["--guard"]),
        ("misuse_access", "written_after", ["--quarantine"]),
    ):
        path = seep.directory / source
        debug = seep.directory / f"{source}.debug"
        whole = LEAK_DIR / "gcc-O2" / source
        subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", whole, path], check=True)
        result, recordings = seep.run([path, name], options)
        report = recordings.main()
        (finding,) = report["findings"]
        named = [report["frames"][i] for i in finding["alloc_frames"]]
        assert any(f["function"] and f["file"] and f["line"] for f in named), (name, result)


def test_a_debugger_can_stop_at_an_allocation(seep):
    words = [program("free_storm"), "break"]
    recordings = seep.record(words)
    raw = seep.command("report", "--raw", recordings.path).stdout.decode()
    (line,) = [text for text in raw.splitlines() if "in 5 calls, freed" in text]
    stack = line.split("break ")[1][:16]
    for nth, status in (("", -5), (":5", -5), (":6", 0)):
        result, _ = seep.run(words, [f"--break={stack}{nth}"])
        assert result.status == status, result
        missed = "came to allocation 6 by that call stack; the most is 5".encode()
        assert (missed in result.stderr) == (nth == ":6"), result
    for text in ("zz", stack[:15], f"{stack}:", f"{stack}:x"):
        refused = seep.command("run", f"--break={text}", "--", "/bin/true")
        assert refused.status == 2 and b"--break" in refused.stderr
