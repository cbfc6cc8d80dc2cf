#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which module may include which: the table in HACKING.md, enforced."""
import os
import re

from linting import Lint

FREESTANDING = {"core", "ledger", "cfi", "scan"}

MAY_INCLUDE = {
    "core": set(),
    "ledger": {"core"},
    "cfi": {"core"},
    "scan": {"core", "ledger"},
    "runtime": {"seep", "core", "ledger", "cfi", "scan"},
    "base": set(),
    "symbol": {"core", "base"},
    "target": {"core", "ledger", "cfi", "scan", "base", "symbol"},
    "profile": {"core", "ledger", "base", "symbol"},
    "recording": {"core", "base", "profile"},
    "analysis": {"core", "base", "profile", "scan"},
    "import": {"base", "profile"},
    "recorder": {"core", "ledger", "base", "symbol", "target", "profile", "recording",
                 "analysis"},
    "report": {"base", "profile", "analysis"},
    "export": {"base", "profile", "analysis"},
    "tui": {"base", "profile", "analysis"},
    "cli": {"core", "ledger", "base", "symbol", "target", "profile", "recording", "analysis",
            "import", "recorder", "report", "export", "tui", "seep"},
}

# Headers that declare types and macros only; what they declare links to nothing.
FREESTANDING_HEADERS = {"stdint.h", "stddef.h", "stdbool.h", "stdatomic.h", "stdalign.h",
                        "stdarg.h", "limits.h", "elf.h", "link.h", "string.h"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def module_of(path):
    return path.split("/")[1] if path.startswith("src/") else "seep"


def check(lint, path):
    module = module_of(path)
    text = lint.read(path)
    if module not in MAY_INCLUDE and module != "seep":
        lint.problem(path, f"module {module} is not in the table")
        return
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        where, name = f"{path}:{line}", match.group(2)
        if match.group(1) == "<":
            if module in FREESTANDING and name not in FREESTANDING_HEADERS:
                lint.problem(where, f"<{name}> in a freestanding module")
            continue
        other = name.split("/")[0] if "/" in name else module
        if not os.path.exists(os.path.join(lint.source, "src", name)) and \
           not os.path.exists(os.path.join(lint.source, "include", name)):
            lint.problem(where, f'"{name}" is not a path from src/ or include/')
        elif other != module and other not in MAY_INCLUDE.get(module, set()):
            lint.problem(where, f"{module} may not include {other}")


def main():
    lint = Lint(__doc__)
    for path in lint.files((".c", ".h", ".def"), ("src", "include")):
        lint.checked += 1
        check(lint, path)
    lint.finish()


if __name__ == "__main__":
    main()
