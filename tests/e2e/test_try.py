# SPDX-License-Identifier: MIT
"""./try where there is next to nothing in the environment."""
import os
import subprocess

import pytest

from harness import BUILD, LIMIT_S, SOURCE


@pytest.mark.skipif(BUILD != SOURCE / "build", reason="./try builds into build/, which is not tested")
@pytest.mark.parametrize("environment", [{}, {"PATH": ""}, {"PATH": "/nowhere"}])
@pytest.mark.parametrize("words", [["./try"], ["sh", "try"]])
def test_it_needs_no_path(environment, words, tmp_path):
    words = [*words, "/bin/echo", "hello"]
    if words[0] == "sh":
        words[0] = "/bin/sh"
    done = subprocess.run(words, cwd=SOURCE, env=environment, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("hello\n")
    assert "pid" in done.stdout and os.path.exists(BUILD / "try.seep")
