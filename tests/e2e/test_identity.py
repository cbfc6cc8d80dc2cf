# SPDX-License-Identifier: MIT
"""Which process a ledger belongs to, whatever namespaces, users and programs it goes through."""

import contextlib
import json
import os
import subprocess

import pytest

from harness import LIMIT_S, RUNTIME, SEEP, need, run_plain
from running import PYTHON, apart, watched

WAIT = "import sys; kept = bytearray(300000); print('ready', flush=True); sys.stdin.read()"
EXEC = "import os; kept = bytearray(300000); " \
       "os.execve('/bin/sh', ['sh', '-c', 'echo ready; read line'], {})"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@contextlib.contextmanager
def running(seep, around, text=WAIT):
    """A program with the library, and without a recorder; gives its pid as seen from here."""
    words = [*around, "env", f"LD_PRELOAD={RUNTIME}", PYTHON, "-c", text]
    process = subprocess.Popen(words, env={**os.environ, **seep.environment()},
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    pid = process.pid
    while True:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as children:
            below = children.read().split()
        if not below:
            break
        pid = int(below[0])
    try:
        yield pid
    finally:
        process.communicate(timeout=LIMIT_S)


AROUND = {
    "time": lambda: apart("--time", "--boottime=100000", "--fork"),
    "pids": lambda: apart("--pid", "--fork", "--mount-proc"),
    "both": lambda: apart("--pid", "--fork", "--mount-proc", "--time", "--boottime=5"),
    "mounts": apart,
    "user": lambda: [need(NOBODY[0]), *NOBODY[1:]],
}


@pytest.fixture(params=AROUND)
def around(request, seep):
    words = AROUND[request.param]()
    if request.param == "user":
        if os.geteuid() != 0:
            pytest.skip("only root can become another user")
        for folder in (seep.directory, *seep.directory.parents):
            if not folder.stat().st_mode & 1:
                folder.chmod(folder.stat().st_mode | 0o711)
        os.chown(seep.ledger_dir, 65534, 65534)
    return words


def test_each_command_finds_it_by_each_of_its_names(seep, around):
    """By its pid here, its pid there, its ledger's path, and its program's name."""
    with running(seep, around) as pid:
        (entry,) = json.loads(seep.command("ps", str(pid), "--json").stdout)["processes"]
        is_ours = os.stat(entry["ledger"]).st_uid == os.geteuid()
        assert (entry["state"], entry["here_pid"]) == ("running", pid)
        names = [str(pid), entry["ledger"]]
        if is_ours:
            # Others may run, in other folders, what this one is called.
            assert [p["state"] for p in watched(seep)] == ["running"]
            names += [str(entry["pid"])] if entry["pid"] != 1 else []
        for name in names:
            for words in (
                ["ps", name, "--json"], ["leaks", name, "--json"], ["report", name, "--json"],
                ["export", name, "--to", "folded"], ["top", name, "--once", "--json", "--interval", "50ms"],
                ["save", name, "-q", "-f", "-o", seep.directory / "saved.seep"],
                ["snapshot", name, "-q", "-f", "-o", seep.directory / "shot.seep"],
                ["diff", seep.directory / "shot.seep", name, "--json"],
            ):  # fmt: skip
                done = seep.command(*words)
                assert done.status == 0, (words, done.stderr)
                if words[0] in ("report", "leaks"):
                    process = json.loads(done.stdout)["process"]
                    assert (process["pid"], process["ended"]) == (entry["pid"], "running")
                if words[0] == "leaks":
                    assert json.loads(done.stdout)["scan"]["method"]
            done = seep.command("mark", name, "now-and-here")
            # Root's too, in the folder of that user alone.
            assert done.status == 0, done.stderr


def test_a_live_ledger_is_never_reaped(seep, around):
    with running(seep, around) as pid:
        before = seep.ledgers()
        if os.stat(seep.ledger_dir).st_uid == os.geteuid():
            assert b"0 ledgers removed" in seep.command("ps", "--reap").stdout
        assert seep.ledgers() == before != []
        assert os.path.exists(f"/proc/{pid}")


def test_a_time_namespace_is_recorded_to_its_end(seep):
    words = apart("--time", "--boottime=100000", "--fork")
    recordings = seep.record([*words, PYTHON, "-c", "kept = bytearray(300000)"])
    (child,) = recordings.folder.rglob("*.python3*.seep")
    process = recordings.load(child)["process"]
    assert (process["ended"], process["status"]) == ("exit", {"code": 0})
    assert seep.ledgers() == []


def test_after_an_exec_the_program_before_is_gone(seep):
    with running(seep, [], EXEC) as pid:
        (entry,) = watched(seep)
        assert (entry["pid"], entry["state"], entry["here_pid"]) == (pid, "dead", 0)
        done = seep.command("mark", str(pid), "one")
        assert done.status == 2 and b"runs another program by now" in done.stderr
        assert b'seep save' in done.stderr
        told = json.loads(seep.command("leaks", str(pid), "--json").stdout)
        assert told["process"]["ended"] == "exec"


REAP = r"""
set -e
mount -t tmpfs none /dev/shm
mkdir -m 700 /dev/shm/mine
LD_PRELOAD=$RUNTIME $PYTHON -c pass
SEEP_DIR=/dev/shm/mine LD_PRELOAD=$RUNTIME $PYTHON -c pass
SEEP_DIR=/dev/shm/mine $SEEP ps | grep 'to remove .*--reap'
SEEP_DIR=/dev/shm/mine $SEEP ps --reap | grep -v 'ledgers\? removed'
ls -I '*.sums' /dev/shm/seep-0 /dev/shm/mine
"""


def test_reaping_touches_only_the_folder_that_is_named(seep):
    env = {"SEEP": str(SEEP), "RUNTIME": str(RUNTIME), "PYTHON": PYTHON}
    done = run_plain([*apart("--propagation", "private"), "sh", "-c", REAP], env=env)
    assert done.status == 0, done.stderr
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "  to remove 1, in $SEEP_DIR:  seep ps --reap"
    assert lines[1].startswith("removed /dev/shm/mine/python3")
    assert lines[2:4] == ["/dev/shm/mine:", ""] and lines[4] == "/dev/shm/seep-0:"
    assert len(lines) == 6
