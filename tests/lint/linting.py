# SPDX-License-Identifier: MIT
"""What the lints share: which files there are, and how problems are told."""
import argparse
import os
import sys

SKIP = 77  # ctest counts this exit status as skipped

C_LIKE = (".c", ".h", ".cc", ".def")
CODE_DIRECTORIES = ("src", "include", "tests", "examples", "bench", "web")


class Lint:
    """Collects problems; finish() prints them and ends the process."""

    def __init__(self, description):
        parser = argparse.ArgumentParser(description=description)
        top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        parser.add_argument("--source", default=top)
        parser.add_argument("--build", default=os.path.join(top, "build"))
        options = parser.parse_args()
        self.source = os.path.abspath(options.source)
        self.build = os.path.abspath(options.build)
        self.problems = []
        self.checked = 0

    def files(self, suffixes, directories=CODE_DIRECTORIES):
        """Paths relative to the source, sorted; build folders and caches left out."""
        found = []
        for directory in directories:
            for folder, names, files in os.walk(os.path.join(self.source, directory)):
                names[:] = sorted(n for n in names
                                  if not n.startswith(".")
                                  and n not in ("__pycache__", "node_modules"))
                for name in files:
                    if name.endswith(suffixes):
                        path = os.path.join(folder, name)
                        found.append(os.path.relpath(path, self.source))
        return sorted(found)

    def read(self, path):
        with open(os.path.join(self.source, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def problem(self, where, text):
        self.problems.append(f"{where}: {text}")

    def skip(self, why):
        print(f"skipped: {why}")
        sys.exit(SKIP)

    def finish(self):
        for line in self.problems:
            print(line)
        print(f"{self.checked} checked, {len(self.problems)} problems")
        sys.exit(1 if self.problems else 0)
