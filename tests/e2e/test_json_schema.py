# SPDX-License-Identifier: MIT
"""Every document that `seep report --json` prints follows docs/json-schema.json, and docs/json.md
describes every key in it."""

import json
import re

import pytest

import harness
from harness import SCHEMA
from json_schema import Validator

GOLDEN = harness.SOURCE / "tests" / "unit" / "golden"


def parse(text):
    """JSON as we mean it: a key stands once."""

    def pairs(items):
        keys = [key for key, _ in items]
        assert len(keys) == len(set(keys)), f"a key twice among {keys}"
        return dict(items)

    return json.loads(text, object_pairs_hook=pairs)


def check(document):
    assert Validator(SCHEMA, closed=True).errors(document) == []


def keys_of(schema):
    """Every property name that the schema knows."""
    if isinstance(schema, dict):
        for name, inner in schema.get("properties", {}).items():
            yield name
            yield from keys_of(inner)
        for keyword, inner in schema.items():
            if keyword != "properties":
                yield from keys_of(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from keys_of(inner)


@pytest.mark.fast
@pytest.mark.parametrize("name", ["report", "report_strings_top", "report_leaks", "report_leaks_all"])
def test_a_hand_built_document_is_valid(name):
    document = parse((GOLDEN / f"{name}.json").read_text())
    check(document)
    frames, modules = document["frames"], document["modules"]
    assert all(i < len(frames) for context in document["contexts"] for i in context["frames"])
    assert all(f["module"] is None or f["module"] < len(modules) for f in frames)
    for leak in document["leaks"]:
        assert all(i < len(frames) for i in leak["frames"])
        root = leak["root"]
        assert root is None or document["leaks"][root]["with_blocks"] == leak["blocks"]
    for context in document["contexts"]:
        for fold in context.get("folded", []):
            assert fold["from"] <= fold["to"] < len(context["frames"])


@pytest.mark.fast
def test_the_page_describes_every_key():
    page = (harness.SOURCE / "docs" / "json.md").read_text()
    described = set(re.findall(r"`([a-z_0-9]+)`", page))
    assert sorted(set(keys_of(SCHEMA)) - described) == []


@pytest.mark.fast
def test_the_page_describes_every_unseen_code():
    given_to = (r"add_unseen\(\s*[\w>-]+,|unseen_line\(json,|LEDGER_UNSEEN_\w+,"
                r"|\[(?:PROGRAMS_\w+|ELSEWHERE|BY_OTHER_NAMES)\] = {")
    place = re.compile(rf'(?:{given_to})\s*"([a-z-]+)"')
    codes = set()
    for source in (harness.SOURCE / "src").glob("*/*.c"):
        codes.update(place.findall(source.read_text()))
    header = (harness.SOURCE / "src" / "profile" / "profile.h").read_text()
    codes.update(re.findall(r'#define SEEP_UNSEEN_\w+ "([a-z-]+)"', header))
    page = (harness.SOURCE / "docs" / "json.md").read_text()
    table = page[page.index("\n`unseen`:") : page.index("\n## Questions")]
    rows = re.findall(r"^\| (`.*?) \|", table, re.M)
    described = set(re.findall(r"`([a-z-]+)`", " ".join(rows)))
    assert "stacks-cut" in codes and "other-allocator" in codes and "bound-elsewhere" in codes
    assert sorted(codes - described) == [] and sorted(described - codes) == []


@pytest.mark.fast
@pytest.mark.parametrize(
    "change, complaint",
    [
        (lambda d: d["totals"].pop("allocs"), "allocs is missing"),
        (lambda d: d["totals"].update(allocs=-1), "below 0"),
        (lambda d: d["totals"].update(allocs=1 << 64), "above"),
        (lambda d: d["totals"].update(allocs=1.5), "is not"),
        (lambda d: d["totals"].update(surprise=1), "surprise is not in the schema"),
        (lambda d: d["process"].update(ended="maybe"), "is none of"),
        (lambda d: d["contexts"][0].update(hash="xyz"), "does not match"),
        (lambda d: d["frames"][0].update(line=True), "is not"),
        (lambda d: d["contexts"][0]["frames"].append(-1), "below 0"),
        (lambda d: d["seep"].update(schema=1), "is not 3"),
    ],
)
def test_the_validator_sees_what_is_wrong(change, complaint):
    document = parse((GOLDEN / "report.json").read_text())
    change(document)
    errors = Validator(SCHEMA, closed=True).errors(document)
    assert len(errors) == 1 and complaint in errors[0]


@pytest.mark.fast
@pytest.mark.parametrize("options", [(), ("--json=strings",)])
def test_a_recorded_program_gives_a_valid_document(seep, options):
    _, recordings = seep.run([harness.program("api_all")])
    done = seep.command("report", recordings.path, *(options or ("--json",)))
    assert done.status == 0, done.stderr.decode(errors="replace")
    document = parse(done.stdout)
    check(document)
    number = str if options else int
    assert isinstance(document["totals"]["allocs"], number)
    assert document["contexts"]


def test_a_thousand_arguments_are_all_in_the_document(seep):
    words = [str(i) for i in range(1000)]
    _, recordings = seep.run(["/bin/true", *words])
    assert recordings.main()["process"]["argv"] == ["/bin/true", *words]


def test_arguments_that_are_too_long_are_said_to_be_cut(seep):
    words = ["x" * 40000, "y" * 40000]
    _, recordings = seep.run(["/bin/true", *words])
    document = recordings.main()
    check(document)
    assert document["process"]["argv"] == ["/bin/true", words[0]]
    assert "arguments-cut" in {line["code"] for line in document["unseen"]}
    report = seep.command("report", "--full", recordings.path)
    assert ("x" * 40000 + " …").encode() in report.stdout.replace(b"\n  ", b"")


def test_a_hostile_argv_survives_the_document(seep):
    words = ["\x1b[31m", "tab\there", b"\xff\xfe not UTF-8", "back\\x41slash", "grün"]
    _, recordings = seep.run(["/bin/true", *words])
    document = recordings.main()
    check(document)
    raw = [word if isinstance(word, bytes) else word.encode() for word in words]
    assert [unescape(word) for word in document["process"]["argv"][1:]] == raw


def unescape(text):
    """The bytes that docs/json.md says a string stands for."""
    out = b""
    for part in re.split(r"(\\x[0-9a-f]{2})", text):
        out += bytes([int(part[2:], 16)]) if re.fullmatch(r"\\x[0-9a-f]{2}", part) else part.encode()
    return out


def test_top_leaves_contexts_out_and_says_so(seep):
    _, recordings = seep.run([harness.program("api_all")])
    done = seep.command("report", recordings.path, "--json", "--top", "1", "--by", "allocs")
    document = parse(done.stdout)
    check(document)
    assert len(document["contexts"]) == 1
    assert "contexts-left-out" in [line["code"] for line in document["unseen"]]
