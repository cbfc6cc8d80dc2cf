#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes the pictures of README.md and docs/top.md anew: python3 tests/e2e/take_pictures.py"""

import os
import pathlib
import subprocess
import sys
import tempfile

from harness import BUILD, SEEP, SOURCE, Seep
from screens import Screen
from top_watch import QUICK, told

FOLDER = SOURCE / "docs" / "pictures"


def take(screen, name):
    text = screen.text("-e", "-N")
    done = subprocess.run([sys.executable, FOLDER / "draw.py"], input=text.encode(),
                          stdout=subprocess.PIPE, check=True)
    (FOLDER / f"{name}.svg").write_bytes(done.stdout)


def open_screen(seep, folder, size, pid):
    env = {"LC_ALL": "C.UTF-8", "TERM": "screen-256color", **seep.environment()}
    return Screen(folder, *size, [SEEP, "top", pid, *QUICK], env)


def leaks(seep, folder):
    # Places are shown relative to where it was started.
    with told(seep, "top_leaks", cwd=SOURCE) as target:
        for size, end in (((80, 24), ""), ((200, 60), "-wide")):
            screen = open_screen(seep, folder, size, target.pid)
            screen.wait("2 growing: +")
            take(screen, f"top-stacks{end}")
            screen.keys("Enter")
            screen.wait("Call stack", "GROWING:")
            take(screen, f"top-detail{end}")
            screen.keys("2")
            screen.wait("callers first", "produce ")
            take(screen, f"top-tree{end}")
            screen.keys("3", "m", "Enter")
            screen.wait("marked", "█", "^")
            take(screen, f"top-timeline{end}")
            screen.keys("l")
            screen.wait("LOST:")
            take(screen, f"top-leaks{end}")
            screen.close()


def processes(seep, folder):
    with told(seep, "top_family") as target:
        target.tell("keep 5000")
        screen = open_screen(seep, folder, (80, 24), target.pid)
        screen.wait("keep")
        target.tell("fork")
        target.tell("grow")
        target.tell("exec")
        target.tell("keep 4000")
        screen.keys("5")
        screen.wait("ended by exec", "runs")
        take(screen, "top-processes")
        screen.close()


def report(seep, folder):
    leaky, recording = os.path.relpath(BUILD / "examples" / "leaky", SOURCE), folder / "leaky.seep"
    env = {"LC_ALL": "C.UTF-8", "TERM": "screen-256color", **seep.environment()}
    subprocess.run([SEEP, "run", "-q", "-o", recording, "--", leaky], cwd=SOURCE, check=True,
                   env={**os.environ, **env}, stdout=subprocess.DEVNULL)
    # The shell stays, since tmux writes on the screen of one that has ended.
    shown = "seep report --by lost leaky.seep"
    script = f"cd {folder}; seep() {{ {SEEP} \"$@\"; }}; echo '$ {shown}'; {shown}; read end"
    screen = Screen(folder, 92, 29, ["sh", "-c", script], env)
    screen.wait("VERDICT", "Next:")
    take(screen, "report")
    screen.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        for take_some in (report, leaks, processes):
            recorded = Seep(pathlib.Path(made))
            take_some(recorded, pathlib.Path(made))
            recorded.close()
