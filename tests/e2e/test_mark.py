# SPDX-License-Identifier: MIT
"""`seep mark` and seep_mark() name moments; `seep snapshot` saves what goes on running."""

import os
import signal
import subprocess

import pytest

from harness import LIMIT_S, RUNTIME, SEEP, program, run_plain
from running import PYTHON, apart, launch, ledger_of, wait_until, watched


def names(seep, path):
    return [mark["name"] for mark in seep.load(path)["marks"]]


@pytest.mark.fast
def test_marks_of_program_and_tool_have_epochs_of_their_own(seep, steps):
    for i in range(20):
        done = seep.command("mark", str(steps.pid), f"outside {i}")
        assert (done.status, done.stderr) == (0, b"")
        assert f"mark outside {i} set in mark_steps (pid {steps.pid}) at ".encode() in done.stdout
        steps.mark(f"inside {i}")
    marks = seep.load(ledger_of(seep, steps.pid))["marks"]
    assert [m["epoch"] for m in marks] == list(range(1, 41))
    assert [m["name"] for m in marks] == [f"{w} {i}" for i in range(20) for w in ("outside", "inside")]
    assert all(m["exact"] for m in marks)
    assert [m["at_ns"] for m in marks] == sorted(m["at_ns"] for m in marks)


@pytest.mark.fast
@pytest.mark.parametrize("name, why", [
    ("", b"empty"), ("x" * 48, b"1 to 47 bytes"), ("now", b"the present"),
    ("a@b", b"no '@'"), ("a\x1b[2J", b"control"), (b"\xff", b"broken UTF-8"),
])
def test_a_name_that_cannot_be_typed_later_is_refused(seep, steps, name, why):
    done = seep.command("mark", str(steps.pid), name)
    assert (done.status, done.stdout) == (2, b"")
    assert why in done.stderr and b"\x1b" not in done.stderr
    assert names(seep, ledger_of(seep, steps.pid)) == []


@pytest.mark.fast
def test_what_cannot_be_marked_is_said(seep, steps):
    gone = seep.command("mark", "nosuch", "x")
    assert gone.status == 2 and b"no process that is recorded is called nosuch" in gone.stderr
    assert b"seep ps" in gone.stderr
    unrecorded = seep.command("mark", str(os.getpid()), "x")
    assert unrecorded.status == 2
    assert f"there is no ledger of process {os.getpid()}".encode() in unrecorded.stderr
    ledger = ledger_of(seep, steps.pid)
    steps.end()
    for operand in (str(steps.pid), ledger):
        dead = seep.command("mark", operand, "x")
        assert dead.status == 2 and f"process {steps.pid} has ended".encode() in dead.stderr
    copy = seep.directory / "copy.ledger"
    copy.write_bytes(b"")
    other = seep.command("mark", copy, "x")
    assert other.status == 2 and b"the ledger of no process that runs" in other.stderr
    assert names(seep, ledger) == []


def test_a_process_of_another_user_is_named_as_that(seep):
    if os.geteuid() != 0:
        pytest.skip("needs root to run as another user")
    other = subprocess.Popen(["sleep", "1000"], user=65534)
    try:
        done = seep.command("mark", str(other.pid), "x")
    finally:
        other.kill()
        other.wait(timeout=LIMIT_S)
    assert done.status == 2 and b"runs as user 65534: run seep as that user" in done.stderr


@pytest.mark.fast
def test_a_full_table_of_marks_is_told_and_takes_nothing_from_the_figures(seep):
    result, recordings = seep.run([program("marks_full")])
    assert result.status == 0, result.stderr.decode()
    taken = int(result.stdout)
    marks = recordings.main()["marks"]
    assert taken >= 4000
    assert len([m for m in marks if m["name"]]) == taken
    epochs = [m["epoch"] for m in marks]
    assert epochs == sorted(set(epochs))
    assert marks[0]["name"] == "first"
    assert [entry["code"] for entry in recordings.main()["unseen"]] == ["marks-full"]


def test_a_tool_says_that_there_is_no_room_for_marks(seep, steps):
    while steps.ask("! more") == "0":
        pass
    done = seep.command("mark", str(steps.pid), "x")
    assert done.status == 2 and b"no room for more than" in done.stderr
    steps.do("+ keep_a 3 10")
    assert seep.load(ledger_of(seep, steps.pid))["totals"]["live_bytes"] == 30


def test_a_mark_on_a_tree_reaches_descendants_that_are_recorded(seep):
    script = ("import os, sys\n"
              "kept = bytearray(2_000_000)\n"
              "if os.fork() == 0:\n"
              "    more = bytearray(3_000_000)\n"
              "    print(os.getpid(), flush=True)\n"
              "sys.stdin.read()\n")
    process = launch(seep, PYTHON, "-c", script)
    child = int(process.stdout.readline())
    wait_until(lambda: len(watched(seep, "running")) == 2, "the child's ledger")
    alone = seep.command("mark", str(process.pid), "alone")
    tree = seep.command("mark", str(process.pid), "all", "--tree")
    ledgers = {p["pid"]: p["ledger"] for p in watched(seep)}
    assert len(alone.stdout.splitlines()) == 1 and len(tree.stdout.splitlines()) == 2
    assert f"(pid {child})".encode() in tree.stdout
    assert names(seep, ledgers[process.pid]) == ["alone", "all"]
    assert names(seep, ledgers[child]) == ["all"]
    process.communicate(timeout=LIMIT_S)


def test_a_forked_child_has_marks_of_its_own(seep, steps):
    steps.mark("before")
    child = int(steps.ask("fork"))
    steps.mark("in the child")
    steps.do("+ keep_a 2 77")
    assert names(seep, ledger_of(seep, child)) == ["in the child"]
    assert names(seep, ledger_of(seep, steps.pid)) == ["before"]
    done = seep.command("diff", f"{child}@in the child")
    assert b"154 B in 2 blocks of 1 call stack" in done.stdout


@pytest.mark.fast
def test_snapshots_have_names_of_their_own(seep, steps):
    steps.do("+ keep_a 1 100")
    for blocks in (1, 2, 3):
        done = seep.command("snapshot", "-q", str(steps.pid), cwd=seep.directory)
        assert (done.status, done.stdout, done.stderr) == (0, b"", b"")
        found = seep.load(f"mark_steps.{steps.pid}.{blocks}.seep", cwd=seep.directory)
        assert found["totals"]["live_blocks"] == blocks
        assert found["process"]["ended"] == "running"
        steps.do("+ keep_a 1 100")
    named = seep.command("snapshot", "-q", "mark_steps", "-o", "named.seep", cwd=seep.directory)
    assert named.status == 0
    assert seep.load(seep.directory / "named.seep")["totals"]["live_blocks"] == 4
    again = seep.command("snapshot", "-q", str(steps.pid), "-o", "named.seep", cwd=seep.directory)
    assert again.status == 2 and b"--force" in again.stderr


@pytest.mark.fast
def test_a_snapshot_needs_a_process_that_runs(seep, steps):
    steps.end()
    done = seep.command("snapshot", str(steps.pid), cwd=seep.directory)
    assert done.status == 2 and f"process {steps.pid} has ended".encode() in done.stderr
    assert f'"seep save {steps.pid}"'.encode() in done.stderr
    assert list(seep.directory.glob("*.seep")) == []
    assert seep.command("snapshot", "nosuch", cwd=seep.directory).status == 2


REAP = r"""
for folder in /dev/shm /run /var/tmp /tmp; do mount -t tmpfs none $folder || exit 77; done
mkdir -m 700 /tmp/ledgers && export SEEP_DIR=/tmp/ledgers
mkfifo /tmp/go /tmp/ready
run() { LD_PRELOAD=$RUNTIME "$@"; }
run $PROGRAMS/mark_steps < /dev/null
run $PYTHON -c '
import os, sys
kept = bytearray(2000000)
if os.fork() == 0:
    more = bytearray(3000000)
    open("/tmp/ready", "w").close()
    open("/tmp/go").close()
    os._exit(0)
os._exit(0)'
cat /tmp/ready
$SEEP ps --json | grep -c '"state"'
$SEEP ps | tail -1
echo ---
$SEEP ps --reap
echo --- $?
$SEEP ps --reap
echo ---
exec 3> /tmp/go; exec 3>&-
while $SEEP ps | grep -q running; do :; done
$SEEP ps --reap
ls /tmp/ledgers
"""


def test_reaping_removes_the_dead_that_nobody_needs(seep):
    """In a name space of its own: the folders are those of every program of this user."""
    env = {"SEEP": str(SEEP), "RUNTIME": str(RUNTIME), "PYTHON": PYTHON,
           "PROGRAMS": str(program("mark_steps").parent)}
    if any(path.startswith(("/tmp/", "/var/tmp/", "/run/", "/dev/shm/")) for path in env.values()):
        pytest.skip("seep lies in a folder that the test hides")
    done = run_plain([*apart("--propagation", "private"), "sh", "-c", REAP], env=env)
    if done.status == 77:
        pytest.skip(done.stderr.decode())
    assert done.status == 0 and done.stderr == b"", done.stderr.decode()
    listed, first, second, last = done.stdout.decode().split("---")
    assert listed.split("\n")[0] == "3" and "seep ps --reap" in listed
    first, status = first.splitlines(), second.splitlines()[0]
    assert status.strip() == "0"
    assert [line.split()[0] for line in first[1:]].count("removed") == 1
    assert any(line.startswith("removed /tmp/ledgers/mark_steps.") and " KB" in line for line in first)
    assert any(line.startswith("kept /tmp/ledgers/python3") and
               line.endswith("a forked child of it needs it") for line in first)
    assert first[-1].startswith("1 ledger removed, ")
    assert "0 ledgers removed, 0 B" in second
    assert last.count("removed /tmp/ledgers/python3") == 2 and "2 ledgers removed, " in last
    assert last.splitlines()[-1].startswith("2 ledgers removed")


def test_marks_survive_a_sudden_death(seep, steps):
    steps.mark("one")
    assert seep.command("mark", str(steps.pid), "two").status == 0
    steps.process.send_signal(signal.SIGKILL)
    steps.process.wait(timeout=LIMIT_S)
    assert names(seep, ledger_of(seep, steps.pid)) == ["one", "two"]
    assert seep.command("save", "-q", "-o", "dead.seep", str(steps.pid), cwd=seep.directory).status == 0
    assert names(seep, seep.directory / "dead.seep") == ["one", "two"]
