# SPDX-License-Identifier: MIT
"""What every command has in common: help, wrong usage, exit statuses."""
import re
import subprocess

import pytest

import harness

pytestmark = pytest.mark.fast


def seep(*words, **options):
    return subprocess.run([harness.SEEP, *words], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=60, **options)


def listed_commands():
    return re.findall(r"^  (\S+)  ", seep("help").stdout, re.M)


def test_alone_it_shows_three_first_steps():
    result = seep()
    assert result.returncode == 0
    assert len(re.findall(r"^  seep ", result.stdout, re.M)) == 3


def test_version_is_one_line():
    assert re.fullmatch(r"seep \d+\.\d+\.\d+\n", seep("--version").stdout)


@pytest.mark.parametrize("words", [["help"], ["--help"], ["-h"]])
def test_help_lists_the_commands(words):
    result = seep(*words)
    assert result.returncode == 0
    assert "query" in listed_commands()


def test_every_command_explains_itself_the_same_way_in_both_spellings():
    for command in listed_commands():
        by_option = seep(command, "--help")
        assert by_option.returncode == 0, command
        assert by_option.stdout.startswith(f"usage: seep {command}")
        assert "--help" in by_option.stdout
        assert seep("help", command).stdout == by_option.stdout


def test_help_fits_a_plain_terminal():
    for words in [[], ["help"], *(["help", command] for command in listed_commands())]:
        for line in seep(*words).stdout.splitlines():
            assert len(line) <= 80, line


def test_control_bytes_of_arguments_never_reach_the_terminal_raw():
    for words in [["\x1b[31mred"], ["query", "--\x1b[31m"], ["query", "\x1b]0;x\a", "SELECT 1"]]:
        result = seep(*words)
        assert result.returncode != 0
        assert "\x1b" not in result.stderr and "\a" not in result.stderr


def test_output_that_cannot_be_written_is_a_failure():
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = subprocess.run([harness.SEEP, "help"], stdout=full, stderr=subprocess.PIPE,
                                text=True, check=False)
    assert result.returncode == 2
    assert "No space left" in result.stderr
