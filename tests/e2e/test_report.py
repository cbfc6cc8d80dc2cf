# SPDX-License-Identifier: MIT
"""The text views of `seep report`: on recordings, on a ledger, and what it says when it cannot."""

import os
import re
import stat
import subprocess

import pytest

import harness
from running import on_terminal

VIEWS = [(), ("--tree",), ("--flat",), ("--raw",), ("--full",), ("--by", "peak"), ("--top", "1"),
         ("--json", "--by", "lost"), ("--json", "--by", "growth")]


@pytest.fixture
def recording(seep):
    _, recordings = seep.run([harness.program("api_all")])
    assert recordings.path.exists()
    return recordings


@pytest.mark.fast
@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_a_view_succeeds_without_a_word_on_stderr(seep, recording, view):
    done = seep.command("report", recording.path, *view)
    assert done.status == 0
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout
    assert done.stdout.strip()


def test_the_default_view_names_the_largest_stack_and_the_next_command(seep, recording):
    report = recording.main()
    text = seep.command("report", recording.path, "--by", "allocs").stdout.decode()
    largest = max(report["contexts"], key=lambda c: c["allocs"])
    assert f"{largest['allocs']:,}" in text
    assert f"pid {report['process']['pid']}" in text
    assert f"Next: seep report {recording.path} --tree" in text


def test_raw_lines_have_the_agreed_form(seep, recording):
    text = seep.command("report", recording.path, "--raw").stdout.decode()
    frames = [line for line in text.splitlines() if line and not line.startswith("context ")]
    assert frames
    for line in frames:
        assert re.fullmatch(r"0x[0-9a-f]+: .+ \+ 0x[0-9a-f]+ : .+", line)
    contexts = len(recording.main()["contexts"])
    assert text.count("\ncontext ") + text.startswith("context ") == contexts


def test_a_terminal_gets_lines_that_fit_and_no_color_is_respected(seep, recording):
    for no_color in ("", "1"):
        env = {"NO_COLOR": no_color, "TERM": "xterm"}
        text = on_terminal(seep, 72, "report", recording.path, env=env)
        assert ("\x1b[1m" in text) == (no_color == "")
        for line in re.sub(r"\x1b\[\d*m", "", text).splitlines():
            if not line.startswith(("Next:", "     ")):
                assert len(line) <= 72, line


def test_names_never_reach_the_terminal_raw(seep):
    _, recordings = seep.run(["/bin/true", "\x1b]0;owned\x07", "\x9b31m"])
    for view in VIEWS:
        done = seep.command("report", recordings.path, *view)
        assert done.status == 0
        assert b"\x1b" not in done.stdout and b"\x07" not in done.stdout
    assert b"owned" in seep.command("report", recordings.path).stdout


@pytest.mark.fast
def test_the_summary_of_a_run_fits_a_small_terminal(seep, tmp_path):
    words = [harness.SEEP, "run", "-o", tmp_path / "x.seep", "--", harness.program("api_all")]
    done = harness.run_plain(words, env=seep.environment())
    lines = done.stderr.decode().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("seep: "))
    summary = lines[start:]
    assert len(summary) <= 24
    for line in summary:
        if not line.startswith(("Next:", "     ")):
            assert len(line) <= 80, line
    # Where there was time to look for leaks, there are some.
    assert re.search(rf"seep report {re.escape(str(tmp_path / 'x.seep'))} --(tree|by lost)\b",
                     done.stderr.decode())


@pytest.mark.fast
def test_json_goes_to_a_file_beside_the_programs_own_output(seep, tmp_path):
    at_once, later = tmp_path / "at once.json", tmp_path / "later.json"
    result, recordings = seep.run(["/bin/echo", "own output"], options=[f"--json={at_once}"])
    assert result.stdout == b"own output\n" and result.stderr == b""
    done = seep.command("report", recordings.path, f"--json={later}")
    assert done.status == 0 and done.stdout == done.stderr == b""
    assert at_once.stat().st_mode & 0o777 == 0o600
    assert harness.read_report(later.read_text()) == recordings.main()
    assert harness.read_report(at_once.read_text())["contexts"] == recordings.main()["contexts"]
    failed = seep.command("report", recordings.path, f"--json={tmp_path}/none/x.json")
    assert failed.status == 2 and b"x.json: No such file" in failed.stderr


def test_json_to_a_dash_is_standard_output(seep, tmp_path):
    _, recordings = seep.run(["true"])
    dash, plain = (
        seep.command("report", recordings.path, option, cwd=tmp_path) for option in ("--json=-", "--json")
    )
    dash.same_as(plain)
    assert dash.stdout and not (tmp_path / "-").exists()


# ---- of some modules -----------------------------------------------------------------------


def test_a_report_of_some_modules_shows_their_stacks_and_shares_of_the_whole(seep):
    _, recordings = seep.run([harness.program("dlopen_reload")])
    whole = recordings.main()
    some = recordings.load(recordings.path, "--module", "lib_plugin_a.so")
    assert some["totals"] == whole["totals"]
    assert harness.site(some, "plugin_a_alloc") == harness.site(whole, "plugin_a_alloc")
    assert not harness.contexts_of(some, "plugin_b_alloc")
    assert "contexts-left-out" in {line["code"] for line in some["unseen"]}
    text = seep.command("report", recordings.path, "--module", "lib_plugin_a.so").stdout.decode()
    share = 100 * harness.site(some, "plugin_a_alloc")["live_bytes"] / whole["totals"]["live_bytes"]
    assert f"Shown: module lib_plugin_a.so only, {share:.1f}% of the bytes live" in text
    assert "plugin_b_alloc" not in text
    others = recordings.load(recordings.path, "--module", "!lib_plugin_a.so")
    assert len(others["contexts"]) + len(some["contexts"]) == len(whole["contexts"])


@pytest.mark.fast
def test_a_module_that_is_in_no_stack_is_an_error_that_names_those_that_are(seep, recording):
    done = seep.command("report", recording.path, "--module", "api_al")
    assert done.status == 2 and done.stdout == b""
    assert b'no module of any stack matches "api_al"; did you mean api_all?' in done.stderr
    assert b"libc.so.6" in done.stderr


# ---- where the JSON goes -------------------------------------------------------------------


def test_json_goes_into_what_is_no_regular_file_as_a_shell_would_write_it(seep, recording):
    folder = seep.directory
    pipe, link, nothing = (folder / name for name in ("pipe", "link", "nothing"))
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    assert seep.command("report", recording.path, f"--json={pipe}").status == 0
    assert harness.read_report(reader.communicate(timeout=harness.LIMIT_S)[0]) == recording.main()
    assert pipe.is_fifo()
    (folder / "far").mkdir()
    for target in ("far/new", "far/old"):
        (folder / "far" / "old").write_text("older")
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        assert seep.command("report", recording.path, f"--json={link}").status == 0
        assert link.is_symlink() and harness.read_report(link.read_text()) == recording.main()
    with open(nothing, "w+", encoding="utf-8") as file:
        nothing.unlink()
        subprocess.run(
            [harness.SEEP, "report", recording.path, f"--json=/dev/fd/{file.fileno()}"],
            pass_fds=[file.fileno()], check=True, timeout=harness.LIMIT_S,
        )
        assert harness.read_report(file.read()) == recording.main()


def test_a_device_that_is_full_is_told_and_stays(seep, recording):
    full = seep.directory / "full"
    try:
        os.mknod(full, stat.S_IFCHR | 0o600, os.makedev(1, 7))
        full.open("w").close()
    except OSError as problem:
        pytest.skip(f"no device nodes can be made here: {problem}")
    done = seep.command("report", recording.path, f"--json={full}")
    assert done.status == 2 and b"No space left" in done.stderr
    assert full.is_char_device()


@pytest.mark.fast
def test_json_replaces_neither_a_recording_nor_a_ledger(seep, recording):
    folder, own = seep.directory, recording.path
    (folder / "link").symlink_to(own)
    os.link(own, folder / "again")
    _, other = seep.run(["true"])
    ledger = folder / "ledger"
    ledger.write_bytes(b"SEEPLDG\0" + bytes(9000))
    for target in (own, folder / "link", folder / "again", other.path, ledger):
        before = target.read_bytes()
        for words in (["report", own], ["run", "-f", "-o", "new.seep", "echo"]):
            done = seep.command(words[0], f"--json={target}", *words[1:], cwd=folder)
            assert done.status in (2, 125) and done.stdout == b""
            assert done.stderr.count(b"\n") == 1
            assert target.read_bytes() == before
    done = seep.command("report", f"--json={own}", own)
    assert done.stderr.decode() == f"seep report: {own} is a recording; JSON does not replace it\n"
    plain = folder / "plain.json"
    plain.write_text("older")
    assert seep.command("report", own, f"--json={plain}").status == 0
    assert harness.read_report(plain.read_text()) == recording.main()
