# SPDX-License-Identifier: MIT
"""One run of a real program: plain, recorded, or recorded and counted at the same time.

A program of program_list.py is a function that gets a Run: it starts the program through it,
drives a load, hands over the answers that must be the same in every variant, and stops it.
"""

import ctypes
import hashlib
import http.client
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))

LIMIT_S = 180
TICKS = os.sysconf("SC_CLK_TCK")

# Variants are "plain", "seep", "counted", "checked". In "counted" every call of the recorded program is
# also counted by another library behind seep's, so programs that never allocate alike twice can be
# compared. In "checked" every 97th walk is compared as well, and so every forked child has a ledger of
# its own.

# From now on orphans of a program are ours, as those of a recorded one are seep's: their time counts.
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Failure(Exception):
    pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def stat_fields(pid):
    """The fields of /proc/PID/stat from the third on, or None."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()


def children_of(pid):
    try:
        return [int(c) for c in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


class Tools:
    """Copies of what is recorded with, where every user can read them."""

    def __init__(self, build, scratch, memory):
        self.scratch = scratch
        self.memory = memory  # a folder in /dev/shm
        for name in ("seep", "libseep.so", "programs/lib_count.so"):
            if not (build / name).exists():
                raise Failure(f"{build / name} is not built")
            shutil.copy(build / name, scratch)
        self.programs = build / "programs"
        self.seep = scratch / "seep"
        self.count = scratch / "lib_count.so"

    def copy_of(self, name):
        """A test program where every user can run it."""
        path = self.scratch / name
        if not path.exists():
            if not (self.programs / name).exists():
                raise Failure(f"{self.programs / name} is not built")
            shutil.copy(self.programs / name, path)
        return path


class Run:
    def __init__(self, tools, variant, name, port, shared):
        self.tools = tools
        self.variant = variant
        self.port = port
        self.shared = shared  # a folder that all runs of this program share
        self.folder = tools.scratch / "run"
        self.user = None
        self.answers = {}
        self.rate = None
        self.wall_s = self.cpu_s = self.recorder_s = None
        self.stderr = b""
        self.name = name
        # As a user would have it: ledgers lie in memory, not on a disk.
        self.ledgers = tools.memory / "ledgers"
        self.counts = tools.memory / "counts"
        for path in (self.folder / "work", self.folder / "recordings", self.ledgers, self.counts):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
        self.work = self.folder / "work"
        os.chmod(self.folder, 0o755)
        os.chmod(self.counts, 0o1777)
        os.chmod(self.ledgers, 0o700)

    # ---- starting and stopping --------------------------------------------------------------

    def as_user(self, name):
        """From now on programs are started as this user, who owns the run's folders; unless root started
        us they are ours."""
        if os.geteuid() != 0:
            return
        self.user = pwd.getpwnam(name)
        for path in [self.folder, *self.folder.iterdir(), self.ledgers]:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def environment(self, env):
        full = {k: v for k, v in os.environ.items() if not k.startswith("SEEP_")}
        full.update({"LC_ALL": "C.UTF-8", "HOME": str(self.work), **(env or {})})
        if self.variant != "plain":
            full["SEEP_DIR"] = str(self.ledgers)
        if self.variant == "checked":
            full["SEEP_OPTIONS"] = "verify=97"
        if self.variant in ("checked", "counted"):
            # Behind seep's library, before an allocator that the program has preloaded.
            full["LD_PRELOAD"] = " ".join([str(self.tools.count), full.get("LD_PRELOAD", "")]).strip()
            full["COUNT_PREFIX"] = str(self.counts / "count")
        return full

    def start(self, words, env=None):
        """Start the program of this run."""
        if self.variant != "plain":
            output = self.folder / "recordings" / "run.seep"
            words = [self.tools.seep, "run", "-o", output, "--", *words]
        identity = {}
        if self.user:
            identity = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        self.started = time.monotonic()
        with open(self.folder / "stdout", "wb") as out, open(self.folder / "stderr", "wb") as err:
            self.process = subprocess.Popen(
                [str(w) for w in words], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env=self.environment(env), cwd=self.work, start_new_session=True, **identity,
            )  # fmt: skip
        return self.process

    def pid(self):
        """The program's own pid."""
        if self.variant == "plain":
            return self.process.pid
        for _ in range(500):
            children = children_of(self.process.pid)
            if children:
                return children[0]
            time.sleep(0.01)
        raise Failure("seep has started nothing")

    def kill(self, number):
        os.kill(self.pid(), number)

    def finish(self, expect=0):
        """Wait for its end; the status is an answer."""
        deadline = time.monotonic() + LIMIT_S
        while os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if time.monotonic() > deadline:
                raise Failure(f"{self.name} ({self.variant}) did not end")
            time.sleep(0.01)
        self.wall_s = time.monotonic() - self.started
        # A zombie still has its figures. seep's own time is the recorder's; that of its children
        # is the program's.
        own, children = self.cpu_of(self.process.pid)
        children += self.bury_orphans()
        self.process.wait()
        if self.variant == "plain":
            self.cpu_s, self.recorder_s = own + children, 0.0
        else:
            self.cpu_s, self.recorder_s = children, own
        self.stderr = (self.folder / "stderr").read_bytes()
        status = self.process.returncode
        if status != expect:
            raise Failure(
                f"{self.name} ({self.variant}): status {status}: "
                f"{self.stderr.decode(errors='replace')[:600]}"
            )
        self.answer("status", str(status))
        self.save_daemons()

    def save_daemons(self):
        """What outlived `seep run` has a ledger and no recording; its ancestors have both."""
        recorded = {str(report["process"]["pid"]) for report in self.reports()}
        for ledger in sorted(self.ledgers.glob("*.ledger")):
            if ledger.name.split(".")[-4] in recorded:
                continue
            output = self.folder / "recordings" / f"{ledger.name}.seep"
            subprocess.run([self.tools.seep, "save", ledger, "-o", output], capture_output=True,
                           check=True)  # fmt: skip

    def bury_orphans(self):
        """The processor time of processes that the program left behind; they have a second to end."""
        deadline = time.monotonic() + 1
        used = 0.0
        for pid in children_of(os.getpid()):
            while pid != self.process.pid and time.monotonic() < deadline:
                done, _, usage = os.wait4(pid, os.WNOHANG)
                if done:
                    used += usage.ru_utime + usage.ru_stime
                    break
                time.sleep(0.01)
        return used

    @staticmethod
    def cpu_of(pid):
        fields = stat_fields(pid)
        own, children = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
        return own / TICKS, children / TICKS

    def batch(self, words, env=None, expect=0, outputs=(), stdout=True):
        """A program that ends by itself: its output and status are its answers."""
        self.start(words, env)
        self.finish(expect)
        if stdout:
            self.answer("stdout", (self.folder / "stdout").read_bytes())
        for name in outputs:
            self.answer(name, (self.work / name).read_bytes())

    def give_up(self):
        """After a failure: nothing stays behind. The session is ours alone."""
        process = getattr(self, "process", None)
        if not process:
            return
        pids = [process.pid]
        for pid in pids:
            pids.extend(children_of(pid))
        for pid in reversed(pids):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        process.wait()

    # ---- the other side -----------------------------------------------------------------------

    def client(self, *words, stdin=None, expect=0, env=None, **options):
        """Run a client or a load, never recorded; returns its output."""
        done = subprocess.run(
            [str(w) for w in words], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=LIMIT_S, check=False, env={**os.environ, **(env or {})}, **options,
        )  # fmt: skip
        if expect is not None and done.returncode != expect:
            raise Failure(
                f"{words[0]}: status {done.returncode}: "
                f"{(done.stderr or done.stdout).decode(errors='replace')[:600]}"
            )
        return done.stdout

    def wait_until(self, check, what, daemon=False):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if not daemon and self.process.poll() is not None:
                text = (self.folder / "stderr").read_text(errors="replace")
                raise Failure(f"{self.name} ({self.variant}) ended early: {text[-600:]}")
            try:
                if check():
                    return
            except (OSError, Failure, http.client.HTTPException):
                pass
            time.sleep(0.05)
        raise Failure(f"{self.name} ({self.variant}): {what} did not come")

    def wait_port(self, port=None, daemon=False):
        def connects():
            socket.create_connection(("127.0.0.1", port or self.port), 1).close()
            return True

        self.wait_until(connects, "its port", daemon)

    def get(self, path, headers=None):
        """A page: status, headers that do not change with time, body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path, headers=headers or {})
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        kept = sorted((k, v) for k, v in reply.getheaders() if k not in ("Date", "Last-Modified"))
        return f"{reply.status} {kept}\n".encode() + body

    def http_load(self, requests, concurrency, *paths):
        """ab(1) with connections kept alive; its rate in requests per second."""
        rates = []
        for path in paths:
            out = self.client(
                "ab", "-k", "-q", "-n", requests, "-c", concurrency,
                f"http://127.0.0.1:{self.port}{path}",
            ).decode()  # fmt: skip
            if not re.search(r"Failed requests:\s+0\b", out) or "Non-2xx" in out:
                raise Failure(f"{self.name} ({self.variant}): a request failed: {out[-900:]}")
            rates.append(float(re.search(r"Requests per second:\s+([\d.]+)", out).group(1)))
        self.rate = len(rates) / sum(1 / rate for rate in rates)

    def answer(self, name, value):
        """What must be the same in every variant."""
        if isinstance(value, str):
            value = value.encode()
        self.answers[name] = value

    def digest(self):
        return {k: hashlib.sha256(v).hexdigest() for k, v in self.answers.items()}

    # ---- what was recorded --------------------------------------------------------------------

    def recordings(self):
        return sorted((self.folder / "recordings").rglob("*.seep"))

    def reports(self):
        found = []
        for path in self.recordings():
            done = subprocess.run(
                [self.tools.seep, "report", path, "--json", "--top", "1"],
                capture_output=True, check=True,
            )  # fmt: skip
            found.append(json.loads(done.stdout))
        return found
