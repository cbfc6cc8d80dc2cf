# SPDX-License-Identifier: MIT
"""Stacks that are not the usual kind: several on one thread, and through code without tables."""

from harness import check_truth, contexts_of, functions, program, record_with_truth

VERIFY = {"SEEP_OPTIONS": "verify=1"}


def verified(seep, *command):
    """The report of a run whose walks were all found right, and what is said of them."""
    recordings, truth = record_with_truth(seep, *command, env=VERIFY)
    report = recordings.main()
    check_truth(report, truth)
    figures = report["totals"]["verify"]
    assert figures["differences"] == 0
    return report, figures


def test_fibers_that_take_turns_land_on_their_own_last_walks(seep):
    _, figures = verified(seep, "fibers")
    assert figures["truncated"] == 0
    assert figures["walks"] > 40_000
    assert figures["walks"] - figures["landed"] < 20


def test_more_fibers_than_walks_are_remembered_are_walked_in_full(seep):
    _, figures = verified(seep, "fibers", "many")
    assert figures["truncated"] == 0


def test_generated_code_is_passed_by_its_frame_pointer_on_a_threads_own_stack(seep):
    report, _ = verified(seep, "generated_code")
    assert "by-frame-pointer" in [u["code"] for u in report["unseen"]]
    for name, root in (("site_main", "main"), ("site_thread", "thread_main")):
        found = contexts_of(report, name)
        assert sum(c["allocs"] for c in found) == 2000
        for context in found:
            assert not context["truncated"]
            assert context["flags"] == ["by-frame-pointer"]
            frames = functions(context)
            assert frames.index(name) < frames.index("through_kept") < frames.index(root)


def test_generated_code_is_where_a_stack_ends_if_the_register_is_no_frame_pointer(seep):
    recordings, _ = record_with_truth(seep, "generated_code")
    report = recordings.main()
    for name, allocs in (("site_lost", 4000), ("site_fiber", 2000)):
        found = contexts_of(report, name)
        assert sum(c["allocs"] for c in found) == allocs
        for context in found:
            assert context["truncated"]
            # What looks like a frame in every respect is taken for one, until it leads astray.
            assert functions(context)[2:] in ([], ["based_function"])


def test_a_module_in_the_place_of_generated_code_is_walked_by_its_own_rules(seep):
    """The thread's stack is the same to the word: nothing in it says that the code is another's."""
    recordings, truth = record_with_truth(seep, "code_then_module")
    report = recordings.main()
    check_truth(report, truth)
    found = {tuple(functions(c)[:4]): c["allocs"] for c in contexts_of(report, "leaf")}
    assert found.pop(("leaf", "place", "middle", "rounds")) == 500
    assert sum(found.values()) == 500 and "place" not in str(found)


def test_a_program_with_holes_between_its_segments_has_its_tables_and_its_build_id(seep):
    report, figures = verified(seep, "segments")
    assert figures["walks"] > 1000 and figures["truncated"] == 0
    assert "by-frame-pointer" not in [u["code"] for u in report["unseen"]]
    for context in contexts_of(report, "leaf"):
        assert functions(context)[:3] == ["leaf", "middle", "main"]
        assert context["frames"][0]["build_id"]


def test_code_registered_with_libgcc_does_not_make_it_wait_for_itself(seep):
    _, figures = verified(seep, "registered_frames")
    assert figures["walks"] > 1000


def test_threads_that_meet_new_stacks_at_once_lose_none(seep):
    """They wait for each other, and not so long that one gives up."""
    result, recordings = seep.run([program("stack_crowd")])
    assert result.status == 0, result.stderr
    stacks = int(result.stdout)
    sql = ("SELECT coalesce(sum(allocs) FILTER (WHERE no_stack OR other), 0),"
           " count(*) FILTER (WHERE alloc_bytes IN (24, 25)) FROM context")  # fmt: skip
    done = seep.command("query", recordings.path, "--csv", sql)
    assert done.stdout.decode().splitlines()[-1] == f"0,{stacks}"


# From the innermost frame on, and the outermost; between them stand go_descend.
GO_STACKS = {
    "site_plain": (["go_asmcgocall_22"], ["go_main", "go_exit"]),
    "site_later": (["go_asmcgocall_23"], ["go_main", "go_exit"]),
    "site_before": (["c_calls_back", "go_asmcgocall"], ["go_main", "go_exit"]),
    "site_moved": (["c_calls_back", "go_asmcgocall"], ["go_main", "go_exit"]),
    "site_back": (
        ["go_asmcgocall", "go_cgocallbackg", "go_cgocallback", "go_crosscall", "c_calls_back",
         "go_asmcgocall"],
        ["go_main", "go_exit"],
    ),
}  # fmt: skip


def test_c_called_from_a_goroutine_has_the_functions_of_go_that_called_it(seep):
    report, _ = verified(seep, "cgo_stacks")
    totals = report["totals"]
    lost = contexts_of(report, "site_lost")
    assert totals["walks_truncated"] == sum(c["allocs"] for c in lost) == 4000
    assert all(c["truncated"] for c in lost)
    for name, (inner, outer) in GO_STACKS.items():
        for context in contexts_of(report, name):
            frames = [f.replace("_22", "").replace("_23", "") for f in functions(context)]
            inner = [f.replace("_22", "").replace("_23", "") for f in inner]
            assert not context["truncated"]
            assert frames[: len(inner) + 1] == [name, *inner]
            assert frames[-2:] == outer
            assert set(frames[len(inner) + 1 : -2]) == {"go_descend"}
            if name != "site_back":
                assert context["flags"] == []
    # One goroutine's walks, and those within a call back, land where the last one was.
    assert totals["walks_landed"] > 0.99 * (4000 + 4000)
