#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libseep.so exports exactly the hooks of src/runtime/next/hooks.def and the public API.

A hook that is listed but not exported never runs; a name that is exported by accident takes the
place of a function of the program's own.
"""
import os
import re
import subprocess

from linting import Lint

HOOKS = "src/runtime/next/hooks.def"
ALLOCATION = "src/core/allocation.def"  # which that includes
PUBLIC_HEADER = "include/seep/seep.h"
OUTSIDE_HEADER = "src/runtime/life/join.h"  # what is called from outside the process


def listed_hooks(lint):
    """The first argument of each entry: RT_HOOK(symbol, ...), RT_WRAP(symbol), CORE_MALLOC(...)."""
    text = re.sub(r"/\*.*?\*/", "", lint.read(HOOKS) + lint.read(ALLOCATION), flags=re.S)
    return set(re.findall(r"^(?:RT_[A-Z]+|CORE_MALLOC|CORE_OPERATOR)\(\s*(\w+)[,)]", text, re.M))


def public_functions(lint):
    """Functions that are exported to programs, and to who attaches."""
    try:
        text = lint.read(PUBLIC_HEADER)
    except FileNotFoundError:
        return set()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    outside = re.findall(r"^(?:void|extern uint64_t) (\w+)[([]", lint.read(OUTSIDE_HEADER), re.M)
    return set(re.findall(r"^SEEP_WEAK [\w ]+\*?(?<=[ *])(\w+)\(", text, re.M)) | set(outside)


def main():
    lint = Lint(__doc__)
    library = os.path.join(lint.build, "libseep.so")
    if not os.path.exists(library):
        lint.skip("libseep.so is not built")
    if not os.path.exists(os.path.join(lint.source, HOOKS)):
        lint.skip(f"there is no {HOOKS}")
    hooks = listed_hooks(lint)
    public = public_functions(lint)
    table = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True,
                           text=True, check=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in table.splitlines()
                if line.split()[-2] != "A"}
    lint.checked = len(exported)
    for name in sorted(hooks - exported):
        lint.problem(HOOKS, f"{name} is listed, but libseep.so does not export it")
    for name in sorted(exported - hooks - public):
        lint.problem("libseep.so", f"exports {name}, which is neither a hook nor in seep.h")
    lint.finish()


if __name__ == "__main__":
    main()
