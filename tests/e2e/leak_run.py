# SPDX-License-Identifier: MIT
"""One case of a leak_* program, run bare and recorded: what is wrong with what seep said of it."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess

from harness import LIMIT_S, SEEP, run_plain
from leak_truth import COMPLETE, LEAK_DIR, differences, wants_printed


@dataclasses.dataclass(frozen=True)
class How:
    """Under what a case runs: a command before seep, one between seep and the program, ..."""

    before: tuple = ()
    wrap: tuple = ()
    options: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    untraced: str = ""  # it waits at its end instead of being stopped; why, as a pattern
    startup: bool = True  # leaks from before main count


def ready(process):
    """The output of a live case up to the moment when it waits."""
    said = b""
    while not said.endswith(b"ready\n"):
        byte = process.stdout.read(1)
        assert byte, f"it ended early, having said {said!r}"
        said += byte
    return said


def seep_words(case, folder):
    words = [SEEP, "run", "-q", "-f", "-o", folder / "run.seep"]
    if case.has("follow"):
        words += ["--follow", "."]
    if case.has("trace-exit"):
        words += ["--trace-exit"]
    if case.value("suppress"):
        (folder / "known.supp").write_text(f"leak:{case.value('suppress')}\n")
        words += ["--suppressions", folder / "known.supp"]
    return words


def read(path, environment):
    done = run_plain([SEEP, "leaks", "--json", "--leak-kinds=all", path], env=environment)
    assert done.status == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


def judge(report, case, wants):
    wrong = differences(report["leaks"], wants)
    scan = report["scan"]
    if case.has("unscanned"):
        if not scan or scan["method"] is not None or not scan["why_not"]:
            wrong.append(f"it says of a scan that cannot be: {scan}")
    elif not scan or scan["method"] is None:
        wrong.append(f"not scanned: {scan and scan['why_not']}")
    name = case.value("named")
    if name and not any(
        report["frames"][f]["function"] == name for leak in report["leaks"] for f in leak["frames"]
    ):
        wrong.append(f"{name} is in no stack")
    code = case.value("unseen")
    if code and code not in [u["code"] for u in report["unseen"]]:
        wrong.append(f"no {code} in {report['unseen']}")
    if wrong:
        wrong += [f"caveat: {c}" for c in (scan or {}).get("caveats", [])]
    return wrong


def judge_children(reports, case, wants):
    """As many recordings of children as the case has must say what it wants, the others nothing."""
    expected, wrong = int(case.value("children") or 1), []
    right = 0
    for report in reports:
        found = judge(report, case, wants)
        right += not found
        lost = [x for x in report["leaks"] if x["verdict"] in COMPLETE[:2]]
        wrong += [f"in a child, {w}" for w in found if lost or expected]
    if right == expected:
        wrong = [w for w in wrong if "said: LOST" in w]
    else:
        wrong.append(f"{right} of {len(reports)} children say what {expected} should")
    return wrong


def check_live(case, pid, environment):
    """What `seep leaks PID` says of a waiting process, several times."""
    wrong = []
    for _ in range(3):
        done = run_plain([SEEP, "leaks", str(pid), "--json", "--leak-kinds=all"], env=environment)
        if done.status != 0:
            wrong.append(f"live: {done.status}, {done.stderr.decode(errors='replace')}")
            continue
        wants = case.wants()
        wrong += [f"live: {w}" for w in judge(json.loads(done.stdout), case, wants)]
    return wrong


def run_live(case, words, environment, folder):
    """(output, status, errors, what was wrong) of a recorded live case."""
    process = subprocess.Popen(
        [os.fspath(word) for word in words],
        env={**os.environ, **environment},
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    said = ready(process)
    pid = int(subprocess.run(
        ["pgrep", "-n", "-x", case.program[:15], "-P", str(process.pid)],
        stdout=subprocess.PIPE, check=True,
    ).stdout)
    wrong = check_live(case, pid, environment)
    rest, errors = process.communicate(timeout=LIMIT_S)
    return said + rest, process.returncode, errors, wrong


def run_case(case, variant, folder, ledger_dir, how=How()):
    """Sentences about what is wrong with this case in this build; [] is right."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    environment = {"SEEP_DIR": str(ledger_dir), **how.env}
    command = [*how.wrap, LEAK_DIR / variant / case.program, case.name]
    plain = run_plain([*how.before, *command], cwd=folder, env=how.env)
    wrong = []
    words = [*how.before, *seep_words(case, folder), *how.options, "--", *command]
    if case.has("live"):
        stdout, status, stderr, wrong = run_live(case, words, environment, folder)
    else:
        done = run_plain(words, cwd=folder, env=environment)
        stdout, status, stderr = done.stdout, done.status, done.stderr
    if case.has("reports"):
        stderr = stderr if b"leak" not in stderr else b""
    if (stdout, status, stderr) != (plain.stdout, plain.status, plain.stderr):
        wrong.append(f"it ended as {(status, stdout, stderr)}, bare as {plain}")
    wrong += judge_recordings(case, plain.stdout, folder, environment, how)
    shutil.rmtree(folder, ignore_errors=True)
    return [f"{case} {variant}: {w}" for w in wrong]


def judge_recordings(case, stdout, folder, environment, how):
    main = folder / "run.seep"
    if not main.exists():
        return ["no recording"]
    paths = [main, *sorted(p for p in folder.rglob("*.seep") if p != main)]
    reports = [read(p, environment) for p in paths]
    if how.wrap:
        reports = [r for r in reports if r["process"]["exe"].endswith(case.program)]
        if len(reports) != 1:
            return [f"{len(reports)} recordings of {case.program}"]
    if case.has("exec"):
        return judge_exec(case, reports, stdout)
    if not how.startup:
        reports[0]["leaks"] = [x for x in reports[0]["leaks"] if "startup" not in x["flags"]]
    wrong = judge(reports[0], case, wants_printed(stdout))
    if case.has("follow"):
        wrong += judge_children(reports[1:], case, wants_printed(stdout, child=True))
    return wrong + (judge_wait(reports[0], how.untraced) if how.untraced else [])


def untraced(report, why):
    process = report["process"]
    name = pathlib.Path(process["exe"]).name
    return re.escape(f"process {process['pid']} ({name}) cannot be traced: ") + why


def judge_wait(report, why):
    """Threads that did not wait with it are named, too."""
    said = "the process was not stopped, it waited at its end: " + untraced(report, why)
    scan = report["scan"]
    if scan["method"] == "waiting" and re.fullmatch(said, scan["caveats"][0]):
        return []
    return [f"it did not wait, or not because {why}: {scan}"]


def judge_exec(case, reports, stdout):
    """Each image has one of the wants, or says that nobody looked; the last one was looked at."""
    wrong, wants = [], case.wants()
    for want, report in zip(wants, sorted(reports, key=lambda r: r["process"]["start_ns"])):
        scan = report["scan"]
        with contextlib.suppress(KeyError, TypeError):
            if scan["method"] is None and scan["why_not"] and report["process"]["ended"] == "exec":
                continue
        wrong += differences(report["leaks"], [want])
    if len(reports) != len(wants):
        wrong.append(f"{len(reports)} recordings of {len(wants)} images")
    return wrong
