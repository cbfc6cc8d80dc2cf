# SPDX-License-Identifier: MIT
"""Below tier exact: sums are exact, estimates say how far off they are, and are never far more."""

import csv
import gzip
import json
import re
import shutil
import subprocess

import pytest

from harness import SEEP, program
from json_schema import Validator
from test_growth import growth_of
from test_json_schema import SCHEMA


def truth(stdout):
    return {name: int(value) for name, value in re.findall(r"(\w+) (\d+)", stdout.decode()) if "_one" in name}


def by_caller(report):
    """Live bytes and their error by the caller of wrapper(); leaks' bytes likewise."""
    found = {}
    for context in report["contexts"]:
        callers = [frame["function"] for frame in context["frames"]]
        if callers[:1] == ["wrapper"]:
            name = callers[1] if len(callers) > 1 else "site"
            held, error = found.get(name, (0, 0))
            found[name] = held + context["live_bytes"], error + context.get("estimate", {}).get("live_bytes", 0)
    return found


def record(seep, tier):
    done, recordings = seep.run([program("tier_truth")], ["--tier", tier, "--sample-rate", "64K"])
    assert done.status == 0, done.stderr
    return truth(done.stdout), recordings


@pytest.mark.parametrize("tier", ["counts", "sampled"])
def test_estimates_are_near_the_truth_and_say_how_near(seep, tier):
    held, recordings = record(seep, tier)
    report = recordings.load(recordings.path)
    document = seep.command("report", recordings.path, "--json").stdout
    assert Validator(SCHEMA, closed=True).errors(json.loads(document)) == []
    assert report["process"]["tier"] == tier and report["process"]["sample_bytes"] == 64 * 1024
    assert report["process"]["estimates_since_ns"] >= report["process"]["start_ns"]
    assert tier in {line["code"] for line in report["unseen"]}
    found = by_caller(report)
    for name, value in held.items():
        got, error = found[name]
        # 1.96 deviations are the error; twice that is not by chance.
        assert error > 0 and abs(got - value) <= 2 * error, (name, got, value, error)
    text = seep.command("report", recordings.path).stdout.decode()
    assert f"tier {tier}" in text and re.search(r"B ±[\d.]+ [KM]?B \(", text)


def test_in_tier_counts_sums_and_leaks_are_exact(seep):
    held, recordings = record(seep, "counts")
    report = recordings.main()
    assert "estimate" not in report["totals"]
    assert sum(held.values()) == sum(value for value, _ in by_caller(report).values())
    assert sum(leak["bytes"] for leak in report["leaks"] if leak["verdict"] == "LOST") == held["lose_one"]
    for leak in report["leaks"]:
        if leak["verdict"] == "LOST":
            assert report["frames"][leak["frames"][1]]["function"] == "lose_one"


def test_in_tier_sampled_nothing_is_said_of_leaks_and_all_allocations_are_counted(seep):
    _, recordings = record(seep, "sampled")
    report = recordings.load(recordings.path)
    assert report["leaks"] == [] and "tier sampled" in report["scan"]["why_not"]
    assert report["totals"]["counted_allocs"] >= 200000 + 66667 + 40000
    assert report["totals"]["estimate"]["live_bytes"] > 0


def test_budgets_on_estimates_are_refused_or_widened(seep):
    held, recordings = record(seep, "sampled")
    path = recordings.path
    done = seep.command("check", "-b", "live<=1KB", path)
    assert done.status == 2 and b"it is an estimate" in done.stdout
    widened = ["check", "--estimates", "widen"]
    done = seep.command(*widened, "-b", "live<=1KB", path)
    assert done.status == 1
    # Stacks have their errors, too: "1.2 MB ±0.1 MB in 300 ±20 blocks, hash:"
    assert re.search(r"±\S+ [KMG]?B in .* ±\S+( k)? blocks, hash:", done.stdout.decode())
    assert seep.command(*widened, "-b", f"live<={sum(held.values()) // 1024 * 3 // 4}KB", path).status in (0, 1)
    assert seep.command(*widened, "-b", "live<=100MB", path).status == 0
    # What was counted one by one is no estimate.
    assert seep.command("check", "-b", "allocs<=1M", path).status == 0


def test_a_change_within_the_error_is_said_to_be(seep):
    sides = [record(seep, "sampled")[1] for _ in range(2)]
    paths = [side.path for side in sides]
    done = seep.command("diff", *paths)
    assert b"within the error" in done.stdout, done.stdout
    sums = re.search(r"^Call stacks by bytes live: (.*)$", done.stdout.decode(), re.M)[1].split("; ")
    assert all("±" in each for each in sums), sums
    assert re.search(r", blocks [\d,]+( ±[\d,]+)? → [\d,]+ ±[\d,]+, malloc", done.stdout.decode())
    # What was counted one by one is no estimate.
    totals = json.loads(seep.command("diff", "--json", *paths).stdout)["totals"]
    for side, key in zip(sides, ["before", "after"], strict=True):
        assert totals[key]["allocs"] == side.load(side.path)["totals"]["counted_allocs"]
        assert "live_bytes" in totals[key]["estimate"] and "allocs" not in totals[key]["estimate"]


def test_a_tier_is_switched_while_it_runs(seep, tmp_path):
    path = tmp_path / "run.seep"
    words = [SEEP, "run", "-q", "-o", path, "--", program("tier_truth"), "half"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**seep.environment()}) as run:
        assert run.stdout.readline() == b"half\n"
        done = seep.command("mode", "tier_truth", "sampled")
        assert done.status == 0 and b"records a sample of its allocations" in done.stdout, done.stderr
        stdout, _ = run.communicate(b"\n")
    report = seep.load(path)
    process = report["process"]
    assert process["tier"] == "sampled" and process["mode"] == "all"
    assert process["estimates_since_ns"] > process["start_ns"]
    assert "from " in next(line["detail"] for line in report["unseen"] if line["code"] == "sampled")
    found = by_caller(report)
    for name, value in truth(stdout).items():
        got, error = found[name]
        # The first half is exact, and of the second nothing may have been taken.
        assert got >= value * 2 // 5
        assert abs(got - value) <= 2 * error or (error == 0 and abs(2 * got - value) <= value // 100)


def test_what_is_held_since_a_mark_has_its_error(seep, tmp_path):
    path = tmp_path / "run.seep"
    words = [SEEP, "run", "-q", "--tier", "sampled", "--sample-rate", "64K", "-o", path, "--",
             program("tier_truth"), "half"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**seep.environment()}) as run:
        assert run.stdout.readline() == b"half\n"
        assert seep.command("mark", "tier_truth", "half").status == 0
        stdout, _ = run.communicate(b"\n")
    done = seep.command("diff", f"{path}@half")
    assert re.search(r" ±\S+ \w+ in .* ±.* blocks of .*since the mark half", done.stdout.decode()), done.stdout
    held = json.loads(seep.command("diff", "--json", f"{path}@half").stdout)["totals"]["after"]
    assert 0 < held["estimate"]["live_bytes"] < held["live_bytes"] // 2
    assert abs(2 * held["live_bytes"] - sum(truth(stdout).values())) <= 4 * held["estimate"]["live_bytes"]


@pytest.mark.parametrize("tier", ["counts", "sampled"])
def test_exports_say_that_they_have_estimates(seep, tmp_path, tier):
    _, recordings = record(seep, tier)
    words = f"figures are estimates of tier {tier}"
    for form in ("speedscope", "heaptrack", "massif", "callgrind", "dhat", "folded", "jemalloc"):
        path = tmp_path / f"run.{form}"
        done = seep.command("export", recordings.path, "--to", form, "-o", path)
        data = path.read_bytes()
        text = (gzip.decompress(data) if form == "heaptrack" else data).decode()
        mute = form in ("folded", "jemalloc")
        assert done.status == 0 and (text.count(words), done.stderr.decode().count(words)) == (1 - mute, mute), form
    pprof = gzip.decompress(seep.command("export", recordings.path, "--to", "pprof").stdout)
    assert b"estimate" in pprof
    report = recordings.load(recordings.path)
    table = seep.command("export", recordings.path, "--to", "csv").stdout.decode()
    rows = {row["hash"]: row for row in csv.DictReader(table.splitlines())}
    for context in report["contexts"]:
        row = rows[context["hash"]]
        errors = {name[:-6]: int(row[name]) for name in row if name.endswith("_error")}
        assert {name: error for name, error in errors.items() if error} == context.get("estimate", {})


def test_exports_of_exact_figures_have_no_errors(seep):
    recordings = seep.record([program("tier_truth")])
    done = seep.command("export", recordings.path, "--to", "csv")
    assert b"_error" not in done.stdout
    assert seep.command("export", recordings.path, "--to", "folded").stderr == b""


def test_scopes_and_what_runs_say_which_figures_are_estimates(seep, tmp_path):
    recordings = seep.record([program("scope_truth"), tmp_path / "truth", "4", "20000", "1"],
                             ["--tier", "sampled", "--sample-rate", "4K"])
    report = recordings.load(recordings.path)
    for scope in report["scopes"]:
        for sums in (scope, scope["inclusive"]):
            # Of one that is large enough to be always taken nothing is estimated.
            assert sums["allocs"] < 100 or sums["estimate"]["allocs"] > 0
    for words in (["--scopes"], []):
        assert " ±" in seep.command("report", recordings.path, *words).stdout.decode()
    words = [SEEP, "run", "-q", "--tier", "sampled", "-o", tmp_path / "run.seep", "--", program("tier_truth"), "half"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=seep.environment()) as run:
        assert run.stdout.readline() == b"half\n"
        document = json.loads(seep.command("top", "tier_truth", "--once", "--json").stdout)
        run.communicate(b"\n")
    assert list(Validator(SCHEMA, closed=True).check(document, SCHEMA["$defs"]["top"], "$")) == []
    for part in (document["totals"], *document["processes"], *document["contexts"]):
        assert part["estimate"]["live_bytes"] > 0


GROWTH = [
    # program, tier, rate, what grows
    ("list", "counts", "64K", ["append_audit"]),
    ("list", "sampled", "4K", ["append_audit"]),
    ("queue", "counts", "64K", ["enqueue_message"]),
    ("rings", "counts", "64K", []),
    ("rings", "sampled", "64K", []),
    ("rings", "sampled", "4K", []),
    ("cache", "counts", "64K", []),
    ("cache", "sampled", "64K", []),
    ("rotation", "sampled", "64K", []),
]


@pytest.mark.parametrize(("name", "tier", "rate", "grows"), GROWTH)
def test_growth_is_no_noise(seep, name, tier, rate, grows):
    _, recordings = seep.run([program(f"growth_{name}"), "10", "1"],
                             ["--growth-after", "600ms", "--no-leak-check", "--tier", tier, "--sample-rate", rate])
    found = growth_of(recordings.load(recordings.path))
    assert list(found) == grows
    for growths in found.values():
        assert "about +" in growths[0][0]["evidence"]
        said = seep.command("check", "--estimates", "widen", "-b", "growth<=0", recordings.path).stdout.decode()
        assert re.search(r"GROWING: \+\S+ .B ±", said), said


FEW_LEAKS = """
#include <stdlib.h>
#define APART __attribute__((noinline)) static
APART void *wrapper(size_t bytes) { void *volatile block = malloc(bytes); return block; }
APART void *warm(size_t bytes) { void *volatile block = wrapper(bytes); return block; }
APART void *work(size_t bytes) { void *volatile block = wrapper(bytes); return block; }
APART void *leak(size_t bytes) { void *volatile block = wrapper(bytes); return block; }
int main(void)
{
    for (int i = 0; i < 2000; i++) free(warm(16));
    for (int i = 0; i < 300000; i++) {
        void *block = work(100);
        if (i % 300) free(block);
        if (i % 300 == 7) leak(100);
    }
}
"""


def test_what_was_not_walked_passes_no_budget(seep):
    """1,000 blocks each of work() and leak(), of which few stacks or none were walked."""
    (seep.directory / "few.c").write_text(FEW_LEAKS)
    built = seep.directory / "few"
    subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", seep.directory / "few.c", "-o", built],
                   check=True)
    recordings = [shutil.copy(seep.record([built], ["--tier", "counts"]).path, seep.directory / f"{i}.seep")
                  for i in range(4)]
    for recording in recordings:
        for budget in ("held{within=work}<=0", "held{within=leak}<=0", "leaks{within=leak}<=0",
                       "lost{within=work}<=0", "held{within=main}<=0"):
            done = seep.command("check", "-b", budget, recording)
            assert done.status != 0 and b"kept " not in done.stdout.replace(b"0 kept", b""), done.stdout
    for before, after in zip(recordings, recordings[1:]):
        done = seep.command("check", "--baseline", before, "-b", "leaks<=0", after)
        assert b"BROKEN" not in done.stdout, done.stdout
