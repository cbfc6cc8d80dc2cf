#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which room may include which: the table in HACKING.md, enforced; and no circle among folders."""
import os
import re

from linting import Lint

# May not include headers of libc that declare functions, but for the runtime.
FREESTANDING = {"core", "ledger", "cfi", "scan"}

# Headers that declare types and macros only; what they declare links to nothing.
FREESTANDING_HEADERS = {"stdint.h", "stddef.h", "stdbool.h", "stdatomic.h", "stdalign.h",
                        "stdarg.h", "limits.h", "elf.h", "link.h", "string.h"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
TABLE = "HACKING.md"
HEADING = "| room | may include (besides itself) |"


def read_table(lint):
    """{room: the rooms it may include}. A cell: "nothing", "all but A, B" or "A, B"; then "; why"."""
    lines = lint.read(TABLE).split(HEADING)[1].strip().split("\n")[1:]
    rows = {}
    for line in lines:
        if not line.startswith("|"):
            break
        names, cell = (column.strip() for column in line.strip("|").split("|"))
        rows.update((name.strip(), cell.split(";")[0].strip()) for name in names.split(","))
    table = {}
    for room, cell in rows.items():
        listed = {name.strip() for name in cell.removeprefix("all but ").split(",")} - {"nothing"}
        for name in listed - set(rows):
            lint.problem(TABLE, f"{room} may include {name}, which is no room of the table")
        table[room] = set(rows) - listed if cell.startswith("all but ") else listed
    return table


def room_of(path):
    """"src/runtime/track/x.c" is of runtime/track, "include/seep/seep.h" of include/seep."""
    return os.path.dirname(path).removeprefix("src/")


def check(lint, path, table, graph):
    room = room_of(path)
    text = lint.read(path)
    if room not in table:
        lint.problem(path, f"room {room} is not in the table of {TABLE}")
        return
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        where, name = f"{path}:{line}", match.group(2)
        if match.group(1) == "<":
            if room in FREESTANDING and name not in FREESTANDING_HEADERS:
                lint.problem(where, f"<{name}> in a freestanding room")
            continue
        found = [top for top in ("src", "include")
                 if os.path.exists(os.path.join(lint.source, top, name))]
        if not found:
            lint.problem(where, f'"{name}" is not a path from src/ or include/')
            continue
        other = room_of(os.path.join(found[0], name))
        if other != room:
            graph.setdefault(room, {}).setdefault(other, where)
            if other not in table[room]:
                lint.problem(where, f"{room} may not include {other}")


def reachable(graph, start):
    seen, todo = set(), [start]
    while todo:
        for other in graph.get(todo.pop(), {}):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def check_circles(lint, graph):
    """Every include that lies on a circle of folders is named."""
    for room in sorted(graph):
        for other, where in sorted(graph[room].items()):
            if room in reachable(graph, other):
                lint.problem(where, f"a circle: {room} includes {other}, and {other} leads back")


def main():
    lint = Lint(__doc__)
    table = read_table(lint)
    graph = {}
    for path in lint.files((".c", ".h", ".def"), ("src", "include")):
        lint.checked += 1
        check(lint, path, table, graph)
    check_circles(lint, graph)
    lint.finish()


if __name__ == "__main__":
    main()
