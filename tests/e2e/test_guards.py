# SPDX-License-Identifier: MIT
"""--guard, --quarantine and --fill-free: what is written where nothing may be is found, right programs
are left in peace, and leaks are what they are without."""

import pytest

from harness import need, program, run_plain

LEVEL_10 = ["--level=10"]

# What "guards CASE" does: the options, the kind, the offset in the block, and where the stacks lead to.
FOUND = [
    ("overflow_by_1", ["--guard"], "rear-guard", 100, {"alloc": True, "here": True}),
    ("overflow_at_7", ["--guard"], "rear-guard", 107, {"alloc": True, "here": True}),
    ("overflow_kept", ["--guard"], "rear-guard", 100, {"alloc": True, "here": False}),
    ("overflow_large", ["--guard"], "rear-guard", 1000000, {"alloc": True, "here": False}),
    ("overflow_new", ["--guard=32"], "rear-guard", 65, {"alloc": True, "here": True}),
    ("overflow_realloc", ["--guard"], "rear-guard", 24, {"alloc": True, "here": True}),
    ("underflow_by_1", ["--guard"], "front-guard", -1, {"alloc": True, "here": True}),
    ("underflow_deep", ["--guard"], "front-guard", -16, {"alloc": True, "here": True}),
    ("underflow_kept", ["--guard"], "front-guard", -1, {"alloc": True, "here": False}),
    ("overflow_kept", LEVEL_10, "rear-guard", 100, {"alloc": True, "here": False}),
    ("overflow_kept", ["--check-every=1000"], "rear-guard", 100, {"alloc": True, "here": False}),
    ("use_after_free", ["--quarantine"], "use-after-free", 50, {"alloc": True, "freed": True}),
    ("use_after_free", ["--guard"], "use-after-free", 50, {"alloc": True, "freed": True}),
    ("use_then_more", ["--quarantine=64K"], "use-after-free", 50, {"alloc": True, "freed": True}),
    ("use_then_more", LEVEL_10, "use-after-free", 50, {"alloc": True, "freed": True}),
    ("free_twice", ["--free-stacks"], "double-free", 0, {"alloc": True, "freed": True, "here": True}),
]
STACKS = {"here": "here_frames", "alloc": "alloc_frames", "freed": "free_frames"}


def findings(report):
    """With the functions' names in place of frames."""
    for finding in report["findings"]:
        for key in STACKS.values():
            finding[key] = [
                frame["function"] if isinstance(frame, dict) else report["frames"][frame]["function"]
                for frame in finding[key] or []
            ]
    return report["findings"]


@pytest.mark.fast
@pytest.mark.parametrize("case, options, kind, offset, stacks", FOUND)
def test_what_was_written_or_freed_wrongly_is_found(seep, case, options, kind, offset, stacks):
    result, recordings = seep.run([program("guards"), case], options)
    assert result.status == 0, result
    found = findings(recordings.main())
    assert [(f["kind"], f["block"]["offset"]) for f in found] == [(kind, offset)]
    for name, known in stacks.items():
        does = "use_after_free" if case == "use_then_more" else case
        assert (does in found[0][STACKS[name]]) == known, (name, found)


@pytest.mark.parametrize("options", [[], ["--fill", "--fill-free"]])
def test_without_guards_nobody_looks(seep, options):
    for case in "overflow_by_1", "underflow_kept":
        result, recordings = seep.run([program("guards"), case], options)
        assert (result.status, recordings.main()["findings"]) == (0, [])


RIGHT = ["all_right", "refused", "many", "threads"]
WAYS = [["--guard"], ["--guard=100"], ["--quarantine=1M"], LEVEL_10, ["--guard", "--quarantine=0"],
        ["--fill-free"], ["--level=5"]]


@pytest.mark.parametrize("options", WAYS, ids=" ".join)
@pytest.mark.parametrize("case", RIGHT)
def test_what_is_right_is_no_finding(seep, case, options):
    result, recordings = seep.run([program("guards"), case], options)
    assert result.status == 0, result
    report = recordings.load(recordings.path)
    assert report["findings"] == []
    assert report["totals"]["untracked_frees"] == report["totals"]["missed_frees"] == 0


PAST_US = [["--guard"], ["--quarantine"], ["--guarded-sample=1"], ["--guarded-sample=1", *LEVEL_10]]


def unseen(report):
    return {entry["code"] for entry in report["unseen"]}


@pytest.mark.parametrize("options", PAST_US, ids=" ".join)
@pytest.mark.parametrize("way", ["deepbind", "namespace"])
def test_what_a_library_may_free_past_us_is_left_alone(seep, way, options):
    command = [program("elsewhere"), way, program("lib_elsewhere.so")]
    result, recordings = seep.run(command, options)
    result.same_as(run_plain(command))
    report = recordings.load(recordings.path)
    assert report["findings"] == []
    assert ("guards-ended" in unseen(report)) == (way == "namespace")


def test_what_was_not_sampled_or_looked_at_is_said(seep):
    _, recordings = seep.run([program("confined"), "errno"], ["--guarded-sample=1"])
    assert unseen(recordings.load(recordings.path)) >= {"samples-missed", "guards-unread"}
    _, recordings = seep.run([program("guards"), "all_right"], ["--guarded-sample=1"])
    assert unseen(recordings.load(recordings.path)) == set()


@pytest.mark.fast
def test_a_forked_childs_handler_is_its_own_before_it_allocates(seep):
    result, _ = seep.run([program("guards"), "handler_in_child"], ["--guarded-sample=1"])
    assert result.status == 0, result


def test_guards_are_looked_at_all_the_time_where_that_is_asked_for(seep):
    result, recordings = seep.run([program("guards"), "threads"], ["--check-every=20000"])
    assert result.status == 0, result
    assert recordings.load(recordings.path)["findings"] == []


def test_a_forked_child_that_did_wrong_has_a_recording_of_it(seep):
    result, recordings = seep.run([program("guards"), "damage_in_child"], ["--guard"])
    assert result.status == 0, result
    found = [[f["kind"] for f in findings(report)] for report in recordings.all()]
    assert found == [[], ["rear-guard"]]


def test_what_a_child_inherits_its_parent_looks_at(seep):
    result, recordings = seep.run([program("guards"), "damage_of_parent"], ["--quarantine"])
    assert result.status == 0, result
    # A child without a finding has no recording.
    assert [[(f["kind"], f["count"]) for f in report["findings"]] for report in recordings.all()] == [
        [("use-after-free", 1)]]


@pytest.mark.parametrize("case, found", [
    ("damage_then_more", {("rear-guard", 1), ("use-after-free", 1)}), ("damage_again", {("rear-guard", 3)})])
def test_each_damaged_block_counts_once(seep, case, found):
    """However many looks see it, and its free after them."""
    quarantine = "--quarantine=0" if case == "damage_again" else "--quarantine"
    result, recordings = seep.run([program("guards"), case], ["--check-every=1", quarantine])
    assert result.status == 0, result
    assert {(f["kind"], f["count"]) for f in recordings.main()["findings"]} == found


@pytest.mark.fast
def test_the_program_is_aborted_where_that_is_asked_for(seep):
    for case in "overflow_by_1", "overflow_kept", "free_twice":
        result, recordings = seep.run([program("guards"), case], ["--guard", "--abort-on-error"])
        assert result.status == -6, (case, result)
        assert len(recordings.load(recordings.path)["findings"]) == 1


@pytest.mark.parametrize(
    ("case", "options", "status"),
    [
        ("free_large_twice", LEVEL_10, -11),
        ("free_twice", ["--guard", "--quarantine=0"], -6),
        ("free_twice", ["--fill", "--quarantine=64"], -6),
    ],
    ids=lambda value: "".join(value) if isinstance(value, list) else str(value),
)
def test_what_is_gone_is_found_before_the_program_dies_of_it(seep, case, options, status):
    result, recordings = seep.run([program("guards"), case], options)
    assert result.status == run_plain([program("guards"), case]).status == status
    assert [f["kind"] for f in recordings.load(recordings.path)["findings"]] == ["double-free"]


SCRIPTS = {
    "python3": """
import json, re, sqlite3, subprocess, threading
held = {str(i): list(range(i % 50)) for i in range(5000)}
print(json.loads(json.dumps(held)) == held, len(re.findall("[0-9]+", str(held))))
threads = [threading.Thread(target=lambda: sorted(map(str, range(20000)))) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(subprocess.run(["/bin/echo", "hello"], capture_output=True).stdout)
base = sqlite3.connect(":memory:")
base.execute("create table t(a)")
base.executemany("insert into t values(?)", [(i,) for i in range(5000)])
print(base.execute("select sum(a) from t").fetchone())
""",
    "bash": """
for i in {1..20}; do all="$all$i"; one=$(echo $i | sed s/1/2/); done
down() { [ $1 -le 0 ] && return; down $(($1 - 1)); }
down 20
declare -A map
for i in {1..2000}; do map[$i]=$i$i; done
echo $all $one ${#map[@]}
ls / | sort -r | head -3
""",
}


@pytest.mark.parametrize("options", [LEVEL_10, ["--guard=64", "--quarantine=256K", "--check-every=50000"]])
@pytest.mark.parametrize("name", SCRIPTS)
def test_whole_programs_say_the_same_and_do_nothing_wrong(seep, name, options):
    path = seep.directory / "script"
    path.write_text(SCRIPTS[name])
    command = [need(name), path]
    result, recordings = seep.run(command, options)
    result.same_as(run_plain(command))
    assert [report["findings"] for report in recordings.summaries()] == [[]] * len(recordings.paths())


def verdicts(seep, options, *words):
    result, recordings = seep.run([program(words[0]), *words[1:]], options)
    assert result.status == 0, result
    return sorted((leak["verdict"], leak["blocks"], leak["bytes"]) for leak in recordings.main()["leaks"])


@pytest.mark.parametrize("options", [["--guard"], ["--guard=2048"], LEVEL_10], ids=" ".join)
@pytest.mark.parametrize("case", ["loses_and_holds", "many"])
def test_leaks_are_what_they_are_without(seep, case, options):
    plain = verdicts(seep, ["--fill"], "guards", case)
    assert verdicts(seep, options, "guards", case) == plain
    if case == "loses_and_holds":
        assert ("LOST", 1, 1 << 20) in plain and ("LOST-WITH", 99, 9900) in plain


def test_freed_memory_is_filled(seep):
    for options, byte in [(["--fill-free"], 0xDD), (["--fill-free=7"], 7), (["--level=10"], 0xDD)]:
        result, _ = seep.run([program("guards"), "look_at_freed"], options)
        assert result.stdout == b"freed %d %d\n" % (byte, byte), options


@pytest.mark.fast
def test_what_makes_no_sense_is_refused(seep):
    for option, message in [
        ("--level=7", "--level: '7' must be one of 1, 5, 10"),
        ("--level=0", "--level: '0' must be one of 1, 5, 10"),
        ("--guard=4K", "--guard: '4K' is too much; the maximum is 2.0 KB"),
        ("--guard=x", "--guard: 'x' is not a size"),
        ("--quarantine=x", "--quarantine: 'x' is not a size"),
        ("--fill-free=256", "--fill-free: '256' must be a byte"),
    ]:
        done = seep.command("run", option, "--", "true")
        assert done.status == 2 or done.status == 125, done
        assert message in done.stderr.decode(), done
