#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The JSON schema and the pages have the kinds of allocation of src/ledger/kind.h, with their numbers,
the verdicts of src/profile/verdict.h and the rules of src/analysis/leak_evidence.c."""
import json
import re

from linting import Lint

LIST = "src/ledger/kind.h"
VERDICTS = "src/profile/verdict.h"
RULES = "src/analysis/leak_evidence.c"
SCHEMA = "docs/json-schema.json"
PAGE = "docs/json.md"


def enumerations(schema):
    """Every "enum" in the schema that lists kinds of allocation."""
    if isinstance(schema, dict):
        values = schema.get("enum", [])
        if "calloc" in values:
            yield values
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from enumerations(inner)


def check_verdicts(lint, schema):
    """Those of the page and of the schema are the header's, which also has what they mean."""
    verdicts = re.findall(r'V\(\w+,\s*"([^"]+)",\s*(?:true|false),\s*"([^"]+)"\)', lint.read(VERDICTS))
    values = schema["properties"]["leaks"]["items"]["properties"]["verdict"]["enum"]
    if not verdicts or values != [name for name, _ in verdicts] + ["unknown"]:
        lint.problem(SCHEMA, f"verdicts are {values}, want {verdicts}")
    rules = re.findall(r'\[SCAN_RULE_\w+\] = \{\s*"([^"]+)"', lint.read(RULES))
    if not rules:
        lint.problem(RULES, "no rules found")
    for line in [f"| `{name}` | {meaning} |" for name, meaning in verdicts] + [f"| `{r}` |" for r in rules]:
        if line not in lint.read(PAGE):
            lint.problem(PAGE, f"has no line {line}")


def main():
    lint = Lint(__doc__)
    names = re.findall(r'^\s*KIND\(\w+, "([^"]+)"', lint.read(LIST), re.M)
    lint.checked = len(names)
    schema = json.loads(lint.read(SCHEMA))
    found = list(enumerations(schema))
    if not names or not found:
        lint.problem(LIST if not names else SCHEMA, "no kinds of allocation found")
    for values in found:
        if values != names:
            lint.problem(SCHEMA, f"kinds are {values}, want {names}")
    for path, form in ((PAGE, '`"{name}"`'), (PAGE, "{name} {number}"),
                       ("docs/internals/ledger.md", "{number} {name}")):
        text = " ".join(lint.read(path).split())
        for number, name in enumerate(names):
            wanted = form.format(name=name, number=number)
            if not re.search(rf"(?<!\w){re.escape(wanted)}(?!\w|\[)", text):
                lint.problem(path, f"does not say {wanted}, a kind of allocation")
    check_verdicts(lint, schema)
    lint.finish()


if __name__ == "__main__":
    main()
