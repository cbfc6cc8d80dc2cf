#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""File basenames are unique in the tree: a reader finds a file by its name alone."""
import os
from collections import defaultdict

from linting import Lint

# Names that a tool looks for in more than one folder.
SHARED = {"conftest.py", "__init__.py", "README.md", "run"}


def main():
    lint = Lint(__doc__)
    places = defaultdict(list)
    for path in lint.files((".c", ".cc", ".h", ".def", ".py", ".rs", ".sh")):
        lint.checked += 1
        places[os.path.basename(path)].append(path)
    for name, paths in sorted(places.items()):
        if len(paths) > 1 and name not in SHARED:
            lint.problem(paths[0], f"the same name as {', '.join(paths[1:])}")
    lint.finish()


if __name__ == "__main__":
    main()
