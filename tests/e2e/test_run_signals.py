# SPDX-License-Identifier: MIT
"""Signals to `seep run`, from processes and from a terminal, reach the program once."""

import os
import signal

import pytest

from harness import SEEP
from running import CATCH, PYTHON, Terminal, finish, start


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


def test_job_control_stops_and_continues_both(seep):
    recorded = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", "--", PYTHON, "-c", JOB]
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
