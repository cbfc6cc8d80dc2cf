# SPDX-License-Identifier: MIT
"""What the end-to-end tests share: run a program plainly and recorded, read the recording, and
compare it with the program's own truth.

A program of tests/programs prints `truth FUNCTION key=value …` lines; `site()` sums the contexts
of a recording that pass through the function, and `check_truth()` compares the two exactly.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

import pytest

from json_schema import Validator

SOURCE = pathlib.Path(os.environ.get("SEEP_SOURCE", pathlib.Path(__file__).parents[2])).resolve()
BUILD = pathlib.Path(os.environ.get("SEEP_BUILD", SOURCE / "build")).resolve()
SEEP = BUILD / "seep"
RUNTIME = BUILD / "libseep.so"
PROGRAMS = BUILD / "programs"

SCHEMA = json.loads((SOURCE / "docs" / "json-schema.json").read_text())
# Larger documents are of the same code, and take minutes.
CHECKED_BYTES = 1 << 20

# Longer than any test takes; a hang is a failure, not a stuck run.
LIMIT_S = 300

# A site's figures: the name in a truth line and the key of a context.
FIELDS = {
    "allocs": "allocs",
    "bytes": "alloc_bytes",
    "frees": "frees",
    "freed_bytes": "freed_bytes",
    "live_blocks": "live_blocks",
    "live_bytes": "live_bytes",
    "peak_bytes": "peak_bytes",
    "temporary": "temporary",
}

# Sums over the contexts that the totals repeat.
SUMMED = list(FIELDS.values())


def program(name):
    """The path of a built test program or library."""
    path = PROGRAMS / name
    if not path.exists():
        pytest.fail(f"{path} is not built")
    return path


def need(tool):
    """The path of a tool of this machine; without it the test is skipped, with the reason."""
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"{tool} is not installed")
    return path


@dataclasses.dataclass
class Result:
    """How a command ended. A negative status is a signal."""

    status: int
    stdout: bytes
    stderr: bytes

    def same_as(self, other):
        assert self.stdout == other.stdout
        assert self.stderr == other.stderr
        assert self.status == other.status


def run_plain(command, cwd=None, env=None, stdin=None):
    """Run a command without seep. `env` is added to this environment, `stdin` is a path."""
    with open(stdin or os.devnull, "rb") as source:
        done = subprocess.run(
            [os.fsencode(word) for word in command],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=LIMIT_S,
            check=False,
        )
    return Result(done.returncode, done.stdout, done.stderr)


SHM = pathlib.Path("/dev/shm")


def need_open_to_others(*paths):
    """Another user can reach these; a checkout in /root skips the test."""
    for path in paths:
        for folder in path.parents:
            if not folder.stat().st_mode & 0o001:
                pytest.skip(f"{folder} is closed to others")


def has_room(folder):
    """Whether ledgers of any test fit there; a container's /dev/shm has 64 MB, and takes 16."""
    if not os.access(folder, os.W_OK):
        return False
    about = os.statvfs(folder)
    return about.f_blocks * about.f_frsize >= 1 << 30


class Seep:
    """Recordings of one test: its directory and its own ledgers."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        base = SHM if has_room(SHM) else None
        self.ledger_dir = pathlib.Path(tempfile.mkdtemp(prefix="seep-test-", dir=base))
        self.count = 0

    def close(self):
        shutil.rmtree(self.ledger_dir, ignore_errors=True)

    def command(self, *words, cwd=None, env=None):
        """Run seep itself with these words."""
        return run_plain([SEEP, *words], cwd=cwd, env=self.environment(env))

    def environment(self, env=None):
        return {**(env or {}), "SEEP_DIR": str(self.ledger_dir)}

    def run(self, command, options=(), cwd=None, env=None, stdin=None):
        """Record a command; returns its Result and the Recordings it left."""
        self.count += 1
        folder = self.directory / f"recorded-{self.count}"
        folder.mkdir()
        words = [SEEP, "run", "-o", folder / "run.seep", "-q", *options, "--", *command]
        result = run_plain(words, cwd=cwd, env=self.environment(env), stdin=stdin)
        return result, Recordings(self, folder)

    def record(self, command, options=(), **how):
        """As run(), of what ends with status 0; the Recordings."""
        result, recordings = self.run(command, options, **how)
        assert result.status == 0, result.stderr
        return recordings

    def load(self, path, *options, cwd=None):
        """The report of a recording or a ledger."""
        done = self.command("report", path, "--json", *options, cwd=cwd)
        assert done.status == 0, done.stderr.decode(errors="replace")
        return read_report(done.stdout)

    def ledgers(self):
        return sorted(p.name for p in self.ledger_dir.rglob("*.ledger*"))


class Recordings:
    """The recording of a run and those of its children, as `report --json` gives them."""

    def __init__(self, seep, folder):
        self.seep = seep
        self.folder = folder
        self.path = folder / "run.seep"

    def load(self, path, *options):
        return self.seep.load(path, *options)

    def main(self, doubts=0):
        """Of the whole run; `doubts`: so many operations may have been left by longjmp."""
        assert self.path.exists(), f"no recording among {os.listdir(self.folder)}"
        report = self.load(self.path)
        check_totals(report, doubts)
        return report

    def all(self):
        """Every process's report, the first one's first."""
        return [self.load(path) for path in self.paths()]

    def summaries(self):
        """As all(), with one context each: a compiler's stacks fill gigabytes here."""
        return [self.load(path, "--top", "1") for path in self.paths()]

    def paths(self):
        return sorted(self.folder.rglob("*.seep"), key=lambda p: (p != self.path, p.name))

    def of(self, pid, function=None):
        """The report of a process; by a function when the pid had several images."""
        found = [
            r
            for r in self.all()
            if r["process"]["pid"] == pid and (function is None or site(r, function)["allocs"])
        ]
        assert len(found) == 1, f"{len(found)} recordings of {pid}"
        return found[0]


def read_report(text):
    """A report's document with each stack spelled out: frames in place of their indexes, of which
    each names its module, and what a context leaves out."""
    report = json.loads(text)
    if len(text) <= CHECKED_BYTES:
        assert Validator(SCHEMA, closed=True).errors(report) == []
    for frame in report["frames"]:
        at = frame["module"]
        module = {"path": None, "build_id": None} if at is None else report["modules"][at]
        frame.update(module=module["path"], build_id=module["build_id"])
    absent = {"align_bytes": None, "thread": None, "truncated": False}
    for context in report["contexts"]:
        for key, value in absent.items():
            context.setdefault(key, value)
        for key in ("flags", "epochs", "folded"):
            context.setdefault(key, [])
        context["frames"] = [report["frames"][i] for i in context["frames"]]
    return report


def total_allocs(reports):
    """All allocations of a family of processes, those of small forks among them."""
    return sum(r["totals"]["allocs"] + r["forked"]["allocs"] for r in reports)


def check_totals(report, doubts=0):
    """What holds for every recording of a whole run: no loss, and the parts make the whole."""
    totals = report["totals"]
    assert totals["dropped"] == 0
    assert totals["in_doubt"] <= doubts
    for key in SUMMED:
        assert totals[key] == sum(c[key] for c in report["contexts"]), key
    assert totals["live_blocks"] == totals["allocs"] - totals["frees"]
    assert totals["live_bytes"] == totals["alloc_bytes"] - totals["freed_bytes"]
    assert totals["peak_bytes"] >= totals["live_bytes"]
    for context in report["contexts"]:
        assert context["live_blocks"] == context["allocs"] - context["frees"]
        assert context["live_bytes"] == context["alloc_bytes"] - context["freed_bytes"]


def contexts_of(report, function):
    """The contexts whose stack contains the function."""
    return [
        c for c in report["contexts"] if any(f["function"] == function for f in c["frames"])
    ]


def site(report, function):
    """The summed figures of all stacks through the function, under the truth's names."""
    contexts = contexts_of(report, function)
    return {name: sum(c[key] for c in contexts) for name, key in FIELDS.items()}


def functions(context):
    return [frame["function"] for frame in context["frames"]]


def by_path(report):
    """The scopes by their tags, outermost first."""
    scopes = {scope["id"]: scope for scope in report["scopes"]}
    found = {}
    for scope in report["scopes"]:
        tags, at = [], scope
        while at:
            tags.append(at["tag"])
            at = scopes.get(at["parent"])
        found[tuple(reversed(tags))] = scope
    return found


@dataclasses.dataclass
class Truth:
    """What a program says of itself: figures by function, notes and what it inherited."""

    sites: dict
    notes: dict
    inherited: dict


def parse_truth(text):
    sites, notes, inherited = {}, {}, {}
    for line in text.splitlines():
        kind, *words = line.split()
        if kind == "truth":
            name = words.pop(0)
            sites[name] = {k: int(v) for k, v in (w.split("=") for w in words)}
        elif kind in ("note", "inherited"):
            target = notes if kind == "note" else inherited
            target.update((k, int(v)) for k, v in (w.split("=") for w in words))
    assert sites, f"no truth in {text!r}"
    return Truth(sites, notes, inherited)


def differences(report, truth, ignore=()):
    found = []
    for function, want in truth.sites.items():
        have = site(report, function)
        for name, value in want.items():
            if name not in ignore and have[name] != value:
                found.append(f"{function}: {name} is {have[name]}, the program says {value}")
    return found


def check_truth(report, truth, ignore=()):
    found = differences(report, truth, ignore)
    assert not found, "\n".join(found)


def record_with_truth(seep, name, *arguments, env=None, options=()):
    """Run a program plainly and recorded, compare how it ended, give its recordings and truth."""
    folder = seep.directory
    command = [program(name), *arguments]
    env = env or {}
    plain = run_plain(command, cwd=folder, env={**env, "TRUTH_FILE": str(folder / "plain.truth")})
    assert plain.stderr == b"", plain.stderr.decode(errors="replace")
    path = folder / f"truth-{seep.count + 1}"
    result, recordings = seep.run(
        command, cwd=folder, env={**env, "TRUTH_FILE": str(path)}, options=options
    )
    result.same_as(plain)
    return recordings, parse_truth(path.read_text())


@dataclasses.dataclass
class Counts:
    """One process image as lib_count saw it."""

    pid: int
    exe: str
    allocs: int
    alloc_bytes: int
    frees: int


def read_counts(folder):
    """The counts of every process that ran with COUNT_PREFIX in this folder."""
    found = []
    for path in sorted(pathlib.Path(folder).glob("count.*")):
        data = path.read_bytes()
        assert data[:7] == b"counts1", path
        pid, allocs, alloc_bytes, frees = struct.unpack_from("<4Q", data, 8)
        exe = os.fsdecode(data[104:].split(b"\0", 1)[0])
        found.append(Counts(pid, exe, allocs, alloc_bytes, frees))
    return found


def count_environment(folder, env=None):
    """The environment under which every process counts its allocations into the folder."""
    folder.mkdir(exist_ok=True)
    env = dict(env or {})
    preload = [str(program("lib_count.so")), env.get("LD_PRELOAD", "")]
    env["LD_PRELOAD"] = ":".join(word for word in preload if word)
    return {**alike_environment(env), "COUNT_PREFIX": str(folder / "count")}


def alike_environment(env):
    """As many variables as a counted and recorded run has: programs that start others copy them."""
    names = ("COUNT_PREFIX", "SEEP_DIR", "SEEP_OPTIONS", "SEEP_SESSION")
    return {**dict.fromkeys(names, ""), **env}
