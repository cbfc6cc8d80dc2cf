#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/soak/hostile_scan.py [MINUTES] [SEED]: root looks at a program of another user that rewrites
all that is read of it. No command crashes, takes more than 1 GB and three times what the program has
resident, lives on for 5 s after SIGTERM, or touches another process that was there before it.
"""

import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("SEEP_SOURCE", pathlib.Path(__file__).parents[2])).resolve()
BUILD = pathlib.Path(os.environ.get("SEEP_BUILD", SOURCE / "build")).resolve()
SEEP = BUILD / "seep"
TARGET = BUILD / "programs" / "hostile_target"
OTHER = 65533

CALM_S, AFTER_TERM_S, LONGEST_S = 1.5, 5, 120
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE}


def processes():
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def start_target(ledgers, seed):
    target = subprocess.Popen(
        [TARGET, "rewrites", str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=OTHER, group=OTHER,
        extra_groups=[], env={"LD_PRELOAD": str(BUILD / "libseep.so"), "SEEP_DIR": str(ledgers)},
    )  # fmt: skip
    if target.stdout.read(1) != b".":
        sys.exit("the target did not start")
    return target


def resident_bytes(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except (OSError, IndexError):
        return 0


def touched(calls, before, target):
    """Processes that were there, and are not the target, in calls that reach into another one."""
    text = calls.read_text(errors="replace")
    pids = {int(p) for p in re.findall(r"(?:PTRACE_\w+, |process_vm_readv\(|kill\(|/proc/)(\d+)[,/]", text)
            if int(p) in before - {target, os.getpid()}}
    # To list processes their names and states are read; nothing more.
    reads = set(re.findall(r'openat\([^"]*"/proc/(\d+)/(mem|map_files|pagemap)', text))
    calls_on = {int(p) for p in re.findall(r"(?:PTRACE_\w+, |process_vm_readv\()(\d+),", text)}
    return (pids & calls_on) | {int(p) for p, _ in reads if int(p) in pids}


def run_one(words, target, chance, folder):
    """Its status, and what is wrong, or None."""
    traced = chance.random() < 0.2
    calls = folder / "calls"
    strace = ["strace", "-f", "-qq", "-o", calls, "-e", "trace=ptrace,process_vm_readv,kill,openat"] if traced else []
    before, most = processes(), 0
    tool = subprocess.Popen([*strace, SEEP, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            cwd=folder, env={**os.environ, "SEEP_DIR": str(folder / "none")})
    began, told = time.monotonic(), 0
    leave_at = chance.choice([CALM_S * chance.random(), LONGEST_S])
    while True:
        pid, status, usage = os.wait4(tool.pid, os.WNOHANG)
        most = max(most, resident_bytes(target.pid))
        spent = time.monotonic() - began
        if pid:
            break
        if told and spent - told > AFTER_TERM_S or spent > LONGEST_S + AFTER_TERM_S:
            tool.kill()
            return None, f"lived on {spent - told:.1f} s after SIGTERM"
        if not told and spent > leave_at:
            for child in [tool.pid, *map(int, pathlib.Path(f"/proc/{tool.pid}/task/{tool.pid}/children")
                                         .read_text().split())]:
                os.kill(child, signal.SIGTERM)
            told = spent
        time.sleep(0.005)
    tool.returncode = os.waitstatus_to_exitcode(status)
    if -tool.returncode in CRASHES or tool.returncode - 128 in CRASHES:
        return tool.returncode, f"ended with {tool.returncode}"
    if not traced and usage.ru_maxrss * 1024 > (1 << 30) + 3 * most:
        return tool.returncode, f"took {usage.ru_maxrss >> 10} MB of a target of {most >> 20} MB"
    if traced and (others := touched(calls, before, target.pid)):
        return tool.returncode, f"touched {others}"
    return tool.returncode, None


def main(minutes=30.0, seed=None):
    seed = int(seed if seed is not None else time.time())
    chance, counts, problems, targets = random.Random(seed), {}, 0, 0
    end = time.monotonic() + float(minutes) * 60
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="seep-hostile-", dir="/dev/shm") as base:
        folder, ledgers = pathlib.Path(base), pathlib.Path(base) / "theirs"
        folder.chmod(0o755)
        ledgers.mkdir(mode=0o700)
        os.chown(ledgers, OTHER, OTHER)
        (folder / "none").mkdir(mode=0o700)
        while time.monotonic() < end:
            target, targets = start_target(ledgers, chance.randrange(1, 1 << 30)), targets + 1
            (ledger,) = ledgers.glob(f"*.{target.pid}.*.ledger")
            for _ in range(10):
                words = chance.choice([["leaks", str(ledger)], ["leaks", "--why", "0x1000", str(ledger)],
                                       ["top", "--once", str(ledger)], ["snapshot", "-f", "-o", "x.seep", str(ledger)],
                                       ["report", str(ledger)], ["save", "-f", "-o", "y.seep", str(ledger)]])
                status, wrong = run_one(words, target, chance, folder)
                counts[words[0], status] = counts.get((words[0], status), 0) + 1
                if wrong:
                    problems += 1
                    print(f"{' '.join(words)}: {wrong}", flush=True)
                if target.poll() is not None:
                    break
            target.kill()
            target.communicate()
            for file in ledgers.iterdir():
                file.unlink()
    print(f"{targets} targets, commands {counts}, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
