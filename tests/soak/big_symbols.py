#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Five big binaries: 20,000 random addresses each, frame by frame beside llvm-symbolizer's.

  python3 tests/soak/big_symbols.py [FOLDER [NAME...]]   (NAME of lto, c++, rust, separate, zstd)

Prints a table of sizes, differences, time and memory of both. FOLDER keeps what is built. Times are
the processor's (user + system, opening included), which a busy machine does not change.

Needs soak_packages of .ci/packages.sh.
"""

import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import symbol_oracle as oracle  # noqa: E402 (found by the line above)

COUNT = 20000
ROUNDS = 3

MANIFEST = """\
[package]
name = "big"
version = "0.1.0"
edition = "2021"
[[bin]]
name = "big"
path = "{source}"
[dependencies]
regex = "1"
serde_json = "1"
syn = {{ version = "1", features = ["full", "extra-traits", "visit"] }}
[profile.release]
debug = 2
"""
REGISTRY = """\
[source.crates-io]
replace-with = "packaged"
[source.packaged]
directory = "/usr/share/cargo/registry"
"""


def build_cxx(folder):
    target = folder / "cxx"
    if not target.exists():
        source = HERE / "big_symbols.cc"
        objects = []
        for part in (1, 2, 3):
            objects.append(folder / f"cxx_{part}.o")
            command = ["g++", "-std=c++17", "-O2", "-g", "-w", f"-DPART={part}", "-c", source]
            subprocess.run([*command, "-o", objects[-1]], check=True)
        subprocess.run(["g++", "-o", target, *objects], check=True)
    return target


def build_rust(folder):
    target = folder / "rust" / "target" / "release" / "big"
    if not target.exists():
        settings = folder / "rust" / ".cargo"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "config.toml").write_text(REGISTRY)
        manifest = MANIFEST.format(source=HERE / "big_symbols.rs")
        (folder / "rust" / "Cargo.toml").write_text(manifest)
        cargo = "/usr/bin/cargo" if os.path.exists("/usr/bin/cargo") else "cargo"
        env = {**os.environ, "PATH": f"{os.path.dirname(cargo)}:{os.environ['PATH']}"}
        command = [cargo, "build", "--release", "--offline", "--quiet"]
        subprocess.run(command, cwd=folder / "rust", env=env, check=True)
    return target


def build_zstd(folder):
    target = folder / "zstd"
    if not target.exists():
        packer = shutil.which("llvm-objcopy-19") or "llvm-objcopy"
        form = "--compress-debug-sections=zstd"
        subprocess.run([packer, form, build_cxx(folder), target], check=True)
    return target


SUBJECTS = {
    "lto": ("Debian's python3.11, link-time optimised", lambda folder: "/usr/bin/python3.11"),
    "c++": ("C++ templates (Boost, std), g++ -O2", build_cxx),
    "rust": ("Rust (regex, serde_json, syn), optimised", build_rust),
    "separate": ("Debian's libc.so.6, stripped; libc6-dbg",
                 lambda folder: "/lib/x86_64-linux-gnu/libc.so.6"),
    "zstd": ("the C++ one, sections compressed by zstd", build_zstd),
}


def debug_file(path):
    build_id = oracle.build_id_of(path)
    separate = pathlib.Path(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
    return separate if separate.exists() else None


def info_bytes(path):
    text = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True).stdout.decode()
    for line in text.splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 5 and words[1] == ".debug_info":
            return int(words[5], 16)
    return 0


# In a small process of its own: what a child takes counts from the fork on, and we are large.
METER = """
import os, sys
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
usage = os.wait4(pid, 0)[2]
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, file=sys.stderr)
"""


def measure(command, addresses):
    """(seconds of the processor, most bytes in memory): the best of some rounds."""
    text = "".join(f"{a:#x}\n" for a in addresses).encode()
    found = []
    for _ in range(ROUNDS):
        said = oracle.run(sys.executable, "-c", METER, *command, input=text).stderr.split(b"\n")[-2]
        seconds, size = said.split()
        found.append((float(seconds), int(size)))
    return min(found)


def row(name, folder):
    what, build = SUBJECTS[name]
    path = build(folder)
    separate = debug_file(path)
    if not info_bytes(separate or path):
        raise SystemExit(f"{path}: no debug information; see soak_packages of .ci/packages.sh")
    counts = oracle.compare(path, *([separate] if separate else []), count=COUNT)
    addresses = oracle.random_addresses(path, COUNT)
    ours = measure([oracle.DRIVER, "--addresses", path], addresses)
    theirs = measure([oracle.ORACLE, "-e", path, "--functions=linkage", "--no-demangle"], addresses)
    bad = counts["count"] + counts["place"] + counts["name"]
    megabytes = info_bytes(separate or path) / 1e6
    return (f"| {what} | {megabytes:.1f} MB | {bad} | {ours[0]:.2f} s, {ours[1] / 1e6:.0f} MB "
            f"| {theirs[0]:.2f} s, {theirs[1] / 1e6:.0f} MB |")


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row(name, folder) for name in sys.argv[2:] or SUBJECTS]
    print(f"\n{COUNT} addresses each\n")
    print("| what | .debug_info | differences | seep | llvm-symbolizer |")
    print("|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
