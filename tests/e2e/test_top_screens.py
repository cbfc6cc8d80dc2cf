# SPDX-License-Identifier: MIT
"""The screens of `seep top` in a terminal: keys go in, and what matters of a screen is compared, not
figures that move. Names and verdicts are those of the program's own source."""

import contextlib
import json
import os
import re
import shutil
import signal

import pytest

from attach_target import Target, detach, is_recorded
from harness import SEEP, program
from running import wait_until, watched
from screens import Screen
from test_top import is_open
from top_watch import QUICK, told, top_json

SIZES = [(80, 24), (200, 60)]


@pytest.fixture
def show(seep, tmp_path):
    """show(columns, rows, *words): seep top in a terminal."""
    made = []

    def start(columns, rows, *words, command=None, **env):
        env = {"LC_ALL": "C.UTF-8", "TERM": "screen-256color", **seep.environment(), **env}
        screen = Screen(tmp_path, columns, rows, command or [SEEP, "top", *words], env)
        made.append(screen)
        return screen

    yield start
    for screen in made:
        screen.close()


@pytest.mark.parametrize("columns, rows", SIZES)
def test_two_hidden_leaks_are_named_and_explained(seep, show, columns, rows):
    with told(seep, "top_leaks") as target:
        screen = show(columns, rows, target.pid, *QUICK)
        # What is above the rows is drawn first.
        text = screen.wait("2 growing: +", "GROWING produce", "GROWING remember")
        for name in ("produce", "remember"):
            assert re.search(rf"GROWING {name} .*top_leaks\.c:\d+ *$", text, re.M), text
        assert "GROWING fill_cache" not in text and "GROWING serve" not in text
        assert re.search(r"[▁▂▃▄▅▆▇█]{8}", text)
        assert len(text.rstrip("\n").split("\n")) == rows
        screen.keys("/", "remember", "Enter")
        screen.wait('"remember"', gone=["produce "])
        screen.keys("Enter")
        text = screen.wait("Call stack", "one stack")
        assert re.search(r"GROWING: \+.*/min for .*,\s+0\s+of\s+[\d,]+\s+blocks\s+ever\s+freed,\s+oldest", text)
        assert re.search(r"0  remember  .*tests/programs/top_leaks\.c:\d+", text), text
        screen.keys("End")
        text = screen.wait("Age of the live blocks")
        assert re.search(r"> +\d+ +struct node \*node = malloc\(sizeof\(\*node\)\);", text) or rows == 24
        screen.keys("Escape")
        screen.wait("VERDICT")
        screen.keys("q")
        assert screen.status() == 0


def test_all_screens_are_of_what_is_within(seep, show):
    with told(seep, "top_leaks") as target:
        screen = show(120, 40, target.pid, *QUICK, "--within", "remember", "--within", "forget")
        text = screen.wait(", within remember, forget  stacks", "1 growing: +", gone=["produce"])
        assert re.search(r"GROWING remember .*top_leaks\.c:\d+ *$", text, re.M), text
        screen.keys("2")
        screen.wait("callers first", "remember", gone=["produce", "serve"])
        screen.keys("4", "l")
        # What remember() keeps is on a list.
        screen.wait("10 blocks", "forget", gone=["produce", "remember "])
        screen.keys("q")
        assert screen.status() == 0


@pytest.mark.parametrize("columns, rows", SIZES)
def test_every_screen_shows_what_it_is_for(seep, show, columns, rows):
    with told(seep, "top_leaks") as target:
        screen = show(columns, rows, target.pid, *QUICK)
        screen.wait("remember", "produce")
        screen.keys("2")
        text = screen.wait("callers first", "- rest", "remember", "- producer", "produce ")
        assert re.search(r"\d+\.\d% +- rest", text)
        screen.keys("Down", "Home", "Left")
        text = screen.wait("+ ")
        name = re.search(r"\+ (\S+)", text).group(1)
        screen.keys("Right")
        screen.wait(f"- {name}", gone=["+ "])
        screen.keys("3")
        text = screen.wait("live bytes while watched", "most seen", "█")
        assert "0 B " in text
        screen.keys("m", "now", "Enter")
        screen.wait("no mark: ")
        screen.keys("m", "Enter")
        screen.wait("marked, without a name", "^")
        screen.keys("m", "warm", "Enter")
        screen.wait("marked: warm", "^warm")
        report = json.loads(seep.command("report", target.ledger()[0], "--json").stdout)
        assert [m["name"] for m in report["marks"]][-2:] == [None, "warm"]
        screen.keys("4")
        screen.wait("not checked yet")
        screen.keys("l")
        text = screen.wait("1 leak:", "LOST:", "forget", f"leaks of top_leaks (pid {target.pid}), ")
        assert re.search(r"in 10 blocks", text)
        screen.keys("5")
        screen.wait(target.pid, "top_leaks runs", "PROGRAM")
        screen.keys("?")
        screen.wait("Screens", "Enter")
        screen.keys("Escape")
        screen.wait("PROGRAM", gone=["What is shown"])
        screen.keys("Tab")
        screen.wait("no scope was opened")
        screen.keys("Tab")
        screen.wait("VERDICT")


def test_keys_change_what_is_shown(seep, show):
    with told(seep, "top_leaks") as target:
        screen = show(110, 30, target.pid, *QUICK)
        screen.wait("remember")
        for key in ("change", "allocs", "growth", "age", "blocks", "live"):
            screen.keys("s")
            screen.wait(f"sorted by {key}")
        screen.keys("+")
        screen.wait("read every 200 ms", "every 200 ms")
        screen.keys("-", "-", "-", "-")
        screen.wait("every 50.0 ms")
        screen.keys("r")
        screen.wait("since", "ago")
        screen.keys("R")
        screen.wait("from reading to reading", gone=["ago"])
        screen.keys("Space")
        frozen = screen.wait("FROZEN")
        allocs = top_json(seep, target.pid, "--interval", "50ms")["totals"]["allocs"]
        wait_until(lambda: top_json(seep, target.pid, "--interval", "50ms")["totals"]["allocs"] > allocs,
                   "more allocations")
        assert screen.text() == frozen
        screen.keys("Space")
        screen.wait("reading again", gone=["FROZEN"])
        screen.keys("/", "nothing has this", "Enter")
        screen.wait("no stack has the text")
        screen.keys("/", "top_leaks.c", "BSpace", "c", "Enter")
        screen.wait("remember", '"top_leaks.c"')
        screen.keys("/", "x", "Escape")
        screen.wait("nothing was changed", "remember")
        screen.keys("Down", "Down", "End", "Home", "NPage", "PPage", "Up", "Enter")
        screen.wait("Call stack")
        screen.resize(60, 15)
        screen.wait("one stack", "Esc")
        screen.resize(200, 50)
        screen.wait("Call stack", "Source", "Age of the live blocks")


def test_keys_do_nothing_to_what_a_small_terminal_does_not_show(seep, show):
    with told(seep, "top_family") as target:
        screen = show(100, 40, target.pid, "--interval", "50ms")
        for _ in range(12):
            target.tell("fork")
        screen.keys("5")
        screen.wait("13 processes")
        screen.keys("End")
        screen.resize(100, 5)
        screen.wait("too small")
        # More than are kept of those that ended.
        for entry in watched(seep, "running"):
            if entry["pid"] != target.process.pid:
                os.kill(entry["pid"], signal.SIGKILL)
        screen.keys("Enter", "4", "m")
        screen.resize(100, 40)
        text = screen.wait("1 process ", "and 4 that ended earlier", "PROGRAM")
        assert "is shown" not in text and "name of the mark" not in text
        screen.resize(100, 5)
        screen.wait("too small")
        screen.keys("q")
        assert screen.status() == 0


@pytest.mark.parametrize("how", ["q", "SIGTERM", "SIGINT", "SIGHUP"])
def test_the_terminal_is_as_before_in_the_end(seep, show, how):
    with told(seep, "top_leaks") as target:
        line = (f"sh -c 'echo $$ > {seep.directory}/pid; exec {SEEP} top {target.pid}'; "
                'echo "ended with $?"; stty -a')
        screen = show(80, 24, command=["bash", "--norc", "-i", "-c", f"set -m; {line}; sleep 600"])
        screen.wait("VERDICT", "remember")
        if how == "q":
            screen.keys("q")
        else:
            os.kill(int((seep.directory / "pid").read_text()), getattr(signal, how))
        text = screen.wait("ended with 0", " icanon ", " echo ")
        assert "VERDICT" not in text and "-icanon" not in text
        assert target.process.poll() is None


def test_it_can_be_suspended_and_goes_on(seep, show):
    with told(seep, "top_leaks") as target:
        screen = show(80, 24, command=["bash", "--norc", "-i"])
        screen.keys(f"{SEEP} top {target.pid}", "Enter")
        screen.wait("VERDICT", "remember")
        screen.keys("C-z")
        screen.wait("Stopped")
        screen.keys("fg", "Enter")
        screen.wait("VERDICT", "remember", gone=["Stopped"])


def test_it_ends_when_the_terminal_does(seep, show):
    with told(seep, "top_leaks") as target:
        screen = show(80, 24, target.pid)
        screen.wait("remember")
        pid = screen.pid
        screen.close()
        wait_until(lambda: not os.path.exists(f"/proc/{pid}/exe"), "the end of the viewer")
        assert target.process.poll() is None


def test_colours_and_characters_are_those_that_the_terminal_has(seep, show):
    with told(seep, "top_leaks") as target:
        screen = show(80, 24, target.pid, *QUICK)
        screen.wait("2 growing: +")
        assert "\x1b[1m\x1b[31m" in screen.text("-e")
        screen.close()
        screen = show(80, 24, target.pid, *QUICK, NO_COLOR="1", LC_ALL="C")
        text = screen.wait("2 growing: +")
        assert "[31m" not in screen.text("-e") and text.isascii()
        assert re.search(r"[_.=-]{8} GROWING", text), text
        screen.close()
        for name, said in (("dumb", "no screens (TERM=dumb)"), ("none-such", "nothing is known")):
            line = f'{SEEP} top {target.pid}; echo "ended with $?"; sleep 600'
            screen = show(120, 24, command=["sh", "-c", line], TERM=name)
            screen.wait(said, "--once", "ended with 2")
            screen.close()


def test_what_becomes_of_the_process_is_said_and_its_last_state_stays(seep, show):
    with told(seep, "top_family") as target:
        target.tell("keep 3000")
        screen = show(100, 30, target.pid, "--interval", "100ms")
        screen.wait("keep", "1 process ")
        target.tell("fork")
        screen.wait("is new", "2 processes", "and others")
        screen.keys("5", "Down", "Enter")
        screen.wait("only process", "1 process ")
        screen.keys("Enter")
        screen.wait("all processes are shown")
        target.tell("exec")
        screen.wait("ended by exec")
        target.tell("keep 5000")
        screen.keys("1")
        screen.wait("4.8 MB", "keep")
        target.process.kill()
        screen.wait("was killed", "keep")
        screen.keys("l")
        screen.wait("not checked: the process was killed")
        screen.keys("m", "Enter")
        screen.wait("no mark: the process was killed")
        screen.keys("q")
        assert screen.status() == 0


def test_a_ledger_that_is_cut_is_said_and_what_was_read_stays(seep, show, tmp_path):
    with told(seep, "top_family") as target:
        target.tell("keep 4000")
        path, _ = target.ledger()
        copy = tmp_path / os.path.basename(path)
        shutil.copyfile(path, copy)
        screen = show(100, 30, str(copy), "--interval", "100ms")
        screen.wait("3.8 MB", "keep")
        os.truncate(copy, 4096)
        screen.wait("is not read any more", "truncated", "3.8 MB", "keep")


def test_a_killed_viewer_harms_nobody(seep, show):
    with told(seep, "top_family") as target:
        screen = show(80, 24, target.pid, "--interval", "50ms")
        ledger, _ = target.ledger()
        wait_until(lambda: is_open(screen.pid, ledger), "the viewer")
        os.kill(screen.pid, signal.SIGKILL)
        assert target.tell("keep 100") == "done\n"


def test_growth_runs_its_command_without_disturbing_the_screen(seep, show, tmp_path):
    told_file = tmp_path / "told"
    with told(seep, "top_leaks") as target:
        screen = show(80, 24, target.pid, *QUICK, "--on-growth",
                      f'echo noise; echo "$SEEP_FUNCTION" >> {told_file}')
        screen.wait("2 growing: +")
        names = wait_until(lambda: told_file.exists() and
                           len(told_file.read_text().split()) == 2 and told_file.read_text(),
                           "both commands")
        assert sorted(names.split()) == ["produce", "remember"]
        assert "noise" not in screen.text()


ASKED = "attach_targets (pid {}) is not recorded. Attach? [y/N]"


@contextlib.contextmanager
def unrecorded(seep, mode):
    """A target; nor did another process of its number leave a ledger."""
    known = {p["pid"] for p in json.loads(seep.command("ps", "--json").stdout)["processes"]}
    while (made := Target(program("attach_targets"), mode)).pid in known:
        made.end()
    try:
        yield made
        made.end()
    finally:
        made.close()


def test_a_process_that_is_not_recorded_is_attached_to_if_that_is_wanted(seep, show):
    with unrecorded(seep, "truth") as process:
        screen = show(100, 24, str(process.pid))
        screen.wait(ASKED.format(process.pid))
        screen.keys("y", "Enter")
        screen.wait("VERDICT")
        process.ask("round")
        screen.wait("at_", gone=["Attach?"])
        screen.keys("q")
        assert screen.status() == 0
        screen.wait(f'{process.pid} is still recorded; "seep detach {process.pid}" ends that')
        assert is_recorded(seep, process.pid)
        detach(seep, process.pid)
        # What it was detached from is left behind, and does not answer for it.
        again = show(100, 24, str(process.pid))
        again.wait(ASKED.format(process.pid))
        again.keys("Y", "Enter")
        again.wait("VERDICT")
        again.keys("q")
        assert again.status() == 0 and is_recorded(seep, process.pid)
        detach(seep, process.pid)


@pytest.mark.parametrize("keys", [["Enter"], ["n", "Enter"], ["x", "Enter"], ["C-d"], ["C-c"]])
def test_a_process_is_left_alone_without_a_yes(seep, show, keys):
    with unrecorded(seep, "idle") as process:
        screen = show(100, 24, str(process.pid))
        screen.wait(ASKED.format(process.pid))
        screen.keys(*keys)
        assert screen.status() == 2
        screen.wait(f"there is no ledger of process {process.pid}", f'"seep attach {process.pid}" records it')
        assert not is_recorded(seep, process.pid)


def test_an_attach_that_is_refused_says_why(seep, show):
    with unrecorded(seep, "sealed-kill") as process:
        screen = show(100, 24, str(process.pid))
        screen.wait(ASKED.format(process.pid))
        screen.keys("y", "Enter")
        assert screen.status() == 2
        screen.wait("seep attach: ", "seccomp", gone=["still recorded"])


@pytest.mark.parametrize("words", [[], ["--once"], ["--csv"]])
def test_nobody_is_asked_who_sits_at_no_terminal(seep, words):
    with unrecorded(seep, "idle") as process:
        done = seep.command("top", *words, str(process.pid))
        assert done.status == 2 and done.stdout == b""
        assert f'"seep attach {process.pid}" records it from now on' in done.stderr.decode()
        assert not is_recorded(seep, process.pid)
