#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""C and C++ sources are as .clang-format has them, where the clang-format it is for is installed."""
import os
import re
import shutil
import subprocess

from linting import Lint

MAJOR = 14  # other versions break lines differently


def find_tool():
    for name in (f"clang-format-{MAJOR}", "clang-format"):
        path = shutil.which(name)
        if not path:
            continue
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        match = re.search(r"version (\d+)\.", said.stdout)
        if match and int(match.group(1)) == MAJOR:
            return path
    return None


def main():
    lint = Lint(__doc__)
    tool = find_tool()
    if not tool:
        lint.skip(f"clang-format {MAJOR} is not installed")
    for path in lint.files((".c", ".h", ".cc"), ("src", "include", "tests", "examples", "bench")):
        lint.checked += 1
        result = subprocess.run([tool, "--dry-run", "-Werror", "--style=file", path],
                                cwd=lint.source, capture_output=True, text=True, check=False,
                                env={**os.environ, "LC_ALL": "C"})
        if result.returncode != 0:
            first = re.match(r"[^:]+:(\d+)", result.stderr)
            line = first.group(1) if first else "1"
            lint.problem(f"{path}:{line}", "not as clang-format has it; run clang-format -i on it")
    lint.finish()


if __name__ == "__main__":
    main()
