# SPDX-License-Identifier: MIT
"""seep's symbols beside llvm-symbolizer's, frame by frame, for thousands of random addresses.

Equal means: as many frames, and in each the same function and file:line. Differences that are
meant to be are counted by name and bounded by what they claim:

  symbol   outermost frame: llvm takes the symbol table's name, seep the one in DWARF; both are
           names of one address, or differ by a suffix of the optimiser (".cold")
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
import time

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


def compare(path, *more_symbols, oracle_flags=(), allowed_share=0.0, count=ADDRESSES):
    addresses = random_addresses(path, count)
    symbols = symbol_addresses(path, *more_symbols)
    extents = symbol_extents(path, *more_symbols)
    counts = collections.Counter()
    examples = []
    both = zip(addresses, ours(path, addresses), theirs(path, addresses, *oracle_flags))
    for address, mine, other in both:
        kind = classify(address, mine, other, symbols, extents)
        counts[kind] += 1
        if kind in ("count", "place", "name") and len(examples) < 5:
            examples.append(f"{kind} {address:#x}\n  {mine}\n  {other}")
    print(f"{os.path.basename(path)}: {dict(counts)}")
    bad = counts["count"] + counts["place"] + counts["name"]
    assert bad <= allowed_share * count, f"{dict(counts)}\n" + "\n".join(examples)
    return counts


PROGRAMS = harness.SOURCE / "tests/programs"
ZOO = PROGRAMS / "symbol_zoo.cc"

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
    "gcc-lines-only": ("g++", "-O2", "-g1"),
    "gcc-static": ("g++", "-O2", "-g", "-static"),
    "gcc-split": ("g++", "-O2", "-g", "-gsplit-dwarf"),
    "gcc-split-dwarf4": ("g++", "-O2", "-gdwarf-4", "-gsplit-dwarf"),
    "clang": ("clang++", "-O2", "-g"),
    "clang-dwarf4": ("clang++", "-O2", "-gdwarf-4"),
    "clang-split": ("clang++", "-O2", "-g", "-gsplit-dwarf"),
    "clang-lines-only": ("clang++", "-O2", "-gline-tables-only"),
    "clang-lto": ("clang++", "-O2", "-g", "-flto", "-fuse-ld=lld"),
    "rust": ("rustc", "-g", "-C", "opt-level=3"),
    "rust-debug": ("rustc", "-g"),
    "rust-v0": ("rustc", "-g", "-C", "opt-level=2", "-C", "symbol-mangling-version=v0"),
}

# Each takes seconds to compile; the others run in the soak.
QUICK = {"gcc-dwarf2", "gcc-lto", "gcc-lld", "gcc-split", "clang", "rust"}


def program(variant, folder):
    compiler, *flags = VARIANTS[variant]
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    source = PROGRAMS / "symbol_rust.rs" if compiler == "rustc" else ZOO
    # From its own folder: split units are written beside the program and found from there.
    run(compiler, *flags, "-o", folder / "zoo", source, cwd=folder)
    return folder / "zoo"


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """The plain gcc variant, for the tests that take it apart."""
    return program("gcc", tmp_path_factory.mktemp("zoo"))


def merged_functions_share(variant):
    """rustc 1.63, Debian 12's, merges functions of equal code when it optimises: one address is then
    several functions, and the two choose differently at 3 of 4,000 addresses. Nothing else may."""
    if variant != "rust":
        return 0.0
    version = re.match(r"rustc 1\.(\d+)", run("rustc", "--version").stdout.decode())
    return 3 / ADDRESSES if version and int(version[1]) <= 63 else 0.0


@pytest.mark.parametrize(
    "variant", [v if v in QUICK else pytest.param(v, marks=pytest.mark.slow) for v in VARIANTS]
)
def test_frames_of_a_program_equal_the_oracles(variant, tmp_path):
    compare(program(variant, tmp_path), allowed_share=merged_functions_share(variant))


@pytest.mark.parametrize(
    "path",
    ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/python3"],
)
def test_frames_of_the_system_equal_the_oracles(path):
    if not os.path.exists(path):
        pytest.skip(f"{path} is not installed")
    note = run("readelf", "-n", path).stdout.decode()
    build_id = re.search(r"Build ID: (\w+)", note).group(1)
    debug = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    compare(path, *([debug] if os.path.exists(debug) else []))


def frames_of(path, addresses, *debug_dirs):
    """Comparable between copies of one program."""
    return [[(f, place) for f, _, place in frames] for frames in ours(path, addresses, *debug_dirs)]


def build_id_of(path):
    note = run("readelf", "-n", path).stdout.decode()
    return re.search(r"Build ID: (\w+)", note).group(1)


def stripped(zoo, folder):
    run("strip", "-o", folder / "stripped", zoo)
    return folder / "stripped"


def test_a_debug_file_is_found_by_build_id_in_the_directories_given(zoo, tmp_path):
    build_id = build_id_of(zoo)
    folder = tmp_path / "symbols" / ".build-id" / build_id[:2]
    folder.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", zoo, folder / f"{build_id[2:]}.debug")
    addresses = random_addresses(zoo, 500)
    copy = stripped(zoo, tmp_path)
    assert frames_of(copy, addresses, tmp_path / "symbols") == frames_of(zoo, addresses)


def test_a_debug_file_is_found_by_name_in_the_directories_given(zoo, tmp_path):
    (tmp_path / "symbols").mkdir()
    run("objcopy", "--only-keep-debug", zoo, tmp_path / "symbols" / "stripped.debug")
    addresses = random_addresses(zoo, 500)
    copy = stripped(zoo, tmp_path)
    assert frames_of(copy, addresses, tmp_path / "symbols") == frames_of(zoo, addresses)


@pytest.mark.parametrize("below", ["", ".debug"])
@pytest.mark.parametrize("with_id", [True, False])
def test_a_debug_file_is_found_by_its_link(zoo, tmp_path, below, with_id):
    source = zoo
    if not with_id:
        source = tmp_path / "no_id"
        run("objcopy", "--remove-section", ".note.gnu.build-id", zoo, source)
    (tmp_path / below).mkdir(exist_ok=True)
    link = tmp_path / below / "zoo.dbg"
    run("objcopy", "--only-keep-debug", source, link)
    copy = stripped(source, tmp_path)
    run("objcopy", f"--add-gnu-debuglink={link}", copy)
    addresses = random_addresses(zoo, 500)
    assert frames_of(copy, addresses) == frames_of(zoo, addresses)


def test_a_linked_debug_file_of_another_build_is_not_used(zoo, tmp_path):
    source = tmp_path / "no_id"
    run("objcopy", "--remove-section", ".note.gnu.build-id", zoo, source)
    link = tmp_path / "zoo.dbg"
    run("objcopy", "--only-keep-debug", source, link)
    copy = stripped(source, tmp_path)
    run("objcopy", f"--add-gnu-debuglink={link}", copy)
    with open(link, "ab") as file:
        file.write(b"changed")
    frames = ours(copy, random_addresses(zoo, 50))
    assert {place for block in frames for *_, place in block} == {("??", "0")}


@pytest.mark.parametrize("form", ["zlib", "zlib-gnu", "zstd"])
def test_compressed_sections_answer_as_plain_ones(zoo, tmp_path, form):
    packed = tmp_path / "packed"
    tool = shutil.which("llvm-objcopy-19") if form == "zstd" else "objcopy"
    if not tool:
        pytest.skip("llvm-objcopy-19 is not installed")
    run(tool, f"--compress-debug-sections={form}", zoo, packed)
    assert packed.stat().st_size < zoo.stat().st_size * 0.7
    addresses = random_addresses(zoo, 500)
    assert frames_of(packed, addresses) == frames_of(zoo, addresses)


def test_what_dwz_moved_to_a_shared_file_is_followed(zoo, tmp_path):
    if not shutil.which("dwz"):
        pytest.skip("dwz is not installed")
    for name in ("one", "two"):
        shutil.copy(zoo, tmp_path / name)
    run("dwz", "-m", tmp_path / "common", tmp_path / "one", tmp_path / "two")
    assert (tmp_path / "common").exists()
    addresses = random_addresses(zoo, 2000)
    plain = frames_of(zoo, addresses)
    different = [
        (a, b) for a, b in zip(frames_of(tmp_path / "one", addresses), plain)
        # Scopes in the shared file are not looked up: the last part of such a name remains.
        if [(f.split("::")[-1], p) for f, p in a] != [(f.split("::")[-1], p) for f, p in b]
    ]
    assert different == []


def test_mini_debug_information_names_static_functions(zoo, tmp_path):
    if not shutil.which("xz"):
        pytest.skip("xz is not installed")
    table = run("nm", zoo).stdout.decode().splitlines()
    local = (line.split(" ") for line in table if " t _ZN" in line and "." not in line)
    digits, _, name = next(local)
    address = int(digits, 16)
    copy = stripped(zoo, tmp_path)
    assert ours(copy, [address]) == [[("??", "", ("??", "0"))]]
    run("objcopy", "-S", f"--keep-symbol={name}", zoo, tmp_path / "mini")
    run("objcopy", "--only-keep-debug", tmp_path / "mini", tmp_path / "mini.dbg")
    run("xz", tmp_path / "mini.dbg")
    run("objcopy", f"--add-section=.gnu_debugdata={tmp_path}/mini.dbg.xz", copy)
    (((function, linkage, place),),) = ours(copy, [address])
    assert function == run("c++filt", name).stdout.decode().strip()
    assert (linkage, place) == (name, ("??", "0"))


def test_speed_is_of_the_oracles_order(zoo):
    """20,000 addresses, starting and opening included. A loose bound: machines are busy."""
    addresses = random_addresses(zoo, 20000)
    seconds = []
    for ask_one in (ours, theirs):
        start = time.monotonic()
        ask_one(zoo, addresses)
        seconds.append(time.monotonic() - start)
    print(f"20,000 addresses: seep {seconds[0]:.2f} s, oracle {seconds[1]:.2f} s")
    assert seconds[0] < 2 * seconds[1] + 0.5
