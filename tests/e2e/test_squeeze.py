# SPDX-License-Identifier: MIT
"""Whatever is taken from the target, it runs as without seep, and the report says what is missing.

A full file system, resource limits, closed descriptors, another root, dropped privileges and
deaths by signal. The truth lines of the target name what counted() allocated; a report that holds
less must say so.
"""

import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile

import pytest

from harness import BUILD, RUNTIME, SEEP, need_open_to_others, read_report, site

PROGRAM = BUILD / "programs" / "squeeze"
NOBODY = 65534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def place():
    path = pathlib.Path(tempfile.mkdtemp(prefix="seep-squeeze-", dir="/dev/shm"))
    (path / "ledgers").mkdir(mode=0o700)
    (path / "cwd").mkdir(mode=0o777)
    yield path
    shutil.rmtree(path)


class Limits:
    """Sets resource limits in the child, after fork and before exec."""

    def __init__(self, **limits):
        self.limits = limits

    def __call__(self):
        for name, value in self.limits.items():
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))


def run(place, arguments, limits=None, recorded=True, **options):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SEEP_")}
    if recorded:
        environment.update(LD_PRELOAD=str(RUNTIME), SEEP_DIR=str(place / "ledgers"))
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        cwd=place / "cwd",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=limits,
        check=False,
        **options,
    )


def run_both(place, arguments, limits=None, **options):
    """Plain and recorded: same output, same end. Returns the recorded run."""
    plain = run(place, arguments, limits, recorded=False, **options)
    recorded = run(place, arguments, limits, **options)
    assert recorded.returncode == plain.returncode, recorded.stderr.decode(errors="replace")
    assert recorded.stdout == plain.stdout
    assert plain.stdout.count(b"truth main") == 1, plain.stderr.decode(errors="replace")
    return recorded


def truth_of(out, who="main"):
    match = re.search(rf"truth {who} allocs=(\d+) bytes=(\d+) frees=(\d+)", out.decode())
    return [int(x) for x in match.groups()]


def report(path):
    done = subprocess.run([SEEP, "report", path, "--json"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return read_report(done.stdout)


def ledgers(place):
    """The reports of all ledgers, the first process first, then its child."""
    found = [report(p) for p in (place / "ledgers").rglob("*.ledger*")]
    return sorted(found, key=lambda r: r["process"]["ppid"] != os.getpid())


def ledger_of_nobody(done, who):
    """The report of a process of this run that has its ledger in the folder of nobody, which it
    shares with all other runs on this machine; removes it."""
    pid = re.search(rf"^{who} (\d+)$", done.stderr.decode(), re.MULTILINE).group(1)
    folder = pathlib.Path(f"/dev/shm/seep-{NOBODY}")
    # One of an earlier process of this number may lie there.
    path = max(folder.glob(f"squeeze.{pid}.*.ledger*"), key=lambda p: p.stat().st_mtime_ns)
    recording = report(path)
    path.unlink()
    return recording


def counted(recording):
    figures = site(recording, "counted")
    return [figures[name] for name in ("allocs", "bytes", "frees")]


def assert_honest(recording, truth):
    """All of it under its stack, or the report says that something is missing."""
    if counted(recording) == truth:
        return
    totals = recording["totals"]
    assert totals["dropped"] or recording["unseen"], f"{counted(recording)} of {truth}, and silent"
    # Without their stacks or not at all, but never more than there were.
    assert all(c <= t for c, t in zip(counted(recording), truth))


def assert_all_honest(place, out):
    """Of the program, and of its child if that has a ledger; gives the reports."""
    found = ledgers(place)
    for recording, who in zip(found, ("main", "child")):
        assert_honest(recording, truth_of(out, who))
    return found


def assert_complete(recording, truth):
    assert counted(recording) == truth


# ---- deaths by signal ----------------------------------------------------------------------------


def core_files(place):
    return sorted(p.name for p in (place / "cwd").iterdir() if p.name.startswith("core"))


def cores_come_as_files():
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    return pattern == "core"


@pytest.mark.parametrize("death", ["segv", "abort"])
def test_a_death_by_signal_keeps_status_core_and_counts(place, death):
    # Enough for a core, and far below what a core of the ledger's mapping could take.
    limits = Limits(CORE=200 << 20)
    arguments = ["work", 5000, death]
    plain = run(place, arguments, limits, recorded=False)
    had_core = core_files(place)
    for name in had_core:
        (place / "cwd" / name).unlink()
    recorded = run(place, arguments, limits)
    assert recorded.returncode == plain.returncode == -(
        signal.SIGSEGV if death == "segv" else signal.SIGABRT
    )
    assert recorded.stdout == plain.stdout
    assert len(core_files(place)) == len(had_core)
    if cores_come_as_files():
        assert had_core, "the plain run left no core"
    (recording,) = ledgers(place)
    assert_complete(recording, truth_of(recorded.stdout))


@pytest.mark.parametrize("death", ["segv", "abort"])
def test_seep_run_ends_by_the_same_signal(place, death):
    out = place / "run.seep"
    done = subprocess.run(
        [SEEP, "run", "-q", "-o", out, "--", PROGRAM, "work", "5000", death],
        cwd=place / "cwd",
        env={**os.environ, "SEEP_DIR": str(place / "ledgers")},
        capture_output=True,
        check=False,
    )
    number = signal.SIGSEGV if death == "segv" else signal.SIGABRT
    assert done.returncode == -number, done.stderr.decode(errors="replace")
    recording = report(out)
    assert recording["process"]["status"] == {"signal": number}
    assert_complete(recording, truth_of(done.stdout))


# ---- a small file system --------------------------------------------------------------------------


@pytest.fixture
def small_tmpfs(place):
    mounted = []

    def mount(size):
        target = place / "ledgers"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "seep-test", target],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"mount: {done.stderr.strip()}")
        mounted.append(target)
        return target

    yield mount
    for target in mounted:
        subprocess.run(["umount", target], check=True)


SIZES = ["4k", "64k", "256k", "1m", "4m", "16m"]


@needs_root
@pytest.mark.parametrize("size", SIZES)
def test_a_full_file_system_harms_nobody(place, small_tmpfs, size):
    small_tmpfs(size)
    recorded = run_both(place, ["work", 60000, "fork", 20000, "work", 20000])
    assert len(assert_all_honest(place, recorded.stdout)) <= 2


@needs_root
def test_a_file_system_that_fills_up_meanwhile(place, small_tmpfs):
    filler = small_tmpfs("8m") / "filler"
    arguments = ["work", 2000, "fill", filler, "work", 60000, "fork", 5000]
    plain = run(place, arguments, recorded=False)
    filler.unlink()
    recorded = run(place, arguments)
    assert (recorded.returncode, recorded.stdout) == (0, plain.stdout)
    assert_all_honest(place, recorded.stdout)


# ---- limits -------------------------------------------------------------------------------------------


def peak_of_plain(place, arguments):
    """Address space that the program takes without seep, found by trying."""
    for megabytes in range(4, 400, 2):
        limit = megabytes << 20
        if run(place, arguments, Limits(AS=limit), recorded=False).returncode == 0:
            return limit
    raise AssertionError("the program needs more than 400 MB")


def test_a_limited_address_space(place):
    arguments = ["work", 40000, "fork", 5000]
    needed = peak_of_plain(place, arguments)
    for room in (4, 8, 12, 16, 24, 64, 256, 1024):
        # What the library itself maps is its price; the ledger has to fit in what is left.
        done = run_both(place, arguments, Limits(AS=needed + (room << 20)))
        print(f"{room} MB of room: {len(assert_all_honest(place, done.stdout))} ledgers")
        for path in (place / "ledgers").rglob("*.ledger*"):
            path.unlink()


@pytest.mark.parametrize("megabytes", [6, 32, 256])
def test_an_address_space_that_is_limited_later(place, megabytes):
    # Above what is mapped: a library that was there first is part of that.
    arguments = ["work", 1000, "as", megabytes << 20, "work", 60000, "fork", 1000]
    done = run_both(place, arguments)
    found = assert_all_honest(place, done.stdout)
    for recording in found:
        totals = recording["totals"]
        assert totals["live_bytes"] == totals["alloc_bytes"] - totals["freed_bytes"]
    # The parent's ledger is not in the child: that leaves room for one.
    assert len(found) == 2 and not found[0]["totals"]["unrecorded_children"]


@pytest.mark.parametrize("limit", [4, 5, 8])
def test_few_descriptors(place, limit):
    done = run_both(place, ["work", 20000, "file", "own"], Limits(NOFILE=limit))
    assert b"descriptor 3" in done.stdout
    found = ledgers(place)
    # The directory and the ledger, for a moment: 4 is one too few.
    assert len(found) == 1 or limit == 4
    for recording in found:
        assert_complete(recording, truth_of(done.stdout))


def test_no_descriptor_for_a_forked_child(place):
    done = run_both(place, ["work", 2000, "nofile", 3, "work", 30000, "fork", 2000])
    found = ledgers(place)
    assert_complete(found[0], truth_of(done.stdout))
    if len(found) == 1:
        assert found[0]["totals"]["unrecorded_children"] == 1


@pytest.mark.parametrize("limit", [0, 4096, 1 << 20, 1 << 26])
def test_a_limited_file_size(place, limit):
    done = run_both(place, ["work", 40000], Limits(FSIZE=limit))
    assert_all_honest(place, done.stdout)


def test_a_file_size_that_is_limited_later(place):
    done = run_both(place, ["work", 100, "fsize", 8192, "work", 60000, "fork", 3000])
    found = ledgers(place)
    assert_honest(found[0], truth_of(done.stdout))


# ---- descriptors, root, privileges -------------------------------------------------------------------


def test_all_descriptors_closed(place):
    arguments = ["work", 100, "close", "file", "own", "work", 60000, "file", "own", "fork", 9000]
    done = run_both(place, arguments)
    assert done.stdout.count(b"descriptor 3\n") == 2
    assert (place / "cwd" / "own").read_bytes() == b"hello\n" * 1000
    for recording, who in zip(ledgers(place), ("main", "child")):
        assert_complete(recording, truth_of(done.stdout, who))


@needs_root
@pytest.mark.parametrize("privileges", [[], ["setuid"]], ids=["root", "nobody"])
def test_another_root(place, privileges):
    empty = place / "root"
    empty.mkdir()
    arguments = ["work", 100, "chroot", empty, *privileges, "work", 60000, "fork", 9000]
    done = run_both(place, arguments)
    assert list(empty.rglob("*")) == [], "a ledger was left inside the new root"
    found = ledgers(place)
    assert_complete(found[0], truth_of(done.stdout))
    if len(found) == 1:
        assert found[0]["totals"]["unrecorded_children"] == 1
    else:
        assert_honest(found[1], truth_of(done.stdout, "child"))


@needs_root
def test_privileges_dropped(place):
    done = run_both(place, ["work", 100, "setuid", "work", 60000, "fork", 9000])
    found = ledgers(place)
    assert_complete(found[0], truth_of(done.stdout))
    # The child may write elsewhere only: the parent's recording says so.
    assert len(found) == 1
    assert found[0]["totals"]["unrecorded_children"] == 1
    child = ledger_of_nobody(done, "child")
    assert child["process"]["ppid"] == found[0]["process"]["pid"]
    assert_honest(child, truth_of(done.stdout, "child"))


@needs_root
def test_a_directory_of_somebody_else(place):
    """Started as nobody: the ledgers' directory can be neither entered nor trusted."""
    os.chmod(place, 0o755)
    need_open_to_others(BUILD / "seep")
    options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    done = run_both(place, ["work", 20000], **options)
    assert list((place / "ledgers").iterdir()) == []
    assert_honest(ledger_of_nobody(done, "main"), truth_of(done.stdout))
