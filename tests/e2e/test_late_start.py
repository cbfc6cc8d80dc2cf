# SPDX-License-Identifier: MIT
"""Recording starts in a process that has been running, for whoever hands functions and options to
the library, and not before."""

import os
import subprocess

import pytest

from harness import RUNTIME, check_totals, check_truth, parse_truth, program, read_report, site

pytestmark = pytest.mark.fast


def address_of(symbol):
    """A hidden function's offset in the library, in hexadecimal, as its symbol table has it."""
    table = subprocess.run(["nm", RUNTIME], capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in table.splitlines() if line.split()[-1] == symbol]
    return line.split()[0]


def start_late(seep, offset, options=""):
    env = {**os.environ, "SEEP_DIR": "/nonexistent", "SEEP_OPTIONS": "no=such:option"}
    command = [program("late_start"), RUNTIME, offset, seep.ledger_dir, options]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def report_of(seep):
    (ledger,) = seep.ledgers()
    return read_report(seep.command("report", seep.ledger_dir / ledger, "--json").stdout)


def test_what_the_hooks_are_called_for_is_counted(seep):
    done = start_late(seep, address_of("rt_start_with"))
    assert (done.returncode, done.stderr) == (0, "")
    report, truth = report_of(seep), parse_truth(done.stdout)
    check_truth(report, truth)
    check_totals(report)
    assert truth.notes["passed_on"] == 1, "the function that was handed over is the one called"
    assert report["totals"]["allocs"] == sum(s["allocs"] for s in truth.sites.values())
    assert report["totals"]["untracked_frees"] == 1, "of the block from before the start"
    assert report["process"]["argv"][3] == str(seep.ledger_dir)


def test_options_are_the_ones_handed_over(seep):
    done = start_late(seep, address_of("rt_start_with"), "size_min=500")
    assert (done.returncode, done.stderr) == (0, "")
    report = report_of(seep)
    assert site(report, "by_malloc")["allocs"] == 50
    assert report["process"]["options"] == "size_min=500"


def test_a_library_that_is_only_loaded_records_nothing(seep):
    done = start_late(seep, "0")
    assert (done.returncode, done.stderr) == (0, "")
    assert seep.ledgers() == []
