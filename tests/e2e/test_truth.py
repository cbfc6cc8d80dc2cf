# SPDX-License-Identifier: MIT
"""The recording's figures are the program's own, by function and to the byte."""

import re

import pytest

from harness import check_truth, contexts_of, functions, program, record_with_truth, run_plain

PROGRAMS = [
    pytest.param(["api_all"], marks=pytest.mark.fast),
    pytest.param(["operators"], marks=pytest.mark.fast),
    pytest.param(["realloc_chain"], marks=pytest.mark.fast),
    ["no_counter"],
    ["threads_cross"],
    ["recursion"],
    ["thread_storm"],
    ["temporaries"],
    ["mini_dlsym"],
    ["destructors"],
    ["dlopen_reload"],
    ["signals"],
    ["signals", "altstack"],
    ["signals", "stay"],
    ["fork_storm", "0"],
]


@pytest.mark.parametrize("command", PROGRAMS, ids=" ".join)
def test_counts_by_function_equal_the_programs_own(seep, command):
    recordings, truth = record_with_truth(seep, *command)
    check_truth(recordings.main(), truth)


def test_a_blocks_stack_starts_at_the_caller_of_the_function(seep):
    recordings, _ = record_with_truth(seep, "api_all")
    report = recordings.main()
    for name in ("api_malloc", "api_calloc", "api_memalign", "api_valloc", "api_reallocarray"):
        for context in contexts_of(report, name):
            assert functions(context)[0] == name
            assert functions(context)[-2:] == ["__libc_start_main", "_start"] or (
                "main" in functions(context)
            )
    # strdup is the allocation's caller there, and its own caller follows.
    for context in contexts_of(report, "api_strdup"):
        assert "strdup" in functions(context)[0]
        assert functions(context)[1] == "api_strdup"


@pytest.mark.parametrize(
    "name, kinds",
    [
        (
            "api_all",
            {
                "api_malloc": {"malloc"},
                "api_calloc": {"calloc"},
                "api_realloc_grown": {"realloc"},
                "api_reallocarray": {"realloc", "reallocarray"},
            },
        ),
        (
            "operators",
            {
                "new_plain": {"new"},
                "new_nothrow": {"new"},
                "new_array": {"new[]"},
                "new_cookie_array": {"new[]"},
                "new_in_buffer": {"malloc"},
            },
        ),
    ],
)
def test_kinds_tell_the_functions_apart(seep, name, kinds):
    recordings, _ = record_with_truth(seep, name)
    report = recordings.main()
    for function, allowed in kinds.items():
        found = {context["kind"] for context in contexts_of(report, function)}
        assert found and found <= allowed, function


def test_aligned_kinds_are_not_the_plain_ones(seep):
    recordings, _ = record_with_truth(seep, "operators")
    report = recordings.main()
    for aligned, plain in (("new_aligned", "new_plain"), ("new_array_aligned", "new_array")):
        kinds = {context["kind"] for context in contexts_of(report, aligned)}
        assert kinds
        assert not kinds & {context["kind"] for context in contexts_of(report, plain)}


def test_recursion_folds_into_few_contexts(seep):
    recordings, _ = record_with_truth(seep, "recursion")
    report = recordings.main()
    for function, period in (("direct", 1), ("mutual_even", 2), ("three_a", 3)):
        contexts = contexts_of(report, function)
        # Two allocations in each body, from main and from a thread, before and after folding.
        assert len(contexts) <= 64 * period
        assert max(len(context["frames"]) for context in contexts) <= 200
        assert any(context["folded"] for context in contexts)
    deep = contexts_of(report, "deep_leaf")
    assert len(deep) <= 4
    assert all("stand_deep" in functions(context) for context in deep)
    # As deep as it was, however its calls alternate: 10,000 levels, and 60. Stacks that share their
    # outer frames share what is known of these, which is a turn of the cycle more at most.
    for entry, cycle, depth in (
        ("direct", {"direct"}, 4000),
        ("mutual_even", {"mutual_even", "mutual_odd"}, 4000),
        ("three_a", {"three_a", "three_b", "three_c"}, 4000),
        ("deep_leaf", {"stand_deep"}, 4000),
        ("alternating", {"alternating"}, 60),
    ):
        found = max(depth_of(context, cycle) for context in contexts_of(report, entry))
        assert depth <= found <= depth + len(cycle), entry


def depth_of(context, cycle):
    """How many calls of these functions the deepest stack of a context had."""
    folded = sum((f["times"] - 1) * (f["to"] - f["from"] + 1) for f in context["folded"])
    return folded + sum(function in cycle for function in functions(context))


def test_an_unloaded_plugin_keeps_its_name_and_stacks(seep):
    recordings, _ = record_with_truth(seep, "dlopen_reload")
    report = recordings.main()
    for letter, other in (("a", "b"), ("b", "a")):
        contexts = contexts_of(report, f"plugin_{letter}_alloc")
        assert contexts
        for context in contexts:
            names = functions(context)
            assert names[0] == f"plugin_{letter}_alloc"
            assert f"plugin_{letter}_deep" in names
            assert not any(name.startswith(f"plugin_{other}") for name in names if name)
            inner = names.index("plugin_entry")
            assert names[inner : inner + 2] == ["plugin_entry", "call_plugin"]
            assert "main" in names
            module = context["frames"][0]["module"]
            assert module.endswith(f"lib_plugin_{letter}.so"), module


def test_a_handlers_stack_goes_on_behind_the_signal(seep):
    recordings, _ = record_with_truth(seep, "signals")
    contexts = contexts_of(recordings.main(), "handler_work")
    reaching = sum(c["allocs"] for c in contexts if "main" in functions(c))
    assert reaching == sum(c["allocs"] for c in contexts)


def bump_counts(path):
    return {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", path.read_text())}


@pytest.mark.fast
@pytest.mark.parametrize("own", [False, True], ids=["not", "own"])
def test_sized_frees_are_frees_whether_the_allocator_has_them_or_not(seep, own):
    env = {"BUMP_FILE": str(seep.directory / "bump")}
    if own:
        env["LD_PRELOAD"] = str(program("lib_bump.so"))
    recordings, truth = record_with_truth(seep, "sized_frees", env=env)
    report = recordings.main()
    check_truth(report, truth)
    totals = report["totals"]
    assert totals["live_blocks"] == totals["untracked_frees"] == totals["missed_frees"] == 0
    assert totals["usable_bytes"] == 0
    if own:
        given = bump_counts(seep.directory / "bump.sized_frees")
        assert given["allocs"] == given["frees"] == totals["frees"] == 200000


@pytest.mark.parametrize(
    "jumping, options",
    [(False, ""), (True, ""), (True, "verify=1")],
    ids=["stay", "jump", "jump-out-of-verify"],
)
def test_a_handler_may_allocate_inside_malloc(seep, jumping, options):
    """With an allocator that allows it the handler allocates wherever the signal hits, in the
    profiler's own bookkeeping too: such a block may have no stack, but it is counted."""
    words = ["any"] if jumping else ["any", "stay"]
    env = {
        "LD_PRELOAD": str(program("lib_bump.so")),
        "BUMP_FILE": str(seep.directory / "bump"),
        "SEEP_OPTIONS": options,
    }
    truth_path = seep.directory / "truth"
    result, recordings = seep.run(
        [program("signals"), *words], env={**env, "TRUTH_FILE": str(truth_path)}
    )
    assert (result.status, result.stderr) == (0, b"")
    report = recordings.load(recordings.path)
    given = bump_counts(seep.directory / "bump.signals")
    totals, text = report["totals"], truth_path.read_text()
    jumps = int(re.search(r"jumps=(\d+)", text)[1])
    assert (jumps > 0) == jumping
    # A jump out of a hook leaves a block taken but not recorded, or recorded as freed but not
    # given back: at most one for each jump.
    assert given["allocs"] - jumps <= totals["allocs"] <= given["allocs"]
    assert given["frees"] <= totals["frees"] <= given["frees"] + jumps
    assert totals["dropped"] == 0
    # Some of those are counted in part, and the recording says how many.
    assert totals["in_doubt"] <= jumps
    # Only what the handler itself allocated may lack a stack.
    handled = sum(int(n) for n in re.findall(r"handler_\w+ allocs=(\d+)", text))
    assert sum(c["allocs"] for c in report["contexts"] if not c["frames"]) <= handled


def test_two_runs_have_the_same_contexts(seep):
    """Addresses move between runs, identities do not."""
    hashes = []
    for _ in range(2):
        recordings, _ = record_with_truth(seep, "realloc_chain")
        report = recordings.main()
        hashes.append({c["hash"]: c["allocs"] for c in contexts_of(report, "main")})
    assert hashes[0] and hashes[0] == hashes[1]


def test_a_program_without_allocations_has_an_empty_recording(seep):
    result, recordings = seep.run(["/bin/true"])
    result.same_as(run_plain(["/bin/true"]))
    assert recordings.main()["totals"]["dropped"] == 0


def test_a_finished_recording_leaves_no_ledger(seep):
    record_with_truth(seep, "realloc_chain")
    assert seep.ledgers() == []
