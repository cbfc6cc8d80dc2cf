# SPDX-License-Identifier: MIT
"""The data in a page, and its contexts as docs/json.md has them: docs/internals/page.md backwards."""
import base64
import gzip
import json
import re

DATA = re.compile(rb'id="?seep-data"?[^>]*>([^<]*)<')
FIGURES = ("allocs", "alloc_bytes", "frees", "freed_bytes", "live_blocks", "live_bytes",
           "peak_blocks", "peak_bytes", "temporary")


def read_page(path):
    """(view, document) of the page at path."""
    (text,) = DATA.findall(path.read_bytes())
    data = json.loads(gzip.decompress(base64.b64decode(text, validate=True)))
    assert set(data) == {"view", "document"}
    return data["view"], data["document"]


def stacks(columns):
    """Indexes of frames, innermost first."""
    numbers = iter(columns["stacks"])
    stack = []
    for same in numbers:
        stack = stack[:same] + [next(numbers) for _ in range(next(numbers))]
        yield stack[::-1]


def add_folds(columns, contexts):
    numbers = iter(columns["folds"])
    at = 0
    for step in numbers:
        at += step
        context = contexts[at]
        last = len(context["frames"]) - 1
        context["folded"] = []
        for _ in range(next(numbers)):
            place, extent, times = next(numbers), next(numbers), next(numbers)
            context["folded"].append({"from": last - place - extent, "to": last - place,
                                      "times": times, "or_more": times > 65535})


def contexts_of(document):
    """What report --json has, without id, hash and address, and with first_ms for first_ns."""
    columns = document["contexts"]
    contexts = [
        {"kind": columns["kinds"][columns["kind"][i]], "first_ms": columns["first_ms"][i],
         **{key: columns[key][i] for key in FIGURES}, "frames": stack}
        for i, stack in enumerate(stacks(columns))
    ]
    assert len(contexts) == columns["count"]
    for i, others in columns["others"]:
        contexts[i].update(others)
    add_folds(columns, contexts)
    return contexts
