#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every header compiles alone; the public one also as C++."""
import os
import subprocess

from linting import Lint

FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Wundef", "-Wstrict-prototypes", "-Werror"]


def compile_alone(lint, path, language, standard, flags):
    # Included from an empty source, so that "#pragma once in main file" and the like stay quiet.
    command = ["c++" if language == "c++" else "cc", "-x", language, f"-std={standard}", *flags,
               "-I", os.path.join(lint.source, "src"), "-I", os.path.join(lint.source, "include"),
               "-include", os.path.join(lint.source, path), os.devnull]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        errors = [line for line in result.stderr.splitlines() if "error" in line]
        lint.problem(path, f"does not compile alone as {language}: "
                           f"{errors[0] if errors else result.stderr.strip()}")


def main():
    lint = Lint(__doc__)
    for path in lint.files((".h",), ("src", "include")):
        lint.checked += 1
        compile_alone(lint, path, "c", "gnu17", [*FLAGS, "-D_GNU_SOURCE="])
        if path.startswith("include/"):
            cxx = [flag for flag in FLAGS if flag != "-Wstrict-prototypes"]
            compile_alone(lint, path, "c++", "c++11", cxx)
            compile_alone(lint, path, "c", "c11", FLAGS)
    lint.finish()


if __name__ == "__main__":
    main()
