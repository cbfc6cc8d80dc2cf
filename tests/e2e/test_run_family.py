# SPDX-License-Identifier: MIT
"""`seep run` and the children of the program: whose file is it, and who waits for whom?"""

import os
import re
import time

from harness import LIMIT_S
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
    wrong = seep.command("run", "--follow", "(", TRUE, cwd=seep.directory)
    assert wrong.status == 2


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


def test_failed_execs_cost_no_time_and_no_account(seep):
    script = r"""
import os
for _ in range(200):
    try:
        os.execv("/no/such/program", ["x"])
    except FileNotFoundError:
        pass
"""
    began = time.monotonic()
    result, recordings = seep.run([PYTHON, "-c", script])
    assert result.status == 0
    # One exit wait that nobody answers takes ten seconds.
    assert time.monotonic() - began < 9
    assert recordings.main()["process"]["ended"] == "exit"
    assert len(recordings.all()) == 1


def test_many_short_processes_are_answered_at_once(seep):
    began = time.monotonic()
    result, recordings = seep.run(["/bin/sh", "-c", "for i in $(seq 100); do /bin/true; done"])
    assert result.status == 0
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
    assert daemon["ledger"] in told
    # The parent's account explains what the daemon inherited, so it stays as well.
    (parent,) = watched(seep, "done")
    assert seep.command("report", daemon["ledger"]).status == 0
    stop.write_text("")
    # It does not wait for an answer that nobody would give.
    wait_until(lambda: watched(seep, "dead"), "the daemon's end")
    assert seep.command("report", daemon["ledger"]).status == 0
    os.unlink(daemon["ledger"])
    assert seep.run([TRUE])[0].status == 0
    assert not os.path.exists(parent["ledger"])


def test_the_largest_children_are_listed_first(seep):
    grow = "kept = [bytearray(1000) for _ in range({})]"
    script = "; ".join(f'{PYTHON} -c "{grow.format(n)}"' for n in (10, 9000, 3000))
    command = ["run", "-o", seep.directory / "run.seep", "--", "/bin/sh", "-c", f"{script}; exit 0"]
    done = seep.command(*command, env={"PYTHONMALLOC": "malloc"})
    lines = done.stderr.decode().splitlines()
    first = lines.index("seep: 3 child processes were recorded, by peak:") + 1
    peaks = [line.split(maxsplit=1)[1] for line in lines[first : first + 3]]
    assert all(re.fullmatch(r"[\d.]+ MB at its peak, [\d.]+ k allocations", p) for p in peaks)
    figures = [float(p.split()[0]) for p in peaks]
    assert figures == sorted(figures, reverse=True)
    assert figures[0] > 9
