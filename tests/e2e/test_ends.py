# SPDX-License-Identifier: MIT
"""When a process says that it ends, all that it runs at its end has run, and it says where that was called."""

import mmap
import os
import signal
import struct
import subprocess
import time

import pytest

from harness import LIMIT_S, SEEP, program

# docs/internals/ledger.md
CONTROL, STATE = 4096, 8192
FACTS_AT, EXIT_ACK, ENDED, STATUS = 808, CONTROL + 80, STATE + 268, STATE + 280
REGISTERS = (0x1111, 0x2222, 0x3333, 0x4444, 0x5555, 0x6666)
UNKNOWN = (0,) * 6
EXIT, EXEC, ABORT = 1, 2, 3

# By mode: how it ended, its status, and how many of its handlers and destructors have run.
CALLED = {
    "exit": (EXIT, 3, 3),
    "_exit": (EXIT, 3, 0),
    "_Exit": (EXIT, 253, 0),
    "quick_exit": (EXIT, 3, 2),
    "abort": (ABORT, None, 0),
    "execve": (EXEC, None, 0),
    "execv": (EXEC, None, 0),
    "execl": (EXEC, None, 0),
    "thread": (EXIT, 5, 3),
    # The first counts: its caller's frames are those that nobody will return to.
    "again": (EXIT, 7, 0),
}
# Called by libc itself: what there is in registers then is not the program's.
BY_LIBC = {"return": (EXIT, 0, 3), "refused": (EXIT, 0, 3), "error": (EXIT, 6, 3), "last": (EXIT, 0, 3)}


class Ending:
    """A process that waits at its end for us, its recorder."""

    def __init__(self, seep, mode, options=""):
        env = {"LD_PRELOAD": str(SEEP.parent / "libseep.so"), "SEEP_DIR": str(seep.ledger_dir),
               "SEEP_SESSION": str(os.getpid())}
        self.process = subprocess.Popen(
            [program("ends"), mode],
            env={**os.environ, **env, "SEEP_OPTIONS": "exit_wait_ms=600000" + options},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        words = self.process.stdout.readline().split()
        self.tid, self.stack, self.ran_at = (int(words[i]) for i in (1, 3, 5))
        self.pid = self.process.pid
        (ledger,) = seep.ledger_dir.glob(f"*.{self.pid}.*.ledger")
        with open(ledger, "r+b") as file:
            self.ledger = mmap.mmap(file.fileno(), 3 * 4096)

    def word(self, at, kind="I"):
        return struct.unpack_from(kind, self.ledger, at)[0]

    def memory(self, address, kind):
        # Not the process's own: where its first thread is gone, that has none any more.
        with open(f"/proc/{self.pid}/task/{self.tid}/mem", "rb", buffering=0) as file:
            file.seek(address)
            return struct.unpack(kind, file.read(struct.calcsize(kind)))

    def wait_for_end(self, not_yet=(0,)):
        deadline = time.monotonic() + LIMIT_S
        while self.word(ENDED) in not_yet:
            assert time.monotonic() < deadline and self.process.poll() is None
            time.sleep(0.001)
        tid, _, stack, *registers = self.memory(self.word(FACTS_AT, "Q") + 16, "II7Q")
        return tid, stack, tuple(registers)

    def acknowledge(self):
        self.ledger[EXIT_ACK : EXIT_ACK + 4] = struct.pack("I", 1)

    def let_go(self):
        self.acknowledge()
        self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode


@pytest.mark.parametrize("mode", CALLED)
def test_where_the_program_called_an_end_is_known_with_its_registers(seep, mode):
    ended, status, ran = CALLED[mode]
    ending = Ending(seep, mode)
    assert ending.wait_for_end() == (ending.tid, ending.stack, REGISTERS)
    assert ending.word(ENDED) == ended
    assert ending.memory(ending.ran_at, "Q") == (ran,)
    if status is not None:
        assert ending.word(STATUS) == status
    code = ending.let_go()
    assert code == {EXIT: status, EXEC: 0, ABORT: -signal.SIGABRT}[ended]


@pytest.mark.parametrize("mode", BY_LIBC)
def test_where_libc_itself_called_exit_is_found(seep, mode):
    ended, status, ran = BY_LIBC[mode]
    ending = Ending(seep, mode)
    if mode == "refused":
        ending.wait_for_end()
        ending.acknowledge()
    tid, stack, registers = ending.wait_for_end(not_yet=(0, EXEC))
    assert (tid, registers) == (ending.tid, UNKNOWN)
    assert ending.word(ENDED) == ended and ending.word(STATUS) == status
    assert ending.memory(ending.ran_at, "Q") == (ran,)
    # Near the frame of the function that returned, and deeper than that of the one that called error().
    if mode == "error":
        assert ending.stack - 65536 < stack < ending.stack
    else:
        assert ending.stack <= stack < ending.stack + 4096
    (caller,) = ending.memory(stack, "Q")
    (begin, end), *_ = (
        [int(word, 16) for word in line.split()[0].split("-")]
        for line in open(f"/proc/{ending.pid}/task/{tid}/maps")
        if "libc.so.6" in line and "r-xp" in line
    )
    assert begin <= caller < end
    assert ending.let_go() == status


def test_a_child_forked_at_the_end_is_ending_too(seep):
    ending = Ending(seep, "fork", ":forks=0")
    assert ending.wait_for_end() == (ending.tid, ending.stack, REGISTERS)
    assert ending.let_go() == 3
