#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Relative links of the pages lead to files and headings that exist."""
import os
import re

from linting import Lint

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.M)


def anchors(text):
    """As GitHub makes them: lower case, spaces to hyphens, other punctuation dropped."""
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in HEADING.findall(text)}


def check(lint, path):
    text = lint.read(path)
    for match in LINK.finditer(text):
        target, _, anchor = match.group(1).partition("#")
        if ":" in target:
            continue
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        other = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(os.path.join(lint.source, other)):
            lint.problem(where, f"{match.group(1)} does not exist")
        elif anchor and other.endswith(".md") and anchor not in anchors(lint.read(other)):
            lint.problem(where, f"{other} has no heading #{anchor}")


def main():
    lint = Lint(__doc__)
    top = [name for name in sorted(os.listdir(lint.source)) if name.endswith(".md")]
    for path in [*top, *lint.files((".md",), ("docs", "bench"))]:
        lint.checked += 1
        check(lint, path)
    lint.finish()


if __name__ == "__main__":
    main()
