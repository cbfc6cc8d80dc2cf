# SPDX-License-Identifier: MIT
"""Programs that confine themselves, or are confined by whoever starts them: they end as they would
have ended, and are counted to the byte."""

import errno
import os
import pathlib
import shutil
import socket
import subprocess

import pytest

from harness import (
    RUNTIME,
    SEEP,
    check_totals,
    check_truth,
    need,
    need_open_to_others,
    parse_truth,
    program,
    run_plain,
)
from running import apart, finish, start, wait_until, watched


def both(seep, command, env=None):
    """Run plainly and recorded, alike to the byte; the recordings. The truth is their output."""
    plain = run_plain(command, env=env)
    result, recordings = seep.run(command, env=env)
    result.same_as(plain)
    assert plain.status == 0 and plain.stderr == b""
    return recordings, parse_truth(result.stdout.decode())


def need_root():
    if os.geteuid() != 0:
        pytest.skip("only root may do this")


@pytest.mark.parametrize("way", ["not", "errno", "kill", "user", "chroot", "namespaces"])
def test_a_program_that_confines_itself_is_counted_to_the_end(seep, way):
    """Among them a seccomp filter that allows what is listed."""
    if way in ("user", "chroot", "namespaces"):
        need_root()
    recordings, truth = both(seep, [program("confined"), way])
    check_truth(recordings.main(), truth)


@pytest.mark.fast
@pytest.mark.parametrize("way", ["return", "exit", "_exit", "thread"])
@pytest.mark.parametrize("how", ["filter", "strict", "prctl", "raw-prctl", "tsc", "raw-tsc"])
def test_what_may_do_next_to_nothing_ends_as_ever(seep, how, way):
    """Alone, nobody is to be told; under seep, the recorder looks by itself."""
    command = [program("end_confined"), how, way]
    plain = run_plain(command)
    alone = run_plain(command, env={"LD_PRELOAD": str(RUNTIME), "SEEP_DIR": str(seep.ledger_dir)})
    alone.same_as(plain)
    assert plain.stdout == b"done\n"
    recorded, recordings = seep.run(command)
    recorded.same_as(plain)
    (ledger,) = seep.ledger_dir.glob("*.ledger")
    for path in ledger, recordings.path:
        report = seep.load(path)
        assert (report["totals"]["allocs"], report["totals"]["frees"]) == (2, 1)
        if path == ledger:
            # No hook sees a thread end by a bare system call.
            assert report["process"]["ended"] == ("killed" if way == "thread" else "exit")
        else:
            assert report["process"]["ended"] == ("signal" if plain.status < 0 else "exit")
    lost = [(entry["verdict"], entry["blocks"]) for entry in report["leaks"]]
    assert lost == ([("LOST", 1)] if way != "thread" else [])


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
@pytest.mark.parametrize("way", ["stacks", "threads"])
def test_a_filter_that_refuses_the_ledger_pages_is_told_from_a_full_file_system(seep, way, error):
    """Nothing is lost but stacks, and the reason that is given is the filter."""
    recordings, truth = both(seep, [program("refused"), str(error), way])
    # Not whole, so main() would complain.
    report = seep.load(recordings.path)
    assert report["totals"]["allocs"] >= truth.sites["counted"]["allocs"]
    codes = {entry["code"]: entry["detail"] for entry in report["unseen"]}
    assert "seccomp filter" in codes["ledger-refused"]
    assert not {"no-space", "ledger-full"} & codes.keys()
    assert ("caches-full" in codes) == (way == "threads")
    assert ("dropped" in codes) == (way == "stacks")


@pytest.mark.parametrize("way", ["read", "getpid"])
def test_a_child_that_may_not_ask_who_it_is_is_counted_to_its_end(seep, way):
    """It is followed from its start, under its own pid."""
    command = [program("refused"), str(errno.EPERM), way]
    process = start(seep, command, stdin=subprocess.PIPE)
    wait_until(lambda: len(watched(seep, "recorded")) == 2, "the child's ledger")
    status, out, err = finish(process)
    assert (status, err) == (0, b"")
    path = seep.directory / "run.seep"
    (child,) = seep.load(path)["process"]["children"]
    (path,) = seep.directory.glob(f"run.seep.d/{child}.refused.seep")
    report = seep.load(path)
    check_totals(report)
    check_truth(report, parse_truth(out.decode()))
    assert report["process"]["pid"] == child < 2**22
    assert report["process"]["ended"] == "exit"


def test_a_daemon_is_recorded_behind_its_double_fork(seep):
    """The program's own process ends at once; who goes on has a recording with its pid."""
    recordings, truth = both(seep, [program("confined"), "daemon"])
    reports = recordings.all()
    found = [r for r in reports if r["totals"]["allocs"] >= 2000 and r is not reports[0]]
    assert len(found) == 1
    truth.sites.pop("before")
    check_truth(found[0], truth)
    assert found[0]["process"]["ended"] == "exit"


def behind(seep, words):
    """The report of a program that another command starts."""
    recordings, truth = both(seep, [*words, program("confined"), "not"])
    (report,) = [r for r in recordings.all() if r["process"]["exe"].endswith("/confined")]
    check_truth(report, truth)
    return report


def test_a_program_in_other_namespaces_is_recorded(seep):
    report = behind(seep, apart("--net", "--ipc", "--uts", "--fork", "--pid"))
    # Its pid is somebody else's here, who must not be looked at in its place.
    assert "not-looked-at" in [entry["code"] for entry in report["unseen"]]
    assert {sample["rss_bytes"] for sample in report["timeline"]} <= {0}


def test_a_bubblewrapped_program_is_recorded(seep):
    words = [need("bwrap"), "--dev-bind", "/", "/", "--unshare-ipc", "--unshare-uts"]
    tried = run_plain([*words, "true"])
    if tried.status != 0:
        pytest.skip(tried.stderr.decode().strip())
    behind(seep, words)


def test_another_user_with_a_view_of_its_own_is_counted_in_a_ledger_of_its_own(seep):
    """As DynamicUser= and PrivateTmp= do: the test's folder of ledgers is closed to that user."""
    need_root()
    need_open_to_others(SEEP)
    user = str(1_000_000_000 + os.getpid())  # nobody else's
    words = [need("setpriv"), "--reuid", user, "--regid", user, "--clear-groups"]
    folder = seep.directory / "private"
    folder.mkdir(mode=0o755)
    copy = folder / "confined"
    shutil.copy(program("confined"), copy)
    os.chmod(seep.directory, 0o755)
    if run_plain([*words, copy, "not"]).status != 0:
        pytest.skip("another user may not reach the test's folder")
    ledgers = pathlib.Path(f"/dev/shm/seep-{user}")
    try:
        plain = run_plain([*words, copy, "not"])
        result, _ = seep.run([*words, copy, "not"])
        result.same_as(plain)
        (ledger,) = ledgers.glob("confined.*.ledger")
        report = seep.load(ledger)
        check_truth(report, parse_truth(result.stdout.decode()))
    finally:
        shutil.rmtree(ledgers, ignore_errors=True)


def test_what_systemd_hands_over_arrives(seep):
    """Type=notify and socket activation: the variables and the descriptor 3."""
    path = seep.directory / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(path))
        script = (
            "import os, socket\n"
            "assert os.environ['LISTEN_FDS'] == '1'\n"
            "assert os.readlink('/proc/self/fd/3') == '/dev/null'\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
            "s.sendto(b'READY=1', os.environ['NOTIFY_SOCKET'])\n"
        )
        shell = 'exec 3</dev/null; exec "$0" "$@"'
        env = {"NOTIFY_SOCKET": str(path), "LISTEN_FDS": "1"}
        words = [need("bash"), "-c", shell, "/usr/bin/python3", "-c", script]
        plain = run_plain(words, env=env)
        result, recordings = seep.run(words, env=env)
        result.same_as(plain)
        assert [notify.recv(100) for _ in range(2)] == [b"READY=1"] * 2
    assert recordings.main()["totals"]["allocs"] > 1000


def test_a_child_that_may_have_no_more_memory_is_counted(seep):
    plain = run_plain([program("no_data")])
    result, recordings = seep.run([program("no_data")])
    assert result.stdout == plain.stdout == b"500\n" and result.status == plain.status == 0
    (report,) = recordings.all()
    assert report["totals"]["unrecorded_children"] == 0
    figures = {"allocs": 500, "alloc_bytes": 20000, "frees": 500, "freed_bytes": 20000}
    inherited = {"inherited_frees": 0, "inherited_freed_bytes": 0}
    assert report["forked"] == {"processes": 1, "live_bytes": 0, **figures, **inherited}
