#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Licence line first, no words that only mean something in one workshop, no loose ends."""
import re

from linting import Lint

SUFFIXES = (".c", ".h", ".cc", ".def", ".map", ".py", ".rs", ".sh", ".md", ".txt")
TOP = (".clang-format", "CMakeLists.txt", "Makefile", "README.md", "HACKING.md", "CHANGELOG.md",
       "SECURITY.md", "try", "check", ".ci/run", ".ci/deb", "cmake/install.sh", "cmake/Pages.cmake",
       "debian/rules", "debian/tests/smoke")
LICENCE = "SPDX-License-Identifier: MIT"
NO_LICENCE_LINE = (".md", ".txt")

# The patterns are put together so that this file does not contain what it looks for.
FORBIDDEN = (
    (re.compile(r"(?<![\w.])/" + r"work\b"), "a path of one machine"),
    (re.compile(r"(?<![\w.])/root/"), "a path of one machine"),
    (re.compile(r"(?<![\w&#'\"/$(){}\[\]])" + r"#\d+\b"), "an issue number; say what it was about"),
    (re.compile(r"\b(TODO|FIXME|HACK|XXX)\b(?!\([a-z]+\))"), "a loose end without an owner"),
    (re.compile(r"\bas an AI\b|\b(Claude|ChatGPT|Copilot)\b", re.I), "not about the product"),
)
FORBIDDEN_EXEMPT = {"tests/lint/lint_text.py"}


def check_licence(lint, path, lines):
    if path.endswith(NO_LICENCE_LINE) and not path.endswith("CMakeLists.txt"):
        return
    first = lines[0] if lines else ""
    if first.startswith("#!") and len(lines) > 1:
        first = lines[1]
    if LICENCE not in first:
        lint.problem(f"{path}:1", f"the first line is not {LICENCE}")


def check_words(lint, path, lines):
    if path in FORBIDDEN_EXEMPT:
        return
    for number, line in enumerate(lines, 1):
        for pattern, why in FORBIDDEN:
            match = pattern.search(line)
            if match:
                lint.problem(f"{path}:{number}", f"'{match.group(0)}': {why}")


def check_ends(lint, path, text, lines):
    if text and not text.endswith("\n"):
        lint.problem(path, "no newline at the end")
    if "\r" in text:
        lint.problem(path, "carriage returns")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip() and not path.endswith(".md"):
            lint.problem(f"{path}:{number}", "blanks at the end of the line")


def main():
    lint = Lint(__doc__)
    directories = ("src", "include", "tests", "examples", "bench", "docs")
    for path in [*TOP, *lint.files(SUFFIXES, directories)]:
        try:
            text = lint.read(path)
        except FileNotFoundError:
            continue
        lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
        lint.checked += 1
        check_licence(lint, path, lines)
        check_words(lint, path, lines)
        check_ends(lint, path, text, lines)
    lint.finish()


if __name__ == "__main__":
    main()
