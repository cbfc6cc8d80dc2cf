#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""leak_table.py [--only NAME]: the leak programs under seep, LeakSanitizer and valgrind; writes
docs/leak-table.md. SEEP_BUILD names the build.

Per case and tool: right, missed (lost blocks that it does not report), false (live blocks that it
reports as lost, or wrong sizes). A doubt (MAYBE-LOST, valgrind's "possibly lost") about a lost block is
right; about a live one it is right unless valgrind says that the block is reachable.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import leak_run
import leak_truth

TOOLS = ("seep", "lsan", "valgrind")
NAMES = {"seep": "seep", "lsan": "LeakSanitizer", "valgrind": "valgrind"}
LEVELS = ("O0", "O2")
LIMIT_S = {"lsan": 20, "valgrind": 300}
KINDS = {
    "Leak_DefinitelyLost": "lost",
    "Leak_IndirectlyLost": "lost",
    "Leak_PossiblyLost": "maybe",
    "Leak_StillReachable": "reachable",
}


HEAD = """# How right are the verdicts, beside LeakSanitizer's and valgrind's?

`tests/soak/leak_table.py` writes this page: each case of `tests/programs/leak_*` under seep, LeakSanitizer (gcc 12, the
same source built with `-fsanitize=leak`) and valgrind 3.19, built by gcc with -O0 and -O2.

- **right**: all lost blocks are reported, to the byte, and no others. Of seep more is asked: the exact verdict and rule.
- **missed**: a lost block is not reported.
- **false**: a live block is reported as lost, a size is wrong, or the program behaved differently.
- A doubt (MAYBE-LOST, "possibly lost") about a lost block is right, and so it is about a live one that only a
  pointer into its middle leads to.
- Where the program cannot run under a tool (4 TB of address space, its signal handlers), or its child's status tells
  of the tool, that counts against the tool.
- **n/a**: the tool has no such thing, or the case is one of seep alone.

What is wanted is written as `tests/programs/leak.h` says. The rows are those of the catalogue of situations: A shapes, B
pointers, C roots, D threads, E processes, F allocation functions, G many stacks, H hostile processes, P pools.

| row | case | wanted | seep | LeakSanitizer | valgrind |
|---|---|---|---|---|---|"""


class Said(collections.Counter):
    """What a tool said of one process: bytes and blocks by kind; a note where it said nothing."""

    note = None
    status = None


def end(command, env, folder, limit_s=20):
    """Run a program; (pid, status), None if it does not end."""
    with open(os.devnull, "rb") as null:
        child = subprocess.Popen(
            command, stdin=null, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, **env}, cwd=folder, start_new_session=True,
        )
    try:
        child.wait(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        child.wait()
        return child.pid, None
    return child.pid, child.returncode


def under_valgrind(path, case, folder):
    pid, status = end(
        ["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=40",
         "--xml=yes", "--xml-file=vg.%p", path, case.name], {}, folder, LIMIT_S["valgrind"],
    )
    said = pick(folder, "vg", pid, case, read_valgrind)
    said.status = status
    return said


def read_valgrind(text):
    said = Said()
    text = text[: text.rfind("</valgrindoutput>")] + "</valgrindoutput>"
    for error in xml.etree.ElementTree.fromstring(text).iter("error"):
        kind = KINDS.get(error.findtext("kind"))
        if kind:
            # Of a root the figure includes what is lost with it, which has errors of its own.
            direct = re.search(r"\(([\d,]+) direct,", error.findtext("xwhat/text"))
            direct = direct and direct[1].replace(",", "")
            said[kind + "_bytes"] += int(direct or error.findtext("xwhat/leakedbytes"))
            said[kind + "_blocks"] += int(error.findtext("xwhat/leakedblocks"))
    return said


def under_lsan(path, case, folder):
    options = f"log_path={folder}/lsan:fast_unwind_on_malloc=0"
    if case.value("suppress"):
        (folder / "supp").write_text(f"leak:{case.value('suppress')}\n")
        options += f":suppressions={folder}/supp"
    pid, status = end([path, case.name], {"LSAN_OPTIONS": options}, folder, LIMIT_S["lsan"])
    said = pick(folder, "lsan", pid, case, read_lsan)
    if not said and status == 23:
        said.note = "no report"
    if status is None:
        said.note = "it does not end"
    # Its own, where leaks were found.
    said.status = None if status == 23 and said["lost_blocks"] else status
    return said


def read_lsan(text):
    said = Said()
    if "LeakSanitizer has encountered a fatal error" in text or "Tracer caught" in text:
        said.note = "fatal error"
    # Of several checks the last one counts.
    text = text[text.rfind("detected memory leaks") :] if "detected memory" in text else text
    for found in re.finditer(r"(?:Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object", text):
        said["lost_bytes"] += int(found[1])
        said["lost_blocks"] += int(found[2])
    return said


def pick(folder, prefix, pid, case, read):
    """The report of the process that the case is about: of its child where it wants one."""
    files = {int(p.name.rsplit(".", 1)[1]): p for p in folder.glob(prefix + ".*")}
    if "child " in case.want:
        files.pop(pid, None)
        pid = next(iter(sorted(files)), None)
    if pid not in files:
        return Said()
    try:
        return read(files[pid].read_text(errors="replace"))
    except xml.etree.ElementTree.ParseError:
        said = Said()
        said.note = "no report"
        return said


def under_seep(case, variant, folder):
    """What differs from what is wanted of seep, which is exact verdicts, is missed or false."""
    wrong = leak_run.run_case(case, variant, folder / "case", folder)
    if not wrong:
        return ("missed", "–") if case.has("missed") else ("right", "")
    false = any(": said: " in w or "it ended as" in w for w in wrong)
    return ("false" if false else "missed"), wrong[0].split(": ", 1)[1][:60]


def score(case, said):
    """right, missed or false, and what was said."""
    wants = case.wants(child="child " in case.want)
    lost = [w for w in wants if w.verdicts[0].startswith("LOST") or case.has("missed")]
    figures = [(w.bytes, w.blocks, w.with_bytes, w.with_blocks) for w in lost]
    open_ = any(None in f for f in figures)
    bytes_ = sum((f[0] or 0) + (f[2] or 0) for f in figures)
    blocks = sum((f[1] or 0) + (f[3] or 0) for f in figures)
    text = " ".join(
        f"{word} {said[kind + '_bytes']}/{said[kind + '_blocks']}"
        for kind, word in (("lost", "lost"), ("maybe", "possibly"))
        if said[kind + "_blocks"]
    )
    if said.note:
        text = said.note
    text = text or "–"
    if (said["lost_bytes"], said["lost_blocks"]) == (bytes_, blocks):
        return "right", text
    if open_ and said["lost_bytes"] >= bytes_ and said["lost_blocks"] >= blocks:
        return "right", text
    if said["lost_blocks"] > blocks or said["lost_bytes"] > bytes_:
        return "false", text
    if said["lost_blocks"] + said["maybe_blocks"] >= blocks and (
        said["lost_bytes"] + said["maybe_bytes"] >= bytes_
    ):
        return "right", text
    return "missed", text


def compare(case, said, plain):
    """As score(); a program that ends otherwise than bare was harmed."""
    verdict, text = score(case, said)
    if said.note == "it does not end":
        return "false", said.note
    if verdict == "right" and said.status not in (None, plain):
        return "false", f"the program ends with {said.status} in place of {plain}"
    return verdict, text


def build_sanitized(source, folder, programs, *sanitizer):
    """Programs of these patterns with the compiler's options for a sanitizer, by level."""
    sources = source / "tests" / "programs"
    newest_header = max(p.stat().st_mtime for p in sources.glob("*.h"))
    for level in LEVELS:
        out = folder / level
        out.mkdir(parents=True, exist_ok=True)
        for path in [p for pattern in programs for p in sources.glob(pattern)]:
            head = path.read_text().split("\n")[:5]
            flags = [w for line in head if "// build:" in line for w in line.split("build:")[1].split()]
            name = path.stem
            if name.startswith("lib_"):
                flags += ["-shared", "-fPIC"]
                name += ".so"
            driver = "g++" if path.suffix == ".cc" else "gcc"
            if (out / name).exists() and (out / name).stat().st_mtime > max(
                path.stat().st_mtime, newest_header
            ):
                continue
            subprocess.run(
                [driver, "-" + level, "-g", "-w", "-fno-omit-frame-pointer", "-D_GNU_SOURCE",
                 f"-I{source}/include", "-o", out / name, path, *flags,
                 *sanitizer],
                check=False,
            )


def one(case, level, lsan_dir):
    """Scores by tool of one case at one level."""
    variant = f"gcc-{level}"
    told = case.has("lsan-api") or case.value("suppress")
    scores = {}
    with tempfile.TemporaryDirectory(prefix="leak-table-") as folder:
        _, plain = end([leak_truth.LEAK_DIR / variant / case.program, case.name], {}, folder)
    for tool in TOOLS:
        with tempfile.TemporaryDirectory(prefix="leak-table-") as folder:
            folder = pathlib.Path(folder)
            if case.has("no-" + tool) or (tool == "valgrind" and told):
                scores[tool] = ("n/a", "")
            elif tool == "seep":
                scores[tool] = under_seep(case, variant, folder)
            elif tool == "lsan":
                path = lsan_dir / level / case.program
                scores[tool] = compare(case, under_lsan(path, case, folder), plain)
            else:
                said = under_valgrind(leak_truth.LEAK_DIR / variant / case.program, case, folder)
                scores[tool] = compare(case, said, plain)
    return scores


def cell(scores):
    """Both levels in one cell."""
    texts = [f"{verdict}{', ' + text if text else ''}" for verdict, text in scores]
    texts = [t.replace("right, –", "right").replace("|", "\\|") for t in texts]
    verdicts = [verdict for verdict, _ in scores]
    if verdicts[0] == verdicts[1] == "right":
        return "right"
    if texts[0] == texts[1]:
        return texts[0]
    return "; ".join(f"-{level}: {text}" for level, text in zip(LEVELS, texts))


def table(rows):
    """The page's text; `rows` are (case, scores by level)."""
    lines = [HEAD]
    totals = {tool: collections.Counter() for tool in TOOLS}
    for case, levels in rows:
        words = [case.row, f"{case.program[5:]} {case.name}".replace("_", " ")]
        words.append(case.want.replace("|", "\\|"))
        for tool in TOOLS:
            scores = [levels[level][tool] for level in LEVELS]
            totals[tool].update(verdict for verdict, _ in scores)
            words.append(cell(scores))
        lines.append("| " + " | ".join(words) + " |")
    return "\n".join(lines + totals_of(totals, NAMES)) + "\n"


def totals_of(totals, names):
    """Lines with the counts of verdicts by tool."""
    lines = ["", "Totals, of both levels:", "", "| | right | missed | false | not applicable |",
             "|---|---|---|---|---|"]
    for tool, counts in totals.items():
        figures = (str(counts[v]) for v in ("right", "missed", "false", "n/a"))
        lines.append(f"| {names[tool]} | " + " | ".join(figures) + " |")
    return lines


def order(case):
    return case.row[0], int(case.row[1:]), str(case)


def main():
    # Of a shell's background job it is ignored, and so it would be in the cases.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="cases whose name contains this; print them")
    options = parser.parse_args()
    lsan_dir = pathlib.Path(tempfile.gettempdir()) / "leak-table-lsan"
    build_sanitized(leak_truth.SOURCE, lsan_dir, ["leak_*.c*", "lib_leak_*.c*"], "-fsanitize=leak")
    cases = sorted((c for c in leak_truth.all_cases() if options.only in str(c)), key=order)
    rows = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [{level: pool.submit(one, c, level, lsan_dir) for level in LEVELS} for c in cases]
        for case, by_level in zip(cases, jobs):
            rows.append((case, {level: job.result() for level, job in by_level.items()}))
            print(case.row, case, rows[-1][1], flush=True)
    if options.only:
        print(table(rows))
    else:
        page = leak_truth.SOURCE / "docs" / "leak-table.md"
        _, title, others = page.read_text().partition("\n## Programs over real libraries\n")
        page.write_text(table(rows) + title + others)


if __name__ == "__main__":
    main()
