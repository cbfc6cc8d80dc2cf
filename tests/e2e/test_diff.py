# SPDX-License-Identifier: MIT
"""`seep diff`: what changed between two recordings, and what is held since a mark."""

import json
import os
import re
import signal
import subprocess

import pytest

from harness import LIMIT_S, SCHEMA, SEEP, need, parse_truth, program
from json_schema import Validator
from running import Steps, Terminal, launch, ledger_of, wait_until, watched


def diff(seep, *words):
    """The document of a diff, with each stack's functions in place of its frames."""
    done = seep.command("diff", "--json", *words, cwd=seep.directory)
    assert done.status == 0, done.stderr.decode()
    document = json.loads(done.stdout)
    assert list(Validator(SCHEMA, closed=True).check(document, SCHEMA["$defs"]["diff"], "$")) == []
    frames, modules = document["frames"], document["modules"]
    assert all(f["module"] is None or f["module"] < len(modules) for f in frames)
    for change in document["changes"]:
        change["functions"] = [frames[i]["function"] for i in change["frames"]]
    return document


def text(seep, *words, status=0):
    done = seep.command("diff", *words, cwd=seep.directory)
    assert done.status == status, done.stderr.decode()
    return (done.stderr if status else done.stdout).decode()


def refused(seep, *words):
    done = seep.command("diff", *words, cwd=seep.directory)
    assert (done.status, done.stdout) == (2, b""), done.stdout.decode()
    return done.stderr.decode()


def held(seep, *words):
    """Blocks and bytes by the function that allocated them."""
    document = diff(seep, *words)
    assert document["before"] is None and document["totals"]["before"] is None
    assert all(c["verdict"] == "HELD" and c["before"] is None for c in document["changes"])
    found = {c["functions"][0]: (c["after"]["live_blocks"], c["after"]["live_bytes"])
             for c in document["changes"]}
    assert len(found) == len(document["changes"])
    assert document["totals"]["after"] == {
        "live_blocks": sum(n for n, _ in found.values()),
        "live_bytes": sum(size for _, size in found.values()),
    }
    return found


@pytest.mark.fast
def test_what_is_held_between_marks_is_exact(seep, steps):
    steps.do("+ keep_a 7 100")
    steps.mark("one")
    steps.do("+ keep_b 10 24", "+ lose 10 48", "- keep_a 3")
    steps.mark("two")
    steps.do("+ lose 65 16", "+ keep_a 1 5000", "- keep_b 4")
    steps.mark("three")
    steps.do("+ keep_c 2 1")
    pid = steps.pid
    for words, marks in ((("one", "two"), (1, 2)), (("two", "three"), (2, 3)),
                         (("one", "three"), (1, 3)), (("three",), (3, 0)), (("one",), (1, 0))):
        found = held(seep, *(f"{pid}@{name}" for name in words))
        assert found == steps.held(*marks)
    assert held(seep, f"{pid}@three", "now") == {"keep_c": (2, 2)}
    assert held(seep, f"{pid}@two", f"{pid}@three") == {"lose": (65, 1040), "keep_a": (1, 5000)}


@pytest.mark.fast
def test_equal_totals_hide_nothing(seep, steps):
    steps.do("+ keep_a 1 240", "+ keep_b 1 160")
    steps.mark("before")
    steps.do("- keep_a 1", "- keep_b 1", "+ keep_a 1 280", "+ keep_b 1 120")
    found = held(seep, f"{steps.pid}@before")
    assert found == steps.held(1) == {"keep_a": (1, 280), "keep_b": (1, 120)}


@pytest.mark.fast
@pytest.mark.parametrize("left", [0, 1, 2])
def test_frees_of_older_blocks_do_not_hide_what_is_held(seep, steps, left):
    steps.do("+ keep_a 50 400")
    steps.mark("warm")
    steps.do("- keep_a 50", "+ keep_b 5 400", f"- keep_b {5 - left}")
    steps.mark("done")
    want = {"keep_b": (left, 400 * left)} if left else {}
    assert held(seep, f"{steps.pid}@warm", f"{steps.pid}@done") == steps.held(1, 2) == want
    if not left:
        assert ("Nothing was allocated between the marks warm and done that is still alive."
                in text(seep, f"{steps.pid}@warm", f"{steps.pid}@done"))
        assert "Nothing was allocated since the mark done that is still alive." in text(
            seep, f"{steps.pid}@done")


@pytest.mark.fast
def test_each_of_many_marks_shows_what_came_after_it(seep, steps):
    for i in range(1, 41):
        if i % 2:
            steps.mark(f"m{i}")
        else:
            assert seep.command("mark", str(steps.pid), f"m{i}").status == 0
            steps.do("@")
        steps.do(f"+ keep_{'abc'[i % 3]} {i} {10 + i}")
    steps.do("- keep_a 25", "- keep_b 30")
    path = ledger_of(seep, steps.pid)
    for first, last in ((1, 40), (13, 14), (20, 31), (39, 40), (7, 0)):
        words = [f"{path}@m{first}"] + ([f"{path}@m{last}"] if last else [])
        assert held(seep, *words) == steps.held(first, last)


def test_figures_are_exact_after_a_sudden_death(seep, steps):
    steps.mark("warm")
    steps.do("+ keep_a 3 33", "+ keep_b 9 5", "- keep_b 2")
    assert seep.command("mark", str(steps.pid), "done").status == 0
    steps.do("@", "+ keep_c 4 4096", "- keep_a 1")
    between, since = steps.held(1, 2), steps.held(2)
    steps.process.send_signal(signal.SIGKILL)
    steps.process.wait(timeout=LIMIT_S)
    path = ledger_of(seep, steps.pid)
    assert held(seep, f"{path}@warm", f"{path}@done") == between
    assert held(seep, f"{steps.pid}@done") == since
    assert seep.command("save", "-q", "-o", "a.seep", path, cwd=seep.directory).status == 0
    assert held(seep, "a.seep@warm", "a.seep@done") == between
    assert held(seep, "a.seep@warm", "now") == {"keep_a": (2, 66), "keep_b": (7, 35),
                                                "keep_c": (4, 16384)}


def test_a_forked_child_holds_what_it_allocated_itself(seep, steps):
    steps.do("+ keep_a 5 100")
    steps.mark("parent")
    child = int(steps.ask("fork"))
    steps.mark("child")
    steps.do("+ keep_b 3 10")
    assert held(seep, f"{child}@child") == steps.held(1) == {"keep_b": (3, 30)}
    assert held(seep, f"{steps.pid}@parent") == {}


@pytest.mark.fast
def test_of_several_marks_of_a_name_the_last_counts(seep, steps):
    for size in (10, 20, 30):
        steps.mark("tick")
        steps.do(f"+ keep_a 1 {size}")
    assert held(seep, f"{steps.pid}@tick") == {"keep_a": (1, 30)}


@pytest.mark.fast
def test_the_blocks_that_are_held_are_listed(seep, steps):
    steps.do("+ keep_a 4 40")
    steps.mark("warm")
    steps.do("+ keep_b 30 50", "+ keep_c 2 9000", "- keep_b 5", "+ lose 3 64")
    document = diff(seep, f"{steps.pid}@warm", "--blocks=1000")
    for change in document["changes"]:
        site = change["functions"][0]
        have = [(b["address"], b["size"]) for b in change["block_list"]]
        want = sorted((int(at), int(size)) for at, size in steps.list(f"# {site}"))
        assert have == want, site
    assert len(document["changes"]) == 3
    few = diff(seep, f"{steps.pid}@warm", "--blocks")
    assert sorted(len(c["block_list"]) for c in few["changes"]) == [2, 3, 20]
    assert "those of a moment" in text(seep, f"{steps.pid}@warm", "--blocks=1")


def test_blocks_that_change_while_they_are_read_are_left_out(seep):
    """Two threads allocate and free all the while; a third of the blocks lives briefly."""
    process = launch(seep, program("busy_until"), stdout=subprocess.DEVNULL)
    wait_until(lambda: watched(seep, "running"), "its ledger")
    assert seep.command("mark", str(process.pid), "m").status == 0
    for _ in range(20):
        done = seep.command("diff", f"{process.pid}@m", "--blocks=1000000", "--json")
        assert (done.status, done.stderr) == (0, b"")
        for change in json.loads(done.stdout)["changes"]:
            blocks = change["block_list"]
            assert {b["size"] for b in blocks} <= {100}
            addresses = [b["address"] for b in blocks]
            assert addresses == sorted(set(addresses))
            assert len(blocks) <= change["after"]["live_blocks"] + 1000
    process.communicate(timeout=LIMIT_S)


@pytest.mark.fast
def test_two_builds_match_by_function(seep):
    truths = []
    for name in ("moved_a", "moved_b"):
        result, recordings = seep.run([program(name)])
        os.rename(recordings.path, seep.directory / f"{name}.seep")
        truths.append(parse_truth(result.stdout.decode()).sites)
    document = diff(seep, "moved_a.seep", "moved_b.seep")
    found = {c["functions"][1]: c for c in document["changes"]}
    assert {site: c["verdict"] for site, c in found.items()} == {
        "open_cache": "NEW", "read_rows": "GROWN", "close_cache": "GONE"}
    for site, change in found.items():
        for side, truth in zip(("before", "after"), truths):
            assert change[side]["live_bytes"] == truth[site]["live_bytes"]
            assert change[side]["live_blocks"] == truth[site]["live_blocks"]
            assert change[side]["allocs"] == truth[site]["allocs"]
    for side, truth in zip(("before", "after"), truths):
        assert document["totals"][side]["live_bytes"] == sum(s["live_bytes"] for s in truth.values())
    page = text(seep, "moved_a.seep", "moved_b.seep")
    assert "Call stacks by bytes live: 1 new, +4.9 KB; 1 grown, +700 B; 1 gone, -700 B" in page
    assert page.index("NEW") < page.index("GROWN") < page.index("GONE")
    back = diff(seep, "moved_b.seep", "moved_a.seep", "--by", "allocs", "--top", "1")
    assert [c["verdict"] for c in back["changes"]] == ["SHRUNK"]
    assert back["measure"] == "allocs" and back["left_out"]["changes"] == 2
    assert "2 call stacks more: --top 3 shows all" in text(
        seep, "moved_b.seep", "moved_a.seep", "--top", "1")


LOSES = """#include <stdlib.h>
#define SITE __attribute__((noinline)) static
static void *volatile p;
SITE void repaired(void) { p = malloc(5000000); }
SITE void fresh(void) { p = malloc(3000); }
SITE void same(void) { p = malloc(64); }
SITE void more(int count) { for (int i = 0; i < count; i++) p = malloc(1000); }
int main(int argc, char **argv) {
    if (argc > 1) fresh(); else repaired();
    same(); more(argc > 1 ? 6 : 2); p = 0;
    return argv == 0;
}
"""


@pytest.fixture
def losing(seep):
    """Recordings before and after: 5 MB of leaks repaired, one new, one three times as large."""
    built = seep.directory / "loses"
    built.with_suffix(".c").write_text(LOSES)
    subprocess.run([need("cc"), "-g", "-O1", "-o", built, f"{built}.c"], check=True)
    return [seep.run([built, *words])[1].path for words in ([], ["x"])]


def test_new_leaks_show_also_where_the_total_fell(seep, losing):
    shown = text(seep, *losing)
    section = shown[shown.index("\nLeaks: "):shown.index("\nCall stacks by ")]
    head, *items = re.split(r"\n  \d\. ", section)
    assert head == "\nLeaks: 1 new, +2.9 KB; 1 grown, +3.9 KB; 1 gone, -4.8 MB; 1 as before\n"
    assert [item.split("\n")[0] + ": " + item.split()[-4] for item in items] == [
        "GONE -4.8 MB (4.8 MB → 0 B), blocks 1 → 0, malloc: repaired",
        "GROWN +3.9 KB (2.0 KB → 5.9 KB, ×3), blocks 2 → 6, malloc: more",
        "NEW +2.9 KB (0 B → 2.9 KB), blocks 0 → 1, malloc: fresh",
    ]
    assert "\nLeaks: 1 new" in text(seep, "--by", "allocs", *losing), "whatever else is compared"
    assert "\n2 leaks more: --top 3 shows all\n" in text(seep, "-n1", *losing)
    leaks = diff(seep, *losing)["leaks"]
    assert (leaks["same"], leaks["left_out"]) == (1, 0)
    assert [(one["verdict"], one["before"], one["after"]) for one in leaks["changes"]] == [
        ("GONE", {"live_blocks": 1, "live_bytes": 5000000}, {"live_blocks": 0, "live_bytes": 0}),
        ("GROWN", {"live_blocks": 2, "live_bytes": 2000}, {"live_blocks": 6, "live_bytes": 6000}),
        ("NEW", {"live_blocks": 0, "live_bytes": 0}, {"live_blocks": 1, "live_bytes": 3000}),
    ]
    assert diff(seep, "-n1", *losing)["leaks"]["left_out"] == 2


def test_leaks_that_are_the_same_are_counted(seep, losing):
    again = seep.run([seep.directory / "loses"])[1].path
    assert "\nLeaks: 3 as before\n" in text(seep, losing[0], again)
    kept = [seep.run([program("temporaries")])[1].path for _ in range(2)]
    assert "\nLeaks: none, before and after\n" in text(seep, *kept)


def test_leaks_are_not_compared_where_nobody_looked(seep, losing):
    blind = [seep.run([program("temporaries")], options=["--no-leak-check"])[1].path for _ in range(2)]
    why = "no leak check was made when it was recorded"
    for sides, said in (([losing[0], blind[0]], "after was not scanned"),
                        ([blind[0], losing[0]], "before was not scanned"),
                        (blind, "neither side was scanned")):  # fmt: skip
        assert f"\nLeaks are not compared: {said}: {why}\n" in text(seep, *sides)
        document = diff(seep, *sides)
        assert document["leaks"] is None
        assert [document["before"]["not_scanned"], document["after"]["not_scanned"]] == [
            why if side in blind else None for side in sides]


@pytest.mark.fast
def test_a_recording_is_compared_with_what_runs_now(seep, steps):
    steps.do("+ keep_a 2 100", "+ keep_b 5 10")
    assert seep.command("snapshot", "-q", "-o", "then.seep", str(steps.pid),
                        cwd=seep.directory).status == 0
    steps.do("+ keep_a 1 100", "- keep_b 5", "+ keep_c 1 1")
    document = diff(seep, "then.seep", "mark_steps")
    assert {c["functions"][0]: c["verdict"] for c in document["changes"]} == {
        "keep_a": "GROWN", "keep_b": "GONE", "keep_c": "NEW"}
    assert document["totals"]["before"]["live_bytes"] == 250
    assert document["totals"]["after"]["live_bytes"] == 301
    assert document["after"]["pid"] == steps.pid
    same = diff(seep, ledger_of(seep, steps.pid), "then.seep")
    assert len(same["changes"]) == 3


def test_the_same_recording_twice_under_two_names_has_no_change(seep):
    _, recordings = seep.run([program("moved_a")])
    data = recordings.path.read_bytes()
    for name in ("a.seep", "b.seep"):
        (seep.directory / name).write_bytes(data)
    assert diff(seep, "a.seep", "b.seep")["changes"] == []
    assert "No call stack differs by bytes live; --by compares" in text(seep, "a.seep", "b.seep")


@pytest.mark.fast
def test_a_cycle_shows_what_its_command_left(seep, steps):
    """The command makes the program work, through pipes that the program does not share."""
    script = seep.directory / "work"
    script.write_text("#!/bin/sh\necho go >order; read done <answer\n")
    script.chmod(0o755)
    for name in ("order", "answer"):
        os.mkfifo(seep.directory / name)
    worker = os.fork()
    if worker == 0:
        orders, answers = (os.open(seep.directory / n, os.O_RDWR) for n in ("order", "answer"))
        for number in range(6):
            os.read(orders, 3)
            steps.do("+ keep_a 1 17", "+ keep_b 4 100", "- keep_b 4",
                     f"+ keep_c {1 if number in (1, 3) else 0} 8", "+ lose 1 30")
            os.write(answers, b"done\n")
        # The last answer would go with the last one who has the pipe open.
        os.read(orders, 3)
        os._exit(0)
    one = diff(seep, "--cycle", str(steps.pid), "--", "./work")
    many = diff(seep, "--cycle", str(steps.pid), "--rounds", "5", "--", "./work")
    (seep.directory / "order").write_text("go\n")
    os.waitpid(worker, 0)
    assert {c["functions"][0]: c["after"] for c in one["changes"]} == {
        "keep_a": {"live_blocks": 1, "live_bytes": 17}, "lose": {"live_blocks": 1, "live_bytes": 30}}
    assert [c["functions"][0] for c in many["changes"]][-1] == "keep_a"
    kept = next(c for c in many["changes"] if c["functions"][0] == "keep_a")
    assert kept["rounds"] == [{"blocks": 1, "bytes": 17}] * 5
    assert many["round_count"] == 5
    assert many["left_out"]["partial"] == 1 and many["left_out"]["partial_bytes"] == 16


def on_enter(seep, steps, rounds, work):
    """What a cycle on a terminal shows, with work before each Enter."""
    words = [SEEP, "diff", "--cycle", str(steps.pid), "--rounds", str(rounds)]
    terminal = Terminal(words, {**os.environ, **seep.environment()})
    for _ in range(rounds):
        terminal.read_until(b"press Enter\r\n")
        steps.do(*work)
        os.write(terminal.fd, b"\n")
    shown = terminal.drain().decode()
    assert os.waitstatus_to_exitcode(terminal.wait()) == 0
    os.close(terminal.fd)
    return shown


def test_a_leak_of_one_block_a_round_stands_out(seep, steps):
    """Idle, work, idle: of all that the work allocates and frees, one stack keeps a block."""
    steps.do("+ keep_b 1 64")
    shown = on_enter(seep, steps, 5, ["+ keep_a 1 24", "+ keep_b 1 64", "- keep_b 1",
                                      "+ keep_c 50 10", "- keep_c 50"])
    assert "HELD +1 block in each of 5 rounds, 120 B in all, malloc" in shown
    assert shown.count("HELD") == 1 and "keep_a" in shown
    # The block that replaced its predecessor each time is of the last round alone.
    assert "1 call stack more, with 64 B, holds blocks of some rounds only" in shown


def test_a_cycle_without_a_trace_says_so(seep, steps):
    shown = on_enter(seep, steps, 1, ["+ keep_c 50 10", "- keep_c 50"])
    assert "Nothing was allocated in the cycle that is still alive." in shown


@pytest.mark.fast
def test_a_command_that_fails_shows_the_diff_all_the_same(seep, steps):
    for words, why in ((["sh", "-c", "exit 3"], b"sh ended with status 3"),
                       (["sh", "-c", "kill -9 $$"], b"sh was killed by signal 9")):
        done = seep.command("diff", "--cycle", str(steps.pid), "--", *words)
        assert done.status == 2
        assert b"Nothing was allocated in the cycle" in done.stdout
        assert why in done.stderr
    done = seep.command("diff", "--cycle", str(steps.pid), "--", "/no/such/command")
    assert (done.status, done.stdout) == (2, b"")
    assert b"cannot run /no/such/command" in done.stderr


@pytest.mark.fast
def test_a_process_that_ends_in_a_cycle_is_named(seep, steps):
    kill = "kill -9 $0; until grep -q 'State:.Z' /proc/$0/status; do :; done"
    done = seep.command("diff", "--cycle", str(steps.pid), "--", "sh", "-c", kill, str(steps.pid))
    steps.process.wait(timeout=LIMIT_S)
    assert done.status == 2 and done.stdout == b""
    assert f"process {steps.pid} ended in round 1".encode() in done.stderr
    after = refused(seep, "--cycle", str(steps.pid), "--", "true")
    assert f"process {steps.pid} has ended" in after


@pytest.mark.fast
def test_nobody_to_press_enter_is_an_error(seep, steps):
    assert "standard input ended" in refused(seep, "--cycle", str(steps.pid))


@pytest.mark.fast
def test_an_unknown_mark_names_those_that_there_are(seep, steps):
    assert "has no mark" in refused(seep, f"{steps.pid}@warm")
    steps.mark("warm")
    steps.mark("steady state")
    found = refused(seep, f"{steps.pid}@wram")
    assert "has no mark wram (did you mean warm?)" in found
    assert "last first, it has steady state, warm" in found
    assert "has no mark other; last" in refused(seep, f"{steps.pid}@warm", f"{steps.pid}@other")
    swapped = refused(seep, f"{steps.pid}@steady state", f"{steps.pid}@warm")
    assert f"seep diff {steps.pid}@warm {steps.pid}@steady state" in swapped
    assert "both are the mark warm" in refused(seep, f"{steps.pid}@warm", f"{steps.pid}@warm")


@pytest.mark.fast
def test_wrong_use_says_what_to_type(seep, steps):
    _, recordings = seep.run([program("moved_a")])
    file, pid = str(recordings.path), str(steps.pid)
    steps.mark("warm")
    assert f"{file}@MARK1 {file}@MARK2" in refused(seep, file, file)
    assert f"{pid}@MARK" in refused(seep, pid)
    assert f"{pid}@MARK" in refused(seep, pid, "now")
    assert f"type seep diff {pid} {file}" in refused(seep, f"{pid}@warm", file)
    assert f"type seep diff {file} {pid}" in refused(seep, file, f"{pid}@warm")
    assert "not more" in refused(seep, file, file, file)
    assert "no such file" in refused(seep, "nothing.seep", file)
    assert "no such file" in refused(seep, file, "nothing.seep")
    assert "seep ps" in refused(seep, file, "nothing")
    assert "there is no ledger of process 1" in refused(seep, "1", file)
    assert 'lacks the mark' in refused(seep, f"{file}@", "now")
    assert 'lacks the file' in refused(seep, "@warm")
    assert "--rounds" in refused(seep, "--rounds", "2", pid, file)
    assert "not --by peak" in refused(seep, "--by", "peak", f"{pid}@warm")
    assert "--blocks needs marks" in refused(seep, "--blocks", pid, file)
    assert "--blocks needs a process that runs" in refused(seep, "--blocks", f"{file}@warm")
    assert "sets its marks itself" in refused(seep, "--cycle", f"{pid}@warm", "--", "true")
    assert "is a recording" in refused(seep, pid, file, f"--json={file}")
    (seep.directory / "text").write_text("no recording\n")
    assert refused(seep, "text", file)


@pytest.mark.fast
def test_a_file_with_an_at_in_its_name_is_that_file(seep):
    for name, called in (("moved_a", "run@home.seep"), ("moved_b", "run")):
        _, recordings = seep.run([program(name)])
        os.rename(recordings.path, seep.directory / called)
    assert len(diff(seep, "run@home.seep", "run")["changes"]) == 3
    assert "run has no mark" in refused(seep, "run@elsewhere", "now")
    assert "run@home.seep has no mark" in refused(seep, "run@home.seep@warm")


@pytest.mark.fast
def test_json_goes_to_a_file(seep, steps):
    steps.mark("warm")
    steps.do("+ keep_a 1 9")
    done = seep.command("diff", f"{steps.pid}@warm", "--json=out.json", cwd=seep.directory)
    assert (done.status, done.stdout) == (0, b"")
    document = json.loads((seep.directory / "out.json").read_text())
    assert document["totals"]["after"] == {"live_blocks": 1, "live_bytes": 9}
    assert document["from"]["name"] == "warm" and document["until"] is None
    strings = seep.command("diff", f"{steps.pid}@warm", "--json=strings")
    assert json.loads(strings.stdout)["totals"]["after"]["live_bytes"] == "9"


def test_a_mark_that_is_not_exact_says_so(seep):
    """A ledger of 256 KB has no room for rows of many epochs."""
    steps = Steps(seep, {"SEEP_OPTIONS": "ledger_max=256K"})
    work = [f"+ {site} 1 10" for site in ("keep_a", "keep_b", "keep_c", "lose")]
    while steps.ask("! m") == "0":
        steps.do(*work)
    # There is room for more marks from outside, and for some rows yet.
    for _ in range(60):
        assert seep.command("mark", str(steps.pid), "m").status == 0
        steps.do(*work)
    shown = text(seep, f"{steps.pid}@m")
    steps.end()
    assert "Not exact: since the mark " in shown


def test_figures_that_an_import_lacks_are_not_compared(seep, tmp_path):
    foreign = tmp_path / "foreign"
    foreign.write_text("heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x400 0x500\n  t*: 1: 100 [0: 0]\n"
                       "MAPPED_LIBRARIES:\n")
    assert seep.command("import", "-q", foreign, cwd=tmp_path).status == 0
    _, recordings = seep.run([program("temporaries")])
    sides = [tmp_path / "foreign.seep", recordings.path]
    for words in (sides, sides[::-1]):
        for measure in ("peak", "temporary", "allocs"):
            done = seep.command("diff", *words, "--by", measure)
            assert done.status == 2 and b"foreign.seep are not known" in done.stderr
        assert seep.command("diff", *words).status == 0
