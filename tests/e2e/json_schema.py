# SPDX-License-Identifier: MIT
"""A validator for the part of JSON Schema 2020-12 that docs/json-schema.json uses.

A keyword that it does not know is an error, so that the schema cannot ask for what nobody checks.
With closed=True a key that the schema does not name is an error too: outsiders must accept new
keys, our own output may not have any that are not written down.
"""

import re

ANNOTATIONS = {"$schema", "$defs", "definitions", "title", "description"}
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def is_type(value, name):
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, TYPES[name])


class Validator:
    def __init__(self, schema, closed=False):
        self.root = schema
        self.closed = closed

    def errors(self, value):
        """All violations, as "path: sentence"."""
        return list(self.check(value, self.root, "$"))

    def resolve(self, reference):
        node = self.root
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]
        return node

    def check(self, value, schema, path):
        if "$ref" in schema and "properties" in schema:  # what it refers to, and more
            other = self.resolve(schema["$ref"])
            schema = {**other, "properties": {**other["properties"], **schema["properties"]},
                      "required": other["required"] + schema["required"]}
        for keyword, argument in schema.items():
            if keyword in ANNOTATIONS:
                continue
            method = getattr(self, "check_" + keyword.lstrip("$"), None)
            if method is None:
                yield f"{path}: the schema uses {keyword}, which is not checked here"
            else:
                yield from method(value, argument, path, schema)

    def check_ref(self, value, reference, path, _schema):
        yield from self.check(value, self.resolve(reference), path)

    def check_type(self, value, types, path, _schema):
        names = [types] if isinstance(types, str) else types
        if not any(is_type(value, name) for name in names):
            yield f"{path}: {value!r:.60} is not {' or '.join(names)}"

    def check_enum(self, value, allowed, path, _schema):
        if value not in allowed:
            yield f"{path}: {value!r:.60} is none of {allowed}"

    def check_const(self, value, constant, path, _schema):
        if value != constant:
            yield f"{path}: {value!r:.60} is not {constant!r}"

    def check_minimum(self, value, least, path, _schema):
        if isinstance(value, (int, float)) and value < least:
            yield f"{path}: {value} is below {least}"

    def check_maximum(self, value, most, path, _schema):
        if isinstance(value, (int, float)) and value > most:
            yield f"{path}: {value} is above {most}"

    def check_pattern(self, value, pattern, path, _schema):
        if isinstance(value, str) and not re.search(pattern, value):
            yield f"{path}: {value!r:.60} does not match {pattern}"

    def check_required(self, value, keys, path, _schema):
        if isinstance(value, dict):
            for key in keys:
                if key not in value:
                    yield f"{path}: {key} is missing"

    def check_properties(self, value, properties, path, _schema):
        if not isinstance(value, dict):
            return
        for key, inner in value.items():
            if key in properties:
                yield from self.check(inner, properties[key], f"{path}.{key}")
            elif self.closed:
                yield f"{path}: {key} is not in the schema"

    def check_items(self, value, schema, path, _schema):
        if isinstance(value, list):
            for index, inner in enumerate(value):
                yield from self.check(inner, schema, f"{path}[{index}]")

    def check_anyOf(self, value, choices, path, _schema):
        found = [list(self.check(value, choice, path)) for choice in choices]
        if all(found):
            yield min(found, key=len)[0]
