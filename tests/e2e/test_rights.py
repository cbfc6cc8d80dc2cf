# SPDX-License-Identifier: MIT
"""What root does with seep in the folder of somebody else, who wants root to do something for him:
links are planted and names exchanged while a run goes on. Nothing of root's changes.
"""

import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from harness import LIMIT_S, RUNTIME, SEEP, need, program, run_plain
from running import apart, wait_until

OTHER = 65533

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, and two other users")


@pytest.fixture
def theirs():
    """A folder of another user's that root records into, and one of root's beside it."""
    base = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    base.chmod(0o755)
    (base / "theirs").mkdir()
    os.chown(base / "theirs", OTHER, OTHER)
    (base / "root").mkdir(mode=0o755)
    yield base / "theirs"
    shutil.rmtree(base)


def mode(path):
    return path.stat().st_mode & 0o7777


def record(seep, theirs, script, *before):
    """Root records a shell that does @script and has a child; what it says on standard error."""
    command = [*before, SEEP, "run", "-q", "-o", theirs / "x.seep", "--", "sh", "-c",
               f"cd {theirs}; {script}; {program('temporaries')}; true"]
    done = run_plain(command, env=seep.environment())
    assert done.status == 0
    return done.stderr.decode()


def test_the_folder_of_recordings_is_no_link(seep, theirs):
    said = record(seep, theirs, "ln -s ../root x.seep.d")
    assert "x.seep.d is not a folder but a link or a file" in said
    root = theirs.parent / "root"
    assert not list(root.iterdir()) and mode(root) == 0o755


def test_the_folder_of_recordings_is_nobody_elses(seep, theirs):
    said = record(seep, theirs, f"mkdir x.seep.d; chown {OTHER} x.seep.d")
    assert f"x.seep.d belongs to user {OTHER}, not to user 0" in said
    assert not list((theirs / "x.seep.d").iterdir())


def test_no_folder_but_its_own_changes_its_mode(seep, theirs):
    """Exchanged as soon as it is there: before, its mode was set by its name."""
    strace = need("strace")
    victim = theirs / "victim"
    victim.mkdir(mode=0o755)
    slow = [strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=mkdir,mkdirat",
            "-e", "inject=mkdir,mkdirat:delay_exit=300000"]
    swap = "(while ! mv x.seep.d kept; do :; done; mv victim x.seep.d) 2>/dev/null >&2 & :"
    record(seep, theirs, swap, *slow)
    assert mode(theirs / "x.seep.d") == 0o755


def test_a_recording_goes_where_its_folder_was(seep, theirs):
    """The folder gives way to a link while the program runs."""
    record(seep, theirs.parent / "theirs", "mv ../theirs ../moved; ln -s root ../theirs")
    base = theirs.parent
    theirs.unlink()
    (base / "moved").rename(theirs)
    assert {"x.seep", "x.seep.d"} <= set(os.listdir(theirs))
    assert not list((base / "root").iterdir())


def test_a_page_is_written_into_no_folder_of_others(seep, theirs):
    _, recordings = seep.run([program("temporaries")])
    root = theirs.parent / "root"
    env = {"HOME": str(theirs), "XDG_CACHE_HOME": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    folder = theirs / ".cache" / "seep"
    folder.parent.mkdir()
    folder.symlink_to(root)
    done = seep.command("open", recordings.path, env=env)
    assert done.status == 2 and b"is not a folder but a link" in done.stderr
    folder.unlink()
    folder.mkdir()
    (folder / "run.seep.html").symlink_to(root / "page")
    assert seep.command("open", recordings.path, env=env).status == 0
    assert not list(root.iterdir()) and (folder / "run.seep.html").read_bytes()



# Maps the file that it is told of.
MAPS = """import mmap
file = open(input(), "r+b")
kept = mmap.mmap(file.fileno(), 0)
print(".", flush=True)
input()
"""
PID_AT, START_AT = 48, 64


@pytest.mark.parametrize("owner, pid_in_name", [(OTHER, 0), (0, 1), (OTHER, None)])
def test_a_ledger_sends_nobody_to_another_process(seep, owner, pid_in_name):
    """It is of root's process by its words, and that has mapped it, too."""
    strace = need("strace")
    assert run_plain([program("temporaries")], env=seep.environment({"LD_PRELOAD": RUNTIME})).status == 0
    (ledger,) = seep.ledger_dir.glob("*.ledger")
    with subprocess.Popen([sys.executable, "-c", MAPS], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as victim:
        start = int(open(f"/proc/{victim.pid}/stat").read().rsplit(")", 1)[1].split()[19])
        name = "x" if pid_in_name is None else f"x.{victim.pid + pid_in_name}.{start}.0"
        forged = ledger.rename(seep.ledger_dir / f"{name}.ledger")
        with open(forged, "r+b") as file:
            for at, word in (PID_AT, struct.pack("<I", victim.pid)), (START_AT, struct.pack("<Q", start)):
                file.seek(at)
                file.write(word)
        os.chown(forged, owner, owner)
        victim.stdin.write(f"{forged}\n".encode())
        victim.stdin.flush()
        assert victim.stdout.readline() == b".\n"
        for words in ["leaks", forged], ["top", "--once", forged], ["snapshot", forged]:
            calls = seep.directory / "calls"
            run_plain([strace, "-f", "-o", calls, "-e", "trace=ptrace,process_vm_readv", SEEP, *words],
                      env=seep.environment())
            assert not re.search(rf"\b{victim.pid}\b", calls.read_text()), words
        victim.communicate(b"\n")


def test_nobody_makes_root_wait_for_his_file_system(seep, theirs):
    """A file in FUSE is mapped, and its server answers no read."""
    env = {**os.environ, **seep.environment({"LD_PRELOAD": str(RUNTIME)})}
    with subprocess.Popen([program("serves_files"), theirs, str(OTHER)], env=env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as target:
        if target.stdout.read(1) != b"." and target.wait() == 77:
            pytest.skip("FUSE cannot be mounted here")
        # What waits for it cannot be killed: only its end frees that.
        late = threading.Timer(LIMIT_S, target.kill)
        late.start()
        for words in ["leaks"], ["snapshot", "-o", seep.directory / "now.seep"], ["top", "--once"]:
            done = run_plain([SEEP, *words, str(target.pid)], env=seep.environment())
            assert done.status == 0 and late.is_alive(), done.stderr
            if words == ["leaks"]:
                assert b"process of another user serves (FUSE) was not looked through" in done.stdout
        late.cancel()
        target.communicate(b"\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_leak_scan_ends_within_a_second_of_a_signal(seep, number):
    """One that would take a minute; the process that is looked at goes on."""
    strace = need("strace")
    env = {**os.environ, **seep.environment({"LD_PRELOAD": str(RUNTIME)})}
    calls = seep.directory / "calls"
    slow = [strace, "-f", "-qq", "-o", calls, "-e", "trace=openat,pread64,process_vm_readv",
            "-e", "inject=pread64,process_vm_readv:delay_enter=100000"]
    # All ledgers are read first: where there are many of others, that would take minutes.
    hide = "for d in /dev/shm/seep-0 /var/tmp/seep-0; do [ ! -d $d ] || mount -t tmpfs -o mode=700 none $d; done"
    alone = [*apart(), "sh", "-c", f'{hide}; exec "$@"', "-"]
    with subprocess.Popen([sys.executable, "-c", "kept = [[i] for i in range(10000)]; print('.', flush=True); input()"],
                          env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        assert target.stdout.readline() == b".\n"
        (ledger,) = seep.ledger_dir.glob("*.ledger")
        scan = subprocess.Popen([*slow, *alone, SEEP, "leaks", ledger], env={**os.environ, **seep.environment()},
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: calls.exists() and calls.read_text().partition('/mem"')[2].count("pread64(") > 9,
                   "the memory is looked through")
        tool = int(open(f"/proc/{scan.pid}/task/{scan.pid}/children").read().split()[0])
        os.kill(tool, number)
        began = time.monotonic()
        scan.wait(timeout=LIMIT_S)
        assert time.monotonic() - began < 1
        assert not open(f"/proc/{target.pid}/task/{target.pid}/children").read()
        target.communicate(b"\n", timeout=LIMIT_S)
    assert target.returncode == 0


def test_a_worker_without_rights_cannot_have_leak_checks_all_the_time(seep):
    asked = {}
    for uid in 0, OTHER:
        result, _ = seep.run([program("asks_leaks"), str(uid)])
        assert result.status == 0, result.stderr
        asked[uid] = int(result.stdout)
    assert asked[0] > 100, asked
    assert 16 <= asked[OTHER] < 16 + asked[0] / 4, asked
