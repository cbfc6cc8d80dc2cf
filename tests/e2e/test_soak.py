# SPDX-License-Identifier: MIT
"""The soak, for some seconds: `make soak` runs the same for an hour."""

import os
import subprocess
import sys

import pytest

from harness import BUILD, LIMIT_S, SOURCE


def soak(seconds, options=""):
    return subprocess.run(
        [sys.executable, SOURCE / "tests/soak/soak.py", seconds, "--round=1", "--line=4"],
        env={**os.environ, "SEEP_BUILD": str(BUILD), "SEEP_OPTIONS": options},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def test_seconds_of_everything_at_once_leave_no_drift():
    done = soak("15")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout.endswith("no drift\n")


@pytest.mark.parametrize("options", ["size_max=3000", "mode=off"])
def test_what_is_not_recorded_would_be_noticed(options):
    done = soak("2", options)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the program says" in done.stdout
