# SPDX-License-Identifier: MIT
"""What `seep export` writes, as the programs that it is for read it: every total, and every stack
with all of its frames and values, are those of the recording."""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess

import pytest

import export_clients as clients
import harness
from export_clients import PPROF_VALUES, SPEEDSCOPE_VALUES, addresses, name_of, names_of, sums
from harness import SEEP, program
from json_schema import Validator
from running import Steps, on_terminal, watched

TEXT_FORMATS = ["folded", "speedscope", "jemalloc", "csv", "json"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Recordings by name, each made once."""
    seep = harness.Seep(tmp_path_factory.mktemp("export"))
    made = {}

    def get(name, *options):
        if name not in made:
            recordings = seep.record([program(name)], options=options)
            made[name] = recordings
        return made[name]

    yield get
    seep.close()


@pytest.fixture
def cxx(recorded):
    return recorded("export_cxx", "--by-thread")


def export(recordings, form, *options):
    done = recordings.seep.command("export", recordings.path, "--to", form, *options)
    assert (done.status, done.stderr) == (0, b""), done.stderr
    return done.stdout


def exported(recordings, form, folder, *options):
    path = folder / f"run.{form}"
    export(recordings, form, "-o", path, *options)
    return path


def check_program(report):
    """It has what the tests are about."""
    kinds = {c["kind"] for c in report["contexts"]}
    assert kinds >= {"malloc", "calloc", "realloc", "new", "new[]", "aligned new", "aligned new[]"}
    assert {c["thread"] for c in report["contexts"]} >= {"export_cxx", "buyer", "the seller"}
    assert any(f["inlined"] and "Shelf<" in f["function"] for f in report["frames"])
    assert any(c["folded"] for c in report["contexts"])
    assert any(f["function"] is None for f in report["frames"])
    assert all(report["totals"][key] for key in PPROF_VALUES.values() if key != "peak_blocks")


# ---- pprof -----------------------------------------------------------------------------------


def check_pprof(report, path):
    _, names, samples, mappings = clients.pprof_raw(path)
    assert [name.removesuffix("[dflt]") for name in names] == [
        f"{name}/{'bytes' if 'space' in name else 'count'}" for name in PPROF_VALUES]
    modules = {clients.shown(m["path"]): m["build_id"] for m in report["modules"]}
    files = {}
    for line in mappings.splitlines():
        number, path, build_id = re.match(r"(\d+): \S+ (.*?) (\w*) (?:\[.*)?$", line).groups()
        files[int(number)] = path
        assert path == "(unknown)" or (modules[path] or "") == build_id
    have, want = {}, {}
    for values, locations, labels in samples:
        key = tuple((address, files[mapping], tuple(lines))
                    for address, mapping, lines in locations)
        key += tuple(sorted(labels.items()))
        assert key not in have
        have[key] = values
    for context in report["contexts"]:
        key = tuple((at[-1]["address"] - (not at[-1]["exact"]),
                     clients.shown(at[-1]["module"] or "(unknown)"),
                     tuple(map(clients.pprof_line, at))) for at in addresses(context))
        key = key or ((0, "(unknown)", (f"{clients.no_stack(context)} :0 s=0",)),)
        labels = {"kind": context["kind"], "thread": context["thread"]}
        key += tuple(sorted((k, clients.shown(v)) for k, v in labels.items() if v))
        figures = [context[value] for value in PPROF_VALUES.values()]
        want[key] = [a + b for a, b in zip(figures, want.get(key, [0] * len(figures)))]
    assert have == want


def test_pprof_has_every_stack_with_inlined_calls_values_and_labels(cxx, tmp_path):
    report = cxx.main()
    check_program(report)
    path = exported(cxx, "pprof", tmp_path)
    check_pprof(report, path)
    for value, key in PPROF_VALUES.items():
        total = sum(c[key] for c in report["contexts"])
        assert clients.pprof_total(path, value) == total
        assert sums(clients.pprof_traces(path, value)) == sums(
            (tuple(names_of(c)), c[key]) for c in report["contexts"]), value


def test_pprof_says_which_process_it_was_and_for_how_long(cxx, tmp_path):
    process = cxx.main()["process"]
    head, names, *_ = clients.pprof_raw(exported(cxx, "pprof", tmp_path))
    top = clients.pprof("-top", exported(cxx, "pprof", tmp_path, "--by", "peak"))
    assert f"command: {program('export_cxx')}" in head
    assert "Period: 1" in head
    assert top.startswith("File: export_cxx\n")
    assert "Type: peak_space" in top
    assert "inuse_space/bytes[dflt]" in head + " ".join(names)
    number, unit = re.search(r"^Duration: ([0-9.]+)(\ws?),", top, re.M).groups()
    ns = process["end_ns"] - process["start_ns"]
    assert float(number) * {"us": 1e3, "ms": 1e6, "s": 1e9}[unit] == pytest.approx(ns, rel=0.02)


def test_pprof_shortens_names_or_keeps_them_as_it_is_asked_to(cxx, tmp_path):
    path = exported(cxx, "pprof", tmp_path)
    words = ("go", "tool", "pprof", "-top", "-nodecount=1000")
    whole = clients.run(*words, "-symbolize=demangle=full", path)
    assert "shop::Shelf<std::__cxx11::basic_string<char, std::char_traits<char>," in whole
    assert "shop::descend(int, int)" in whole
    assert re.search(r" shop::Shelf::put( |$)", clients.run(*words, path), re.M)


# ---- jeprof ----------------------------------------------------------------------------------


def jeprof_stack(context, path):
    """As clients.jeprof_stacks(), with None for addresses in other modules, for which jeprof finds
    other names. It leaves out where the C library's own malloc and calloc stand innermost."""
    found = addresses(context)
    if found and found[0][0]["function"] in ("malloc", "calloc"):
        found.pop(0)
    return tuple(
        tuple(clients.short(f["function"]) for f in reversed(at))
        if at[-1]["module"] == path else None
        for at in reversed(found))


def test_jeprof_symbolises_every_stack_and_has_its_values(cxx, tmp_path):
    report = cxx.main()
    path = exported(cxx, "jemalloc", tmp_path)
    exe = program("export_cxx")
    values = {v: k for v, k in PPROF_VALUES.items() if v.startswith(("alloc_", "inuse_"))}
    for value, key in values.items():
        assert clients.jeprof_total(exe, path, value) == report["totals"][key]
        want = sums((jeprof_stack(c, str(exe)), c[key]) for c in report["contexts"])
        own = {names for stack in want for names in stack if names}
        assert {("main",), ("descend",)} <= own
        assert any(names[-1] == "allocate" and len(names) > 4 for names in own)
        have = sums((tuple(names if names in own else None for names in map(tuple, stack)), count)
                    for stack, count in clients.jeprof_stacks(exe, path, value))
        assert have == want


# ---- folded, CSV, JSON -----------------------------------------------------------------------


MEASURES = {"live": "live_bytes", "peak": "peak_bytes", "allocs": "allocs",
            "temporary": "temporary"}


@pytest.mark.parametrize("measure", MEASURES)
def test_folded_has_every_stack_of_the_measure(cxx, measure):
    report = cxx.main()
    text = export(cxx, "folded", "--by", measure).decode()
    want = sums((tuple(n.replace(";", ":") for n in names_of(c)), c[MEASURES[measure]])
                for c in report["contexts"])
    assert sums(clients.folded(text)) == want
    assert sum(want.values()) == report["totals"][MEASURES[measure]]


def place_of(frame, cwd):
    if frame["file"] is None:
        known = frame["function"] is not None and frame["module"] is not None
        return frame["module"].rsplit("/", 1)[-1] if known else ""
    return frame["file"].removeprefix(f"{cwd}/") + (f":{frame['line']}" if frame["line"] else "")


def csv_stack(context, cwd):
    places = [(name_of(f), clients.shown(place_of(f, cwd))) for f in context["frames"]]
    frames = [f"{name} ({place})" if place else name for name, place in places]
    return ";".join(f.replace(";", ":") for f in frames) or clients.no_stack(context)


def guarded(text):
    """A spreadsheet takes what begins so for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def check_csv(report, data):
    rows = clients.csv_rows(data)
    assert len(rows) == len(report["contexts"])
    for row, context in zip(rows, report["contexts"]):
        assert row.pop("stack") == guarded(csv_stack(context, report["process"]["cwd"]))
        assert row.pop("thread") == guarded(clients.shown(context["thread"] or ""))
        assert row.pop("scope") == ""
        for key, value in row.items():
            want = context[key]
            assert value == clients.shown(str(int(want) if isinstance(want, bool) else want or (
                0 if want == 0 else ""))), key


def test_csv_has_a_row_for_each_context_with_all_figures(cxx):
    check_csv(cxx.main(), export(cxx, "csv"))


def test_json_is_what_report_writes(cxx):
    assert export(cxx, "json") == cxx.seep.command("report", cxx.path, "--json").stdout
    words = ("--module", "export_cxx", "--thread", "!buyer")
    done = cxx.seep.command("report", cxx.path, "--json", *words)
    assert export(cxx, "json", *words) == done.stdout


# ---- speedscope ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def speedscope(tmp_path_factory):
    return clients.fetch_speedscope(tmp_path_factory.mktemp("speedscope"))


def check_speedscope(report, saved):
    frames = [f["name"] for f in saved["shared"]["frames"]]
    assert [p["name"] for p in saved["profiles"]] == list(SPEEDSCOPE_VALUES)
    for profile in saved["profiles"]:
        key = SPEEDSCOPE_VALUES[profile["name"]]
        assert profile["unit"] == ("bytes" if key.endswith("bytes") else "none")
        want = sums((tuple(clients.raw_name(f) for f in c["frames"]) or (clients.no_stack(c),),
                     c[key]) for c in report["contexts"])
        assert sums(clients.speedscope_stacks(profile, frames)) == want, key
        assert profile["endValue"] == sum(want.values())


def test_speedscope_has_every_stack_of_every_measure(cxx, speedscope, tmp_path):
    path = exported(cxx, "speedscope", tmp_path, "--by", "peak")
    schema = json.loads((speedscope / "file-format-schema.json").read_text())
    assert Validator(schema, closed=True).errors(json.loads(path.read_text())) == []
    saved = clients.speedscope(speedscope, tmp_path, path)
    check_speedscope(cxx.main(), saved)
    assert (saved["name"], saved["activeProfileIndex"]) == ("export_cxx", 1)


def test_speedscope_reads_folded_stacks(cxx, speedscope, tmp_path):
    saved = clients.speedscope(speedscope, tmp_path, exported(cxx, "folded", tmp_path))
    frames = [f["name"] for f in saved["shared"]["frames"]]
    (profile,) = saved["profiles"]
    want = sums((tuple(names_of(c)), c["live_bytes"]) for c in cxx.main()["contexts"])
    assert sums(clients.speedscope_stacks(profile, frames)) == want


# ---- profiles that are not as usual ----------------------------------------------------------


HOSTILE = [
    "evil;name 12", 'a "quoted", <script>alert(1)</script>', "line\nfeed\r\ttab", "\x1b[31mred",
    "turned \u202e round", "", "=1+1", "back\\x41slash", "long " * 1000, b"\xff\xfe raw",
]


def text_of(words):
    return words if isinstance(words, bytes) else words.encode()


@pytest.fixture
def hostile(cxx, tmp_path):
    """The same recording, with such names of functions, files, modules and threads."""
    made = harness.Recordings(cxx.seep, tmp_path)
    shutil.copy(cxx.path, made.path)
    with sqlite3.connect(made.path) as db:
        for i, words in enumerate(HOSTILE):
            text = f"CAST(x'{text_of(words).hex()}' AS TEXT)"
            db.execute(f"UPDATE frame SET function = {text}, file = iif(line, {text}, NULL)"
                       f" WHERE function IS NOT NULL AND id % {len(HOSTILE)} = {i}")
            db.execute(f"UPDATE context SET thread = {text} WHERE id % {len(HOSTILE)} = {i}")
        db.execute("UPDATE module SET path = '/a b/;' || char(10, 27) || '\"<x>' || id || '.so'")
    db.close()
    return made


def check_all(recordings, folder):
    """What all formats have is what `report --json` says."""
    report = recordings.load(recordings.path)
    check_pprof(report, exported(recordings, "pprof", folder))
    check_csv(report, export(recordings, "csv", "--by", "live"))
    want = sums((tuple(n.replace(";", ":") for n in names_of(c)), c["allocs"])
                for c in report["contexts"])
    assert sums(clients.folded(export(recordings, "folded", "--by", "allocs").decode())) == want
    path = exported(recordings, "jemalloc", folder)
    total = sum(c["alloc_bytes"] for c in report["contexts"])
    assert clients.jeprof_total(program("export_cxx"), path, "alloc_space") == total
    return report


def test_hostile_names_stay_text(hostile, tmp_path):
    report = check_all(hostile, tmp_path)
    assert {f["function"] for f in report["frames"]} >= {"=1+1", "line\nfeed\r\ttab", ""}
    for form in TEXT_FORMATS:
        data = export(hostile, form)
        assert not re.search(rb"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]", data), form
        data.decode()


def test_speedscope_takes_hostile_names_for_text(hostile, speedscope, tmp_path):
    path = exported(hostile, "speedscope", tmp_path)
    check_speedscope(hostile.main(), clients.speedscope(speedscope, tmp_path, path))


def test_contexts_without_a_stack_say_so(recorded, tmp_path):
    recordings = recorded("many_stacks", "--ledger-max", "256K")
    report = check_all(recordings, tmp_path)
    other = [c for c in report["contexts"] if "other" in c["flags"]]
    assert other and not other[0]["frames"]
    text = export(recordings, "folded", "--by", "allocs")
    assert b"(stacks met after the ledger was full) " in text


def test_stacks_cut_on_request_are_as_deep_as_they_are(recorded, tmp_path):
    report = check_all(recorded("operators", "--depth", "1"), tmp_path)
    assert {"cut"} <= {flag for c in report["contexts"] for flag in c["flags"]}


@pytest.mark.parametrize("name, has", [
    ("signals", lambda r: any(f["exact"] for f in r["frames"])),
    ("generated_code", lambda r: any(c["truncated"] for c in r["contexts"])
     and any(f["module"] is None for f in r["frames"])),
])
def test_stacks_through_unusual_code_are_whole(recorded, tmp_path, name, has):
    assert has(check_all(recorded(name), tmp_path))


@pytest.fixture
def empty(recorded):
    recordings = recorded("temporaries", "--mode", "off")
    assert recordings.load(recordings.path)["contexts"] == []
    return recordings


def test_a_profile_without_contexts_is_a_file_without_stacks(empty, tmp_path):
    assert export(empty, "folded") == b""
    assert len(export(empty, "csv").splitlines()) == 1
    assert clients.pprof_raw(exported(empty, "pprof", tmp_path))[2] == []
    assert b"t*: 0: 0 [0: 0]" in export(empty, "jemalloc")
    document = json.loads(export(empty, "speedscope"))
    assert [p["samples"] for p in document["profiles"]] == [[]] * len(SPEEDSCOPE_VALUES)


def test_speedscope_opens_a_profile_without_contexts(empty, speedscope, tmp_path):
    path = exported(empty, "speedscope", tmp_path)
    schema = json.loads((speedscope / "file-format-schema.json").read_text())
    assert Validator(schema, closed=True).errors(json.loads(path.read_text())) == []
    saved = clients.speedscope(speedscope, tmp_path, path)
    assert [p["endValue"] for p in saved["profiles"]] == [0] * len(SPEEDSCOPE_VALUES)


def test_names_that_nobody_knows_are_modules_and_offsets(cxx, tmp_path):
    stripped = tmp_path / "stripped"
    clients.run("strip", "-o", stripped, program("export_cxx"))
    recordings = cxx.seep.record([stripped])
    report = check_all(recordings, tmp_path)
    assert b";stripped + 0x" in export(recordings, "folded")
    *_, mappings = clients.pprof_raw(exported(recordings, "pprof", tmp_path))
    # Nobody says that there are names; a reader may look for some.
    assert re.search(rf"{re.escape(str(stripped))} \w+ $", mappings, re.M)
    assert report["contexts"]


def test_the_ledger_of_a_running_process_is_exported(seep, tmp_path):
    steps = Steps(seep)
    steps.do("+ keep_a 3 1000", "+ keep_b 5 70", "- keep_b 2")
    made = harness.Recordings(seep, tmp_path)
    made.path = pathlib.Path(watched(seep)[0]["ledger"])
    report = check_all(made, tmp_path)
    steps.end()
    assert report["process"]["ended"] == "running"
    assert harness.site(report, "keep_a")["live_bytes"] == 3000
    assert harness.site(report, "keep_b")["live_bytes"] == 210


@pytest.mark.slow
def test_a_hundred_thousand_stacks_are_written_in_seconds(seep, tmp_path):
    _, recordings = seep.run([program("many_stacks"), "100000"], options=["--no-leak-check"])
    for form in ["pprof", *TEXT_FORMATS]:
        path = tmp_path / "out"
        child = subprocess.Popen(
            [SEEP, "export", recordings.path, "--to", form, "-o", path],
            env={**os.environ, **seep.environment()})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
        assert status == 0
        print(f"{form}: {usage.ru_utime + usage.ru_stime:.2f} s, {usage.ru_maxrss >> 10} MB,"
              f" file {path.stat().st_size >> 20} MB")
        assert usage.ru_utime + usage.ru_stime < 60
        assert usage.ru_maxrss < 1 << 20
    assert clients.csv_rows(export(recordings, "csv"))[0]["allocs"] == "1"


# ---- the command -----------------------------------------------------------------------------


@pytest.mark.parametrize("words, says", [
    (["--to", "pporf"], "did you mean pprof?"),
    ([], "--to FORMAT is missing"),
    (["--to", "jemalloc", "--by", "peak"], "--by cannot be used with --to jemalloc"),
    (["--to", "folded", "--by", "lost"], "--by lost cannot be exported"),
    (["--to", "csv", "--module", "!"], "--module needs the name of a module"),
    (["--to", "csv", "--module", "nosuch"], "nosuch"),
    (["--to", "csv", "-o", "/nosuch/folder/x"], "/nosuch/folder/x"),
    (["--to", "csv", "-o", "/dev/full"], "No space left"),
])
def test_what_cannot_be_done_is_said(cxx, words, says):
    done = cxx.seep.command("export", cxx.path, *words)
    assert done.status == 2 and done.stdout == b""
    assert says in done.stderr.decode()


def test_no_recording_or_ledger_is_replaced(cxx, tmp_path):
    path = tmp_path / "kept.seep"
    shutil.copy(cxx.path, path)
    done = cxx.seep.command("export", cxx.path, "--to", "csv", "-o", path)
    assert done.status == 2 and b"is a recording; csv does not replace it" in done.stderr
    assert path.read_bytes() == cxx.path.read_bytes()
    other = tmp_path / "other"
    other.write_text("old")
    export(cxx, "csv", "-o", other)
    assert other.read_bytes() == export(cxx, "csv", "-o", "-")
    assert other.stat().st_mode & 0o777 == 0o600


def test_binary_formats_do_not_go_to_a_terminal(cxx):
    leader, follower = os.openpty()
    done = subprocess.run([SEEP, "export", cxx.path, "--to", "pprof"], stdout=follower,
                          stderr=subprocess.PIPE, check=False, timeout=harness.LIMIT_S)
    os.close(follower)
    os.close(leader)
    assert done.returncode == 2
    assert b"pprof is not for a terminal; -o OUT.pb.gz writes it to a file" in done.stderr
    text = on_terminal(cxx.seep, 80, "export", cxx.path, "--to", "folded")
    assert text.encode() == export(cxx, "folded")


def test_what_does_not_reach_standard_output_is_a_failure(cxx):
    for form in ["pprof", *TEXT_FORMATS]:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([SEEP, "export", cxx.path, "--to", form], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        assert done.returncode == 2 and b"No space left" in done.stderr, form


def test_only_what_was_asked_for_is_written_and_that_is_said(cxx, tmp_path):
    words = ("--thread", "buyer")
    rows = clients.csv_rows(export(cxx, "csv", *words))
    assert rows and {row["thread"] for row in rows} == {"buyer"}
    path = exported(cxx, "pprof", tmp_path, *words)
    assert "only: thread buyer" in clients.pprof("-comments", path)


def test_the_page_about_formats_has_a_row_for_each():
    page = (harness.SOURCE / "docs" / "export.md").read_text()
    listed = re.findall(r"^  (\w+): ", harness.run_plain([SEEP, "export", "--help"]).stdout.decode(),
                        re.M)
    table = page.split("| how to open it |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` ", table, re.M) == listed


def test_the_same_profile_gives_the_same_bytes(cxx):
    for form in ["pprof", *TEXT_FORMATS]:
        assert export(cxx, form) == export(cxx, form)
