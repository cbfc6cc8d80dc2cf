# SPDX-License-Identifier: MIT
"""A server of several tenants: who of them holds what is read while it runs, and is what it says itself."""

import os
import random
import re
import socket
import subprocess
import threading

import pytest

from harness import LIMIT_S, SEEP, SOURCE, by_path, need, program

TENANTS = [f"customer-{i}" for i in range(20)]


class Server:
    def __init__(self, seep, leaky):
        self.seep = seep
        words = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", "--"]
        self.run = subprocess.Popen([*words, program("tenant_server"), leaky], text=True,
                                    env=seep.environment(), stdout=subprocess.PIPE)
        self.pid, self.port = self.run.stdout.readline().split()

    def talk(self, lines, answers=True):
        with socket.create_connection(("127.0.0.1", int(self.port)), LIMIT_S) as connection:
            stream = connection.makefile("rw")
            for line in lines:
                stream.write(line + "\n")
                stream.flush()
                yield stream.readline().rstrip("\n") if answers else ""

    def client(self, seed, requests):
        choose = random.Random(seed)
        for _ in self.talk(f"{choose.choice(TENANTS)} /{seed}/{i}" for i in range(requests)):
            pass

    def load(self, seed, clients=8, requests=400):
        threads = [threading.Thread(target=self.client, args=(seed * clients + i, requests))
                   for i in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def truth(self):
        """By tenant: requests, and what is held of them."""
        (line,) = self.talk(["truth"])
        rows = (row.split() for row in line.split(";") if row)
        return {name: tuple(int(figure) for figure in figures) for name, *figures in rows}

    def seen(self):
        report = self.seep.load(self.pid)
        assert not report["unseen"]
        return report

    def close(self):
        list(self.talk(["quit"], answers=False))
        assert self.run.wait(LIMIT_S) == 0


def who_loses(server):
    """What the command of the page says: by path of tags, the bytes that are lost."""
    need("jq")
    page = (SOURCE / "docs" / "scopes-redis.md").read_text()
    (command,) = re.findall(r"^seep leaks .*?(?=^```)", page, re.M | re.S)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=LIMIT_S, check=True,
                          env={**os.environ, **server.seep.environment(), "PID": server.pid,
                               "PATH": f"{SEEP.parent}:{os.environ['PATH']}"})
    lines = (re.fullmatch(r"(.+): (\d+) bytes lost", line) for line in done.stdout.splitlines())
    return {line[1]: int(line[2]) for line in lines}


def settled(server):
    """By tenant, as truth(). Clients have their answers a moment before the workers end requests."""
    while True:
        scopes = [scope for scope in server.seen()["scopes"] if scope["parent"] is None]
        if not any(scope["active"] for scope in scopes):
            break
    return {
        scope["tag"].removeprefix("tenant="): (
            scope["entries"], scope["inclusive"]["held_blocks"], scope["inclusive"]["held_bytes"])
        for scope in scopes
    }


@pytest.mark.fast
def test_the_tenant_that_loses_memory_is_named_while_it_runs(seep):
    leaky = random.Random(4).choice(TENANTS)
    server = Server(seep, leaky)
    try:
        found = []
        for seed in (1, 2):
            server.load(seed)
            seen = settled(server)
            assert seen == server.truth()
            found.append(seen)
        grown = {name: found[1][name][2] - found[0][name][2] for name in TENANTS}
        assert [name for name in TENANTS if grown[name]] == [leaky]
        paths = by_path(server.seen())
        logs = [path for path in paths if path[-1] == "log"]
        assert len(logs) == len(TENANTS)
        assert [path for path in logs if paths[path]["held_bytes"]] == [(f"tenant={leaky}", "log")]
        assert who_loses(server).keys() == {f"tenant={leaky} > log"}
    finally:
        server.close()
