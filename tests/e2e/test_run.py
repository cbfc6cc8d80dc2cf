# SPDX-License-Identifier: MIT
"""`seep run` stands between a shell and a program without either of them noticing."""

import contextlib
import json
import os
import pty
import re
import signal
import struct
import subprocess
import time

import pytest

from harness import LIMIT_S, RUNTIME, SEEP, check_totals, program, run_plain

PYTHON = "/usr/bin/python3"
TRUE = "/bin/true"


def start(seep, command, *options, env=None, **how):
    """Begin a run in the background; the caller waits for it."""
    words = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", *options, "--", *command]
    return subprocess.Popen(
        [os.fspath(word) for word in words],
        env={**os.environ, **seep.environment(env)},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how},
    )


def finish(process):
    out, err = process.communicate(timeout=LIMIT_S)
    return process.returncode, out, err


def wait_until(condition, what):
    """Poll for something that has no event to wait for; fail if it never comes."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    pytest.fail(f"waited in vain for {what}")


def watched(seep, state=None):
    """The processes that `seep ps` lists from this test's folder."""
    listed = json.loads(seep.command("ps", "--json").stdout)["processes"]
    ours = [p for p in listed if p["ledger"].startswith(str(seep.ledger_dir) + "/")]
    return [p for p in ours if state is None or p["state"] == state]


# ---- refusals ------------------------------------------------------------------------------


def edit_true(folder, name, edit):
    path = folder / name
    with open(os.path.realpath(TRUE), "rb") as source:
        data = bytearray(source.read())
    edit(data)
    path.write_bytes(data)
    path.chmod(0o755)
    return path


def program_headers(data):
    offset, size, count = (
        struct.unpack_from("<Q", data, 32)[0],
        *struct.unpack_from("<HH", data, 54),
    )
    return [offset + size * i for i in range(count)]


def drop_loader(data):
    for at in program_headers(data):
        if struct.unpack_from("<I", data, at)[0] == 3:
            struct.pack_into("<I", data, at, 0)


def loader(name):
    def edit(data):
        for at in program_headers(data):
            if struct.unpack_from("<I", data, at)[0] == 3:
                place, size = (struct.unpack_from("<Q", data, at + o)[0] for o in (8, 32))
                data[place : place + size] = name.ljust(size, b"\0")

    return edit


def set_class_32(data):
    data[4] = 1


def set_machine(data):
    struct.pack_into("<H", data, 18, 183)


@pytest.mark.fast
@pytest.mark.parametrize(
    "edit, word",
    [
        (drop_loader, b"statically linked"),
        (loader(b"/lib/ld-musl-x86_64.so.1"), b"musl"),
        (loader(b"/system/linker64"), b"not glibc's"),
        (set_machine, b"64-bit ARM"),
    ],
    ids=["static", "musl", "other-loader", "other-machine"],
)
def test_a_program_that_takes_no_library_is_refused_before_it_starts(seep, edit, word):
    path = edit_true(seep.directory, "edited", edit)
    done = seep.command("run", path, cwd=seep.directory)
    assert done.status == 125
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert word in done.stderr
    assert os.listdir(seep.directory) == ["edited"]


def test_a_damaged_or_32_bit_header_is_refused(seep):
    path = edit_true(seep.directory, "edited", set_class_32)
    done = seep.command("run", path, cwd=seep.directory)
    assert done.status in (125, 126)
    assert done.stderr.count(b"\n") == 1


def test_a_set_user_id_program_is_refused(seep):
    if os.geteuid() != 0:
        pytest.skip("needs root to give a file away")
    path = edit_true(seep.directory, "edited", lambda data: None)
    os.chown(path, 1, 1)
    path.chmod(0o4755)
    done = seep.command("run", path, cwd=seep.directory)
    assert done.status == 125
    assert b"set-user-id" in done.stderr
    os.chown(path, 0, 1)
    path.chmod(0o2755)
    assert b"set-group-id" in seep.command("run", path, cwd=seep.directory).stderr
    # Our own set-user-id bit changes nothing for us.
    os.chown(path, 0, 0)
    path.chmod(0o4755)
    assert seep.run([path])[0].status == 0


def test_a_program_with_file_capabilities_is_refused_unless_root_runs_it(seep):
    if os.geteuid() != 0:
        pytest.skip("needs root to set file capabilities")
    # pytest's own folder is closed to others.
    path = edit_true(seep.ledger_dir, "edited", lambda data: None)
    try:
        os.setxattr(path, "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
    except OSError as problem:
        pytest.skip(f"no file capabilities here: {problem}")
    assert seep.run([path])[0].status == 0
    seep.ledger_dir.chmod(0o755)
    for folder in (*path.parents, *SEEP.parents):
        if not os.stat(folder).st_mode & 0o001:
            pytest.skip(f"{folder} is closed to others")
    done = subprocess.run(
        [SEEP, "run", path], user=65534, group=65534, extra_groups=[], capture_output=True,
        env={**os.environ, "SEEP_DIR": "/dev/shm/seep-test-not-made"}, check=False,
    )
    assert done.returncode == 125
    assert b"file capabilities" in done.stderr


@pytest.mark.parametrize(
    "text, status, word",
    [
        ("#!/no/such/interpreter\n", 127, b"/no/such/interpreter"),
        ("#!/etc/passwd\n", 126, b"/etc/passwd"),
        ("#!/bin/sh\nexit 5\n", 5, b""),
        ("exit 6\n", 6, b""),
    ],
    ids=["missing", "not-executable", "script", "no-interpreter-line"],
)
def test_a_script_is_judged_by_its_interpreter(seep, text, status, word):
    path = seep.directory / "script"
    path.write_text(text)
    path.chmod(0o755)
    result, _ = seep.run([path])
    assert result.status == status
    assert word in result.stderr
    assert (result.stderr == b"") == (status < 100)


@pytest.mark.fast
def test_what_is_missing_is_told_before_the_start(seep):
    marker = seep.directory / "started"
    touch = ["--", "/usr/bin/touch", marker]
    there = seep.directory / "there.seep"
    there.write_text("mine")
    open_dir = seep.directory / "open"
    open_dir.mkdir(mode=0o755)
    cases = [
        (["-o", "no/such/folder/x"], {}, b"no/such/folder"),
        (["-o", there], {}, b"--force"),
        (["-o", seep.directory], {}, b"not a plain file"),
        ([], {"SEEP_LIB": "/no/such/library"}, b"/no/such/library"),
        ([], {"SEEP_DIR": "/no/such/folder"}, b"/no/such/folder"),
        ([], {"SEEP_DIR": str(open_dir)}, b"others have access"),
    ]
    for options, env, word in cases:
        env = {**seep.environment(), **env}
        done = run_plain([SEEP, "run", *options, *touch], cwd=seep.directory, env=env)
        assert done.status in (2, 125), done
        assert word in done.stderr
        assert done.stderr.count(b"\n") == 1
    assert not marker.exists()
    assert there.read_text() == "mine"


def test_a_library_path_that_preloading_cannot_take_is_refused(seep):
    odd = seep.directory / "a b"
    odd.mkdir()
    os.symlink(RUNTIME, odd / "libseep.so")
    copy = odd / "copy.so"
    copy.write_bytes(RUNTIME.read_bytes())
    done = seep.command("run", TRUE, cwd=seep.directory, env={"SEEP_LIB": str(copy)})
    assert done.status == 125
    assert b"SEEP_LIB" in done.stderr


# ---- the program sees no difference ----------------------------------------------------------

SHOW_STATE = r"""
import os, re, sys
status = open("/proc/self/status").read()
print(re.findall(r"^(?:Sig(?:Blk|Ign|Cgt)|NoNewPrivs|Seccomp):.*$", status, re.M))
print(os.getcwd(), os.getpgrp() == os.getpgid(os.getppid()), sys.argv[1:])
print(sorted(int(f) for f in os.listdir("/proc/self/fd")))
print(sorted(k for k in os.environ if k.startswith("MARK")))
"""


@contextlib.contextmanager
def odd_signals():
    """Dispositions and a mask such as a service manager might hand down."""
    held = {n: signal.signal(n, signal.SIG_IGN) for n in (signal.SIGUSR2, signal.SIGPIPE)}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGCHLD])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in held.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("closed", [(), (0,), (2,), (0, 2)], ids=str)
def test_descriptors_signals_and_folder_are_handed_on_as_they_came(seep, closed):
    shown = seep.directory / "shown"
    command = [PYTHON, "-c", f"import sys; sys.stdout = open({str(shown)!r}, 'w')\n{SHOW_STATE}"]
    seen = []
    extra = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(extra, True)
    with odd_signals():
        for words in (command, [SEEP, "run", "-q", "-f", "-o", "x.seep", "--", *command]):
            redirect = "".join(f" {fd}<&-" for fd in closed)
            subprocess.run(
                ["/bin/sh", "-c", f'exec "$@"{redirect}', "sh", *words],
                cwd=seep.directory, env={**os.environ, **seep.environment()},
                close_fds=False, check=True, timeout=LIMIT_S, restore_signals=False,
            )
            seen.append(shown.read_text())
    os.close(extra)
    assert seen[0] == seen[1]
    assert (seep.directory / "x.seep").exists()


def test_the_environment_gains_only_what_the_library_needs(seep):
    show = "import os; print(sorted(k for k in os.environ), os.environ.get('LD_PRELOAD'))"
    env = {"LD_PRELOAD": str(program("lib_bump.so")), "MARK": "1", "SEEP_OPTIONS": "depth=50"}
    plain = run_plain([PYTHON, "-c", show], env=env).stdout.decode()
    result, recordings = seep.run([PYTHON, "-c", show], env=env, options=["--depth", "9"])
    recorded = result.stdout.decode()
    names = [set(re.findall(r"'(\w+)'", text)) for text in (plain, recorded)]
    assert names[1] - names[0] == {"SEEP_DIR", "SEEP_SESSION"}
    assert recorded.rstrip().endswith(f"{RUNTIME}:{env['LD_PRELOAD']}")
    assert recordings.path.exists()


def test_every_exit_status_is_passed_on(seep):
    for status in (0, 1, 2, 42, 125, 126, 127, 128, 255):
        assert seep.run(["/bin/sh", "-c", f"exit {status}"])[0].status == status


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGTERM", "SIGINT", "SIGABRT", "SIGRTMIN"])
def test_seep_dies_by_the_programs_signal(seep, name):
    number = getattr(signal, name)
    result, recordings = seep.run(["/bin/sh", "-c", f"kill -{int(number)} $$"])
    assert result.status == -number
    process = recordings.load(recordings.path)["process"]
    assert process["ended"] == "signal"
    assert process["status"] == {"signal": number}


def test_arguments_can_be_withheld(seep):
    _, recordings = seep.run(["/bin/sh", "-c", "exit 0", "secret"], options=["--no-argv"])
    assert recordings.main()["process"]["argv"] is None
    assert b"secret" not in recordings.path.read_bytes()


# ---- signals -------------------------------------------------------------------------------

CATCH = r"""
import signal, sys, time
def end(number, frame):
    print("caught", number, flush=True)
    sys.exit(40 + number)
for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1):
    signal.signal(n, end)
print("ready", flush=True)
while True:
    time.sleep(60)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGUSR1"])
def test_a_signal_to_seep_reaches_the_program(seep, name):
    number = getattr(signal, name)
    process = start(seep, [PYTHON, "-c", CATCH])
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    status, out, err = finish(process)
    assert out == b"caught %d\n" % number
    assert status == 40 + number
    assert err == b""
    assert (seep.directory / "run.seep").exists()


class Terminal:
    """A session on a pseudo terminal, with a process group in its foreground."""

    def __init__(self, words, env):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.execve(os.fspath(words[0]), [os.fspath(w) for w in words], env)
        self.pid = pid

    def read_until(self, text):
        data = b""
        while text not in data:
            data += os.read(self.fd, 4096)
        return data

    def drain(self):
        data = b""
        with contextlib.suppress(OSError):
            while chunk := os.read(self.fd, 4096):
                data += chunk
        return data

    def wait(self, flags=0):
        _, status = os.waitpid(self.pid, flags)
        return status


def test_an_interrupt_from_the_terminal_reaches_the_program_once(seep):
    words = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", "--", PYTHON, "-c", CATCH]
    terminal = Terminal(words, {**os.environ, **seep.environment()})
    terminal.read_until(b"ready")
    os.write(terminal.fd, b"\x03")
    output = terminal.drain()
    assert os.waitstatus_to_exitcode(terminal.wait()) == 42
    assert output.count(b"caught") == 1
    assert (seep.directory / "run.seep").exists()


# The terminal's session leader, as a shell would be: it hands the terminal to a job of its own.
JOB_SHELL = r"""
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
_, status = os.waitpid(pid, os.WUNTRACED)
assert os.WIFSTOPPED(status), status
os.tcsetpgrp(0, os.getpgrp())
print("prompt", flush=True)
sys.stdin.readline()
os.tcsetpgrp(0, pid)
os.killpg(pid, signal.SIGCONT)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""

# Stops itself only after it has put things in order, as editors do.
JOB = r"""
import os, signal, sys
def stop(number, frame):
    print("tidy", flush=True)
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTSTP])
    print("back", flush=True)
signal.signal(signal.SIGTSTP, stop)
print("ready", flush=True)
while True:
    line = sys.stdin.readline()
    if line == "end\n":
        sys.exit(9)
"""


def test_job_control_stops_and_continues_both(seep):
    recorded = [SEEP, "run", "-q", "-o", seep.directory / "run.seep", "--", PYTHON, "-c", JOB]
    words = [PYTHON, "-c", JOB_SHELL, *recorded]
    terminal = Terminal(words, {**os.environ, **seep.environment()})
    terminal.read_until(b"ready")
    os.write(terminal.fd, b"\x1a")
    assert b"tidy" in terminal.read_until(b"prompt")
    os.write(terminal.fd, b"\n")
    terminal.read_until(b"back")
    os.write(terminal.fd, b"end\n")
    terminal.drain()
    assert os.waitstatus_to_exitcode(terminal.wait()) == 9
    assert (seep.directory / "run.seep").exists()


# ---- the family ----------------------------------------------------------------------------


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
while zombies() and time.monotonic() < end:
    time.sleep(0.01)
print(zombies())
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


# ---- the recorder --------------------------------------------------------------------------


def test_two_recorders_share_a_folder(seep):
    folder = seep.directory
    script = "for i in 1 2 3 4 5 6 7 8; do /bin/true; done; exit $0"
    runs = [
        subprocess.Popen(
            [SEEP, "run", "-q", "-o", folder / f"r{i}.seep", "--", "/bin/sh", "-c", script, str(i)],
            env={**os.environ, **seep.environment()},
        )
        for i in range(4)
    ]
    assert [run.wait(timeout=LIMIT_S) for run in runs] == [0, 1, 2, 3]
    for i in range(4):
        report = json.loads(seep.command("report", folder / f"r{i}.seep", "--json").stdout)
        assert report["process"]["status"] == {"code": i}
        assert len(report["process"]["children"]) == 8
        assert len(list(folder.glob(f"r{i}.seep.*"))) == 8
    assert seep.ledgers() == []


def test_a_killed_recorder_takes_nothing_away(seep):
    script = CATCH.replace('print("ready"', 'kept = [b"k" * 1000 for _ in range(3000)]; print("ready"')
    process = start(seep, [PYTHON, "-c", script], env={"PYTHONMALLOC": "malloc"})
    assert process.stdout.readline() == b"ready\n"
    (entry,) = wait_until(lambda: watched(seep, "recorded"), "the recorder")
    assert entry["recorder_pid"] == process.pid
    process.kill()
    process.wait()
    (entry,) = watched(seep)
    assert entry["state"] == "recorder-gone"
    began = time.monotonic()
    os.kill(entry["pid"], signal.SIGTERM)
    assert process.stdout.read() == b"caught 15\n"
    wait_until(lambda: watched(seep, "dead"), "the end of the program")
    assert time.monotonic() - began < 9
    report = json.loads(seep.command("report", entry["ledger"], "--json").stdout)
    assert report["totals"]["alloc_bytes"] > 3000 * 1000
    check_totals(report)
    assert not (seep.directory / "run.seep").exists()


def test_time_is_told_by_samples_and_automatic_marks(seep):
    script = r"""
import os, time
kept = []
end = time.monotonic() + 2.2
while time.monotonic() < end:
    kept.append(bytearray(1000))
    time.sleep(0.0005)
os._exit(0)
"""
    _, recordings = seep.run([PYTHON, "-c", script], env={"PYTHONMALLOC": "malloc"})
    report = recordings.main()
    process, timeline = report["process"], report["timeline"]
    assert 20 < len(timeline) <= 1000
    for earlier, later in zip(timeline, timeline[1:]):
        assert earlier["at_ns"] < later["at_ns"]
        assert earlier["allocs"] <= later["allocs"]
        assert earlier["frees"] <= later["frees"]
    assert all(process["start_ns"] <= s["at_ns"] for s in timeline)
    assert all(s["rss_bytes"] > 1000000 for s in timeline)
    highest = max(s["live_bytes"] for s in timeline)
    assert 1000000 < highest <= report["totals"]["peak_bytes"] * 1.05
    ages = [(m["at_ns"] - process["start_ns"]) / 1e9 for m in report["marks"]]
    assert [m["name"] for m in report["marks"]] == [None, None]
    assert 1 <= ages[0] < 1.5 and 2 <= ages[1] < 2.5
    assert {e["epoch"] for c in report["contexts"] for e in c["epochs"]} == {0, 1, 2}


def test_the_summary_is_on_stderr_and_json_on_stdout(seep):
    done = seep.command(
        "run", "-o", "out.seep", "--json", "--", "/bin/echo", "hello", cwd=seep.directory
    )
    first, rest = done.stdout.split(b"\n", 1)
    assert first == b"hello"
    assert json.loads(rest)["process"]["exe"].endswith("echo")
    assert b"out.seep" in done.stderr
    quiet = seep.command("run", "-q", "--", "/bin/echo", "hello", cwd=seep.directory)
    assert (quiet.stdout, quiet.stderr) == (b"hello\n", b"")
    made = [p.name for p in seep.directory.glob("echo.*.seep")]
    assert len(made) == 1 and re.fullmatch(r"echo\.\d+\.seep", made[0])
    assert (seep.directory / made[0]).stat().st_mode & 0o777 == 0o600


def test_armed_but_off_records_nothing(seep):
    done = seep.command(
        "run", "-o", "x.seep", "--mode", "off", "--", "/bin/sh", "-c", "exit 3",
        cwd=seep.directory,
    )
    assert done.status == 3
    report = json.loads(seep.command("report", "x.seep", "--json", cwd=seep.directory).stdout)
    assert report["process"]["mode"] == "off"
    assert report["totals"]["allocs"] == 0


def test_a_full_folder_costs_the_account_but_not_the_run(seep):
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    small = seep.directory / "small"
    small.mkdir(mode=0o700)
    mounted = run_plain(["mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "none", small])
    if mounted.status != 0:
        pytest.skip("cannot mount here")
    try:
        done = run_plain(
            [SEEP, "run", "-o", "x.seep", "--", "/bin/echo", "hello"],
            cwd=seep.directory, env={"SEEP_DIR": str(small)},
        )
    finally:
        run_plain(["umount", small])
    assert done.status == 0
    assert done.stdout == b"hello\n"
    assert b"no account" in done.stderr


