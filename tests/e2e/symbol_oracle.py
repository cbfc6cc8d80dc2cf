# SPDX-License-Identifier: MIT
"""What the tests of symbols share: seep's frames beside llvm-symbolizer's, for random addresses.

Equal means: as many frames, and in each the same function and file:line. Differences that are
meant to be are counted by name and bounded by what they claim:

  symbol   outermost frame: llvm takes the symbol table's name, seep the one in DWARF; both are
           names of one address, or differ by a suffix of the optimiser (".cold"), or llvm without
           the symbol table says what seep says
  scope    a function without linkage name: llvm gives the last part, seep the scopes too
  file     llvm gives the file name of a local symbol, without a line, where there is no DWARF
  label    llvm finds no function; the symbol table has one of seep's name with a size that covers
           the address, or, without a size, one that starts before it
"""

import collections
import os
import random
import re
import shutil
import struct
import subprocess
import tempfile

import pytest

import harness

DRIVER = harness.BUILD / "unit" / "test_symbol_lookup"
ORACLE = shutil.which("llvm-symbolizer-19") or shutil.which("llvm-symbolizer")
ADDRESSES = int(os.environ.get("SEEP_SYMBOL_ADDRESSES", "4000"))
SUFFIX = re.compile(r"\.(cold|constprop|isra|llvm|localalias|lto_priv|part)\b.*")

needs_oracle = [
    pytest.mark.skipif(not ORACLE, reason="llvm-symbolizer is not installed"),
    pytest.mark.skipif(not DRIVER.exists(), reason="unit tests are not built"),
]


def run(*words, **more):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, **more)


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


def symbol_extents(*paths):
    """{name: [(address, size)]}, versions taken off; size 0 where the table says none."""
    found = collections.defaultdict(list)
    for path in paths:
        text = run("readelf", "-sW", path).stdout.decode("utf-8", "replace")
        for line in text.splitlines():
            words = line.split()
            if len(words) >= 8 and words[0].endswith(":") and words[6] != "UND":
                try:
                    row = (int(words[1], 16), int(words[2], 0))
                except ValueError:
                    continue
                found[words[7].split("@")[0]].append(row)
    return found


def is_covered(address, extents):
    return any(a <= address < a + size if size else a <= address for a, size in extents)


def name_class(address, frame, other, outermost, symbols, extents):
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
    if name == "??" and outermost and is_covered(address, extents[mine]):
        return "label"
    return "name"


def classify(address, mine, other, symbols, extents):
    if len(mine) != len(other):
        return "count"
    worst = "equal"
    for i, (frame, oracle) in enumerate(zip(mine, other)):
        if frame[2] != oracle[1]:
            if frame[2] == ("??", "0") and oracle[1][1] == "0":
                worst = "file"
            else:
                return "place"
        kind = name_class(address, frame, oracle, i == len(mine) - 1, symbols, extents)
        if kind == "name":
            return kind
        if kind != "equal":
            worst = kind
    return worst


def without_table(path, addresses, *oracle_flags):
    """What llvm says of these when it has only DWARF to go by."""
    packer = shutil.which("llvm-objcopy-19") or "llvm-objcopy"
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy")
        run(packer, "-R", ".symtab", "-R", ".strtab", path, copy)
        return dict(zip(addresses, theirs(copy, addresses, *oracle_flags)))


def compare(path, *more_symbols, oracle_flags=(), allowed_share=0.0, count=ADDRESSES):
    addresses = random_addresses(path, count)
    symbols = symbol_addresses(path, *more_symbols)
    extents = symbol_extents(path, *more_symbols)
    counts = collections.Counter()
    examples = []
    both = zip(addresses, ours(path, addresses), theirs(path, addresses, *oracle_flags))
    found = [(*b, classify(*b, symbols, extents)) for b in both]
    # Functions of equal code that the compiler made one: a name in DWARF, another in the table.
    merged = [address for address, _, _, kind in found if kind == "name"]
    by_dwarf = without_table(path, merged, *oracle_flags) if merged else {}
    for address, mine, other, kind in found:
        if kind == "name" and classify(address, mine, by_dwarf[address], {}, extents) == "equal":
            kind = "symbol"
        counts[kind] += 1
        if kind in ("count", "place", "name") and len(examples) < 5:
            examples.append(f"{kind} {address:#x}\n  {mine}\n  {other}")
    print(f"{os.path.basename(path)}: {dict(counts)}")
    bad = counts["count"] + counts["place"] + counts["name"]
    assert bad <= allowed_share * count, f"{dict(counts)}\n" + "\n".join(examples)
    return counts


PROGRAMS = harness.SOURCE / "tests/programs"
ZOO = PROGRAMS / "symbol_zoo.cc"


def frames_of(path, addresses, *debug_dirs):
    """Comparable between copies of one program."""
    return [[(f, place) for f, _, place in frames] for frames in ours(path, addresses, *debug_dirs)]


def build_id_of(path):
    note = run("readelf", "-n", path).stdout.decode()
    return re.search(r"Build ID: (\w+)", note).group(1)


def stripped(zoo, folder):
    run("strip", "-o", folder / "stripped", zoo)
    return folder / "stripped"
