# SPDX-License-Identifier: MIT
"""The cases of the leak_* programs, what they want said of them, and whether a report says just that.

tests/programs/leak.h says how a want is written.
"""

import collections
import dataclasses
import functools
import subprocess

from harness import PROGRAMS, SOURCE

LEAK_DIR = PROGRAMS / "leak"

# Verdicts that a case names completely; of the others it names what it must see.
COMPLETE = ("LOST", "LOST-CYCLE", "MAYBE-LOST", "FORK-ORPHAN")


@dataclasses.dataclass(frozen=True)
class Want:
    verdicts: tuple
    bytes: int
    blocks: int
    with_bytes: int = 0
    with_blocks: int = 0
    rule: str = None
    flag: str = None
    leaks: int = 1


@dataclasses.dataclass(frozen=True)
class Case:
    program: str
    name: str
    row: str
    want: str
    how: tuple

    def __str__(self):
        return f"{self.program}-{self.name}"

    def wants(self, child=False):
        return parse_wants(self.want.split("; "), child)

    def has(self, word):
        return word in self.how

    def value(self, word):
        """VALUE of a word `word=VALUE`, or None."""
        found = [w.split("=", 1)[1] for w in self.how if w.startswith(word + "=")]
        return found[0] if found else None


def figure(word):
    """A number; None: what the C library decides."""
    return None if word == "*" else int(word)


def parse_want(words):
    verdicts, sizes, words = tuple(words[0].split("|")), [figure(w) for w in words[1:3]], words[3:]
    named = {}
    while words:
        word = words.pop(0)
        if word == "with":
            named.update(with_bytes=figure(words.pop(0)), with_blocks=figure(words.pop(0)))
        elif word in ("rule", "flag"):
            named[word] = words.pop(0)
        elif word == "in":
            named["leaks"] = int(words.pop(0))
        else:
            raise ValueError(f"what is {word!r}?")
    return Want(verdicts, *sizes, **named)


def parse_wants(lines, child=False):
    wants = []
    for line in lines:
        words = line.split()
        if (words[0] == "child") != child:
            continue
        words = words[child:]
        if words != ["none"]:
            wants.append(parse_want(words))
    return wants


def wants_printed(stdout, child=False):
    """The wants among the lines of a program."""
    lines = stdout.decode().splitlines()
    return parse_wants([line[5:] for line in lines if line.startswith("want ")], child)


@functools.cache
def variants():
    """The builds of the leak programs: compiler-level."""
    return sorted(p.name for p in LEAK_DIR.iterdir()) if LEAK_DIR.is_dir() else []


@functools.cache
def all_cases(programs="leak_*"):
    found = []
    for source in sorted((SOURCE / "tests" / "programs").glob(programs + ".c*")):
        path = LEAK_DIR / variants()[0] / source.stem
        listed = subprocess.run([path, "--list"], stdout=subprocess.PIPE, check=True).stdout
        for line in listed.decode().splitlines():
            name, row, want, how = line.split("\t")
            found.append(Case(source.stem, name, row, want, tuple(how.split())))
    return found


def describe(leak):
    text = f"{leak['verdict']} {leak['bytes']} {leak['blocks']}"
    if leak["with_blocks"]:
        text += f" with {leak['with_bytes']} {leak['with_blocks']}"
    return text + (f" rule {leak['rule']}" if leak.get("rule") else "")


def fits(leak, want):
    if leak["verdict"] not in want.verdicts:
        return False
    if want.rule is not None and leak["rule"] != want.rule:
        return False
    if want.flag is not None and want.flag not in leak["flags"]:
        return False
    own = (leak["bytes"], leak["blocks"])
    others = (leak["with_bytes"], leak["with_blocks"])
    if leak["verdict"] == "LOST-CYCLE":
        own, others = tuple(map(sum, zip(own, others))), (0, 0)
    wanted = (want.bytes, want.blocks, want.with_bytes, want.with_blocks)
    return all(w in (None, have) for w, have in zip(wanted, own + others))


def take(leaks, want):
    """Take what the want is of from the list of leaks; False: it is not there."""
    if want.leaks > 1:
        found = [leak for leak in leaks if leak["verdict"] in want.verdicts]
        sums = collections.Counter()
        for leak in found:
            sums.update(bytes=leak["bytes"], blocks=leak["blocks"], leaks=1)
        if (sums["bytes"], sums["blocks"], sums["leaks"]) != (want.bytes, want.blocks, want.leaks):
            return False
    else:
        found = [leak for leak in leaks if fits(leak, want)][:1]
    for leak in found:
        leaks.remove(leak)
    return bool(found)


def differences(leaks, wants):
    """How the leaks of a report differ from the wants, in sentences; [] is right."""
    left, wrong = list(leaks), []
    # What is known exactly first, so that a figure left open takes nothing from it.
    for want in sorted(wants, key=lambda w: None in (w.bytes, w.blocks)):
        if not take(left, want):
            wrong.append(f"not said: {want}")
    wrong += [f"said: {describe(leak)}" for leak in left if leak["verdict"] in COMPLETE]
    for key in ("bytes", "blocks"):
        dragged = sum(leak["with_" + key] for leak in leaks)
        listed = sum(leak[key] for leak in leaks
                     if leak["verdict"] == "LOST-WITH" or
                     (leak["verdict"] == "MAYBE-LOST" and leak["root"] is not None))
        if dragged != listed:
            wrong.append(f"{dragged} {key} are lost with others, {listed} are listed")
    return wrong
