# SPDX-License-Identifier: MIT
"""Measure what recording costs: each row of the table in docs/speed.md, with and without seep.

In every round each variant (plain, seep, heaptrack) runs once, in turns, so that a machine that
changes its speed changes it for all. The first round is dropped. A ratio is that of one round;
shown are its median and quartiles over the rounds. Programs that print `time_ns=` are measured
over their workload alone, others from start to end. The runtime is preloaded without a recorder
and with every default on; its ledgers lie in /dev/shm and are removed after each run.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SHM = pathlib.Path("/dev/shm")

# name, title, how to make the command, first goal, aim; None where a goal is not a time ratio.
ROWS = {
    "list1": ("std::list, 10^6 nodes per thread, 5 deep, 1 thread", 1.40, 1.20),
    "list2": ("the same, 2 threads", 1.40, 1.20),
    "list4": ("the same, 4 threads", 1.40, 1.20),
    "list16": ("the same, 16 threads", 1.25, 1.15),
    "list35": ("the same, 35 deep, 2 threads", 1.7, 1.4),
    "paths": ("worst case: 4,096 random stacks, 14 deep", 5.0, 3.0),
    "cpython": ("CPython json + ast, PYTHONMALLOC=malloc", 1.25, 1.12),
    "cc1plus": ("cc1plus -O1", 1.15, 1.08),
    "blocks": ("own memory, 10 M live 24-byte blocks", None, None),
    "redis": ("redis under redis-benchmark, throughput", None, None),
}
ON_REQUEST = {"redis"}


class Failure(Exception):
    pass


def sh(*command, **options):
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}: {done.stderr.strip()[-500:]}")
    return done.stdout


# ---- the workloads --------------------------------------------------------------------------------


class Workloads:
    """Builds what the rows run, in a scratch folder."""

    def __init__(self, scratch):
        self.scratch = scratch

    def compile(self, source, compiler, *flags):
        out = self.scratch / pathlib.Path(source).stem
        if not out.exists():
            sh(compiler, "-O2", "-g", "-D_GNU_SOURCE", HERE / source, "-o", out, *flags)
        return out

    def cc1plus(self):
        preprocessed = self.scratch / "work.ii"
        if not preprocessed.exists():
            source = self.scratch / "work.cc"
            source.write_text(sh(sys.executable, HERE / "gen_cc.py", "5"))
            sh("g++", "-std=gnu++17", "-E", "-P", source, "-o", preprocessed)
        compiler = sh("g++", "-print-prog-name=cc1plus").strip()
        return [
            compiler, "-fpreprocessed", "-quiet", "-O1", "-std=gnu++17", preprocessed,
            "-o", "/dev/null",
        ]  # fmt: skip

    def command(self, row):
        """The row's command line and additions to its environment."""
        if row.startswith("list"):
            program = self.compile("list.cc", "g++", "-std=gnu++17", "-lpthread")
            depth = "35" if row == "list35" else "5"
            threads = "2" if row == "list35" else row.removeprefix("list")
            return [program, "--threads", threads, "--depth", depth], {}
        if row == "paths":
            return [self.compile("paths.cc", "g++", "-std=gnu++17", "-lpthread")], {}
        if row == "blocks":
            return [self.compile("blocks.c", "gcc", "-std=gnu17")], {}
        if row == "cpython":
            python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
            environment = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1"}
            return [python, "-sS", HERE / "cpython.py"], environment
        if row == "cc1plus":
            return self.cc1plus(), {}
        raise Failure(f"no row {row}")


# ---- one run --------------------------------------------------------------------------------------


class Bench:
    def __init__(self, options, scratch):
        self.options = options
        self.build = pathlib.Path(options.build).resolve()
        self.workloads = Workloads(scratch)
        self.runtime = self.build / "libseep.so"

    def wrap(self, variant, command, environment, directory):
        """The command line and environment under the variant."""
        full = {k: v for k, v in os.environ.items() if not k.startswith("SEEP_")}
        full.update(environment)
        if variant == "seep":
            full["SEEP_DIR"] = str(directory)
            if self.options.seep_options:
                full["SEEP_OPTIONS"] = self.options.seep_options
            # env(1) sets it for the program alone, not for a profiler around it.
            command = ["env", f"LD_PRELOAD={self.runtime}", *command]
        elif variant == "heaptrack":
            command = ["heaptrack", "-r", "-o", directory / "trace", *command]
        return [str(c) for c in command], full

    def run(self, row, variant):
        command, environment = self.workloads.command(row)
        directory = pathlib.Path(tempfile.mkdtemp(prefix="seep-bench-", dir=SHM))
        try:
            command, full = self.wrap(variant, command, environment, directory)
            before = time.perf_counter_ns()
            done = subprocess.run(
                command, env=full, stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
            wall = time.perf_counter_ns() - before
            if done.returncode:
                raise Failure(
                    f"{row} under {variant}: status {done.returncode}: "
                    f"{done.stderr.decode(errors='replace')[-500:]}"
                )
            sample = figures(done.stdout.decode(errors="replace"))
            sample.setdefault("time_ns", wall)
            sample["process_ns"] = wall
            if variant == "seep":
                self.check_recorded(directory, row)
            return sample
        finally:
            shutil.rmtree(directory)

    @staticmethod
    def check_recorded(directory, row):
        """A library that did not load is very fast."""
        ledgers = list(directory.rglob("*.ledger"))
        if not any(ledger.stat().st_blocks > 0 for ledger in ledgers):
            raise Failure(f"{row} under seep left no ledger: nothing was recorded")

    def redis(self, variant):
        """Throughput of a server under the variant; requests per second, per kind summed up."""
        directory = pathlib.Path(tempfile.mkdtemp(prefix="seep-bench-", dir=SHM))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        server = ["redis-server", "--port", port, "--save", "", "--appendonly", "no"]
        command, full = self.wrap(variant, server, {}, directory)
        running = subprocess.Popen(
            command, env=full, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=directory
        )
        try:
            client = ["-p", port]
            for _ in range(200):
                ping = subprocess.run(
                    ["redis-cli", *client, "ping"], capture_output=True, check=False
                )
                if ping.stdout.strip() == b"PONG":
                    break
                time.sleep(0.05)
            out = sh(
                "redis-benchmark", *client, "--csv", "-n", "200000", "-c", "20", "-P", "8",
                "-r", "100000", "-t", "set,get,lpush,sadd,hset",
            )  # fmt: skip
            rates = [float(x) for x in re.findall(r'^"[A-Z][^"]*","([\d.]+)"', out, re.M)]
            if len(rates) != 5:
                raise Failure(f"redis-benchmark printed {out!r}")
            if variant == "seep":
                self.check_recorded(directory, "redis")
            return {"requests_per_s": statistics.harmonic_mean(rates)}
        finally:
            subprocess.run(["redis-cli", *client, "shutdown", "nosave"], check=False)
            running.wait()
            shutil.rmtree(directory)

    def profile(self, row, out):
        """Where the time of a recorded run goes: a text profile next to the results."""
        command, environment = self.workloads.command(row)
        directory = pathlib.Path(tempfile.mkdtemp(prefix="seep-bench-", dir=SHM))
        try:
            command, full = self.wrap("seep", command, environment, directory)
            data = directory / "perf.data"
            sh("perf", "record", "-q", "-F", "4999", "-e", "cpu-clock", "-o", data, "--", *command,
               env=full)  # fmt: skip
            text = sh("perf", "report", "-i", data, "--stdio", "--no-children", "-q",
                      "--percent-limit", "0.5", "--sort", "dso,symbol")  # fmt: skip
        finally:
            shutil.rmtree(directory)
        path = out / f"perf-{row}.txt"
        path.write_text(text)
        return path


def figures(text):
    return {name: float(value) for name, value in re.findall(r"\b(\w+)=([\d.]+)", text)}


# ---- figures --------------------------------------------------------------------------------------


def quartiles(values):
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def ratios(samples, variant, key):
    return [v[key] / p[key] for v, p in zip(samples[variant], samples["plain"])]


def summarise(row, samples):
    """Median and quartiles of each variant, and of its ratio to the plain run of the round."""
    key = "requests_per_s" if row == "redis" else "time_ns"
    out = {}
    for variant, runs in samples.items():
        out[variant] = {"median": quartiles([r[key] for r in runs])[1], "rounds": len(runs)}
        if variant != "plain":
            out[variant]["ratio"] = quartiles(ratios(samples, variant, key))
        if variant != "plain" and "cpu_ns" in runs[0]:
            out[variant]["cpu_ratio"] = quartiles(ratios(samples, variant, "cpu_ns"))
        if row == "blocks" and variant != "plain":
            own = [v["rss_bytes"] - p["rss_bytes"] for v, p in zip(runs, samples["plain"])]
            heap = quartiles([p["heap_bytes"] for p in samples["plain"]])[1]
            out[variant]["own_bytes"] = quartiles(own)[1]
            out[variant]["own_share"] = quartiles(own)[1] / heap
    return out


def show_time(row, summary):
    if row == "redis":
        return f"{summary['median']:,.0f}/s"
    return f"{summary['median'] / 1e6:,.1f} ms"


def show_ratio(summary):
    if summary is None:
        return "–"
    low, middle, high = summary["ratio"]
    return f"{middle:.2f} ({low:.2f}–{high:.2f})"


def show_cpu(summary):
    return f"{summary['cpu_ratio'][1]:.2f}" if summary and "cpu_ratio" in summary else "–"


def show_goal(row, which):
    goal = ROWS[row][which]
    if row == "redis":
        return ("≥ 0.95", "≥ 0.98")[which - 1]
    return "–" if goal is None else f"≤ {goal:.2f}"


def markdown(result):
    lines = [
        "| work | plain | seep / plain (quartiles) | of CPU time | first goal | aim | heaptrack |",
        "|---|---|---|---|---|---|---|",
    ]
    for row, entry in result["rows"].items():
        s = entry["summary"]
        seep, heaptrack = s.get("seep"), s.get("heaptrack")
        lines.append(
            f"| {ROWS[row][0]} | {show_time(row, s['plain'])} | {show_ratio(seep)} "
            f"| {show_cpu(seep)} | {show_goal(row, 1)} | {show_goal(row, 2)} "
            f"| {show_ratio(heaptrack)} |"
        )
    for row, entry in result["rows"].items():
        for variant, s in entry["summary"].items():
            if "own_bytes" in s:
                lines += ["", (
                    f"Own memory of {variant} in `{row}`: {s['own_bytes'] / 1e6:.1f} MB = "
                    f"{100 * s['own_share']:.1f} % of the heap"
                    + (" (goal: 25 % + 16 MB)" if variant == "seep" else "")
                    + "."
                )]  # fmt: skip
    machine = result["machine"]
    lines += ["", ", ".join(f"{k}: {v}" for k, v in machine.items()), ""]
    return "\n".join(lines)


# ---- the machine ------------------------------------------------------------------------------------


def first_line(*command):
    try:
        return sh(*command).splitlines()[0].strip()
    except (Failure, OSError, IndexError):
        return "unknown"


def machine(build):
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    memory = re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())
    return {
        "cpu": cpu.group(1) if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "virtual": "yes" if re.search(r"^flags.*\bhypervisor\b", flags, re.M) else "no",
        "memory": f"{int(memory.group(1)) >> 20} GB",
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "compiler": first_line("gcc", "--version"),
        "build": build.name,
        "commit": first_line("git", "-C", HERE, "rev-parse", "--short=12", "HEAD"),
        "load": f"{os.getloadavg()[0]:.1f}",
        "date": datetime.date.today().isoformat(),
    }


# ---- the rounds ---------------------------------------------------------------------------------------


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def measure(bench, row, variants, rounds, warm_up):
    samples = {variant: [] for variant in variants}
    for number in range(rounds + warm_up):
        # Another one begins each time, so that none always runs after the heaviest.
        for i in range(len(variants)):
            variant = variants[(i + number) % len(variants)]
            progress(f"{row}: round {number + 1} of {rounds + warm_up}, {variant}")
            sample = bench.redis(variant) if row == "redis" else bench.run(row, variant)
            if number >= warm_up:
                samples[variant].append(sample)
    progress("")
    return samples


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?", default=str(HERE.parent / "build-release"),
                        help="build directory with libseep.so (default: build-release)")  # fmt: skip
    parser.add_argument("--rows", help="comma-separated; known: " + ",".join(ROWS))
    parser.add_argument("--all", action="store_true", help="also the rows left out by default")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--warm-up", type=int, default=1, help="rounds that are dropped")
    parser.add_argument("--no-heaptrack", action="store_true")
    parser.add_argument("--no-seep", action="store_true")
    parser.add_argument("--perf", action="store_true", help="also profile a recorded run of each")
    parser.add_argument("--seep-options", help="SEEP_OPTIONS of the recorded runs")
    parser.add_argument("--out", help="folder of the results (default: BUILD/bench)")
    options = parser.parse_args(arguments)
    names = options.rows.split(",") if options.rows else [
        row for row in ROWS if options.all or row not in ON_REQUEST
    ]  # fmt: skip
    for row in names:
        if row not in ROWS:
            parser.error(f"no row '{row}'; known: {', '.join(ROWS)}")
    return options, names


def choose_variants(options, bench):
    variants = ["plain"]
    if not options.no_seep:
        if not bench.runtime.exists():
            raise Failure(f"{bench.runtime} is not there; build first, or use --no-seep")
        variants.append("seep")
    if not options.no_heaptrack:
        if shutil.which("heaptrack"):
            variants.append("heaptrack")
        else:
            sys.stderr.write("heaptrack is not installed: measured without it\n")
    return variants


def main(arguments):
    options, names = parse(arguments)
    with tempfile.TemporaryDirectory(prefix="seep-bench-") as scratch:
        bench = Bench(options, pathlib.Path(scratch))
        variants = choose_variants(options, bench)
        out = pathlib.Path(options.out) if options.out else bench.build / "bench"
        out.mkdir(parents=True, exist_ok=True)
        result = {"machine": machine(bench.build), "rounds": options.rounds, "rows": {}}
        for row in names:
            samples = measure(bench, row, variants, options.rounds, options.warm_up)
            result["rows"][row] = {
                "title": ROWS[row][0],
                "summary": summarise(row, samples),
                "samples": samples,
            }
            if options.perf and "seep" in variants and row != "redis":
                sys.stderr.write(f"profile: {bench.profile(row, out)}\n")
            # After every row: an interrupted run keeps what it has.
            (out / "result.json").write_text(json.dumps(result, indent=1) + "\n")
            (out / "result.md").write_text(markdown(result))
    sys.stdout.write(markdown(result))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        sys.exit(f"bench/run: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
