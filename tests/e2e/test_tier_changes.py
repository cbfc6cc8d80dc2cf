# SPDX-License-Identifier: MIT
"""A tier that is changed while the program runs: what was exact stays so, and nothing is counted twice."""

import os
import signal
import statistics

import pytest

from attach_target import Target
from harness import SEEP, check_truth, parse_truth, program, site

WORK = ("take", "resize", "threads", "fork")
NAMES = ("take_small", "take_large", "resize_one")

# Tiers one after the other; the first is what the program is started with.
CHANGES = (
    ("exact",),
    ("counts",),
    ("sampled",),
    ("exact", "counts", "exact"),
    ("counts", "exact", "counts"),
    ("exact", "sampled", "exact"),
    ("sampled", "exact", "sampled"),
    ("counts", "sampled", "counts"),
    ("sampled", "counts", "exact", "sampled"),
)


class Run:
    """A recorded program; the size filter that some are given takes everything, by the longer way."""

    def __init__(self, seep, tier, rate, options=()):
        self.seep = seep
        self.path = seep.directory / "run.seep"
        words = [SEEP, "run", "-q", "-f", "-o", self.path, f"--tier={tier}", *options]
        if tier != "exact":
            words.append(f"--sample-rate={rate}")
        env = {"SEEP_DIR": str(seep.ledger_dir)}
        if tier == "exact":
            env["SEEP_OPTIONS"] = f"sample_rate={rate}"
        self.target = Target(program("tier_steps"), words=[*words, "--"], env=env)

    def set_tier(self, tier):
        done = self.seep.command("mode", str(self.target.pid), tier)
        assert done.status == 0, done.stderr

    def end(self):
        out = self.target.end()
        truth = parse_truth("\n".join(x for x in out.splitlines() if x.startswith("truth ")))
        return self.seep.load(self.path), truth


# Beside what the program does, libc takes a block for each stack of a thread that it keeps.
THREADS, STACK_MAX_BYTES = 4, 1024


def counted(report, key):
    """All that was ever done, whatever of it was taken."""
    totals = report["totals"]
    exact = totals[f"counted_{key}"]
    return totals[key] if exact is None else exact


def check_totals(report, truth):
    said = {k: sum(f[k] for f in truth.sites.values()) for k in ("allocs", "bytes", "frees")}
    assert counted(report, "allocs") == said["allocs"] + THREADS
    assert counted(report, "frees") == said["frees"]
    assert 0 < counted(report, "alloc_bytes") - said["bytes"] <= THREADS * STACK_MAX_BYTES


@pytest.mark.parametrize("tiers", CHANGES, ids="-".join)
@pytest.mark.parametrize("rate", ("4K", "512K"))
def test_what_is_counted_is_what_was_done(seep, tiers, rate):
    run = Run(seep, tiers[0], rate)
    try:
        for number, tier in enumerate(tiers):
            if number:
                run.set_tier(tier)
            for word in WORK:
                run.target.ask(word)
        run.target.ask("give")
        report, truth = run.end()
    finally:
        run.target.close()
    check_totals(report, truth)
    # What was taken stands for as much at its free as it did before.
    for name in NAMES:
        have = site(report, name)
        assert have["allocs"] - have["frees"] == 0, (name, have)
        assert have["bytes"] == have["freed_bytes"], (name, have)
    if "sampled" not in tiers:
        check_truth(report, truth, ignore=("peak_bytes", "temporary"))


@pytest.mark.parametrize("tier", ("counts", "sampled"))
@pytest.mark.parametrize("options", (("--size-min=0", "--size-max=1G"), ("--guarded-sample=50",),
                                     ("--by-thread",), ("--fill",)), ids=lambda o: o[0])
def test_tiers_go_with_other_options(seep, tier, options):
    run = Run(seep, tier, "64K", options)
    try:
        for word in (*WORK, *WORK, "give"):
            run.target.ask(word)
        report, truth = run.end()
    finally:
        run.target.close()
    check_totals(report, truth)
    assert not report["findings"], report["findings"]


@pytest.mark.parametrize("tier", ("counts", "sampled"))
def test_a_killed_program_leaves_what_it_had_done(seep, tier):
    run = Run(seep, tier, "64K")
    for word in ("take", "resize", "threads"):
        run.target.ask(word)
    os.kill(run.target.pid, signal.SIGKILL)
    run.target.finish()
    report = seep.load(run.path)
    taken, threads = 20000, THREADS * 100 * 64
    assert counted(report, "allocs") == 2 * taken + threads + THREADS
    assert counted(report, "frees") == taken + threads


@pytest.mark.parametrize("tier", ("counts", "sampled"))
def test_a_process_is_attached_to_in_a_tier(seep, tier):
    """Twice: the second ledger knows nothing of what the first had taken."""
    env = {"SEEP_DIR": str(seep.ledger_dir)}
    target = Target(program("tier_steps"), env=env)
    pid = str(target.pid)
    try:
        for number in range(2):
            target.ask("take")
            done = seep.command("attach", pid, f"--tier={tier}", "--sample-rate=16K")
            assert done.status == 0, done.stderr
            for word in ("take", "resize", "give"):
                target.ask(word)
            path = seep.directory / f"{number}.seep"
            done = seep.command("detach", pid, "-o", path)
            assert done.status == 0, done.stderr
            report = seep.load(path)
            # The blocks from before are resized, and so are new ones.
            assert counted(report, "allocs") == 20000 + 2 * 20000
            for name in NAMES:
                have = site(report, name)
                assert have["allocs"] == have["frees"] > 0, (name, have)
                assert have["bytes"] == have["freed_bytes"] > 0, (name, have)
        target.end()
    finally:
        target.close()


@pytest.mark.parametrize("tier", ("counts", "sampled"))
def test_a_run_has_all_that_its_children_did(seep, tier):
    """Whether they exec, end small or are followed: as many allocations as in tier exact."""
    command = ["bash", "-c", "for i in 1 2 3 4 5; do x=$(echo $i | tr 1-9 a-i); done; echo $x"]
    exact, other = (
        seep.record(command, [f"--tier={name}"]).main() for name in ("exact", tier))
    for part in ("forked", "run"):
        for key in ("processes", "allocs"):
            assert exact[part][key] == other[part][key], (part, key)


# ---- peaks, and what is not recorded -----------------------------------------------------------

LARGE = "kept = bytearray(100 << 20); del kept; kept = bytearray(30 << 20); kept += bytes(200 << 20); del kept"
PEAK = 461 << 20  # while the last two are joined, and half as much at the least


def test_the_peak_has_a_large_block_that_came_and_went(seep):
    done, recordings = seep.run(["python3", "-c", LARGE], ["--tier", "sampled"])
    assert done.status == 0, done.stderr
    assert 430 << 20 <= recordings.main()["totals"]["peak_bytes"] <= PEAK + (8 << 20)


SHRINK = """
import os, subprocess, sys
kept = bytearray(100 << 20)
subprocess.run([sys.argv[1], "mode", str(os.getpid()), "sampled"], check=True, stdout=subprocess.DEVNULL)
del kept[int(sys.argv[2]):]
"""


@pytest.mark.parametrize("left", [16, 300_000])
def test_a_block_that_is_made_smaller_in_another_tier_was_at_the_peak(seep, left):
    done, recordings = seep.run(["python3", "-c", SHRINK, SEEP, str(left)], ["--no-leak-check"])
    assert done.status == 0, done.stderr
    assert recordings.main()["totals"]["peak_bytes"] >= 100 << 20


@pytest.mark.parametrize("options", ([], ["--guard"], ["--guarded-sample=1000"]), ids=str)
def test_the_peak_of_a_heap_that_stays_at_its_height_is_not_biased(seep, options):
    """The mean of ten runs is within 4 of its standard deviations; the highest of many estimates is not."""
    rate, found = 4 << 10, []
    for _ in range(10):
        done, recordings = seep.run(
            [program("peak_flat")],
            ["--tier", "sampled", "--sample-rate", str(rate), "--no-leak-check", *options],
        )
        found.append(recordings.load(recordings.path)["totals"]["peak_bytes"])
    peak = int(done.stdout)
    assert abs(statistics.mean(found) - peak) < 4 * (rate * peak / len(found)) ** 0.5, (peak, found)


@pytest.mark.parametrize("options", (["--size-min", "4K"], ["--mode", "off"]), ids=lambda o: o[0])
def test_frees_of_what_was_not_recorded_leave_the_peak_alone(seep, options):
    run = Run(seep, "sampled", "64K", options)
    try:
        for word in WORK:
            run.target.ask(word)
        if "off" in options:
            assert seep.command("mode", str(run.target.pid), "all").status == 0
        run.target.ask("give")
        for word in (*WORK, "give"):
            run.target.ask(word)
        report, _ = run.end()
    finally:
        run.target.close()
    totals = report["totals"]
    held = max(totals["live_bytes"], totals.get("estimate", {}).get("peak_bytes", 0))
    assert totals["alloc_bytes"] >= totals["peak_bytes"] > held, totals


def test_no_header_of_a_block_of_the_programs_own_is_read(seep):
    env = {"LD_PRELOAD": str(program("lib_hostile_memalign.so"))}
    script = "import ctypes; ctypes.CDLL(None).memalign(64, 100)"
    done, _ = seep.run(["python3", "-c", script], ["--tier", "sampled"], env=env)
    assert done.status == 0, done.stderr
