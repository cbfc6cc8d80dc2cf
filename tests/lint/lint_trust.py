#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ledger is output: the runtime takes no index, address or count from words that others can write.

Mechanical as far as it goes: words of the ledger that have a private twin are stored and never read, and a table is
indexed only where the index is known to be private. What is listed here was looked at."""
import re

from linting import Lint

# The text after which the word stands: a store. "raise" makes the ledger's word say what the private one does.
STORES = re.compile(r"(?:rt_store(?:_release)?|raise)\(&[\w.>-]*$")
WORDS = re.compile(r"cache->slots\b|cache->owner_tid\b|redo->row\b|redo->slot\b|state->table\[")
TABLES = re.compile(r"rt_global\.(?:rows|nodes|contexts|caches|slots|modules|findings)\[(?!0\])")

# Readers of words with a twin: why that is none of an index.
READERS = {
    "src/runtime/hook/annotations.c": 1,  # marks: tools append them, and the index is bounded
}
# How often a table is indexed: by what rt_table_take() or a memo gave, or below a private count.
INDEXED = {
    "src/runtime/hook/allocator_interface.c": 1,
    "src/runtime/sys/tables.h": 1,
    "src/runtime/track/context.c": 5,
    "src/runtime/track/counters.c": 2,
    "src/runtime/track/live_contexts.c": 3,
    "src/runtime/track/misuse.c": 2,
    "src/runtime/track/nodes.c": 2,
    "src/runtime/track/thread.c": 1,
    "src/runtime/unwind/modules.c": 1,
}


def main():
    lint = Lint(__doc__)
    for path in lint.files((".c", ".h"), ("src/runtime",)):
        lint.checked += 1
        text = lint.read(path)
        reads = [m for m in WORDS.finditer(text) if not STORES.search(text[: m.start()])]
        indexed = TABLES.findall(text)
        if len(reads) != READERS.get(path, 0):
            lint.problem(path, f"reads {len(reads)} words that others can write, {READERS.get(path, 0)} are known")
        if len(indexed) != INDEXED.get(path, 0):
            lint.problem(path, f"indexes tables at {len(indexed)} places, {INDEXED.get(path, 0)} are known")
    lint.finish()


if __name__ == "__main__":
    main()
