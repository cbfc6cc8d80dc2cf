# SPDX-License-Identifier: MIT
"""What users see of leaks: after a run, of a recording, of a running process; and exit statuses."""

import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import pytest

from harness import LIMIT_S, PROGRAMS, SEEP, need, program, read_report
from running import launch, start, wait_until, watched

ANSWER = "1 leak: 192 B in 3 blocks lost, and 720 B in 15 blocks with them"
FAULTS = {"signal": (["0", "11"], -signal.SIGSEGV), "status": (["3"], 3)}


def shown(*words):
    return [program("loses_lists"), *words]


def leaks(seep, *words):
    return seep.command("leaks", *words, cwd=seep.directory)


def text_of(done):
    assert done.status == 0, done.stderr.decode()
    return done.stdout.decode()


def assert_nobody_looked(done, why):
    """No answer is not the answer that nothing is lost; live blocks by call stack are a hint."""
    assert done.status == 2
    assert f"\nNot scanned for leaks: {why}" in done.stdout.decode() and b"192 B" in done.stdout
    assert f": not scanned for leaks: {why}" in done.stderr.decode()


def begin(seep, command, *options):
    """The program, followed by a recorder and waiting; and its ledger."""
    process = start(seep, command, *options, stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    (ledger,) = wait_until(lambda: watched(seep, "recorded"), "the recorder")
    return process, ledger


def record(seep, *words, options=()):
    """The status of such a run, which leaves run.seep, and its summary."""
    process, _ = begin(seep, shown(*words), "--force", *options)
    _, summary = process.communicate(timeout=LIMIT_S)
    return process.returncode, summary.decode()


@pytest.fixture
def running(seep):
    process, ledger = begin(seep, shown())
    yield ledger
    process.stdin.close()
    assert process.wait(timeout=LIMIT_S) == 0


@pytest.mark.fast
def test_the_summary_of_a_run_leads_with_what_is_lost(seep):
    process = subprocess.Popen([SEEP, "run", "-o", seep.directory / "run.seep", *shown()],
                               env={**os.environ, **seep.environment()}, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: watched(seep, "recorded"), "the recorder")
    _, summary = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0
    assert summary.decode().split("\n")[1:3].count(ANSWER) == 1
    assert "  912 B  LOST  lose_lists ← main" in summary.decode()


@pytest.mark.fast
def test_a_recording_says_what_is_lost(seep):
    status, _ = record(seep)
    assert status == 0
    by_lost = text_of(seep.command("report", "run.seep", "--by", "lost", cwd=seep.directory))
    assert by_lost == text_of(leaks(seep, "run.seep"))
    assert f"\n{ANSWER}\n" in by_lost
    assert "  1. LOST: 192 B in 3 blocks, and 720 B in 15 blocks with them" in by_lost
    assert "with them: 720 B in 15 blocks from make_list" in by_lost
    assert "\nREACHABLE " in by_lost and "  2. " not in by_lost
    assert f"\n{ANSWER}\n" in text_of(seep.command("report", "run.seep", cwd=seep.directory))


@pytest.mark.fast
def test_a_running_process_is_scanned_as_often_as_one_likes(seep, running):
    for operand in (str(running["pid"]), "loses_lists", running["ledger"], str(running["pid"])):
        text = text_of(leaks(seep, operand))
        assert f"\n{ANSWER}\n" in text
        assert "still running" in text


def test_a_program_is_found_by_the_name_of_a_link_to_it(seep):
    alias = seep.directory / "lists_loser"
    alias.symlink_to(program("loses_lists"))
    process, _ = begin(seep, [alias])
    assert f"\n{ANSWER}\n" in text_of(leaks(seep, "lists_loser"))
    process.communicate(timeout=LIMIT_S)


def test_of_a_program_without_allocations_there_is_nothing_to_say(seep):
    _, recordings = seep.run(["true"])
    text = text_of(leaks(seep, recordings.path))
    assert "Leak scan (stopped): 0 live blocks" in text and "main arena" not in text


def test_json_of_a_running_process_has_its_leaks(seep, running):
    report = read_report(leaks(seep, "--json", str(running["pid"])).stdout)
    assert report["scan"]["method"]
    assert {(x["verdict"], x["blocks"], x["bytes"]) for x in report["leaks"]} >= {
        ("LOST", 3, 192), ("LOST-WITH", 15, 720)}


def test_contents_are_shown_only_where_asked_for(seep, running):
    pid = str(running["pid"])
    assert "secret" not in text_of(leaks(seep, "--leak-kinds=lost-with", pid))
    text = text_of(leaks(seep, "--leak-kinds=lost-with", "--dump-bytes=16", "--blocks=2", pid))
    assert "61 20 73 65 63 72 65 74  ........a secret\n" in text
    assert ", 0x" in text and " and 13 more" in text


def test_the_pointers_that_lead_to_a_block_are_shown_where_asked_for(seep, running):
    pid = str(running["pid"])
    line = r"\n     pointed to from module data kept \(loses_lists\) \(0x[0-9a-f]+\)\n"
    assert re.search(line, text_of(leaks(seep, "--why", "--leak-kinds=reachable", pid)))
    report = read_report(leaks(seep, "--json", "--why", "--leak-kinds=all", pid).stdout)
    (kept,) = [x for x in report["leaks"] if x["verdict"] == "REACHABLE" and x["bytes"] == 1000]
    assert [link["from"] for link in kept["chain"]] == ["module data"]
    (lost,) = [x for x in report["leaks"] if x["verdict"] == "LOST-WITH"]
    assert lost["chain"] == []
    address = lost["block_list"][3]["address"]
    text = text_of(leaks(seep, f"--why={address}", pid))
    assert "  1. LOST-WITH: 720 B" in text and "  2. " not in text
    assert "There is no live block at 0x10" in text_of(leaks(seep, "--why=0x10", pid))


@pytest.mark.parametrize("how", FAULTS)
def test_a_leak_changes_the_status_only_where_asked_for(seep, how):
    words, status = FAULTS[how]
    exitcode = "--error-exitcode=9"
    assert record(seep, *words)[0] == status
    assert record(seep, *words, options=[exitcode, "--leak-kinds=maybe-lost"])[0] == status
    assert record(seep, *words, options=[exitcode])[0] == (9 if status >= 0 else status)


def test_leaks_of_children_count_and_are_listed(seep):
    """The shell itself has none; both children have the same, so that one of them is summed up."""
    child = program("loses_lists")
    words = [SEEP, "run", "-o", seep.directory / "run.seep", "--error-exitcode=9", "--",
             "sh", "-c", f"exec 3<&0; {child} <&3 & {child} <&3; wait; true"]
    process = subprocess.Popen(words, env={**os.environ, **seep.environment()},
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    wait_until(lambda: [p["exe"] for p in watched(seep, "recorded")].count(str(child)) == 2,
               "both children")
    _, summary = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 9
    assert f"\n{ANSWER}\n" in summary.decode()
    assert "\nseep: there are leaks in 1 other process of this run:\n  seep leaks /" \
        in summary.decode()


def test_other_processes_that_were_not_scanned_are_counted(seep):
    """The first of two kills itself."""
    child = program("loses_lists")
    done = seep.command("run", "-o", seep.directory / "run.seep", "--", "sh", "-c",
                        f"{child} 0 11 </dev/null; {child} </dev/null; true")
    assert "\nseep: 1 other process could not be scanned for leaks\n" in done.stderr.decode()


def test_status_of_leaks_is_0_but_for_error_exitcode(seep, running):
    pid = str(running["pid"])
    assert leaks(seep, pid).status == 0
    assert leaks(seep, "--error-exitcode=9", pid).status == 9
    assert leaks(seep, "--error-exitcode=9", "--leak-kinds=ignored", pid).status == 0


def test_generated_rules_suppress_just_what_they_were_made_from(seep):
    record(seep)
    rules = text_of(leaks(seep, "--gen-suppressions", "run.seep"))
    assert rules.startswith("# LOST: 192 B in 3 blocks")
    known = seep.directory / "known.supp"
    known.write_text(rules + "leak:not_in_any_program\n")
    options = ["--suppressions", known, "--error-exitcode=9"]
    assert record(seep, "3", options=options)[0] == 3
    text = text_of(leaks(seep, "run.seep"))
    assert "\nNothing is lost of " in text and "; 912 B in 18 blocks suppressed\n" in text
    assert "\nSuppressions that nothing matched: leak:not_in_any_program\n" in text


COPIES = r"""
#include <stdlib.h>
#define TWICE(call) call; call;
static void keep(long i) { void *volatile p = malloc(100); if (i % 4 == 0) free(p); }
static void on(void) { for (long i = 0; i < 10; i++) { TWICE(TWICE(keep(i))) } }
void (*const NAME)(void) = on;
"""
MAIN = """
extern void (*const a)(void), (*const b)(void);
int main(void) { void (*const all[])(void) = { a, b }; for (int i = 0; i < 2; i++) all[i](); return 0; }
"""


def test_copies_of_a_call_are_one_leak_and_the_same_text_elsewhere_is_another(seep):
    for name, text in (("a", COPIES), ("b", COPIES), ("main", MAIN)):
        (seep.directory / f"{name}.c").write_text(text)
        words = ["-O1", "-g", "-fno-inline", f"-DNAME={name}", "-c", f"{name}.c"]
        subprocess.run([need("gcc"), *words], check=True, cwd=seep.directory)
    subprocess.run([need("gcc"), "a.o", "b.o", "main.o", "-o", "copies"], check=True, cwd=seep.directory)
    path = seep.record([seep.directory / "copies"]).path
    assert seep.command("check", "-b", "leaks<=2", "-b", "leaks{within=b.c:5}<=1", path).status == 0
    assert seep.command("check", "-b", "leaks{within=b.c:5}<=0", path).status != 0
    told = text_of(seep.command("report", path, "--by", "lost"))
    assert told.count("2.7 KB in 28 blocks; 12 of 40 freed") == 2, told


@pytest.mark.parametrize("options,words,why", [
    (["--no-leak-check"], [], "no leak check was made when it was recorded"),
    ([], FAULTS["signal"][0], "it was killed by SIGSEGV"),
], ids=["not-asked", "signal"])
def test_a_recording_says_why_nothing_was_scanned(seep, options, words, why):
    record(seep, *words, options=options)
    assert_nobody_looked(leaks(seep, "run.seep"), why)
    assert_nobody_looked(leaks(seep, "--error-exitcode=9", "run.seep"), why)
    assert f"\nNot scanned for leaks: {why}\n" in text_of(seep.command("report", seep.directory / "run.seep"))
    for command in (["report", "--by", "lost"], ["report", "--leak-kinds=all"], ["report", "--gen-suppressions"],
                    ["leaks", "--gen-suppressions"]):  # fmt: skip
        done = seep.command(*command, seep.directory / "run.seep")
        assert (done.status, done.stdout) == (2, b""), "no answer is not the answer that nothing is lost"
        assert f"run.seep: not scanned for leaks: {why}\n" in done.stderr.decode()
    report = json.loads(seep.command("report", "--by", "lost", "--json", seep.directory / "run.seep").stdout)
    assert report["leaks"] == [] and (report["scan"] is None) == ("--no-leak-check" in options)


def test_a_program_that_went_on_by_exec_is_not_looked_for_in_its_successor(seep):
    """The recorder comes late for some of them: then the process runs the next program."""
    script = 'if [ "$1" -gt 0 ]; then exec "$0" -c "$2" "$0" $(($1 - 1)) "$2"; fi'
    _, recordings = seep.run(["/bin/sh", "-c", script, "/bin/sh", "20", script])
    reports = recordings.all()
    assert len(reports) == 21
    reasons = {report["scan"]["why_not"] for report in reports}
    assert not any("makes no sense" in reason for reason in reasons if reason), reasons
    # The last one ends, and the next to last has no reason either to have lost anything.
    assert [x for x in reports for leak in x["leaks"] if leak["verdict"] == "LOST"] == []


def copy_that_is_read(scan, original):
    """The process whose memory it has opened to read, not the original, or None."""
    for fd in os.listdir(f"/proc/{scan.pid}/fd"):
        with contextlib.suppress(OSError):
            found = re.fullmatch(r"/proc/(\d+)/mem", os.readlink(f"/proc/{scan.pid}/fd/{fd}"))
            with open(f"/proc/{scan.pid}/fdinfo/{fd}", encoding="utf-8") as about:
                if found and int(found[1]) != original and re.search(r"^flags:\s+\d*0$", about.read(), re.M):
                    return int(found[1])
    return None


def test_what_a_killed_copy_held_is_not_called_lost(seep):
    code = "x = [b'1' * (1 << 20) for _ in range(300)]; print('ready', flush=True); input()"
    process, ledger = begin(seep, [sys.executable, "-c", code], "--no-leak-check")
    scan = subprocess.Popen([SEEP, "leaks", str(ledger["pid"])], stdout=subprocess.PIPE,
                            env={**os.environ, **seep.environment()})  # fmt: skip
    while not (copy := copy_that_is_read(scan, ledger["pid"])):
        assert scan.poll() is None
    os.kill(copy, signal.SIGKILL)
    text, _ = scan.communicate(timeout=LIMIT_S)
    assert b"Not scanned for leaks: the copy of the process was killed" in text
    process.communicate(b"\n", timeout=LIMIT_S)


def test_what_hash_tables_of_rust_hold_is_not_lost(seep):
    if not (PROGRAMS / "rust_tables").exists():
        pytest.skip("there was no rustc when it was built")
    seep.record([program("rust_tables")])
    done = leaks(seep, "--json", "--leak-kinds=all", *seep.directory.glob("**/*.seep"))
    report = read_report(text_of(done))
    doubted = [x for x in report["leaks"] if "LOST" in x["verdict"]]
    assert [(x["verdict"], x["blocks"], x["bytes"]) for x in doubted] == [("LOST", 1, 4321)]
    tables = [x for x in report["leaks"] if x["rule"] == "hash-table"]
    assert sum(x["blocks"] for x in tables) == 105


def verdicts_of(seep, process, sizes):
    """Each block of these sizes, by address: its size, verdict and rule."""
    done = leaks(seep, "--json", "--leak-kinds=all", "--blocks=100000", str(process.pid))
    return {block["address"]: (block["size"], leak["verdict"], leak["rule"])
            for leak in read_report(text_of(done))["leaks"] for block in leak["block_list"]
            if block["size"] in sizes}  # fmt: skip


def test_what_is_lost_stays_lost_whatever_old_words_come_up(seep):
    process = launch(seep, program("lost_before"), "churn")
    assert process.stdout.readline() == b"ready\n"
    lost = [{at for at, (_, verdict, _) in verdicts_of(seep, process, {777}).items() if "LOST" == verdict}
            for _ in range(6)]  # fmt: skip
    process.communicate(b"\n", timeout=LIMIT_S)
    assert [before - after for before, after in zip(lost, lost[1:])] == [set()] * 5
    assert 0 < len(lost[0]) <= len(lost[-1]) <= 400


def test_what_only_looked_lost_comes_back(seep):
    process = launch(seep, program("lost_before"), "hidden")
    for wants in (
        {1001: ("LOST", None), 1002: ("LOST", None), 1003: ("LOST", None), 1004: ("LOST", None)},
        {1001: ("REACHABLE", "start"), 1002: ("REACHABLE", "start"), 1003: ("LOST", "lost-before"),
         1004: ("MAYBE-LOST", "interior")},
        {1001: ("MAYBE-LOST", "interior"), 1002: ("LOST", None), 1003: ("LOST", None),
         1004: ("MAYBE-LOST", "interior")},
    ):  # fmt: skip
        assert process.stdout.readline() == b"ready\n"
        found = verdicts_of(seep, process, wants)
        # What is reachable is in no list of blocks.
        listed = {size: said for size, said in wants.items() if said[0] != "REACHABLE"}
        assert {size: (verdict, rule) for size, verdict, rule in found.values()} == listed
        process.stdin.write(b"\n")
        process.stdin.flush()
    assert process.wait(timeout=LIMIT_S) == 0
    process.communicate()


def test_a_dead_process_cannot_be_scanned(seep):
    process = launch(seep, *shown())
    assert process.stdout.readline() == b"ready\n"
    assert f"\n{ANSWER}\n" in text_of(leaks(seep, str(process.pid))), "without a recorder, too"
    process.kill()
    process.communicate(timeout=LIMIT_S)
    assert_nobody_looked(leaks(seep, str(process.pid)), "the process has ended")


@pytest.mark.parametrize("options", [[], ["--size-min", "100"]], ids=["all", "filtered"])
def test_a_block_that_was_not_recorded_keeps_what_it_points_to(seep, options):
    done = seep.command("run", "-q", *options, "-o", "run.seep", "--", program("holds_unrecorded"),
                        cwd=seep.directory)  # fmt: skip
    assert done.status == 0, done.stderr.decode()
    assert "1 leak: 1001 B in 1 block lost\n" in text_of(leaks(seep, "run.seep"))


def verdicts_by_size(done):
    found = collections.defaultdict(collections.Counter)
    for leak in json.loads(text_of(done))["leaks"]:
        found[leak["bytes"] // leak["blocks"]][leak["verdict"]] += leak["blocks"]
    return found


def assert_held_before_is_right(seep, process, pid, also_lost):
    """The program has said "before": let it go on, and compare what it says with what seep says."""
    process.stdin.write(b"\n")
    process.stdin.flush()
    said = [line.split() for line in iter(process.stdout.readline, b"after\n")]
    found = verdicts_by_size(leaks(seep, str(pid), "--json", "--leak-kinds=all"))
    process.communicate(b"\n", timeout=LIMIT_S)
    assert process.returncode == 0 and len(said) == 12
    for verdict, size, count in said:
        right = also_lost.get(int(size), "LOST" if verdict == b"lost" else "REACHABLE")
        assert found[int(size)] == {right: int(count)}, f"{size.decode()} bytes"


# Without the large ones arrays and what was freed are not recorded, but what holds one block is.
@pytest.mark.parametrize("options, also_lost", [(["--mode", "off"], {}),
                                                (["--size-max", "100"], {92: "LOST-WITH"})],
                         ids=["before", "filtered"])  # fmt: skip
def test_what_is_not_recorded_holds_blocks_and_what_is_free_holds_none(seep, options, also_lost):
    process = start(seep, [program("held_before")], *options, stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"before\n"
    (ledger,) = wait_until(lambda: watched(seep, "recorded"), "the recorder")
    if "off" in options:
        text_of(seep.command("mode", str(ledger["pid"]), "all"))
    assert_held_before_is_right(seep, process, ledger["pid"], also_lost)


def test_what_is_from_before_seep_was_attached_holds_blocks(seep):
    process = subprocess.Popen([program("held_before")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)  # fmt: skip
    assert process.stdout.readline() == b"before\n"
    text_of(seep.command("attach", str(process.pid)))
    try:
        assert_held_before_is_right(seep, process, process.pid, {})
    finally:
        process.kill()
        process.communicate()
        saved = seep.command("save", "-q", str(process.pid), cwd=seep.directory)
    assert saved.status == 0, saved.stderr.decode()
