#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing is reserved: what the ledger, a profile and JSON have is written by somebody, and read by somebody.

By names: members of structs and enumerators of src/ledger and of profile.h, and keys of the JSON schema."""
import collections
import json
import re

from linting import Lint

HEADERS = ("src/ledger/ledger.h", "src/ledger/ledger_blocks.h", "src/ledger/ledger_facts.h",
           "src/profile/profile.h")
SCHEMA = "docs/json-schema.json"
# Room that has no meaning yet is called so.
ROOM = re.compile(r"(^|_)spare\d*$")
# Calls that only write, or only read, what their first argument points to.
WRITES = re.compile(r"rt_store|rt_add|atomic_store|atomic_fetch_|atomic_init|mem(cpy|set)$")
READS = re.compile(r"rt_load|atomic_load")


def code(text):
    """Without comments."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def members(text):
    """The names of the members of all structs in a header."""
    for body in re.findall(r"\bstruct\s*\w*\s*\{(.*?)^\t*\}", text, re.M | re.S):
        for declaration in re.split(r";", body):
            declaration = re.sub(r"\[[^]]*\]|:\s*\d+|_Alignas\(\d+\)|.*\{", " ", declaration, flags=re.S)
            for name in declaration.split(","):
                words = re.findall(r"\w+", name)
                if words and not words[-1].isupper():
                    yield words[-1]


def enumerators(text):
    for body in re.findall(r"\benum\s*\w*\s*\{(.*?)\}", text, re.S):
        for name, zero in re.findall(r"(?:^|,)\s*(\w+)(\s*=\s*0\b)?", body):
            if not zero:  # which is what stands there by itself
                yield name


def uses(everything):
    """By name of a member whether it is written and read. What a table lists is both."""
    found = {}
    for line in everything.splitlines():
        for use in re.finditer(r"(?:->|\.)\s*(\w+)((?:\[[^]]*\])*)\s*", line):
            before, after = line[:use.start()], line[use.end():]
            written, read = found.get(use[1], (False, False))
            call = re.search(r"(\w+)\(&[\w>.()\[\]-]*$", before)
            if re.match(r"=(?!=)|\+\+|--|[-+|&^]=", after) or call and WRITES.match(call[1]):
                written = True
            else:
                read = True
                # Handed on by its address.
                written |= bool(re.search(r"&[\w>.()\[\]-]*$", before)) and not (call and READS.match(call[1]))
                written |= bool(re.search(r"\b(?:memcpy|memset|snprintf)\([\w>.()\[\]-]*$", before))
            found[use[1]] = written, read
        for words in re.findall(r"\b[A-Z]\w*\(([\w, .]*)", line):
            for name in re.findall(r"\w+", words):
                found[name] = True, True
    return found


def check_structs(lint, everything):
    used = uses(everything)
    for path in HEADERS:
        text = code(lint.read(path))
        for name in sorted(set(members(text))):
            if ROOM.search(name):
                continue
            lint.checked += 1
            written, read = used.get(name, (False, False))
            if not written or not read:
                lint.problem(path, f"nobody {'reads' if written else 'writes'} {name}")


def check_enumerators(lint, everything):
    words = collections.Counter(re.findall(r"\w+", everything))
    for path in HEADERS:
        for name in sorted(set(enumerators(code(lint.read(path))))):
            lint.checked += 1
            if words[name] < 2:
                lint.problem(path, f"nobody uses {name}")


def keys(schema):
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from keys(inner)


def check_keys(lint, everything):
    figures = set(re.findall(r"\bFIGURE\((\w+)|\bTOTAL\((\w+)|\bVERIFY\((\w+)", everything))
    figures = {name for names in figures for name in names}
    for key in sorted(set(keys(json.loads(lint.read(SCHEMA))))):
        lint.checked += 1
        if key not in figures and f'"{key}"' not in everything:
            lint.problem(SCHEMA, f"nobody writes {key}")
    for path in lint.files((".c",), ("src",)):
        text = code(lint.read(path))
        for key in re.findall(r'seep_json_open_(?:array|object)\(json, "(\w+)"\);\s*seep_json_close\(json\)', text):
            lint.problem(path, f"{key} is always empty")
    nulls = collections.Counter(re.findall(r'seep_json_null\(json, "(\w+)"\)', everything))
    for key, count in sorted(nulls.items()):
        if everything.count(f'"{key}"') == count and key not in figures:
            lint.problem(SCHEMA, f"{key} is always null")


def main():
    lint = Lint(__doc__)
    everything = "\n".join(code(lint.read(path)) for path in lint.files((".c", ".h", ".def"), ("src",)))
    check_structs(lint, everything)
    check_enumerators(lint, everything)
    check_keys(lint, everything)
    lint.finish()


if __name__ == "__main__":
    main()
