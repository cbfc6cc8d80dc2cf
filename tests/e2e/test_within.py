# SPDX-License-Identifier: MIT
"""`--within` and `--without`: what functions, and all that they call, allocated, hold and lost.

The figures are compared with sums over the contexts of the whole document, made here."""

import json
import re
import subprocess

import pytest

from harness import PROGRAMS, SCHEMA, SEEP, SOURCE, need, program, record_with_truth
from json_schema import Validator
from leak_truth import LEAK_DIR
from page_data import read_page
from running import finish, launch, start, wait_until
from top_watch import top_json

LEAKY = PROGRAMS.parent / "examples" / "leaky"
FIGURES = ("allocs", "alloc_bytes", "frees", "freed_bytes", "live_blocks", "live_bytes",
           "peak_bytes", "temporary")
LOST = ("LOST", "LOST-CYCLE", "LOST-WITH")

# tests/programs/within_server.c
REQUESTS, BODY, LINE, NODE, DEPTH, NAMES = 10, 100, 30, 24, 5, 7


def document(seep, path, *words, status=0):
    done = seep.command("report", path, "--json", *words)
    assert done.status == status, done.stderr.decode()
    found = json.loads(done.stdout)
    if len(done.stdout) < 1 << 20:
        assert Validator(SCHEMA, closed=True).errors(found) == []
    return found


def sums(contexts):
    return {key: sum(c[key] for c in contexts) for key in FIGURES}


def totals(found):
    return {key: found["totals"][key] for key in FIGURES}


def lost_bytes(leaks):
    return sum(leak["bytes"] for leak in leaks if leak["verdict"] in LOST)


class Whole:
    """A document without a filter, asked by this test's own rules."""

    def __init__(self, found):
        self.contexts, self.leaks, self.frames = found["contexts"], found["leaks"], found["frames"]
        self.modules = [m["path"] for m in found["modules"]]

    def through(self, wanted):
        """Contexts and leaks with a frame that is wanted."""
        def passes(item):
            return any(wanted(self.frames[i]) for i in item["frames"])
        return ([c for c in self.contexts if passes(c)], [k for k in self.leaks if passes(k)])

    def functions(self):
        """By name, how many contexts have it; those that were inlined, and those in recursion."""
        uses, inlined, folded = {}, set(), set()
        for context in self.contexts:
            stack = [self.frames[i] for i in context["frames"]]
            for name in {f["function"] for f in stack} - {None}:
                uses[name] = uses.get(name, 0) + 1
            inlined |= {f["function"] for f in stack if f["inlined"]}
            for fold in context.get("folded") or ():
                folded |= {f["function"] for f in stack[fold["from"]:fold["to"] + 1]}
        return uses, inlined - {None}, folded - {None}


def exactly(name):
    """The pattern of one function."""
    return "function:" + re.sub(r"[*?[]", r"[\g<0>]", name)


def choose(uses, inlined, folded, count=20):
    """Functions that many, some and few contexts have; inlined and recursive ones among them."""
    def most(names):
        return sorted(names, key=lambda n: (-uses[n], n))
    order = most(uses)
    chosen = most(inlined)[:3] + most(folded)[:3]
    spread = [order[i * len(order) // count] for i in range(count)]
    return (chosen + [name for name in spread if name not in chosen])[:count]


def check_functions(seep, path, least_inlined=0, least_folded=0):
    whole = Whole(document(seep, path))
    uses, inlined, folded = whole.functions()
    chosen = choose(uses, inlined, folded)
    assert len(chosen) == 20
    assert len(inlined & set(chosen)) >= least_inlined
    assert len(folded & set(chosen)) >= least_folded
    for name in chosen:
        contexts, leaks = whole.through(lambda frame, name=name: frame["function"] == name)
        found = document(seep, path, "--within", exactly(name))
        assert found["within"] == [exactly(name)] and found["without"] == []
        assert totals(found) == sums(contexts), name
        assert sorted(c["id"] for c in found["contexts"]) == sorted(c["id"] for c in contexts)
        assert lost_bytes(found["leaks"]) == lost_bytes(leaks), name


# ---- real programs -------------------------------------------------------------------------


def test_twenty_functions_of_python(seep):
    script = ("import json, re, decimal\n"
              "def nest(n): return [nest(n - 1)] if n else {}\n"
              "text = json.dumps([nest(50) for _ in range(20)])\n"
              "kept = [json.loads(text), re.compile('(a|b)*c'), sorted(map(str, range(500)))]\n")
    recordings = seep.record([need("/usr/bin/python3"), "-c", script],
                             env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})
    check_functions(seep, recordings.path, least_folded=3)


def test_twenty_functions_of_sqlite(seep):
    script = ("create table t(a, b);\n"
              "with recursive c(x) as (select 1 union all select x + 1 from c where x < 999)\n"
              " insert into t select x, hex(randomblob(20)) from c;\n"
              "create index i on t(b);\n"
              "select count(*) from t a join t b using(b) where a.a > 10 order by a.b;\n")
    recordings = seep.record([need("sqlite3"), ":memory:", script])
    check_functions(seep, recordings.path, least_folded=1)


def test_twenty_functions_of_clang(seep):
    source = seep.directory / "two.c"
    source.write_text("struct a { int x; struct a *n; };\n"
                      "int sum(struct a *p) { int s = 0; for (; p; p = p->n) s += p->x; return s; }\n")
    recordings = seep.record([need("clang"), "-O2", "-c", source, "-o", seep.directory / "two.o"])
    check_functions(seep, max(recordings.paths(), key=lambda path: path.stat().st_size))


def test_twenty_functions_of_redis_which_runs(seep):
    """Of the ledger of a process that is at rest, and of its recording."""
    socket = seep.directory / "socket"
    need("redis-cli")
    server = start(seep, [need("redis-server"), "--port", "0", "--unixsocket", socket,
                          "--save", "", "--dir", seep.directory], stdout=subprocess.DEVNULL)

    def client(text):
        return subprocess.run(["redis-cli", "-s", socket], input=text, capture_output=True,
                              text=True, check=False).stdout

    try:
        wait_until(lambda: "PONG" in client("PING\n"), "the server")
        client("".join(f"SET k{i} v{i}\nHSET h f{i} {i}\nZADD z {i} m{i}\nLPUSH l {i}\n"
                       for i in range(200)) + "EVAL 'return 1' 0\nSORT l LIMIT 0 10\n")
        whole = Whole(document(seep, str(server_pid(seep))))
        for name in ("processCommand", "zslInsert", "dictAddRaw"):
            contexts, _ = whole.through(lambda frame, name=name: frame["function"] == name)
            live = top_json(seep, str(server_pid(seep)), "--within", name, "--interval", "50ms")
            # Of a command that is sent once, nothing is done twice.
            assert live["totals"]["live_bytes"] >= sums(contexts)["live_bytes"] > 0
            assert live["within"] == [name]
    finally:
        client("SHUTDOWN NOSAVE\n")
        finish(server)
    check_functions(seep, seep.directory / "run.seep")


def server_pid(seep):
    ledgers = json.loads(seep.command("ps", "--json").stdout)["processes"]
    return next(p["pid"] for p in ledgers if p["ledger"].startswith(f"{seep.ledger_dir}/"))


def test_recursion_in_every_form_has_its_truth(seep):
    recordings, truth = record_with_truth(seep, "recursion")
    for name, want in truth.sites.items():
        found = totals(document(seep, recordings.path, "--within", name))
        assert (found["allocs"], found["alloc_bytes"]) == (want["allocs"], want["bytes"]), name
        assert (found["live_blocks"], found["live_bytes"]) == \
            (want["live_blocks"], want["live_bytes"]), name


# ---- patterns ------------------------------------------------------------------------------


@pytest.fixture(name="server", scope="module")
def record_server(tmp_path_factory):
    path = tmp_path_factory.mktemp("within") / "server.seep"
    subprocess.run([SEEP, "run", "-q", "-o", path, program("within_server")], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return path


def line_of(text):
    lines = (SOURCE / "tests" / "programs" / "within_server.c").read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if text in line)


BODIES = (REQUESTS, REQUESTS * BODY, 0)
NODES = (REQUESTS * DEPTH, REQUESTS * DEPTH * NODE, REQUESTS * DEPTH * NODE)
LINES = (REQUESTS, REQUESTS * LINE, 0)
OTHERS = (NAMES, NAMES * LINE, 0)


def together(*parts):
    return tuple(map(sum, zip(*parts)))


CASES = {
    "a function and what it calls": (["--within", "handle_request"], BODIES, NODES, LINES),
    "one that others call, too": (["--within", "log_line"], LINES, OTHERS),
    "inlined": (["--within", "grow"], BODIES),
    "into which it was inlined": (["--within", "parse"], BODIES),
    "recursive": (["--within", "descend"], NODES),
    "a glob": (["--within", "handle_*"], BODIES, NODES, LINES),
    "one of a class": (["--within", "[dp][ae]*", "--without", "des?end"], BODIES),
    "nothing is left": (["--within", "descend", "--without", "handle_request"],),
    "any of two": (["--within", "parse", "--within", "descend"], BODIES, NODES),
    "without": (["--within", "main", "--without", "handle_request"], OTHERS, "stdio"),
    "without alone": (["--without", "function:main"], None),
    "of both": (["--within", "handle_request", "--without", "log_line"], BODIES, NODES),
    "of several without": (["--within", "handle_request", "--without", "log_line",
                            "--without", "descend"], BODIES),
    "a line": (["--within", "within_server.c:{log_line();}"], LINES),
    "a line inside": (["--within", "within_server.c:{descend(DEPTH)}"], NODES),
    "a line with a folder": (["--within", "programs/within_server.c:{parse();}"], BODIES),
    "a line and a function": (["--within", "within_server.c:{parse();}", "--within", "descend"],
                              BODIES, NODES),
    "a file": (["--within", "within_server.c"], BODIES, NODES, LINES, OTHERS, "stdio"),
    "a module": (["--within", "module:within_server"], BODIES, NODES, LINES, OTHERS,
                 "stdio"),
    "a path of a module": (["--within", "*/programs/within_server"],
                           BODIES, NODES, LINES, OTHERS, "stdio"),
}


@pytest.mark.fast
@pytest.mark.parametrize("case", CASES)
def test_patterns(seep, server, case):
    words, *parts = CASES[case]
    words = [re.sub(r"\{(.*)\}", lambda m: str(line_of(m[1])), word) for word in words]
    done = seep.command("report", server, "--json", *words)
    if not parts:
        assert totals(json.loads(done.stdout))["allocs"] == 0
        return
    assert done.status == 0, done.stderr.decode()
    found = totals(json.loads(done.stdout))
    if parts == [None]:
        assert found["allocs"] < NAMES
        return
    # What stdio keeps for standard output and input, in main().
    buffers = [p for p in parts if p == "stdio"]
    want = together(*[p for p in parts if p != "stdio"])
    assert found["allocs"] - want[0] in ((1, 2) if buffers else (0,))
    if not buffers:
        assert (found["alloc_bytes"], found["live_bytes"]) == want[1:]


@pytest.mark.fast
def test_the_c_library_is_no_part_of_stacks_as_what_calls_main(seep, server):
    found = document(seep, server, "--within", "libc.so.6")
    assert totals(found)["allocs"] in (1, 2)  # buffers of stdio
    # By its name it is there all the same: all that was allocated, before main() or in it.
    everything = totals(document(seep, server))
    assert totals(document(seep, server, "--within", "_start")) == everything


# ---- what is said --------------------------------------------------------------------------


@pytest.mark.fast
def test_a_report_says_what_it_is_of(seep, server):
    text = seep.command("report", server, "--within", "handle_request").stdout.decode()
    flat = " ".join(text.split())
    allocs = 2 * REQUESTS + REQUESTS * DEPTH
    assert f"Only within handle_request: live at exit 1.2 KB in {REQUESTS * DEPTH} blocks; " \
        "1.2 KB at the peak of the process" in flat
    assert f"{allocs} allocations of 2.4 KB in all, {2 * REQUESTS} freed inside or outside" in flat
    assert "Not seen: entries, times and frees within functions: they need an annotation" in flat
    assert "seep's own memory" not in flat
    for form in ("--tree", "--flat", "--by=growth", "--by=lost"):
        done = seep.command("report", server, form, "--within", "handle_request")
        assert b"Only within handle_request:" in done.stdout, form


@pytest.mark.fast
def test_what_is_of_the_process_alone_is_not_given(seep, server):
    whole, found = document(seep, server), document(seep, server, "--within", "descend")
    assert whole["totals"]["own_bytes"] > 0 and whole["timeline"]
    for key in ("own_bytes", "threads", "walks", "usable_bytes", "peak_exact", "untracked_frees"):
        assert found["totals"][key] is None, key
    assert (found["timeline"], found["totals"]["size_histogram"], found["run"]) == ([], [], None)
    assert found["totals"]["peak_at_ns"] == whole["totals"]["peak_at_ns"]
    assert found["process"] == whole["process"]
    assert "within" in {line["code"] for line in found["unseen"]}
    assert "contexts-left-out" not in {line["code"] for line in found["unseen"]}
    assert whole["within"] == whole["without"] == []


@pytest.mark.fast
@pytest.mark.parametrize("words, said", [
    (["--within", "handle_requst"], "handle_requst; did you mean handle_request?"),
    (["--within", "within_server.x"], "within_server.x; did you mean within_server.c?"),
    (["--within", "main", "--without", "lob_line"], "lob_line; did you mean log_line?"),
    (["--within", "nothing_like_it"], "nothing_like_it\n"),
])
def test_a_pattern_that_names_nothing_is_an_error(seep, server, words, said):
    for command in (["report"], ["export", "--to", "folded"]):
        done = seep.command(*command, server, *words)
        assert (done.status, done.stdout) == (2, b"")
        assert f"no call stack goes through {said}" in done.stderr.decode()


def test_stacks_that_may_belong_to_it_are_told(seep):
    """Of a program without symbols nobody can say."""
    bare = seep.directory / "bare"
    subprocess.run([need("strip"), "-o", bare, program("within_server")], check=True)
    recordings = seep.record([bare])
    found = document(seep, recordings.path, "--within", "_IO_*")
    assert "within-unsure" in {line["code"] for line in found["unseen"]}
    done = seep.command("report", recordings.path, "--within", "_IO_*")
    assert b"call stacks that may belong to it" in b" ".join(done.stdout.split())
    done = seep.command("check", recordings.path, "-b", "held{within=handle_request}<=0")
    assert done.status == 2 and b"more may belong to it" in done.stdout


# ---- leaks and findings --------------------------------------------------------------------


@pytest.fixture(name="leaky", scope="module")
def record_leaky(tmp_path_factory):
    path = tmp_path_factory.mktemp("leaky") / "leaky.seep"
    subprocess.run([SEEP, "run", "-q", "-o", path, LEAKY], check=True, stdout=subprocess.DEVNULL)
    return path


@pytest.mark.fast
def test_what_goes_with_a_leak_is_lost_where_it_was_allocated(seep, leaky):
    """An upload is lost with its data, which another line allocates."""
    lost, = [k for k in document(seep, leaky)["leaks"] if k["verdict"] == "LOST"]
    assert (lost["blocks"], lost["with_blocks"]) == (80, 80)
    upload = document(seep, leaky, "--within", "receive_upload")
    assert {k["verdict"]: k["with_blocks"] for k in upload["leaks"]} == {"LOST": 80, "LOST-WITH": 0}
    frames = document(seep, leaky)["frames"]
    lines = {k["verdict"]: frames[k["frames"][0]]["line"] for k in document(seep, leaky)["leaks"]
             if k["verdict"] in LOST}
    alone = document(seep, leaky, "--within", f"leaky.c:{lines['LOST']}")["leaks"]
    assert [(k["verdict"], k["blocks"], k["with_blocks"]) for k in alone] == [("LOST", 80, 0)]
    data = document(seep, leaky, "--within", f"leaky.c:{lines['LOST-WITH']}")["leaks"]
    assert [(k["verdict"], k["blocks"], k["root"]) for k in data] == [("LOST-WITH", 80, None)]
    text = seep.command("report", leaky, "--within", "session_remember").stdout.decode()
    assert "Nothing is lost of 10,000 live blocks" in text
    for line, verdict in ((lines["LOST"], "LOST"), (lines["LOST-WITH"], "LOST-WITH")):
        done = seep.command("check", leaky, "-b", f"lost{{within=leaky.c:{line}}}<=0",
                            "-b", f"leaks{{within=leaky.c:{line}}}<=0")
        assert done.status == 1 and done.stdout.decode().count("BROKEN") == 2
        assert f"{verdict}: " in done.stdout.decode()


def test_findings_are_those_of_its_stacks(seep):
    """release() frees the middle of what block() allocated."""
    _, recordings = seep.run([LEAK_DIR / "gcc-O2" / "misuse_c", "middle"])
    path = recordings.path
    whole = document(seep, path)
    assert len(whole["findings"]) == 1
    for words, count in ((["--within", "release"], 1), (["--within", "block"], 1),
                         (["--without", "release", "--without", "block"], 0)):
        found = document(seep, path, *words)
        assert len(found["findings"]) == count, words
        for finding in found["findings"]:
            for key in ("alloc_frames", "here_frames"):
                assert [found["frames"][i]["function"] for i in finding[key]] == \
                    [whole["frames"][i]["function"] for i in whole["findings"][0][key]]
    done = seep.command("report", path, "--within", "release")
    assert b"interior-free" in done.stdout and b"0 allocations" in done.stdout


# ---- the other commands --------------------------------------------------------------------


@pytest.mark.fast
def test_budgets(seep, server):
    held = REQUESTS * DEPTH * NODE
    for budget, status in (("held{within=handle_request}<=0", 1),
                           (f"held{{within=handle_request}}<={held}", 0),
                           (f"held{{within=descend}}<={held - 1}", 1),
                           ("held{within=parse}<=0", 0),
                           (f"allocs{{within=within_server.c:{line_of('log_line();')}}}<={REQUESTS - 1}", 1),
                           (f"allocs{{within=grow}}<={REQUESTS}", 0),
                           ("live{within=module:within_server}<=100k", 0)):
        done = seep.command("check", server, "-b", budget)
        assert done.status == status, (budget, done.stdout.decode())
        assert budget in done.stdout.decode()
    done = seep.command("check", server, "-b", "held{within=handle_request}<=0")
    assert "BROKEN     held{within=handle_request}<=0: 1.2 KB" in done.stdout.decode()
    assert "descend" in done.stdout.decode()
    done = seep.command("check", server, "-b", "held{within=no_such}<=0")
    assert done.status == 0 and b"no call stack passes through it" in done.stdout
    for budget in ("held{within=}<=0", "held{of=main}<=0", "held{}<=0"):
        assert seep.command("check", server, "-b", budget).status == 2
    done = seep.command("check", "--baseline", server, server, "-b", "held{within=descend}<=+0")
    assert done.status == 0, done.stdout


@pytest.mark.fast
def test_a_diff_is_of_what_is_within(seep, server, leaky):
    done = seep.command("diff", "--json", "--within", "handle_request", leaky, server)
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(Validator(SCHEMA, closed=True).check(found, SCHEMA["$defs"]["diff"], "$")) == []
    assert found["within"] == ["handle_request"]
    for side, path in (("before", leaky), ("after", server)):
        want = totals(document(seep, path, "--within", "handle_request"))
        assert {k: found["totals"][side][k] for k in FIGURES} == want
    names = {found["frames"][i]["function"] for c in found["changes"] for i in c["frames"]}
    assert {"descend", "session_remember"} <= names and "load_settings" not in names
    # One side is enough.
    done = seep.command("diff", "--within", "descend", leaky, server)
    assert done.status == 0 and b"live bytes      0 B  1.2 KB  +1.2 KB" in done.stdout
    assert b"entries, times and frees within functions" in done.stdout
    done = seep.command("diff", "--within", "neither", leaky, server)
    assert done.status == 2 and b"no call stack goes through neither" in done.stderr


@pytest.mark.fast
def test_an_export_has_what_is_within(seep, server):
    done = seep.command("export", "--to", "folded", "--by", "allocs", "--within", "handle_request",
                        server)
    lines = done.stdout.decode().splitlines()
    assert sum(int(line.split()[-1]) for line in lines) == 2 * REQUESTS + REQUESTS * DEPTH
    assert all(";handle_request;" in line for line in lines)
    formats = re.findall(r"^  (\w+): ", seep.command("export", "--help").stdout.decode(), re.M)
    assert len(formats) > 8
    for name in formats:
        out = seep.directory / f"out.{name}"
        done = seep.command("export", "--to", name, "--within", "parse", "-o", out, server)
        assert done.status == 0 and out.stat().st_size > 0, name


@pytest.mark.fast
def test_the_page_says_what_it_is_of(seep, server):
    page = seep.directory / "page.html"
    done = seep.command("report", server, "--within", "descend", "--html", page)
    assert done.status == 0, done.stderr
    view, found = read_page(page)
    assert any(line.startswith("Only within descend: ") for line in view["head"])
    assert found["within"] == ["descend"] and found["contexts"]["count"] >= 1


def test_top_shows_what_is_within_and_goes_on(seep):
    process = launch(seep, program("within_server"))
    try:
        process.stdout.readline()
        pid = str(process.pid)
        wait_until(lambda: top_json(seep, pid, "--interval", "50ms")["totals"]["live_blocks"],
                   "its blocks")
        for words, want in ((["--within", "handle_request"], NODES),
                            (["--within", "descend", "--without", "main"], (0, 0, 0)),
                            (["--within", "parse"], BODIES),
                            (["--within", "log_line", "--within", "grow"],
                             together(LINES, OTHERS, BODIES))):
            found = top_json(seep, pid, "--interval", "50ms", *words)
            assert found["totals"]["live_bytes"] == want[2]
            if want[2] == 0:
                assert found["totals"]["allocs"] == want[0] and found["contexts"] == []
        found = top_json(seep, pid, "--interval", "50ms", "--for", "300ms", "--within", "descend")
        # Stacks of recursion that was folded, and those that are not as deep.
        assert {c["blamed"]["function"] for c in found["contexts"]} == {"descend"}
        assert (found["within"], found["processes"][0]["live_blocks"]) == (["descend"], NODES[0])
        text = seep.command("top", pid, "--once", "--interval", "50ms", "--within", "descend")
        assert b"), within descend: 1.2 KB live" in text.stdout
        assert b"log_line" not in text.stdout
        done = seep.command("report", pid, "--within", "handle_request", "--json")
        assert json.loads(done.stdout)["totals"]["live_bytes"] == NODES[2]
    finally:
        finish(process)
