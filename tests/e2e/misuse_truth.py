# SPDX-License-Identifier: MIT
"""The cases of the misuse_* programs, and whether what seep says of one is just what it wants.

tests/programs/misuse_case.h says how a want is written, test_misuse.py what the words behind it mean.
"""

import functools
import json
import pathlib
import re
import shutil

from harness import SEEP, run_plain
from leak_truth import LEAK_DIR, all_cases

# How a program is run: what of a case can be known depends on it.
SETTINGS = {
    "usual": (),
    "stacks": ("--free-stacks",),
    "guard": ("--guard",),
    "quarantine": ("--quarantine",),
    "level": ("--level=10",),
    "sample": ("--guarded-sample=1",),
}
# Whether the stack of a first free is told: of all, of none, of those in a place of their own.
FREES = {"usual": "none", "sample": "some"}
STACKS = {"here": "here_frames", "alloc": "alloc_frames", "freed": "free_frames"}


def misuse_cases():
    return all_cases("misuse_*")


def settings_of(case):
    """Those under which it is what it wants, the usual one for it first."""
    if case.has("sample"):
        return ["sample"]
    for word in ("guard", "quarantine"):
        if case.has(word):
            return [word, "level"]
    # With all but the first, freed blocks wait; the place of a sampled block, too.
    if case.has("reuses") or case.has("no-quarantine"):
        return ["usual"]
    if case.has("no-guard"):
        return ["usual", "stacks"]
    return [name for name in SETTINGS if name != "quarantine"]


def parse_want(text):
    """{"kinds", "freeing", and the keys}; numbers are numbers."""
    kind, freeing, *words = text.split()
    want = {"kinds": kind.split("|"), "freeing": freeing.replace("+", " ")}
    for word in words:
        key, value = word.split("=", 1)
        want[key] = int(value) if re.fullmatch(r"-?\d+", value) else value.replace("+", " ")
    return want


def wants_of(case):
    return [] if case.want == "none" else [parse_want(text) for text in case.want.split("; ")]


def is_function(frame, name):
    """Whether it is that function, in whatever namespace, of whatever arguments."""
    return re.search(rf"(^|::|\s){re.escape(name)}(\(|<|$)", frame["function"] or "") is not None


def stack_of(report, finding, key):
    return [report["frames"][i] for i in finding[key] or []]


def fits_stack(report, finding, key, name, frees):
    frames = stack_of(report, finding, STACKS[key])
    if key == "freed" and (frees == "none" or (frees == "some" and not frames)):
        return finding["free_frames"] is None
    if name == "-":
        return not frames
    return bool(frames) and is_function(frames[0], name)


def fits(report, finding, want, frees):
    for key, value in want.items():
        if key == "kinds":
            good = finding["kind"] in value
        elif key == "freeing":
            good = value in ("*", finding["freeing"])
        elif key in STACKS:
            good = fits_stack(report, finding, key, value, frees)
        elif key == "within":
            good = any(is_function(f, value) for f in stack_of(report, finding, "here_frames"))
        elif key in ("size", "offset"):
            good = finding["block"] is not None and finding["block"][key] == value
        else:
            good = finding[key] == value
        if not good:
            return False
    return True


def describe(report, finding):
    words = [finding["kind"], str(finding["freeing"])]
    for key in ("count", "expected", "actual", "distance", "thread"):
        if finding[key] is not None:
            words.append(f"{key}={finding[key]}")
    words += [f"{key}={value}" for key, value in (finding["block"] or {}).items()]
    for key, frames in STACKS.items():
        names = [f["function"] for f in stack_of(report, finding, frames)[:3]]
        words.append(f"{key}={' < '.join(map(str, names)) or '-'}")
    return " ".join(words)


def differences(reports, wants, frees):
    """Each finding is wanted, and once; `reports` are those of all processes."""
    wrong, wants = [], list(wants)
    for report in reports:
        for finding in report["findings"]:
            fitting = [w for w in wants if fits(report, finding, w, frees)]
            if fitting:
                wants.remove(fitting[0])
            else:
                wrong.append("said: " + describe(report, finding))
    return wrong + [f"not said: {want}" for want in wants]


def read(path, environment):
    done = run_plain([SEEP, "report", "--json", path], env=environment)
    assert done.status == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


def command_of(case, variant):
    return [LEAK_DIR / variant / case.program, case.name]


@functools.cache
def bare(case, variant):
    return run_plain(command_of(case, variant))


def run_case(case, variant, setting, folder, ledger_dir):
    """Sentences about what is wrong with this case in this build; [] is right."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    environment = {"SEEP_DIR": str(ledger_dir)}
    words = [SEEP, "run", "-q", "--no-leak-check", "-o", folder / "run.seep", *SETTINGS[setting]]
    done = run_plain([*words, "--", *command_of(case, variant)], cwd=folder, env=environment)
    plain = bare(case, variant)
    wants = [] if case.has("missed") else wants_of(case)
    wrong = []
    # Guards and waiting blocks change what a wrong free does.
    may_end_otherwise = setting != "usual" and case.want != "none"
    if done.stdout != plain.stdout or (done.status != plain.status and not may_end_otherwise):
        wrong.append(f"it ended as {done}, bare as {plain}")
    reports = [read(path, environment) for path in sorted(folder.rglob("*.seep"))]
    wrong += differences(reports, wants, FREES.get(setting, "all")) if reports else ["no recording"]
    shutil.rmtree(folder, ignore_errors=True)
    return [f"{case} {variant} {setting}: {w}" for w in wrong]
