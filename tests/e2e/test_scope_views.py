# SPDX-License-Identifier: MIT
"""What people read of scopes, of a server whose tenant globex leaks: scope_server.c counts itself."""

import csv
import gzip
import json
import os
import re
import signal

import pytest

from harness import SEEP, program
from running import start, wait_until, watched
from screens import Screen
from top_watch import top_json

LINE = re.compile(r"^tenant=(\w+) entries=(\d+) held=(\d+) allocated=(\d+)$", re.M)
REQUESTS, SESSION = 400, 1000
TENANTS = ("acme", "globex", "initech", "umbrella")


@pytest.fixture
def server(seep):
    """A recording of 100 requests of each tenant, and what each tenant's figures are."""
    path = seep.directory / "server.seep"
    done = seep.command("run", "-q", "--no-leak-check", "-o", path, "--", program("scope_server"), str(REQUESTS))
    truth = {name: tuple(map(int, rest)) for name, *rest in LINE.findall(done.stdout.decode())}
    assert len(truth) == 4 and truth["globex"][1] == REQUESTS // 4 * SESSION
    return path, truth


def shown(seep, *arguments):
    done = seep.command(*arguments)
    assert done.status == 0, done.stderr.decode()
    return done.stdout.decode()


def rows(text, heading):
    """Cells of the table under the heading, by their first one, with the spaces before it."""
    lines = text[text.index(heading) :].splitlines()[1:]
    table = lines[: lines.index("")] if "" in lines else lines
    cells = [re.split(r"  +", line.strip()) for line in table]
    return {row[0]: row[1:] for row in cells}


def small(size):
    return f"{size} B" if size < 1024 else f"{size / 1024:.1f} KB" if size < 100 * 1024 else f"{size / 1024:.0f} KB"


@pytest.mark.fast
def test_a_report_lists_the_tags_with_all_that_was_done_under_them(seep, server):
    path, truth = server
    text = shown(seep, "report", path)
    assert "\nTag tenant=globex holds most: 97.7 KB, " in text
    found = rows(text, "TAG ")
    assert list(found)[0] == "tenant=globex"
    for name, (entries, held, allocated) in truth.items():
        assert found[f"tenant={name}"][0] == small(held)
        assert found[f"tenant={name}"][2:6] == ["-", small(allocated), str(entries), "0"]
    assert found["query"][4] == str(REQUESTS)
    assert re.search(r"100 blocks, .* malloc, scope tenant=globex$", text, re.M)
    # One place that all tenants allocate at, and free at once: what each did of it.
    peak = shown(seep, "report", path, "--by", "allocs")
    assert re.search(r"scopes: tenant=\w+/query 25\.0%, .* and 1 more$", peak, re.M)


def test_the_tree_of_scopes_tells_own_from_inclusive(seep, server):
    path, truth = server
    text = shown(seep, "report", path, "--scopes")
    below = text[text.index("TAG ") :].splitlines()
    assert [line.split()[0] for line in below[1:4]] == ["tenant=globex", "parse", "query"]
    assert [len(line) - len(line.lstrip()) for line in below[1:4]] == [0, 2, 2]
    assert rows(text, "TAG ")["tenant=globex"][:2] == [small(truth["globex"][1])] * 2
    # Each of four tenants has two.
    assert len(below[1 : below.index("")]) == 12


@pytest.mark.parametrize(
    "globs,live,allocs",
    [
        (["tenant=globex"], 100, 300),
        (["tenant=*"], 100, 900),
        (["query"], 0, 400),
        (["tenant=*", "!tenant=globex"], 0, 600),
        (["tenant=globex", "!parse"], 100, 200),
        (["*"], 100, 900),
    ],
)
def test_a_view_is_limited_to_what_was_open_anywhere_in_the_path(seep, server, globs, live, allocs):
    path, _ = server
    options = [word for glob in globs for word in ("--scope", glob)]
    report = seep.load(path, *options)
    assert sum(c["live_blocks"] for c in report["contexts"]) == live
    assert sum(c["allocs"] for c in report["contexts"]) == allocs
    text = shown(seep, "report", path, *options)
    assert f"Shown: scope {', '.join(globs)} only, " in text
    # Entries are those of scopes that are shown.
    if globs == ["tenant=globex"]:
        assert rows(text, "TAG ")["query"][4] == "100"
    for view in ("--tree", "--flat", "--raw", "--scopes"):
        shown(seep, "report", path, view, *options)


def test_scope_combines_with_module_and_says_what_is_there(seep, server):
    path, _ = server
    report = seep.load(path, "--scope", "query", "--module", "!scope_server")
    assert not report["contexts"]
    done = seep.command("report", path, "--scope", "tenant=globx")
    assert done.status == 2 and b"did you mean tenant=globex?" in done.stderr


def test_a_program_without_scopes_says_how_to_open_some(seep):
    recordings = seep.record([program("by_thread"), "20"], ["--no-leak-check"])
    assert "opened no scopes" in shown(seep, "report", recordings.path, "--scopes")
    assert "TAG" not in shown(seep, "report", recordings.path)
    done = seep.command("report", recordings.path, "--scope", "*")
    assert done.status == 2 and b"SEEP_SCOPE()" in done.stderr


def test_more_tags_than_are_shown_are_counted(seep):
    recordings = seep.record([program("scopes_rare"), "many"], ["--no-leak-check"])
    text = shown(seep, "report", recordings.path)
    assert len(rows(text, "TAG ")) == 9
    (more,) = re.findall(r"^\(([\d]+) more\)$", text, re.M)
    tags = {scope["tag"] for scope in recordings.main()["scopes"]}
    assert int(more) == len(tags) - 8
    assert len(rows(shown(seep, "report", recordings.path, "--full"), "TAG ")) == len(tags)


# ---- while it runs -------------------------------------------------------------------------


@pytest.fixture
def running(seep):
    """The pid of a server that serves until the end of the test."""
    with start(seep, [program("scope_server"), "0", "500"], "--no-leak-check") as run:
        (one,) = wait_until(lambda: watched(seep, "recorded"), "the server")
        try:
            yield one["pid"]
        finally:
            os.kill(one["pid"], signal.SIGKILL)


def test_top_tells_which_tenant_grows_and_how_fast(seep, running):
    document = top_json(seep, str(running), "--interval", "500ms")
    tags = {tag["tag"]: tag for tag in document["tags"]}
    leaking = tags.pop("tenant=globex")
    assert document["tags"][0]["tag"] == "tenant=globex"
    # Each request of it leaks one block; half a request may be seen.
    assert abs(leaking["held_bytes_per_s"] - leaking["entries_per_s"] * SESSION) <= 2 * 2 * SESSION
    assert leaking["entries_per_s"] > 50
    assert abs(leaking["inclusive"]["held_bytes"] - leaking["entries"] * SESSION) <= 3 * SESSION
    assert all(abs(tag["held_bytes_per_s"]) <= 2 * 2300 for tag in tags.values())
    assert tags["query"]["entries"] >= 3.9 * leaking["entries"]


@pytest.mark.parametrize(
    "glob,functions",
    [("tenant=globex", {"parse", "query", "open_session"}), ("query", {"query"}), ("!query", {"parse", "open_session"})],
)
def test_top_is_limited_to_a_scope(seep, running, glob, functions):
    document = top_json(seep, str(running), "--interval", "500ms", "--scope", glob)
    assert {c["blamed"]["function"] for c in document["contexts"]} == functions
    if glob == "query":
        assert {tag["tag"] for tag in document["tags"]} == {"query", *(f"tenant={n}" for n in TENANTS)}
        assert all(tag["inclusive"]["allocs"] for tag in document["tags"])


def test_the_screen_of_scopes_has_tags_and_is_sorted(seep, running, tmp_path):
    env = {"LC_ALL": "C.UTF-8", "TERM": "screen-256color", **seep.environment()}
    screen = Screen(tmp_path, 100, 24, [SEEP, "top", str(running), "--interval", "200ms", "--scope", "tenant=*"], env)
    try:
        screen.wait("open_session", ", scope tenant=*")
        screen.keys("6")
        text = screen.wait("GROWTH/s", "tenant=globex", "query", " live, +")
        first = text.splitlines()[4]
        assert re.match(r" +[\d.]+ [KM]?B +\+[\d.]+ KB +\S.* tenant=globex *$", first), text
        # By entries: those that all requests enter.
        screen.keys("s", "s")
        text = screen.wait("sorted by allocs")
        assert text.splitlines()[4].split()[-1] in ("parse", "query"), text
        screen.keys("q")
        assert screen.status() == 0
    finally:
        screen.close()
    text = shown(seep, "top", str(running), "--once", "--interval", "200ms")
    assert list(rows(text, "HELD  GROWTH"))[0].endswith("B") and "  tenant=globex\n" in text


# ---- in other programs, and compared -------------------------------------------------------


def test_exports_name_the_scope_of_each_stack(seep, server):
    path, truth = server
    lines = list(csv.DictReader(shown(seep, "export", path, "-t", "csv").splitlines()))
    found = {}
    for line in lines:
        name = line["scope"].split("/")[0]
        found[name] = found.get(name, 0) + int(line["alloc_bytes"])
    assert found.pop("") > 0
    assert found == {f"tenant={name}": figures[2] for name, figures in truth.items()}
    out = seep.directory / "server.pb.gz"
    shown(seep, "export", path, "-t", "pprof", "-o", out)
    # Of a label the key and the value are in the table of texts.
    texts = gzip.decompress(out.read_bytes())
    for below in ("scope", "tenant=globex", *(f"tenant={n}/{b}" for n in TENANTS for b in ("parse", "query"))):
        assert b"\x32" + bytes([len(below)]) + below.encode() in texts, below


def test_a_diff_compares_what_was_allocated_under_a_tag(seep, server):
    path, truth = server
    longer = seep.directory / "longer.seep"
    shown(seep, "run", "-q", "--no-leak-check", "-o", longer, "--", program("scope_server"), str(2 * REQUESTS))
    changes = {}
    for glob in ("tenant=globex", "tenant=acme", "!tenant=*"):
        document = json.loads(shown(seep, "diff", path, longer, "--json", "--by", "allocs", "--scope", glob))
        changes[glob] = sum(c["after"]["allocs"] - c["before"]["allocs"] for c in document["changes"])
    assert changes == {"tenant=globex": 300, "tenant=acme": 200, "!tenant=*": 0}
    live = json.loads(shown(seep, "diff", path, longer, "--json", "--scope", "tenant=globex"))
    assert live["totals"]["before"]["live_bytes"] == truth["globex"][1]
    assert live["totals"]["after"]["live_bytes"] == 2 * truth["globex"][1]
    done = seep.command("diff", path, longer, "--scope", "tenant=globx")
    assert done.status == 2 and b"did you mean tenant=globex?" in done.stderr
