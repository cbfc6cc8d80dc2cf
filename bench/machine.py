# SPDX-License-Identifier: MIT
"""What the figures were measured on, and whether anybody else was using it."""

import datetime
import os
import pathlib
import platform
import re
import resource
import shutil
import tempfile
import time

from workloads import HERE, Failure, sh


def first_line(*command):
    try:
        return sh(*command).splitlines()[0].strip()
    except (Failure, OSError, IndexError):
        return "unknown"


def commit():
    """The commit, and whether the sources are those of it; results do not count."""
    name = first_line("git", "-C", HERE, "rev-parse", "--short=12", "HEAD")
    try:
        changed = sh("git", "-C", HERE.parent, "status", "--porcelain").splitlines()
    except (Failure, OSError):
        return name
    dirty = [line for line in changed if not line.endswith("bench/RESULTS.md")]
    return name + (" and uncommitted changes" if dirty else "")


def describe(build):
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    cpu = re.search(r"model name\s*:\s*(.*)", cpuinfo)
    memory = re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())
    return {
        "processor": cpu.group(1) if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "virtual machine": "yes" if re.search(r"^flags.*\bhypervisor\b", cpuinfo, re.M) else "no",
        "memory": f"{int(memory.group(1)) >> 20} GB",
        "kernel": platform.release(),
        "C library": " ".join(platform.libc_ver()),
        "compiler": first_line("gcc", "--version"),
        "build": build.name,
        "commit": commit(),
        "date": datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
    }


def busy_seconds():
    """CPU time of everybody since the start, idle and waiting for devices left out."""
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    ticks = [int(w) for w in words[:8]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


class Neighbours:
    """How much of the machine others used meanwhile: the first thing to know of a timing."""

    def __init__(self):
        self.begun = time.monotonic(), busy_seconds(), own_seconds()

    def share(self):
        begun, busy, own = self.begun
        seconds = (time.monotonic() - begun) * os.cpu_count()
        others = (busy_seconds() - busy) - (own_seconds() - own)
        return max(0.0, others / seconds) if seconds > 0 else 0.0


def put(page, title, lines):
    """A section of a page, in the place of the one that is there, else at the end."""
    text = re.sub(rf"^{title}\n.*?(?=^## |\Z)", "", page.read_text(), flags=re.M | re.S)
    page.write_text(text.rstrip("\n") + "\n\n" + "\n".join(lines) + "\n")


def measure(options, title, scratch, build, lines_of):
    """Print a section line by line, with where it was measured, and put it into options.markdown."""
    neighbours = Neighbours()
    seep = pathlib.Path(options.build).resolve() / "seep"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="seep-bench-", dir=scratch))
    try:
        build(folder)
        lines = []
        for line in lines_of(seep, folder, options):
            print(line, flush=True)
            lines.append(line)
        where = describe(seep.parent)
        where["others on the machine"] = f"{neighbours.share():.0%} of its CPU time"
        where["load"] = f"{os.getloadavg()[2]:.1f}"
        lines.append(f"\nMeasured on: {', '.join(f'{k}: {v}' for k, v in where.items())}.")
        print(lines[-1], flush=True)
        if options.markdown:
            put(options.markdown, title, lines)
    finally:
        shutil.rmtree(folder)
