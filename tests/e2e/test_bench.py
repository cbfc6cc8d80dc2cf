# SPDX-License-Identifier: MIT
"""`make bench` works: its script measures, says what it measured, and believes nobody who was not
there. One tiny round; the figures themselves are not looked at."""

import json
import os
import re
import subprocess
import sys

import harness
import pytest

SCRIPT = harness.SOURCE / "bench" / "run.py"


def bench(folder, *words, build=harness.BUILD, cwd=None, status=0, **environment):
    done = subprocess.run(
        [sys.executable, SCRIPT, build, "--quick", "--rounds=1", "--no-install",
         f"--out={folder}", f"--markdown={folder}/RESULTS.md", *words],
        capture_output=True, text=True, check=False, timeout=harness.LIMIT_S, cwd=cwd,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return done


def fake_heaptrack(folder, lines):
    """A heaptrack whose arguments are -r -o FILE PROGRAM ..."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "heaptrack").write_text(f"#!/bin/sh\n{lines}\n")
    (tools / "heaptrack").chmod(0o755)
    return f"{tools}:{os.environ['PATH']}"


def test_a_page_of_results_is_written(tmp_path):
    done = bench(tmp_path, "--rows=list1,latency,blocks", "--peers=none")
    page = (tmp_path / "RESULTS.md").read_text()
    assert page == done.stdout
    assert re.search(r"^\| std::list, .* ms \| \d+\.\d\d \(.*\) \| \d", page, re.M)
    assert re.search(r"^\| seep \| \d+ \| \d+ \| [\d,]+ \| [\d,]+ \|$", page, re.M)
    result = json.loads((tmp_path / "result.json").read_text())
    own = result["rows"]["blocks"]["summary"]["seep"]["median"]["own_share"]
    assert 0.1 < own < 1


def test_another_build_is_measured_in_turns(tmp_path):
    done = bench(tmp_path, "--rows=list1,blocks", "--peers=none", f"--before={harness.BUILD}")
    assert re.search(r"^\| std::list, .* \| \d+\.\d\d .* \| \d+\.\d\d", done.stdout, re.M)
    result = json.loads((tmp_path / "result.json").read_text())
    for row in result["rows"].values():
        assert row["summary"]["seep before"]["rounds"] == row["summary"]["seep"]["rounds"] == 1


def test_the_programs_of_rows_do_their_work(tmp_path):
    rows = ["warm35", "factor", "cover", "larson", "larson_sized", "service", "pass"]
    done = bench(tmp_path, f"--rows={','.join(rows)}", "--peers=none")
    assert re.search(r"^\| factoring .* \| CPU ≤ 1\.80 \| CPU ≤ 1\.50 \|$", done.stdout, re.M)
    result = json.loads((tmp_path / "result.json").read_text())
    for name in rows:
        assert len(result["rows"][name]["summary"]["seep"]["cpu_ratio"]) == 3


def test_any_command_can_be_a_row(tmp_path):
    done = bench(tmp_path, "--peers=none", f"--command=python={sys.executable} -c 'print(1)'",
                 "--command=rate=sh -c 'echo 7 in all; echo 1,250.5 each'",
                 r"--command-figure=rate=^([\d.,]+) ", f"--before={harness.BUILD}")  # fmt: skip
    assert re.search(r"^\| `python` \| [\d.]+ ms \| \d", done.stdout, re.M)
    assert re.search(r"^\| `rate`, the rate it prints \| 1,25[01] \| 1\.00 ", done.stdout, re.M)
    result = json.loads((tmp_path / "result.json").read_text())
    assert list(result["rows"]) == ["python", "rate"]
    for row in result["rows"].values():
        assert row["summary"]["seep before"]["rounds"] == 1


def test_a_command_runs_where_the_script_was_started(tmp_path):
    (tmp_path / "work").write_text("#!/bin/sh\npwd\n")
    (tmp_path / "work").chmod(0o755)
    bench(tmp_path, "--peers=none", "--command=here=./work", cwd=tmp_path)


def test_a_command_without_its_figure_has_failed(tmp_path):
    done = bench(tmp_path, "--peers=none", "--command=rate=echo none",
                 r"--command-figure=rate=(\d+)/s", status=1)  # fmt: skip
    assert r"rate, plain: no number in its output by '(\d+)/s'" in done.stderr


@pytest.mark.parametrize(("words", "why"), [
    (["--command=list1=true"], "'list1' cannot be the name of a command"),
    (["--command=true"], "'true' has no '='"),
    (["--command=x=no-such-program"], "x: no program 'no-such-program'"),
    (["--command=x=sh -c 'true"], "x: No closing quotation"),
    (["--command=x=true", "--command-figure=x=.*"], "x: '.*' has 0 groups, not one"),
    (["--command-figure=x=(.*)"], "no --command is named 'x'"),
    (["--rows=lisp1"], "no row 'lisp1'; known: list1"),
])  # fmt: skip
def test_a_row_or_command_that_cannot_be_is_refused(tmp_path, words, why):
    done = bench(tmp_path, *words, status=1)
    assert why in done.stderr


def test_a_peer_that_left_nothing_behind_has_no_figure(tmp_path):
    path = fake_heaptrack(tmp_path, 'shift 3; exec "$@"')
    bench(tmp_path, "--rows=list1", "--peers=heaptrack", PATH=path)
    page = (tmp_path / "RESULTS.md").read_text()
    assert re.search(r"^\| std::list, .* \| \[1\] \|$", page, re.M)
    assert "1. heaptrack, list1: it left nothing behind: nothing was recorded." in page


def test_a_peer_that_fails_says_how(tmp_path):
    path = fake_heaptrack(tmp_path, "echo no room >&2; exit 3")
    bench(tmp_path, "--rows=list1", "--peers=heaptrack", PATH=path)
    assert "1. heaptrack, list1: status 3: no room." in (tmp_path / "RESULTS.md").read_text()


def test_a_run_that_was_not_recorded_is_an_error(tmp_path):
    build = tmp_path / "build"
    build.mkdir()
    (build / "libseep.so").symlink_to("/lib/x86_64-linux-gnu/libm.so.6")
    done = bench(tmp_path, "--rows=list1", "--peers=none", build=build, status=1)
    assert "list1, seep: it left nothing behind" in done.stderr
