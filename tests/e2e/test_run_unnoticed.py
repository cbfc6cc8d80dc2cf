# SPDX-License-Identifier: MIT
"""`seep run` stands between a shell and a program without either of them noticing."""

import contextlib
import os
import re
import signal
import subprocess

import pytest

from harness import LIMIT_S, RUNTIME, SEEP, program, run_plain
from running import PYTHON


SHOW_STATE = r"""
import os, re, sys
status = open("/proc/self/status").read()
print(re.findall(r"^(?:Sig(?:Blk|Ign|Cgt)|NoNewPrivs|Seccomp):.*$", status, re.M))
print(os.getcwd(), os.getpgrp() == os.getpgid(os.getppid()), sys.argv[1:])
print(sorted(int(f) for f in os.listdir("/proc/self/fd")))
print(sorted(k for k in os.environ if k.startswith("MARK")))
"""


@contextlib.contextmanager
def odd_signals():
    """Dispositions and a mask such as a service manager might hand down."""
    held = {n: signal.signal(n, signal.SIG_IGN) for n in (signal.SIGUSR2, signal.SIGPIPE)}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGCHLD])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in held.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("closed", [(), (0,), (2,), (0, 2)], ids=str)
def test_descriptors_signals_and_folder_are_handed_on_as_they_came(seep, closed):
    shown = seep.directory / "shown"
    command = [PYTHON, "-c", f"import sys; sys.stdout = open({str(shown)!r}, 'w')\n{SHOW_STATE}"]
    seen = []
    extra = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(extra, True)
    with odd_signals():
        for words in (command, [SEEP, "run", "-q", "-f", "-o", "x.seep", "--", *command]):
            redirect = "".join(f" {fd}<&-" for fd in closed)
            subprocess.run(
                ["/bin/sh", "-c", f'exec "$@"{redirect}', "sh", *words],
                cwd=seep.directory, env={**os.environ, **seep.environment()},
                close_fds=False, check=True, timeout=LIMIT_S, restore_signals=False,
            )
            seen.append(shown.read_text())
    os.close(extra)
    assert seen[0] == seen[1]
    assert (seep.directory / "x.seep").exists()


def test_the_environment_gains_only_what_the_library_needs(seep):
    show = "import os; print(sorted(k for k in os.environ), os.environ.get('LD_PRELOAD'))"
    env = {"LD_PRELOAD": str(program("lib_bump.so")), "MARK": "1", "SEEP_OPTIONS": "depth=50"}
    plain = run_plain([PYTHON, "-c", show], env=env).stdout.decode()
    result, recordings = seep.run([PYTHON, "-c", show], env=env, options=["--depth", "9"])
    recorded = result.stdout.decode()
    names = [set(re.findall(r"'(\w+)'", text)) for text in (plain, recorded)]
    assert names[1] - names[0] == {"SEEP_DIR", "SEEP_SESSION"}
    assert recorded.rstrip().endswith(f"{RUNTIME}:{env['LD_PRELOAD']}")
    assert recordings.path.exists()


def test_every_exit_status_is_passed_on(seep):
    for status in (0, 1, 2, 42, 125, 126, 127, 128, 255):
        assert seep.run(["/bin/sh", "-c", f"exit {status}"])[0].status == status


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGTERM", "SIGINT", "SIGABRT", "SIGRTMIN"])
def test_seep_dies_by_the_programs_signal(seep, name):
    number = getattr(signal, name)
    result, recordings = seep.run(["/bin/sh", "-c", f"kill -{int(number)} $$"])
    assert result.status == -number
    process = recordings.load(recordings.path)["process"]
    assert process["ended"] == "signal"
    assert process["status"] == {"signal": number}


def test_arguments_can_be_withheld(seep):
    _, recordings = seep.run(["/bin/sh", "-c", "exit 0", "secret"], options=["--no-argv"])
    assert recordings.main()["process"]["argv"] is None
    assert b"secret" not in recordings.path.read_bytes()
