# SPDX-License-Identifier: MIT
"""`seep save`: a recording of what has no recorder, or had one."""

import os
import shutil
import signal
import subprocess

import pytest

from harness import LIMIT_S
from running import PYTHON, TRUE, launch, start, wait_until, watched

KEEP = "import sys; kept = bytearray(3_000_000); print('ready', flush=True); sys.stdin.read()"


@pytest.fixture
def alone(seep):
    """A program with the library and without a recorder, which ends when it is closed."""
    process = launch(seep, PYTHON, "-c", KEEP)
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.communicate(timeout=LIMIT_S)


def save(seep, *words):
    return seep.command("save", "-q", *words, cwd=seep.directory)


def load(seep, path):
    return seep.load(path, cwd=seep.directory)


def unaged(entries):
    """What does not change while a process waits."""
    return [{key: entry[key] for key in ("pid", "state", "ledger")} for entry in entries]


@pytest.mark.fast
def test_a_running_process_is_saved_and_goes_on(seep, alone):
    (ledger,) = watched(seep, "running")
    for what, path in ((str(alone.pid), "by-pid.seep"), (ledger["ledger"], "by-path.seep")):
        assert save(seep, "-o", path, what).status == 0
        report = load(seep, path)
        assert report["process"]["ended"] == "running"
        assert report["process"]["pid"] == alone.pid
        assert report["totals"]["live_bytes"] > 3_000_000
        assert report["timeline"][-1]["live_bytes"] == report["totals"]["live_bytes"]
        assert any(f["function"] for f in report["contexts"][0]["frames"])
        shown = seep.command("report", path, cwd=seep.directory).stdout.decode()
        why = 'no leak check was made; "seep leaks PID" makes one while it runs'
        assert f"\nNot scanned for leaks: {why}\n" in shown
        done = seep.command("report", "--by", "lost", path, cwd=seep.directory)
        assert (done.status, done.stdout) == (2, b"")
        assert done.stderr.decode() == f"seep report: {path}: not scanned for leaks: {why}\n"
    assert alone.poll() is None
    assert unaged(watched(seep, "running")) == unaged([ledger])


def test_of_a_process_that_called_exec_the_program_that_runs_now_is_saved(seep):
    process = launch(seep, "sh", "-c", 'exec "$0" -c "$1"', PYTHON, KEEP)
    assert process.stdout.readline() == b"ready\n"
    (now,), (before,) = watched(seep, "running"), watched(seep, "dead")
    assert save(seep, "-o", "now.seep", str(process.pid)).status == 0
    assert save(seep, "-o", "before.seep", before["ledger"]).status == 0
    assert load(seep, "now.seep")["process"]["exe"] == now["exe"]
    assert load(seep, "now.seep")["process"]["ended"] == "running"
    report = load(seep, "before.seep")
    assert report["process"]["exe"] == before["exe"] != now["exe"]
    assert report["process"]["ended"] == "exec"
    # The other program has a ledger of its own.
    assert "exec-unrecorded" not in [line["code"] for line in report["unseen"]]
    process.communicate(timeout=LIMIT_S)


@pytest.mark.fast
def test_what_a_dead_process_left_becomes_a_recording(seep, alone):
    alone.send_signal(signal.SIGKILL)
    alone.wait(timeout=LIMIT_S)
    (dead,) = watched(seep, "dead")
    done = seep.command("save", str(alone.pid), cwd=seep.directory)
    assert (done.status, done.stdout) == (0, b"")
    assert b"ledger, which was removed" in done.stderr
    name = f"{os.path.basename(dead['exe'])}.{alone.pid}.seep"
    assert os.listdir(seep.directory) == [name]
    report = load(seep, name)
    assert report["process"]["ended"] == "killed"
    assert report["totals"]["live_bytes"] == dead["live_bytes"] > 3_000_000
    assert watched(seep) == []


def test_a_copy_of_a_ledger_stays_where_it_is(seep, alone):
    copy = seep.directory / os.path.basename(watched(seep)[0]["ledger"])
    shutil.copy(watched(seep)[0]["ledger"], copy)
    before = copy.read_bytes()
    assert save(seep, "-o", "x.seep", copy).status == 0
    assert load(seep, "x.seep")["process"]["pid"] == alone.pid
    assert copy.read_bytes() == before


def test_nothing_is_replaced_or_removed_unasked(seep, alone):
    alone.send_signal(signal.SIGKILL)
    alone.wait(timeout=LIMIT_S)
    (seep.directory / "x.seep").write_text("mine")
    (dead,) = watched(seep)
    refused = save(seep, "-o", "x.seep", str(alone.pid))
    assert refused.status == 2 and b"--force" in refused.stderr
    assert (seep.directory / "x.seep").read_text() == "mine"
    assert unaged(watched(seep, "dead")) == unaged([dead])
    assert save(seep, "-f", "-o", "x.seep", str(alone.pid)).status == 0
    assert load(seep, "x.seep")["process"]["pid"] == alone.pid


def test_the_ledger_of_a_parent_stays_while_a_child_needs_it(seep):
    script = r"""
import os, sys
kept = [bytearray(1000) for _ in range(3000)]
if os.fork() == 0:
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)
os._exit(0)
"""
    process = launch(seep, PYTHON, "-c", script, env={"SEEP_OPTIONS": "forks=1"})
    assert process.stdout.readline() == b"ready\n"
    assert process.wait(timeout=LIMIT_S) == 0
    assert save(seep, "-o", "parent.seep", str(process.pid)).status == 0
    assert [p["pid"] for p in watched(seep, "done")] == [process.pid]
    process.communicate(timeout=LIMIT_S)


def test_a_process_with_a_recorder_is_saved_beside_it(seep):
    process = start(seep, [PYTHON, "-c", KEEP], stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    (entry,) = watched(seep, "recorded")
    assert save(seep, "-o", "now.seep", str(entry["pid"])).status == 0
    process.communicate(timeout=LIMIT_S)
    assert load(seep, "now.seep")["process"]["ended"] == "running"
    assert load(seep, "run.seep")["process"]["ended"] == "exit"


def test_what_children_with_recordings_did_is_not_in_their_living_parents(seep):
    script = r"""
import os, sys
for _ in range(3):
    if os.fork() == 0:
        kept = [bytearray(1000) for _ in range(3000)]
        os._exit(0)
    os.wait()
print(os.getpid(), flush=True)
sys.stdin.read()
"""
    process = start(seep, [PYTHON, "-c", script], stdin=subprocess.PIPE)

    def forked(path):
        return set(load(seep, path)["forked"].values())

    def is_saved_without_them():
        assert save(seep, "-f", "-o", "now.seep", str(process_id)).status == 0
        return forked("now.seep") == {0}

    process_id = int(process.stdout.readline())
    wait_until(lambda: len(seep.ledgers()) == 1, "the children's recordings to be written")
    wait_until(is_saved_without_them, "their figures to leave their parent's ledger")
    process.communicate(timeout=LIMIT_S)
    assert forked("run.seep") == {0}


FILE_COMMANDS = (["open"], ["check"], ["query"])


@pytest.mark.parametrize("command", FILE_COMMANDS, ids=lambda words: words[0])
def test_commands_that_read_files_say_what_reads_processes(seep, alone, command):
    def hint(operand):
        sql = ["SELECT 1"] if command == ["query"] else []
        done = seep.command(*command, operand, *sql, cwd=seep.directory)
        complaint, advice = done.stderr.decode().splitlines()
        assert done.status == 2 and complaint.endswith(f"{operand}: no such file")
        return advice

    pid = str(alone.pid)
    assert f'"seep save {pid}" makes a recording of that process; "seep top {pid}"' in hint(pid)
    assert f'"seep attach {os.getpid()}" records it from now on' in hint(str(os.getpid()))
    assert '"seep run PROGRAM" makes a recording' in hint("none.seep")
    alone.send_signal(signal.SIGKILL)
    alone.wait(timeout=LIMIT_S)
    assert hint(pid).endswith(f'"seep save {pid}" makes a recording of that process')


@pytest.mark.parametrize("what, said", [
    ("4000000000", b"there is no ledger of process 4000000000\n  hint: \"seep ps\""),
    ("/no/such.1.2.3.ledger", b"no such file"),
    ("text", b"ledger"),
    (".", b"not a "),
])
def test_what_is_no_ledger_is_refused(seep, what, said):
    (seep.directory / "text").write_text("not a ledger" * 100)
    done = save(seep, "-o", "x.seep", what)
    assert done.status == 2 and done.stderr.startswith(b"seep save: "), done.stderr
    assert said in done.stderr, done.stderr
    assert not (seep.directory / "x.seep").exists()


def test_a_recording_is_not_a_ledger(seep):
    _, recordings = seep.run([TRUE])
    assert save(seep, "-o", "x.seep", recordings.path).status == 2
