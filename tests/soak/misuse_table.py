#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""misuse_table.py [--only NAME]: the misuse programs under seep, AddressSanitizer and valgrind; writes
docs/misuse-table.md. SEEP_BUILD names the build.

Per case and tool: right, missed (nothing is reported), false (something else is reported, or anything
of what is right, or what is right ends otherwise).
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import signal
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from leak_table import LEVELS, build_sanitized, cell, end, order, totals_of
from leak_truth import SOURCE
from misuse_truth import (
    SETTINGS, command_of, misuse_cases, run_case, settings_of, wants_of,
)

NAMES = {"seep": "seep", "asan": "AddressSanitizer", "valgrind": "valgrind"}
ACCESSES = ("rear-guard", "front-guard", "out-of-bounds", "use-after-free")
# What a tool calls it, and which of our kinds that may be.
ASAN = {
    "attempting double-free": ("double-free",),
    "attempting free on address which was not malloc()-ed":
        ("unknown-free", "interior-free", "mismatched-free"),
    "alloc-dealloc-mismatch": ("mismatched-free",),
    "new-delete-type-mismatch": ("size-mismatch", "align-mismatch", "mismatched-free"),
    "heap-buffer-overflow": ("rear-guard", "front-guard", "out-of-bounds"),
    "heap-use-after-free": ("use-after-free",),
    # It does not look before it reads; the report has the stack.
    "SEGV": ("unknown-free",),
}
VALGRIND = {
    # A pointer into the middle is one, too, whatever was meant.
    "InvalidFree": ("double-free", "unknown-free", "interior-free", "mismatched-free"),
    "MismatchedFree": ("mismatched-free",),
    "InvalidWrite": ACCESSES,
    "InvalidRead": ACCESSES,
}
ASAN_OPTIONS = (
    "alloc_dealloc_mismatch=1:new_delete_type_mismatch=1:halt_on_error=0:detect_leaks=0:"
    "allocator_may_return_null=1"
)
LIMIT_S = {"asan": 60, "valgrind": 120}

HEAD = """# How right are findings, beside AddressSanitizer's and valgrind's?

`tests/soak/misuse_table.py` writes this page: each case of `tests/programs/misuse_*` under seep, AddressSanitizer (gcc
12, the same source built with `-fsanitize=address`; mismatches of all sorts are asked for) and valgrind 3.19, built by
gcc with -O0 and -O2.

- **right**: what is wrong is reported, and what is right is not. Of seep more is asked: just the findings wanted, with
  kind, function, sizes and the innermost function of each call stack.
- **missed**: nothing is reported.
- **false**: only something else is reported, or anything at all of a program that is right, or such a program ends
  otherwise than without the tool.
- **n/a**: the tool's own memory management takes away what the case is about, or the function exists only with seep.

AddressSanitizer needs a build of its own, valgrind runs a program some 20 times slower; both watch each access, where
seep looks at frees, and at guards and freed blocks where it is asked to: under "with" stands the option.

| row | case | with | wanted | seep | AddressSanitizer | valgrind |
|---|---|---|---|---|---|---|"""


def named(texts, names):
    """Which of the tool's names occur, each once, as they come."""
    pattern = "|".join(re.escape(name) for name in names)
    return list(dict.fromkeys(m[0] for text in texts for m in re.finditer(pattern, text)))


def under_asan(case, level, asan_dir, folder):
    path = asan_dir / level / case.program
    options = f"{ASAN_OPTIONS}:log_path={folder}/asan"
    _, status = end([path, case.name], {"ASAN_OPTIONS": options}, folder, LIMIT_S["asan"])
    texts = [p.read_text(errors="replace") for p in sorted(folder.glob("asan.*"))]
    heads = [line for text in texts for line in text.splitlines() if "AddressSanitizer:" in line]
    return named(heads, ASAN), status


def under_valgrind(case, level, _, folder):
    command = ["valgrind", "-q", "--xml=yes", "--xml-file=vg.%p"]
    command += command_of(case, f"gcc-{level}")
    _, status = end(command, {}, folder, LIMIT_S["valgrind"])
    said = []
    for path in sorted(folder.glob("vg.*")):
        text = path.read_text(errors="replace")
        text = text[: text.rfind("</error>") + 8] + "</valgrindoutput>" if "<error>" in text else ""
        if text:
            errors = xml.etree.ElementTree.fromstring(text).iter("error")
            said += [error.findtext("kind") for error in errors]
    return list(dict.fromkeys(kind for kind in said if kind in VALGRIND)), status


def under_seep(case, level, folder):
    setting = settings_of(case)[0]
    wrong = run_case(case, f"gcc-{level}", setting, folder / "case", folder)
    if not wrong:
        return ("missed", "–") if case.has("missed") else ("right", "")
    false = any(": said: " in w or "it ended as" in w for w in wrong)
    return ("false" if false else "missed"), wrong[0].split(": ", 1)[1][:60]


TOOLS = {"asan": (under_asan, ASAN), "valgrind": (under_valgrind, VALGRIND)}


def score(case, said, status, plain, meanings):
    kinds = {kind for want in wants_of(case) for kind in want["kinds"]}
    text = ", ".join(said) or "–"
    if not kinds:
        if not said and status != plain:
            return "false", f"the program ends with {status} in place of {plain}"
        return ("false", text) if said else ("right", "")
    if any(kinds & set(meanings[name]) for name in said):
        return "right", ""
    return ("false" if said else "missed"), text


def one(case, level, asan_dir):
    """Scores by tool of one case at one level."""
    scores = {}
    with tempfile.TemporaryDirectory(prefix="misuse-table-") as folder:
        folder = pathlib.Path(folder)
        scores["seep"] = under_seep(case, level, folder)
        _, plain = end(command_of(case, f"gcc-{level}"), {}, folder)
    for tool, (run, meanings) in TOOLS.items():
        if case.has("reuses") or case.has("c23"):
            scores[tool] = ("n/a", "")
            continue
        with tempfile.TemporaryDirectory(prefix="misuse-table-") as folder:
            said, status = run(case, level, asan_dir, pathlib.Path(folder))
            scores[tool] = score(case, said, status, plain, meanings)
    return scores


def wanted(case):
    """Its want without functions, which are names in its source."""
    left_out = ("here=", "alloc=", "freed=", "within=")
    words = [w for w in case.want.split() if not w.startswith(left_out)]
    return " ".join(words).replace(" * ", " ").replace("|", "\\|").replace("+", " ")


def table(rows):
    lines, totals = [HEAD], {tool: collections.Counter() for tool in NAMES}
    for case, levels in rows:
        name = f"{case.program[7:]} {case.name}".replace("_", " ")
        words = [case.row, name, " ".join(SETTINGS[settings_of(case)[0]]), wanted(case)]
        for tool in NAMES:
            scores = [levels[level][tool] for level in LEVELS]
            totals[tool].update(verdict for verdict, _ in scores)
            words.append(cell(scores))
        lines.append("| " + " | ".join(words) + " |")
    return "\n".join(lines + totals_of(totals, NAMES)) + "\n"


def main():
    # Of a shell's background job it is ignored, and so it would be in the cases.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="cases whose name contains this; print them")
    options = parser.parse_args()
    asan_dir = pathlib.Path(tempfile.gettempdir()) / "misuse-table-asan"
    build_sanitized(SOURCE, asan_dir, ["misuse_*.c*"], "-fsanitize=address",
                    "-fsanitize-recover=address")
    cases = sorted((c for c in misuse_cases() if options.only in str(c)), key=order)
    rows = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [{level: pool.submit(one, c, level, asan_dir) for level in LEVELS} for c in cases]
        for case, by_level in zip(cases, jobs):
            rows.append((case, {level: job.result() for level, job in by_level.items()}))
            print(case.row, case, rows[-1][1], flush=True)
    if options.only:
        print(table(rows))
    else:
        (SOURCE / "docs" / "misuse-table.md").write_text(table(rows))


if __name__ == "__main__":
    main()
