# SPDX-License-Identifier: MIT
"""What is allocated, held and freed under tags is what the program itself counted."""

import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import time

import pytest

from harness import SEEP, SOURCE, by_path, need, program

SCOPE = struct.Struct("<II10Q")
# What the program counts, by the name of its figure in a scope.
FIGURES = (
    "entries",
    "active",
    "allocs",
    "allocated_bytes",
    "own_frees",
    "freed_own_bytes",
    "foreign_frees",
    "freed_foreign_bytes",
    "held_blocks",
    "held_bytes",
)


def truth(path):
    """Figures by path of tags, outermost first, as scope_truth.cc counted them."""
    data = path.read_bytes()
    count = struct.unpack_from("<I", data)[0]
    scopes = [SCOPE.unpack_from(data, 8 + i * SCOPE.size) for i in range(count)]
    found = {}
    for scope in scopes[1:]:
        _, _, entries, exits, allocs, size, *frees, freed, freed_bytes = scope
        tags, at = [], scope
        while at[1]:
            tags.append(f"tag={at[1]}")
            at = scopes[at[0]]
        figures = (entries, entries - exits, allocs, size, *frees, allocs - freed, size - freed_bytes)
        found[tuple(reversed(tags))] = dict(zip(FIGURES, figures))
    return found


def check_sums(report):
    """Inclusive is own and children; what is in scopes and what is not add up to the totals."""
    scopes = {scope["id"]: scope for scope in report["scopes"]}
    contexts = {context["id"]: context for context in report["contexts"]}
    for figure in ("allocs", "allocated_bytes", "held_blocks", "held_bytes", "peak_bytes"):
        sums = {key: scope[figure] for key, scope in scopes.items()}
        for key in sorted(scopes, reverse=True):
            parent = scopes[key]["parent"]
            if parent:
                assert parent < key
                sums[parent] += sums[key]
        assert sums == {key: scope["inclusive"][figure] for key, scope in scopes.items()}
    for scope in scopes.values():
        own = [contexts[i] for i in scope["contexts"]]
        assert all(context["scope"] == scope["id"] for context in own)
        assert scope["allocs"] == sum(context["allocs"] for context in own)
        assert scope["held_bytes"] == sum(context["live_bytes"] for context in own)
        assert scope["allocated_bytes"] == scope["held_bytes"] + sum(c["freed_bytes"] for c in own)
        exits = sum(bucket["exits"] for bucket in scope["duration_histogram"])
        assert exits <= scope["entries"] - scope["active"]
        if exits:
            assert 0 <= scope["min_ns"] <= scope["max_ns"] <= scope["duration_ns"]
            assert scope["first_start_ns"] <= scope["last_end_ns"]


@pytest.mark.parametrize("threads,steps,seed", [(1, 20000, 1), (8, 60000, 2), (8, 60000, 3)])
def test_figures_are_those_that_the_program_counted(seep, threads, steps, seed):
    """Nested, recursive, thrown and jumped out of, handed over and suspended; 1,000 tags."""
    counted = seep.directory / "counted"
    command = [program("scope_truth"), str(counted), str(threads), str(steps), str(seed)]
    report = seep.record(command, ["--no-leak-check"]).main()
    check_sums(report)
    wanted, found = truth(counted), by_path(report)
    assert found.keys() == wanted.keys()
    for path, figures in wanted.items():
        assert {name: found[path][name] for name in FIGURES} == figures, path
    assert not report["unseen"]


def test_of_mode_scoped_nothing_is_known_but_scopes(seep):
    counted = seep.directory / "counted"
    command = [program("scope_truth"), str(counted), "8", "30000", "5"]
    report = seep.record(command, ["--mode", "scoped"]).main()
    check_sums(report)
    assert all("scope" in context for context in report["contexts"])
    found = by_path(report)
    for path, figures in truth(counted).items():
        for name in ("entries", "active", "allocs", "allocated_bytes", "own_frees", "held_bytes"):
            assert found[path][name] == figures[name], (path, name)
    assert "scoped" in {line["code"] for line in report["unseen"]}


def test_the_mode_is_switched_while_the_process_runs(seep):
    path = seep.directory / "out.seep"
    options = ["run", "-q", "--mode", "off", "--no-leak-check", "-o", str(path), "--"]
    command = [SEEP, *options, program("scopes_rare"), "both"]
    with subprocess.Popen(command, env=seep.environment()) as run:
        children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children")
        while not children.read_text() or not any(seep.ledger_dir.glob("*.ledger")):
            time.sleep(0.01)
        pid = children.read_text().split()[0]

        def allocated():
            time.sleep(0.2)
            report = seep.load(pid)
            count = {True: 0, False: 0}
            for context in report["contexts"]:
                count["scope" in context] += context["allocs"]
            return report["process"]["mode"], count[True], count[False]

        def switch(mode):
            done = seep.command("mode", pid, mode)
            assert done.status == 0, done.stderr
            return done.stdout.decode()

        assert allocated() == ("off", 0, 0)
        assert switch("scoped") == f"scopes_rare (pid {pid}) records what is allocated in scopes\n"
        mode, inside, outside = allocated()
        assert mode == "scoped" and inside > 10 and outside == 0
        switch("all")
        mode, inside_now, outside = allocated()
        assert mode == "all" and inside_now > inside and outside > 10
        switch("off")
        _, inside, outside = allocated()
        assert allocated() == ("off", inside, outside)
        assert seep.command("mode", pid, "some").status == 2
        os.kill(int(pid), signal.SIGKILL)
    report = seep.load(path)
    assert "mode-changed" in {line["code"] for line in report["unseen"]}
    totals = report["totals"]
    assert totals["live_bytes"] == 20 * inside and totals["frees"] == outside


@pytest.mark.parametrize("seed", range(5))
def test_after_a_kill_one_operation_for_each_thread_differs_at_most(seep, seed):
    counted, path, threads = seep.directory / "counted", seep.directory / "out.seep", 8
    command = [program("scope_truth"), str(counted), str(threads), "100000000", str(seed)]
    options = ["run", "-q", "--no-leak-check", "-o", str(path), "--"]
    with subprocess.Popen(
        [SEEP, *options, *command],
        env=seep.environment(),
        stderr=subprocess.DEVNULL,
    ) as run:
        while not (counted.exists() and counted.stat().st_size):
            time.sleep(0.01)
        time.sleep(random.Random(seed).uniform(0.05, 0.3))
        children = open(f"/proc/{run.pid}/task/{run.pid}/children").read().split()
        os.kill(int(children[0]), signal.SIGKILL)
    report = seep.load(path)
    check_sums(report)
    wanted, found = truth(counted), by_path(report)
    assert len(wanted) > 100
    off = {name: 0 for name in FIGURES}
    for tags in wanted.keys() | found.keys():
        for name in FIGURES:
            one, other = wanted.get(tags, {}).get(name, 0), found.get(tags, {}).get(name, 0)
            off[name] += abs(one - other)
    for name in ("entries", "allocs", "own_frees", "foreign_frees"):
        assert off[name] <= threads, off
    # An operation may be a free and an allocation.
    assert off["active"] <= threads and off["held_blocks"] <= 2 * threads, off


def small(seep, case):
    """By tag: entries, active, own allocations and bytes, and what is held inclusively."""
    recordings = seep.record([program("scopes_rare"), case], ["--no-leak-check"])
    return recordings, {scope["tag"]: scope for scope in recordings.main()["scopes"]}


def entered(scope):
    return scope["entries"], scope["active"]


def test_a_thread_that_ends_in_a_scope_has_left_it(seep):
    _, scopes = small(seep, "end")
    # The last one's place nobody took.
    assert entered(scopes["ends"]) == (10, 1)
    assert scopes["ends"]["held_bytes"] == 1000
    _, scopes = small(seep, "exit")
    assert entered(scopes["cancelled"])[0] == 10


def test_a_forked_child_goes_on_in_what_is_open_and_counts_its_own_entries(seep):
    recordings, scopes = small(seep, "fork")
    assert entered(scopes["outer"]) == entered(scopes["request"]) == (1, 0)
    assert (scopes["outer"]["held_bytes"], scopes["request"]["held_bytes"]) == (20, 10)
    (child,) = [r for r in recordings.all() if r["process"]["pid"] != recordings.main()["process"]["pid"]]
    found = by_path(child)
    held = {tags[-1]: scope["held_bytes"] for tags, scope in found.items()}
    assert held == {"outer": 5, "request": 2000000, "child": 7}
    assert ("outer", "request", "child") in found
    assert [entered(s) for s in found.values()] == [(0, 0), (0, 0), (1, 0)]


@pytest.mark.parametrize("options", [[], ["--guard"], ["--mode", "scoped"], ["--mode", "scoped", "--guard"]])
def test_a_block_that_was_not_recorded_is_freed_rightly(seep, options):
    report = seep.record([program("scopes_rare"), "reused"], options).main()
    assert report["findings"] == []


def test_what_is_open_stays_so_through_two_forks(seep):
    recordings = seep.record([program("scopes_rare"), "fork_twice"])
    held = [s["held_bytes"] for r in recordings.all() for s in r["scopes"] if s["tag"] == "outer"]
    assert sorted(held)[-1] == 2000000


def test_the_mean_of_a_recursion_is_that_of_the_whole(seep):
    recordings = seep.record([program("scopes_rare"), "recursion"])
    (scope,) = recordings.main()["scopes"]
    assert entered(scope) == (20, 0) and scope["duration_ns"] < 2 * scope["max_ns"]
    text = seep.command("report", recordings.path, "--scopes").stdout.decode()
    assert re.search(r"^recurse .* 2\d\.?\d* ms$", text, re.M), text


def test_a_jump_out_of_the_library_leaves_no_scope_open_for_good(seep):
    report = seep.record([program("scopes_rare"), "storm"], ["--no-leak-check"]).main()
    (context,) = [c for c in report["contexts"] if c["alloc_bytes"] == 77]
    assert "scope" not in context
    for scope in report["scopes"]:
        assert scope["active"] >= 0


def test_scopes_that_are_left_out_of_order_are_each_left_once(seep):
    recordings, scopes = small(seep, "order")
    assert entered(scopes["outer"]) == entered(scopes["inner"]) == (10, 0)
    assert sum(scope["allocs"] for scope in recordings.main()["scopes"]) == 0


def test_a_jump_out_of_a_move_leaves_a_scope_that_can_be_ended(seep):
    done, _ = seep.run([program("scopes_rare"), "storm_of_moves"])
    assert done.stdout == b"0\n"


def test_a_forked_child_has_the_handles_that_other_threads_had_open(seep):
    done, _ = seep.run([program("scopes_rare"), "fork_among"])
    assert done.stdout == b"0 1000 0 0\n"


def test_time_counts_under_a_tag_that_is_only_in_the_path(seep):
    recordings = seep.record([program("scopes_rare"), "left"])
    found = by_path(recordings.main())
    assert entered(found[("start",)]) == (1, 0)
    again = found[("request", "start")]
    assert entered(again) == (4, 0) and again["duration_ns"] >= 4 * 2000000


def test_what_may_be_under_another_tag_keeps_no_budget(seep):
    recordings, _ = small(seep, "many")
    for budget in ("held{tag=request=19999}<=0", "held{tag=request=1}<=10"):
        done = seep.command("check", recordings.path, "-b", budget)
        assert done.status == 2 and b"NOT KNOWN" in done.stdout, done.stdout
    path = seep.record([program("scopes_rare"), "reused"], ["--mode", "scoped"]).path
    assert b"NOT KNOWN" in seep.command("check", path, "-b", "live<=1GB").stdout
    assert seep.command("check", path, "-b", "held{tag=in}<=0").status == 0
    assert seep.command("check", path, "-b", "held{within=main,tag=in}<=0").status == 2


BUDGETS = {
    "held{tag=part}<=0": "3 B",
    "held{tag=part}<=3": "kept",
    "held{tag=coroutine}<=4": "7 B",
    "allocs{tag=lo*}<=5": "kept",
    "held{tag=other}<=0": "nothing was allocated in such a scope",
}


def test_budgets_go_by_tag_and_what_is_in_it(seep):
    recordings, _ = small(seep, "coroutines")
    for budget, said in BUDGETS.items():
        done = seep.command("check", recordings.path, "-b", budget)
        kept = said == "kept" or said.startswith("nothing")
        assert done.status == (0 if kept else 1), budget
        assert said in done.stdout.decode(), done.stdout.decode()


def test_a_coroutine_takes_its_scopes_with_it(seep):
    recordings, _ = small(seep, "coroutines")
    held = {tags: scope["held_bytes"] for tags, scope in by_path(recordings.main()).items()}
    assert held == {
        ("loop",): 24,
        ("loop", "coroutine"): 4,
        ("loop", "coroutine", "part"): 3,
    }


def test_a_jump_out_of_a_handler_on_its_own_stack_leaves_all_scopes(seep):
    recordings, scopes = small(seep, "handler")
    for tag in ("outer", "inner", "handler"):
        assert entered(scopes[tag]) == (5, 0)
    # Left within one function, it is noticed when the variable is entered again.
    assert entered(scopes["same"]) == (5, 1)
    paths = by_path(recordings.main())
    assert ("outer", "inner", "handler") in paths and ("same", "function", "handler") in paths


def test_scopes_beyond_the_limits_are_counted_together_and_that_is_said(seep):
    recordings, scopes = small(seep, "many")
    assert scopes["(all others)"]["allocs"] > 15000
    assert sum(scope["allocs"] for scope in scopes.values()) == 20000
    assert sum(scope["entries"] for scope in scopes.values()) == 20000
    assert [line["code"] for line in recordings.main()["unseen"]] == ["scope-tags"]
    recordings, scopes = small(seep, "deep")
    assert sum(scope["allocs"] for scope in recordings.main()["scopes"]) == 6000
    assert [line["code"] for line in recordings.main()["unseen"]] == ["scope-entries"]


def test_wrong_calls_do_nothing(seep):
    plain = subprocess.run([program("scopes_rare"), "misuse"], capture_output=True, check=True)
    assert plain.stdout == b"-1 -1 -1 -1 -1 -1 -1\n"
    done, _ = seep.run([program("scopes_rare"), "misuse"])
    assert done.stdout == b"-1 0 -1 0 -1 -1 -1\n"
    _, scopes = small(seep, "misuse")
    assert scopes["(no tag)"]["allocs"] == 1
    assert scopes["\x1b[31mred\n"]["allocs"] == 1
    (long,) = [tag for tag in scopes if tag.startswith("a tag of more")]
    assert len(long) == 63


@pytest.mark.parametrize(
    "compiler,standard",
    [("gcc", "c11"), ("gcc", "c17"), ("g++", "c++11"), ("g++", "c++17")]
    + [("clang", "c11"), ("clang++", "c++11"), ("clang++", "c++20")],
)
def test_the_header_needs_nothing_but_a_compiler(seep, compiler, standard):
    source = seep.directory / ("uses.cc" if "++" in compiler else "uses.c")
    source.write_text(
        """\
        #include <seep/seep.h>
        #include <stdlib.h>
        static void *volatile kept;
        static void function(void) { SEEP_FUNCTION_SCOPE(); kept = malloc(100); }
        int main(int argc, char **argv)
        {
                SEEP_SCOPE("main");
                SEEP_SCOPE_NAMED(argv[argc - 1]);
                seep_scope request = seep_scope_begin("request");
                function();
                seep_scope_end(request);
                return 0;
        }
"""
    )
    built = seep.directory / "uses"
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
    for optimised in ("-O0", "-O2"):
        subprocess.run(
            [need(compiler), *flags, optimised, f"-I{SOURCE / 'include'}", str(source), "-o", str(built)],
            check=True,
        )
        assert subprocess.run([built], check=False).returncode == 0
        report = seep.record([built, "last"]).main()
        assert ("main", "last", "request", "function") in by_path(report)
        assert {s["tag"]: s["allocs"] for s in report["scopes"]}["function"] == 1
