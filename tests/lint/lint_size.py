#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small enough to read: no file of src/ over 600 lines, no function over 80."""
from linting import Lint

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 80


def check_functions(lint, path, lines):
    # The format puts a function's braces, and nothing else's opening brace, in the first column.
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line.startswith("}") and start is not None:
            length = number - start - 1
            if length > FUNCTION_LINES_MAX:
                name = lines[start - 2].strip()
                lint.problem(f"{path}:{start}", f"a function of {length} lines: {name}")
            start = None


def main():
    lint = Lint(__doc__)
    for path in lint.files((".c", ".h"), ("src", "include")):
        lint.checked += 1
        lines = lint.read(path).split("\n")
        if len(lines) - 1 > FILE_LINES_MAX:
            lint.problem(path, f"{len(lines) - 1} lines")
        check_functions(lint, path, lines)
    lint.finish()


if __name__ == "__main__":
    main()
