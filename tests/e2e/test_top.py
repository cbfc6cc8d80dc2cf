# SPDX-License-Identifier: MIT
"""`seep top` without screens: what it prints agrees with what the program says of itself, and
neither it nor the program is harmed by what happens to the other or to the ledger."""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from harness import LIMIT_S, SEEP, parse_truth, program, run_plain
from running import finish, launch, wait_until, watched
from top_watch import QUICK, Told, blamed, told, top_json


def start_top(seep, *words):
    return subprocess.Popen([SEEP, "top", *words], env={**os.environ, **seep.environment()},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Viewer:
    """`seep top` in the background; what it has printed so far is in two files."""

    def __init__(self, seep, folder, *words, before=()):
        self.files = [folder / "viewer.out", folder / "viewer.err"]
        with open(self.files[0], "wb") as out, open(self.files[1], "wb") as err:
            self.process = subprocess.Popen(
                [*before, SEEP, "top", *words], env={**os.environ, **seep.environment()},
                stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def out(self):
        return self.files[0].read_bytes().decode()

    def said(self, *texts):
        wait_until(lambda: all(t in self.files[1].read_bytes().decode() for t in texts), texts)

    def rows(self):
        """Of --csv, those that are whole."""
        whole = self.out().rpartition("\r\n")[0]
        return list(csv.DictReader(io.StringIO(whole, newline="")))

    def readings(self):
        return sorted({int(row["time_ns"]) for row in self.rows()})

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(timeout=LIMIT_S)
        return status, self.out(), self.files[1].read_bytes().decode()


@pytest.mark.fast
def test_figures_of_a_process_that_holds_still_are_its_own(seep):
    with told(seep, "top_leaks") as target:
        wait_until(lambda: top_json(seep, target.pid)["totals"]["live_blocks"] > 1000, "some blocks")
        first = target.tell("stop")
        truth = parse_truth(first + target.answer())
        document = top_json(seep, target.pid, "--interval", "50ms")
        for function, want in truth.sites.items():
            contexts = blamed(document, function)
            for key, value in want.items():
                assert sum(c[key] for c in contexts) == value, (function, key)
            assert sum(c["change_bytes"] for c in contexts) == 0
        (process,) = document["processes"]
        assert process["pid"] == target.process.pid and process["state"] == "runs"
        assert process["live_bytes"] == document["totals"]["live_bytes"]


def test_two_hidden_leaks_are_named_while_the_program_runs(seep):
    with told(seep, "top_leaks") as target:
        done = seep.command("top", target.pid, "--once", "--for", "5s", *QUICK)
        text = done.stdout.decode()
        document = top_json(seep, target.pid, "--for", "5s", *QUICK, "--sort", "growth")
    growing = [c for c in document["contexts"] if (c.get("growth") or {}).get("verdict") == "GROWING"]
    assert {c["blamed"]["function"] for c in growing} == {"remember", "produce"}
    for context in growing:
        at = context["blamed"]
        assert at["file"].endswith("tests/programs/top_leaks.c") and at["line"] > 30
        assert context["growth"]["bytes"] > 0 and len(context["recent_bytes"]) == 16
    assert document["totals"]["growing"]["contexts"] == len(growing) == 2
    for name in ("remember", "produce"):
        assert re.search(rf"GROWING +{name} .*top_leaks\.c:\d+$", text, re.M), text
        assert re.search(rf"^GROWING {name}: \+.* ever freed", text, re.M), text
    assert "GROWING fill_cache" not in text and "GROWING serve" not in text


@pytest.mark.fast
def test_csv_has_a_line_for_each_stack_and_interval(seep):
    begun_ns = time.time_ns()
    with told(seep, "top_leaks") as target:
        done = seep.command("top", target.pid, "--csv", "--for", "1s", "--interval", "250ms", "--top", "3")
    assert done.status == 0 and b"\r\n" in done.stdout
    head, *rows = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
    assert head[:4] == ["time_ns", "pid", "live_bytes", "live_blocks"]
    assert all(len(row) == len(head) for row in rows)
    times = sorted({int(row[0]) for row in rows})
    # Fewer where the machine had no time for it.
    assert 1 <= len(times) <= 4 and len(rows) == 3 * len(times)
    assert all(begun_ns < int(row[head.index("realtime_ns")]) < time.time_ns() for row in rows)
    assert {"remember", "produce"} <= {row[head.index("function")] for row in rows}


def test_wait_begins_with_the_process_of_that_name(seep):
    top = start_top(seep, "--once", "--json", "--wait", "top_family", "--interval", "100ms")
    with told(seep, "top_family") as target:
        status, out, err = finish(top)
        assert status == 0, err
        assert f'"pid":{target.process.pid},' in out


@pytest.mark.fast
def test_wait_says_that_several_processes_have_the_name(seep):
    with told(seep, "top_family"), told(seep, "top_family"):
        done = seep.command("top", "--once", "--wait", "top_family")
    assert done.status == 2 and b"several processes run top_family" in done.stderr


def test_a_viewer_that_was_stopped_makes_up_for_nothing(seep, tmp_path):
    with told(seep, "top_leaks") as target:
        top = Viewer(seep, tmp_path, target.pid, "--csv", "--interval", "200ms", "--top", "1")
        before = len(wait_until(top.readings, "a reading"))
        top.process.send_signal(signal.SIGSTOP)
        resumed_ns = time.monotonic_ns() + 3 * 10**9
        wait_until(lambda: time.monotonic_ns() > resumed_ns, "some intervals")
        top.process.send_signal(signal.SIGCONT)
        wait_until(lambda: len(top.readings()) > before + 2, "more readings")
        status, _, _ = top.end()
        ran_ns = time.monotonic_ns() - resumed_ns
    after = [at for at in top.readings() if at > resumed_ns]
    assert status == 0 and len(after) <= ran_ns // (200 * 10**6) + 2


def test_nohup_keeps_the_viewer(seep, tmp_path):
    with told(seep, "top_leaks") as target:
        top = Viewer(seep, tmp_path, target.pid, "--csv", "--interval", "50ms", before=["nohup"])
        before = len(wait_until(top.readings, "a reading"))
        top.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(top.readings()) > before + 3, "more readings")
        assert top.end()[0] == 0


@pytest.mark.fast
def test_without_an_operand_one_process_is_chosen_and_several_are_listed(seep):
    everybodys = json.loads(seep.command("ps", "--json").stdout)["processes"]
    if any(p["state"] in ("running", "recorded", "recorder-gone") for p in everybodys):
        pytest.skip("others on this machine are recorded now")
    none = seep.command("top", "--once")
    assert none.status == 2 and b"no process is being recorded" in none.stderr
    with told(seep, "top_family") as first:
        assert str(first.process.pid) in seep.command("top", "--once", "--interval", "50ms").stdout.decode()
        with told(seep, "top_family") as second:
            done = seep.command("top", "--once")
            assert done.status == 2
            for target in (first, second):
                assert str(target.process.pid).encode() in done.stderr
            named = seep.command("top", "--once", "--interval", "50ms", str(second.process.pid))
            assert named.status == 0 and str(second.process.pid).encode() in named.stdout


@pytest.mark.fast
def test_without_a_terminal_screens_are_refused_and_once_is_named(seep):
    done = seep.command("top")
    assert done.status == 2 and b"--once" in done.stderr


def grown(top, *names):
    """Once these functions are GROWING."""
    wait_until(lambda: {row["function"] for row in top.rows() if row["verdict"] == "GROWING"} >=
               set(names), f"growth of {names}")


def test_growth_decides_the_status_where_it_is_asked_for(seep, tmp_path):
    with told(seep, "top_leaks") as target:
        top = Viewer(seep, tmp_path, target.pid, "--csv", *QUICK, "--growth-exitcode", "77")
        grown(top, "remember", "produce")
        assert top.end()[0] == 77
    with told(seep, "top_family") as target:
        done = seep.command("top", target.pid, "--once", "--for", "3s", *QUICK, "--growth-exitcode", "77")
        assert done.status == 0


def test_a_soak_test_that_was_interrupted_has_not_passed(seep, tmp_path):
    with told(seep, "top_family") as target:
        top = Viewer(seep, tmp_path, target.pid, "--csv", *QUICK, "--growth-exitcode", "77")
        wait_until(top.out, "its first line")
        assert top.end()[0] == -signal.SIGTERM
    top = Viewer(seep, tmp_path, "--wait", "nosuch", "--csv", "--growth-exitcode", "77")
    wait_until(lambda: b"waiting for a process" in top.files[1].read_bytes(), "its word")
    assert top.end()[0] == -signal.SIGTERM


def test_a_child_that_grew_until_it_died_counts_for_the_status(seep, tmp_path):
    script = f"exec 3<&0; {program('top_leaks')} <&3 >&2 & wait; read line"
    parent = launch(seep, "sh", "-c", script, stdout=None, stderr=subprocess.DEVNULL)
    try:
        (child,) = wait_until(lambda: {p["pid"] for p in watched(seep, "running")
                                       if p["pid"] != parent.pid}, "the child")
        top = Viewer(seep, tmp_path, str(parent.pid), "--csv", *QUICK, "--growth-exitcode", "77")
        grown(top, "remember")
        os.kill(child, signal.SIGKILL)
        top.said("was killed")
        assert top.end()[0] == 77
    finally:
        parent.kill()
        parent.communicate(timeout=LIMIT_S)


EVIL = b"evil$HOME`touch pwned`;touch pwned;'\"\x1b]0;t\x07,%s\\"


def test_on_growth_runs_once_and_names_stay_values(seep, tmp_path):
    name = b"a_name_that_shells_and_terminals_have_to_cope_with"
    path = tmp_path / "family"
    path.write_bytes(program("top_family").read_bytes().replace(name, EVIL.ljust(len(name), b"_")))
    path.chmod(0o755)
    evil = EVIL.ljust(len(name), b"_")
    out = tmp_path / "told"
    command = (f'printf "%s\\n" "$SEEP_FUNCTION" "$SEEP_PID" "$SEEP_GROWN_BYTES" '
               f'"$SEEP_BYTES_PER_HOUR" "$SEEP_HASH" "$SEEP_EVIDENCE" "$SEEP_EXE" "$SEEP_LINE" "$SEEP_CALLERS" >> {out}')
    with told(seep, "top_family", path=path) as target:
        target.tell("grow")
        done = run_plain([SEEP, "top", target.pid, "--once", "--for", "5s", *QUICK, "--on-growth", command],
                         cwd=tmp_path, env=seep.environment())
        assert done.status == 0, done.stderr
        lines = wait_until(lambda: out.exists() and out.read_bytes(), "the command").split(b"\n")
        table = done.stdout
        rows = seep.command("top", target.pid, "--csv", "--for", "200ms", "--interval", "100ms").stdout
        pid = target.pid
    assert not (tmp_path / "pwned").exists()
    assert lines[0] == evil and lines[1] == pid.encode()
    assert int(lines[2]) > 0 and int(lines[3]) > 0 and re.fullmatch(rb"[0-9a-f]{16}", lines[4])
    assert b"ever freed" in lines[5] and lines[6] == os.fsencode(path) and lines[7] == b"0"
    assert lines[8] and len(lines) == 10
    assert b"\x1b]" not in table and b"\\x1b]0;t\\x07" in table
    assert b"\x1b" not in rows
    shown = {row[9] for row in csv.reader(io.StringIO(rows.decode(), newline=""))}
    assert evil.decode().replace("\x1b", "\\x1b").replace("\x07", "\\x07") in shown


def test_a_command_that_hangs_holds_nobody_up(seep, tmp_path):
    pids = tmp_path / "pids"
    with told(seep, "top_leaks") as target:
        top = Viewer(seep, tmp_path, target.pid, "--csv", *QUICK,
                     "--on-growth", f"echo $$ >> {pids}; exec sleep 600 >&- 2>&-")
        grown(top, "remember", "produce")
        status, _, err = top.end()
    (pid,) = pids.read_text().split()
    os.kill(int(pid), signal.SIGKILL)
    assert status == 0 and "--on-growth: not run" in err


def test_a_killed_process_leaves_its_last_state(seep):
    with told(seep, "top_family") as target:
        target.tell("keep 5000")
        top = start_top(seep, target.pid, "--once", "--for", "60s", "--interval", "100ms")
        wait_until(lambda: is_open(top.pid, target.ledger()[0]), "the viewer")
        target.process.kill()
        status, out, err = finish(top)
    assert status == 0
    assert "was killed" in err
    assert re.search(r"4\.8 MB +.* 5000 .* keep", out), out


def is_open(pid, path):
    """The process has the file open or mapped."""
    try:
        return path in open(f"/proc/{pid}/maps", encoding="utf-8").read()
    except OSError:
        return False


def test_how_a_process_ended_is_said(seep):
    target = Told(seep, "top_family", recorder=True)
    ledger, pid = target.ledger()
    top = start_top(seep, str(pid), "--once", "--for", "60s", "--interval", "50ms")
    wait_until(lambda: is_open(top.pid, ledger), "the viewer")
    assert target.close() == 3
    status, out, err = finish(top)
    assert status == 0 and "exited with status 3" in err, err


def test_an_exec_is_followed(seep, tmp_path):
    with told(seep, "top_family") as target:
        target.tell("keep 3000")
        ledger, pid = target.ledger()
        top = Viewer(seep, tmp_path, target.pid, "--once", "--json", "--for", "60s", "--interval", "50ms")
        wait_until(lambda: is_open(top.process.pid, ledger), "the viewer")
        target.tell("exec")
        target.tell("keep 7000")
        top.said("ended by exec", "is new")
        status, out, _ = top.end()
    assert status == 0
    assert out.count(f'"pid":{pid},"ppid"') == 2
    live = [(c["live_blocks"], c["live_bytes"]) for c in json.loads(out)["contexts"]]
    assert (7000, 7000000) in live, out


def test_children_appear_and_are_summed(seep, tmp_path):
    with told(seep, "top_family") as target:
        target.tell("keep 2000")
        ledger, pid = target.ledger()
        top = Viewer(seep, tmp_path, target.pid, "--csv", "--interval", "50ms")
        wait_until(top.rows, "the viewer")
        target.tell("fork")
        top.said("is new")
        new = wait_until(lambda: [r for r in top.rows() if r["pid"] != str(pid)], "the child")[0]
        assert int(new["change_bytes"]) == int(new["live_bytes"]) > 0
        assert top.end()[0] == 0
        document = top_json(seep, str(pid), "--interval", "50ms")
        child = [p for p in document["processes"] if p["pid"] != pid]
        assert [p["ppid"] for p in child] == [pid]
        alone = top_json(seep, str(child[0]["pid"]), "--interval", "50ms")
    assert len(document["processes"]) == 2 and document["totals"]["processes"] == 2
    parent, = (p for p in document["processes"] if p["pid"] == pid)
    assert child[0]["live_bytes"] >= 3000 * 1000
    assert document["totals"]["live_bytes"] == parent["live_bytes"] + child[0]["live_bytes"]
    assert [p["pid"] for p in alone["processes"]] == [child[0]["pid"]]


def test_viewers_do_not_disturb_each_other_or_the_process(seep):
    with told(seep, "top_family") as target:
        ledger, _ = target.ledger()
        tops = [start_top(seep, target.pid, "--csv", "--interval", "50ms") for _ in range(3)]
        for top in tops:
            wait_until(lambda t=top: is_open(t.pid, ledger), "the viewer")
        tops[0].kill()
        tops[0].communicate()
        assert target.tell("keep 1000") == "done\n"
        tops[1].send_signal(signal.SIGTERM)
        assert finish(tops[1])[0] == 0
        assert target.tell("keep 1000") == "done\n"
        tops[2].send_signal(signal.SIGINT)
        assert finish(tops[2])[0] == 0
        document = top_json(seep, target.pid, "--interval", "50ms")
        assert sum(c["live_blocks"] for c in blamed(document, "keep")) == 2000


@pytest.mark.parametrize("harm, said", [
    ("cut", "truncated"),
    ("garbage", "written over"),
    ("replace", "replaced"),
])
def test_what_happens_to_the_ledger_is_said_and_what_was_read_stays(seep, tmp_path, harm, said):
    """On a copy: the process needs its own."""
    with told(seep, "top_family") as target:
        target.tell("keep 4000")
        path, pid = target.ledger()
        copy = tmp_path / os.path.basename(path)
        shutil.copyfile(path, copy)
        top = Viewer(seep, tmp_path, str(copy), "--once", "--for", "60s", "--interval", "50ms")
        wait_until(lambda: is_open(top.process.pid, str(copy)), "the viewer")
        if harm == "cut":
            os.truncate(copy, 8192)
        elif harm == "garbage":
            with open(copy, "r+b") as file:
                file.write(os.urandom(1 << 20))
        else:
            shutil.copyfile(path, tmp_path / "other")
            os.replace(tmp_path / "other", copy)
        top.said(said)
        status, out, _ = top.end()
        assert target.tell("keep 1") == "done\n"
    assert status == 0
    assert re.search(r"3\.8 MB +.* 4000 .* keep", out), out


def test_a_ledger_that_is_full_is_said_and_all_is_counted(seep):
    """20,000 call stacks, of which 512 KB have room for some."""
    process = launch(seep, program("many_contexts"), "2", "20000", "60",
                     env={"SEEP_OPTIONS": "ledger_max=512K"})
    try:
        assert process.stdout.readline().startswith(b"stacks=20000")
        document = top_json(seep, str(process.pid), "--interval", "50ms")
        text = seep.command("top", str(process.pid), "--once", "--interval", "50ms").stdout.decode()
    finally:
        process.kill()
        process.wait()
    (watched_one,) = document["processes"]
    assert "ledger-full" in [entry["code"] for entry in watched_one["unseen"]]
    assert "(ledger full)" in text and f"Not seen in process {process.pid}: " in text
    assert document["totals"]["live_blocks"] >= 20000


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_another_users_ledger_can_be_watched_by_root(seep, tmp_path):
    with told(seep, "top_family") as target:
        target.tell("keep 4000")
        path, pid = target.ledger()
        os.chown(path, 12345, 12345)
        document = top_json(seep, path, "--interval", "50ms")
        assert sum(c["live_blocks"] for c in blamed(document, "keep")) == 4000
        assert document["processes"][0]["pid"] == pid
