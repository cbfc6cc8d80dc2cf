# SPDX-License-Identifier: MIT
"""Programs that once broke the runtime, one by one: they end as they do without it, and the recording
is right. Each program's first comment says what it does to its profiler."""

import os
import pathlib
import shutil
import signal
import time

import pytest

from harness import (
    PROGRAMS,
    RUNTIME,
    check_truth,
    contexts_of,
    functions,
    parse_truth,
    program,
    record_with_truth,
    run_plain,
    site,
)

VERIFY = {"SEEP_OPTIONS": "verify=1"}


def check_same(seep, command, env=None):
    """Plain and recorded end alike; gives the Result and the Recordings."""
    plain = run_plain(command, env=env)
    result, recordings = seep.run(command, env=env)
    result.same_as(plain)
    return result, recordings


def check_verified(report, at_least):
    figures = report["totals"]["verify"]
    assert figures["walks"] >= at_least
    assert figures["differences"] == 0


def truth_of_child(seep):
    """The pid and the truth of the only child of the last recorded run."""
    found = list(seep.directory.glob(f"truth-{seep.count}.*"))
    assert len(found) == 1
    return int(found[0].suffix[1:]), parse_truth(found[0].read_text())


# Of these, nothing else is to be right than what the program counts itself.
COUNTED = [
    # A return address that is none is not followed into unreadable memory.
    ["hostile_coroutine"],
    # A frame beyond the end of another stack is not looked for.
    ["hostile_other_stack"],
    # A handler on a small stack may begin the ledger.
    ["hostile_small_stack", "signal", str(os.sysconf("SC_MINSIGSTKSZ") + 2560)],
    # A module may make its header unreadable, or write over it.
    ["hostile_header", "hidden"],
    ["hostile_header", "sum"],
    ["hostile_header", "notes"],
    # What a handler frees in the middle of our books, at any instruction, is counted at its site.
    ["hostile_signal_frees"],
    ["hostile_step", "frees", "40"],
    ["hostile_step", "frees", "400"],
    # A thread whose start was left by longjmp gets its stacks nevertheless.
    ["hostile_step", "start"],
]


@pytest.mark.parametrize("command", COUNTED, ids=" ".join)
def test_counts_are_the_programs_own(seep, command):
    recordings, truth = record_with_truth(seep, *command)
    if command[0] == "hostile_step":
        assert truth.notes["tries"] > 10
    # A jump out of the middle of an operation may leave it counted in part, and the recording says so.
    jumps = truth.notes["tries"] if command == ["hostile_step", "start"] else 0
    check_truth(recordings.main(doubts=jumps), truth)


# ---- replaced operators --------------------------------------------------------------------


def test_operators_that_the_program_replaces_are_called_by_all_other_forms(seep):
    recordings, truth = record_with_truth(seep, "hostile_new", env=VERIFY)
    report = recordings.main()
    check_truth(report, truth)
    check_verified(report, 1)


@pytest.mark.parametrize("name", ["lib_hostile_new", "lib_hostile_new_sysv", "lib_hostile_new_pages"])
def test_operators_that_a_library_replaces_are_called_and_counted_once(seep, name):
    shutil.copy(program(f"{name}.so"), seep.directory / "lib_hostile_new.so")
    env = {"LD_LIBRARY_PATH": str(seep.directory)}
    recordings, truth = record_with_truth(seep, "hostile_new_user", env=env)
    report = recordings.main()
    check_truth(report, truth)
    assert report["totals"]["missed_frees"] == report["totals"]["untracked_frees"] == 0


# ---- stacks --------------------------------------------------------------------------------


def test_the_same_way_over_another_frame_pointer_is_walked_anew(seep):
    _, recordings = check_same(seep, [program("hostile_stale_frame")], env=VERIFY)
    report = recordings.main()
    check_verified(report, 100)
    outers = [functions(c) for c in contexts_of(report, "leaf") if "on_trap" not in functions(c)]
    ways = [[f for f in names if f in ("outer", "deeper")] for names in outers]
    assert sorted(ways) == [["outer"], ["outer", "deeper"]]


def test_a_stack_of_seventy_thousand_frames_is_walked_as_libgcc_does(seep):
    recordings, truth = record_with_truth(seep, "hostile_depth", "70000", env=VERIFY)
    report = recordings.main()
    check_truth(report, truth)
    check_verified(report, truth.sites["allocate"]["allocs"])


@pytest.mark.parametrize("way", ["plain", "fork"])
def test_a_page_of_stack_is_enough_to_begin_a_ledger(seep, way):
    recordings, truth = record_with_truth(seep, "hostile_small_stack", way, "4096")
    report = recordings.main()
    check_truth(report, truth)
    assert report["forked"]["processes"] == (way == "fork")
    assert report["forked"]["allocs"] == (way == "fork")


# ---- names ---------------------------------------------------------------------------------


def test_a_plugin_at_another_ones_address_keeps_its_own_name(seep):
    recordings, truth = record_with_truth(seep, "hostile_plugins")
    report = recordings.main()
    check_truth(report, truth)
    for letter in "ab":
        found = contexts_of(report, f"hostile_site_{letter}")
        modules = {pathlib.Path(f["module"]).name for c in found for f in c["frames"][:2]}
        assert modules == {f"lib_hostile_plugin_{letter}.so"}


def test_code_of_no_module_is_told_apart_when_modules_change(seep):
    result, recordings = seep.run([program("hostile_generations")])
    expected = {int(address): int(count) for address, count in
                (line.split() for line in result.stdout.decode().splitlines())}
    found = {address: 0 for address in expected}
    for context in recordings.main()["contexts"]:
        address = context["frames"][0]["address"] if context["frames"] else 0
        if address in found:
            found[address] += context["allocs"]
    assert result.status == 0 and found == expected


# ---- forks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["number", "unmapped"])
def test_a_child_does_not_read_its_arguments_after_they_were_overwritten(seep, what):
    recordings, truth = record_with_truth(seep, "hostile_arguments", what)
    report = recordings.main()
    check_truth(report, truth)
    assert report["forked"]["processes"] == 1
    assert report["forked"]["allocs"] == 1


def test_threads_that_begin_a_childs_ledger_together_are_all_counted(seep):
    recordings, truth = record_with_truth(seep, "hostile_fork_threads")
    check_truth(recordings.main(), truth)
    pid, truth = truth_of_child(seep)
    report = recordings.of(pid)
    # On a busy machine some are made before the ledger is there: those lack their stack.
    early = sum(c["allocs"] for c in report["contexts"] if not c["frames"])
    assert [u["code"] for u in report["unseen"]] == (["early"] if early else [])
    have, want = site(report, "in_thread"), truth.sites["in_thread"]
    missed = {name: value - have[name] for name, value in want.items()}
    lost = {"allocs": early, "frees": early, "bytes": 64 * early, "freed_bytes": 64 * early}
    assert missed == dict.fromkeys(want, 0) | lost


def test_an_inherited_block_is_not_subtracted_from_what_the_child_uses(seep):
    recordings, _ = record_with_truth(seep, "hostile_inherited_big")
    pid, truth = truth_of_child(seep)
    report = recordings.of(pid)
    check_truth(report, truth)
    live, usable = (report["totals"][key] for key in ("live_bytes", "usable_bytes"))
    assert live <= usable <= live + (1 << 20)
    assert report["totals"]["inherited_frees"] == 1
    assert report["totals"]["inherited_freed_bytes"] == 100 << 20


def test_forks_of_forks_leave_their_data_segment_to_the_program(seep):
    check_same(seep, [program("fork_chain")])


@pytest.mark.fast
@pytest.mark.parametrize("way", ["alone", "threads", "child"])
@pytest.mark.parametrize("reach", [100 << 20, -100 << 20], ids=["beyond", "before"])
@pytest.mark.parametrize("size", [200 << 10, 1 << 20, 64 << 20])
def test_what_writes_beyond_its_blocks_dies_of_that(seep, size, reach, way):
    """None of our memory is so near that the program goes on into it."""
    result, _ = check_same(seep, [program("overflow"), str(size), str(reach), way])
    died = result.status if way != "child" else -int(result.stdout)
    assert died in (-signal.SIGSEGV, -signal.SIGSEGV - 128)


# ---- other libraries -----------------------------------------------------------------------


def test_an_allocator_may_allocate_to_say_how_large_a_block_is(seep):
    """It is asked in the middle of our books: the hook that it calls is inside them, as a handler's."""
    env = {"LD_PRELOAD": str(program("lib_bump.so")), "BUMP_ANSWERS": "allocating"}
    recordings, truth = record_with_truth(seep, "threads_cross", env=env)
    report = recordings.main()
    check_truth(report, truth)
    totals = report["totals"]
    assert totals["abandoned"] == 0
    assert sum(c["allocs"] for c in report["contexts"] if not c["frames"]) > 0


def test_an_operator_that_is_chosen_when_it_is_loaded_is_called_itself(seep):
    result, recordings = check_same(seep, [program("chosen_delete")])
    assert result.stdout == b"deletes=10\n"
    assert recordings.main()["totals"]["frees"] == 10


def test_a_clock_that_allocates_under_a_lock_is_not_asked_for_the_time(seep):
    """A first call stack is noted with its time, in the middle of that clock's own allocation."""
    preload = {"LD_PRELOAD": str(program("lib_locked_clock.so"))}
    _, recordings = check_same(seep, ["date", "+%Y"], env=preload)
    assert any("clock_gettime" in functions(c) for c in recordings.main()["contexts"])


# ---- signals and ends ----------------------------------------------------------------------


def test_a_child_whose_start_was_left_by_longjmp_does_not_wait_for_the_rest_of_it(seep):
    _, truth = record_with_truth(seep, "hostile_step", "begin")
    assert truth.notes["tries"] > 10


@pytest.mark.parametrize("mode", ["fork", "forkwork"])
def test_after_a_fork_in_the_middle_of_our_books_all_is_right_or_said(seep, mode):
    recordings, truth = record_with_truth(seep, "hostile_step", mode)
    report = recordings.main()
    check_truth(report, truth)
    forked, children = report["forked"], truth.notes["tries"] - 1
    unrecorded = report["totals"]["unrecorded_children"]
    assert children > 10 and unrecorded > 0
    assert forked["processes"] + unrecorded == children
    assert forked["allocs"] >= 5 * forked["processes"]
    assert (forked["allocs"], forked["alloc_bytes"]) == (forked["frees"], forked["freed_bytes"])


def test_children_of_such_a_fork_that_have_no_ledger_are_noted(seep):
    env = {"SEEP_OPTIONS": "forks=1"}
    recordings, truth = record_with_truth(seep, "hostile_step", "forklost", env=env)
    report = recordings.main()
    check_truth(report, truth)
    # Where it had not begun to count, the child makes its ledger before it limits itself.
    recorded = report["forked"]["processes"]
    assert report["totals"]["unrecorded_children"] + recorded == truth.notes["tries"] - 1 > 10


@pytest.mark.parametrize("end", ["exit", "exec"])
def test_what_a_handler_freed_before_it_ended_the_process_is_counted(seep, end):
    recordings, truth = record_with_truth(seep, "hostile_step", end, "40")
    forked, children = recordings.main()["forked"], truth.notes["tries"]
    assert children > 10 and forked["processes"] == children
    # The operation that was interrupted, of one block, may be counted in part.
    assert forked["frees"] - 40 * children in range(children + 1)


def test_an_abort_that_was_left_takes_no_figures_away(seep):
    """Without a recorder, which learns of the real end from the kernel, it is the last word."""
    env = {"LD_PRELOAD": str(RUNTIME), "SEEP_DIR": str(seep.ledger_dir)}
    result = run_plain([program("hostile_abort")], env=env)
    assert result.status == -signal.SIGKILL
    (ledger,) = seep.ledgers()
    report = seep.load(seep.ledger_dir / ledger)
    check_truth(report, parse_truth(result.stdout.decode()))
    assert report["process"]["ended"] == "signal"
    assert report["process"]["status"] == {"signal": signal.SIGABRT}


def test_after_an_abort_that_was_left_the_process_is_followed_to_its_end(seep):
    recordings, truth = record_with_truth(seep, "hostile_abort", "exit")
    report = recordings.main()
    check_truth(report, truth)
    process, last = report["process"], report["timeline"][-1]
    assert (process["ended"], process["status"]) == ("exit", {"code": 5})
    # It was looked at when it ended, not only when it called abort().
    assert last["allocs"] >= truth.sites["after_abort"]["allocs"]
    assert process["end_ns"] - last["at_ns"] < 10**9


def test_an_abort_that_was_left_does_not_end_the_recording(seep):
    recordings, truth = record_with_truth(seep, "hostile_abort")
    report = recordings.main()
    check_truth(report, truth)
    assert report["process"]["ended"] == "signal"
    assert report["process"]["status"] == {"signal": 9}


@pytest.mark.parametrize("what, status, said", [("exit", 7, b""), ("exec", 0, b"executed\n")])
def test_a_constructor_that_ends_the_program_is_obeyed(seep, what, status, said):
    command = [program("hostile_constructor")]
    plain = run_plain(command, env={"HOSTILE": what})
    result, _ = seep.run(command, env={"HOSTILE": what})
    assert (plain.status, plain.stdout) == (result.status, result.stdout) == (status, said)
    assert result.stderr == b""


def test_a_recorder_that_never_answers_holds_an_end_up_no_longer_than_allowed(seep):
    env = {"LD_PRELOAD": str(RUNTIME), "SEEP_DIR": str(seep.ledger_dir),
           "SEEP_SESSION": str(os.getpid())}
    began = time.monotonic()
    result = run_plain([PROGRAMS / "hostile_silent_recorder"], env=env)
    took_s = time.monotonic() - began
    assert (result.status, result.stdout) == (3, b"registered\n")
    assert 0.3 <= took_s < 5


def test_a_sandbox_that_kills_for_unusual_system_calls_is_left_alone(seep):
    recordings, truth = record_with_truth(seep, "hostile_sandbox")
    report = recordings.main()
    check_truth(report, truth)
    assert report["process"]["ended"] == "exit"
