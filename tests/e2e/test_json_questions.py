# SPDX-License-Identifier: MIT
"""Every line of jq in docs/json.md runs, and the answers are right."""

import collections
import json
import re
import subprocess

import pytest

import harness

PAGE = (harness.SOURCE / "docs" / "json.md").read_text()
BLOCKS = re.findall(r"```sh\n(jq .*?)```", PAGE, re.S)
GROWN = 123456


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """run.json of a program with threads; before.json and after.json differ in one context."""
    harness.need("jq")
    place = tmp_path_factory.mktemp("questions")
    seep = harness.Seep(place)
    _, recordings = seep.run([harness.program("api_all")], options=["--by-thread"])
    # Without its smallest context, so that there is something to say that is not there.
    document = recordings.load(recordings.path)
    top = str(len(document["contexts"]) - 1)
    text = seep.command("report", recordings.path, "--json", "--top", top).stdout
    (place / "run.json").write_bytes(text)
    (place / "before.json").write_bytes(text)
    after = json.loads(text)
    after["contexts"][0]["live_bytes"] += GROWN
    (place / "after.json").write_text(json.dumps(after))
    seep.close()
    return place


def ask(folder, block):
    command = ["sh", "-ec", block]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def block_with(text):
    (found,) = [block for block in BLOCKS if text in block]
    return found


def report_of(folder):
    return harness.read_report((folder / "run.json").read_text())


@pytest.mark.fast
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_every_block_of_the_page_answers(folder, number):
    assert ask(folder, BLOCKS[number]).strip()


@pytest.mark.fast
def test_each_line_of_a_block_answers(folder):
    for line in block_with("size_histogram").splitlines():
        assert ask(folder, line).strip(), line


@pytest.mark.fast
def test_live_bytes_by_function_are_those_of_the_contexts(folder):
    live = collections.Counter()
    for context in report_of(folder)["contexts"]:
        frames = context["frames"]
        live[(frames[0]["function"] or "?") if frames else "(no stack)"] += context["live_bytes"]
    rows = [line.split("\t") for line in ask(folder, block_with("(no stack)")).splitlines()]
    assert [int(value) for value, _ in rows] == [value for _, value in live.most_common(10)]
    assert all(live[name] == int(value) for value, name in rows)


@pytest.mark.fast
def test_totals_by_module_are_those_of_all_stacks(folder):
    contexts = [context for context in report_of(folder)["contexts"] if context["frames"]]
    rows = [line.split("\t") for line in ask(folder, block_with(".modules as $m")).splitlines()]
    assert sum(int(live) for live, _, _ in rows) == sum(c["live_bytes"] for c in contexts)
    assert sum(int(allocs) for _, allocs, _ in rows) == sum(c["allocs"] for c in contexts)


@pytest.mark.fast
def test_stacks_through_a_function_are_spelled_out(folder):
    rows = [json.loads(line) for line in ask(folder, block_with("any($f[.frames[]]; .function")).splitlines()]
    found = harness.contexts_of(report_of(folder), "main")
    assert [row["allocs"] for row in rows] == [context["allocs"] for context in found]
    for row, context in zip(rows, found):
        assert [line.rpartition(" ")[0] for line in row["stack"]] == [
            name or "?" for name in harness.functions(context)
        ]


@pytest.mark.fast
def test_what_grew_is_found_by_its_hash(folder):
    rows = ask(folder, block_with("before.json")).splitlines()
    functions = harness.functions(report_of(folder)["contexts"][0])
    assert [row.split("\t")[:2] for row in rows] == [[str(GROWN), functions[0]]]
