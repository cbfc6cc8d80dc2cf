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
from harness import SCHEMA, SOURCE, program
from json_schema import Validator

GOLDEN = SOURCE / "tests/unit/golden"


def check(seep, *words, status=0, env=None):
    done = seep.command("check", *words, cwd=SOURCE, env=env)
    assert done.status == status, (done.stdout + done.stderr).decode()
    return (done.stderr if done.status == 2 and not done.stdout else done.stdout).decode()


def document(seep, *words, status=0):
    found = json.loads(check(seep, "--json", *words, status=status))
    assert Validator(SCHEMA, closed=True).errors_of(found, "check") == []
    return found


def outcome(seep, budget, path, *words):
    """The one outcome, whatever it is."""
    done = seep.command("check", "--json", "-b", budget, *words, path, cwd=SOURCE)
    found = json.loads(done.stdout)
    assert Validator(SCHEMA, closed=True).errors_of(found, "check") == []
    ((one,),) = [recording["outcomes"] for recording in found["recordings"]]
    assert done.status == {"kept": 0, "broken": 1, "not-known": 2}[one["result"]]
    return one


@pytest.fixture
def leaky(seep):
    """loses_lists: 3 + 15 blocks lost, 1 kept."""
    return seep.run([program("loses_lists")])[1].path


@pytest.mark.fast
def test_a_leak_fails_and_is_named(seep, leaky):
    text = check(seep, leaky, status=1)
    assert "BROKEN  leaks<=0: 1 leak\n" in text
    assert "LOST: 912 B in 18 blocks, hash:" in text
    assert re.search(r"lose_lists +tests/programs/loses_lists\.c:40\n", text.replace(f"{SOURCE}/", ""))
    assert text.endswith("\nBroken: 2 budgets, 1 recording: 1 broken, 0 not known, 1 kept\n")


@pytest.mark.fast
def test_a_program_without_leaks_passes_in_two_lines(seep):
    path = seep.run([program("temporaries")])[1].path
    text = check(seep, "--max-peak=1GB", "-b", "allocs<2M", path)
    assert re.fullmatch(r"Kept: allocs<2M \([\d,]+\), peak<=1GB \([\d.]+ [KM]?B\)\n"
                        r"Passed: 2 budgets, 1 recording\n", text)


def test_figures_are_those_of_the_report(seep, leaky):
    report = harness.Recordings(seep, leaky.parent).main()
    totals = report["totals"]
    for budget, value in {
        "peak<1": totals["peak_bytes"], "live<1": totals["live_bytes"],
        "blocks<1": totals["live_blocks"], "allocs<1": totals["allocs"],
        "allocated<1": totals["alloc_bytes"], "temporary<=0": totals["temporary"],
        "lost<1": 912, "leaks<1": 1,
        "function:make_list:allocs<1": 15, "function:lose_lists:allocs<1": 18,
        "own-function:lose_lists:allocs<1": 3, "function:lose_*:live<1": 912,
        "module:loses_lists:lost<1": 912, "own-module:libc.so*:leaks<=0": 0,
    }.items():
        assert outcome(seep, budget, leaky)["value"] == value, budget


@pytest.mark.parametrize("limit, status", [("911", 1), ("912", 0), ("1KB", 0)])
def test_limits_are_exact(seep, leaky, limit, status):
    assert check(seep, "--max-lost", limit, leaky, status=status)
    assert check(seep, "-b", f"lost<{limit}", leaky, status=int(limit != "1KB"))


def test_a_suppressed_leak_passes(seep, leaky):
    rules = seep.directory / "known.supp"
    rules.write_text("leak:lose_lists\n")
    assert "Kept: leaks<=0 (0)" in check(seep, "--suppressions", rules, leaky)


def test_budgets_come_from_a_file(seep, leaky):
    budgets = seep.directory / "budgets"
    budgets.write_text("# nightly\npeak<1MB\nleaks<=0 # none\n")
    assert "2 budgets, 1 recording: 1 broken, 0 not known, 1 kept" in check(
        seep, "--budgets", budgets, leaky, status=1)
    budgets.write_text("peak<1MB\npeak<\x1b[31m\n")
    complaint = check(seep, "--budgets", budgets, leaky, status=2)
    assert "budgets:2: 'peak<\\x1b[31m': '\\x1b[31m' is not a size" in complaint
    budgets.write_text("# none\n")
    assert "holds no budgets" in check(seep, "--budgets", budgets, leaky, status=2)


@pytest.mark.parametrize("words, complaint", [
    (["-b", "pea<1"], "did you mean peak?"),
    (["-b", "live<+5%"], "'live<+5%' needs a --baseline"),
    (["--max-peak", "much"], "'peak<=much': 'much' is not a size"),
    (["--leak-kinds", "list"], "--leak-kinds: 'list'"),
    (["--source-root", "/no/such"], "the source root /no/such: No such file"),
    (["--baseline", "/no/such.seep"], "/no/such.seep: no such file"),
    (["--json", "--github"], "only one of --json, --junit, --sarif and --github"),
])
def test_wrong_use_is_said(seep, leaky, words, complaint):
    assert complaint in check(seep, *words, leaky, status=2)


def test_a_recording_is_never_replaced(seep, leaky):
    assert "is a recording" in check(seep, "--sarif", leaky, leaky, status=2)
    assert "is a recording" in check(seep, "--junit", leaky, leaky, status=2)


# ---- what is not known ---------------------------------------------------------------------------


def test_a_killed_program_does_not_pass(seep):
    _, recordings = seep.run([program("loses_lists"), "signal", "9"])
    found = outcome(seep, "leaks<=0", recordings.path)
    assert found["code"] == "no-scan" and "SIGKILL" in found["reason"] and not found["passes"]
    assert "NOT KNOWN  leaks<=0: not scanned for leaks: it was killed by SIGKILL" in check(
        seep, recordings.path, status=2)
    check(seep, "--allow-unknown=no-growth,no-scan", recordings.path)
    check(seep, "--allow-unknown=no-growth", recordings.path, status=2)
    assert "Kept: leaks<=0 (not known), growth<=0 (not known)\n" in check(
        seep, "--allow-unknown", recordings.path)


def test_a_damaged_or_missing_recording_never_passes(seep, leaky):
    damaged = seep.directory / "damaged.seep"
    damaged.write_bytes(leaky.read_bytes()[:5000])
    for path in (damaged, seep.directory / "none.seep", seep.directory):
        text = check(seep, "--allow-unknown", path, status=2)
        assert text.startswith(f"{path}\n  NOT KNOWN  leaks<=0: {path}: "), text
        assert f"\n  NOT KNOWN  growth<=0: {path}: " in text
    # The others are checked all the same.
    assert "BROKEN  leaks<=0" in check(seep, damaged, leaky, status=1)


def test_a_program_that_was_not_recorded_does_not_pass(seep):
    _, recordings = seep.run([program("loses_lists")], options=["--mode", "off"])
    assert outcome(seep, "live<1GB", recordings.path)["code"] == "no-allocations"


def test_growth_that_nobody_judged_is_not_known_where_it_is_asked_for(seep, leaky):
    assert outcome(seep, "growth<=0", leaky)["code"] == "no-growth"
    by_default = document(seep, leaky, status=1)["recordings"][0]["outcomes"][1]
    assert (by_default["result"], by_default["passes"]) == ("not-known", True)


def test_what_grows_fails(seep):
    words = [program("growth_list"), "10", "1"]
    _, recordings = seep.run(words, options=["--growth-after", "600ms"])
    found = outcome(seep, "growth<=0", recordings.path)
    assert found["result"] == "broken" and found["value"] > 0
    (stack,) = found["stacks"]
    assert stack["path"] == "tests/programs/growth_list.c" and stack["below_root"]
    assert outcome(seep, "function:append_audit:growth<=0", recordings.path)["result"] == "broken"
    assert outcome(seep, "function:read_body:growth<=0", recordings.path)["result"] == "kept"
    check(seep, recordings.path, status=1)
    check(seep, "--baseline", recordings.path, recordings.path)


def test_a_stripped_program_has_no_functions_to_name(seep):
    bare = seep.directory / "bare"
    subprocess.run([harness.need("strip"), "-o", bare, program("loses_lists")], check=True)
    path = seep.run([bare])[1].path
    found = outcome(seep, "function:make_list:allocs<10", path)
    assert found["code"] == "unsure" and found["unsure"] >= 18
    assert outcome(seep, "function:make_list:allocs<100", path)["result"] == "kept"
    assert outcome(seep, "module:bare:lost<912", path)["result"] == "broken"


def test_a_place_that_names_nothing_is_said(seep, leaky):
    text = check(seep, "-b", "function:loose_lists:lost<=0", leaky)
    assert "No call stack is of the place that these name: function:loose_lists:lost<=0\n" in text


# ---- several processes ---------------------------------------------------------------------------


def test_the_children_of_a_run_are_checked_too(seep):
    _, recordings = seep.run(["sh", "-c", f"/bin/true; {program('loses_lists')}"])
    found = document(seep, recordings.path, status=1)
    results = {r["program"]: r["outcomes"][0]["result"] for r in found["recordings"]}
    assert results == {recordings.main()["process"]["exe"].rsplit("/", 1)[1]: "kept",
                       "true": "kept", "loses_lists": "broken"}
    check(seep, "--no-children", recordings.path)
    for child in recordings.paths()[1:]:
        child.unlink()
    assert "NOT KNOWN" in check(seep, recordings.path, status=2)


def test_several_recordings_give_one_result(seep, leaky):
    clean = seep.run([program("temporaries")])[1].path
    text = check(seep, "--no-leaks", clean, leaky, clean, status=1)
    assert text.endswith("Broken: 1 budget, 3 recordings: 1 broken, 0 not known, 2 kept\n")


# ---- baselines -----------------------------------------------------------------------------------


def test_known_leaks_pass_and_new_ones_fail(seep, leaky):
    assert "Kept: leaks<=0 (0)" in check(seep, "--baseline", leaky, leaky)
    clean = seep.run([program("temporaries")])[1].path
    check(seep, "--baseline", clean, leaky, status=1)


@pytest.mark.parametrize("more, status", [("+0", 0), ("+1%", 0)])
def test_limits_are_relative_to_the_baseline(seep, leaky, more, status):
    again = seep.run([program("loses_lists")])[1].path
    check(seep, "--baseline", leaky, "-b", f"live<={more}", "-b", f"lost<={more}", again, status=status)


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
    check(seep, *base, "-b", "leaks<=0", "-b", "lost<=0", after)
    found = outcome(seep, "lost<=+99%", after, *base)
    assert (found["value"], found["base"], found["limit"]) == (3000, 1000, 1990)
    assert outcome(seep, "lost<=+2000", after, *base)["result"] == "kept"
    assert outcome(seep, "function:lose:blocks<+2", after, *base)["result"] == "broken"


# ---- files for others ----------------------------------------------------------------------------

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def record(required, **optional):
    return {"type": "object", "properties": {**required, **optional}, "required": list(required)}


def listed(item):
    return {"type": "array", "items": item}


LOCATION = record(
    {},
    physicalLocation=record(
        {"artifactLocation": record({"uri": {"type": "string", "pattern": r"^[A-Za-z0-9._~/%:-]+$"}},
                                    uriBaseId={"const": "%SRCROOT%"})},
        region=record({"startLine": {"type": "integer", "minimum": 1}})),
    logicalLocations=listed(record({"fullyQualifiedName": {"type": "string"},
                                    "kind": {"const": "function"}})))
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
        "results": listed(record(
            {"ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": 0},
             "kind": {"enum": ["fail", "open"]}, "level": {"enum": ["error", "none"]},
             "message": TEXT, "locations": listed(LOCATION),
             "partialFingerprints": record({}, **{
                 "stackHash/v1": {"type": "string", "pattern": "^[0-9a-f]{16}:[0-9]+$"},
                 "budget/v1": {"type": "string", "pattern": "^[0-9a-f]{16}:[0-9]+$"}})},
            stacks=listed(record({"frames": listed(record({"location": LOCATION}))})))),
    })),
})


def read_sarif(text):
    found = json.loads(text)
    assert Validator(SARIF, closed=True).errors(found) == []
    (run,) = found["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    fingerprints = [json.dumps(r["partialFingerprints"]) for r in run["results"]]
    assert len(set(fingerprints)) == len(fingerprints)
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
    sarif, junit, plain = (seep.directory / name for name in ("s.sarif", "j.xml", "c.json"))
    check(seep, "--no-leaks", "--max-peak=1KB", "-b", "live<1MB", f"--json={plain}", "--sarif", sarif,
          "--junit", junit, leaky, status=1)
    run = read_sarif(sarif.read_text())
    leak, = [r for r in run["results"] if r["ruleId"] == "leaks"]
    assert [r["ruleId"] for r in run["results"]] == ["peak", "leaks"]
    place = leak["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "tests/programs/loses_lists.c",
                                          "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 40}}
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == "file://" + urllib.parse.quote(f"{SOURCE}/")
    stack, = [o["stacks"] for o in json.loads(plain.read_text())["recordings"][0]["outcomes"]
              if o["budget"] == "leaks<=0"]
    assert leak["partialFingerprints"] == {"stackHash/v1": stack[0]["hash"] + ":1"}
    names = [f["location"]["logicalLocations"][0]["fullyQualifiedName"]
             for f in leak["stacks"][0]["frames"]]
    assert names[:2] == ["lose_lists", "main"]
    suite, = xml.etree.ElementTree.parse(junit).getroot()
    assert suite.attrib == {"name": str(leaky), "tests": "3", "failures": "2", "errors": "0",
                            "skipped": "0"}
    assert [[c.tag for c in case] for case in suite] == [[], ["failure"], ["failure"]]
    assert "lose_lists" in suite[2][0].text


def test_fingerprints_are_the_same_in_another_run(seep, leaky):
    again = seep.run([program("loses_lists")])[1].path
    first, second = ([r["partialFingerprints"] for r in read_sarif(
        check(seep, "--sarif=-", "--no-leaks", path, status=1))["results"]] for path in (leaky, again))
    assert first == second and len(first) == 1


def test_github_gets_annotations_and_a_summary(seep, leaky):
    summary = seep.directory / "summary.md"
    summary.write_text("before\n")
    text = check(seep, "--github", "--no-leaks", "-b", "growth<=0", leaky, status=1,
                 env={"GITHUB_STEP_SUMMARY": str(summary)})
    (warning, _, unknown), (error, at, message) = read_commands(text)
    assert (error, warning) == ("error", "warning")
    assert at == {"file": "tests/programs/loses_lists.c", "line": "40", "title": "leaks<=0"}
    assert message == "loses_lists: LOST: 912 B in 18 blocks from lose_lists"
    assert "growth was not judged" in unknown
    assert summary.read_text().startswith("before\n### seep check: broken\n")
    check(seep, "--github", leaky, status=1, env={"GITHUB_STEP_SUMMARY": ""})
    done = seep.command("check", "--github", "--max-peak=1GB", leaky,
                        env={"GITHUB_STEP_SUMMARY": "/no/such/file"})
    assert done.status == 2 and b"/no/such/file: No such file" in done.stderr


# The same hostile program in each format: tests/unit/test_check_report.c writes these files.


@pytest.mark.fast
def test_the_page_says_what_each_measure_place_and_code_is():
    page = (SOURCE / "docs/check.md").read_text()
    analysis = SOURCE / "src/analysis"
    names = re.findall(r'M\([A-Z]+,\s*"(\w+)"', (analysis / "budget.h").read_text())
    names += re.findall(r'\[SEEP_PLACE_\w+\] = "([\w-]+)"', (analysis / "budget.c").read_text())
    code = (analysis / "budget_check.c").read_text()
    unseen = re.findall(r'\{ "([a-z-]+)", DOUBT', code)
    told = re.findall(r'(?:because\(\s*outcome,\s*|outcome(?:->|\.)code = )"([a-z-]+)"', code)
    assert len(names) == 9 + 4 and len(unseen) > 10 and len(told) > 5
    assert [n for n in [*names, *told] if f"`{n}`" not in page] == []
    report = (SOURCE / "docs/json.md").read_text()
    assert [n for n in unseen if f"`{n}`" not in report and n != "imported"] == []


@pytest.mark.fast
def test_hostile_names_stay_text_in_json_and_sarif():
    found = json.loads((GOLDEN / "check.json").read_text())
    assert Validator(SCHEMA, closed=True).errors_of(found, "check") == []
    run = read_sarif((GOLDEN / "check.sarif").read_text())
    kinds = [result["kind"] for result in run["results"]]
    assert kinds.count("fail") > 4 and kinds.count("open") > 4
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]}
    assert "src/a%3Ab%2Cc%25%0A%3A%3Aerror%3A%3Ad.c" in uris


@pytest.mark.fast
def test_hostile_names_stay_text_in_xml():
    root = xml.etree.ElementTree.fromstring((GOLDEN / "check_junit.xml").read_bytes())
    assert root.tag == "testsuites" and {suite.tag for suite in root} == {"testsuite"}
    for suite in root:
        tags = [child.tag for case in suite for child in case]
        assert int(suite.get("tests")) == len(suite)
        assert tags.count("failure") == int(suite.get("failures"))
        assert tags.count("error") == int(suite.get("errors"))
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
