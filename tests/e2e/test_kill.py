# SPDX-License-Identifier: MIT
"""SIGKILL at random moments: what the ledgers hold is the truth but for one operation per thread.

busy_truth keeps its own counts in a shared file (the layout is in its source). It runs with the
runtime alone, is killed with all its children, and every ledger left behind is compared with the
counts, site by site. SEEP_KILLS sets the number of kills (20; `make soak` takes 200).
"""

import itertools
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import pytest

from harness import BUILD, RUNTIME, SEEP, read_report

PROGRAM = BUILD / "programs" / "busy_truth"

KILLS = int(os.environ.get("SEEP_KILLS", "20"))
MAGIC = 0x3168747572747962
PENDING_BYTES = 72
FIELDS = ("allocs", "alloc_bytes", "frees", "freed_bytes")
SITES, THREADS, PROCESSES = 8, 6, 32
GROW, FORK = 2, 3


class Thread:
    """One thread's counts; `doubt` maps a site to what its operation in progress would add."""

    def __init__(self, data, at, sites):
        sequence, self.phase, pending = struct.unpack_from("<3Q", data, at)
        self.sites = [
            list(struct.unpack_from("<4Q", data, at + 24 + 2 * PENDING_BYTES + 32 * s))
            for s in range(sites + 1)
        ]
        self.doubt = {}
        if sequence % 2 == 0:
            return
        for i in range(pending):
            site, *words = struct.unpack_from("<9Q", data, at + 24 + PENDING_BYTES * i)
            before, after = words[:4], words[4:]
            # The counts may be half changed; the plan says what they were.
            self.sites[site] = before
            self.doubt[site] = [a - b for a, b in zip(after, before)]


class Process:
    def __init__(self, data, at, sites, threads):
        self.pid, self.parent, self.ended, _ = struct.unpack_from("<4Q", data, at)
        size = 24 + 2 * PENDING_BYTES + 32 * (sites + 1)
        self.threads = [Thread(data, at + 32 + size * i, sites) for i in range(threads)]

    def site(self, n):
        return [sum(t.sites[n][f] for t in self.threads) for f in range(4)]

    def doubts(self, n):
        return [t.doubt[n] for t in self.threads if n in t.doubt]

    def operations(self):
        return sum(sum(s[0] + s[2] for s in t.sites) for t in self.threads)

    def phases(self):
        return {t.phase for t in self.threads}


def read_truth(data):
    """The processes in the shared file; none when it was killed before the file was made."""
    if len(data) < 64 or struct.unpack_from("<Q", data)[0] != MAGIC:
        return []
    sites, threads, processes, used = struct.unpack_from("<4Q", data, 8)
    size = 32 + threads * (24 + 2 * PENDING_BYTES + 32 * (sites + 1))
    found = [Process(data, 64 + size * i, sites, threads) for i in range(min(used, processes))]
    return [p for p in found if p.pid]


def report(ledger):
    done = subprocess.run(
        [SEEP, "report", ledger, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    if done.returncode:
        return None, done.stderr.decode(errors="replace").strip()
    return read_report(done.stdout), ""


def counts_of(recording, is_one):
    """Counts of the contexts whose functions' names @is_one picks."""
    chosen = [c for c in recording["contexts"] if is_one({f["function"] for f in c["frames"]})]
    return [sum(c[field] for c in chosen) for field in FIELDS]


def sums_of_doubts(doubts, field):
    reached = {0}
    for doubt in doubts:
        reached |= {value + doubt[field] for value in reached}
    return reached


def whole(doubts, difference):
    """Some of the operations in doubt, each whole, explain the difference in all four counts."""
    for size in range(len(doubts) + 1):
        for chosen in itertools.combinations(doubts, size):
            if [sum(d[f] for d in chosen) for f in range(4)] == difference:
                return True
    return False


def differences(process, recording):
    """What no subset of the operations in progress explains, and how many sites hold half of one."""
    wrong, torn, early = [], 0, [0] * 4
    # Counted before the ledger was there: without a stack, and so at no site.
    if "early" in [line["code"] for line in recording["unseen"]]:
        early = counts_of(recording, lambda names: not names)
    for n in range(SITES):
        recorded = counts_of(recording, lambda names, name=f"site_{n}": name in names)
        truth, doubts = process.site(n), process.doubts(n)
        difference = [r - t for r, t in zip(recorded, truth)]
        for f, field in enumerate(FIELDS):
            missing = [s - difference[f] for s in sums_of_doubts(doubts, f) if s >= difference[f]]
            if not missing or min(missing) > early[f]:
                wrong.append(
                    f"pid {process.pid} site_{n} {field}: recorded {recorded[f]}, "
                    f"truth {truth[f]}, in progress {[d[f] for d in doubts]}, early {early[f]}"
                )
                continue
            early[f] -= min(missing)
            difference[f] += min(missing)
        torn += not whole(doubts, difference)
    return wrong, torn


def ledgers_by_pid(directory):
    found = {}
    for path in sorted(directory.rglob("*.ledger*")):
        match = re.fullmatch(r".+\.(\d+)\.(\d+)\.(\d+)\.ledger(?:\.new)?", path.name)
        assert match, f"a ledger of another name: {path.name}"
        found[int(match.group(1))] = path
    return found


def start(directory, number, milliseconds=20000):
    environment = dict(os.environ, LD_PRELOAD=str(RUNTIME), SEEP_DIR=str(directory / "ledgers"))
    # Every other time a forked child has a ledger from its first allocation on.
    environment["SEEP_OPTIONS"] = "forks=1" if number % 2 else ""
    (directory / "ledgers").mkdir(mode=0o700)
    return subprocess.Popen(
        [PROGRAM, directory / "truth", str(milliseconds), str(number)],
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def phase_offsets():
    """Where the low bytes of all threads' phases lie in the shared file."""
    thread = 24 + 2 * PENDING_BYTES + 32 * (SITES + 1)
    process = 32 + THREADS * thread
    return [
        64 + process * p + 32 + thread * t + 8 for p in range(PROCESSES) for t in range(THREADS)
    ]


def wait_for_phase(path, phase, draw):
    """Until a thread is in the phase for the drawn time, if this is seen in half of the run."""
    deadline = time.monotonic() + 10
    skip = draw.randrange(4)
    offsets = phase_offsets()
    while time.monotonic() < deadline:
        if not path.exists() or path.stat().st_size <= offsets[-1]:
            continue
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
            while time.monotonic() < deadline:
                if any(data[at] == phase for at in offsets):
                    if skip == 0:
                        return
                    skip -= 1
                    while any(data[at] == phase for at in offsets):
                        if time.monotonic() > deadline:
                            return


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def kill_at_random(directory, number, draw):
    """Run once and kill the whole session. Returns the processes as the shared file shows them."""
    running = start(directory, number)
    kind = number % 3
    try:
        if kind == 0:
            time.sleep(draw.random() ** 2 * 0.4)  # the random moment itself
        else:
            wait_for_phase(directory / "truth", GROW if kind == 1 else FORK, draw)
            spin(draw.random() * 0.00025)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        _, errors = running.communicate()
    assert running.returncode == -signal.SIGKILL, errors.decode()
    assert errors == b""
    truth = directory / "truth"
    return read_truth(truth.read_bytes()) if truth.exists() else []


def check_sums(young, processes, recordings):
    """Forked children without a ledger are in the sums of the others."""
    doubts = [d for p in processes for n in range(SITES) for d in p.doubts(n)]
    for f, field in enumerate(FIELDS):
        truth = sum(p.site(n)[f] for p in young for n in range(SITES))
        summed = sum(r["forked"][field] for r in recordings)
        assert summed - truth in sums_of_doubts(doubts, f), f"{field}: {summed}, truth {truth}"


def check_ledgers(processes, ledgers):
    """Compare every ledger; returns (ledgers compared, ledgers torn, ledgers that did not open)."""
    compared = torn = unopened = 0
    young, recordings = [], []
    for process in processes:
        path = ledgers.get(process.pid)
        if path is None:
            started = process.parent == os.getpid()
            assert not started or process.operations() == 0, f"no ledger of pid {process.pid}"
            young.append(process)
            continue
        recording, error = report(path)
        if recording is None:
            # Killed while the ledger was made, before the program did anything.
            assert process.operations() == 0, error
            unopened += 1
            continue
        recordings.append(recording)
        wrong, halves = differences(process, recording)
        assert not wrong, "\n".join(wrong)
        assert recording["totals"]["in_doubt"] <= len(process.threads)
        # The ledger contradicts itself where an operation is counted in part, and so says it.
        assert recording["totals"]["in_doubt"] or not halves
        compared += 1
        torn += halves > 0
    assert all(r["totals"]["unrecorded_children"] == 0 for r in recordings)
    if recordings:
        check_sums(young, processes, recordings)
    return compared, torn, unopened


@pytest.fixture
def directory():
    path = pathlib.Path(tempfile.mkdtemp(prefix="seep-kill-", dir="/dev/shm"))
    path.chmod(0o700)
    yield path
    shutil.rmtree(path)


def test_a_clean_end_leaves_the_exact_truth(directory):
    running = start(directory, 1, milliseconds=1000)
    out, errors = running.communicate()
    assert running.returncode == 0, errors.decode()
    assert out.count(b"truth site_") == SITES
    processes = read_truth((directory / "truth").read_bytes())
    ledgers = ledgers_by_pid(directory / "ledgers")
    assert any(p.parent == running.pid for p in processes), "nothing forked"
    for process in processes:
        assert process.ended == 1 and not any(t.doubt for t in process.threads)
        recording, error = report(ledgers[process.pid])
        assert recording is not None, error
        wrong, _ = differences(process, recording)
        assert not wrong, "\n".join(wrong)
        inherited = process.site(SITES)[2]
        assert recording["totals"]["inherited_frees"] >= inherited
        assert recording["totals"]["in_doubt"] == 0


def test_a_child_whose_first_allocation_is_another_threads(directory):
    (directory / "ledgers").mkdir(mode=0o700)
    done = subprocess.run(
        [BUILD / "programs" / "fork_thread_first"],
        env=dict(os.environ, LD_PRELOAD=str(RUNTIME), SEEP_DIR=str(directory / "ledgers")),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    child = int(re.search(r"child (\d+)", done.stdout).group(1))
    recording, error = report(ledgers_by_pid(directory / "ledgers")[child])
    assert recording is not None, error
    # Each with its own state: sharing one, they would corrupt each other's counts.
    assert recording["totals"]["threads"] == 2
    for site, allocs, size in re.findall(r"truth (\w+) allocs=(\d+) bytes=(\d+)", done.stdout):
        found = [c for c in recording["contexts"] if site in [f["function"] for f in c["frames"]]]
        assert sum(c["allocs"] for c in found) == sum(c["frees"] for c in found) == int(allocs)
        assert sum(c["alloc_bytes"] for c in found) == int(size)


def test_a_dead_ledger_is_the_truth_but_for_one_operation_per_thread(directory):
    draw = random.Random(int(os.environ.get("SEEP_SEED", "1")))
    compared = torn = unopened = growing = forking = 0
    for number in range(KILLS):
        place = directory / str(number)
        place.mkdir()
        processes = kill_at_random(place, number, draw)
        phases = set().union(*(p.phases() for p in processes if not p.ended))
        growing += GROW in phases
        forking += FORK in phases
        counts = check_ledgers(processes, ledgers_by_pid(place / "ledgers"))
        compared += counts[0]
        torn += counts[1]
        unopened += counts[2]
        shutil.rmtree(place)
    print(
        f"{KILLS} kills: {growing} in ledger growth, {forking} in fork, {compared} ledgers equal "
        f"the truth ({torn} hold half an operation), {unopened} were never opened"
    )
    assert compared >= KILLS // 2
    assert growing + forking >= KILLS // 10
