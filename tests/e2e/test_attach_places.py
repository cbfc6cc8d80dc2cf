# SPDX-License-Identifier: MIT
"""Whom `seep attach` reaches, in other roots, namespaces and under other users; and whom it leaves
alone, with a sentence that says why."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from attach_target import attach, check_sums, detach, is_recorded, state_of, target, told_why
from harness import BUILD, LIMIT_S, SEEP, check_truth, need, need_open_to_others, program, run_plain
from running import apart, wait_until

NOBODY = 65534


def need_root():
    if os.geteuid() != 0:
        pytest.skip("only root may do this")


def truth_holds(seep, process):
    """Attached to, recorded to the byte, let go; the attempt if it was refused with a reason."""
    process.ask("round")
    process.ask("begin")
    attempt = attach(seep, process.pid)
    if attempt.attached:
        truth = process.truth()
        # Its programs and libraries are those of its own root.
        report = seep.load(str(process.pid), "--symbols", f"/proc/{process.pid}/root")
        check_sums(report)
        check_truth(report, truth)
        detach(seep, process.pid)
    else:
        print(told_why(attempt))
    process.ask("round")
    return attempt


def with_libraries(root, *files):
    """A folder with these programs and what they are linked with, for a chroot."""
    for file in files:
        shutil.copy(file, root / file.name)
        for path in re.findall(r"(/\S+) \(0x", run_plain(["ldd", file]).stdout.decode()):
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)


# ---- reached -----------------------------------------------------------------------------------

NAMESPACES = {
    "mount": [],
    "pid": ["--fork", "--pid", "--mount-proc"],
    "pid-foreign-proc": ["--fork", "--pid"],
    "user": ["--user", "--map-root-user"],
    "time": ["--fork", "--time", "--boottime", "100000", "--monotonic", "100000"],
    "net-ipc-uts": ["--net", "--ipc", "--uts"],
    "all": ["--fork", "--pid", "--mount-proc", "--user", "--map-root-user", "--net", "--ipc", "--uts",
            "--cgroup"],
}


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_process_in_namespaces_of_its_own_is_attached_to(seep, name):
    with target(program("attach_targets"), "truth", words=apart(*NAMESPACES[name])) as process:
        attempt = truth_holds(seep, process)
    assert attempt.attached, attempt.reason


def test_a_process_that_does_not_see_the_library_is_attached_to(seep):
    """Its folder and that of the ledgers are empty in the target's mounts."""
    hidden = [BUILD, seep.ledger_dir]
    words = [*apart(), "sh", "-ec", "\n".join([
        "kept=$(mktemp -d)", "mount -t tmpfs none $kept",
        f"cp {program('attach_targets')} {program('lib_attach_plugin.so')} $kept",
        *(f"mount -t tmpfs none {path}" for path in hidden),
        'exec $kept/attach_targets truth'])]
    with target("attach_targets", words=words) as process:
        attempt = truth_holds(seep, process)
    assert attempt.attached, attempt.reason


@pytest.mark.parametrize("proc", ["with", "without"])
def test_a_process_in_a_chroot_is_attached_to_or_told_why(seep, proc):
    need_root()
    root = seep.directory / "root"
    for folder in ("proc", "dev", "tmp"):
        (root / folder).mkdir(parents=True)
    with_libraries(root, program("attach_targets"), program("lib_attach_plugin.so"))
    mount = f"mount -t proc proc {root}/proc; " if proc == "with" else ""
    # Without /proc it does not find its plugin: a mode that loads none.
    mode = "truth" if proc == "with" else "churn"
    words = [*apart(), "sh", "-ec", f"{mount}exec chroot {root} /attach_targets {mode}"]
    with target("attach_targets", words=words) as process:
        if proc == "with":
            attempt = truth_holds(seep, process)
            assert attempt.attached, attempt.reason
        else:
            attempt = attach(seep, process.pid)
            process.ask("round")
            print(attempt)
            if attempt.attached:
                check_sums(seep.load(str(process.pid)))
                detach(seep, process.pid)
            else:
                told_why(attempt)


def test_a_process_that_may_write_nowhere_is_attached_to_or_told_why(seep):
    """Every file system is read-only for it: that of ledgers too."""
    words = [*apart(), "sh", "-ec", "mount --make-rprivate / || true\n"
                  "awk '$5 != \"/proc\" { print $5 }' /proc/self/mountinfo | sort -r | while read m\n"
                  "do mount -o remount,bind,ro \"$m\" 2>/dev/null || true; done\n"
                  "if touch /dev/shm/written 2>/dev/null; then echo writable; exit 1; fi\n"
                  f"exec {program('attach_targets')} truth"]
    with target("attach_targets", words=words) as process:
        truth_holds(seep, process)


def in_reach_of_others(seep):
    """Copies of the target for a user who may not read the library."""
    folder = pathlib.Path("/tmp") / f"seep-attach-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    for name in ("attach_targets", "lib_attach_plugin.so"):
        shutil.copy(program(name), folder)
    os.chmod(folder, 0o755)
    return folder


@pytest.mark.parametrize("library", ["open", "closed"])
def test_root_attaches_to_the_process_of_another_user(seep, library):
    """Who may neither write the folder of ledgers nor, closed, read the library."""
    need_root()
    folder = in_reach_of_others(seep)
    try:
        if library == "open":
            need_open_to_others(SEEP)
        else:
            os.chmod(seep.ledger_dir, 0o700)
        with target(folder / "attach_targets", "truth", user=NOBODY, group=NOBODY,
                    extra_groups=[]) as process:
            attempt = truth_holds(seep, process)
        assert attempt.attached, attempt.reason
    finally:
        shutil.rmtree(folder)


def test_a_process_that_gave_up_root_is_attached_to(seep):
    """Not dumpable after setuid: its /proc is root's."""
    need_root()
    folder = in_reach_of_others(seep)
    script = ("import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); "
              "os.execv(sys.argv[1], sys.argv[1:])")
    try:
        words = ["/usr/bin/python3", "-c", script]
        with target(folder / "attach_targets", "truth", words=words) as process:
            assert truth_holds(seep, process).attached
    finally:
        shutil.rmtree(folder)


@pytest.mark.fast
def test_a_process_is_found_by_its_name(seep):
    folder = seep.directory / "named"
    folder.mkdir()
    shutil.copy(program("attach_targets"), folder / "only_one_of_it")
    with target(folder / "only_one_of_it", "idle") as process:
        done = seep.command("attach", "only_one_of_it")
        assert done.status == 0, done.stderr.decode()
        assert f"(pid {process.pid})".encode() in done.stdout
        detach(seep, "only_one_of_it")
        with target(folder / "only_one_of_it", "idle") as other:
            done = seep.command("attach", "only_one_of_it")
            assert done.status != 0
            for pid in (process.pid, other.pid):
                assert str(pid).encode() in done.stderr


# ---- filters of system calls -------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["sealed", "sealed-kill"])
def test_a_process_under_a_filter_lives_whatever_is_tried(seep, mode):
    with target(program("attach_targets"), mode) as process:
        for _ in range(3):
            truth_holds(seep, process)


# ---- refused, with the reason --------------------------------------------------------------------


def refused(seep, pid, *words):
    reason = told_why(attach(seep, pid))
    print(reason)
    for word in words:
        assert word in reason
    assert not is_recorded(seep, pid)
    return reason


def build(seep, compiler, *words):
    """A waiting program that allocates, so built."""
    source = seep.directory / "small.c"
    source.write_text('#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n'
                      'int main(void)\n{\n\tchar byte;\n\n\t(void)!write(1, "ready\\n", 6);\n'
                      '\twhile (read(0, &byte, 1) > 0) {\n\t\tfree(strdup("text"));\n'
                      '\t\t(void)!write(1, ".\\n", 2);\n\t}\n\treturn !!write(1, "ok\\n", 3) - 1;\n}\n')
    built = seep.directory / "small"
    done = run_plain([compiler, *words, source, "-o", built])
    if done.status != 0:
        pytest.skip(f"{compiler} {' '.join(words)}: {done.stderr.decode().splitlines()[0]}")
    return built


@pytest.mark.parametrize("how", ["-static", "-static-pie"])
def test_a_static_program_is_refused(seep, how):
    with target(build(seep, need("gcc"), how)) as process:
        refused(seep, process.pid, "static")


def test_a_program_with_another_libc_is_refused(seep):
    with target(build(seep, need("musl-gcc"))) as process:
        refused(seep, process.pid, "musl")


def test_a_static_program_with_another_libc_is_refused(seep):
    with target(build(seep, need("musl-gcc"), "-static")) as process:
        refused(seep, process.pid, "static")


def test_a_32_bit_program_is_refused(seep):
    with target(build(seep, need("gcc"), "-m32")) as process:
        refused(seep, process.pid, "32-bit")


def test_a_process_that_somebody_traces_is_refused(seep):
    with target(program("attach_targets"), "truth") as process:
        tracer = subprocess.Popen([need("strace"), "-f", "-p", str(process.pid), "-o", os.devnull],
                                  stderr=subprocess.DEVNULL)
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status")
            wait_until(lambda: f"TracerPid:\t{tracer.pid}\n" in status.read_text(), "strace")
            refused(seep, process.pid, str(tracer.pid))
            process.ask("round")
        finally:
            tracer.terminate()
            tracer.wait(timeout=LIMIT_S)
        assert truth_holds(seep, process).attached


@pytest.mark.fast
def test_what_is_no_process_is_refused(seep):
    gone = subprocess.Popen(["true"])
    wait_until(lambda: state_of(gone.pid) == "Z", "its end")
    zombie = seep.command("attach", str(gone.pid))
    gone.wait()
    nobody = seep.command("attach", str(gone.pid))
    for done in (zombie, nobody, seep.command("attach", "no-such-name"), seep.command("attach", "0"),
                 seep.command("attach", "-5"), seep.command("attach")):
        assert done.status == 2 and done.stdout == b""
        assert done.stderr.startswith(b"seep"), done.stderr


def test_a_thread_of_the_kernel_is_refused(seep):
    if run_plain(["ps", "-o", "comm=", "-p", "2"]).stdout != b"kthreadd\n":
        pytest.skip("no thread of the kernel is seen here")
    refused(seep, 2, "kernel")


def test_a_process_of_another_user_is_refused_to_users(seep):
    need_root()
    need_open_to_others(SEEP)
    ledgers = seep.directory / "ledgers"
    ledgers.mkdir()
    os.chown(ledgers, NOBODY, NOBODY)
    with target(program("attach_targets"), "idle") as process:
        done = subprocess.run([SEEP, "attach", str(process.pid)], capture_output=True, user=NOBODY,
                              group=NOBODY, extra_groups=[], timeout=LIMIT_S, check=False,
                              env={**os.environ, "SEEP_DIR": str(ledgers)})
        assert done.returncode == 2 and done.stdout == b""
        assert done.stderr.startswith(b"seep attach: "), done.stderr
        assert b"user" in done.stderr or b"permi" in done.stderr


def test_seep_itself_and_who_waits_for_it_can_be_asked_for(seep):
    """A shell that attaches to itself waits for the tool, and is only a process like others."""
    done = run_plain(["sh", "-c", f"{SEEP} attach $$; {SEEP} detach $$; exit 0"],
                     env=seep.environment())
    assert done.status == 0, done.stderr.decode()


def test_without_room_for_a_ledger_nothing_is_done(seep):
    need_root()
    folder = seep.directory / "small"
    folder.mkdir()
    script = f"mount -t tmpfs -o size=16k none {folder}; exec {SEEP} attach $1"
    with target(program("attach_targets"), "truth") as process:
        done = subprocess.run(
            [*apart(), "sh", "-ec", script, "sh", str(process.pid)],
            capture_output=True, timeout=LIMIT_S, check=False,
            env={**os.environ, "SEEP_DIR": str(folder)})
        print(done)
        process.ask("round")
        if done.returncode != 0:
            assert done.stderr.startswith(b"seep attach: ")
