# SPDX-License-Identifier: MIT
"""Real programs under load that attach_rounds.py attaches to: how to start each, which of its processes
are attached to, and whether it still answers as before."""

import contextlib
import pathlib
import shutil
import signal
import subprocess

import program_inputs as inputs
from program_list import nginx_answers, postgres_bin, write_nginx
from program_run import Failure, Run, children_of, free_port

PACKAGES = "redis-server redis-tools nginx-light apache2-utils postgresql postgresql-contrib python3"

# Speaks as tests/programs/attach_talk.h says, and does nothing but allocate, in two threads.
PYTHON = r"""
import hashlib, json, os, re, sys, threading
ended = False
wrong = []
def work(seed):
    made = [{"name": f"n{i}", "list": list(range(i % 50)), "text": "x" * (i * 37 % 900)}
            for i in range(seed, seed + 300)]
    text = json.dumps(made)
    read = json.loads(text)
    words = re.findall(r"n(\d+)", text)
    return hashlib.sha256((text + "".join(words) + str(read == made)).encode()).hexdigest()
want = work(5)
def loop():
    while not ended:
        if work(5) != want:
            wrong.append("a thread")
threads = [threading.Thread(target=loop) for _ in range(2)]
for thread in threads:
    thread.start()
print("ready", flush=True)
for line in sys.stdin:
    if line == "end\n":
        break
    print(work(5) == want, ".", sep="\n", flush=True)
ended = True
for thread in threads:
    thread.join()
print("ok" if not wrong else "wrong", flush=True)
"""


class Load:
    """A client that goes on until it is stopped; what it counts as an error is one."""

    def __init__(self, words, again=False, **how):
        self.words, self.again, self.how = [str(w) for w in words], again, how
        self.begin()

    def begin(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, **self.how)

    def check(self):
        """It still runs, or has ended well and begins anew."""
        if self.process.poll() is None:
            return
        out = self.process.communicate()[0]
        if self.process.returncode != 0 or not self.again:
            raise Failure(f"{self.words[0]} ended with {self.process.returncode}: {out[-600:]}")
        self.begin()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=60)[0]


class Service:
    """A server of one test and its load. pids() are those to choose from, now; answers() has to give
    the same always."""

    def __init__(self, tools, name):
        self.folder = tools.scratch / "shared"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o755)
        self.run = Run(tools, "plain", name, free_port(), self.folder)
        self.load = None
        try:
            self.start()
            self.first = self.answers()
        except BaseException:
            self.run.give_up()
            raise

    def pid(self, chance):
        self.load.check()
        return chance.choice(self.pids())

    def check(self):
        if self.answers() != self.first:
            raise Failure("it answers otherwise than before")

    def end(self):
        self.check()
        self.load.end()
        self.stop()
        self.run.finish()

    def close(self):
        if self.load and self.load.process.poll() is None:
            self.load.process.kill()
            self.load.process.communicate()
        self.run.give_up()

    def pids(self):
        return [self.run.process.pid]


class Redis(Service):
    def start(self):
        self.run.start(["redis-server", "--port", self.run.port, "--save", "", "--dir", self.run.work])
        self.cli = ["redis-cli", "-p", self.run.port]
        self.run.wait_until(lambda: self.run.client(*self.cli, "ping") == b"PONG\n", "PONG")
        self.load = Load(["redis-benchmark", "-p", self.run.port, "-q", "-l", "-n", 100000, "-c", 20, "-P", 4,
                          "-r", 20000, "-t", "set,get,incr,lpush,sadd,hset,zadd,lrange_100"])  # fmt: skip

    def answers(self):
        return self.run.client(*self.cli, "-n", 5, stdin=b"FLUSHDB\n" + inputs.REDIS.encode())

    def stop(self):
        self.run.client(*self.cli, "shutdown", "nosave", expect=None)


class Nginx(Service):
    def start(self):
        self.run.start(write_nginx(self.run))
        self.run.wait_port()
        self.load = Load(["ab", "-k", "-q", "-n", 200000, "-c", 8,
                          f"http://127.0.0.1:{self.run.port}/words.txt"], again=True)  # fmt: skip

    def pids(self):
        return children_of(self.run.process.pid)

    def answers(self):
        return nginx_answers(self.run)

    def stop(self):
        self.run.kill(signal.SIGQUIT)


class Postgres(Service):
    """A backend of pgbench, mostly; the postmaster and its helpers too."""

    def start(self):
        run, binaries = self.run, postgres_bin()
        run.as_user("postgres")
        as_postgres = {"user": run.user.pw_uid, "group": run.user.pw_gid, "extra_groups": []} if run.user else {}
        data = run.work / "data"
        run.client(binaries / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync",
                   cwd=run.work, **as_postgres)  # fmt: skip
        run.start([binaries / "postgres", "-D", data, "-k", run.work, "-p", run.port,
                   "-c", "listen_addresses=", "-c", "fsync=off"])  # fmt: skip
        self.reach = ["-h", run.work, "-p", run.port, "-U", "postgres"]
        run.wait_until(lambda: run.client(binaries / "pg_isready", *self.reach), "the server")
        self.psql = [binaries / "psql", *self.reach, "-Xqt", "-c"]
        run.client(binaries / "pgbench", *self.reach, "-i", "-s", 2, "-q", "postgres")
        self.load = Load([binaries / "pgbench", *self.reach, "-n", "-c", 4, "-j", 2, "-T", 36000, "postgres"])

    def pids(self):
        backends = [pid for pid in children_of(self.run.process.pid) if self.is_backend(pid)]
        return backends * 3 + [self.run.process.pid, *children_of(self.run.process.pid)]

    @staticmethod
    def is_backend(pid):
        with contextlib.suppress(OSError):
            return b"[local]" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        return False

    def answers(self):
        """Work in a new process, and sums that all the transactions keep equal."""
        return self.run.client(*self.psql, (
            "select count(*), md5(string_agg(t, '')) from (select repeat(md5(g::text), 20) t from"
            " generate_series(1, 3000) g order by 1) s;"
            "select sum(abalance) = (select sum(bbalance) from pgbench_branches) from pgbench_accounts"))

    def stop(self):
        self.run.kill(signal.SIGINT)


SERVICES = {"redis": Redis, "nginx workers": Nginx, "PostgreSQL": Postgres}
