# SPDX-License-Identifier: MIT
"""`seep run --snapshot-every`: recordings of what still runs, complete in themselves and bounded in
number, whatever the disk does."""

import os
import re
import stat
import subprocess
import time

from harness import SEEP, check_totals, program
from running import PYTHON, apart, finish, start, wait_until

EVERY = ("--snapshot-every", "100ms")


def numbers(folder, stem="run"):
    """The numbers of the snapshots that are there, in order."""
    pattern = re.compile(re.escape(stem) + r"\.(\d{3,})\.seep")
    found = (pattern.fullmatch(path.name) for path in folder.iterdir())
    return sorted(int(match[1]) for match in found if match)


def snapshot(seep, number, stem="run"):
    return seep.directory / f"{stem}.{number:03}.seep"


def run_busy(seep, *options, until, arguments=()):
    """Run the busy program until a condition holds; returns its output on stderr."""
    command = [program("busy_until"), *arguments]
    process = start(seep, command, *options, stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    wait_until(until, "snapshots")
    status, out, err = finish(process)
    assert (status, out) == (7, b""), err
    return err.decode()


def test_snapshots_are_whole_recordings_of_a_moment_and_the_newest_are_kept(seep):
    folder = seep.directory
    err = run_busy(
        seep, *EVERY, "--snapshot-keep", "3", until=lambda: snapshot(seep, 7).exists()
    )
    # On a busy machine.
    assert re.fullmatch("(seep run: .* left out: earlier ones were still being written\n)?", err)
    kept = numbers(folder)
    assert len(kept) == 3 and kept == list(range(kept[0], kept[0] + 3)) and kept[0] > 4
    reports = [seep.load(snapshot(seep, n)) for n in kept] + [seep.load(folder / "run.seep")]
    for report in reports[:-1]:
        assert report["process"]["ended"] == "running"
        assert report["process"]["end_ns"] is None
        last = report["timeline"][-1]
        assert (last["allocs"], last["live_bytes"]) == (
            report["totals"]["allocs"],
            report["totals"]["live_bytes"],
        )
        assert any(f["function"] for c in report["contexts"] for f in c["frames"])
    assert reports[-1]["process"]["status"] == {"code": 7}
    for report in reports:
        totals = report["totals"]
        if totals["in_doubt"] == 0:
            check_totals(report)
        for key in ("allocs", "alloc_bytes", "frees", "live_blocks", "live_bytes", "peak_bytes"):
            assert totals[key] == sum(c[key] for c in report["contexts"]), key
    for earlier, later in zip(reports, reports[1:]):
        assert earlier["totals"]["allocs"] < later["totals"]["allocs"]
        assert earlier["timeline"][-1]["at_ns"] < later["timeline"][-1]["at_ns"]
    for n in kept:
        assert stat.S_IMODE(snapshot(seep, n).stat().st_mode) == 0o600
    assert not [p.name for p in folder.iterdir() if not p.name.endswith(".seep")]


def test_each_process_has_snapshots_of_its_own(seep):
    def second():
        return list((seep.directory / "run.seep.d").glob("*.002.seep"))

    run_busy(seep, *EVERY, until=second, arguments=["child"])
    main = seep.load(seep.directory / "run.seep")
    (path,) = second()
    report = seep.load(path)
    assert report["process"]["ppid"] == main["process"]["pid"]
    assert report["process"]["ended"] == "running"


def test_what_an_earlier_run_left_is_not_replaced(seep):
    for number in (1, 3):
        snapshot(seep, number).write_text("mine")
    run_busy(seep, *EVERY, "--snapshot-keep", "1", until=lambda: snapshot(seep, 5).exists())
    assert [snapshot(seep, n).read_text() for n in (1, 3)] == ["mine", "mine"]
    assert not snapshot(seep, 2).exists()


def test_a_full_disk_costs_snapshots_and_nothing_else(seep, tmp_path):
    """Its own mount namespace: a file system of 64 KB for the recordings, which no snapshot fits."""
    script = f'mount -t tmpfs -o size=260k none {tmp_path} && exec "$@"'
    code = "import time; kept = [bytearray(50) for _ in range(9000)]; time.sleep(1); exit(7)"
    words = [*apart(), "sh", "-c", script, "sh", SEEP, "run", "-o", tmp_path / "run.seep"]
    done = subprocess.run(
        [*words, *EVERY, "--", PYTHON, "-c", code],
        env={**os.environ, **seep.environment({"PYTHONMALLOC": "malloc"})},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    lines = done.stderr.decode().splitlines()
    # One line for all of them, though there was one every 100 ms.
    assert len([line for line in lines if "snapshot" in line and "full" in line]) == 1, lines
    # What can be done about the recording follows what it is about.
    (kept,) = [i for i, line in enumerate(lines) if "the ledger is kept" in line]
    assert "hint: " in lines[kept + 1]


def test_snapshots_leave_room_for_the_recording(seep, tmp_path):
    """A file system that holds five or six: without a bound the last of them would be in its place."""
    script = f'mount -t tmpfs -o size=260k none {tmp_path} && exec "$@"'
    words = [*apart(), "sh", "-c", script, "sh", SEEP, "run", "-q", "-o", tmp_path / "run.seep"]
    process = subprocess.Popen(
        [*words, *EVERY, "--", program("busy_until")],
        env={**os.environ, **seep.environment()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    inside = f"/proc/{process.pid}/root{tmp_path}"
    wait_until(lambda: os.path.exists(f"{inside}/run.003.seep"), "snapshots")
    folder = os.open(inside, os.O_RDONLY)
    try:
        time.sleep(1)  # some more are due by then, and nothing is to be seen of them
        status, _, err = finish(process)
        assert status == 7
        text = err.decode()
        assert re.search(
            r"^seep run: \d+ snapshots were left out, so that the recording has room: .* had "
            r"\d+(\.\d)? KB left, the last snapshot took \d+(\.\d)? KB$",
            text,
            re.MULTILINE,
        ), text
        assert "cannot write" not in text and "could not" not in text
        *kept, last = sorted(os.listdir(folder))
        assert kept == [f"run.00{n + 1}.seep" for n in range(len(kept))] and 3 <= len(kept) <= 5
        assert last == "run.seep"
    finally:
        os.close(folder)
