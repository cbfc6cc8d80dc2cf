# SPDX-License-Identifier: MIT
"""Where ledgers are made, and what it costs there."""

import os
import subprocess
import tempfile

import pytest

from harness import LIMIT_S, RUNTIME, need, program

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
    (ledger,) = [e.path for e in os.scandir(disk) if f".{run.pid}." in e.name]
    taken = os.stat(ledger).st_blocks * 512
    out = subprocess.check_output([fincore, "-b", "-n", "-r", "-o", "RES", ledger])
    run.communicate(timeout=LIMIT_S)
    assert 0 < int(out) <= taken + 65536
