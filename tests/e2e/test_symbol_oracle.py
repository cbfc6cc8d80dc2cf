# SPDX-License-Identifier: MIT
"""seep's symbols beside llvm-symbolizer's, frame by frame, for thousands of random addresses.

Equal means: as many frames, and in each the same function and file:line. Differences that are
meant to be are counted by name and bounded by what they claim:

  symbol   outermost frame: llvm takes the symbol table's name, seep the one in DWARF; both are
           names of one address, or differ by a suffix of the optimiser (".cold")
  scope    a function without linkage name: llvm gives the last part, seep the scopes too
  file     llvm gives the file name of a local symbol, without a line, where there is no DWARF
  label    llvm finds no function where an unsized label or an enclosing symbol has one
"""

import collections
import os
import random
import re
import shutil
import struct
import subprocess

import pytest

import harness

DRIVER = harness.BUILD / "unit" / "test_symbol_lookup"
ORACLE = shutil.which("llvm-symbolizer-19") or shutil.which("llvm-symbolizer")
ADDRESSES = int(os.environ.get("SEEP_SYMBOL_ADDRESSES", "4000"))
SUFFIX = re.compile(r"\.(cold|constprop|isra|llvm|localalias|lto_priv|part)\b.*")

pytestmark = [
    pytest.mark.skipif(not ORACLE, reason="llvm-symbolizer is not installed"),
    pytest.mark.skipif(not DRIVER.exists(), reason="unit tests are not built"),
]


def run(*words, **more):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, **more)


def build(compiler, source, target, *flags):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    run(compiler, *flags, "-o", target, source)
    return target


def code_sections(path):
    """[(address, bytes)] of what is executable, without the stubs of the linker."""
    image = open(path, "rb").read()
    offset = struct.unpack_from("<Q", image, 0x28)[0]
    count, names_index = struct.unpack_from("<HH", image, 0x3C)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, offset + i * 64) for i in range(count)]
    names_at = headers[names_index][4]
    found = []
    for name, _, flags, address, _, size, *_ in headers:
        end = image.index(b"\0", names_at + name)
        if flags & 4 and not image[names_at + name : end].startswith(b".plt"):
            found.append((address, size))
    return found


def random_addresses(path, count):
    chosen = random.Random(20)
    sections = code_sections(path)
    weights = [size for _, size in sections]
    picks = chosen.choices(sections, weights, k=count)
    return [address + chosen.randrange(size) for address, size in picks]


def ask(command, addresses):
    text = "".join(f"{a:#x}\n" for a in addresses).encode()
    answer = run(*command, input=text).stdout.decode("utf-8", "surrogateescape")
    return [block.split("\n") for block in answer.split("\n\n")[: len(addresses)]]


def clean_place(place):
    path, line = place.rsplit(":", 1)
    return (os.path.normpath(path) if path != "??" else path, line)


def ours(path, addresses, *debug_dirs):
    frames = []
    for block in ask([DRIVER, "--addresses", path, *debug_dirs], addresses):
        rows = [row.split("\t") for row in block]
        frames.append([(function, linkage, clean_place(place)) for function, linkage, place in rows])
    return frames


def theirs(path, addresses, *more):
    command = [ORACLE, "-e", path, "--functions=linkage", "--no-demangle", *more]
    frames = []
    for block in ask(command, addresses):
        pairs = zip(block[::2], block[1::2])
        frames.append([(name, clean_place(place.rsplit(":", 1)[0])) for name, place in pairs])
    return frames


def symbol_addresses(*paths):
    """{name: {address}} of the symbol tables, versions taken off."""
    found = collections.defaultdict(set)
    for path in paths:
        for table in ([], ["-D"]):
            text = subprocess.run(["nm", "--defined-only", *table, path], capture_output=True)
            for line in text.stdout.decode("utf-8", "replace").splitlines():
                address, _, name = line.split(" ", 2)
                found[name.split("@")[0]].add(int(address, 16))
    return found


def name_class(frame, other, outermost, symbols):
    function, linkage, _ = frame
    name, _ = other
    mine = linkage.split("@")[0] or function
    if name == mine:
        return "equal"
    if outermost and SUFFIX.sub("", name) in (mine, SUFFIX.sub("", mine), function):
        return "symbol"
    if outermost and any(symbols[name] & symbols[n] for n in (mine, function) if n in symbols):
        return "symbol"
    if not linkage and function.endswith("::" + name):
        return "scope"
    # Without linkage name the outermost has the demangled symbol, which has the plain name in it.
    if name == "??" and outermost:
        return "label"
    return "name"


def classify(mine, other, symbols):
    if len(mine) != len(other):
        return "count"
    worst = "equal"
    for i, (frame, oracle) in enumerate(zip(mine, other)):
        if frame[2] != oracle[1]:
            if frame[2] == ("??", "0") and oracle[1][1] == "0":
                worst = "file"
            else:
                return "place"
        kind = name_class(frame, oracle, i == len(mine) - 1, symbols)
        if kind == "name":
            return kind
        if kind != "equal":
            worst = kind
    return worst


def compare(path, *more_symbols, oracle_flags=(), allowed_share=0.0, count=ADDRESSES):
    addresses = random_addresses(path, count)
    symbols = symbol_addresses(path, *more_symbols)
    counts = collections.Counter()
    examples = []
    both = zip(addresses, ours(path, addresses), theirs(path, addresses, *oracle_flags))
    for address, mine, other in both:
        kind = classify(mine, other, symbols)
        counts[kind] += 1
        if kind in ("count", "place", "name") and len(examples) < 5:
            examples.append(f"{kind} {address:#x}\n  {mine}\n  {other}")
    print(f"{os.path.basename(path)}: {dict(counts)}")
    bad = counts["count"] + counts["place"] + counts["name"]
    assert bad <= allowed_share * count, f"{dict(counts)}\n" + "\n".join(examples)
    return counts


ZOO = harness.SOURCE / "tests/programs/symbol_zoo.cc"

VARIANTS = {
    "gcc": ("g++", "-O2", "-g"),
    "gcc-O0": ("g++", "-O0", "-g"),
    "gcc-O3-dwarf4": ("g++", "-O3", "-gdwarf-4"),
    "gcc-dwarf3": ("g++", "-O2", "-gdwarf-3", "-gstrict-dwarf"),
    "gcc-dwarf2": ("g++", "-O2", "-gdwarf-2", "-gstrict-dwarf"),
    "gcc-64bit-dwarf": ("g++", "-O2", "-g", "-gdwarf64"),
    "gcc-lto": ("g++", "-O2", "-g", "-flto"),
    "gcc-sections": ("g++", "-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections"),
    "gcc-gold": ("g++", "-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections", "-fuse-ld=gold"),
    "gcc-lld": ("g++", "-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections", "-fuse-ld=lld"),
    "gcc-type-units": ("g++", "-O2", "-g", "-fdebug-types-section"),
    "gcc-zlib": ("g++", "-O2", "-g", "-gz=zlib"),
    "gcc-zdebug": ("g++", "-O2", "-gdwarf-4", "-gz=zlib-gnu"),
    "gcc-lines-only": ("g++", "-O2", "-g1"),
    "gcc-static": ("g++", "-O2", "-g", "-static"),
    "clang": ("clang++", "-O2", "-g"),
    "clang-dwarf4": ("clang++", "-O2", "-gdwarf-4"),
    "clang-lines-only": ("clang++", "-O2", "-gline-tables-only"),
    "clang-lto": ("clang++", "-O2", "-g", "-flto", "-fuse-ld=lld"),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_frames_of_a_program_equal_the_oracles(variant, tmp_path):
    compiler, *flags = VARIANTS[variant]
    compare(build(compiler, ZOO, tmp_path / "zoo", *flags))
