# SPDX-License-Identifier: MIT
"""Another process finds every live block of a program, and no other, in the program's memory."""

import json
import subprocess

import pytest

from harness import LIMIT_S, program
from running import start
from test_allocators import library


def read_list(stream):
    """One process's pid and its blocks, {address: (size, family)}."""
    pid = int(stream.readline())
    blocks = {}
    while (line := stream.readline().split()) != [b"."]:
        assert line, "the program ended"
        blocks[int(line[0], 16)] = (int(line[1]), int(line[2]))
    return pid, blocks


def walk(seep, pid):
    """What is found from outside: {address: (size, family)}, and of whose rows."""
    (ledger,) = [p for p in seep.ledger_dir.glob("*.ledger*") if p.name.split(".")[1] == str(pid)]
    done = subprocess.run(
        [program("block_walker"), str(pid), ledger],
        stdout=subprocess.PIPE,
        check=True,
        timeout=LIMIT_S,
    )
    first_row, *lines = done.stdout.decode().splitlines()
    found, own = {}, 0
    for line in lines:
        address, size, row, family = (int(w, 16 if i == 0 else 10) for i, w in enumerate(line.split()))
        assert address not in found
        found[address] = (size, family)
        own += row >= int(first_row)
    totals = json.loads(seep.command("report", ledger, "--json", "--top", "1").stdout)["totals"]
    assert totals["live_blocks"] == own
    return found, own


@pytest.mark.fast
def test_all_live_blocks_are_found_from_outside(seep):
    run = start(seep, [program("live_blocks")], stdin=subprocess.PIPE)
    pid, blocks = read_list(run.stdout)
    assert len(blocks) > 800 and max(size for size, _ in blocks.values()) > 1 << 30
    child, childs = read_list(run.stdout)
    found, own = walk(seep, pid)
    assert found == blocks
    assert own == len(blocks)
    found, own = walk(seep, child)
    assert found == childs
    assert 0 < own < len(childs), "some of them are the parent's"
    run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0


@pytest.mark.parametrize("allocator", ["jemalloc", "mimalloc"])
def test_so_are_those_of_other_allocators(seep, allocator):
    preload = {"LD_PRELOAD": str(library(allocator))}
    run = start(seep, [program("live_blocks")], stdin=subprocess.PIPE, env=preload)
    pid, blocks = read_list(run.stdout)
    read_list(run.stdout)
    found, _ = walk(seep, pid)
    assert blocks.items() <= found.items()
    run.communicate(timeout=LIMIT_S)
