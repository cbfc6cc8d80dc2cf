# SPDX-License-Identifier: MIT
"""seep query: results in three forms, and everything that SQL must not be able to do."""
import csv
import io
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess

import pytest

import harness
from running import on_terminal

pytestmark = pytest.mark.fast


def query(*words, **options):
    return subprocess.run([harness.SEEP, "query", *words], capture_output=True, text=True,
                          check=False, timeout=60, **options)


def refused(*words, **options):
    """What is said of it on standard error."""
    result = query(*words, **options)
    assert result.returncode == 2, result.stdout[-100:]
    assert result.stderr.startswith("seep query: ")
    return result.stderr


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recording as seep makes it."""
    path = tmp_path_factory.mktemp("recorded") / "r.seep"
    subprocess.run([harness.SEEP, "run", "-q", "-o", path, "true"], check=True)
    return path


@pytest.fixture
def recording(recorded, tmp_path):
    """The same with a small table in it whose values are known."""
    path = tmp_path / "r.seep"
    shutil.copy(recorded, path)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE things(id INTEGER, name TEXT, data BLOB, share REAL)")
        db.executemany("INSERT INTO things VALUES(?,?,?,?)", [
            (1, "plain", b"\x00\xff", 1.5),
            (2**63 - 1, 'quo"te, and\nline', None, None),
            (3, "\x1b[31mred", None, float("inf")),
        ])
        db.execute("INSERT INTO things VALUES(4, CAST(x'ff41' AS TEXT), NULL, 2)")
        db.execute("CREATE VIEW seen AS SELECT id FROM things")
    db.close()
    return path


def test_table_is_aligned_and_escaped(recording):
    result = query(recording, "SELECT id, name FROM things WHERE id IN (1, 3)")
    assert result.returncode == 0
    assert result.stdout == "id  name\n 1  plain\n 3  \\x1b[31mred\n"


def test_json_is_exact(recording):
    result = query("--json", recording, "SELECT * FROM things ORDER BY rowid")
    rows = json.loads(result.stdout)
    assert [row["id"] for row in rows] == [1, 2**63 - 1, 3, 4]
    assert rows[0] == {"id": 1, "name": "plain", "data": "00ff", "share": 1.5}
    assert rows[1]["name"] == 'quo"te, and\nline' and rows[1]["data"] is None
    assert rows[2]["name"] == "\x1b[31mred" and rows[2]["share"] is None
    assert rows[3]["name"] == "\\xffA"
    assert json.loads(query("--json", recording, "SELECT 1 WHERE 0").stdout) == []
    assert json.loads(query("--json", recording, "SELECT 'a\\x5c' AS t").stdout) \
        == [{"t": "a\\x5cx5c"}]


def test_json_escapes_what_a_terminal_should_not_meet(recording):
    text = query("--json", recording, "SELECT char(8238, 27, 155, 8294) AS t").stdout
    assert '"\\u202e\\u001b\\u009b\\u2066"' in text
    text = query("--json", recording, 'SELECT 1 AS "a""\x1b\u202e"').stdout
    assert '"a\\"\\u001b\\u202e"' in text


def test_json_strings_keep_integers_from_doubles(recording):
    result = query("--json=strings", recording, "SELECT id, name FROM things WHERE id > 4")
    assert json.loads(result.stdout)[0]["id"] == str(2**63 - 1)
    assert refused("--json=string", recording, "SELECT 1")
    assert refused("--json", "--csv", recording, "SELECT 1")


def test_each_form_has_all_of_a_text_with_a_zero_byte(recording):
    sql = "SELECT 'a' || char(0) || '\"b' AS x, 2 AS y"
    assert query("--csv", recording, sql).stdout == 'x,y\n"a\0""b",2\n'
    assert json.loads(query("--json", recording, sql).stdout) == [{"x": 'a\0"b', "y": 2}]
    assert query(recording, sql).stdout.splitlines()[1].split() == ['a\\x00"b', "2"]


def test_csv_has_no_formulas(recording):
    sql = "SELECT '=1+1' AS a, '-1' AS b, -1 AS c"
    assert query("--csv", recording, sql).stdout == "a,b,c\n'=1+1,'-1,-1\n"


def test_csv_reads_back(recording):
    result = query("--csv", recording, "SELECT id, name FROM things WHERE id <> 4 ORDER BY rowid")
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows == [["id", "name"], ["1", "plain"], [str(2**63 - 1), 'quo"te, and\nline'],
                    ["3", "\x1b[31mred"]]


def test_tables_and_schema_are_shown_by_their_shell_names(recording):
    assert "things" in query(recording, ".tables").stdout
    assert "CREATE TABLE things" in query(recording, ".schema").stdout


def test_views_and_standard_input_work(recording):
    result = query("--csv", recording, "-", input="SELECT count(*) AS n FROM seen -- all\n;\n")
    assert result.stdout == "n\n4\n"


@pytest.mark.parametrize("sql", [
    "DELETE FROM things", "INSERT INTO things VALUES(1,2,3,4)", "DROP TABLE things",
    "CREATE TABLE x(y)", "CREATE TEMP TABLE x(y)", "ATTACH 'other.db' AS o", "DETACH main",
    "PRAGMA user_version=1", "PRAGMA writable_schema=1", "PRAGMA query_only=0", "VACUUM", "VACUUM INTO 'copy.db'", "BEGIN", "ANALYZE", "REINDEX",
    "SELECT load_extension('x')", "SELECT writefile('x', 'y')", "SELECT readfile('/etc/passwd')",
    "SELECT fts3_tokenizer('simple')", "SELECT 1; SELECT 2", "", "-- nothing",
])
def test_whatever_does_more_than_read_is_refused(recording, tmp_path, sql):
    before = recording.read_bytes()
    result = query(recording, sql, cwd=tmp_path)
    assert result.returncode == 2, result.stdout
    assert result.stdout == ""
    assert result.stderr.startswith("seep query: ")
    assert recording.read_bytes() == before
    assert os.listdir(tmp_path) == ["r.seep"]


@pytest.mark.parametrize("sql, said", [
    # Its data went with the virtual tables.
    ("SELECT fts3_tokenizer('simple')", ["no such function", "fts3_tokenizer"]),
    ("SELECT fts3_tokenizer('simple', x'00')", ["no such function", "fts3_tokenizer"]),
    ("SELECT abs(-9223372036854775808)", ["integer overflow"]),
    ("SELECT nowhere FROM things", ["no such column: nowhere", ".schema"]),
    ("SELECT length(zeroblob(1000000000))", []),
])
def test_why_a_statement_cannot_be_answered_is_told(recording, sql, said):
    text = refused(recording, sql)
    assert all(words in text for words in said)


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c)"


@pytest.mark.parametrize("sql", [
    f"{ENDLESS} SELECT sum(x) FROM c",
    # Each is one step of SQLite's machine, between which it looks at no clock.
    "SELECT trim(printf('%.*c', 10000000, 'a'), printf('%.*c', 1000000, 'b') || 'a')",
    "SELECT instr(printf('%.*c', 15000000, 'a'), printf('%.*c', 7000000, 'a') || 'b')",
    "SELECT replace(printf('%.*c', 15000000, 'a'), printf('%.*c', 7000000, 'a') || 'b', '')",
], ids=["steps", "trim", "instr", "replace"])
def test_what_is_endless_ends_at_the_time_limit(recording, sql):
    assert refused("--timeout", "100ms", recording, sql) == (
        "seep query: the statement took longer than 100 ms\n"
        "  hint: --timeout allows more\n")


def test_views_that_double_end_soon(recording):
    with sqlite3.connect(recording) as db:
        db.execute("CREATE VIEW v0 AS SELECT 1 AS a")
        for i in range(40):
            db.execute(f"CREATE VIEW v{i + 1} AS SELECT x.a FROM v{i} x, v{i} y")
    db.close()
    said = refused("--timeout", "100ms", recording, "SELECT * FROM v40")
    assert "longer than 100 ms" in said or "too many references" in said
    assert query("--timeout", "1s", recording, "SELECT count(*) FROM things").returncode == 0


def test_time_that_the_reader_of_the_output_takes_does_not_count(recording):
    sql = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 60000) "
           "SELECT x FROM c")
    words = [harness.SEEP, "query", "--csv", "--timeout", "300ms", recording, sql]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as running:
        first = running.stdout.readline()
        # It is stuck in write() for longer than the limit: the pipe is full and nobody reads.
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1.5)
        rest, errors = running.communicate(timeout=60)
    assert (first, errors, running.returncode) == ("x\n", "", 0)
    assert rest.endswith("\n60000\n")


def test_interrupt_and_broken_pipe_end_it_at_once(recording):
    sql = f"{ENDLESS} SELECT x FROM c"
    words = [harness.SEEP, "query", "--csv", "--timeout", "0", recording, sql]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"x\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == -signal.SIGINT
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"x\n"
        running.stdout.close()
        assert running.wait(30) == -signal.SIGPIPE
        assert running.stderr.read() == b""


def memory_limit(gigabytes):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30))
    return limit


@pytest.mark.parametrize("sql", [
    f"{ENDLESS} SELECT zeroblob(10000000) FROM c",
    f"{ENDLESS} SELECT " + ",".join("''" for _ in range(900)) + " FROM c",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 1000) "
    "SELECT group_concat(x, printf('%.*c', 100000, 'a')) FROM c",
], ids=["long texts", "many cells", "a long value"])
def test_memory_is_bounded_in_words(recording, sql):
    said = refused("--timeout", "0", recording, sql, preexec_fn=memory_limit(3))
    assert said.count("\n") == 1


def test_functions_that_give_tables_work(recording):
    sql = "SELECT value FROM json_each('[7]') UNION ALL SELECT count(*) FROM pragma_table_info('things')"
    assert json.loads(query("--json", recording, sql).stdout) == [{"value": 7}, {"value": 4}]


def test_more_rows_than_a_table_holds_point_to_csv(recording):
    many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 1200000) " \
           "SELECT x FROM c"
    assert "--csv" in refused(recording, many)
    assert query("--csv", recording, many).stdout.count("\n") == 1200001


def test_files_that_are_no_recordings_are_told_apart(tmp_path):
    assert "no such file" in refused(tmp_path / "none.seep", "SELECT 1")
    text = tmp_path / "text.seep"
    text.write_text("not a database" * 100, encoding="utf-8")
    assert "not a recording" in refused(text, "SELECT 1")
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE t(x)")
    db.close()
    assert "not a recording" in refused(foreign, "SELECT 1")
    assert refused(":memory:", "SELECT 1", cwd=tmp_path)
    assert refused(tmp_path, "SELECT 1")


def test_a_cut_off_result_does_not_parse(recording):
    sql = "SELECT id, instr(printf('%.*c', 15000000, 'a'), printf('%.*c', 7000000 * (id = 4), 'a')" \
          " || 'b') FROM things"
    result = query("--timeout", "200ms", "--json", recording, sql)
    assert result.returncode == 2
    with pytest.raises(json.JSONDecodeError):
        json.loads(result.stdout)


def test_damaged_recording_is_an_error_and_no_crash(recording):
    data = bytearray(recording.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    recording.write_bytes(data)
    assert "damaged" in refused(recording, "SELECT * FROM things")


def test_hostile_schema_runs_nothing(recording, tmp_path):
    with sqlite3.connect(recording) as db:
        db.execute("CREATE VIEW evil AS SELECT load_extension('x') AS e")
        db.execute("CREATE TRIGGER t INSTEAD OF INSERT ON seen BEGIN DELETE FROM things; END")
    db.close()
    assert refused(recording, "SELECT * FROM evil", cwd=tmp_path)
    assert refused(recording, "INSERT INTO seen VALUES(1)", cwd=tmp_path)


def test_a_recording_and_its_report_say_the_same(seep):
    recordings = seep.record([harness.program("realloc_chain")])
    sql = "SELECT sum(allocs) AS allocs, sum(live_bytes) AS live_bytes, count(*) AS contexts FROM top"
    sums = json.loads(query("--json", recordings.path, sql).stdout)[0]
    report = recordings.main()
    stacks = query(recordings.path, "SELECT stack FROM top WHERE stack LIKE '% < %'")
    assert "main < " in stacks.stdout, stacks.stderr
    assert sums["contexts"] == len(report["contexts"])
    for key in ("allocs", "live_bytes"):
        assert sums[key] == report["totals"][key]


def test_rows_too_wide_for_the_terminal_stand_upright(seep):
    _, recordings = seep.run(["/bin/true"])
    sql = "SELECT * FROM process"
    upright = on_terminal(seep, 60, "query", recordings.path, sql).splitlines()
    assert [line.split()[0] for line in upright[:3]] == ["id", "pid", "ppid"]
    assert any(line.split() == ["ended", "exit"] for line in upright)
    piped = seep.command("query", recordings.path, sql).stdout.decode().splitlines()
    assert len(piped) == 2 and piped[0].split()[:3] == ["id", "pid", "ppid"]
