# SPDX-License-Identifier: MIT
"""Signals to `seep run`, from processes and from a terminal, reach the program once."""

import ctypes
import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness import SEEP
from running import CATCH, PYTHON, Terminal, finish, start, wait_until


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGUSR1"])
def test_a_signal_to_seep_reaches_the_program(seep, name):
    number = getattr(signal, name)
    process = start(seep, [PYTHON, "-c", CATCH])
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    status, out, err = finish(process)
    assert out == b"caught %d\n" % number
    assert status == 40 + number
    assert err == b""
    assert (seep.directory / "run.seep").exists()


def test_an_interrupt_from_the_terminal_reaches_the_program_once(seep):
    words = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", "--", PYTHON, "-c", CATCH]
    terminal = Terminal(words, {**os.environ, **seep.environment()})
    terminal.read_until(b"ready")
    os.write(terminal.fd, b"\x03")
    output = terminal.drain()
    assert os.waitstatus_to_exitcode(terminal.wait()) == 42
    assert output.count(b"caught") == 1
    assert (seep.directory / "run.seep").exists()


# The terminal's session leader, as a shell would be: it hands the terminal to a job of its own.
JOB_SHELL = r"""
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
_, status = os.waitpid(pid, os.WUNTRACED)
assert os.WIFSTOPPED(status), status
os.tcsetpgrp(0, os.getpgrp())
print("prompt", flush=True)
sys.stdin.readline()
os.tcsetpgrp(0, pid)
os.killpg(pid, signal.SIGCONT)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""

# Stops itself only after it has put things in order, as editors do. os.write as in CATCH.
JOB = r"""
import os, signal, sys
def stop(number, frame):
    os.write(1, b"tidy\n")
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTSTP])
    os.write(1, b"back\n")
signal.signal(signal.SIGTSTP, stop)
os.write(1, b"ready\n")
while True:
    line = sys.stdin.readline()
    if line == "end\n":
        sys.exit(9)
"""


@pytest.mark.parametrize("options", [[], ["--trace-exit"]], ids=["usual", "traced"])
def test_job_control_stops_and_continues_both(seep, options):
    recorded = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", *options, "--", PYTHON, "-c",
                JOB]
    words = [PYTHON, "-c", JOB_SHELL, *recorded]
    terminal = Terminal(words, {**os.environ, **seep.environment()})
    terminal.read_until(b"ready")
    os.write(terminal.fd, b"\x1a")
    assert b"tidy" in terminal.read_until(b"prompt")
    os.write(terminal.fd, b"\n")
    terminal.read_until(b"back")
    os.write(terminal.fd, b"end\n")
    terminal.drain()
    assert os.waitstatus_to_exitcode(terminal.wait()) == 9
    assert (seep.directory / "run.seep").exists()


STILL_WRITING = (
    b"seep run: still writing recordings; Ctrl-C again gives up and keeps the ledgers\n"
)
ENDING = ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"]
WAITS = "import os, sys; print(flush=True); sys.stdin.read(); sys.exit(9)"
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000


def has_signal(process, kind, name):
    """Is the signal in that set of the process: SigBlk (blocked), ShdPnd (pending)?"""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    (line,) = [x for x in status.splitlines() if x.startswith(f"{kind}:")]
    return bool(int(line.split()[1], 16) & 1 << (getattr(signal, name) - 1))


class StoppedWriter:
    """A run whose program has ended with status 9, and whose thread that writes recordings is
    stopped: what comes now comes while recordings are written, however fast the machine is."""

    def __init__(self, seep, name):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.name = name
        self.process = start(seep, [PYTHON, "-c", WAITS], "--no-follow", stdin=subprocess.PIPE)
        self.process.stdout.readline()
        # In the order in which they began: the first is the main thread.
        self.thread = int(os.listdir(f"/proc/{self.process.pid}/task")[1])
        if not self.ptrace(PTRACE_SEIZE):
            pytest.skip(f"this test may not trace: {os.strerror(ctypes.get_errno())}")
        assert self.ptrace(PTRACE_INTERRUPT)
        os.waitpid(self.thread, WALL)
        self.process.stdin.close()
        self.process.stdin = None
        # Job control is the terminal's again.
        wait_until(lambda: not has_signal(self.process, "SigBlk", "SIGTSTP"), "the writing")

    def ptrace(self, request):
        return self.libc.ptrace(request, self.thread, None, None) == 0

    def send(self):
        self.process.send_signal(getattr(signal, self.name))

    def detach(self):
        assert self.ptrace(PTRACE_DETACH)


@pytest.mark.parametrize("name", ENDING)
def test_a_signal_does_not_end_the_writing_of_the_recording(seep, name):
    run = StoppedWriter(seep, name)
    run.send()
    # A terminal that is closed sends its signal more than once.
    wait_until(lambda: not has_signal(run.process, "ShdPnd", name), "the first signal")
    run.send()
    run.detach()
    status, _, err = finish(run.process)
    assert (status, err) == (9, STILL_WRITING)
    assert (seep.directory / "run.seep").exists()
    assert not list(seep.ledger_dir.iterdir())


@pytest.mark.parametrize("name", ENDING)
def test_a_later_signal_ends_the_writing_and_the_ledger_is_named(seep, name):
    run = StoppedWriter(seep, name)
    run.send()

    def ends():
        run.send()
        # Until this process has heard of the thread's end, the whole cannot be waited for.
        return os.waitpid(run.thread, WALL | os.WNOHANG)[0] == run.thread

    wait_until(ends, "the end")
    status, _, err = finish(run.process)
    assert status == 9
    (ledger,) = seep.ledger_dir.glob("*.ledger")
    assert err.startswith(STILL_WRITING) and err.count(STILL_WRITING) == 1
    assert b"the ledger is kept: " + os.fsencode(ledger) in err
    assert b"seep save" in err
    assert not (seep.directory / "run.seep").exists()
    saved = seep.command("save", "-o", seep.directory / "saved.seep", ledger)
    assert saved.status == 0, saved.stderr.decode()
    assert seep.command("report", seep.directory / "saved.seep").status == 0
