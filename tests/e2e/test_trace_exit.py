# SPDX-License-Identifier: MIT
"""`seep run --trace-exit`: what a signal kills is scanned, and a program notices nothing of it.

The programs of test_leak_cases.py have the verdicts; this is about how a traced program goes on.
"""

import os
import pathlib
import resource
import signal

import pytest

from harness import need, program, run_plain
from running import finish, start, wait_until

STEPS = ["handled", "jumped", "sent", "interrupted", "stopped_child", "threads", "children", "asked"]
DEATHS = {
    "by_term": signal.SIGTERM,
    "by_fault": signal.SIGSEGV,
    "by_abort": signal.SIGABRT,
    "after_abort": signal.SIGTERM,
}
OPTIONS = ["--trace-exit"]


def lost(report):
    return [leak["bytes"] for leak in report["leaks"] if leak["verdict"] == "LOST"]


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]


def tracer(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("TracerPid:")[1].split()[0])


def check_dead(report):
    scan = report["scan"]
    assert report["process"]["ended"] == "signal"
    assert scan["method"] and not scan["caveats"], scan
    assert lost(report) == [777]


@pytest.mark.parametrize("death", DEATHS)
def test_a_program_notices_nothing_and_is_scanned_when_it_dies(seep, death):
    command = [program("deaths"), *STEPS, death]
    plain = run_plain(command)
    result, recordings = seep.run(command, OPTIONS)
    result.same_as(plain)
    assert result.status == -DEATHS[death]
    check_dead(recordings.main())


def test_a_program_that_ends_by_itself_is_scanned_as_ever(seep):
    command = [program("deaths"), *STEPS]
    result, recordings = seep.run(command, OPTIONS)
    result.same_as(run_plain(command))
    scan = recordings.main()["scan"]
    assert (scan["method"], scan["caveats"]) == ("stopped", [])


def test_a_filter_that_kills_for_restarted_calls_kills_nobody(seep):
    command = [program("deaths"), "confined"]
    result, _ = seep.run(command, OPTIONS)
    result.same_as(run_plain(command))


def test_kill_is_not_held_up_by_a_scan(seep):
    result, recordings = seep.run([program("deaths"), "by_kill"], OPTIONS)
    assert result.status == -signal.SIGKILL
    assert recordings.main()["scan"]["why_not"] == "it was killed by SIGKILL"


def test_the_signal_that_killed_a_child_is_known(seep):
    command = ["/bin/sh", "-c", f"{program('deaths')} by_term; true"]
    recordings = seep.record(command, OPTIONS)
    (report,) = [r for r in recordings.all() if r["process"]["exe"].endswith("deaths")]
    assert report["process"]["status"] == {"signal": signal.SIGTERM}
    check_dead(report)


class Staying:
    """A recorded program that waits for signals; `out` is what it says."""

    def __init__(self, seep):
        self.run = start(seep, [program("deaths"), "stay"], *OPTIONS)
        self.out = self.run.stdout
        assert [self.out.readline() for _ in range(2)] == [b"stay\n", b"ready\n"]
        self.pid = int(run_plain(["pgrep", "-P", str(self.run.pid)]).stdout)

    def send(self, number):
        os.kill(self.pid, number)

    def is_stopped(self):
        return state(self.pid) in "tT"


def test_a_stop_is_a_stop_and_is_continued_once(seep):
    staying = Staying(seep)
    for _ in range(20):
        staying.send(signal.SIGSTOP)
        wait_until(staying.is_stopped, "the stop")
        staying.send(signal.SIGCONT)
        assert staying.out.readline() == b"continued\n"
    staying.send(signal.SIGSTOP)
    wait_until(staying.is_stopped, "the last stop")
    staying.send(signal.SIGTERM)
    staying.send(signal.SIGCONT)
    status, out, err = finish(staying.run)
    assert (status, err) == (-signal.SIGTERM, b"")
    assert out in (b"", b"continued\n"), "whichever signal comes first"


def test_if_seep_is_killed_the_program_goes_on_with_all_its_signals(seep):
    staying = Staying(seep)
    assert tracer(staying.pid)
    staying.send(signal.SIGSTOP)
    wait_until(staying.is_stopped, "the stop")
    staying.run.kill()
    staying.run.wait()
    wait_until(lambda: tracer(staying.pid) == 0, "the tracer's end")
    # The kernel lets it run for a moment, in which it stops again by itself.
    wait_until(lambda: state(staying.pid) == "T", "the stop")
    staying.send(signal.SIGCONT)
    assert staying.out.readline() == b"continued\n"
    staying.send(signal.SIGTERM)
    assert staying.out.read() == b"", "it has died"


def test_others_are_told_who_traces_it(seep):
    staying = Staying(seep)
    done = seep.command("leaks", str(staying.pid))
    assert f"cannot be traced: seep (pid {tracer(staying.pid)})".encode() in done.stdout + done.stderr
    staying.send(signal.SIGTERM)
    assert finish(staying.run)[0] == -signal.SIGTERM


def test_a_program_that_somebody_else_traces_is_recorded_and_says_who(seep):
    words = [need("strace"), "-f", "-qq", "-o", "/dev/null", program("deaths"), "by_term"]
    result, recordings = seep.run(words, [*OPTIONS, "--follow", "deaths"])
    assert result.status == -signal.SIGTERM
    (report,) = [r for r in recordings.all() if r["process"]["exe"].endswith("deaths")]
    assert report["scan"]["why_not"].startswith("--trace-exit: process ")
    assert "strace (pid " in report["scan"]["why_not"]


def test_a_core_is_dumped_before_the_scan(seep):
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text(encoding="utf-8").strip()
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if pattern != "core" or hard != resource.RLIM_INFINITY:
        pytest.skip(f"no core would be written to this folder: {pattern}, {hard} bytes")
    words = ["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", program("deaths"), "by_fault"]
    result, recordings = seep.run(words, OPTIONS, cwd=seep.directory)
    assert result.status == -signal.SIGSEGV
    report = recordings.main()
    check_dead(report)
    assert report["process"]["core_dumped"]
    assert [p.read_bytes()[:4] for p in seep.directory.glob("core*")] == [b"\x7fELF"]
