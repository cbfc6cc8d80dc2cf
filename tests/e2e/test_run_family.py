# SPDX-License-Identifier: MIT
"""`seep run` and the children of the program: whose file is it, and who waits for whom?"""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from harness import LIMIT_S, need, program
from running import PYTHON, TRUE, start, wait_until, watched


def test_orphans_leave_no_zombies(seep):
    script = r"""
import os, time
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
parent = os.getppid()
def zombies():
    found = 0
    for pid in open(f"/proc/{parent}/task/{parent}/children").read().split():
        try:
            found += open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            pass
    return found
end = time.monotonic() + 60
while (found := zombies()) and time.monotonic() < end:
    time.sleep(0.01)
print(found)
"""
    result, recordings = seep.run([PYTHON, "-c", script])
    assert result.stdout == b"0\n"
    report = recordings.main()
    assert report["forked"]["processes"] + len(report["process"]["children"]) == 40


def test_following_can_be_limited_by_path(seep):
    script = "/bin/true; /bin/echo x; exit 0"
    _, recordings = seep.run(["/bin/sh", "-c", script], options=["--follow", "/echo$"])
    names = {os.path.basename(r["process"]["exe"]) for r in recordings.all()[1:]}
    assert names == {"echo"}
    assert seep.ledgers() == []


def exe_of(report):
    return os.path.basename(report["process"]["exe"])


def followed(seep, script, regex):
    """The main report, and those of the children that match, by program."""
    script_path = seep.directory / "a script"
    if not script_path.exists():
        script_path.write_text(f"#!/bin/sh\n{script}\n")
        script_path.chmod(0o700)
    options = ["--follow", regex]
    result, recordings = seep.run(["/bin/bash", "-c", '"$0"; exit 5', script_path], options=options)
    assert result.status == 5
    assert result.stderr == b""
    assert seep.ledgers() == []
    main, *others = recordings.all()
    assert exe_of(main) == "bash"
    return main, sorted(others, key=exe_of)


@pytest.mark.parametrize(
    "script, regex, programs",
    [
        ("/bin/echo a | /bin/cat | /bin/sed s/a/b/", "/(cat|sed)$", ["cat", "sed"]),
        # Of a script the path is its interpreter's.
        ("/bin/true", "a script", []),
        ("/bin/true", "/(da)?sh$", ["dash"]),
        # Programs that replace each other, of which one in the middle or the last one counts.
        ("exec /usr/bin/env /bin/sh -c 'exec /bin/cat /dev/null'", "/env$", ["env"]),
        ("exec /usr/bin/env /bin/sh -c 'exec /bin/cat /dev/null'", "/cat$", ["cat"]),
        ("exec /usr/bin/env /bin/sh -c 'exec /bin/cat /dev/null'", "/(env|cat)$", ["cat", "env"]),
        # Below programs that are not followed: by fork and exec, by posix_spawn, in the background.
        ("/usr/bin/env /bin/sh -c '/bin/cat /dev/null; exit'", "/cat$", ["cat"]),
        ("echo x | /usr/bin/xargs -n1 /bin/sh -c '/bin/cat /dev/null'", "/cat$", ["cat"]),
        ("(/bin/cat /dev/null &) ; wait", "/cat$", ["cat"]),
        ("/bin/cat /dev/null", "nothing like it", []),
    ],
)
def test_odd_programs_are_followed_by_their_path(seep, script, regex, programs):
    main, others = followed(seep, script, regex)
    assert [exe_of(report) for report in others] == programs
    assert set(main["process"]["children"]) == {report["process"]["pid"] for report in others}
    # What is not followed is in no figure.
    assert main["forked"]["processes"] == 0
    for report in others:
        assert report["totals"]["allocs"] > 0
        assert report["process"]["ended"] in ("exit", "exec")


def test_forks_of_a_followed_child_are_its_own_and_those_of_others_are_nobodys(seep):
    fork = "import os\nfor _ in range(3):\n  if os.fork() == 0: os._exit(0)\n  os.wait()"
    script = f"/usr/bin/python3 -c '{fork}'; /bin/sh -c '(/bin/true); (exit 1)'"
    main, others = followed(seep, script, "/python3[^/]*$")
    # The forks have the path that matches, however small they are.
    assert len(others) == 4
    (parent,) = [r for r in others if r["process"]["ppid"] not in pids(others)]
    assert set(parent["process"]["children"]) == pids(others) - {parent["process"]["pid"]}
    assert main["forked"]["processes"] == 0


def pids(reports):
    return {report["process"]["pid"] for report in reports}


def test_the_last_program_of_a_process_gets_the_file(seep):
    _, recordings = seep.run(["/bin/bash", "-c", "exec /bin/echo done"])
    main, *others = recordings.all()
    assert os.path.basename(main["process"]["exe"]) == "echo"
    assert main["process"]["ended"] == "exit"
    assert [os.path.basename(r["process"]["exe"]) for r in others] == ["bash"]
    assert others[0]["process"]["ended"] == "exec"


def test_a_process_that_runs_one_program_again_and_again_has_a_file_for_each(seep):
    script = 'if [ "$1" -gt 0 ]; then exec "$0" -c "$2" "$0" $(($1 - 1)) "$2"; fi'
    _, recordings = seep.run(["/bin/sh", "-c", script, "/bin/sh", "5", script])
    reports = recordings.all()
    assert len(reports) == 6
    assert len({r["process"]["pid"] for r in reports}) == 1
    assert [r["process"]["ended"] for r in reports].count("exec") == 5
    assert reports[0]["process"]["ended"] == "exit"


def test_failed_execs_cost_no_time_and_no_recording(seep):
    script = r"""
import os
for _ in range(200):
    try:
        os.execv("/no/such/program", ["x"])
    except FileNotFoundError:
        pass
"""
    began = time.monotonic()
    recordings = seep.record([PYTHON, "-c", script])
    # One exit wait that nobody answers takes ten seconds.
    assert time.monotonic() - began < 9
    assert recordings.main()["process"]["ended"] == "exit"
    assert len(recordings.all()) == 1


def test_many_short_processes_are_answered_at_once(seep):
    began = time.monotonic()
    recordings = seep.record(["/bin/sh", "-c", "for i in $(seq 100); do /bin/true; done"])
    assert time.monotonic() - began < 60
    assert len(recordings.main()["process"]["children"]) == 101
    assert seep.ledgers() == []


def test_a_daemon_does_not_hold_up_the_end(seep):
    stop = seep.directory / "stop"
    script = r"""
import os, sys, time
block = [b"x" * 100000]
if os.fork() == 0:
    os.setsid()
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.02)
    os._exit(0)
os._exit(4)
"""
    with open(os.devnull, "wb") as null, open(seep.directory / "err", "wb") as err:
        process = start(seep, [PYTHON, "-c", script, stop], stdout=null, stderr=err)
        assert process.wait(timeout=LIMIT_S) == 4
    told = (seep.directory / "err").read_text()
    (daemon,) = watched(seep, "running")
    assert f"seep save {daemon['pid']} " in told
    # The parent's ledger explains what the daemon inherited, so it stays as well.
    (parent,) = watched(seep, "done")
    assert seep.command("report", daemon["ledger"]).status == 0
    stop.write_text("")
    # It does not wait for an answer that nobody would give.
    wait_until(lambda: watched(seep, "dead"), "the daemon's end")
    assert seep.command("report", daemon["ledger"]).status == 0
    os.unlink(daemon["ledger"])
    assert seep.run([TRUE])[0].status == 0
    assert not os.path.exists(parent["ledger"])


def told(seep, *command, options=(), **how):
    """The lines that a run says on standard error."""
    words = ["run", "-f", "-o", "run.seep", *options, "--", *command]
    return seep.command(*words, cwd=seep.directory, **how).stderr.decode().splitlines()


def grow(*counts):
    """A script whose children keep so many blocks of 1,000 bytes."""
    code = "kept = [bytearray(1000) for _ in range({})]"
    return "; ".join(f'{PYTHON} -c "{code.format(n)}"' for n in counts) + "; exit 0"


def table_of(lines):
    first = next(i for i, line in enumerate(lines) if line.split()[:2] == ["PID", "PROGRAM"])
    last = next(i for i, line in enumerate(lines) if line.startswith("All "))
    return [line.split() for line in lines[first + 1 : last]], " ".join(lines[last:])


def test_the_process_with_the_largest_peak_leads_and_the_others_follow(seep):
    env = {"PYTHONMALLOC": "malloc"}
    lines = told(seep, "/bin/sh", "-c", grow(10, 9000, 3000), env=env)
    lead = re.match(r"seep: python3\S* \(pid (\d+)\)", lines[0])
    assert lead, lines[0]
    path = f"run.seep.d/{lead[1]}.{os.path.basename(os.path.realpath(PYTHON))}.seep"
    assert any(line.startswith(f"Next: seep report {path}") for line in lines)
    report = seep.command("report", "--json", path, cwd=seep.directory)
    assert json.loads(report.stdout)["totals"]["peak_bytes"] > 9_000_000
    rows, together = table_of(lines)
    assert [row[1][:6] for row in rows] == ["python", "python", "dash"]
    assert lead[1] not in [row[0] for row in rows]
    peaks = [float(row[2]) * {"KB": 1 << 10, "MB": 1 << 20}[row[3]] for row in rows]
    assert peaks == sorted(peaks, reverse=True)
    assert rows[0][-1] == f"{rows[0][0]}.{os.path.basename(os.path.realpath(PYTHON))}.seep"
    assert rows[-1][-1] == "../run.seep"
    assert together.startswith("All 4 processes together: ")


def test_the_program_itself_leads_if_it_is_the_largest(seep):
    code = "import subprocess; kept = bytearray(5000000); subprocess.run(['/bin/true'])"
    lines = told(seep, PYTHON, "-c", code)
    assert lines[0].startswith("seep: python3")
    assert any(line.startswith("Next: seep report run.seep") for line in lines)
    rows, _ = table_of(lines)
    assert [row[1] for row in rows] == ["true"]
    alone = "\n".join(told(seep, TRUE))
    assert "PROGRAM" not in alone and "together" not in alone


def test_of_many_processes_the_largest_and_the_program_itself_are_listed(seep):
    lines = told(seep, "/bin/sh", "-c", "/bin/ls / >/dev/null; " * 20 + "exit 0")
    rows, together = table_of(lines)
    assert len(rows) == 8
    assert rows[-1][1] == "dash"
    assert together.startswith("All 21 processes together: ")
    # The children ran one after another.
    most = re.search(r"add up to at most ([\d.]+) KB", " ".join(together.split()))
    assert float(most[1]) < 200
    assert all(len(line) <= 80 for line in lines)


# ---- a program that becomes one without a ledger ------------------------------------------------


def exec_unrecorded(recordings):
    return [u["detail"] for u in recordings.main()["unseen"] if u["code"] == "exec-unrecorded"]


def test_an_exec_past_us_is_said_to_be_one(seep):
    _, recordings = seep.run(["env", "-u", "LD_PRELOAD", "true"])
    (said,) = exec_unrecorded(recordings)
    # By its path if the recorder was quick to see it.
    begin = r"the process then called exec: this recording is of env only; (/\S*/)?true was not recorded: "
    assert re.match(begin, said)
    done = seep.command("run", "-o", seep.directory / "x.seep", "env", "-u", "LD_PRELOAD",
                        "true")
    assert re.search(f"Not seen: {begin}", " ".join(done.stderr.decode().split()))
    _, recordings = seep.run(["/bin/sh", "-c", "exec env true"])
    assert exec_unrecorded(recordings) == []


STATIC = """
#include <stdlib.h>
#include <unistd.h>
int main(int n, char **v) { return usleep(atof(v[n - 1]) * 1e6); }
"""


@pytest.fixture
def static(seep):
    """A program without libraries that lives as many seconds as it is told."""
    path = seep.directory / "static"
    subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", path], input=STATIC, text=True, check=True)
    return path


@pytest.mark.parametrize(
    "way, reason",
    [("environment", "LD_PRELOAD had been taken out of its environment"),
     ("static", "is statically linked")],
)
def test_why_an_exec_went_past_us_is_known_of_what_lives_on(seep, static, way, reason):
    words = ["env", "-u", "LD_PRELOAD", "sleep"] if way == "environment" else ["env", static]
    # How long is long enough depends on how busy the machine is.
    for life_s in (0.1, 0.5, 2.5, 12.5):
        _, recordings = seep.run([*words, str(life_s)])
        (said,) = exec_unrecorded(recordings)
        if reason in said:
            break
    assert reason in said


def test_what_a_file_is_says_why_even_of_what_lives_for_a_moment(seep, static):
    # Long enough to be seen once, and too short for a second look at its process.
    for _ in range(50):
        _, recordings = seep.run(["/bin/sh", "-c", f"read x < /dev/null; exec {static} 0.01"])
        (said,) = exec_unrecorded(recordings)
        if "is statically linked" in said:
            break
    assert f"{static} is statically linked" in said


def test_a_set_user_id_program_is_said_to_be_one(seep):
    if os.geteuid() != 0:
        pytest.skip("needs root to give a file away")
    path = seep.ledger_dir / "other"
    shutil.copy(TRUE, path)
    os.chown(path, 65534, -1)
    path.chmod(0o4755)
    _, recordings = seep.run(["/bin/sh", "-c", f"exec {path}"])
    (said,) = exec_unrecorded(recordings)
    assert "is a set-user-id program: no library can be preloaded into it" in said


def test_children_that_become_unrecorded_programs_are_told_where_no_recording_does(seep, static):
    script = f"{static} 0.2; {static} 0.2; exit 3"
    out = seep.directory / "run.seep"
    done = seep.command("run", "-o", out, "bash", "-c", script)
    assert done.status == 3
    report = seep.load(out)
    (said,) = [u["detail"] for u in report["unseen"] if u["code"] == "exec-unrecorded"]
    assert said.startswith("2 processes without a recording called exec: ")
    assert said in done.stderr.decode()
    # Which, if the recorder was quick to see it.
    assert f"{static} is statically linked" in said or "it made no ledger" in said


# ---- ledgers that are gone ----------------------------------------------------------------------


def test_a_process_whose_ledger_was_removed_is_said_to_have_no_recording(seep):
    script = ('until grep -q "$SEEP_DIR.*ledger" /proc/$PPID/maps; do :; done; '
              'rm "$SEEP_DIR"/*sh.*.ledger; exit 3')
    done = seep.command("run", "-q", "-o", seep.directory / "run.seep", "bash", "-c", script)
    assert done.status == 3
    said = rb"seep run: nothing was recorded for bash \(pid \d+\): its ledger was removed: "
    assert re.match(said, done.stderr), done.stderr


def test_a_folder_of_ledgers_that_was_removed_is_told(seep):
    script = 'rm -r "$SEEP_DIR"; exit 3'
    done = seep.command("run", "-q", "-o", seep.directory / "run.seep", "bash", "-c", script)
    seep.ledger_dir.mkdir()
    assert done.status == 3
    said = f"seep run: the folder of ledgers, {seep.ledger_dir}, was removed: nothing was recorded"
    assert said in done.stderr.decode()


def test_another_users_program_is_said_to_have_its_ledger_elsewhere(seep):
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    user = 1_000_000_000 + os.getpid()
    words = ["setpriv", "--reuid", str(user), "--clear-groups", "true"]
    try:
        _, recordings = seep.run(words)
    finally:
        shutil.rmtree(f"/dev/shm/seep-{user}", ignore_errors=True)
    (said,) = exec_unrecorded(recordings)
    assert f"it runs as user {user}, whose ledgers are in /dev/shm/seep-{user}" in said


@pytest.mark.parametrize("seconds", ["0", "0.7"])
@pytest.mark.parametrize(
    "option, kibibytes, limit",
    [("f", 10, "RLIMIT_FSIZE"), ("v", 100000, "RLIMIT_AS"), ("d", 6000, "RLIMIT_DATA")],
)
def test_a_limit_that_leaves_the_next_program_no_ledger_is_named(
    seep, option, kibibytes, limit, seconds
):
    # Seen while it lives, or at its end.
    script = f'ulimit -{option} {kibibytes}; exec sleep {seconds}'
    _, recordings = seep.run([need("bash"), "-c", script])
    (said,) = exec_unrecorded(recordings)
    begin = rf"the process then called exec: this recording is of bash only; (/\S*/)?sleep was .*: its [a-z ]+ \({limit}\) is limited to "
    assert re.match(begin, said) and f'("ulimit -{option}"' in said, said


# ---- children without a ledger ------------------------------------------------------------------


def unrecorded_child(recordings):
    return [u["detail"] for u in recordings.main()["unseen"] if u["code"] == "unrecorded-child"]


def test_a_limit_that_leaves_forks_no_ledger_is_named(seep):
    _, recordings = seep.run([program("squeeze"), "work", "100", "fsize", "8192", "fork", "3000"])
    (said,) = unrecorded_child(recordings)
    assert "1 child process was not recorded: its file size (RLIMIT_FSIZE) is limited to" in said
    assert '("ulimit -f"' in said


def test_a_user_who_leaves_forks_no_ledger_here_is_named(seep):
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    _, recordings = seep.run([program("squeeze"), "work", "100", "setuid", "fork", "3000"])
    (said,) = unrecorded_child(recordings)
    assert "whose ledgers are in /dev/shm/seep-65534; look there as that user" in said


# ---- sums -----------------------------------------------------------------------------------------


def incomplete(report):
    return [u["detail"] for u in report["unseen"] if u["code"] == "run-incomplete"]


def test_sums_say_that_they_leave_out_what_could_not_be_written(seep):
    # The folder of the children's recordings cannot be made.
    script = 'touch "$0.d"; (:); /bin/cat /dev/null; exit 3'
    path = seep.directory / "run.seep"
    words = ["run", "-o", path, "--", "/bin/bash", "-c", script, path]
    done = seep.command(*words)
    assert done.status == 3
    assert done.stderr.count(b"the ledger is kept: ") == 2, done.stderr.decode()
    said = "the sums of all processes are without 2 whose recording could not be written"
    assert said in " ".join(done.stderr.decode().split())
    report = seep.load(path)
    assert incomplete(report) == [said]


def test_sums_say_that_they_leave_out_what_goes_on(seep):
    _, recordings = seep.run(["/bin/sh", "-c", "(sleep 60 >pid.out 2>&1 & echo $! > pid); true; exit"],
                             cwd=seep.directory)
    os.kill(int((seep.directory / "pid").read_text()), signal.SIGKILL)
    said = "the sums of all processes are without 1 that went on running"
    assert incomplete(recordings.main()) == [said]


# ---- files ---------------------------------------------------------------------------------------


def files_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_a_program_without_children_leaves_one_file(seep):
    folder = seep.directory / "alone"
    folder.mkdir()
    assert seep.command("run", "-q", "-o", "x.seep", TRUE, cwd=folder).status == 0
    assert os.listdir(folder) == ["x.seep"]


def test_children_are_in_one_folder_and_a_rerun_leaves_no_litter(seep):
    folder = seep.directory / "many"
    folder.mkdir()
    words = ["run", "-q", "-o", "x.seep", "/bin/sh", "-c"]
    many = "for i in 1 2 3 4 5; do /bin/ls >/dev/null; done; exit 3"
    assert seep.command(*words, many, cwd=folder).status == 3
    assert len(files_below(folder)) == 6
    assert sorted(os.listdir(folder)) == ["x.seep", "x.seep.d"]
    (folder / "x.seep.d" / "notes").write_text("mine")
    refused = seep.command(*words, many, cwd=folder)
    assert refused.status == 125 and b"--force" in refused.stderr
    os.rename(folder / "x.seep", folder / "y.seep")
    refused = seep.command(*words, many, cwd=folder)
    assert refused.status == 125 and b"x.seep.d holds" in refused.stderr
    words.insert(1, "-f")
    assert seep.command(*words, "/bin/ls; exit 4", cwd=folder).status == 4
    assert len(files_below(folder)) == 4 and "x.seep.d/notes" in files_below(folder)
    os.rename(folder / "x.seep.d" / "notes", folder / "x.seep.d" / "7.notes.seep")
    words.remove("-q")
    said = seep.command(*words, "exit 4", cwd=folder).stderr
    assert b"seep: 1 file in x.seep.d was kept: not recordings of an earlier run\n" in said
    assert files_below(folder) == ["x.seep", "x.seep.d/7.notes.seep", "y.seep"]
    os.unlink(folder / "x.seep.d" / "7.notes.seep")
    assert seep.command(*words, "exit 5", cwd=folder).status == 5
    assert files_below(folder) == ["x.seep", "y.seep"]
    assert not (folder / "x.seep.d").exists()


def test_a_rerun_leaves_no_snapshots_of_the_run_before(seep):
    run = ["run", "-q", "-f", "-o", "x.seep"]
    assert seep.command(*run, "sleep", "0.1", cwd=seep.directory).status == 0
    for name in ("x.041.seep", "x.42.seep", "xx.043.seep"):
        shutil.copy(seep.directory / "x.seep", seep.directory / name)
    (seep.directory / "x.044.seep").write_text("mine")
    assert seep.command(*run, "true", cwd=seep.directory).status == 0
    left = [name for name in files_below(seep.directory) if name.startswith("x")]
    assert left == ["x.044.seep", "x.42.seep", "x.seep", "xx.043.seep"]


def test_the_recording_knows_the_other_processes_and_what_all_come_to(seep):
    _, recordings = seep.run(["/bin/sh", "-c", "(exit 0); /bin/ls /; /bin/true; exit 0"])
    sql = "SELECT recording, pid, allocs, freed_bytes, live_bytes, peak_bytes FROM other_process"
    rows = json.loads(seep.command("query", "--json", recordings.path, sql).stdout)
    assert sorted(row["recording"].split(".")[1] for row in rows) == ["ls", "true"]
    reports = recordings.all()
    totals = {r["process"]["pid"]: r["totals"] for r in reports}
    for row in rows:
        assert row["recording"] in [path.name for path in recordings.paths()]
        for key in ("allocs", "freed_bytes", "live_bytes", "peak_bytes"):
            assert row[key] == totals[row["pid"]][key]
    (run,) = json.loads(seep.command("query", "--json", recordings.path, "SELECT * FROM run").stdout)
    assert recordings.main()["run"]["others"][0]["recording"] == rows[0]["recording"]
    assert {k: v for k, v in recordings.main()["run"].items() if k != "others"} == {
        k: v for k, v in run.items() if k != "id"}
    assert run["processes"] == 4 and reports[0]["forked"]["processes"] == 1
    for key in ("allocs", "alloc_bytes", "frees", "freed_bytes", "live_bytes"):
        assert run[key] == sum(r["totals"][key] + r["forked"][key] for r in reports)
    peaks = sorted(t["peak_bytes"] for t in totals.values())
    assert run["peaks_bytes"] == sum(peaks)
    # One child at a time.
    assert run["peaks_at_once_bytes"] == totals[reports[0]["process"]["pid"]]["peak_bytes"] + peaks[-1]
    said = seep.command("report", recordings.path).stdout.decode()
    largest = max(rows, key=lambda row: row["peak_bytes"])
    assert said.startswith(f"{largest['recording'].split('.')[1]} (pid {largest['pid']}) had a larger")
    assert f"seep report {recordings.path}.d/{largest['recording']}" in said
    assert "The other 2 processes of this run, by peak" in said
    assert "All 4 processes together" in said
    alone = seep.command("report", recordings.paths()[1]).stdout.decode()
    assert "processes together" not in alone
