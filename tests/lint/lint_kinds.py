#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The JSON schema and the pages have the kinds of allocation of src/ledger/kind.h, with their numbers."""
import json
import re

from linting import Lint

LIST = "src/ledger/kind.h"
SCHEMA = "docs/json-schema.json"


def enumerations(schema):
    """Every "enum" in the schema that lists kinds of allocation."""
    if isinstance(schema, dict):
        values = schema.get("enum", [])
        if "realloc" in values:
            yield values
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from enumerations(inner)


def main():
    lint = Lint(__doc__)
    names = re.findall(r'^\s*KIND\(\w+, "([^"]+)"', lint.read(LIST), re.M)
    lint.checked = len(names)
    found = list(enumerations(json.loads(lint.read(SCHEMA))))
    if not names or not found:
        lint.problem(LIST if not names else SCHEMA, "no kinds of allocation found")
    for values in found:
        if values != names:
            lint.problem(SCHEMA, f"kinds are {values}, want {names}")
    for path, form in (("docs/json.md", '`"{name}"`'), ("docs/json.md", "{name} {number}"),
                       ("docs/internals/ledger.md", "{number} {name}")):
        text = " ".join(lint.read(path).split())
        for number, name in enumerate(names):
            wanted = form.format(name=name, number=number)
            if not re.search(rf"(?<!\w){re.escape(wanted)}(?!\w|\[)", text):
                lint.problem(path, f"does not say {wanted}, a kind of allocation")
    lint.finish()


if __name__ == "__main__":
    main()
