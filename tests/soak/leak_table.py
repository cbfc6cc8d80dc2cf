#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""leak_table.py [--build DIR] [--only NAME] [--check]: the leak programs under seep, LeakSanitizer
and valgrind; writes docs/leak-table.md.

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
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

LEVELS = ("O0", "O2")
LIMIT_S = 300
KINDS = {
    "Leak_DefinitelyLost": "lost",
    "Leak_IndirectlyLost": "lost",
    "Leak_PossiblyLost": "maybe",
    "Leak_StillReachable": "reachable",
}


class Said(collections.Counter):
    """What a tool said of one process: bytes and blocks by kind; a note where it said nothing."""

    note = None


def end(command, env, folder):
    """Run a program; (pid, status)."""
    with open(os.devnull, "rb") as null:
        child = subprocess.Popen(
            command, stdin=null, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, **env}, cwd=folder, start_new_session=True,
        )
    try:
        child.wait(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        child.wait()
        return child.pid, None
    return child.pid, child.returncode


def under_valgrind(path, case, folder):
    pid, _ = end(
        ["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=40",
         "--xml=yes", "--xml-file=vg.%p", path, case.name], {}, folder,
    )
    return pick(folder, "vg", pid, case, read_valgrind)


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
    pid, status = end([path, case.name], {"LSAN_OPTIONS": options}, folder)
    said = pick(folder, "lsan", pid, case, read_lsan)
    if not said and status == 23:
        said.note = "no report"
    return said


def read_lsan(text):
    said = Said()
    if "LeakSanitizer has encountered a fatal error" in text or "Tracer caught" in text:
        said.note = "fatal error"
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


def under_seep(leak_truth, seep, path, case, folder):
    """[] where everything is as wanted, else what is not."""
    raise NotImplementedError


def score(case, said):
    """right, missed or false, and what was said."""
    wants = case.wants(child="child " in case.want)
    lost = [w for w in wants if w.verdicts[0].startswith("LOST")]
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


def build_lsan(source, folder):
    """The leak programs with LeakSanitizer, by level."""
    programs = source / "tests" / "programs"
    for level in LEVELS:
        out = folder / f"lsan-{level}"
        out.mkdir(parents=True, exist_ok=True)
        for path in [*programs.glob("leak_*.c*"), *programs.glob("lib_leak_*.c*")]:
            head = path.read_text().split("\n")[:5]
            flags = [w for line in head if "// build:" in line for w in line.split("build:")[1].split()]
            name = path.stem
            if name.startswith("lib_"):
                flags += ["-shared", "-fPIC"]
                name += ".so"
            driver = "g++" if path.suffix == ".cc" else "gcc"
            if (out / name).exists() and (out / name).stat().st_mtime > max(
                path.stat().st_mtime, (programs / "leak.h").stat().st_mtime
            ):
                continue
            subprocess.run(
                [driver, "-" + level, "-g", "-w", "-fno-omit-frame-pointer", "-D_GNU_SOURCE",
                 f"-I{source}/include", "-o", out / name, path, *flags, "-fsanitize=leak"],
                check=False,
            )


def one(leak_truth, case, level, lsan_dir):
    """Scores by tool of one case at one level."""
    scores = {}
    plain = leak_truth.LEAK_DIR / f"gcc-{level}" / case.program
    for tool, path in (("lsan", lsan_dir / f"lsan-{level}" / case.program), ("valgrind", plain)):
        if case.has("no-" + tool) or (tool == "valgrind" and (case.has("lsan-api") or case.value("suppress"))):
            scores[tool] = ("n/a", "")
            continue
        if not path.exists():
            scores[tool] = ("n/a", "does not build")
            continue
        with tempfile.TemporaryDirectory(prefix="leak-table-") as folder:
            folder = pathlib.Path(folder)
            said = (under_lsan if tool == "lsan" else under_valgrind)(path, case, folder)
            scores[tool] = score(case, said)
    return scores


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.environ["SEEP_BUILD"] = str(options.build.resolve())
    import leak_truth

    lsan_dir = pathlib.Path(tempfile.gettempdir()) / "leak-table-lsan"
    build_lsan(leak_truth.SOURCE, lsan_dir)
    cases = [c for c in leak_truth.all_cases() if options.only in str(c)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {
            (c, level): pool.submit(one, leak_truth, c, level, lsan_dir)
            for c in cases
            for level in LEVELS
        }
        for (case, level), job in jobs.items():
            for tool, (verdict, text) in job.result().items():
                print(f"{case.row}\t{case}\t{level}\t{case.want}\t{tool}\t{verdict}\t{text}", flush=True)


if __name__ == "__main__":
    main()
