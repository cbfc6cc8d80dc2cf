# SPDX-License-Identifier: MIT
"""What text, page, `seep top --once` and JSON begin with is one sentence, which one rule chooses."""
import json
import re

import pytest

from harness import LIMIT_S, program
from page_data import read_page
from running import launch

# name: program and arguments, SEEP_OPTIONS, where to start, by what measure
ENDED = {
    "leak": ("top_leaks 50", "", "main", "live at exit"),
    "growth, all freed": ("growth_list 2 1", "", "append_audit", "live at the peak"),
    "peak": ("peak_sawtooth", "", "saw_c", "live at the peak"),
    "much freed": ("peak_malloc_free", "", "peak_base", "live at exit"),
    "temporary blocks": ("temporaries", "", "free_in_other_thread", "live at exit"),
    "recursion": ("recursion", "", "direct", "live at exit"),
    "C++": ("callables", "", "(anon)::keep", "live at exit"),
    "operators": ("operators", "", "new_reserve", "live at the peak"),
    # Its library keeps a block at exit since some version; Debian 12's 1.63 keeps none.
    "Rust": ("symbol_rust", "", "(?:symbol_rust::)?main", "live at (?:exit|the peak)"),
    "by thread": ("by_thread", "by_thread=name", "kept", "live at exit"),
    "cut stacks": ("api_all", "depth=3", "api_big", "live at the peak"),
    "many stacks": ("many_stacks 3000", "", "counted", "live at exit"),
    "nothing counted": ("recursion", "size_min=1g", None, "allocations"),
}
HEAP = """heap_v2/524288
  t*: 3: 300 [0: 0]
@ 0x400 0x500
  t*: 3: 300 [0: 0]

MAPPED_LIBRARIES:
"""


def first_sentences(seep, operand, folder):
    """Of text, page and JSON, with the JSON's measure."""
    text = seep.command("report", operand)
    document = seep.command("report", operand, "--json")
    page = seep.command("report", operand, "--html", folder / "page.html")
    assert text.status == document.status == page.status == 0, text.stderr + page.stderr
    lead = json.loads(document.stdout)["lead"]
    in_page = read_page(folder / "page.html")[1]["lead"]
    assert in_page == lead
    after_head = text.stdout.decode().split("\n\n")[1].splitlines()
    assert after_head[:len(lead["sentences"])] == lead["sentences"]
    return lead


def top_says(seep, operand, lead):
    top = seep.command("top", "--once", "--interval", "50ms", operand)
    assert top.stdout.decode().splitlines()[0] == lead["sentences"][0]
    top = seep.command("top", "--once", "--interval", "50ms", "--json", operand)
    assert json.loads(top.stdout)["lead"] == lead


@pytest.mark.parametrize("name", ENDED)
def test_text_page_top_and_json_begin_with_one_sentence(seep, tmp_path, name):
    words, options, function, measure = ENDED[name]
    binary, *arguments = words.split()
    process = launch(seep, program(binary), *arguments, env={"SEEP_OPTIONS": options})
    process.communicate(timeout=LIMIT_S)
    ledger = max(seep.ledger_dir.rglob(f"{binary}.*.ledger"))
    lead = first_sentences(seep, ledger, tmp_path)
    first, second = lead["sentences"]
    if name == "Rust":
        found = re.fullmatch(rf"Start at {function} \(.*% of the bytes ({measure})", first)
        assert found, first
        measure = found[1]
    else:
        assert first.startswith(f"Start at {function} (" if function else "There are no ")
        assert first.endswith(f"% of the bytes {measure}" if function else measure)
    assert second.startswith("Not scanned for leaks: ")
    assert lead["measure"] == {"exit": "live", "peak": "peak"}.get(measure.split()[-1], "allocs")
    top_says(seep, ledger, lead)


def test_a_running_process_and_a_recording_of_it_begin_alike(seep, tmp_path):
    process = launch(seep, program("loses_lists"))
    assert process.stdout.readline() == b"ready\n"
    saved = tmp_path / "saved.seep"
    assert seep.command("save", "-q", str(process.pid), "-o", saved).status == 0
    lead = first_sentences(seep, saved, tmp_path)
    assert lead["sentences"][0].endswith("of the bytes live now")
    assert first_sentences(seep, str(process.pid), tmp_path)["sentences"][0] == lead["sentences"][0]
    top_says(seep, str(process.pid), lead)
    process.communicate(b"0\n", timeout=LIMIT_S)


def test_what_a_scan_found_comes_first(seep, tmp_path):
    for words, first, second in (
            (["top_leaks", "50"], " lost", "Start at main ("),
            (["peak_sawtooth"], "Nothing is lost", "Start at saw_c (")):
        _, recordings = seep.run([program(words[0]), *words[1:]])
        lead = first_sentences(seep, recordings.path, tmp_path)
        assert first in lead["sentences"][0] and lead["sentences"][1].startswith(second)


def test_an_import_begins_with_its_largest_function(seep, tmp_path):
    (tmp_path / "heap").write_text(HEAP)
    assert seep.command("import", "-q", "heap", cwd=tmp_path).status == 0
    lead = first_sentences(seep, tmp_path / "heap.seep", tmp_path)
    assert lead["sentences"][0] == "Start at 0x400: 100.0% of the bytes live when last seen"
    assert lead["measure"] == "live"
