# SPDX-License-Identifier: MIT
"""`seep ps` tells what is watched, what was left behind, and what to type next."""

import json
import os
import signal
import struct
import subprocess

import pytest

from harness import LIMIT_S, RUNTIME, SEEP, run_plain
from running import on_terminal, watched

PYTHON = "/usr/bin/python3"
WAIT = "import sys; kept = bytearray(300000); print('ready', flush=True); sys.stdin.read()"


def start(seep, words, env=None):
    process = subprocess.Popen(
        [os.fspath(word) for word in words],
        env={**os.environ, **seep.environment(env)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"ready\n"
    return process


def start_alone(seep):
    """A program with the library and without a recorder."""
    return start(seep, [PYTHON, "-c", WAIT], env={"LD_PRELOAD": str(RUNTIME)})


@pytest.mark.fast
def test_nothing_is_said_to_be_nothing(seep):
    assert watched(seep) == []
    done = run_plain([SEEP, "ps"], env={"SEEP_DIR": "/no/such/folder"})
    assert done.status == 0
    assert b"/no/such" not in done.stdout + done.stderr


@pytest.mark.fast
def test_a_running_process_is_listed_with_its_figures(seep):
    process = start_alone(seep)
    (entry,) = watched(seep)
    assert entry["pid"] == process.pid
    assert entry["ppid"] == os.getpid()
    assert entry["state"] == "running"
    assert entry["recorder_pid"] == 0
    assert os.path.samefile(entry["exe"], PYTHON)
    assert 300000 < entry["live_bytes"] < 20000000
    assert entry["allocs"] > entry["frees"] > 0
    assert 0 < entry["age_ns"] < 300e9
    assert entry["ledger_bytes"] >= 3 * 4096
    assert os.path.exists(entry["ledger"])
    process.communicate(timeout=LIMIT_S)
    (entry,) = watched(seep)
    assert entry["state"] == "dead"


def test_a_recorded_process_names_its_recorder(seep):
    out = seep.directory / "run.seep"
    process = start(seep, [SEEP, "run", "-q", "-o", out, "--", PYTHON, "-c", WAIT])
    (entry,) = watched(seep)
    assert entry["state"] == "recorded"
    assert entry["recorder_pid"] == process.pid
    assert entry["ppid"] == process.pid
    process.communicate(timeout=LIMIT_S)
    assert watched(seep) == []
    assert out.exists()


def test_the_dead_come_last_with_what_to_type(seep):
    dead, running = start_alone(seep), None
    dead.send_signal(signal.SIGKILL)
    dead.communicate(timeout=LIMIT_S)
    running = start_alone(seep)
    try:
        assert [p["state"] for p in watched(seep)] == ["running", "dead"]
        ledger = watched(seep)[1]["ledger"]
        text = seep.command("ps").stdout.decode()
    finally:
        running.communicate(timeout=LIMIT_S)
    lines = text.splitlines()
    assert lines[0].split() == ["PID", "STATE", "LIVE", "AGE", "TREND", "PROGRAM", "LEDGER"]
    assert any(line.split()[:2] == [str(dead.pid), "dead"] for line in lines)
    assert "seep report " in text and "rm " in text
    assert seep.command("report", ledger).status == 0


def test_a_narrow_terminal_has_the_ledger_on_a_line_of_its_own(seep):
    process = start_alone(seep)
    (entry,) = watched(seep)
    name = os.path.basename(entry["ledger"])
    try:
        narrow = on_terminal(seep, 60, "ps").splitlines()
        wide = on_terminal(seep, 300, "ps").splitlines()
        piped = seep.command("ps").stdout.decode().splitlines()
    finally:
        process.communicate(timeout=LIMIT_S)
    assert narrow[0].split() == ["PID", "STATE", "LIVE", "AGE", "TREND", "PROGRAM"]
    at = next(i for i, line in enumerate(narrow) if line.split()[:1] == [str(process.pid)])
    assert narrow[at + 1] == f"  {entry['ledger']}"
    assert all(len(line) <= 60 for line in narrow if not line.startswith("  "))
    for lines in (wide, piped):
        assert any(line.split()[0] == str(process.pid) and line.endswith(name) for line in lines[1:])


def test_numbers_can_be_strings(seep):
    process = start_alone(seep)
    done = seep.command("ps", "--json=strings")
    process.communicate(timeout=LIMIT_S)
    processes = json.loads(done.stdout)["processes"]
    (entry,) = [p for p in processes if p["ledger"].startswith(f"{seep.ledger_dir}/")]
    assert isinstance(entry["live_bytes"], str)
    assert isinstance(entry["pid"], int)


def left_out(seep, text):
    """What `seep ps` says of files in this test's folder."""
    lines = text.decode().splitlines()
    assert all(line.startswith("seep ps: not listed: ") for line in lines)
    return [line for line in lines if str(seep.ledger_dir) in line or " more that" in line]


@pytest.mark.fast
def test_a_ledger_that_cannot_be_read_is_told(seep):
    process = start_alone(seep)
    (entry,) = watched(seep)
    whole = open(entry["ledger"], "rb").read(4 * 4096)
    (seep.ledger_dir / "short.1.2.0.ledger").write_bytes(whole[:-1])
    (seep.ledger_dir / "no ledger").write_bytes(b"and not called one")
    plain, document = seep.command("ps"), seep.command("ps", "--json")
    process.communicate(timeout=LIMIT_S)
    for done in (plain, document):
        assert done.status == 0
        assert str(process.pid).encode() in done.stdout
        line, *_ = left_out(seep, done.stderr)
        assert line.endswith("short.1.2.0.ledger: too short to be a ledger")


def test_of_many_that_cannot_be_read_some_are_named(seep):
    for number in range(1, 31):
        (seep.ledger_dir / f"empty.{number}.2.0.ledger").touch()
    done = seep.command("ps")
    assert done.status == 0
    assert len(done.stderr.splitlines()) == 9
    assert int(done.stderr.split()[-6]) >= 22
    assert done.stderr.endswith(b" more that cannot be read\n")


def test_ledgers_of_other_versions_are_counted(seep):
    process = start_alone(seep)
    (entry,) = watched(seep)
    other = bytearray(open(entry["ledger"], "rb").read(4 * 4096))
    other[8:12] = struct.pack("<I", 1)
    for number in range(1, 13):
        (seep.ledger_dir / f"other.{number}.2.0.ledger").write_bytes(other)
    done = seep.command("ps")
    process.communicate(timeout=LIMIT_S)
    assert str(process.pid).encode() in done.stdout
    (line,) = left_out(seep, done.stderr)
    assert line == f"seep ps: not listed: in {seep.ledger_dir}, 12 ledgers that other versions of seep wrote"


def test_hostile_files_in_the_folder_are_passed_over(seep):
    folder = seep.ledger_dir
    process = start_alone(seep)
    (entry,) = watched(seep)
    whole = open(entry["ledger"], "rb").read(4 * 4096)
    os.mkfifo(folder / "pipe.1.2.0.ledger")
    os.symlink("/dev/zero", folder / "link.1.2.0.ledger")
    os.symlink("loop.1.2.0.ledger", folder / "loop.1.2.0.ledger")
    (folder / "folder.1.2.0.ledger").mkdir()
    (folder / "empty.1.2.0.ledger").touch()
    (folder / "noise.1.2.0.ledger").write_bytes(os.urandom(20000))
    for cut in (1, 100, 4096, 8192, 3 * 4096):
        (folder / f"cut.{cut}.2.0.ledger").write_bytes(whole[:cut])
    # Headers that say the impossible, at every word.
    for at in range(8, 1024, 8):
        lie = bytearray(whole)
        lie[at : at + 8] = b"\xff" * 8
        path = folder / f"lie.{at}.2.0.ledger"
        path.write_bytes(lie)
        os.truncate(path, 1 << 30)
    (folder / "\x1b]0;x\x07.7.2.0.ledger").write_bytes(whole)
    os.truncate(folder / "\x1b]0;x\x07.7.2.0.ledger", os.path.getsize(entry["ledger"]))
    done = seep.command("ps")
    assert done.status == 0
    assert left_out(seep, done.stderr)
    assert b"\x1b" not in done.stdout + done.stderr
    assert entry["pid"] in [p["pid"] for p in watched(seep)]
    process.communicate(timeout=LIMIT_S)
    # A run in such a folder works as in any other.
    recordings = seep.record(["/bin/true"])
    assert recordings.main()["process"]["ended"] == "exit"


def test_folders_of_others_are_ignored(seep):
    if os.geteuid() != 0:
        pytest.skip("needs root to give a folder away")
    process = start_alone(seep)
    os.chown(seep.ledger_dir, 1, 1)
    assert watched(seep) == []
    os.chown(seep.ledger_dir, 0, 0)
    assert len(watched(seep)) == 1
    process.communicate(timeout=LIMIT_S)
