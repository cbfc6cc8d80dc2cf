# SPDX-License-Identifier: MIT
"""A process that has been running when it loads the library is not recorded."""

import os
import subprocess

import pytest

from harness import RUNTIME, program

pytestmark = pytest.mark.fast


def test_a_library_that_is_only_loaded_records_nothing(seep):
    env = {**os.environ, "SEEP_DIR": str(seep.ledger_dir), "SEEP_OPTIONS": "no=such:option"}
    command = [program("late_start"), RUNTIME]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert seep.ledgers() == []
