# SPDX-License-Identifier: MIT
"""Split DWARF beside the oracle: .dwo files where they were made, moved, packed, gone and damaged."""

import random
import re
import shutil
import subprocess

import pytest

from symbol_oracle import (
    DRIVER,
    compare,
    frames_of,
    needs_oracle,
    ours,
    random_addresses,
    run,
)

pytestmark = needs_oracle

# Three units, so that a package has rows to tell apart.
UNIT = r"""
namespace unit_NUMBER {
template <int N> struct deep {
	static __attribute__((always_inline)) inline int go(int *p) { return deep<N - 1>::go(p) + p[N]; }
};
template <> struct deep<0> {
	static __attribute__((always_inline)) inline int go(int *p) { return *p; }
};
static __attribute__((noinline)) int only_here(int *p) { return deep<9>::go(p) * NUMBER; }
}
int entry_NUMBER(int *p) { return unit_NUMBER::only_here(p) + unit_NUMBER::deep<5>::go(p + 1); }
"""
MAIN = """
int entry_1(int *p), entry_2(int *p);
int main(int count, char **) {
	int numbers[16] = { count };
	return entry_0(numbers) + entry_1(numbers) + entry_2(numbers);
}
"""

VARIANTS = {
    "gcc": ("g++", "-gdwarf-5"),
    "gcc-dwarf4": ("g++", "-gdwarf-4"),
    "clang": ("clang++", "-gdwarf-5"),
    "clang-dwarf4": ("clang++", "-gdwarf-4"),
}


def build(variant, folder):
    """The program, whose .dwo files are in folder/built."""
    compiler, form = VARIANTS[variant]
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    built = folder / "built"
    built.mkdir()
    objects = []
    for number in range(3):
        source = f"part_{number}.cc"
        text = UNIT.replace("NUMBER", str(number)) + (MAIN if number == 0 else "")
        (built / source).write_text(text)
        objects.append(f"part_{number}.o")
        run(compiler, "-O2", "-g", form, "-gsplit-dwarf", "-c", "-o", objects[-1], source, cwd=built)
    run(compiler, "-o", folder / "zoo", *objects, cwd=built)
    assert len(list(built.glob("*.dwo"))) == 3
    return folder / "zoo"


@pytest.fixture(scope="module", params=list(VARIANTS))
def split(request, tmp_path_factory):
    """A folder with the program and built/, for tests that copy it."""
    folder = tmp_path_factory.mktemp("split")
    build(request.param, folder)
    addresses = random_addresses(folder / "zoo", 400)
    return request.param, folder, addresses, frames_of(folder / "zoo", addresses)


@pytest.fixture
def apart(split, tmp_path):
    """The same, but the .dwo files are not where they were made."""
    variant, folder, addresses, whole = split
    hidden = folder / "hidden"
    shutil.copy(folder / "zoo", tmp_path / "zoo")
    (folder / "built").rename(hidden)
    yield variant, hidden, tmp_path / "zoo", addresses, whole
    hidden.rename(folder / "built")


def pack(variant, hidden, target):
    tool = shutil.which("llvm-dwp-19") or shutil.which("llvm-dwp")
    if not tool:
        pytest.skip("llvm-dwp is not installed")
    if variant == "gcc":
        pytest.skip("no tool packs it: llvm-dwp 19 never ends, dwp of binutils 2.40 packs nothing")
    run(tool, "-o", target, *sorted(hidden.glob("*.dwo")), timeout=60)


def test_split_units_equal_the_oracles(split):
    _, folder, _, _ = split
    compare(folder / "zoo", count=400)


def test_split_units_are_found_in_a_package_beside_the_program(apart):
    variant, hidden, zoo, addresses, whole = apart
    pack(variant, hidden, zoo.with_name("zoo.dwp"))
    assert frames_of(zoo, addresses) == whole
    compare(zoo, count=400)


def test_a_package_of_binutils_is_read_too(apart):
    variant, hidden, zoo, addresses, whole = apart
    if not shutil.which("dwp") or "dwarf4" not in variant:
        pytest.skip("dwp of binutils 2.40 packs version 4 only")
    run("dwp", "-o", zoo.with_name("zoo.dwp"), *sorted(hidden.glob("*.dwo")))
    assert frames_of(zoo, addresses) == whole


def test_split_units_and_packages_are_found_in_the_directories_given(apart, tmp_path):
    variant, hidden, zoo, addresses, whole = apart
    assert frames_of(zoo, addresses, hidden) == whole
    packages = tmp_path / "packages"
    packages.mkdir()
    pack(variant, hidden, packages / "zoo.dwp")
    assert frames_of(zoo, addresses, packages) == whole
    below = tmp_path / f"root{tmp_path}"
    below.mkdir(parents=True)
    (packages / "zoo.dwp").rename(below / "zoo.dwp")
    assert frames_of(zoo, addresses, tmp_path / "root") == whole


def problem_of(zoo, addresses, *dirs):
    text = "".join(f"{a:#x}\n" for a in addresses).encode()
    return run(DRIVER, "--addresses", zoo, *dirs, input=text).stderr.decode()


def test_without_its_other_half_a_unit_keeps_its_lines_and_says_what_is_missing(apart):
    _, _, zoo, addresses, whole = apart
    alone = ours(zoo, addresses)
    lines = sum(frames[0][2][1] != "0" for frames in alone)
    assert lines > 0.8 * sum(frames[0][1][1] != "0" for frames in whole)
    assert re.search(r"part_\d\.dwo with its debug information was not found",
                     problem_of(zoo, addresses))


def test_the_other_half_of_another_build_is_not_used(apart, tmp_path):
    variant, hidden, zoo, addresses, _ = apart
    alone = frames_of(zoo, addresses)
    stale = tmp_path / "stale"
    stale.mkdir()
    for number in range(3):
        shutil.copy(hidden / f"part_{(number + 1) % 3}.dwo", stale / f"part_{number}.dwo")
    assert frames_of(zoo, addresses, stale) == alone
    assert "was not found" in problem_of(zoo, addresses, stale)


@pytest.mark.parametrize("packed", [False, True])
def test_damaged_halves_are_survived(apart, tmp_path, packed):
    variant, hidden, zoo, addresses, _ = apart
    damaged = tmp_path / "damaged"
    shutil.copytree(hidden, damaged)
    if packed:
        pack(variant, hidden, damaged / "zoo.dwp")
        for path in damaged.glob("*.dwo"):
            path.unlink()
    chosen = random.Random(7)
    originals = {p: p.read_bytes() for p in damaged.iterdir() if p.suffix in (".dwo", ".dwp")}
    for _ in range(12):
        for path, original in originals.items():
            image = bytearray(original)
            for _ in range(chosen.choice((1, 10, 300))):
                at = chosen.randrange(64, len(image))
                image[at] = chosen.choice((0, 1, 0x7F, 0x80, 0xFF, chosen.randrange(256)))
            path.write_bytes(bytes(image[: chosen.choice((len(image), len(image) // 2))]))
        text = "".join(f"{a:#x}\n" for a in addresses[:200]).encode()
        done = subprocess.run([DRIVER, "--addresses", zoo, damaged], input=text,
                              capture_output=True, timeout=20, check=False)
        assert done.returncode == 0
        assert done.stdout.count(b"\n\n") == 200
