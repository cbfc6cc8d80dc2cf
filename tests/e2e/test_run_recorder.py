# SPDX-License-Identifier: MIT
"""The recorder: several at once, killed, with little room; and what it prints."""

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import time

import pytest

from harness import LIMIT_S, RUNTIME, SEEP, SOURCE, check_totals, program, run_plain
from running import CATCH, PYTHON, apart, finish, start, wait_until, watched


def test_two_recorders_share_a_folder(seep):
    folder = seep.directory
    script = "for i in 1 2 3 4 5 6 7 8; do /bin/true; done; exit $0"
    runs = [
        subprocess.Popen(
            [SEEP, "run", "-q", "-o", folder / f"r{i}.seep", "--", "/bin/sh", "-c", script, str(i)],
            env={**os.environ, **seep.environment()},
        )
        for i in range(4)
    ]
    assert [run.wait(timeout=LIMIT_S) for run in runs] == [0, 1, 2, 3]
    for i in range(4):
        report = seep.load(folder / f"r{i}.seep")
        assert report["process"]["status"] == {"code": i}
        assert len(report["process"]["children"]) == 8
        assert len(list(folder.glob(f"r{i}.seep.d/*.seep"))) == 8
    assert seep.ledgers() == []


def test_a_killed_recorder_takes_nothing_away(seep):
    script = 'kept = [b"k" * 1000 for _ in range(3000)]\n' + CATCH
    process = start(seep, [PYTHON, "-c", script], env={"PYTHONMALLOC": "malloc"})
    assert process.stdout.readline() == b"ready\n"
    (entry,) = wait_until(lambda: watched(seep, "recorded"), "the recorder")
    assert entry["recorder_pid"] == process.pid
    process.kill()
    process.wait()
    (entry,) = watched(seep)
    assert entry["state"] == "recorder-gone"
    began = time.monotonic()
    os.kill(entry["pid"], signal.SIGTERM)
    assert process.stdout.read() == b"caught 15\n"
    wait_until(lambda: watched(seep, "dead"), "the end of the program")
    assert time.monotonic() - began < 9
    report = seep.load(entry["ledger"])
    assert report["totals"]["alloc_bytes"] > 3000 * 1000
    check_totals(report)
    assert not (seep.directory / "run.seep").exists()


def test_time_is_told_by_samples_and_automatic_marks(seep):
    script = r"""
import os, time
kept = []
end = time.monotonic() + 2.2
while time.monotonic() < end:
    kept.append(bytearray(1000))
    time.sleep(0.0005)
os._exit(0)
"""
    _, recordings = seep.run([PYTHON, "-c", script], env={"PYTHONMALLOC": "malloc"})
    report = recordings.main()
    process, timeline = report["process"], report["timeline"]
    assert 20 < len(timeline) <= 1000
    for earlier, later in zip(timeline, timeline[1:]):
        assert earlier["at_ns"] < later["at_ns"]
        assert earlier["allocs"] <= later["allocs"]
        assert earlier["frees"] <= later["frees"]
    assert all(process["start_ns"] <= s["at_ns"] for s in timeline)
    assert all(s["rss_bytes"] > 1000000 for s in timeline)
    highest = max(s["live_bytes"] for s in timeline)
    assert 1000000 < highest <= report["totals"]["peak_bytes"] * 1.05
    ages = [(m["at_ns"] - process["start_ns"]) / 1e9 for m in report["marks"]]
    assert [m["name"] for m in report["marks"]] == [None, None]
    assert 1 <= ages[0] < 1.5 and 2 <= ages[1] < 2.5
    assert {e["epoch"] for c in report["contexts"] for e in c["epochs"]} == {0, 1, 2}


def test_the_summary_is_on_stderr_and_json_on_stdout(seep):
    done = seep.command(
        "run", "-o", "out.seep", "--json", "--", "/bin/echo", "hello", cwd=seep.directory
    )
    first, rest = done.stdout.split(b"\n", 1)
    assert first == b"hello"
    assert json.loads(rest)["process"]["exe"].endswith("echo")
    assert b"out.seep" in done.stderr
    quiet = seep.command("run", "-q", "--", "/bin/echo", "hello", cwd=seep.directory)
    assert (quiet.stdout, quiet.stderr) == (b"hello\n", b"")
    made = [p.name for p in seep.directory.glob("echo.*.seep")]
    assert len(made) == 1 and re.fullmatch(r"echo\.\d+\.seep", made[0])
    assert (seep.directory / made[0]).stat().st_mode & 0o777 == 0o600


def test_armed_but_off_records_nothing(seep):
    done = seep.command(
        "run", "-o", "x.seep", "--mode", "off", "--", "/bin/sh", "-c", "exit 3",
        cwd=seep.directory,
    )
    assert done.status == 3
    report = seep.load("x.seep", cwd=seep.directory)
    assert report["process"]["mode"] == "off"
    assert report["totals"]["allocs"] == 0


def test_a_full_folder_costs_the_recording_but_not_the_run(seep):
    small = seep.directory / "small"
    small.mkdir(mode=0o700)
    mount = f'mount -t tmpfs -o size=4k,mode=700 none {small} && exec "$@"'
    done = run_plain(
        [*apart(), "sh", "-c", mount, "sh", SEEP, "run", "-o", "x.seep", "/bin/echo", "hello"],
        cwd=seep.directory, env={"SEEP_DIR": str(small)},
    )
    assert done.status == 0
    assert done.stdout == b"hello\n"
    assert b"nothing was recorded for echo: " in done.stderr


def test_a_ledger_folder_that_cannot_be_written_to_is_refused(seep):
    folder = seep.directory / "folder"
    folder.mkdir(mode=0o700)
    mount = f'mount -t tmpfs -o ro,mode=700 none {folder} && exec "$@"'
    done = run_plain(
        [*apart(), "sh", "-c", mount, "sh", SEEP, "run", "/bin/echo", "hello"],
        cwd=seep.directory, env={"SEEP_DIR": str(folder)},
    )
    assert (done.status, done.stdout) == (125, b"")
    said = f"seep run: SEEP_DIR: cannot write to {folder}: Read-only file system\n"
    assert done.stderr.decode() == said


def run_limited(seep, which, limit, *options):
    """What seep says when a program is recorded under a limit of its resources."""
    done = subprocess.run(
        [SEEP, "run", "-f", "-o", "x.seep", *options, "--", "/bin/echo", "hello"],
        cwd=seep.directory, env={**os.environ, **seep.environment()}, capture_output=True,
        preexec_fn=lambda: resource.setrlimit(which, (limit, limit)), check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"hello\n")
    return done.stderr.decode()


def test_too_small_an_address_space_is_said_to_be_why(seep):
    def limited(mebibytes):
        return run_limited(seep, resource.RLIMIT_AS, mebibytes << 20)

    assert "address space (RLIMIT_AS) is limited to 140 MB" in limited(140)
    # Here it depends on what the program itself takes.
    assert "address space" in limited(161)
    assert "nothing was recorded" not in limited(400)


def test_too_small_a_file_size_is_said_to_be_why(seep):
    def limited(kibibytes):
        return run_limited(seep, resource.RLIMIT_FSIZE, kibibytes << 10)

    assert "file size (RLIMIT_FSIZE) is limited to 400 KB, recording needs 512 KB" in limited(400)
    assert '"ulimit -f"' in limited(511)
    assert "nothing was recorded" not in limited(512)


def test_too_small_a_data_segment_is_said_to_be_why(seep):
    def limited(kibibytes):
        done = run_plain(
            ["/bin/sh", "-c", f'ulimit -d {kibibytes}; exec "$@"', "sh",
             SEEP, "run", "-f", "-o", "x.seep", "--", "/bin/echo", "hello"],
            cwd=seep.directory, env=seep.environment(),
        )
        return done.stderr.decode()

    for kibibytes, begin in [(6000, "cannot start the recorder's thread"), (12000, "nothing was recorded for echo")]:
        said = limited(kibibytes)
        assert begin in said and "data segment (RLIMIT_DATA) is limited to" in said, said
        assert '"ulimit -d"' in said


def test_a_ledger_made_small_by_a_limit_says_so_when_it_is_full(seep):
    run = [SEEP, "run", "-q", "-o", "x.seep", "--", program("many_stacks"), "40000"]
    done = run_plain(["/bin/sh", "-c", 'ulimit -f 2048; exec "$@"', "sh", *run],
                     cwd=seep.directory, env=seep.environment())
    assert done.status == 0
    report = seep.load(seep.directory / "x.seep")
    (full,) = [u["detail"] for u in report["unseen"] if u["code"] == "ledger-full"]
    assert "ulimit -f" in full and "--ledger-max" not in full


def test_a_recording_beyond_the_limit_of_file_size_does_not_end_the_recorder(seep):
    lower = "import os, resource as r; r.prlimit(os.getppid(), r.RLIMIT_FSIZE, (4096, 4096))"
    result, _ = seep.run([PYTHON, "-c", lower])
    assert result.status == 0
    assert b"cannot write" in result.stderr or b"too large" in result.stderr, result.stderr
    assert len(seep.ledgers()) == 1


@pytest.mark.parametrize("size", [1, 1 << 18, 1 << 50, (1 << 64) - 1])
def test_whatever_size_the_ledger_is_allowed_the_program_is_recorded(seep, size):
    _, recordings = seep.run(["/bin/true"], env={"SEEP_OPTIONS": f"ledger_max={size}"})
    unseen = {entry["code"] for entry in recordings.main()["unseen"]}
    assert not unseen & {"ledger-full", "caches-full", "no-space"}
    if size >= 1 << 18:
        run_limited(seep, resource.RLIMIT_CORE, 0, "--ledger-max", str(size))
        assert (seep.directory / "x.seep").exists()


MANY_AT_ONCE = """
import os, subprocess, time
r, w = os.pipe()
children = [subprocess.Popen(["/bin/cat"], stdin=r) for _ in range(20)]
os.close(w)
ended = time.monotonic()
for child in children:
    child.wait()
print(int(time.monotonic() - ended))
"""


@pytest.mark.parametrize("limit", [12, 14, 20])
def test_processes_beyond_the_limit_of_descriptors_are_recorded_all_the_same(seep, limit):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    out = seep.directory / "run.seep"
    done = subprocess.run(
        [SEEP, "run", "-q", "-o", out, "--", PYTHON, "-c", MANY_AT_ONCE],
        env={**os.environ, **seep.environment({"SEEP_OPTIONS": f"exit_wait_ms={LIMIT_S}000"})},
        preexec_fn=few, capture_output=True, check=False, timeout=LIMIT_S,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    # Nobody waits for an answer that does not come.
    assert int(done.stdout) < LIMIT_S // 2
    assert len(list((seep.directory / "run.seep.d").iterdir())) == 20
    assert seep.ledgers() == []


def test_the_recorders_limit_of_descriptors_is_not_the_programs(seep):
    words = ["bash", "-c", 'ulimit -Sn 50; exec "$@"', "bash"]
    show = ["bash", "-c", "ulimit -Sn; ulimit -Hn"]
    plain = run_plain([*words, *show])
    out = seep.directory / "run.seep"
    run_plain([*words, SEEP, "run", "-q", "-o", out, *show], env=seep.environment()).same_as(plain)


def is_writing(pid, folder):
    """Whether a recorder has a recording open that has no name yet: the kernel calls it #inode."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/{pid}/fd/{fd}")
            if path.startswith(f"{folder}/#"):
                return True
    return False


def test_a_recorder_killed_while_it_writes_leaves_no_part_of_a_recording(seep):
    try:
        os.close(os.open(seep.directory, os.O_TMPFILE | os.O_RDWR))
    except OSError as problem:
        pytest.skip(f"no files without a name here: {problem}")
    script = "import asyncio, email.mime.text, http.server, unittest, xml.dom.minidom"
    # Where it had been done before it was seen to write, once more.
    for _ in range(20):
        process = start(seep, [PYTHON, "-c", script], "--force", env={"PYTHONMALLOC": "malloc"})
        while process.poll() is None and not is_writing(process.pid, seep.directory):
            pass
        process.kill()
        process.communicate(timeout=LIMIT_S)
        if process.returncode == -signal.SIGKILL:
            break
    assert process.returncode == -signal.SIGKILL
    assert [name for name in os.listdir(seep.directory) if name != "run.seep"] == []
    # It may have been done before it was killed.
    assert seep.ledgers() or (seep.directory / "run.seep").exists()


FORKS = """
import os, sys
kept = bytearray(1000)
for _ in range(int(sys.argv[1])):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
print("ready", flush=True)
sys.stdin.read()
"""


def test_the_recorder_does_not_grow_with_small_forks(seep):
    """seep counts its own blocks: a server may fork for months."""
    live = []
    for count in (50, 350):
        process = start(
            seep, [PYTHON, "-c", FORKS, str(count)], "--force",
            env={"LD_PRELOAD": str(RUNTIME)}, stdin=subprocess.PIPE,
        )
        assert process.stdout.readline() == b"ready\n"

        def alone():
            return [name for name in seep.ledgers() if name.startswith("python")][1:] == []

        wait_until(alone, "the forks to be summed")
        (own,) = (p for p in seep.ledger_dir.glob("seep.*.ledger"))
        report = seep.load(own)
        live.append(report["totals"]["live_blocks"])
        assert finish(process)[0] == 0
        own.unlink()
    assert live[1] < live[0] + 100


def test_the_report_as_json_can_go_into_a_file_beside_the_programs_output(seep):
    words = ["run", "-q", "-f", "-o", "x.seep", "--json=x.json", "echo", "hello"]
    done = seep.command(*words, cwd=seep.directory)
    assert (done.status, done.stdout, done.stderr) == (0, b"hello\n", b"")
    written = (seep.directory / "x.json").read_text()
    assert written == seep.command("report", "--json", "x.seep", cwd=seep.directory).stdout.decode()
    words.remove("-f")
    words[words.index("x.seep")] = "y.seep"
    refused = seep.command(*words, cwd=seep.directory)
    assert refused.status == 125 and b"x.json exists; --force" in refused.stderr
    words[words.index("--json=x.json")] = "--json=no/such/folder.json"
    refused = seep.command(*words, cwd=seep.directory)
    assert refused.status == 125 and refused.stdout == b""


@pytest.mark.parametrize("name", ["x.seep", "./x.seep", "../{}/x.seep", "x.seep.d"])
def test_the_report_as_json_does_not_replace_the_recording(seep, name):
    name = name.format(seep.directory.name)
    done = seep.command("run", "-o", "x.seep", f"--json={name}", "echo", cwd=seep.directory)
    assert done.status == 125 and done.stdout == b""
    assert done.stderr.decode() == f"seep run: --json={name} is the name of the recording or of its folder\n"


def test_a_look_at_large_libraries_leaves_no_hole_in_the_timeline(seep, tmp_path):
    """Once, after 100 ms, the recorder reads what the program's libraries import."""
    source = tmp_path / "busy.cc"
    with open(source, "w", encoding="utf-8") as out:
        subprocess.run([PYTHON, SOURCE / "bench" / "gen_cc.py", "6"], stdout=out, check=True)
    shown = subprocess.run(["clang++", "-###", "-std=c++17", "-O1", "-c", source], capture_output=True,
                           cwd=tmp_path, text=True, check=True).stderr
    command = [word.strip('"') for word in shown.splitlines()[-1].split()]
    _, recordings = seep.run(command, options=["--no-follow"], cwd=tmp_path)
    report = recordings.summaries()[0]
    process, times = report["process"], [sample["at_ns"] for sample in report["timeline"]]
    ran_ns = process["end_ns"] - process["start_ns"]
    assert ran_ns > 1_000_000_000
    assert max(b - a for a, b in zip(times, times[1:])) < ran_ns / 3
