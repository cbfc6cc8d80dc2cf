#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libseep.so imports only what runtime-imports.txt lists, and is built the way a host needs it.

Inside other people's malloc a function may be called only if somebody has thought about it: no
locks of libc's that a fork or a signal can leave taken, no allocation, no lazy binding.
"""
import glob
import os
import re
import subprocess

from linting import Lint

NEEDED_LIBRARIES = {"libc.so.6", "ld-linux-x86-64.so.2"}
TLS_BYTES_MAX = 64  # what attaching can count on in the static TLS surplus


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def undefined(*words):
    lines = run("nm", "--undefined-only", *words).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.startswith(" ")}


def check_imports(lint, library):
    listed = os.path.join(lint.source, "tests/lint/runtime-imports.txt")
    if not os.path.exists(listed):
        lint.problem("tests/lint/runtime-imports.txt", "is missing")
        return
    with open(listed, encoding="utf-8") as file:
        lines = [line.partition("#") for line in file]
    allowed = {name.strip() for name, _, _ in lines} - {""}
    for name in sorted(undefined("-D", library)):
        lint.checked += 1
        if name not in allowed:
            lint.problem("libseep.so", f"imports {name}, which runtime-imports.txt does not list")
    objects = glob.glob(os.path.join(lint.build, "CMakeFiles/seep_runtime.dir/**/*.o"),
                        recursive=True)
    of_libgcc = {name.strip() for name, _, why in lines if why.strip() == "libgcc"}
    if not objects:
        lint.problem("seep_runtime.dir", "has no objects to look at")
    for name in sorted(undefined(*objects) & of_libgcc):
        lint.problem("libseep.so", f"calls {name}, which only libgcc's unwinder may")


def check_dynamic(lint, library):
    dynamic = run("readelf", "-dW", library)
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if name not in NEEDED_LIBRARIES:
            lint.problem("libseep.so", f"needs {name}")
    soname = re.findall(r"\(SONAME\).*\[(.*)\]", dynamic)
    if soname != ["libseep.so"]:
        lint.problem("libseep.so", f"its soname is {soname}")
    if "TEXTREL" in dynamic:
        lint.problem("libseep.so", "has text relocations")
    flags = " ".join(re.findall(r"\(FLAGS(?:_1)?\)(.*)", dynamic))
    for flag, why in (("NOW", "binds lazily: a first call would enter the dynamic linker"),
                      ("NODELETE", "could be unmapped by dlclose")):
        if flag not in flags:
            lint.problem("libseep.so", why)


def check_segments(lint, library):
    segments = run("readelf", "-lW", library)
    stack = re.search(r"GNU_STACK.*?(R\w*)\s+0x", segments)
    if stack and "E" in stack.group(1):
        lint.problem("libseep.so", "asks for an executable stack")
    tls = re.search(r"^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+0x([0-9a-f]+)", segments, re.M)
    if tls and int(tls.group(1), 16) > TLS_BYTES_MAX:
        lint.problem("libseep.so", f"{int(tls.group(1), 16)} bytes of TLS; {TLS_BYTES_MAX} at most")
    if "SHSTK" not in run("readelf", "-nW", library):
        lint.problem("libseep.so", "is not marked for hardware shadow stacks (-fcf-protection)")


def main():
    lint = Lint(__doc__)
    library = os.path.join(lint.build, "libseep.so")
    if not os.path.exists(library):
        lint.skip("libseep.so is not built")
    check_imports(lint, library)
    check_dynamic(lint, library)
    check_segments(lint, library)
    lint.finish()


if __name__ == "__main__":
    main()
