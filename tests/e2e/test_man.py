# SPDX-License-Identifier: MIT
"""The manual pages, as their readers show them: no complaint, and word for word what help says."""

import os
import re
import subprocess

import pytest

from harness import SEEP, SOURCE, need, run_plain
from help_text import Help, ask, commands, one_line

NAMES = list(commands())


@pytest.fixture(name="page")
def fixture_page(tmp_path):
    def write(*words):
        path = tmp_path / "-".join(["seep", *words, "page.1"])
        path.write_text(ask("help", "--man", *words))
        return path
    return write


def sections(path):
    """{"OPTIONS": its text}, as mandoc shows them without folding lines."""
    text = subprocess.run([need("mandoc"), "-T", "utf8", "-O", "width=1000", path],
                          capture_output=True, text=True, check=True, timeout=60).stdout
    text = re.sub(".\b", "", text)  # bold and underlined
    found = re.split(r"^([A-Z][A-Z ]+)$", text, flags=re.M)[1:]
    return dict(zip(found[::2], found[1::2]))


@pytest.mark.parametrize("words", [[], *([name] for name in NAMES)])
def test_neither_reader_complains(page, words):
    path = page(*words)
    lint = run_plain([need("mandoc"), "-T", "lint", path])
    assert (lint.stdout, lint.stderr, lint.status) == (b"", b"", 0)
    shown = run_plain([need("man"), "--warnings", "-E", "UTF-8", "-l", path],
                      env={"MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
    assert (shown.stderr, shown.status) == (b"", 0)
    assert max(map(len, shown.stdout.decode().splitlines())) <= 80


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_help_says(page, name):
    help_text, man = Help(name), sections(page(name))
    assert one_line(man["SYNOPSIS"]) == help_text.usage
    assert one_line(man["DESCRIPTION"]) == one_line(help_text.description)
    assert one_line(man["OPTIONS"]) == one_line(help_text.options_text)
    summary = commands()[name]
    assert one_line(man["NAME"]) == f"seep-{name} - {summary[0].lower()}{summary[1:]}"
    for other in re.findall(r'"seep ([a-z]+)[ "]', help_text.description):
        assert other in (name, "help") or f"seep-{other}(1)" in man["SEE ALSO"]


def test_lines_of_examples_stay_apart(page):
    """They are the indented ones, less the indentation of help."""
    for name in NAMES:
        shown = [line.strip() for line in sections(page(name))["DESCRIPTION"].splitlines()]
        kept = [line.strip() for line in Help(name).description.splitlines()
                if line.startswith("  ")]
        assert [line for line in shown if line in kept] == kept


def test_the_first_page_lists_all_commands(page):
    man = sections(page())
    found = re.findall(r"seep-(\S+)\(1\) (.*?)\.(?= seep-|$)", one_line(man["COMMANDS"]))
    assert dict(found) == commands()
    assert re.findall(r"seep-(\S+)\(1\)", man["SEE ALSO"]) == NAMES


def test_the_first_page_lists_all_variables(page):
    """Those that sources read; what users' environments have anyway is not ours."""
    told = one_line(sections(page())["ENVIRONMENT"])
    read = set()
    for path in SOURCE.glob("src/**/*.c"):
        read |= set(re.findall(r'getenv\("([A-Z_]+)"\)', path.read_text()))
    assert {"SEEP_DIR", "SEEP_LIB", "SEEP_OPTIONS"} <= read
    for name in read - {"PATH", "PWD", "HOME", "TERM", "LANG", "LC_ALL", "LC_CTYPE",
                        "LD_LIBRARY_PATH", "LD_PRELOAD", "SOURCE_DATE_EPOCH", "DISPLAY", "WAYLAND_DISPLAY"}:
        assert name in told, name


def test_the_first_page_lists_the_keys_of_seep_options(page):
    """As the library itself lists them."""
    listed = run_plain(["/bin/true"], env={"LD_PRELOAD": str(SEEP.parent / "libseep.so"),
                                           "SEEP_OPTIONS": "help=1"})
    keys = re.findall(r"^seep:   (\w+)=(.*)$", listed.stderr.decode(), re.M)
    assert len(keys) > 10
    told = one_line(sections(page())["ENVIRONMENT"])
    assert told.endswith(" ".join(one_line(" ".join(key)) for key in keys))


def test_two_builds_of_one_package_have_the_same_date():
    env = {**os.environ, "SOURCE_DATE_EPOCH": "86400"}
    shown = subprocess.run([SEEP, "help", "--man", "ps"], env=env, capture_output=True, text=True,
                           check=True, timeout=60).stdout
    assert '.TH "SEEP\\-PS" 1 "1970-01-02"' in shown
