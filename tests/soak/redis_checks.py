#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/soak/redis_checks.py [--checks N]: a busy redis under leak scans.

A redis-server with over 1 GB in over 5 million blocks serves 50 pipelined clients and is scanned
again and again. No client may get an error or lose its connection, and each scan has to find the
three leaks that a preloaded library planted, and nothing else. Prints latencies with and without
scans, and how long the server stood still.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("SEEP_SOURCE", pathlib.Path(__file__).parents[2])).resolve()
BUILD = pathlib.Path(os.environ.get("SEEP_BUILD", SOURCE / "build")).resolve()
PLANTED = [1001, 1002, 1003]
CLIENTS = 50
LOST = ("LOST", "LOST-CYCLE", "LOST-WITH", "MAYBE-LOST")


def cli(port, *words):
    return subprocess.run(["redis-cli", "-p", port, *words], check=True, capture_output=True,
                          text=True).stdout.strip()  # fmt: skip


def info(port):
    return dict(line.split(":", 1) for line in cli(port, "info").splitlines() if ":" in line)


def start(folder, port):
    server = ["redis-server", "--port", port, "--save", "", "--appendonly", "no",
              "--enable-debug-command", "yes", "--logfile", str(folder / "log")]  # fmt: skip
    plant = str(BUILD / "programs" / "lib_leak_plant.so")
    run = subprocess.Popen([str(BUILD / "seep"), "run", "-q", "-o", str(folder / "r.seep"), "--", *server],
                           env={**os.environ, "LD_PRELOAD": plant}, cwd=folder)  # fmt: skip
    for _ in range(600):
        if subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True,
                          check=False).stdout.strip() == b"PONG":  # fmt: skip
            return run, int(info(port)["process_id"])
        time.sleep(0.1)
    sys.exit("redis_checks: the server does not answer")


def load(port, requests):
    return subprocess.Popen(["redis-benchmark", "-p", port, "-c", str(CLIENTS), "-P", "16", "-n", str(requests),
                             "-r", "100000", "-d", "64", "-t", "set,get", "--csv"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip


def latencies(client):
    """[(test, requests per second, p50, p99, max)]; clients that lost something end the script."""
    out, err = client.communicate()
    if client.returncode or "rror" in out + err:
        sys.exit(f"redis_checks: a client failed: {out}{err}")
    rows = re.findall(r'^"(\w+)","([\d.]+)","[\d.]+","[\d.]+","([\d.]+)","[\d.]+","([\d.]+)","([\d.]+)"',
                      out, re.M)  # fmt: skip
    return [(name, *map(float, rest)) for name, *rest in rows]


def check(pid):
    done = subprocess.run([str(BUILD / "seep"), "leaks", "--json", "--leak-kinds", ",".join(LOST), str(pid)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    try:
        report = json.loads(done.stdout)
    except ValueError:
        sys.exit(f"redis_checks: a scan failed: {done.stderr}")
    found = sorted(leak["bytes"] for leak in report["leaks"] if leak["verdict"] in LOST)
    return report["scan"], found


def print_latencies(what, rows):
    """Medians of the rounds, and the worst."""
    for name in sorted({row[0] for row in rows}):
        rates, p50s, p99s, mosts = zip(*(row[1:] for row in rows if row[0] == name))
        print(f"{what}, {name}: {len(rates)} rounds, {statistics.median(rates):,.0f} requests/s, "
              f"p50 {statistics.median(p50s):.1f} ms, p99 {statistics.median(p99s):.1f} ms "
              f"(worst {max(p99s):.1f}), most {max(mosts):.1f} ms", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--checks", type=int, default=100)
    parser.add_argument("--keys", type=int, default=1500000)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="seep-redis-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    run, pid = start(folder, port)
    try:
        cli(port, "debug", "populate", str(options.keys), "key", "600")
        before = []
        for _ in range(5):
            before += latencies(load(port, 1000000))
        print_latencies("no scans", before)
        client = load(port, 1000000)
        begun = time.monotonic()
        scans, wrong, during = [], [], []
        while len(scans) < options.checks:
            if client.poll() is not None:
                during += latencies(client)
                client = load(port, 1000000)
            scan, found = check(pid)
            scans.append(scan)
            if found != PLANTED:
                wrong.append(found)
        spent = (time.monotonic() - begun) / len(scans)
        during += latencies(client)
        print_latencies("during scans", during)
        pauses = sorted(scan["pause_ns"] / 1e6 for scan in scans)
        print(f"{len(scans)} scans ({scans[0]['method']}), {scans[-1]['blocks']:,} blocks, "
              f"{int(info(port)['used_memory']) / 2**30:.2f} GB; still for {statistics.median(pauses):.1f} ms "
              f"(most {pauses[-1]:.1f}), looked for {statistics.median(s['mark_ns'] for s in scans) / 1e6:.0f} ms; "
              f"{spent:.1f} s each")
        after = info(port)
        errors = int(after["total_error_replies"]) + int(after["rejected_connections"])
        print(f"error replies and refused connections: {errors}; scans with other findings: {len(wrong)}")
        for found in wrong[:5]:
            print(f"  found {found[:20]}")
        return 1 if errors or wrong else 0
    finally:
        subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], check=False, capture_output=True)
        run.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
