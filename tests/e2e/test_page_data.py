# SPDX-License-Identifier: MIT
"""A page holds what --json says, to the last figure; and how it is written and opened."""
import json
import os
import stat

import pytest

import harness
from page_data import FIGURES, contexts_of, read_page


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """{name: recording} of programs whose documents have all that a document can have."""
    made = harness.Seep(tmp_path_factory.mktemp("recorded"))
    programs = {
        "recursion": (["recursion"], []),
        "threads": (["by_thread"], ["--by-thread"]),
        "kinds": (["operators"], []),
        "whole": (["api_all"], []),
        "leaks": (["top_leaks", "50"], []),
        "signals": (["signals"], []),
        "scopes": (["scope_server", "40"], []),
        "deep": (["api_all"], ["--depth", "3"]),
    }
    paths = {}
    for name, (words, options) in programs.items():
        _, recordings = made.run([harness.program(words[0]), *words[1:]], options=options)
        paths[name] = recordings.path
    yield paths
    made.close()


def page_of(seep, tmp_path, *words):
    page = tmp_path / "page.html"
    done = seep.command(*words, "--html", page)
    assert done.status == 0, done.stderr
    assert done.stdout == b"" and done.stderr == b""
    return page


def json_of(seep, *words):
    done = seep.command(*words, "--json")
    assert done.status == 0, done.stderr
    return json.loads(done.stdout)


def named(document, contexts):
    """With frames in place of their indexes, without what a page leaves out; in one order."""
    frames = [{k: v for k, v in frame.items() if k != "address"} for frame in document["frames"]]
    whole = ({**context, "frames": [frames[i] for i in context["frames"]]} for context in contexts)
    return sorted(json.dumps(context, sort_keys=True) for context in whole)


def added(one, other):
    """Two contexts that read alike, as one."""
    sums = {}
    for share in one.get("epochs", []) + other.get("epochs", []):
        so_far = sums.setdefault(share["epoch"], {**share, "blocks": 0, "bytes": 0})
        so_far["blocks"] += share["blocks"]
        so_far["bytes"] += share["bytes"]
    both = {**one, **{figure: one[figure] + other[figure] for figure in FIGURES},
            "first_ms": min(one["first_ms"], other["first_ms"])}
    return {**both, "epochs": [sums[epoch] for epoch in sorted(sums)]} if sums else both


def expected_contexts(document):
    """Without what a page leaves out; contexts that differ in addresses only are one."""
    alike = {}
    for context in sorted(document["contexts"], key=lambda context: context["id"]):
        since = context["first_ns"] - document["process"]["start_ns"]
        kept = {k: v for k, v in context.items() if k not in ("id", "hash", "first_ns")}
        kept["first_ms"] = max(since, 0) // 1000000
        frames = [document["frames"][i] for i in context["frames"]]
        lines = [(frame["module"], frame["function"] or frame["offset"], frame["file"],
                  frame["line"]) for frame in frames]
        key = json.dumps([lines, kept["kind"], kept.get("thread"), "truncated" in kept,
                          kept.get("flags")])
        alike[key] = added(alike[key], kept) if key in alike else kept
    return alike.values()


@pytest.mark.parametrize("name", ["threads", "kinds", "leaks", "deep"])
def test_a_page_has_the_contexts_of_the_document(seep, recorded, tmp_path, name):
    _, page = read_page(page_of(seep, tmp_path, "report", recorded[name]))
    document = json_of(seep, "report", recorded[name])
    assert named(page, contexts_of(page)) == named(document, expected_contexts(document))
    assert 0 < page["contexts"]["count"] <= len(document["contexts"])


def sums_by_lines(document, contexts):
    """Of contexts that have the same lines, in whatever order and number, the figures."""
    sums = {}
    for context in contexts:
        frames = {json.dumps([document["frames"][i][k] for k in ("function", "file", "line")])
                  for i in context["frames"]}
        figures = sums.setdefault((context["kind"], *sorted(frames)), [0] * len(FIGURES))
        figures[:] = [a + context[key] for a, key in zip(figures, FIGURES)]
    return sums


@pytest.mark.parametrize("name", ["recursion", "signals"])
def test_recursion_of_any_depth_is_one_row_of_a_page(seep, recorded, tmp_path, name):
    _, page = read_page(page_of(seep, tmp_path, "report", recorded[name]))
    document = json_of(seep, "report", recorded[name])
    contexts = contexts_of(page)
    assert sums_by_lines(page, contexts) == sums_by_lines(document, document["contexts"])
    assert len(contexts) < len(document["contexts"])
    assert any("folded" in context for context in contexts)


@pytest.mark.parametrize("name", ["threads", "leaks"])
def test_a_page_has_the_rest_of_the_document_as_it_is(seep, recorded, tmp_path, name):
    _, page = read_page(page_of(seep, tmp_path, "report", recorded[name]))
    document = json_of(seep, "report", recorded[name])
    assert set(page) == set(document)
    for key in set(document) - {"contexts", "frames", "leaks"}:
        assert page[key] == document[key], key
    assert len(page["leaks"]) == len(document["leaks"])
    contexts = contexts_of(page)
    by_id = {context["id"]: context for context in document["contexts"]}
    for ours, theirs in zip(page["leaks"], document["leaks"]):
        for key in set(theirs) - {"context", "frames"}:
            assert ours[key] == theirs[key], key
        if theirs["context"] is None:
            assert ours["context"] is None
        else:
            assert contexts[ours["context"] - 1]["allocs"] == by_id[theirs["context"]]["allocs"]
            assert "frames" not in ours


def test_a_page_says_which_part_of_a_stack_is_worth_reading(seep, recorded, tmp_path):
    view, page = read_page(page_of(seep, tmp_path, "report", recorded["leaks"]))
    contexts = contexts_of(page)
    assert view["kind"] == "report" and view["file"] == str(recorded["leaks"])
    assert len(view["trim"]) == 2 * len(contexts)
    assert len(view["function"]) == len(view["origin"]) == len(page["frames"])
    assert max(view["function"]) == len(view["functions"]) - 1
    for context, first, outer in zip(contexts, view["trim"][::2], view["trim"][1::2]):
        shown = context["frames"][first:len(context["frames"]) - outer]
        origins = [view["origin"][i] for i in shown]
        assert "p" not in origins
        assert context["frames"] == [] or shown
    for frame, number, origin in zip(page["frames"], view["function"], view["origin"]):
        if frame["function"] == "main":
            assert view["functions"][number] == "main" and origin == "o"
        if frame["function"] == "_start":
            assert origin == "p"
    assert any(line.startswith("top_leaks (pid") for line in view["head"])


def test_a_page_of_a_diff_has_its_document(seep, recorded, tmp_path):
    words = ("diff", recorded["deep"], recorded["kinds"])
    view, page = read_page(page_of(seep, tmp_path, *words))
    assert page == json_of(seep, *words)
    assert view["kind"] == "diff"
    assert view["file"] == [str(recorded["deep"]), str(recorded["kinds"])]
    assert len(view["trim"]) == 2 * len(page["changes"]) > 0
    mains = {number for frame, number in zip(page["frames"], view["function"])
             if frame["function"] == "main"}
    # One of each program, which are two modules.
    assert len(mains) == 2


def test_a_function_has_one_number_on_both_sides_of_a_diff(seep, recorded, tmp_path):
    view, page = read_page(page_of(seep, tmp_path, "diff", recorded["deep"], recorded["whole"]))
    numbers, modules = {}, {}
    for frame, number in zip(page["frames"], view["function"]):
        numbers.setdefault(frame["function"], set()).add(number)
        modules.setdefault(frame["function"], set()).add(frame["module"])
    both = [function for function in numbers if function and len(modules[function]) > 1]
    assert both
    assert all(len(numbers[function]) == 1 for function in both)


def test_a_page_is_private_and_replaces_no_recording(seep, recorded, tmp_path):
    page = page_of(seep, tmp_path, "report", recorded["kinds"])
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    before = recorded["deep"].read_bytes()
    done = seep.command("report", recorded["kinds"], "--html", recorded["deep"])
    assert done.status == 2 and b"is a recording; a page does not replace it" in done.stderr
    done = seep.command("diff", recorded["kinds"], recorded["deep"], "--html", recorded["deep"])
    assert done.status == 2 and b"is a recording; a page does not replace it" in done.stderr
    assert recorded["deep"].read_bytes() == before


def test_a_page_excludes_other_forms(seep, recorded, tmp_path):
    for form in ("--json", "--tree", "--flat", "--raw"):
        done = seep.command("report", recorded["kinds"], "--html", tmp_path / "x.html", form)
        assert done.status == 2 and b"exclude each other" in done.stderr
    done = seep.command("diff", recorded["kinds"], recorded["deep"], "--html", "x.html", "--json")
    assert done.status == 2 and b"exclude each other" in done.stderr


@pytest.mark.parametrize("option", ["--full", "--by-thread", "--gen-suppressions", "--by=lost"])
def test_what_a_page_does_not_heed_is_refused(seep, recorded, tmp_path, option):
    done = seep.command("report", recorded["kinds"], option, "--html", tmp_path / "x.html")
    assert done.status == 2 and b"cannot be used with --html" in done.stderr
    assert not (tmp_path / "x.html").exists()


def test_what_cannot_be_written_is_said(seep, recorded):
    done = seep.command("report", recorded["kinds"], "--html", "/dev/full")
    assert done.status == 2 and b"No space left" in done.stderr


def test_a_file_without_a_name_is_refused(seep, recorded):
    for words in (("report", "--html", ""), ("export", "-t", "csv", "-o", ""), ("open", "-o", "")):
        done = seep.command(words[0], recorded["kinds"], *words[1:])
        assert done.status == 2 and b"the name of the file for" in done.stderr


def test_a_profile_of_another_tool_is_to_be_imported(seep, tmp_path):
    foreign = tmp_path / "foreign"
    foreign.write_text("heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x400 0x500\n  t*: 1: 100 [0: 0]\n"
                       "MAPPED_LIBRARIES:\n")
    for command in ("open", "check", "report"):
        done = seep.command(command, foreign)
        assert done.status == 2 and b'" makes a recording of it' in done.stderr
    assert seep.command("import", "-q", foreign, cwd=tmp_path).status == 0
    shown = seep.command("report", tmp_path / "foreign.seep").stdout
    assert b"--flat" in shown and b"--by allocs" not in shown


def browser(tmp_path, text):
    path = tmp_path / "browser"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return {"BROWSER": str(path), **home(tmp_path)}


def home(tmp_path):
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home")}


def test_open_writes_a_page_and_starts_the_browser(seep, recorded, tmp_path):
    env = browser(tmp_path, f'cp "$1" {tmp_path}/seen.html')
    done = seep.command("open", recorded["kinds"], env=env)
    page = tmp_path / "home" / ".cache" / "seep" / (recorded["kinds"].name + ".html")
    assert done.status == 0 and done.stderr == b""
    assert done.stdout.decode() == f"{page}\n"
    assert (tmp_path / "seen.html").read_bytes() == page.read_bytes()
    assert read_page(page)[1] == read_page(page_of(seep, tmp_path, "report", recorded["kinds"]))[1]
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700


def test_open_starts_a_browser_that_has_arguments(seep, recorded, tmp_path):
    env = browser(tmp_path, f'test "$1" = --new && cp "$2" {tmp_path}/seen.html')
    env["BROWSER"] += " --new"
    page = tmp_path / "a page.html"
    done = seep.command("open", recorded["kinds"], "-o", page, env=env)
    assert done.status == 0, done.stderr
    assert (tmp_path / "seen.html").read_bytes() == page.read_bytes()


def test_open_does_not_wait_for_a_browser_to_be_closed(seep, recorded, tmp_path):
    fifo = tmp_path / "closed"
    os.mkfifo(fifo)
    env = browser(tmp_path, f"read line <{fifo}")
    done = seep.command("open", recorded["kinds"], "-o", tmp_path / "p.html", env=env)
    assert done.status == 0 and done.stdout.decode() == f"{tmp_path}/p.html\n"
    # The browser is still there to read it.
    fifo.write_text("close\n")


@pytest.mark.parametrize("text, said", [("exit 3", b"ended with status 3"),
                                        ("kill -9 $$", b"was killed by signal 9")])
def test_open_says_that_the_browser_failed(seep, recorded, tmp_path, text, said):
    done = seep.command("open", recorded["kinds"], env=browser(tmp_path, text))
    assert done.status == 2 and said in done.stderr
    assert harness.pathlib.Path(done.stdout.decode().strip()).exists()


def test_open_without_a_display_says_what_to_do(seep, recorded, tmp_path):
    env = {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": "", **home(tmp_path)}
    done = seep.command("open", recorded["kinds"], env=env)
    assert done.status == 0
    assert b"there is no display: open this file in a browser" in done.stderr
    assert read_page(harness.pathlib.Path(done.stdout.decode().strip()))


def test_open_without_a_home_asks_for_a_name(seep, recorded):
    done = seep.command("open", recorded["kinds"], env={"HOME": "", "XDG_CACHE_HOME": ""})
    assert done.status == 2 and b"name a file with -o" in done.stderr
