# SPDX-License-Identifier: MIT
"""Every situation of the leak_* programs gets its verdict, in builds by gcc and clang, -O0 and -O2.

What the words in the last column of `PROGRAM --list` mean: `live`, the case waits and is looked at by
`seep leaks PID` as well; `trace-exit`, `follow`, `suppress=FUNCTION`, options of seep run; `unscanned`,
nobody can look, and seep says why; `exec`, several images; `children=N`, so many children say what is
wanted of a child; `named=FUNCTION`, in a stack; `unseen=CODE`; `root`, needs to be root; `no-lsan`,
`no-valgrind`, `lsan-api`, for tests/soak/leak_table.py; `reports`, code asks for a report, which goes to standard
error; `stale` is the program's own; `missed`, it is lost, and no verdict that seep can give says so (docs/limits.md).

Not staged: what belongs to attaching (E23, E24, F15, the rows "linked" and "musl"); F18, mappings are no
allocations; C16 with -m32, as libseep.so is of 64 bits (its 64-bit form is); C29's device memory, as this
machine has no such device.
"""

import concurrent.futures
import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile

import pytest

from harness import LIMIT_S, SEEP, need, need_open_to_others, program, run_plain
from leak_run import How, judge_wait, read, ready, run_case, untraced
from leak_truth import LEAK_DIR, all_cases, differences, variants
from running import wait_until, watched
from test_allocators import PRELOADS, library

ROUNDS = 20
number = itertools.count()


def marks(case):
    if case.has("fast"):
        yield pytest.mark.fast


def cases():
    return [pytest.param(c, id=str(c), marks=list(marks(c))) for c in all_cases()]


def case_of(name):
    return next(c for c in all_cases() if str(c) == name)


def check(seep, case, rounds=1, how=How(), builds=None):
    if case.has("root") and os.geteuid() != 0:
        pytest.skip("needs root")
    builds = builds or variants()
    assert builds, "the leak programs are not built"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(
                run_case, case, v, seep.directory / f"case-{next(number)}", seep.ledger_dir, how
            )
            for _ in range(rounds)
            for v in builds
        ]
        wrong = [sentence for job in jobs for sentence in job.result(timeout=LIMIT_S * rounds)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", cases())
def test_each_block_has_its_verdict(seep, case):
    check(seep, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", cases())
def test_verdicts_do_not_flicker(seep, case):
    check(seep, case, ROUNDS)


# ---- where it is hard to look ------------------------------------------------------------------

HARD = ["leak_graph-direct", "leak_graph-cycle", "leak_graph-globals", "leak_threads-on_stack"]


CONFINED = {
    "refused": (LEAK_DIR / "gcc-O0" / "leak_life", "--confine"),
    "killed": (LEAK_DIR / "gcc-O0" / "leak_life", "--confine-kill"),
}
FILTERED = r"a filter on system calls \(seccomp\) that seep runs under refuses ptrace"


@pytest.mark.parametrize("how", CONFINED)
@pytest.mark.parametrize("name", HARD)
def test_without_ptrace_the_verdict_is_the_same(seep, name, how):
    """E15: a filter on system calls that seep and the program have from a common parent."""
    how = How(before=CONFINED[how], untraced=FILTERED)
    check(seep, case_of(name), how=how, builds=["gcc-O0"])


def test_a_filter_that_kills_spares_the_program(seep):
    """libseep.so asks the kernel whether stacks can be read, in a way that such filters allow."""
    script = """
import json, threading, zlib
def work(n):
    def deep(k):
        return deep(k - 1) + 1 if k else len(json.dumps(list(range(50))))
    for _ in range(20):
        deep(100)
        zlib.compress(b"x" * 10000)
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print("ok")"""
    path = seep.directory / "script.py"
    path.write_text(script)
    command = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", "--", "/usr/bin/python3", path]
    done = run_plain([*CONFINED["killed"], *command], cwd=seep.directory, env=seep.environment())
    assert (done.status, done.stdout) == (0, b"ok\n"), done


def tracer_words(tracer):
    if tracer == "strace":
        return (need("strace"), "-f", "-qq", "-o", "/dev/null")
    return (need("gdb"), "-q", "-batch", "-ex", "set confirm off", "-ex", "run", "--args")


@pytest.mark.parametrize("tracer", ["gdb", "strace"])
@pytest.mark.parametrize("name", HARD)
def test_under_a_tracer_the_verdict_is_the_same(seep, name, tracer):
    """E15: nobody else can trace the program then."""
    words, why = tracer_words(tracer), rf"{tracer} \(pid \d+\) traces it already"
    how = How(wrap=words, options=("--follow", "leak_"), untraced=why)
    case = case_of(name)
    if tracer == "strace":
        check(seep, case, how=how, builds=["gcc-O0"])
        return
    # What gdb prints has addresses and names of threads in it.
    command = [*words, LEAK_DIR / "gcc-O0" / case.program, case.name]
    recordings = seep.record(command, how.options)
    found = [read(p, seep.environment()) for p in recordings.folder.rglob("*.seep")]
    (report,) = [r for r in found if r["process"]["exe"].endswith(case.program)]
    assert not wrong_of(report, case) + judge_wait(report, why)


@pytest.mark.parametrize("how", ["gdb", "strace", *CONFINED])
def test_who_cannot_be_traced_while_it_runs_is_not_scanned_and_it_is_said_why(seep, how):
    before = CONFINED.get(how, ())
    words = [] if before else tracer_words(how)
    why = FILTERED if before else rf"{how} \(pid \d+\) traces it already"
    program = LEAK_DIR / "gcc-O0" / "leak_hostile"
    process = subprocess.Popen(
        [*before, SEEP, "run", "-q", "-o", seep.directory / "run.seep", "--follow", "leak_", "--",
         *words, program, "idle"],
        env={**os.environ, **seep.environment()}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ready(process)
    (pid,) = wait_until(
        lambda: [p["pid"] for p in watched(seep, "recorded") if p["exe"] == str(program)],
        "the recorder")
    done = run_plain([*before, SEEP, "leaks", "--json", str(pid)], env=seep.environment())
    process.communicate(timeout=LIMIT_S)
    report = json.loads(done.stdout)
    assert done.status == 0 and report["leaks"] == [] and report["scan"]["method"] is None
    assert re.fullmatch(untraced(report, why), report["scan"]["why_not"])


def test_who_is_not_dumpable_is_not_scanned_without_root_and_it_is_said_why(seep):
    """E14: root may look all the same, as `not_dumpable` shows."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become nobody")
    need_open_to_others(SEEP)
    case = (LEAK_DIR / "gcc-O0" / "leak_life", "not_dumpable")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        environment = {"SEEP_DIR": folder}
        words = [need("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups",
                 SEEP, "run", "-q", "-o", f"{folder}/run.seep", "--", *case]
        assert run_plain(words, env=environment).status == 0
        report = read(f"{folder}/run.seep", environment)
    why = r"it is not dumpable \(.*\), and tracing that needs CAP_SYS_PTRACE"
    assert report["scan"]["method"] is None
    assert re.fullmatch(untraced(report, why), report["scan"]["why_not"])


TRACED = [
    "leak_life-became_another", "leak_life-ran_others", "leak_life-child_leaks",
    "leak_life-became_daemon", "leak_life-checks_from_code", "leak_life-closed_all",
    "leak_threads-main_leaves", "leak_threads-many_threads", "leak_threads-raw_clone",
]


@pytest.mark.parametrize("name", TRACED)
def test_that_a_process_is_traced_until_its_end_changes_no_verdict(seep, name):
    check(seep, case_of(name), how=How(options=("--trace-exit",)), builds=["gcc-O0"])


def wrong_of(report, case):
    return differences(report["leaks"], case.wants())


KINDS = [
    "leak_graph-direct",
    "leak_graph-list",
    "leak_graph-globals",
    "leak_graph-cycle",
    "leak_pointers-interior",
    "leak_threads-local_of_ended",
]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("allocator", [a for a in PRELOADS if a != "jemalloc"])
def test_verdicts_under_other_allocators(seep, allocator, name):
    """F16. What the allocator itself allocates as it starts is not the case's."""
    env = {"LD_PRELOAD": str(library(allocator))}
    how = How(env=env, options=("--follow", "leak_"), startup=False)
    check(seep, case_of(name), how=how, builds=["gcc-O0"])


def test_what_jemalloc_remembers_hides_leaks(seep):
    """F16, a limit: its caches keep words that lead to blocks it has given away."""
    env = {"LD_PRELOAD": str(library("jemalloc"))}
    path = record(seep, "leak_graph-direct", "--follow", "leak_", env=env)
    found = [x for x in leaks(seep, path)["leaks"] if x["bytes"] == 1001]
    assert [x["verdict"] for x in found] == ["REACHABLE"]
    assert "mapping outside the heap" in found[0]["evidence"]


def test_the_circle_of_a_cycle_is_shown(seep):
    path = record(seep, "leak_graph-cycle", "--why")
    text = seep.command("report", "--by", "lost", "--why", path).stdout.decode()
    assert re.search(r" LOST-CYCLE: .*\n(.*\n)+ +pointed to from block block \(0x[0-9a-f]+\)\n"
                     r" +that from block block \(0x[0-9a-f]+\): the block itself\n", text), text


def test_a_static_program_is_not_said_to_have_no_leaks(seep):
    """E20."""
    path = seep.directory / "static"
    text = "#include <stdlib.h>\nint main(void) { return malloc(1001) == NULL; }"
    subprocess.run([need("gcc"), "-static", "-O0", "-x", "c", "-", "-o", path], input=text,
                   text=True, check=True)
    done = seep.command("run", "-o", seep.directory / "run.seep", "--", path)
    said = (done.stdout + done.stderr).decode()
    assert "statically linked" in said
    assert "no leaks" not in said.lower()


def test_a_program_with_its_own_malloc_is_not_said_to_have_no_leaks(seep):
    """E20."""
    result, recordings = seep.run([program("own_malloc")])
    report = recordings.load(recordings.path)
    assert "own-allocator" in [u["code"] for u in report["unseen"]]
    shown = seep.command("leaks", recordings.path)
    assert "no leaks" not in shown.stdout.decode().lower()


def test_a_setuid_program_is_told_before_it_starts(seep):
    """E21: the loader ignores LD_PRELOAD then."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    path = seep.directory / "setuid"
    shutil.copy(LEAK_DIR / "gcc-O0" / "leak_graph", path)
    os.chown(path, 65534, 65534)
    path.chmod(0o4755)
    done = seep.command("run", "-o", seep.directory / "run.seep", "--", path, "direct")
    assert "set-user-ID" in done.stderr.decode() or "setuid" in done.stderr.decode()


def test_a_directory_that_cannot_be_written_changes_no_verdict(seep):
    """E22."""
    case = case_of("leak_graph-direct")
    out = seep.directory / "run.seep"
    done = seep.command("run", "-q", "-o", out, "--", LEAK_DIR / "gcc-O0" / "leak_graph", "direct",
                        cwd="/proc")
    assert done.status == 0 and done.stderr == b""
    assert not wrong_of(read(out, seep.environment()), case)


@pytest.mark.parametrize("megabytes", [16, 64, 256])
def test_a_tool_without_memory_harms_nobody(seep, megabytes):
    """H11: it ends with a sentence or with the truth, and the program goes on."""
    case = case_of("leak_hostile-idle")
    command = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", "--",
               LEAK_DIR / "gcc-O0" / "leak_hostile", "idle"]
    with subprocess.Popen(list(map(os.fspath, command)), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE,
                          env={**os.environ, **seep.environment()}) as process:
        ready(process)
        pid = int(subprocess.run(["pgrep", "-x", "leak_hostile", "-P", str(process.pid)],
                                 stdout=subprocess.PIPE, check=True).stdout)
        limit = megabytes << 20
        done = subprocess.run(
            [SEEP, "leaks", str(pid), "--json", "--leak-kinds=all"],
            env={**os.environ, **seep.environment()}, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        )
        process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0
    assert done.returncode >= 0 or b"memory" in done.stderr, done
    if done.returncode == 0:
        assert not wrong_of(json.loads(done.stdout), case)
    else:
        assert done.stderr


# ---- what is said ------------------------------------------------------------------------------


def record(seep, name, *options, env=None):
    """The path of a recording of one case by gcc -O0."""
    case = case_of(name)
    out = seep.directory / f"run-{next(number)}.seep"
    done = seep.command("run", "-q", "-o", out, *options, "--",
                        LEAK_DIR / "gcc-O0" / case.program, case.name, env=env)
    assert done.status == 0, done.stderr.decode()
    return out


def leaks(seep, path, *options):
    done = seep.command("leaks", path, "--json", "--leak-kinds=all", *options)
    assert done.status == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["leak_graph-direct", "leak_graph-list", "leak_objects-lost_map",
                                  "leak_roots-in_open_library"])
def test_a_leak_has_the_same_hash_in_each_run(seep, name):
    """J1: under different addresses."""
    runs = [leaks(seep, record(seep, name), "--blocks=1") for _ in range(2)]
    hashes = [sorted((x["hash"], x["verdict"], x["bytes"]) for x in r["leaks"]) for r in runs]
    assert hashes[0] == hashes[1] and hashes[0]
    addresses = [{b["address"] for x in r["leaks"] for b in x["block_list"]} for r in runs]
    assert addresses[0] and addresses[0].isdisjoint(addresses[1])


RULES = {
    "function": "leak:^plain_lost$",
    "file": "leak:leak_graph.c$",
    "module": "leak:/gcc-O0/leak_graph$",
    "stack": "{\n  one\n  Memcheck:Leak\n  fun:malloc\n  fun:block\n  fun:plain_lost\n"
             "  ...\n  fun:main\n}",
    "hash": "hash:{hash}",
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_suppresses_and_is_counted_and_unused_ones_are_listed(seep, rule):
    """J2."""
    plain = leaks(seep, record(seep, "leak_graph-direct"))
    lost = [x for x in plain["leaks"] if x["verdict"] == "LOST"]
    assert len(lost) == 1
    text = RULES[rule].replace("plain_lost", "direct").replace("{hash}", lost[0]["hash"])
    path = seep.directory / "known.supp"
    path.write_text(f"leak:never_there\n{text}\n")
    found = leaks(seep, record(seep, "leak_graph-direct", "--suppressions", path))
    suppressed = [x for x in found["leaks"] if x["verdict"] == "SUPPRESSED"]
    assert [(x["bytes"], x["blocks"]) for x in suppressed] == [(1001, 1)]
    assert not [x for x in found["leaks"] if x["verdict"] == "LOST"]
    used = {s["text"]: (s["leaks"], s["blocks"], s["bytes"])
            for s in found["scan"]["suppressions"] if s["file"]}
    assert used.pop("leak:never_there") == (0, 0, 0)
    assert list(used.values()) == [(1, 1, 1001)]
