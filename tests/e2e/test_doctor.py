# SPDX-License-Identifier: MIT
"""`seep doctor`: no alarm where all is well, and the right one where something stands in the way."""

import json
import os
import re
import shutil
import subprocess

import pytest

from harness import RUNTIME, SEEP, SOURCE, need_open_to_others, program, run_plain
from json_schema import Validator
from running import PYTHON, TRUE, apart
from test_ps import start, start_alone
from test_run_refusals import drop_loader, edit_true, loader, set_machine

SCHEMA = json.loads((SOURCE / "docs" / "json-schema.json").read_text())
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make this machine")


def doctor(seep, *words, env=None, around=()):
    """Its status, and its findings by their codes. `around`: a command to run it by."""
    command = [*around, SEEP, "doctor", "--json", *words]
    done = run_plain(command, env=seep.environment(env), cwd=seep.directory)
    assert done.stderr == b"", done.stderr
    document = json.loads(done.stdout)
    schema = Validator(SCHEMA, closed=True)
    assert list(schema.check(document, SCHEMA["$defs"]["doctor"], "$")) == []
    findings = {check["code"]: check for check in document["checks"]}
    assert len(findings) == len(document["checks"])
    for result in ("problem", "note"):
        count = sum(f["result"] == result for f in findings.values())
        assert count == document[result + "s"]
    assert done.status == (1 if document["problems"] else 0)
    return document, findings


def problems(findings):
    return {code for code, found in findings.items() if found["result"] == "problem"}


def under_shell(setting):
    return ["/bin/sh", "-c", f'{setting} && exec "$@"', "sh"]


# ---- this machine ------------------------------------------------------------------------------


@pytest.mark.fast
def test_where_tests_pass_there_are_no_problems(seep):
    document, findings = doctor(seep)
    assert problems(findings) == set()
    assert document["subject"] == {"kind": "machine", "pid": None, "program": None, "state": None}
    assert findings["trial"]["result"] == "ok"
    assert seep.ledgers() == []


@pytest.mark.fast
def test_the_text_says_problems_first_and_fits(seep):
    done = seep.command("doctor", "/bin/sh", env={"SEEP_OPTIONS": "mod=all"})
    lines = done.stdout.decode().splitlines()
    assert done.status == 1
    assert lines[0].startswith("problem  ")
    assert "1 problem" in done.stdout.decode()
    assert max(map(len, lines)) <= 80


@NEEDS_ROOT
def test_a_folder_that_is_only_looked_at_does_not_stay(seep):
    container = apart("--pid", "--fork", "--mount-proc")
    looks = f"mount -t tmpfs none /dev/shm; {SEEP} doctor && ls /dev/shm"
    done = run_plain([*container, "env", "-u", "SEEP_DIR", "sh", "-c", looks])
    assert done.status == 0
    assert b"seep-" not in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "setting, code",
    [
        ("ulimit -v 150000", "limits"),
        ("ulimit -f 100", "limits"),
        ("export SEEP_OPTIONS=modee=all", "options"),
        ("export SEEP_DIR=/proc", "ledgers"),
        ("export SEEP_DIR=$PWD/nothing/there", "ledgers"),
        ("export SEEP_LIB=/no/such/library.so", "library"),
        ("export SEEP_LIB=$PWD/text.so", "library"),
        ("export SEEP_LIB=$PWD/newer.so", "library"),
        ("export LD_PRELOAD=$PWD/libasan.so.8", "preload"),
    ],
)
def test_what_stands_in_the_way_is_the_one_problem(seep, setting, code):
    (seep.directory / "text.so").write_text("no library\n")
    newer = re.sub(rb"GLIBC_2\.3[0-9]\0", b"GLIBC_9.30\0", RUNTIME.read_bytes())
    (seep.directory / "newer.so").write_bytes(newer)
    shutil.copy(program("lib_count.so"), seep.directory / "libasan.so.8")
    _, findings = doctor(seep, around=under_shell(setting))
    assert problems(findings) == {code}
    assert findings[code]["advice"]


@pytest.mark.parametrize(
    "setting, code",
    [("ulimit -v 1000000", "limits"), ("ulimit -f 200000", "limits")],
)
def test_what_only_narrows_is_a_note(seep, setting, code):
    _, findings = doctor(seep, around=under_shell(setting))
    assert problems(findings) == set()
    assert findings[code]["result"] == "note"


@NEEDS_ROOT
def test_a_containers_shm_is_a_note_and_a_full_one_a_problem(seep):
    mount = (
        "mount -t tmpfs -o size=64m tmpfs /dev/shm; export SEEP_DIR=/dev/shm/seep-0; "
        "mkdir -m 700 $SEEP_DIR"
    )
    container = apart("--pid", "--fork", "--mount-proc")
    _, findings = doctor(seep, around=[*container, *under_shell(mount)])
    assert problems(findings) == set()
    assert "--shm-size" in findings["room"]["advice"]
    fill = mount + "; head -c 67000000 /dev/zero > /dev/shm/full"
    _, findings = doctor(seep, around=[*container, *under_shell(fill)])
    assert problems(findings) == {"room"}


@NEEDS_ROOT
def test_another_user_needs_nothing(seep):
    need_open_to_others(SEEP)
    shared = seep.directory / "shared"
    shared.mkdir(mode=0o700)
    os.chown(shared, 65534, 65534)
    for path in (seep.directory, *seep.directory.parents[:3]):
        path.chmod(path.stat().st_mode | 0o055)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env",
                 f"SEEP_DIR={shared}"]
    _, findings = doctor(seep, around=as_nobody)
    assert problems(findings) == set()


# ---- a program ---------------------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize("edit", [drop_loader, loader(b"/lib/ld-musl-x86_64.so.1"), set_machine])
def test_what_run_refuses_is_a_problem_in_the_same_words(seep, edit):
    path = edit_true(seep.directory, "edited", edit)
    _, findings = doctor(seep, path)
    refused = seep.command("run", path, cwd=seep.directory)
    assert refused.status == 125
    assert problems(findings) == {"program"}
    assert findings["program"]["sentence"] in refused.stderr.decode()


def test_no_program_is_a_problem_too(seep):
    assert problems(doctor(seep, "no-such-program-here")[1]) == {"program"}
    (seep.directory / "text").write_text("true\n")
    assert problems(doctor(seep, "./text")[1]) == {"program"}


def test_a_malloc_of_its_own_is_a_problem_and_really_is(seep):
    path = program("own_malloc")
    assert problems(doctor(seep, path)[1]) == {"own-malloc"}
    _, recordings = seep.run([path])
    assert recordings.main()["totals"]["allocs"] == 0


def test_a_missing_library_is_a_problem(seep):
    def rename(data):
        data[:] = data.replace(b"libc.so.6\0", b"libq.so.6\0")

    path = edit_true(seep.directory, "edited", rename)
    _, findings = doctor(seep, path)
    assert problems(findings) == {"libraries"}
    assert "libq.so.6" in findings["libraries"]["sentence"]


@NEEDS_ROOT
def test_a_set_id_program_is_a_problem_unless_that_gains_nothing(seep):
    path = seep.directory / "true"
    shutil.copy(TRUE, path)
    os.chown(path, 1, 1)
    path.chmod(0o4755)
    assert problems(doctor(seep, path)[1]) == {"program"}
    around = ["setpriv", "--no-new-privs"]
    assert problems(doctor(seep, path, around=around)[1]) == set()
    words = [*around, SEEP, "run", "-q", "-o", seep.directory / "x.seep", "--", path]
    assert run_plain(words, env=seep.environment()).status == 0
    assert seep.command("report", seep.directory / "x.seep").status == 0


def test_a_script_is_judged_by_what_runs_it(seep):
    script = seep.directory / "script"
    script.write_text(f"#!/usr/bin/env -S {PYTHON}\n")
    script.chmod(0o755)
    _, findings = doctor(seep, script)
    assert problems(findings) == set()
    assert PYTHON in findings["script"]["sentence"]
    assert "PYTHONMALLOC=malloc" in findings["memory-manager"]["advice"]


# ---- a process ---------------------------------------------------------------------------------

WAIT = "import sys; print('ready', flush=True); sys.stdin.read()"


def end(process):
    process.stdin.close()
    process.wait(timeout=60)
    process.stdout.close()


def test_a_recorded_process_is_well(seep):
    process = start_alone(seep)
    document, findings = doctor(seep, str(process.pid))
    end(process)
    assert problems(findings) == set()
    assert document["subject"]["kind"] == "process"
    assert document["subject"]["state"] == "running"
    assert {findings[code]["result"] for code in ("recorded", "library-loaded")} == {"ok"}
    assert document["restart"] is None


def test_another_process_comes_with_what_to_type(seep):
    process = start(seep, [PYTHON, "-c", WAIT])
    document, findings = doctor(seep, str(process.pid))
    end(process)
    assert problems(findings) == set()
    assert findings["recorded"]["result"] == "note"
    assert document["restart"]["run"].startswith("seep run -- ")
    again = subprocess.run(
        document["restart"]["preload"], shell=True, executable="/bin/bash", stdin=subprocess.DEVNULL,
        env={**os.environ, **seep.environment()}, capture_output=True, check=False,
    )
    assert again.stdout == b"ready\n"
    assert len(seep.ledgers()) == 1


def test_a_ledger_elsewhere_is_a_problem(seep):
    folder = seep.directory / "elsewhere"
    folder.mkdir(mode=0o700)
    process = start(seep, ["env", f"SEEP_DIR={folder}", f"LD_PRELOAD={RUNTIME}", PYTHON, "-c", WAIT])
    _, findings = doctor(seep, str(process.pid))
    end(process)
    assert problems(findings) == {"library-loaded"}
    assert f"{folder}/" in findings["library-loaded"]["sentence"]


def test_a_library_that_stays_off_is_a_problem(seep):
    process = start(seep, [PYTHON, "-c", WAIT],
                    env={"LD_PRELOAD": str(RUNTIME), "SEEP_OPTIONS": "modee=all"})
    _, findings = doctor(seep, str(process.pid))
    end(process)
    assert problems(findings) == {"library-loaded"}
    assert "made no ledger" in findings["library-loaded"]["sentence"]


def test_no_process_is_a_problem(seep):
    process = start(seep, [PYTHON, "-c", WAIT])
    end(process)
    assert problems(doctor(seep, str(process.pid))[1]) == {"process"}


def test_python_whose_objects_are_allocations_is_not_noted(seep):
    assert doctor(seep, PYTHON)[1]["memory-manager"]["result"] == "note"
    on = {"PYTHONMALLOC": "malloc"}
    assert doctor(seep, PYTHON, env=on)[1]["memory-manager"]["result"] == "ok"
    for env, result in ((on, "ok"), ({}, "note")):
        process = start(seep, [PYTHON, "-c", WAIT], env=env)
        _, findings = doctor(seep, str(process.pid))
        end(process)
        assert findings["memory-manager"]["result"] == result


def attaching(seep, pid, env=None, around=()):
    """Whether it is possible, and the findings by their codes."""
    attach = doctor(seep, str(pid), env=env, around=around)[0]["attach"]
    findings = {check["code"]: check for check in attach["checks"]}
    assert attach["possible"] == (problems(findings) == set())
    return attach["possible"], findings


def test_a_plain_process_can_be_attached_to_and_the_text_says_how(seep):
    process = start(seep, [PYTHON, "-c", WAIT])
    possible, findings = attaching(seep, process.pid)
    text = seep.command("doctor", str(process.pid)).stdout.decode()
    end(process)
    assert possible and {found["result"] for found in findings.values()} <= {"ok", "note"}
    assert f"\nAttaching\n" in text and f"seep attach {process.pid}" in text
    assert max(map(len, text.splitlines()[:-5])) <= 80


def test_only_of_a_process_that_is_not_recorded_attaching_is_spoken_of(seep):
    process = start_alone(seep)
    documents = [doctor(seep, word)[0] for word in (str(process.pid), TRUE)]
    end(process)
    assert [document["attach"] for document in documents] == [None, None]


def test_a_static_program_cannot_be_attached_to(seep):
    source, path = seep.directory / "waits.c", seep.directory / "waits"
    source.write_text('#include <stdio.h>\nint main(void) { puts("ready"); fflush(stdout); return getchar(); }\n')
    if subprocess.run(["cc", "-static", "-o", path, source], check=False, capture_output=True).returncode:
        pytest.skip("no static C library")
    process = start(seep, [path])
    possible, findings = attaching(seep, process.pid)
    text = seep.command("doctor", str(process.pid)).stdout.decode()
    end(process)
    assert not possible and problems(findings) == {"kind"}
    assert "statically linked" in findings["kind"]["sentence"]
    assert "cannot be attached to" in text and "seep attach" not in text


@pytest.mark.parametrize(
    "setting, code, said",
    [
        ("ulimit -v 200000", "limits", "RLIMIT_AS"),
        ("ulimit -f 100", "limits", "RLIMIT_FSIZE"),
        ("ulimit -n 6", "limits", "RLIMIT_NOFILE"),
    ],
)
def test_what_limits_leave_is_what_counts(seep, setting, code, said):
    process = start(seep, [*under_shell(setting), PYTHON, "-c", f"kept = bytearray(60 << 20)\n{WAIT}"])
    _, findings = attaching(seep, process.pid)
    end(process)
    assert problems(findings) == {code}
    assert said in findings[code]["sentence"] and "prlimit" in findings[code]["advice"]


@NEEDS_ROOT
def test_a_process_that_sees_no_folder_for_a_ledger_is_told(seep):
    hide = "; ".join(f"mount -t tmpfs -o ro none {root}" for root in ("/dev/shm", "/run", "/var/tmp", "/tmp"))
    process = start(seep, [*apart(), *under_shell(hide), PYTHON, "-c", WAIT])
    _, findings = attaching(seep, process.pid)
    end(process)
    assert problems(findings) == {"ledger"}


@NEEDS_ROOT
def test_who_has_no_right_is_told_which(seep):
    need_open_to_others(SEEP)
    process = start(seep, [PYTHON, "-c", WAIT])
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "-u", "SEEP_DIR"]
    possible, findings = attaching(seep, process.pid, around=as_nobody)
    end(process)
    assert not possible and set(findings) == {"process", "rights"}
    assert "another user" in findings["rights"]["sentence"]
    assert "as root" in findings["rights"]["advice"]


def test_every_code_is_described_and_no_other(seep):
    page = (SOURCE / "docs" / "json.md").read_text()
    section = page.split("## seep doctor --json")[1].split("\n## ")[0].split("In `attach`")
    described = [set(re.findall(r"^\| `([a-z-]+)`", part, re.M)) for part in section]
    process = start(seep, [PYTHON, "-c", WAIT])
    document, findings = doctor(seep, str(process.pid))
    end(process)
    assert {*doctor(seep, TRUE)[1], *findings} == described[0]
    assert {check["code"] for check in document["attach"]["checks"]} == described[1]
