# SPDX-License-Identifier: MIT
"""Files that are cut, flipped, foreign or made to do harm: each command answers soon, in one
sentence, and leaves the file and what is beside it alone.

docs/internals/hostile-files.md is written from these cases: SEEP_UPDATE=1 writes it anew.
"""
import contextlib
import dataclasses
import json
import os
import random
import re
import resource
import shutil
import socket
import sqlite3
import struct
import subprocess

import pytest

import harness

PAGE = 4096
TABLE_AT, TABLES, STATE_AT = 120, 8, 2 * PAGE
ROWS, CONTEXTS, NODES, MODULES, STRINGS = 2, 3, 4, 5, 6
HEADER_BYTES = 808
CPU_S = 4  # of one command; milliseconds are what most take, and queries have 300
WALL_S = 300  # of one on a busy machine
COUNT = "SELECT count(*) AS n FROM context"
DOCUMENT = harness.SOURCE / "docs" / "internals" / "hostile-files.md"
HOSTILE_TEXT = "\x1b[31m\x07\u202eevil\u2066\x9b\x7f\n\tEND"


@dataclasses.dataclass
class Answer:
    status: int
    stdout: str
    stderr: str


def ask(*words, folder, prefix=()):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*prefix, harness.SEEP, *words], stdin=subprocess.DEVNULL, cwd=folder,
                          capture_output=True, timeout=WALL_S, check=False,
                          env={**os.environ, "SEEP_DIR": str(folder), "COLUMNS": "80"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < CPU_S, words
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


# ---- what is right for every file -------------------------------------------------------------


def assert_safe(text, words):
    """Nothing in it can steer a terminal or turn the line around."""
    found = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]",
                      text)
    assert not found, (words, text[max(0, found.start() - 30):found.end() + 30])


def assert_proper(answer, words):
    """Success, or one sentence (and maybe a hint) and nothing else."""
    assert answer.status in (0, 2), (words, answer)
    assert_safe(answer.stdout, words)
    assert_safe(answer.stderr, words)
    if answer.status == 0:
        assert answer.stderr == "", (words, answer.stderr)
        return
    lines = answer.stderr.splitlines()
    assert lines[0].startswith(f"seep {words[0]}: "), (words, answer.stderr)
    assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("  hint: ")), answer.stderr
    if words[0] == "report":
        assert answer.stdout == ""


def assert_listed_or_told(answer, words, path):
    """`seep ps` leaves none out without a word; what else it finds in the usual folders is not ours."""
    told = [line for line in answer.stderr.splitlines() if f"{path.parent}, {path.name}" in line]
    assert_proper(Answer(answer.status, answer.stdout, ""), words)
    assert_safe(answer.stderr, words)
    assert all(line.startswith("seep ps: not listed: ") for line in told)
    assert (str(path) in answer.stdout) != bool(told), (words, answer)


def picture(folder):
    """What is in a folder: names, and bytes of the small files."""
    found = {}
    for path in sorted(folder.iterdir()):
        about = path.lstat()
        small = path.is_file() and not path.is_symlink() and about.st_size < 4 << 20
        found[path.name] = (about.st_mode, about.st_size, about.st_mtime_ns,
                            path.read_bytes() if small else None)
    return found


def ask_all(path, folder):
    """Every command that reads files; gives the answers of report and query."""
    before = picture(folder)
    words = [["report", path], ["query", "--timeout", "300ms", path, COUNT]]
    answers = [ask(*w, folder=folder) for w in words]
    if answers[0].status == 0:
        words += [["report", form, path] for form in ("--json", "--raw", "--tree", "--flat")]
    if answers[1].status == 0:
        words += [["query", "--timeout", "300ms", path, "SELECT * FROM top LIMIT 9"],
                  ["query", "--json", path, "SELECT * FROM frame, (SELECT exe FROM process)"],
                  ["query", path, ".schema"]]
    answers += [ask(*w, folder=folder) for w in words[2:]]
    for asked, answer in zip(words, answers):
        assert_proper(answer, asked)
        if asked[1] == "--json" and answer.status == 0:
            json.loads(answer.stdout)
    words = ["check", "-b", "function:*:live<=1GB", "-b", "leaks<=0", path]
    answer = ask(*words, folder=folder)
    if answers[0].status != 0:
        assert_proper(answer, words)
    assert answer.status in (0, 1, 2) and (answer.status == 2 or answers[0].status == 0), answer
    assert_safe(answer.stdout, words)
    assert picture(folder) == before
    return answers[:2]


# ---- files to begin with ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A real recording and a real ledger, as bytes of the parts that are not holes."""
    folder = tmp_path_factory.mktemp("real")
    folder.chmod(0o700)
    environment = {**os.environ, "SEEP_DIR": str(folder)}
    program = harness.program("realloc_chain")
    subprocess.run([harness.SEEP, "run", "-q", "-o", folder / "run.seep", "--", program],
                   env=environment, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([program], env={**environment, "LD_PRELOAD": str(harness.RUNTIME)},
                   check=True, stdout=subprocess.DEVNULL)
    ledger, = folder.glob("*.ledger")
    return {"recording": folder / "run.seep", "ledger": ledger, "elf": program}


def copy_sparse(source, target):
    subprocess.run(["cp", "--sparse=always", source, target], check=True)
    target.chmod(0o600)
    return target


def poke(path, at, data):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


def peek(path, at, form):
    with open(path, "rb") as file:
        file.seek(at)
        return struct.unpack(form, file.read(struct.calcsize(form)))


def table(path, number):
    """Item size, offset and capacity."""
    item_bytes, _, offset, capacity = peek(path, TABLE_AT + 24 * number, "<IIQQ")
    return item_bytes, offset, capacity


def used(path, number):
    return min(peek(path, STATE_AT + 16 * number, "<QQ"))


# ---- the cases ---------------------------------------------------------------------------------


CASES = []  # (kind, what the document says, function)


def case(kind, text):
    def add(function):
        CASES.append((kind, text, function))
        return function
    return add


def other(text, make):
    case("other", text)(make)


def plain(data):
    def make(folder, _real):
        path = folder / "file"
        path.write_bytes(data)
        return path
    return make


def made_by(command):
    def make(folder, _real):
        command(folder / "file")
        return folder / "file"
    return make


def make_socket(path):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as end:
        here = os.getcwd()
        os.chdir(path.parent)
        end.bind(path.name)
        os.chdir(here)


def make_sparse(path, head=b""):
    path.write_bytes(head)
    os.truncate(path, 1 << 40)


other("empty", plain(b""))
other("one byte", plain(b"S"))
other("text", plain(b"To be, or not to be\n" * 100))
other("zeros", plain(bytes(20000)))
other("a program", lambda folder, real: real["elf"])
other("1 TB of nothing, sparse", made_by(make_sparse))
other("a folder", made_by(lambda path: path.mkdir()))
other("a pipe", made_by(os.mkfifo))
other("a socket", made_by(make_socket))
other("a link to itself", made_by(lambda path: path.symlink_to(path.name)))
other("a link to nothing", made_by(lambda path: path.symlink_to("nothing")))
other("no file", lambda folder, real: folder / "file")
other("a name longer than names can be", lambda folder, real: folder / ("x" * 300))
other("`/dev/null`", lambda folder, real: "/dev/null")
other("`/dev/zero`", lambda folder, real: "/dev/zero")
other("a file that cannot be read (`/proc/self/mem`)", lambda folder, real: "/proc/self/mem")


def ledger_case(text):
    """The function changes a copy of the real ledger; it may return where the file is instead."""
    def add(function):
        def make(folder, real):
            path = copy_sparse(real["ledger"], folder / real["ledger"].name)
            return function(path) or path
        CASES.append(("ledger", text, make))
        return function
    return add


ledger_case("as it was left")(lambda path: None)
ledger_case("cut in the header")(lambda path: os.truncate(path, HEADER_BYTES - 1))
ledger_case("the header alone")(lambda path: os.truncate(path, PAGE))
ledger_case("cut in the state page")(lambda path: os.truncate(path, 3 * PAGE - 1))
ledger_case("cut before all tables")(lambda path: os.truncate(path, 3 * PAGE))
ledger_case("cut before the contexts")(
    lambda path: os.truncate(path, table(path, CONTEXTS)[1]))
ledger_case("cut in the middle of the stacks' nodes")(
    lambda path: os.truncate(path, table(path, NODES)[1] + used(path, NODES) * 8))
ledger_case("cut behind all that was used")(
    lambda path: os.truncate(path, table(path, STRINGS + 1)[1] - 1))
ledger_case("another magic")(lambda path: poke(path, 0, b"X"))
ledger_case("version 0")(lambda path: poke(path, 8, struct.pack("<I", 0)))
ledger_case("a newer version")(lambda path: poke(path, 8, struct.pack("<I", 9)))
ledger_case("of a machine with the other byte order")(
    lambda path: poke(path, 8, struct.pack(">I", 1)))
ledger_case("another size of header")(lambda path: poke(path, 12, struct.pack("<I", 4096)))
ledger_case("that says it is 2^64 - 1 bytes")(lambda path: poke(path, 16, b"\xff" * 8))
ledger_case("with a table beyond its end")(
    lambda path: poke(path, TABLE_AT + 24 * ROWS + 8, struct.pack("<Q", 1 << 50)))
ledger_case("with a table over another")(
    lambda path: poke(path, TABLE_AT + 24 * NODES + 8,
                      struct.pack("<Q", table(path, ROWS)[1])))
ledger_case("with a table of 2^64 - 1 items")(
    lambda path: poke(path, TABLE_AT + 24 * NODES + 16, b"\xff" * 8))
ledger_case("with items of another size")(
    lambda path: poke(path, TABLE_AT + 24 * ROWS, struct.pack("<I", 1)))
ledger_case("that says all tables are full")(
    lambda path: poke(path, STATE_AT, b"\xff" * 16 * TABLES))
ledger_case("whose stacks are a loop")(
    lambda path: poke(path, table(path, NODES)[1] + 16 * 2,
                      b"".join(struct.pack("<I", 1 + (i + 1) % used(path, NODES)) + b"\0" * 12
                               for i in range(2, used(path, NODES)))))
ledger_case("with strings of 4 GB")(
    lambda path: poke(path, TABLE_AT + 24 * 16 + 256, struct.pack("<II", 0, 0xffffffff) * 5))


@ledger_case("with control characters in every text")
def _(path):
    _, offset, _ = table(path, STRINGS)
    text = HOSTILE_TEXT.encode("utf-8", "surrogatepass") + b"\xff\xfe"
    poke(path, offset, (text * (used(path, STRINGS) // len(text) + 1))[:used(path, STRINGS)])


@ledger_case("with counts of 2^64 - 1")
def _(path):
    item_bytes, offset, _ = table(path, ROWS)
    for row in range(used(path, ROWS)):
        poke(path, offset + row * item_bytes + 8, b"\xff" * 72)


@ledger_case("1 TB long, sparse")
def _(path):
    os.truncate(path, 1 << 40)
    poke(path, 16, struct.pack("<Q", 1 << 40))


def recording_case(text, *statements):
    """The statements are run on a copy of the real recording, as any SQLite client could."""
    def add(function):
        def make(folder, real):
            path = folder / "run.seep"
            shutil.copy(real["recording"], path)
            for statement in statements:
                # Anew for each: what was done to the schema counts from then on.
                with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
                    db.execute("PRAGMA writable_schema = ON")
                    db.executescript(statement)
            return function(path) or path
        CASES.append(("recording", text, make))
        return function
    return add


def sql(text, *statements):
    recording_case(text, *statements)(lambda path: None)


VIEWS = ["CREATE VIEW v0 AS SELECT 1 AS a"] + [
    f"CREATE VIEW v{i + 1} AS SELECT x.a FROM v{i} x, v{i} y" for i in range(40)]
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS id FROM r"
QUOTED = "char(27) || '[31m' || char(7, 8238, 155, 10, 9) || CAST(x'ff' AS TEXT)"

sql("as it was written")
recording_case("the header alone")(lambda path: os.truncate(path, 100))
recording_case("cut in the header")(lambda path: os.truncate(path, 99))
recording_case("cut after the first page")(lambda path: os.truncate(path, 4096))
recording_case("cut in the middle")(lambda path: os.truncate(path, path.stat().st_size // 2))
recording_case("without its last byte")(lambda path: os.truncate(path, path.stat().st_size - 1))
recording_case("with a tail of zeros")(
    lambda path: os.truncate(path, path.stat().st_size + 100000))
recording_case("with a page size of 3")(lambda path: poke(path, 16, b"\0\3"))
recording_case("with the schema's page overwritten")(lambda path: poke(path, 100, b"\xa5" * 900))
recording_case("that says it has 2^32 - 1 pages")(lambda path: poke(path, 28, b"\xff" * 4))
recording_case("1 TB long, sparse")(lambda path: os.truncate(path, 1 << 40))
sql("of another application", "PRAGMA application_id = 0")
sql("of a newer version", "PRAGMA user_version = 99")
sql("of no version", "PRAGMA user_version = 0")
sql("without a table", "DROP TABLE context")
sql("without a column", "ALTER TABLE context DROP COLUMN peak_bytes")
sql("with a table more", "CREATE TABLE novelty (x)")
sql("with a view in place of a table", "DROP TABLE total",
    "CREATE VIEW total AS SELECT 'allocs' AS name, 1 AS value")
sql("with a view without end in place of a table", "DROP TABLE sample",
    f"CREATE VIEW sample AS {ENDLESS}")
sql("with a virtual table in place of a table", "DROP TABLE sample",
    "CREATE VIRTUAL TABLE sample USING fts5(at_ns)")
sql("with virtual tables more", "CREATE VIRTUAL TABLE more USING fts5(x)",
    "CREATE VIRTUAL TABLE most USING rtree(a, b, c)")
sql("with a computed column", "ALTER TABLE mark ADD COLUMN z AS (randomblob(1000000000))")
sql("with triggers that delete", "CREATE TRIGGER t AFTER INSERT ON total BEGIN DELETE FROM frame; END")
sql("with an index over a function", "CREATE INDEX i ON context (abs(live_bytes))")
sql("with 40 views that double", *VIEWS)
sql("with views that name each other", "CREATE VIEW a AS SELECT * FROM b",
    "CREATE VIEW b AS SELECT * FROM a")
sql("whose `top` calls `load_extension`", "DROP VIEW top",
    "CREATE VIEW top AS SELECT load_extension('x') AS id")
sql("whose `top` never ends", "DROP VIEW top", f"CREATE VIEW top AS SELECT count(*) FROM ({ENDLESS})")
sql("whose `top` is 1 GB", "DROP VIEW top",
    "CREATE VIEW top AS SELECT zeroblob(1000000000) AS id")
sql("with a schema that is no SQL", "UPDATE sqlite_schema SET sql = 'CREATE TABLE ('"
    " WHERE name = 'mark'")
sql("whose tables share a root page", "UPDATE sqlite_schema SET rootpage ="
    " (SELECT rootpage FROM sqlite_schema WHERE name = 'frame') WHERE name = 'context'")
sql("whose table is called a view", "UPDATE sqlite_schema SET type = 'view' WHERE name = 'mark'")
sql("with texts in place of numbers",
    "UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), 'INTEGER NOT', 'ANY NOT')"
    " WHERE name = 'context'", "UPDATE context SET live_bytes = 'many', hash = x'00'")
sql("with NULL everywhere",
    "UPDATE sqlite_schema SET sql = replace(replace(sql, ' NOT NULL', ''), 'STRICT', '')"
    " WHERE name IN ('context', 'frame', 'module', 'process')")
sql("with negative numbers", "UPDATE total SET value = -1", "UPDATE context SET live_bytes = -1,"
    " peak_bytes = -9223372036854775808, allocs = 9223372036854775807")
sql("with totals that are not the contexts' sums",
    "UPDATE total SET value = value + 1 WHERE name = 'live_bytes'")
sql("without a total", "DELETE FROM total WHERE name = 'untracked_frees'")
sql("with more freed than allocated", "UPDATE context SET frees = allocs + 1")
sql("with more alive than allocated", "UPDATE context SET live_bytes = alloc_bytes + 1")
sql("with epochs of more than is alive",
    "INSERT INTO epoch SELECT id, 999, 1, 1 FROM context")
sql("with a timeline that goes back", "INSERT INTO sample VALUES (999999999, 1, 1, 1, 1, 1)")
sql("without a process", "DELETE FROM process")
sql("with a frame of no module", "UPDATE frame SET module = 99999")
sql("with a segment that is its own parent", "UPDATE segment SET parent = id")
sql("with a segment below its child", "UPDATE segment SET parent = 9999 WHERE id = 1")
sql("with a segment of no frames", "UPDATE segment SET frames = '[]' WHERE id = 1")
sql("with a segment that is no list", "UPDATE segment SET frames = '{\"a\":' WHERE id = 1")
sql("with a segment of frames that are not there", "UPDATE segment SET frames = '[4294967295]'")
sql("with a context of no segment", "UPDATE context SET leaf = 123456 WHERE leaf IS NOT NULL")
sql("with epochs of no context", "UPDATE OR IGNORE epoch SET context = 4000000000")
sql("with control characters in every text", f"UPDATE frame SET function = {QUOTED}, file = {QUOTED}",
    f"UPDATE module SET path = {QUOTED}, problem = {QUOTED}", f"UPDATE argv SET value = {QUOTED}",
    f"UPDATE process SET exe = {QUOTED}, cwd = {QUOTED}, allocator = {QUOTED}",
    f"INSERT INTO unseen VALUES (99, {QUOTED}, {QUOTED})",
    f"INSERT INTO mark VALUES (99, 99, {QUOTED}, 1, 1)")
sql("with a view of a name with control characters",
    "CREATE VIEW \"\x1b[31m\u202e\" AS SELECT 1 AS \"\x1b[32m\"")
sql("with a name of 3 MB", "UPDATE frame SET function = printf('%.*c', 3000000, 'a') WHERE id = 1")
sql("with a name of 20 MB", "UPDATE frame SET function = printf('%.*c', 20000000, 'a') WHERE id = 1")


@recording_case("in WAL mode")
def _(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")


@recording_case("with somebody's journal beside it")
def _(path):
    path.with_name(path.name + "-journal").write_bytes(
        b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\xff" * 4 + bytes(500))


@recording_case("in UTF-16")
def _(path):
    dump = path.with_name("dump")
    with contextlib.closing(sqlite3.connect(path)) as db:
        script = "\n".join(db.iterdump())
    with contextlib.closing(sqlite3.connect(dump)) as db:
        db.execute("PRAGMA encoding = 'UTF-16le'")
        db.executescript(script)
        db.execute("PRAGMA application_id = 0x53454550")
        db.execute("PRAGMA user_version = 2")
    dump.rename(path)


# ---- the tests ---------------------------------------------------------------------------------


def shown(answer, path):
    """A cell of the document."""
    if answer.status == 0:
        text = " ".join(answer.stdout.split())
        cut = re.search(r"the ledger's end is missing[^:]*", text)
        lies = re.search(r"the\s+ledger\s+was\s+damaged", text)
        return ("read" + (", and says that the end is missing" if cut else "")
                + (", and says that the ledger was damaged" if lies else ""))
    text = answer.stderr.splitlines()[0].split(": ", 1)[1]
    text = text.replace(str(path), "FILE")
    text = re.sub(r"\b\d{4,}\b", "N", text)
    return text.replace("|", "\\|")


@pytest.fixture(scope="module")
def cells():
    """What the cases answered, for the document."""
    return {}


@pytest.mark.parametrize("kind, text, make", CASES, ids=[f"{k}: {t}" for k, t, _ in CASES])
def test_the_answer_is_soon_short_and_safe(kind, text, make, real, cells, tmp_path):
    tmp_path.chmod(0o700)
    path = make(tmp_path, real)
    report, query = ask_all(path, tmp_path)
    for words in (["ps"], ["ps", "--json"]) if kind == "ledger" else ():
        assert_listed_or_told(ask(*words, folder=tmp_path), words, path)
    if text in ("as it was left", "as it was written"):
        assert report.status == 0
    cells[kind, text] = shown(report, path), shown(query, path)


HEADINGS = {
    "other": "## Other files",
    "ledger": "## Ledgers",
    "recording": "## Recordings",
}
INTRODUCTION = """\
# What does seep say of a file that is damaged, foreign or made to do harm?

Each of these was opened with every form of `seep report`, with `seep query` and, ledgers, with `seep ps`. Whatever
the file: the answer comes within a second or at the time limit of `query`, it is one sentence on stderr and
status 2 if nothing could be read, control characters from the file never reach the terminal, and neither the file
nor what lies beside it is changed. `seep ps` lists a ledger or says on stderr why not.
`tests/e2e/test_hostile_files.py` makes these files and wrote this page; beside them it flips bits, cuts files at many
more places, and puts extreme values into every field of a ledger's header. `make fuzz` goes on from there with files
that real programs left.

Of a ledger that was cut, what is there is read, and the report says so. A recording is written whole or not at all,
so one that was cut was cut later, and is refused as a whole.
"""


def document(cells):
    lines = [INTRODUCTION]
    for kind, heading in HEADINGS.items():
        lines += [heading, "", f"| file | `seep report` | `seep query` with `{COUNT}` |",
                  "|---|---|---|"]
        rows = [(text, *cells[kind, text]) for k, text, _ in CASES if k == kind]
        # Where query says the same of all, once is enough.
        same = len({row[2] for row in rows}) == 1
        lines += [f"| {text} | {report} | {'the same' if same and i else query} |"
                  for i, (text, report, query) in enumerate(rows)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def test_the_document_shows_these_answers(cells):
    if len(cells) < len(CASES):
        pytest.skip("only some of the cases were asked for")
    if os.environ.get("SEEP_UPDATE"):
        DOCUMENT.write_text(document(cells), encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == document(cells)


def test_a_ledger_cut_anywhere_is_read_or_refused(real, tmp_path):
    tmp_path.chmod(0o700)
    path = copy_sparse(real["ledger"], tmp_path / real["ledger"].name)
    borders = [table(path, number)[1] for number in range(TABLES)]
    ends = [table(path, number)[1] + table(path, number)[0] * used(path, number)
            for number in range(TABLES) if used(path, number)]
    places = {at + delta for at in [HEADER_BYTES, PAGE, 2 * PAGE, 3 * PAGE, 4 * PAGE, *borders, *ends]
              for delta in (-1, 0, 1)}
    for at in sorted(places, reverse=True):
        os.truncate(path, at)
        words = ["report", "--json", path]
        answer = ask(*words, folder=tmp_path)
        assert_proper(answer, words)
        assert (answer.status == 0) == (at >= 4 * PAGE), (at, answer.stderr)
        if answer.status == 0:
            codes = [entry["code"] for entry in json.loads(answer.stdout)["unseen"]]
            lost = any(at < end for end in ends)
            assert ("ledger-cut" in codes) == lost, at


def test_every_field_of_a_ledgers_header_may_be_extreme(real, tmp_path):
    tmp_path.chmod(0o700)
    path = copy_sparse(real["ledger"], tmp_path / real["ledger"].name)
    head = path.open("rb").read(PAGE)
    fields = [(at, 4) for at in range(8, 128, 4)] + \
        [(TABLE_AT + 24 * t + at, size) for t in range(TABLES) for at, size in ((0, 4), (8, 8), (16, 8))]
    for at, size in fields:
        for value in (0, (1 << (8 * size)) - 1):
            poke(path, 0, head)
            poke(path, at, value.to_bytes(size, "little"))
            words = ["report", path]
            assert_proper(ask(*words, folder=tmp_path), words)


def flip(path, choice, extents):
    start, length = choice.choice(extents)
    at = start + choice.randrange(length)
    old, = peek(path, at, "B")
    poke(path, at, bytes([old ^ 1 << choice.randrange(8)]))


def flip_many(path, extents, folder, seed, rounds):
    choice = random.Random(seed)
    whole = [(start, path.open("rb"), length) for start, length in extents]
    parts = []
    for start, file, length in whole:
        with file:
            file.seek(start)
            parts.append((start, file.read(length)))
    for _ in range(rounds):
        for _ in range(choice.choice((1, 1, 8, 64))):
            flip(path, choice, extents)
        for words in (["report", path], ["query", "--timeout", "300ms", path, COUNT]):
            assert_proper(ask(*words, folder=folder), [*words, seed])
        for start, data in parts:
            poke(path, start, data)


FLIPS = [40, pytest.param(1500, marks=pytest.mark.slow)]


@pytest.mark.parametrize("rounds", FLIPS)
def test_flipped_bits_of_a_ledger_do_no_harm(real, tmp_path, rounds):
    tmp_path.chmod(0o700)
    path = copy_sparse(real["ledger"], tmp_path / real["ledger"].name)
    extents = [(0, 3 * PAGE)] + [(table(path, t)[1], table(path, t)[0] * used(path, t))
                                 for t in range(TABLES) if used(path, t)]
    flip_many(path, extents, tmp_path, 20, rounds)


@pytest.mark.parametrize("rounds", FLIPS)
def test_flipped_bits_of_a_recording_do_no_harm(real, tmp_path, rounds):
    path = tmp_path / "run.seep"
    shutil.copy(real["recording"], path)
    flip_many(path, [(0, path.stat().st_size), (0, 120)], tmp_path, 21, rounds)


def test_a_recording_that_another_program_holds_is_read(real, tmp_path):
    path = tmp_path / "run.seep"
    shutil.copy(real["recording"], path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        report, query = ask_all(path, tmp_path)
        db.execute("ROLLBACK")
    assert (report.status, query.status) == (0, 0)


def test_a_file_that_may_not_be_read_is_an_error(real, tmp_path):
    path = tmp_path / "run.seep"
    shutil.copy(real["recording"], path)
    path.chmod(0)
    prefix = []
    if os.access(path, os.R_OK):
        # Root, with no more rights to files than others have.
        prefix = [harness.need("setpriv"), "--bounding-set=-dac_override,-dac_read_search"]
    for words in (["report", path], ["query", path, COUNT]):
        answer = ask(*words, folder=tmp_path, prefix=prefix)
        assert answer.status == 2 and "Permission denied" in answer.stderr
