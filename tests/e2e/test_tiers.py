# SPDX-License-Identifier: MIT
"""Tiers below exact (docs/tiers.md): what each finds."""

import collections
import subprocess

import pytest

from harness import BUILD, need, program
from running import finish, start, wait_until

# ---- leaks and growth ------------------------------------------------------------------------

# Bytes by the function that lost them, as the programs say.
LEAKS = {
    "leaky": ([BUILD / "examples" / "leaky"], {"receive_upload": 80 * 64}),
    "lists": ([BUILD / "programs" / "loses_lists", "0"], {"lose_lists": 3 * 64}),
    # A variable holds the last one. More than the first of a place, whose stacks are all walked, and enough
    # for a sample of the others.
    "few": ([BUILD / "programs" / "loses_many", "5000"], {"main": 4999 * 24}),
    "many": ([BUILD / "programs" / "loses_many", "500000"], {"main": 499999 * 24}),
}
PLANTED = {1001, 1002, 1003}
GROWS_AFTER_MS = 600


def tier_options(tier, rate):
    return ["--tier", tier, *([] if tier == "exact" else ["--sample-rate", rate])]


def lost_by_function(report):
    frames, found = report["frames"], collections.Counter()
    for leak in report["leaks"]:
        if leak["verdict"] == "LOST":
            found[frames[leak["frames"][0]]["function"]] += leak["bytes"]
    return dict(found)


def growing(report):
    """Each function on a stack that grows."""
    return {
        frame["function"]
        for context in report["contexts"]
        if context.get("growth", {}).get("verdict") == "GROWING"
        for frame in context["frames"]
    }


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("tier", ["exact", "counts"])
def test_what_is_lost_is_lost_where_all_is_counted(seep, tier, name):
    command, lost = LEAKS[name]
    assert lost_by_function(seep.record(command, ["--tier", tier]).main()) == lost


@pytest.mark.parametrize("name", LEAKS)
def test_a_sample_finds_nothing_lost(seep, name):
    report = seep.record(LEAKS[name][0], ["--tier", "sampled"]).main()
    assert lost_by_function(report) == {}
    assert "sampled" in {said["code"] for said in report["unseen"]}


@pytest.mark.parametrize("tier", ["exact", "counts", "sampled"])
def test_what_grows_is_named_in_each_tier(seep, tier):
    options = ["--growth-after", f"{GROWS_AFTER_MS}ms", *tier_options(tier, "4K")]
    recordings = seep.record([program("growth_list"), "10", "1"], options)
    found = growing(recordings.main())
    assert "append_audit" in found and "read_body" not in found


def run_redis(seep, tier, grow):
    """The report of a server with three planted leaks, while whose list grows for a while."""
    socket = seep.directory / "socket"
    server = start(seep, [need("redis-server"), "--port", "0", "--unixsocket", socket, "--save", "",
                          "--dir", seep.directory], *tier_options(tier, "64K"),
                   "--growth-after", f"{GROWS_AFTER_MS}ms", stdout=subprocess.DEVNULL,
                   env={"LD_PRELOAD": str(program("lib_leak_plant.so"))})  # fmt: skip

    def client(text):
        return subprocess.run([need("redis-cli"), "-s", socket], input=text, capture_output=True,
                              text=True, check=False).stdout

    try:
        wait_until(lambda: "PONG" in client("PING\n"), "the server")
        for batch in range(grow):
            client(f"LPUSH audit {'x' * 500}{batch}\n" * 1000)
    finally:
        client("SHUTDOWN NOSAVE\n")
        finish(server)
    return seep.load(seep.directory / "run.seep")


@pytest.mark.parametrize("tier", ["exact", "counts"])
def test_a_leak_planted_into_redis_is_lost(seep, tier):
    report = run_redis(seep, tier, 0)
    lost = {leak["bytes"] for leak in report["leaks"] if leak["verdict"] == "LOST"}
    # The first block of a slab is reached from what jemalloc knows of the slab.
    assert len(lost & PLANTED) >= 2, lost


def test_a_list_that_grows_in_redis_is_named_by_a_sample(seep):
    assert "pushGenericCommand" in growing(run_redis(seep, "sampled", 60))
