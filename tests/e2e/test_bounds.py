# SPDX-License-Identifier: MIT
"""What the library may take of a thread's stack, and of its time while another one of its threads
hardly runs."""

import pytest

from harness import BUILD, RUNTIME, check_truth, parse_truth, program, run_plain

STACK_BYTES = 1024
# Of a function: what is called on its way needs some, too. More have what runs on a process's first
# stack, when it begins, what says that a walk was found wrong, and what runs on the stack that
# attaching maps for it.
FRAME_BYTES = 288
AT_START = {"edit_distance", "rt_next_find", "rt_ledger_make"}
WHEN_WRONG = {"rt_say_parts"}
WHEN_ATTACHED = {"rt_bind"}
# What a thread may wait for others, beside its turns on the processor.
LONGEST_US = 100_000


def painted(env):
    out = run_plain([program("stack_paint")], env=env).stdout.decode()
    return {k: int(v) for k, v in (w.split("=") for w in out.split() if "=" in w)}


def test_no_operation_takes_a_kilobyte_of_stack(seep):
    plain = painted({})
    used = painted({"LD_PRELOAD": str(RUNTIME), "SEEP_DIR": str(seep.ledger_dir)})
    assert used.keys() == plain.keys() and len(used) == 12
    assert {k: v for k, v in used.items() if v >= STACK_BYTES} == {}
    # It is painted at all, and the library is there.
    assert used["first_malloc"] > plain["later_malloc"] > 0


def test_no_function_has_a_large_frame():
    lines = [
        line.split("\t")
        for path in (BUILD / "CMakeFiles/seep_runtime.dir").rglob("*.su")
        for line in path.read_text().splitlines()
    ]
    large = {place.split(":")[3].split(".")[0] for place, b, _ in lines if int(b) > FRAME_BYTES}
    assert len(lines) > 300 and large <= AT_START | WHEN_WRONG | WHEN_ATTACHED


@pytest.mark.parametrize("how", ["idle", "fifo", "stopped"])
def test_nobody_waits_for_a_thread_that_hardly_runs(seep, how):
    longest = []
    # The kernel has one lock for a process's mappings, and a starved thread may hold that, too. It
    # does so rarely, where a lock of the library would be held in every run.
    while len(longest) < 4 and min(longest, default=LONGEST_US) >= LONGEST_US:
        result, recordings = seep.run([program("starved"), how, "1500"])
        assert (result.status, result.stderr) == (0, b"")
        truth = parse_truth(result.stdout.decode())
        report = recordings.main()
        check_truth(report, truth)
        assert not report["unseen"] and not report["totals"]["dropped"]
        longest.append(truth.notes["longest_us"])
    assert min(longest) < LONGEST_US
