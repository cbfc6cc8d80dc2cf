# SPDX-License-Identifier: MIT
"""One run of one row under one variant, and the rounds in which variants take turns."""

import contextlib
import dataclasses
import functools
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from peers import PEERS, Peer, left, left_ledger, preloaded
from workloads import Failure, Input, sh

SHM = pathlib.Path("/dev/shm")
ORACLE = "llvm-symbolizer-19"
REDIS_KINDS = "set,get,lpush,sadd,hset"
BEFORE = "seep before"
TIERS = ("counts", "sampled")  # beside exact, which is "seep"
LEAST_ROUNDS = 3


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    base: str = "plain"  # what its ratios are to
    small: bool = False
    peer: Peer | None = None
    library: pathlib.Path | None = None  # seep's, of one build or another
    options: str = ""  # SEEP_OPTIONS, beside those of all

    @property
    def is_peer(self):
        return self.peer is not None

    @property
    def is_seep(self):
        return self.library is not None


def figures(text):
    return {name: float(value) for name, value in re.findall(r"\b(\w+)=([\d.]+)", text)}


def printed_figure(pattern, text):
    """What a user's pattern finds, the last time."""
    found = pattern.findall(text)
    try:
        return float(found[-1].replace(",", ""))
    except (IndexError, ValueError):
        raise Failure(f"no number in its output by '{pattern.pattern}'") from None


class Running:
    """A program with its output in a folder; given up, with all it started, after a while."""

    def __init__(self, command, environment, directory, wait_s, **options):
        self.directory = directory
        self.given_up = False
        self.begun_ns = time.perf_counter_ns()
        with open(directory / "stdout", "wb") as out, open(directory / "stderr", "wb") as err:
            self.process = subprocess.Popen(
                [str(c) for c in command], env=environment, stdout=out, stderr=err,
                start_new_session=True,
                **{"stdin": subprocess.DEVNULL, "cwd": directory, **options},
            )  # fmt: skip
        # A wait with a limit polls, which would be seen in short times.
        self.timer = threading.Timer(wait_s, self.give_up)
        self.wait_s = wait_s
        self.timer.start()

    def give_up(self):
        self.given_up = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def wait(self):
        """Until it has ended: when that was, and the CPU time of it and its children."""
        try:
            _, status, usage = os.wait4(self.process.pid, 0)
            self.ended_ns = time.perf_counter_ns()
        except BaseException:
            # It is a session of its own: a Ctrl-C at the terminal does not reach it.
            self.give_up()
            raise
        finally:
            self.timer.cancel()
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_ns = (usage.ru_utime + usage.ru_stime) * 1e9
        if self.given_up:
            raise Failure(f"took more than {self.wait_s} s")
        if self.process.returncode:
            raise Failure(f"status {self.process.returncode}: {self.text('stderr')[-300:].strip()}")

    def text(self, name):
        return (self.directory / name).read_text(errors="replace")


class Bench:
    def __init__(self, options, scratch):
        self.options = options
        self.build = pathlib.Path(options.build).resolve()
        self.scratch = scratch
        self.runtime = self.build / "libseep.so"
        self.before = pathlib.Path(options.before or self.build).resolve() / "libseep.so"

    def input(self, variant):
        return Input(self.scratch, variant.small, bool(variant.peer and variant.peer.leak))

    def wrap(self, variant, command, more, directory, whole=False):
        """The command line and environment under the variant."""
        full = {k: v for k, v in os.environ.items() if not k.startswith("SEEP_")}
        full.update(more)
        if variant.is_seep:
            full["SEEP_DIR"] = str(directory)
            asked = [o for o in (self.options.seep_options, variant.options) if o]
            if asked:
                full["SEEP_OPTIONS"] = ":".join(asked)
            if whole:
                tier = [f"--{variant.options}"] if variant.options else []
                tool = [self.build / "seep", "run", *tier, "-o", directory / "out.seep", "--"]
                return [*tool, *command], full
            return preloaded(variant.library, command), full
        if variant.is_peer:
            wrap = variant.peer.whole if whole and variant.peer.whole else variant.peer.wrap
            # A program that is not ours cannot be built for it.
            ours = str(command[0]).startswith(str(self.scratch))
            work = dataclasses.replace(self.input(variant), leak=variant.peer.leak and ours)
            command, more = wrap(command, directory, work)
            full.update(more)
        return command, full

    def prove(self, variant, directory, whole=False):
        if variant.is_seep:
            proof = left("*.seep") if whole else left_ledger
        elif variant.is_peer:
            proof = variant.peer.proof
        else:
            return
        if not proof(directory):
            raise Failure("it left nothing behind: nothing was recorded")

    def run(self, row, variant):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="seep-bench-", dir=SHM))
        try:
            return getattr(self, f"run_{row.kind}")(row, variant, directory)
        finally:
            shutil.rmtree(directory)

    def run_process(self, row, variant, directory, whole=False):
        command, more = row.command(self.input(variant))
        command, full = self.wrap(variant, command, more, directory, whole)
        where = {"cwd": os.getcwd()} if row.line else {}
        running = Running(command, full, directory, row.wait_s, **where)
        running.wait()
        self.prove(variant, directory, whole)
        if row.figure:
            text = running.text("stdout") + running.text("stderr")
            sample = {"figure": printed_figure(row.figure, text)}
        else:
            # Of others it may mean anything.
            sample = {} if row.line else figures(running.text("stdout"))
        sample["process_ns"] = running.ended_ns - running.begun_ns
        sample.setdefault("time_ns", sample["process_ns"])
        sample.setdefault("cpu_ns", running.cpu_ns)
        # Both clocks are CLOCK_MONOTONIC.
        sample["tail_ns"] = running.ended_ns - sample.pop("end_ns", running.ended_ns)
        return sample

    def run_end(self, row, variant, directory):
        return self.run_process(row, variant, directory, whole=True)

    def run_redis(self, row, variant, directory):
        """Throughput of a server under the variant; requests per second over all kinds."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        server = ["redis-server", "--port", port, "--save", "", "--appendonly", "no"]
        command, full = self.wrap(variant, server, {}, directory)
        running = Running(command, full, directory, row.wait_s)
        client = ["-p", port]
        try:
            self.await_redis(running, client)
            out = sh(
                "redis-benchmark", *client, "--csv", "-n", self.input(variant).size(300000, 15000),
                "-c", "20", "-P", "8", "-r", "100000", "-t", REDIS_KINDS,
            )  # fmt: skip
        finally:
            subprocess.run(
                ["redis-cli", *client, "shutdown", "nosave"], check=False, capture_output=True
            )
            running.wait()
        rates = [float(x) for x in re.findall(r'^"[A-Z][^"]*","([\d.]+)"', out, re.M)]
        if len(rates) != 1 + REDIS_KINDS.count(","):
            raise Failure(f"redis-benchmark printed {out!r}")
        self.prove(variant, directory)
        return {"requests_per_s": statistics.harmonic_mean(rates), "cpu_ns": running.cpu_ns}

    @staticmethod
    def await_redis(running, client):
        """Until it answers, or has ended; then the client will say so."""
        while not os.waitid(os.P_PID, running.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            ping = subprocess.run(["redis-cli", *client, "ping"], capture_output=True, check=False)
            if ping.stdout.strip() == b"PONG":
                return
            time.sleep(0.05)

    def symbols_module(self):
        module = self.scratch / "symbols.so"
        if not module.exists():
            source = Input(self.scratch).templates(5)
            sh("g++", "-O2", "-g", "-std=gnu++17", "-shared", "-fPIC", source, "-o", module)
        return module

    def symbols_addresses(self, count):
        """Random addresses of functions, each as likely as it is long."""
        functions = []
        for line in sh("nm", "-S", "--defined-only", self.symbols_module()).splitlines():
            words = line.split(" ", 3)
            if len(words) == 4 and words[2] in "tTwWi":
                functions.append((int(words[0], 16), int(words[1], 16)))
        chosen = random.Random(20)
        picks = chosen.choices(functions, [size for _, size in functions], k=count)
        return [address + chosen.randrange(size) for address, size in picks]

    @functools.cache
    def addresses(self):
        sh("cmake", "--build", self.build, "--target", "bench_addresses")
        return self.build / "bench_addresses"

    def run_symbols(self, row, variant, directory):
        module = self.symbols_module()
        addresses = self.symbols_addresses(2000 if variant.small else 20000)
        if variant.name == "seep":
            command = [self.addresses(), module]
        else:
            command = [ORACLE, "-e", module, "--functions=linkage"]
        running = Running(command, dict(os.environ), directory, row.wait_s, stdin=subprocess.PIPE)
        with running.process.stdin as stream:
            stream.write("".join(f"{a:#x}\n" for a in addresses).encode())
        peak_bytes = self.peak_until_end(running)
        running.wait()
        lines = running.text("stdout").splitlines()
        return {
            "time_ns": running.ended_ns - running.begun_ns,
            "cpu_ns": running.cpu_ns,
            "peak_bytes": peak_bytes,
            "frames": sum(1 for line in lines if line) // 2,
        }

    @staticmethod
    def peak_until_end(running):
        """The kernel's own high-water mark, which a program that has ended no longer has."""
        status = pathlib.Path(f"/proc/{running.process.pid}/status")
        peak_bytes = 0
        while found := re.search(r"VmHWM:\s*(\d+)", status.read_text()):
            peak_bytes = int(found.group(1)) << 10
            time.sleep(0.002)
        return peak_bytes

    def profile(self, row, out, name):
        """Where the time of a recorded run goes: a text profile next to the results."""
        seep = Variant("seep", small=self.options.quick, library=self.runtime)
        command, more = row.command(self.input(seep))
        directory = pathlib.Path(tempfile.mkdtemp(prefix="seep-bench-", dir=SHM))
        try:
            command, full = self.wrap(seep, command, more, directory)
            data = directory / "perf.data"
            sh("perf", "record", "-q", "-F", "4999", "-e", "cpu-clock", "-o", data, "--", *command,
               env=full)  # fmt: skip
            text = sh("perf", "report", "-i", data, "--stdio", "--no-children", "-q",
                      "--percent-limit", "0.5", "--sort", "dso,symbol")  # fmt: skip
        finally:
            shutil.rmtree(directory)
        path = out / f"perf-{name}.txt"
        path.write_text(text)
        return path


# ---- the rounds ------------------------------------------------------------------------------


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def variants_of(row, bench, chosen):
    """Plain first, then seep and the peers, and a plain run of the small input if one needs it."""
    options, quick = bench.options, bench.options.quick
    if row.kind == "symbols":
        return [Variant("seep", ORACLE, quick), Variant(ORACLE, ORACLE, quick)]
    found = [Variant("plain", small=quick)]
    if not options.no_seep:
        found.append(Variant("seep", small=quick, library=bench.runtime))
        if options.tiers:
            found += [Variant(tier, small=quick, library=bench.runtime, options=f"tier={tier}")
                      for tier in TIERS]  # fmt: skip
        if options.before and row.kind != "end":
            found.append(Variant(BEFORE, small=quick, library=bench.before))
    for name in chosen:
        peer = PEERS[name]
        if name in row.without:
            continue
        scaled = bool(peer.small and row.small)
        base = "plain-small" if scaled and not quick else "plain"
        if peer.bare:
            base = f"{name}, off"
            off = dataclasses.replace(peer, wrap=peer.bare, whole=peer.bare, proof=lambda _: True)
            found.append(Variant(base, base, scaled or quick, off))
        found.append(Variant(name, base, scaled or quick, peer))
    if any(v.base == "plain-small" for v in found):
        found.insert(1, Variant("plain-small", "plain-small", True))
    return found


class Rounds:
    """The rounds of one row. A peer has fewer than seep, and none any more when it used its time or
    failed; nobody waits an hour for the slowest."""

    def __init__(self, bench, name, row, variants):
        self.bench, self.name, self.row = bench, name, row
        self.variants = variants
        self.options = bench.options
        self.samples = {v.name: {} for v in variants}
        self.spent = dict.fromkeys(self.samples, 0.0)
        self.failed = {}

    def wants(self, variant, number):
        if variant.name in self.failed:
            return False
        if not variant.is_peer:
            return True
        return (
            number >= self.options.warm_up
            and len(self.samples[variant.name]) < self.options.peer_rounds
            and self.spent[variant.name] < self.options.peer_seconds
        )

    def turn(self, number):
        """Who runs in this round, and in which order: another one begins each time, so that none
        always runs after the heaviest."""
        wanted = [v for v in self.variants if self.wants(v, number)]
        if not any(v.is_peer and v.base == "plain-small" for v in wanted):
            wanted = [v for v in wanted if v.name != "plain-small"]
        shift = number % len(wanted) if wanted else 0
        return wanted[shift:] + wanted[:shift]

    def run(self, variant, number):
        progress(f"{self.name}: round {number + 1}, {variant.name}")
        before = time.monotonic()
        try:
            sample = self.bench.run(self.row, variant)
        except Failure as failure:
            self.failed[variant.name] = str(failure)
            self.samples[variant.name] = {}
            return
        self.spent[variant.name] += time.monotonic() - before
        if number >= self.options.warm_up:
            self.samples[variant.name][number] = sample

    def measure(self):
        for number in range(self.options.warm_up + self.options.rounds):
            done = number - self.options.warm_up
            used = sum(self.spent[v.name] for v in self.variants if not v.is_peer)
            if done >= LEAST_ROUNDS and used > self.options.row_seconds:
                break
            for variant in self.turn(number):
                self.run(variant, number)
        progress("")
        return self
