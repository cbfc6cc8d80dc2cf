#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What NAME.h declares, NAME.c of the same folder defines: a reader finds one by the other.

A header that declares what another file defines also hides from the table of rooms who uses whom.
"""
import os
import re

from linting import Lint

# One interface, several files of the folder behind it; and why it is not several headers.
SEVERAL = {
    "src/cfi/cfi.h": "the room's one function",
    "src/cli/command.h": "one entry per command, in cmd_NAME.c: the list of commands",
    "src/analysis/verdict_parts.h": "blocks of one fate, for verdicts.c and verdict_sites.c",
    "src/profile/ledger_parts.h": "the loader's steps, a file each",
    "src/recording/recording.h": "the room's interface: write, open, load",
    "src/report/check.h": "one result of seep check, a file per format",
    "src/report/report.h": "the room's interface: one function per kind of report, a file each",
    "src/runtime/track/record_parts.h": "what one operation is made of, for record.c and resize.c",
    "src/scan/scan_private.h": "what the steps of a scan share",
    "src/scan/scan.h": "the room's interface: a file per step of a scan",
    "src/tui/screens.h": "one entry per screen, in screen_NAME.c: the list of screens",
    "src/target/roots_parts.h": "the finders of roots, a file each",
    "src/target/stop.h": "one stopped process, a file for each thing that is done with it",
    "src/target/attach_parts.h": "what attaching is made of, a file each",
    "src/target/facts.h": "the facts, looked for in a file per subject",
}

NOT_NAMES = re.compile(r"\b(?:__attribute__|_Alignas|_Atomic|__typeof__|_Static_assert|SEEP_FREE_AT)\s*\(")
NAME_OF_FUNCTION = re.compile(r"(\w+)\s*\(")


def without_noise(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"'(?:\\.|[^'\\\n])*'", "0", text)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    return re.sub(r'extern\s+""\s*\{', "", text)


def drop_calls(statement):
    """Without __attribute__((...)) and its like; _Atomic(type) has no name of ours either."""
    while found := NOT_NAMES.search(statement):
        depth, end = 1, found.end()
        while depth and end < len(statement):
            depth += {"(": 1, ")": -1}.get(statement[end], 0)
            end += 1
        statement = statement[:found.start()] + " " + statement[end:]
    return statement


def statements(text):
    """Each statement outside of all braces, as (text, has a body); a body is left out."""
    depth, now = 0, ""
    for char in without_noise(text):
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0 and now.rstrip().endswith(")"):
                yield drop_calls(now).strip(), True
                now = ""
        elif depth == 0 and char == ";":
            yield drop_calls(now).strip(), False
            now = ""
        elif depth == 0:
            now += char


def objects_of(statement):
    """The names in "extern int a, *b[3]"."""
    names = []
    for part in statement.split("=")[0].split(","):
        words = re.findall(r"\w+", part.split("[")[0])
        if words:
            names.append(words[-1])
    return names


def declared(text):
    for statement, has_body in statements(text):
        words = statement.split()
        if has_body or not words or {"static", "typedef", "RT_INLINE"} & set(words):
            continue
        function = NAME_OF_FUNCTION.search(statement)
        if function:
            yield function.group(1)
        elif words[0] == "extern":
            yield from objects_of(statement)


def defined(text):
    names = set()
    for statement, has_body in statements(text):
        words = statement.split()
        if not words or {"static", "typedef", "extern"} & set(words):
            continue
        function = NAME_OF_FUNCTION.search(statement.split("=")[0])
        if has_body and function:
            names.add(function.group(1))
        elif not function:
            names.update(objects_of(statement))
    return names


def folder_defines(lint, folder, memory):
    if folder not in memory:
        memory[folder] = set()
        for path in lint.files((".c",), (folder,)):
            if os.path.dirname(path) == folder:
                memory[folder] |= defined(lint.read(path))
    return memory[folder]


def main():
    lint = Lint(__doc__)
    memory = {}
    needed = set()
    for path in lint.files((".h",), ("src",)):
        source = path.removesuffix(".h") + ".c"
        names = list(declared(lint.read(path)))
        lint.checked += len(names)
        exists = os.path.exists(os.path.join(lint.source, source))
        here = defined(lint.read(source)) if exists else set()
        for name in names:
            if name in here:
                continue
            needed.add(path)
            if path not in SEVERAL or name not in folder_defines(lint, os.path.dirname(path),
                                                                 memory):
                lint.problem(path, f"declares {name}, which {os.path.basename(source)} "
                                   f"{'does not define' if exists else 'is not there to define'}")
    for path in sorted(set(SEVERAL) - needed):
        lint.problem(path, "is an exception in this lint and need not be one")
    lint.finish()


if __name__ == "__main__":
    main()
