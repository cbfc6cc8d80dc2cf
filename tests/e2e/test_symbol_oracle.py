# SPDX-License-Identifier: MIT
"""seep's symbols beside llvm-symbolizer's, frame by frame: compilers, linkers, forms of DWARF, and
where its file is. What equal means is said in symbol_oracle.py.
"""

import os
import re
import shutil
import time

import pytest

from symbol_oracle import (
    PROGRAMS,
    ZOO,
    build_id_of,
    compare,
    frames_of,
    needs_oracle,
    ours,
    random_addresses,
    run,
    stripped,
    symbol_extents,
    theirs,
)

pytestmark = needs_oracle

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
    "gcc-gold-icf": ("g++", "-O2", "-g", "-ffunction-sections", "-Wl,--icf=all", "-fuse-ld=gold"),
    "gcc-mold": ("g++", "-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections", "-fuse-ld=mold"),
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
    "clang-type-units": ("clang++", "-O2", "-g", "-fdebug-types-section"),
    "clang-split-single": ("clang++", "-O2", "-g", "-gsplit-dwarf=single"),
    "clang-lld-icf": (
        "clang++", "-O2", "-g", "-ffunction-sections", "-Wl,--icf=all", "-fuse-ld=lld"
    ),
    "clang-thin-lto": ("clang++", "-O2", "-g", "-flto=thin", "-fuse-ld=lld"),
    "clang-lto": ("clang++", "-O2", "-g", "-flto", "-fuse-ld=lld"),
    "rust": ("rustc", "-g", "-C", "opt-level=3"),
    "rust-debug": ("rustc", "-g"),
    "rust-v0": ("rustc", "-g", "-C", "opt-level=2", "-C", "symbol-mangling-version=v0"),
}

# Each takes seconds to compile; the others run in the soak.
QUICK = {"gcc-dwarf2", "gcc-lto", "gcc-lld", "gcc-split", "clang"}


def program(variant, folder):
    compiler, *flags = VARIANTS[variant]
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    for flag in flags:
        if flag.startswith("-fuse-ld=") and not shutil.which(f"ld.{flag[9:]}"):
            pytest.skip(f"ld.{flag[9:]} is not installed")
    source = PROGRAMS / "symbol_rust.rs" if compiler == "rustc" else ZOO
    # From its own folder: split units are written beside the program and found from there.
    run(compiler, *flags, "-o", folder / "zoo", source, cwd=folder)
    return folder / "zoo"


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """The plain gcc variant, for the tests that take it apart."""
    return program("gcc", tmp_path_factory.mktemp("zoo"))


def merged_functions_share(variant):
    """Where several functions share their code, it is described several times, each as right as the
    others. --icf=all does that to 3 of 3,000 addresses here: the two choose differently."""
    return 0.003 if variant.endswith("-icf") else 0.0


@pytest.mark.parametrize(
    "variant", [v if v in QUICK else pytest.param(v, marks=pytest.mark.slow) for v in VARIANTS]
)
def test_frames_of_a_program_equal_the_oracles(variant, tmp_path):
    compare(program(variant, tmp_path), allowed_share=merged_functions_share(variant))


@pytest.mark.slow
def test_what_is_inlined_into_a_method_of_a_plain_enumeration_is_found(tmp_path):
    """Rust describes it inside the type."""
    path = program("rust", tmp_path)
    ((address, size),) = {
        extent
        for name, extents in symbol_extents(path).items()
        if "Shape9from_name" in name
        for extent in extents
    }
    addresses = list(range(address, address + size))
    places = [[place for _, _, place in frames] for frames in ours(path, addresses)]
    assert max(map(len, places)) > 2
    assert places == [[place for _, place in frames] for frames in theirs(path, addresses)]


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


@pytest.mark.parametrize("by", ["build-id", "name"])
def test_a_debug_file_is_found_in_the_directories_given(zoo, tmp_path, by):
    build_id = build_id_of(zoo)
    below = {"build-id": f".build-id/{build_id[:2]}/{build_id[2:]}.debug", "name": "stripped.debug"}
    file = tmp_path / "symbols" / below[by]
    file.parent.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", zoo, file)
    addresses = random_addresses(zoo, 500)
    copy = stripped(zoo, tmp_path)
    assert frames_of(copy, addresses, tmp_path / "symbols") == frames_of(zoo, addresses)


def without_id(zoo, folder):
    run("objcopy", "--remove-section", ".note.gnu.build-id", zoo, folder / "no_id")
    return folder / "no_id"


def linked(source, folder, link):
    """A stripped copy that names its debug file."""
    run("objcopy", "--only-keep-debug", source, link)
    copy = stripped(source, folder)
    run("objcopy", f"--add-gnu-debuglink={link}", copy)
    return copy


@pytest.mark.parametrize("below", ["", ".debug"])
@pytest.mark.parametrize("with_id", [True, False])
def test_a_debug_file_is_found_by_its_link(zoo, tmp_path, below, with_id):
    (tmp_path / below).mkdir(exist_ok=True)
    source = zoo if with_id else without_id(zoo, tmp_path)
    copy = linked(source, tmp_path, tmp_path / below / "zoo.dbg")
    addresses = random_addresses(zoo, 500)
    assert frames_of(copy, addresses) == frames_of(zoo, addresses)


def test_a_linked_debug_file_of_another_build_is_not_used(zoo, tmp_path):
    link = tmp_path / "zoo.dbg"
    copy = linked(without_id(zoo, tmp_path), tmp_path, link)
    with open(link, "ab") as file:
        file.write(b"changed")
    frames = ours(copy, random_addresses(zoo, 50))
    assert {place for block in frames for *_, place in block} == {("??", "0")}


@pytest.mark.parametrize("form", ["zlib", "zstd"])
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
    assert frames_of(tmp_path / "one", addresses) == plain


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


def test_of_units_that_have_the_same_function_the_one_whose_code_was_kept_is_believed(tmp_path):
    body = "inline __attribute__((noipa)) int shared(int *p) { return *p + 1; }\n"
    for number, lines in ((1, 0), (2, 50)):
        source = tmp_path / f"unit_{number}.cc"
        source.write_text("\n" * lines + body + f"int use_{number}(int *p) {{ return shared(p); }}\n")
        run("g++", "-O2", "-g", "-c", source, cwd=tmp_path)
    (tmp_path / "main.cc").write_text("int use_1(int *), use_2(int *);\n"
                                      "int main(int c, char **) { return use_1(&c) + use_2(&c); }\n")
    for order in ((1, 2), (2, 1)):
        objects = [f"unit_{number}.o" for number in order]
        run("g++", "-g", "-o", "program", "main.cc", *objects, cwd=tmp_path)
        symbols = run("nm", "program", cwd=tmp_path).stdout.decode().splitlines()
        (address,) = (int(s.split()[0], 16) for s in symbols if s.endswith("_Z6sharedPi"))
        (((_, _, (path, _)),),) = ours(tmp_path / "program", [address])
        assert path == str(tmp_path / f"unit_{order[0]}.cc")


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
