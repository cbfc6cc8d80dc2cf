# SPDX-License-Identifier: MIT
"""Use that nobody planned: two runs with one name, odd scripts, files beside a recording, output
that cannot be written. What was recorded is kept, and what went wrong is told."""

import json
import os
import sqlite3
import subprocess

import pytest

from harness import BUILD, LIMIT_S, SEEP, program
from running import apart, launch

LEAKY = BUILD / "examples" / "leaky"


def script(seep, text, name="script"):
    path = seep.directory / name
    path.write_bytes(text)
    path.chmod(0o755)
    return path


def shell(seep, text, **how):
    """Run a line of shell in the test's directory; `$SEEP` and `$LEAKY` are set."""
    env = {**os.environ, **seep.environment(), "SEEP": str(SEEP), "LEAKY": str(LEAKY)}
    return subprocess.run(["sh", "-c", text], cwd=seep.directory, env=env, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=LIMIT_S, check=False, **how)


# ---- the output ----------------------------------------------------------------------------


def test_a_file_that_came_during_the_run_is_kept_and_so_is_the_ledger(seep):
    made = shell(seep, '$SEEP run -q -o x.seep sh -c "echo mine >x.seep; $LEAKY"')
    assert made.returncode == 0
    assert b"x.seep in the meantime" in made.stderr
    assert (seep.directory / "x.seep").read_text() == "mine\n"
    assert len(seep.ledgers()) == 1
    assert seep.command("report", seep.ledger_dir / seep.ledgers()[0]).status == 0


def test_the_longest_names_are_written(seep):
    name = "n" * 250 + ".seep"
    made = shell(seep, f'$SEEP run -q -o {name} sh -c "$LEAKY; true"')
    assert (made.returncode, made.stderr) == (0, b"")
    names = sorted(os.listdir(seep.directory))
    assert len(names) == 2 and name in names
    assert all(len(n) == 255 for n in names)
    assert seep.ledgers() == []


def test_a_deep_folder_can_be_written_and_read(seep):
    folder = seep.directory
    for _ in range(5):
        folder = folder / ("d" * 150)
    folder.mkdir(parents=True)
    seep.record([LEAKY], options=["-o", folder / "x.seep"])
    for path, cwd in ((folder / "x.seep", None), ("x.seep", folder)):
        assert seep.command("report", path, cwd=cwd).status == 0
        assert seep.command("query", path, "SELECT count(*) FROM top", cwd=cwd).status == 0


def test_a_removed_working_directory_is_refused_before_the_start(seep):
    made = shell(seep, "mkdir d; cd d; rmdir ../d; $SEEP run echo started")
    assert made.returncode == 125
    assert (made.stdout, b"No such file" in made.stderr) == (b"", True)


def test_json_that_cannot_be_written_is_told(seep):
    made = shell(seep, '$SEEP run -q -o x.seep --json sh -c "exit 7" >/dev/full')
    assert made.returncode == 7
    assert b"standard output: No space left" in made.stderr


# ---- programs ------------------------------------------------------------------------------


def test_a_foreign_line_end_is_seen_in_the_interpreters_name(seep):
    made = seep.command("run", script(seep, b"#!/bin/sh\r\necho\r\n"))
    assert made.status == 127
    assert b"interpreter of" in made.stderr and b"/bin/sh\\x0d: no such program" in made.stderr


def test_a_shared_library_is_not_called_a_static_program(seep):
    made = seep.command("run", program("lib_count.so"))
    assert made.status == 125
    assert b"is a shared library, not a program" in made.stderr


def test_a_wrong_option_of_the_environment_is_named_where_it_hurts(seep):
    made = seep.command("run", "true", cwd=seep.directory, env={"SEEP_OPTIONS": "bogus=1"})
    assert made.status == 0
    assert b"hint: correct SEEP_OPTIONS" in made.stderr


def test_a_process_elsewhere_that_said_its_end_is_recorded(seep):
    result, recordings = seep.run([*apart("--pid", "--fork", "--mount-proc"), LEAKY])
    assert result.status == 0 and b"goes on counting" not in result.stderr
    child = [p for p in recordings.folder.rglob("*.leaky.seep")]
    assert len(child) == 1
    report = recordings.load(child[0])
    assert (report["process"]["pid"], report["process"]["ended"]) == (1, "exit")
    assert seep.ledgers() == []


def test_no_room_for_the_ledger_never_looks_like_no_allocations(seep):
    text = "mkdir m && mount -t tmpfs -o size=16k none m && mkdir -m 700 m/l && " \
           "SEEP_DIR=m/l $SEEP run -o x.seep $LEAKY"
    made = shell(seep, f"{' '.join(apart())} sh -c '{text}'")
    assert made.returncode == 0
    assert b"Nothing was counted" in made.stderr
    assert b"0 allocations" not in made.stderr
    unseen = json.loads(seep.command("report", seep.directory / "x.seep", "--json").stdout)["unseen"]
    assert any("nothing" in u["detail"] for u in unseen)


# ---- reading -------------------------------------------------------------------------------


def test_the_schema_reads_as_it_was_written(seep):
    _, recordings = seep.run(["true"])
    said = seep.command("query", recordings.path, ".schema").stdout.decode()
    assert "CREATE TABLE context ( -- all allocations by one call stack\n\tid INTEGER" in said
    # What the file's own schema says can be run again.
    with sqlite3.connect(":memory:") as db:
        db.executescript(said)


def test_other_words_of_the_shell_are_told_from_sql(seep):
    _, recordings = seep.run(["true"])
    made = seep.command("query", recordings.path, ".dump")
    assert made.status == 2 and b".tables" in made.stderr and b".schema" in made.stderr


def test_no_time_limit_is_none(seep):
    _, recordings = seep.run(["true"])
    count = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 100000) " \
            "SELECT count(*) AS n FROM c"
    made = seep.command("query", "--timeout", "0", "--csv", recordings.path, count)
    assert made.stdout == b"n\n100000\n"


def test_files_beside_a_recording_change_nothing(seep):
    """A journal there would be played back by a reader that looked for one."""
    _, recordings = seep.run([LEAKY])
    sql = "SELECT sum(allocs) FROM context"
    before = seep.command("query", recordings.path, sql)
    journal = bytes.fromhex("d9d505f920a163d7") + bytes(20) + b"\0\0\2\0\0\0\x10\0" + bytes(4096)
    for suffix in ("-journal", "-wal"):
        recordings.path.with_name(recordings.path.name + suffix).write_bytes(journal)
    after = seep.command("query", recordings.path, sql)
    assert before.status == 0
    after.same_as(before)


# ---- words ---------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["help", "--help", "-h"])
def test_help_about_help_is_help(seep, word):
    assert seep.command("help", word).stdout == seep.command("help").stdout


def test_what_to_type_next_can_be_typed(seep):
    made = shell(seep, "$SEEP run -o -x.seep true")
    typed = made.stderr.decode().split("Next: seep ")[1].split("#")[0]
    assert shell(seep, f"$SEEP {typed}").returncode == 0


def test_a_recording_that_cannot_be_written_is_tried_once_and_told_once(seep):
    (seep.directory / "gone").mkdir()
    line = "rm -r gone; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do /bin/true; done"
    made = shell(seep, f'$SEEP run -q -o gone/x.seep bash -c "{line}"')
    told = [line for line in made.stderr.splitlines() if b"cannot" in line and b" gone/" in line]
    assert made.returncode == 0
    assert len(told) == len(set(told)) == 8
    assert not any(b".2.seep" in line for line in told)
    # rm, twelve times true, and bash itself, which is the last.
    assert b"14 problems, the last 8 of them" in made.stderr
    assert b" gone/x.seep: " in told[-1]
    assert len(seep.ledgers()) == 14


def test_a_folder_that_takes_no_files_points_elsewhere(seep):
    made = seep.command("run", "true", cwd="/proc")
    assert made.status == 125
    assert b"hint: -o FILE" in made.stderr


def test_nobody_is_told_to_close_a_folder_that_all_use(seep):
    seep.directory.chmod(0o777)
    made = shell(seep, "SEEP_DIR=$PWD $SEEP run -o x.seep true")
    assert made.returncode == 125
    assert b"chmod" not in made.stderr and b"0700" in made.stderr


# ---- a ledger that is cut while it is mapped -----------------------------------------------


def test_a_program_that_cuts_its_ledger_away_does_not_end_its_recorder(seep):
    result, _ = seep.run([program("ledger_cut"), "away"])
    assert result.status == 7
    assert b"too short to be a ledger" in result.stderr or b"empty, not a ledger" in result.stderr


SUMS = ["frees", "allocs", "alloc_bytes", "freed_bytes"]


@pytest.mark.parametrize("word", [*SUMS, "summed"])
def test_a_program_that_writes_over_its_ledger_has_a_recording_that_can_be_read(seep, word):
    result, recordings = seep.run([program("ledger_scribble"), word])
    assert (result.status, result.stderr) == (0, b"")
    report = recordings.load(recordings.path)
    assert ("ledger-damaged" in [entry["code"] for entry in report["unseen"]]) == (word != "summed")
    assert report["leaks"] == [] or word == "summed"
    assert seep.ledgers() == []


@pytest.mark.parametrize("word", SUMS[1:])
def test_nothing_is_concluded_from_a_ledger_that_a_living_process_wrote_over(seep, word):
    with launch(seep, program("ledger_scribble"), word, "wait") as process:
        assert process.stdout.read(1) == b"."
        done = seep.command("leaks", "--error-exitcode", "99", str(process.pid))
        process.stdin.close()
    assert b"the ledger was damaged" in done.stdout and b"LOST" not in done.stdout


def test_a_process_is_found_by_its_name_where_a_file_has_it_too(seep, tmp_path):
    (tmp_path / "ledger_scribble").mkdir()
    with launch(seep, program("ledger_scribble"), "none", "wait") as process:
        assert process.stdout.read(1) == b"."
        for words in ["report"], ["export", "-t", "folded"]:
            assert seep.command(*words, "ledger_scribble", cwd=tmp_path).status == 0, words
        process.stdin.close()


PAGE = 4096


@pytest.mark.parametrize("pages, words, said", [(3, ["report"], b"truncated while it was read"),
                                                (1, ["ps"], b"truncated while it was read")])
def test_a_ledger_that_shrinks_while_it_is_read_ends_no_viewer(seep, pages, words, said):
    process = launch(seep, program("ledger_cut"), str(pages * PAGE))
    assert process.stdout.readline() == b"ready\n"
    ledger = seep.ledger_dir / seep.ledgers()[0]
    words = [*words, ledger] if words == ["report"] else words
    told = 0
    try:
        # Whether it is long or short when somebody looks is chance.
        for _ in range(2000):
            answer = seep.command(*words)
            assert answer.status in ((0, 2) if words[0] == "report" else (0,)), answer
            # `ps` may have a word to say of ledgers in the usual folder, which are not ours.
            lines = [line for line in answer.stderr.splitlines() if ledger.name.encode() in line]
            assert len(lines) <= 1, answer
            told += said in b"".join(lines)
            if told == 3:
                break
    finally:
        process.communicate(timeout=LIMIT_S)
    assert told == 3
    assert process.returncode == 7
