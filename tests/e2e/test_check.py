# SPDX-License-Identifier: MIT
"""What `seep check` finds in recordings of real programs, and that its files are what their readers
expect, whatever a program calls its functions."""

import json
import os
import re
import subprocess
import urllib.parse
import xml.etree.ElementTree
import xml.sax.saxutils

import pytest

import harness
from harness import SOURCE, program
from json_schema import Validator

GOLDEN = SOURCE / "tests/unit/golden"


def check(seep, *words, status=0, env=None):
    done = seep.command("check", *words, cwd=SOURCE, env=env)
    assert done.status == status, (done.stdout + done.stderr).decode()
    return (done.stderr if done.status == 2 and not done.stdout else done.stdout).decode()


def outcome(seep, budget, path, *words):
    """Whether the one recording keeps to the budget, and what is said of it."""
    done = seep.command("check", "-b", budget, *words, path, cwd=SOURCE)
    line = rf"^  (kept|BROKEN|NOT KNOWN) +{re.escape(budget)}: (.*)$"
    (found,) = re.findall(line, done.stdout.decode(), re.M)
    assert done.status == {"kept": 0, "BROKEN": 1, "NOT KNOWN": 2}[found[0]]
    return found


@pytest.fixture
def leaky(seep):
    """loses_lists: 3 + 15 blocks lost, 1 kept."""
    return seep.run([program("loses_lists")])[1].path


def test_how_many_call_stacks_a_full_ledger_has_lost_is_not_known(seep):
    command = [program("leak/gcc-O0/leak_graph"), "many_stacks"]
    path = seep.run(command, ["-q"], env={"SEEP_OPTIONS": "ledger_max=256K"})[1].path
    assert outcome(seep, "leaks<=8000", path)[0] == "kept"
    assert outcome(seep, "leaks<=7999", path)[0] == "NOT KNOWN"
    assert outcome(seep, "leaks<=1", path)[0] == "BROKEN"


@pytest.mark.fast
def test_a_leak_fails_and_is_named(seep, leaky):
    text = check(seep, leaky, status=1)
    assert re.search(r"\n  BROKEN     leaks<=0: 1 leak\n    LOST: 912 B in 18 blocks, hash:[0-9a-f]{16}\n"
                     r" +lose_lists +tests/programs/loses_lists\.c:40\n", text.replace(f"{SOURCE}/", ""))
    assert text.endswith("\nFailed: 1 broken, 0 not known, 0 kept\n")


@pytest.mark.fast
def test_a_program_within_its_budgets_passes(seep):
    path = seep.run([program("temporaries")])[1].path
    text = check(seep, "-b", "leaks<=0", "-b", "peak<=1GB", path)
    assert re.fullmatch(rf"{path}: temporaries \(pid \d+\)\n"
                        r"  kept       leaks<=0: 0 leaks\n"
                        r"  kept       peak<=1GB: [\d.]+ [KM]?B\n"
                        r"Passed: 0 broken, 0 not known, 2 kept\n", text)


def test_figures_are_those_of_the_report(seep, leaky):
    totals = harness.Recordings(seep, leaky.parent).main()["totals"]
    for budget, value in {
        "peak": totals["peak_bytes"], "live": totals["live_bytes"], "allocs": totals["allocs"],
        "temporary": totals["temporary"], "lost": 912, "leaks": 1,
        "function:make_list:allocs": 15, "function:lose_lists:allocs": 18, "function:lose_*:live": 912,
        "module:loses_lists:lost": 912, "module:libc.so*:leaks": 0,
    }.items():
        assert outcome(seep, f"{budget}<={value}", leaky)[0] == "kept", budget
        if value > 0:
            assert outcome(seep, f"{budget}<={value - 1}", leaky)[0] == "BROKEN", budget


def test_a_suppressed_leak_passes(seep, leaky):
    rules = seep.directory / "known.supp"
    rules.write_text("leak:lose_lists\n")
    assert outcome(seep, "leaks<=0", leaky, "--suppressions", rules) == ("kept", "0 leaks")


@pytest.mark.parametrize("words, complaint", [
    (["-b", "pea<=1"], "'pea<=1': 'pea' is no measure; did you mean peak?"),
    (["-b", "peak<=\x1b[31m"], "'peak<=\\x1b[31m': '\\x1b[31m' is not a size"),
    (["-b", "leaks<=0.5"], "'leaks<=0.5': '0.5' is not a whole number"),
    (["-b", "live<=+5%"], "'live<=+5%' needs a --baseline"),
    (["--baseline", "/no/such.seep"], "/no/such.seep: no such file"),
    (["--suppressions", "/no/such"], "/no/such: no such file"),
])
def test_wrong_use_is_said(seep, leaky, words, complaint):
    assert complaint in check(seep, *words, leaky, status=2)


def test_a_recording_is_never_replaced(seep, leaky):
    for option in ("--sarif", "--junit"):
        done = seep.command("check", option, leaky, leaky)
        assert done.status == 2 and b"is a recording" in done.stderr
    before = leaky.read_bytes()
    env = {"GITHUB_STEP_SUMMARY": str(leaky)}
    done = seep.command("check", "--github", leaky, env=env)
    assert done.status == 2 and b"is a recording" in done.stderr
    assert leaky.read_bytes() == before


def test_two_results_do_not_go_to_one_file(seep, leaky):
    out = seep.directory / "out"
    words = ["--junit", out, "--sarif", f"{seep.directory}/./out", leaky]
    assert "--junit and --sarif are one file" in check(seep, *words, status=2)
    assert not out.exists()


# ---- what is not known ---------------------------------------------------------------------------


def test_a_killed_program_does_not_pass(seep):
    path = seep.run([program("loses_lists"), "signal", "9"])[1].path
    assert outcome(seep, "leaks<=0", path) == ("NOT KNOWN", "not scanned for leaks: it was killed by SIGKILL")
    text = check(seep, "--allow-unknown", path)
    assert text.endswith("\nPassed: 0 broken, 1 not known (allowed), 0 kept\n")


def test_a_damaged_or_missing_recording_never_passes(seep, leaky):
    damaged = seep.directory / "damaged.seep"
    damaged.write_bytes(leaky.read_bytes()[:5000])
    for path in (damaged, seep.directory / "none.seep", seep.directory):
        assert f"seep check: {path}: " in check(seep, "--allow-unknown", leaky, path, status=2)


def test_a_program_that_was_not_recorded_does_not_pass(seep):
    _, recordings = seep.run([program("loses_lists")], options=["--mode", "off"])
    assert outcome(seep, "live<=1GB", recordings.path)[0] == "NOT KNOWN"


def test_growth_fails_and_is_not_known_where_nobody_judged_it(seep, leaky):
    assert outcome(seep, "growth<=0", leaky)[0] == "NOT KNOWN"
    path = seep.run([program("growth_list"), "10", "1"], options=["--growth-after", "600ms"])[1].path
    assert outcome(seep, "growth<=0", path)[0] == "BROKEN"
    assert "tests/programs/growth_list.c:" in check(seep, "-b", "growth<=0", path, status=1)
    assert outcome(seep, "function:append_audit:growth<=0", path)[0] == "BROKEN"
    assert outcome(seep, "function:read_body:growth<=0", path)[0] == "kept"
    assert outcome(seep, "growth<=0", path, "--baseline", path)[0] == "kept"


def test_a_stripped_program_has_no_functions_to_name(seep):
    bare = seep.directory / "bare"
    subprocess.run([harness.need("strip"), "-o", bare, program("loses_lists")], check=True)
    path = seep.run([bare])[1].path
    result, why = outcome(seep, "function:make_list:allocs<=10", path)
    assert result == "NOT KNOWN" and "more may belong to it" in why
    assert outcome(seep, "function:make_list:allocs<=100", path)[0] == "kept"
    assert outcome(seep, "module:bare:lost<=911", path)[0] == "BROKEN"


def test_a_place_that_names_nothing_is_said(seep, leaky):
    assert outcome(seep, "function:loose_lists:lost<=0", leaky) == (
        "kept", "0 B; no call stack passes through it")


# ---- several processes ---------------------------------------------------------------------------


def test_the_children_of_a_run_are_checked_too(seep):
    _, recordings = seep.run(["sh", "-c", f"/bin/true; {program('loses_lists')}"])
    found = re.findall(r"^\S+: (\S+) \(pid \d+\)\n  (\S+)", check(seep, recordings.path, status=1), re.M)
    shell = recordings.main()["process"]["exe"].rsplit("/", 1)[1]
    assert sorted(found) == sorted([(shell, "kept"), ("true", "kept"), ("loses_lists", "BROKEN")])
    check(seep, "--no-children", recordings.path)
    check(seep, "--baseline", recordings.path, recordings.path)
    for child in recordings.paths()[1:]:
        child.unlink()
    assert "no such file" in check(seep, recordings.path, status=2)


def test_several_recordings_give_one_result(seep, leaky):
    clean = seep.run([program("temporaries")])[1].path
    text = check(seep, clean, leaky, clean, status=1)
    assert text.endswith("\nFailed: 1 broken, 0 not known, 2 kept\n")


# ---- baselines -----------------------------------------------------------------------------------


def test_known_leaks_pass_and_new_ones_fail(seep, leaky):
    again = seep.run([program("loses_lists")])[1].path
    base = ["--baseline", leaky]
    assert outcome(seep, "leaks<=0", again, *base) == ("kept", "0 leaks")
    check(seep, *base, "-b", "live<=+0", "-b", "lost<=+1%", again)
    clean = seep.run([program("temporaries")])[1].path
    assert outcome(seep, "leaks<=0", leaky, "--baseline", clean)[0] == "BROKEN"
    assert outcome(seep, "live<=+5%", leaky, "--baseline", clean) == (
        "NOT KNOWN", "the baseline has no recording of this program")


def test_more_of_a_known_leak_fails_a_relative_limit(seep):
    source = seep.directory / "more.c"
    source.write_text("#include <stdlib.h>\nvoid *volatile p;\n"
                      "__attribute__((noinline)) void lose(void) { p = malloc(1000); }\n"
                      "int main(int c, char **v) { for (int i = 0; i < c; i++) lose();\n"
                      "p = 0; return (int)(long)p; }\n")
    built = seep.directory / "more"
    subprocess.run([harness.need("cc"), "-g", "-O1", "-o", built, source], check=True)
    before = seep.run([built])[1].path
    after = seep.run([built, "x", "x"])[1].path
    base = ["--baseline", before]
    assert outcome(seep, "lost<=+99%", after, *base) == (
        "BROKEN", "2.9 KB, 1010 B more than the budget; the baseline has 1000 B")
    assert outcome(seep, "lost<=+2000", after, *base)[0] == "kept"
    assert outcome(seep, "function:lose:allocs<=+1", after, *base)[0] == "BROKEN"
    # Without a relative limit, too: what is known is so much of it, not whatever it becomes.
    assert outcome(seep, "leaks<=0", after, *base) == ("BROKEN", "1 leak; 1 known leak grew")
    assert outcome(seep, "lost<=0", after, *base) == (
        "BROKEN", "2.9 KB; 1 known leak grew")
    assert outcome(seep, "leaks<=1", after, *base) == ("kept", "1 leak; 1 known leak grew")
    said = "LOST: 2.9 KB in 3 blocks, grown from 1000 B in 1 block, hash:"
    sarif, junit = (seep.directory / name for name in ("s.sarif", "j.xml"))
    assert f"    {said}" in check(seep, *base, "--sarif", sarif, "--junit", junit, after, status=1)
    assert read_sarif(sarif.read_text())["results"][0]["message"]["text"].startswith(f"more: {said}")
    assert said in junit.read_text()
    for path in (before, seep.run([built, "x"])[1].path):
        assert outcome(seep, "leaks<=0", path, *base) == ("kept", "0 leaks"), "one block more is noise"
    assert outcome(seep, "leaks<=0", before, "--baseline", after) == ("kept", "0 leaks"), "or less"


# ---- files for others ----------------------------------------------------------------------------

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def record(required, **optional):
    return {"type": "object", "properties": {**required, **optional}, "required": list(required)}


def listed(item):
    return {"type": "array", "items": item}


LOCATION = record({"physicalLocation": record(
    {"artifactLocation": record({"uri": {"type": "string", "pattern": r"^[A-Za-z0-9._~/%:-]+$"}},
                                uriBaseId={"const": "%SRCROOT%"})},
    region=record({"startLine": {"type": "integer", "minimum": 1}}))})
# What of SARIF 2.1.0's objects seep writes, as section 3 of the standard has them.
SARIF = record({
    "$schema": {"type": "string"},
    "version": {"const": "2.1.0"},
    "runs": listed(record({
        "tool": record({"driver": record({
            "name": {"const": "seep"},
            "version": {"type": "string"},
            "rules": listed(record({"id": {"type": "string"}, "shortDescription": TEXT, "help": TEXT})),
        })}),
        "originalUriBaseIds": record({"%SRCROOT%": record({"uri": {"type": "string",
                                                                   "pattern": "^file:///(.*/)?$"}})}),
        "results": listed(record({
            "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": 0},
            "kind": {"enum": ["fail", "open"]}, "level": {"enum": ["error", "none"]},
            "message": TEXT, "locations": listed(LOCATION),
            "partialFingerprints": record({}, **{
                "stackHash/v1": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
                "budget/v1": {"type": "string"}})},
            relatedLocations=listed(record({**LOCATION["properties"], "message": TEXT})))),
    })),
})


def read_sarif(text):
    found = json.loads(text)
    assert Validator(SARIF, closed=True).errors(found) == []
    (run,) = found["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert len(result["locations"]) == 1
        assert (result["kind"] == "open") == (result["level"] == "none")
        # An unescaped bracket would begin a link.
        assert not re.search(r"(?<!\\)(\\\\)*[\[\]]", result["message"]["text"])
    return run


def read_commands(text):
    """GitHub's workflow commands, as its runner reads lines of output: (command, properties, message)."""
    found, stopped = [], None
    for line in text.split("\n"):
        line = line.lstrip()
        match = re.match(r"::([^ :]+)(?: ([^:]*))?::(.*)", line)
        if not match:
            assert stopped or "##[" not in line
            continue
        command, properties, message = match.groups()
        if stopped:
            stopped = None if command == stopped else stopped
        elif command == "stop-commands":
            stopped = message
        else:
            pairs = dict(p.split("=", 1) for p in properties.split(",")) if properties else {}
            found.append((command, {k: unescape(v) for k, v in pairs.items()}, unescape(message)))
    assert stopped is None
    return found


def unescape(text):
    return re.sub("%(0A|0D|25|3A|2C)", lambda m: chr(int(m[1], 16)), text)


def test_the_files_say_what_the_text_says(seep, leaky):
    sarif, junit = (seep.directory / name for name in ("s.sarif", "j.xml"))
    budgets = ["-b", "leaks<=0", "-b", "peak<=1KB", "-b", "live<=1MB", "-b", "growth<=0"]
    text = check(seep, *budgets, "--sarif", sarif, "--junit", junit, leaky, status=1)
    run = read_sarif(sarif.read_text())
    leak, peak, growth = run["results"]
    assert [r["ruleId"] for r in run["results"]] == ["leaks", "peak", "growth"]
    assert [r["kind"] for r in run["results"]] == ["fail", "fail", "open"]
    place = leak["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "tests/programs/loses_lists.c",
                                          "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 40}}
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == "file://" + urllib.parse.quote(f"{SOURCE}/")
    assert leak["message"]["text"].startswith("loses_lists: LOST: 912 B in 18 blocks, hash:")
    assert leak["partialFingerprints"]["stackHash/v1"] in text
    assert peak["message"]["text"].startswith("loses_lists: peak<=1KB: ")
    assert growth["message"]["text"].startswith("loses_lists: not known: growth<=0: growth was not judged")
    suite, = xml.etree.ElementTree.parse(junit).getroot()
    assert suite.attrib == {"name": str(leaky), "tests": "4", "failures": "2", "errors": "1"}
    assert [[c.tag for c in case] for case in suite] == [["failure"], ["failure"], [], ["error"]]
    assert "lose_lists" in suite[0][0].text
    check(seep, "-b", "growth<=0", "--allow-unknown", "--sarif", sarif, "--junit", junit, leaky)
    assert read_sarif(sarif.read_text())["results"] == []
    assert xml.etree.ElementTree.parse(junit).getroot()[0][0][0].tag == "skipped"


def test_fingerprints_are_the_same_in_another_run(seep, leaky):
    again = seep.run([program("loses_lists")])[1].path
    sarif = seep.directory / "s.sarif"
    found = []
    for path in (leaky, again):
        check(seep, "--sarif", sarif, path, status=1)
        found.append([r["partialFingerprints"] for r in read_sarif(sarif.read_text())["results"]])
    assert found[0] == found[1] and len(found[0]) == 1


def test_github_gets_annotations_and_a_summary(seep, leaky):
    summary = seep.directory / "summary.md"
    summary.write_text("before\n")
    text = check(seep, "--github", "-b", "growth<=0", "-b", "leaks<=0", leaky, status=1,
                 env={"GITHUB_STEP_SUMMARY": str(summary)})
    (warning, _, unknown), (error, at, message) = read_commands(text)
    assert (error, warning) == ("error", "warning")
    assert at == {"file": "tests/programs/loses_lists.c", "line": "40", "title": "leaks<=0"}
    assert message.startswith("loses_lists: LOST: 912 B in 18 blocks, hash:")
    assert "growth was not judged" in unknown
    assert summary.read_text().startswith("before\n### seep check\n")
    check(seep, "--github", leaky, status=1, env={"GITHUB_STEP_SUMMARY": ""})
    done = seep.command("check", "--github", "-b", "peak<=1GB", leaky,
                        env={"GITHUB_STEP_SUMMARY": "/no/such/file"})
    assert done.status == 2 and b"/no/such/file: No such file" in done.stderr


# The same hostile program in each format: tests/unit/test_check_report.c writes these files.


@pytest.mark.fast
def test_the_page_says_what_each_measure_is(seep):
    page = (SOURCE / "docs/check.md").read_text()
    help_text = seep.command("check", "-h").stdout.decode()
    names = re.search(r"MEASURE is ([a-z, ]+) or\s+(\w+)", help_text).group(1, 2)
    names = [*names[0].split(", "), names[1]]
    assert len(names) == 8 and [n for n in names if f"`{n}`" not in page] == []


@pytest.mark.fast
def test_hostile_names_stay_text_in_sarif():
    run = read_sarif((GOLDEN / "check.sarif").read_text())
    kinds = [result["kind"] for result in run["results"]]
    assert kinds.count("fail") > 4 and kinds.count("open") > 1
    first = re.sub(r"\\(.)", r"\1", run["results"][0]["message"]["text"])
    assert r"[group]\x1b[31m\xff" in first
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]}
    assert "src/a%3Ab%2Cc%25%5Cn%3A%3Aerror%3A%3Ad.c" in uris


@pytest.mark.fast
def test_a_finding_is_a_result_by_its_kind_with_the_place_of_its_block():
    run = read_sarif((GOLDEN / "check.sarif").read_text())
    rules = [result["ruleId"] for result in run["results"]]
    assert rules[-4:] == ["unknown-free", "mismatched-free", "double-free", "findings"]
    where, related = ([result.get(key, [{}])[0].get("physicalLocation", {}) for result in run["results"][-2:]]
                      for key in ("locations", "relatedLocations"))
    assert where[0]["region"] == {"startLine": 131} and related[0]["region"] == {"startLine": 120}
    assert related[0]["artifactLocation"]["uri"] == "src/load.cc"
    assert len({result["partialFingerprints"]["stackHash/v1"] for result in run["results"][-4:]}) == 4


@pytest.mark.fast
def test_hostile_names_stay_text_in_xml():
    root = xml.etree.ElementTree.fromstring((GOLDEN / "check_junit.xml").read_bytes())
    assert root.tag == "testsuites" and {suite.tag for suite in root} == {"testsuite"}
    for suite in root:
        tags = [child.tag for case in suite for child in case]
        assert int(suite.get("tests")) == len(suite)
        assert tags.count("failure") == int(suite.get("failures"))
        assert tags.count("error") == int(suite.get("errors")) > 0
        assert len(list(suite.iter())) == 1 + len(suite) + len(tags)
    assert "]]><!--</failure></code>|`x`**b**" in root[0].get("name")


@pytest.mark.fast
def test_hostile_names_give_github_no_command():
    commands = read_commands((GOLDEN / "check_github.txt").read_text())
    assert {c for c, _, _ in commands} == {"error", "warning"} and len(commands) == 10
    assert {tuple(at) for _, at, _ in commands} <= {("file", "line", "title"), ("title",)}
    assert any("]]><!--</failure></code>|`x`**b**[l](http://e)" in m for _, _, m in commands)


@pytest.mark.fast
def test_a_hostile_name_in_text_is_no_command_for_github(seep, leaky):
    """Text that it prints itself stands between a token nobody can guess and its end."""
    hostile = leaky.with_name("x\n::error::y.seep")
    os.link(leaky, hostile)
    text = check(seep, "--github", hostile, status=1)
    assert [c for c, _, _ in read_commands(text)] == ["error"]
    tokens = re.findall(r"^::stop-commands::(\w+)$", text, re.M)
    assert len(tokens) == 1 and f"\n::{tokens[0]}::\n" in text
    assert tokens[0] not in check(seep, "--github", hostile, status=1)


def test_hostile_names_stay_text_in_markdown():
    """As GitHub renders it."""
    done = subprocess.run([harness.need("cmark-gfm"), "--unsafe", "--extension", "table", "--extension",
                           "autolink", "--extension", "strikethrough", GOLDEN / "check_summary.md"],
                          stdout=subprocess.PIPE, check=True)
    html = done.stdout.decode()
    assert set(re.findall(r"</?([a-z0-9]+)", html)) == {"h3", "pre"}
    lines = (GOLDEN / "check.txt").read_text().splitlines()
    shown = html.split("<pre>\n")[1].split("</pre>")[0]
    assert xml.sax.saxutils.unescape(re.sub(r"&#(\d+);", lambda m: chr(int(m[1])), shown)
                                     ).splitlines() == lines
