# SPDX-License-Identifier: MIT
"""What the page map costs is in proportion to what the program itself uses of its memory."""

import pytest

from harness import check_truth, parse_truth, record_with_truth

# The ledger, the rules and what else does not depend on how much is allocated.
BASE_KB = 12 << 10


def record(seep, *arguments):
    """The report, and resident memory of the plain run and of the recorded one."""
    recordings, truth = record_with_truth(seep, "untouched", *arguments)
    report = recordings.main()
    check_truth(report, truth)
    plain = parse_truth((seep.directory / "plain.truth").read_text())
    return report, plain.notes["resident_kb"], truth.notes["resident_kb"]


@pytest.mark.fast
@pytest.mark.parametrize("size", ["65000", "20000", "5000"])
def test_large_blocks_that_nobody_touches_cost_little(seep, size):
    report, plain, recorded = record(seep, "20000", size, "0")
    assert plain > 20000 * 4, "each block's header is on a page of its own"
    assert recorded - plain < plain // 8 + BASE_KB
    assert report["totals"]["own_bytes"] < (plain // 8 + BASE_KB) << 10


def test_a_small_block_among_large_ones_costs_a_page(seep):
    report, plain, recorded = record(seep, "20000", "65000", "48")
    assert recorded - plain < 20000 * 4 * 9 // 8 + BASE_KB
    assert report["totals"]["own_bytes"] < (20000 * 4 * 9 // 8 + BASE_KB) << 10


def test_small_blocks_cost_a_quarter(seep):
    report, plain, recorded = record(seep, "1000000", "24", "0")
    heap_kb = 1000000 * 32 >> 10
    assert recorded - plain < heap_kb // 4 + BASE_KB
    own = report["totals"]["own_bytes"]
    assert heap_kb // 4 << 10 <= own < (heap_kb // 4 + BASE_KB) << 10
