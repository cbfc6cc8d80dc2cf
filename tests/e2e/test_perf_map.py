# SPDX-License-Identifier: MIT
"""Generated code has the names that a perf map gives it, and the map is anybody's file."""

import pathlib

import pytest

from harness import check_truth, contexts_of, functions, need, record_with_truth

FIRST = "JS:*first thing /a b.js:1"
SECOND = "\x1b[31msecond"


@pytest.fixture(autouse=True)
def maps_of_this_test():
    """The place of a map is given: /tmp. Those of plain and recorded runs go when the test ends."""
    before = set(pathlib.Path("/tmp").glob("perf-*.map"))
    yield
    for path in set(pathlib.Path("/tmp").glob("perf-*.map")) - before:
        pid = path.name.removeprefix("perf-").removesuffix(".map")
        if not pathlib.Path("/proc", pid).exists():
            path.unlink(missing_ok=True)


def record(seep, kind):
    """The recording, and the names of what called `allocates`."""
    recordings, truth = record_with_truth(seep, "generated_map", kind)
    report = recordings.main()
    check_truth(report, truth)
    callers = []
    for context in contexts_of(report, "allocates"):
        names = functions(context)
        callers.append(names[names.index("allocates") + 1])
    return report, sorted(callers, key=str)


@pytest.mark.parametrize("kind", ["map", "odd", "killed"])
def test_a_map_names_generated_code_and_its_last_line_counts(seep, kind):
    report, callers = record(seep, kind)
    assert callers == sorted([FIRST, SECOND])
    (context, _) = contexts_of(report, "allocates")
    frame = context["frames"][1]
    assert frame["module"] == "[perf map]"
    assert frame["offset"] == frame["address"]


def test_a_hash_does_not_depend_on_where_the_code_was(seep):
    hashes = [
        sorted(c["hash"] for c in contexts_of(record(seep, "map")[0], "allocates"))
        for _ in range(2)
    ]
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_what_is_no_plain_file_is_no_map(seep, kind):
    _, callers = record(seep, kind)
    assert callers == [None, None]


def test_names_never_reach_a_terminal_raw(seep):
    recordings, _ = record_with_truth(seep, "generated_map", "map")
    text = seep.command("report", recordings.path, "--by", "allocs").stdout
    assert b"second" in text
    assert b"\x1b[31m" not in text


def test_javascript_has_its_names(seep):
    script = seep.directory / "work.js"
    script.write_text(
        "function outermost() { return innermost(); }\n"
        "function innermost() { return require('zlib').deflateSync(Buffer.alloc(9999)).length; }\n"
        "console.log(outermost());\n"
    )
    command = [need("node"), "--perf-basic-prof", "--interpreted-frames-native-stack", script]
    result, recordings = seep.run(command, cwd=seep.directory)
    assert (result.status, result.stderr) == (0, b"")
    report = recordings.main()
    stacks = [functions(context) for context in report["contexts"]]
    assert any(
        "innermost" in (inner or "") and "outermost" in (outer or "")
        for names in stacks
        for inner, outer in zip(names, names[1:])
    )
