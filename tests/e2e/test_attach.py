# SPDX-License-Identifier: MIT
"""`seep attach` and `seep detach`: a process that runs is recorded from then on, to the byte, and
goes on afterwards as if nothing had been."""

import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import time

import pytest

from attach_target import (
    SHARE,
    SHARE_LOADING,
    Tally,
    Target,
    attach,
    check_sums,
    detach,
    holdings,
    is_recorded,
    read_attempt,
    rounds,
    state_of,
    target,
    told_why,
)
from harness import (
    LIMIT_S,
    RUNTIME,
    SEEP,
    SOURCE,
    Result,
    check_truth,
    need,
    program,
    run_plain,
    site,
)
from running import wait_until

ROUNDS = 20
KILLS = 200 if "SEEP_KILLS" in os.environ else 10
SEED = int(os.environ.get("SEEP_SEED", "1"))

MODES = ["churn", "loader", "loader-alone", "stdio", "idle", "blocked", "many", "truth", "mapped", "late",
         "job"]
TARGETS = {
    **{mode: ["attach_targets", mode] for mode in MODES},
    "pointers": ["attach_pointers"],
    "exceptions": ["attach_cxx"],
    "forks": ["attach_ends", "fork"],
}
WITH_TRUTH = ["truth", "mapped", "late", "exceptions"]  # by calls alone


def begin(name, **how):
    file, *words = TARGETS[name]
    return target(program(file), *words, **how)


def start_attach(seep, pid, *options):
    return subprocess.Popen([SEEP, "attach", "--json", *options, str(pid)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env={**os.environ, **seep.environment()})


def finish_attach(process, pid):
    out, err = process.communicate(timeout=LIMIT_S)
    return read_attempt(Result(process.returncode, out, err), pid)


def must_attach(seep, pid, *options):
    attempt = attach(seep, pid, *options)
    assert attempt.attached, attempt.reason
    return attempt


# ---- the targets themselves ------------------------------------------------------------------


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_finds_nothing_wrong_with_itself(name):
    with begin(name) as process:
        for line in ("begin", "round", "round"):
            process.ask(line)


@pytest.mark.parametrize("name", [*WITH_TRUTH, "pointers"])
def test_a_launched_target_is_counted_as_it_says(seep, name):
    with begin(name, env={**seep.environment(), "LD_PRELOAD": str(RUNTIME)}) as process:
        for _ in range(2):
            truth = process.truth()
            check_truth(seep.load(str(process.pid)), truth)


# ---- rounds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_is_as_it_was_after_twenty_rounds(seep, name):
    def look(number):
        check_sums(seep.load(str(process.pid)))
        if number % 5 == 0:
            process.ask("round")

    with begin(name) as process:
        tally = rounds(seep, process, ROUNDS, look if name not in ("churn", "many") else None)
        process.ask("round")
    # Those of children that it made meanwhile stay, as nobody records them.
    assert [ledger for ledger in seep.ledgers() if f".{process.pid}." in ledger] == []
    tally.name = name
    tally.check(SHARE_LOADING if name.startswith("loader") else SHARE)


@pytest.mark.parametrize("name", ["idle", "blocked", "truth"])
def test_rounds_leave_no_descriptor_and_no_mapping(seep, name):
    with begin(name) as process:
        before, _ = holdings(process.pid)
        found = []

        def look(_):
            found.append(holdings(process.pid)[0])

        rounds(seep, process, 2, look)
        files, mappings = holdings(process.pid)
        assert files == before
        rounds(seep, process, ROUNDS, look)
        assert holdings(process.pid) == (before, mappings)
        assert [files for files in found if files != before] == []


@pytest.mark.parametrize("name", WITH_TRUTH)
def test_what_is_allocated_since_the_attach_is_counted_to_the_byte(seep, name):
    tally = Tally(name)
    path = seep.directory / "saved.seep"
    with begin(name) as process:
        process.ask("round")
        for _ in range(ROUNDS):
            process.ask("begin")
            if not tally.add(attach(seep, process.pid, "--deadline", "1s")):
                continue
            for _ in range(2):
                truth = process.truth()
                report = seep.load(str(process.pid))
                check_sums(report)
                check_truth(report, truth)
            detach(seep, process.pid, "-o", path)
            saved = seep.load(path)
            check_sums(saved)
            check_truth(saved, truth)
            path.unlink()
            # Not recorded any more: another round must not trouble it.
            process.ask("round")
    tally.check()


def test_frees_of_what_was_there_before_are_no_finding(seep):
    with begin("truth") as process:
        for _ in range(3):
            process.ask("round")
        process.ask("begin")
        must_attach(seep, process.pid)
        notes = process.truth().notes
        report = seep.load(str(process.pid))
        assert notes["old_frees"] > 20 and notes["old_resizes"] > 20
        assert report["totals"]["untracked_frees"] >= notes["old_frees"]
        assert report["findings"] == []
        detach(seep, process.pid)


def test_threads_that_allocate_all_the_time_are_counted_from_all_sides(seep):
    """Between what was done while it was attached for certain, and what can have been."""
    path = seep.directory / "saved.seep"
    with begin("churn") as process:
        for _ in range(5):
            before = process.notes()
            must_attach(seep, process.pid)
            began = process.notes()
            time.sleep(0.05)
            ended = process.notes()
            detach(seep, process.pid, "-o", path)
            after = process.notes()
            report = seep.load(path)
            check_sums(report)
            found = site(report, "churn_work")
            slack = 8  # operations that are done and not yet noted, one a thread
            assert ended["allocs"] - began["allocs"] <= found["allocs"] + slack
            assert found["allocs"] <= after["allocs"] - before["allocs"] + slack
            assert found["live_blocks"] <= 8 * 64
            path.unlink()


# ---- what one does with it -------------------------------------------------------------------


@pytest.mark.fast
def test_an_attached_process_is_looked_at_as_one_that_was_launched(seep):
    with begin("truth") as process:
        process.ask("round")
        process.ask("begin")
        pid = str(process.pid)
        done = seep.command("attach", pid)
        assert (done.status, done.stderr) == (0, b"")
        line, *_ = done.stdout.decode().splitlines()
        assert line.startswith(f"attached to attach_targets (pid {pid})") and "stopped for" in line
        assert is_recorded(seep, process.pid)
        truth = process.truth()
        check_truth(seep.load(pid), truth)
        assert seep.command("mark", pid, "second").status == 0
        later = process.truth()
        kept = {k: v["live_blocks"] - truth.sites[k]["live_blocks"] for k, v in later.sites.items()}
        done = seep.command("diff", "--json", f"{pid}@second", "now")
        assert done.status == 0, done.stderr.decode()
        assert kept["at_lost"] == 5
        top = seep.command("top", "--once", "--json", pid)
        assert top.status == 0, top.stderr.decode()
        path = seep.directory / "saved.seep"
        assert seep.command("save", pid, "-q", "-o", path).status == 0
        check_truth(seep.load(path), later)
        done = seep.command("detach", pid)
        assert (done.status, done.stderr) == (0, b"")
        assert not is_recorded(seep, process.pid)


def test_what_an_attached_process_loses_is_found(seep):
    with begin("truth") as process:
        process.ask("round")
        process.ask("begin")
        must_attach(seep, process.pid)
        truth = process.truth()
        done = seep.command("leaks", "--json", str(process.pid))
        report = json.loads(done.stdout)
        contexts = {c["id"]: [report["frames"][at]["function"] for at in c["frames"]]
                    for c in report["contexts"]}
        lost = {}
        for leak in report["leaks"]:
            for name in truth.sites.keys() & set(contexts[leak["context"]]):
                lost[name] = lost.get(name, 0) + leak["blocks"]
        assert lost == {"at_lost": 5}
        detach(seep, process.pid)


@pytest.mark.parametrize("seconds", ["1s", "300ms"])
def test_attaching_for_a_while_leaves_a_recording(seep, seconds):
    path = seep.directory / "while.seep"
    with begin("truth") as process:
        process.ask("begin")
        running = start_attach(seep, process.pid, "--for", seconds, "-o", path)
        wait_until(lambda: is_recorded(seep, process.pid), "the ledger")
        attempt = finish_attach(running, process.pid)
        assert attempt.attached, attempt.reason
        assert not is_recorded(seep, process.pid)
        check_sums(seep.load(path))
        process.ask("round")
    assert seep.ledgers() == []


def test_attaching_until_it_is_stopped_leaves_a_recording(seep):
    path = seep.directory / "until.seep"
    with begin("truth") as process:
        process.ask("begin")
        running = start_attach(seep, process.pid, "--for", "1h", "-o", path)
        wait_until(lambda: is_recorded(seep, process.pid), "the ledger")
        truth = process.truth()
        running.send_signal(signal.SIGINT)
        finish_attach(running, process.pid)
        report = seep.load(path)
        check_truth(report, truth)
        assert not is_recorded(seep, process.pid)


def test_the_end_of_an_attached_process_is_recorded(seep):
    path = seep.directory / "end.seep"
    with begin("truth") as process:
        process.ask("begin")
        running = start_attach(seep, process.pid, "--for", "1h", "-o", path)
        wait_until(lambda: is_recorded(seep, process.pid), "the ledger")
        truth = process.truth()
        process.end()
        finish_attach(running, process.pid)
        report = seep.load(path)
        check_truth(report, truth)
        assert report["process"]["ended"] == "exit"


def test_a_child_of_an_attached_process_goes_on(seep):
    with begin("forks") as process:
        for _ in range(5):
            must_attach(seep, process.pid)
            time.sleep(0.05)
            detach(seep, process.pid)


# ---- how the address of malloc is kept ---------------------------------------------------------

LINKS = {
    "now": "-Wl,-z,now",
    "lazy": "-Wl,-z,lazy",
    "noplt": "-fno-plt -Wl,-z,now",
    "noplt-lazy": "-fno-plt -Wl,-z,lazy",
    "nopie": "-fno-pie -no-pie -Wl,-z,lazy",
    "nopie-now": "-fno-pie -no-pie -Wl,-z,now",
    "norelro": "-Wl,-z,lazy,-z,norelro",
    "separate-code": "-Wl,-z,now,-z,noseparate-code",
    "gold": "-fuse-ld=gold -Wl,-z,now",
    "gold-lazy": "-fuse-ld=gold -Wl,-z,lazy",
    "lld": "-fuse-ld=lld -Wl,-z,now",
    "lld-lazy": "-fuse-ld=lld -Wl,-z,lazy",
    "mold": "-fuse-ld=mold",
    "ibt": "-fcf-protection -Wl,-z,now",
    "O2": "-O2",
}


@pytest.mark.parametrize("link", LINKS)
def test_calls_are_counted_however_they_were_linked(seep, link):
    """Calls, and addresses that the loader wrote. What was copied before the attach goes on by
    itself: these allocations are not known, and take nothing from the others."""
    words = LINKS[link].split()
    for word in words:
        if word.startswith("-fuse-ld="):
            need(f"ld.{word.removeprefix('-fuse-ld=')}" if "mold" not in word else "mold")
    source = SOURCE / "tests" / "programs"
    built = seep.directory / "attach_pointers"
    done = run_plain([need("gcc"), "-O1", "-g", "-w", "-D_GNU_SOURCE", f"-I{source}", *words,
                      source / "attach_pointers.c", "-o", built, "-ldl"])
    assert done.status == 0, done.stderr.decode()
    with target(built) as process:
        for _ in range(2):
            process.ask("begin")
            must_attach(seep, process.pid)
            for _ in range(3):
                truth = process.truth()
                report = seep.load(str(process.pid))
                check_sums(report)
                assert report["findings"] == []
                found = {name: site(report, name)["allocs"] for name in truth.sites}
                print(link, {name: count for name, count in sorted(found.items()) if count})
                for name, allocs in found.items():
                    expected = truth.sites[name]["allocs"]
                    assert allocs == expected or name not in ("by_call", "by_ifunc") and not allocs
            detach(seep, process.pid)
            process.ask("round")


# ---- one after another, and at once ------------------------------------------------------------


@pytest.mark.fast
def test_who_is_attached_to_is_not_attached_to_again(seep):
    with begin("idle") as process:
        must_attach(seep, process.pid)
        again = attach(seep, process.pid)
        assert "already" in told_why(again)
        check_sums(seep.load(str(process.pid)))
        detach(seep, process.pid)
        twice = seep.command("detach", str(process.pid))
        assert twice.status != 0 and twice.stderr.startswith(b"seep detach: ")
        must_attach(seep, process.pid)
        detach(seep, process.pid)


def test_what_was_launched_with_seep_is_not_attached_to(seep):
    with begin("idle", env={**seep.environment(), "LD_PRELOAD": str(RUNTIME)}) as process:
        told_why(attach(seep, process.pid))
        done = seep.command("detach", str(process.pid))
        assert done.status != 0 and done.stderr.startswith(b"seep detach: ")
        check_sums(seep.load(str(process.pid)))


@pytest.mark.parametrize("name", ["idle", "churn", "truth"])
def test_of_two_that_attach_at_once_one_does(seep, name):
    with begin(name) as process:
        for _ in range(10):
            both = [start_attach(seep, process.pid) for _ in range(2)]
            attempts = [finish_attach(one, process.pid) for one in both]
            assert sum(a.attached for a in attempts) == 1, attempts
            (other,) = [a for a in attempts if not a.attached]
            told_why(other)
            assert is_recorded(seep, process.pid)
            detach(seep, process.pid)
            process.ask("round")


def test_of_an_attach_and_a_detach_at_once_each_is_whole(seep):
    with begin("truth") as process:
        for _ in range(10):
            must_attach(seep, process.pid)
            leaving = subprocess.Popen([SEEP, "detach", str(process.pid)], stderr=subprocess.PIPE,
                                       stdout=subprocess.PIPE, env={**os.environ, **seep.environment()})
            coming = finish_attach(start_attach(seep, process.pid), process.pid)
            _, said = leaving.communicate(timeout=LIMIT_S)
            process.ask("round")
            left = leaving.returncode == 0
            assert left or said.startswith(b"seep detach: "), said.decode()
            assert is_recorded(seep, process.pid) == (coming.attached or not left)
            seep.command("detach", str(process.pid))


# ---- a target in the middle of something -------------------------------------------------------


def test_a_stopped_target_stays_stopped(seep):
    with begin("truth") as process:
        process.ask("begin")
        os.kill(process.pid, signal.SIGSTOP)
        wait_until(lambda: state_of(process.pid) == "T", "the stop")
        attempt = attach(seep, process.pid)
        print(attempt)
        wait_until(lambda: state_of(process.pid) == "T", "it to be stopped still")
        os.kill(process.pid, signal.SIGCONT)
        if attempt.attached:
            check_truth(seep.load(str(process.pid)), process.truth())
            detach(seep, process.pid)
        else:
            told_why(attempt)
            process.ask("round")


def test_signals_that_come_meanwhile_are_not_lost(seep):
    """SIGTERM at any moment of an attach ends the target as ever."""
    chance = random.Random(SEED)
    for _ in range(10):
        with begin("truth") as process:
            running = start_attach(seep, process.pid)
            time.sleep(chance.uniform(0, 0.03))
            os.kill(process.pid, signal.SIGTERM)
            process.process.wait(timeout=LIMIT_S)
            running.communicate(timeout=LIMIT_S)


def test_a_target_that_executes_itself_is_attached_to_or_not(seep):
    tally = Tally("execs")
    with target(program("attach_ends"), "exec") as process:
        # On a busy machine it is another program by the time that it is to be attached to.
        while len(tally.attempts) < ROUNDS or not (tally.in_time() or len(tally.attempts) == 20 * ROUNDS):
            if tally.add(attach(seep, process.pid)):
                # Its next image is another program, which is not recorded.
                seep.command("detach", str(process.pid))
            else:
                told_why(tally.attempts[-1])
    print(tally.text())
    assert sum(a.attached for a in tally.attempts) > 0


DEATHS = {"exit": 7, "_exit": 8, "kill": -9, "abort": -6, "exec": 9, "fork": 10}


@pytest.mark.parametrize("way", DEATHS)
def test_a_target_that_ends_meanwhile_ends_as_ever(seep, way):
    chance = random.Random(f"{SEED}{way}")
    outcomes = Tally(way)
    for _ in range(ROUNDS):
        us = chance.randrange(30000)
        with contextlib.closing(Target(program("attach_ends"), "die", way, str(us))) as process:
            running = start_attach(seep, process.pid)
            time.sleep(chance.uniform(0, 0.01))
            process.send("go")
            out, err = running.communicate(timeout=LIMIT_S)
            assert running.returncode in (0, 2), err.decode()
            outcomes.add(read_attempt(Result(running.returncode, out, err), process.pid))
            status, said, _ = process.finish()
            assert status == DEATHS[way]
            assert {"exec": "executed\n", "fork": "the child went on\n"}.get(way, "") == said
    print(outcomes.text())


# ---- who attaches is killed --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["truth", "churn", "many", "exceptions"])
def test_a_target_outlives_who_is_killed_while_attaching(seep, name):
    chance = random.Random(f"{SEED}{name}")
    with begin(name) as process:
        walls = []
        for _ in range(5):
            walls.append(must_attach(seep, process.pid).wall_s)
            detach(seep, process.pid)
        wall_s = statistics.median(walls)
        outcomes = Tally(f"{name}, killed within {1000 * wall_s:.0f} ms")
        for _ in range(KILLS):
            running = start_attach(seep, process.pid)
            time.sleep(chance.uniform(0, 1.1 * wall_s))
            running.kill()
            running.communicate()
            process.ask("round")
            assert state_of(process.pid) in "RSD"
            attempt = attach(seep, process.pid)
            outcomes.add(attempt)
            if attempt.attached:
                check_sums(seep.load(str(process.pid)))
            else:
                told_why(attempt)
            process.ask("round")
            seep.command("detach", str(process.pid))
        print(outcomes.text())
        # Whatever the kills left: in the end it is attached to again.
        must_attach(seep, process.pid)
        detach(seep, process.pid)


def test_what_who_is_killed_leaves_is_taken_away_by_the_next(seep):
    chance = random.Random(SEED)
    with begin("idle") as process:
        wall_s = must_attach(seep, process.pid).wall_s
        detach(seep, process.pid)
        before = holdings(process.pid)
        for _ in range(KILLS):
            running = start_attach(seep, process.pid)
            time.sleep(chance.uniform(0, 1.1 * wall_s))
            running.kill()
            running.communicate()
            seep.command("detach", str(process.pid))
        must_attach(seep, process.pid)
        detach(seep, process.pid)
        files, mappings = holdings(process.pid)
        # The kernel may have joined two that came to lie side by side.
        assert files == before[0] and mappings <= before[1]


@pytest.mark.parametrize("name", ["truth", "churn"])
def test_a_target_outlives_who_is_killed_while_detaching(seep, name):
    chance = random.Random(f"{SEED}{name}")
    with begin(name) as process:
        for _ in range(KILLS):
            attempt = attach(seep, process.pid)
            if not attempt.attached:
                # The detach that was killed had not come so far.
                assert "already" in told_why(attempt)
            leaving = subprocess.Popen([SEEP, "detach", str(process.pid)], stderr=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL,
                                       env={**os.environ, **seep.environment()})
            time.sleep(chance.uniform(0, 0.03))
            leaving.kill()
            leaving.wait()
            process.ask("round")
        seep.command("detach", str(process.pid))
        must_attach(seep, process.pid)
        detach(seep, process.pid)
