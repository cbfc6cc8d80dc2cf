#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""debian/ says what .ci/packages.sh and CMakeLists.txt say: what a build needs, and the version."""
import re

from linting import Lint

# What is there wherever Debian packages are built.
ESSENTIAL = {"gcc", "g++", "libc6-dev", "make"}
FOR_DEBIAN = {"debhelper-compat"}


def main():
    lint = Lint(__doc__)
    needed = set(re.search(r'^build_packages="([^"]*)"', lint.read(".ci/packages.sh"),
                           re.M).group(1).split()) - ESSENTIAL
    field = re.search(r"^Build-Depends:\n((?: .*\n)*)", lint.read("debian/control"), re.M).group(1)
    listed = set(re.findall(r"^ ([a-z0-9.+-]+)", field, re.M)) - FOR_DEBIAN
    for name in sorted(needed - listed):
        lint.problem("debian/control", f"Build-Depends lacks {name} of build_packages")
    for name in sorted(listed - needed):
        lint.problem("debian/control", f"Build-Depends has {name}, which build_packages lacks")
    version = re.search(r"^project\(seep VERSION (\S+)", lint.read("CMakeLists.txt"), re.M).group(1)
    if not lint.read("debian/changelog").startswith(f"seep ({version}) "):
        lint.problem("debian/changelog:1", f"not of version {version}, which CMakeLists.txt has")
    lint.checked += 3
    lint.finish()


if __name__ == "__main__":
    main()
