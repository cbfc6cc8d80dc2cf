# SPDX-License-Identifier: MIT
"""Where ledgers are made, and what it costs there."""

import json
import os
import re
import subprocess
import tempfile

import pytest

from harness import BUILD, LIMIT_S, RUNTIME, SEEP, need, parse_truth, program
from running import apart

RAM = {"tmpfs", "ramfs"}


@pytest.fixture
def disk():
    """A private folder on a disk's file system."""
    with tempfile.TemporaryDirectory(prefix="seep-test-", dir="/var/tmp") as path:
        kind = subprocess.check_output(["stat", "-f", "-c", "%T", path], text=True).strip()
        if kind in RAM:
            pytest.skip("/var/tmp is in memory")
        yield path


def test_a_ledger_on_a_disk_has_nothing_read_ahead(disk):
    """Its holes would be: megabytes of zeros, in the page cache, for each page of it."""
    fincore = need("fincore")
    run = subprocess.Popen(
        [program("live_blocks")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "SEEP_DIR": disk, "LD_PRELOAD": str(RUNTIME)},
    )
    while run.stdout.readline() != b".\n":
        pass
    (ledger,) = [e.path for e in os.scandir(disk) if f".{run.pid}." in e.name and e.name.endswith(".ledger")]
    taken = os.stat(ledger).st_blocks * 512
    out = subprocess.check_output([fincore, "-b", "-n", "-r", "-o", "RES", ledger])
    run.communicate(timeout=LIMIT_S)
    assert 0 < int(out) <= taken + 65536


# ---- the choice -----------------------------------------------------------------------------------


def small(*folders):
    return "; ".join(f"mount -t tmpfs -o size=16m none {folder}" for folder in folders)


STACKS = 40000  # take more than a quarter of 16 MB


def run_under(mounts, *options, after="true"):
    """Record many stacks in a mount namespace; what was said, and two figures."""
    if os.geteuid() != 0:
        pytest.skip("mounts")
    with tempfile.TemporaryDirectory(prefix="place-", dir=BUILD) as folder:
        path = f"{folder}/run.seep"
        command = f"{SEEP} run -o {path} {' '.join(options)} -- {program('many_stacks')} {STACKS}"
        done = subprocess.run(
            [*apart(), "sh", "-c", f"set -e; {mounts}; {command}; {after}"],
            env={k: v for k, v in os.environ.items() if k != "SEEP_DIR"},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, done.stderr
        # As JSON its stacks take seconds.
        figures = (
            "SELECT (SELECT sum(allocs) FROM top WHERE function = 'counted') AS counted,"
            " (SELECT value FROM total WHERE name = 'dropped') AS dropped"
        )
        asked = subprocess.check_output([SEEP, "query", path, "--json", figures], timeout=LIMIT_S)
        return done, json.loads(asked)[0]


def assert_whole(done, figures):
    counted = parse_truth(done.stdout).sites["counted"]["allocs"]
    assert figures == {"counted": counted, "dropped": 0}


def said(done):
    return [line for line in done.stderr.splitlines() if line.startswith("seep run: ")]


def test_a_small_shm_is_left_for_a_disk(disk):
    done, figures = run_under(small("/dev/shm"))
    assert said(done) == [
        "seep run: /dev/shm has room for a ledger of 4.0 MB only; ledgers are in /var/tmp/seep-0"
    ]
    assert_whole(done, figures)


def test_other_memory_goes_before_a_disk():
    user = "mount -t tmpfs -o size=1g none /run; mkdir -p /run/user/0"
    done, figures = run_under(f"{small('/dev/shm')}; {user}")
    assert "; ledgers are in /run/user/0/seep-0" in said(done)[0]
    assert_whole(done, figures)


def test_where_no_place_has_room_it_is_said_before():
    done, figures = run_under(small("/dev/shm", "/var/tmp", "/tmp", "/run"))
    (line,) = said(done)
    assert line.startswith("seep run: /dev/shm has room for a ledger of 4.0 MB only, and no other")
    assert "set SEEP_DIR" in line
    assert figures["dropped"] > 0


def test_what_was_asked_for_is_enough():
    done, figures = run_under(small("/dev/shm"), "--ledger-max", "14M")
    assert said(done) == []
    assert_whole(done, figures)


def test_a_folder_of_others_is_left_for_the_next():
    strange = "mkdir -p -m 755 /dev/shm/seep-0; chown 1 /dev/shm/seep-0"
    done, _ = run_under(f"mount -t tmpfs none /dev/shm; {strange}")
    assert said(done)[0].startswith("seep run: /dev/shm/seep-0 belongs to user 1, so user 0 makes no ledgers there")
    assert "; ledgers are in /" in said(done)[0]


def alone(script):
    """Without a recorder, in a /dev/shm of its own; what it printed."""
    if os.geteuid() != 0:
        pytest.skip("mounts")
    done = subprocess.run(
        [*apart(), "sh", "-c", f"set -e; mount -t tmpfs none /dev/shm; {script}"], capture_output=True, text=True,
        env={k: v for k, v in os.environ.items() if k != "SEEP_DIR"}, check=False, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_a_program_looks_further_where_others_are_in_the_way():
    """And who that is, is said to whoever lists ledgers."""
    strange = "mkdir -p -m 755 {0}/seep-0; chown 1 {0}/seep-0"
    taken = f"mount -t tmpfs none /tmp; {strange.format('/dev/shm')}; {strange.format('/tmp')}"
    run = f"LD_PRELOAD={RUNTIME} {program('temporaries')} >/dev/null"
    done = alone(f"{taken}; mount -t tmpfs none /run; mount -t tmpfs none /var/tmp; {run}; "
                 f"ls /var/tmp/seep-0; mkdir -p /run/user/0; {run}; ls /run/user/0/seep-0; {SEEP} ps")
    assert len(re.findall(r"^temporaries\..*\.ledger$", done.stdout, re.M)) == 2
    for folder in "/dev/shm", "/tmp":
        assert f"{folder}/seep-0 belongs to user 1" in done.stderr


def test_what_unrecorded_forks_leave_is_bounded():
    """In a folder with many files children that are not small count in their parents."""
    fork = f"LD_PRELOAD={RUNTIME} TRUTH_FILE=/dev/shm/truth {program('fork_storm')} 40 >/dev/null"
    count = "ls /dev/shm/seep-0/fork_storm.*.ledger | wc -l"
    crowd = "cd /dev/shm/seep-0; seq 4000 | xargs touch; cd /"
    done = alone(f"{fork}; {count}; rm /dev/shm/seep-0/*; {crowd}; {fork}; {count}; {SEEP} ps")
    before, after = map(int, done.stdout.split()[:2])
    assert before - after > 25, done.stdout
    assert "/dev/shm/seep-0 is full of ledgers" in done.stderr


def test_ps_finds_what_lies_elsewhere(disk):
    busy = f"{SEEP} run -q -o {disk}/ps.seep -- sh -c '{SEEP} ps --json; true'"
    done, _ = run_under(small("/dev/shm"), after=busy)
    listed = json.loads(done.stdout[done.stdout.index("\n{") :])["processes"]
    assert any(p["ledger"].startswith("/var/tmp/seep-0/") for p in listed)


def test_a_umask_that_takes_everything_leaves_the_folder_usable():
    again = f"stat -c 'mode %a' /dev/shm/seep-0; {SEEP} run -q -f -o /dev/shm/x.seep true"
    done, figures = run_under("mount -t tmpfs none /dev/shm; umask 0777", after=again)
    assert said(done) == []
    assert "mode 700" in done.stdout
    assert_whole(done, figures)


def test_a_folder_that_is_not_there_is_refused_and_not_made(seep):
    missing = seep.directory / "missing"
    done = subprocess.run(
        [SEEP, "run", "true"], env={**os.environ, "SEEP_DIR": str(missing)}, capture_output=True,
        cwd=seep.directory, check=False,
    )  # fmt: skip
    assert done.returncode == 125
    assert done.stderr.decode() == f"seep run: SEEP_DIR: {missing}: no such folder\n"
    assert not missing.exists()
