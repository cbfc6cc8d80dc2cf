# SPDX-License-Identifier: MIT
"""`seep attach` from a container beside the one of the process, as `kubectl debug --target` starts it: both
see the same processes, and each has a root file system, /tmp and /dev/shm of its own.
"""

import json
import os
import pathlib
import re
import subprocess

import pytest

from harness import BUILD, LIMIT_S, SEEP, SOURCE, program, read_report, run_plain
from running import apart, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make containers")

HAS_ATTACH = b"\n  attach " in run_plain([SEEP, "--help"]).stdout if SEEP.exists() else False
NEEDS_ATTACH = pytest.mark.skipif(not HAS_ATTACH, reason="there is no seep attach")

USER = 1234

# Arguments: the root to make, a folder that is seen there as /app, and what to run there. The usual
# folders of programs are those of this machine, read-only; all else is its own.
CONTAINER = r"""set -e
root=$1 app=$2; shift 2
mount -t tmpfs -o mode=755 none "$root"
cd "$root"
mkdir usr proc app etc dev dev/shm tmp run old
mount --rbind /usr usr; mount -o remount,bind,ro usr
for name in bin lib lib64; do
	if [ -L /$name ]; then cp -a /$name $name; else mkdir $name; mount --rbind /$name $name; fi
done
mount --bind "$app" app; mount -o remount,bind,ro app
for name in null zero urandom; do : > dev/$name; mount --bind /dev/$name dev/$name; done
mount -t proc none proc
mount -t tmpfs -o mode=1777 none tmp
mount -t tmpfs -o mode=1777,size=64m none dev/shm
pivot_root . old
umount -l old
exec "$@"
"""

# A pod's processes are those of one PID namespace, whose first one waits for the others.
PAUSE = r"""echo $$; exec sleep 1000000"""


class Pod:
    def __init__(self, seep, *more):
        self.seep, self.folder = seep, seep.directory
        # Where a container's own programs are; nothing of seep is there.
        (self.folder / "app").mkdir()
        (self.folder / "app" / "server").write_bytes(pathlib.Path(program("mark_steps")).read_bytes())
        (self.folder / "app" / "server").chmod(0o755)
        self.folder.chmod(0o755)
        words = [*apart("--pid", "--fork", "--kill-child", *more), "sh", "-c", PAUSE]
        self.pause = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.pause.stdout.readline() == "1\n"
        children = f"/proc/{self.pause.pid}/task/{self.pause.pid}/children"
        self.inside = pathlib.Path(children).read_text().split()[0]
        self.count = 0
        self.server = None

    def words(self, app, *command, namespaces=()):
        """The words that start a command in a container of its own."""
        self.count += 1
        root = self.folder / f"root-{self.count}"
        root.mkdir()
        enter = ["nsenter", "--target", self.inside, "--pid", "--"]
        # With the kernel's file system of processes in the pod.
        return [*enter, *apart("--fork", *namespaces), "sh", "-c", CONTAINER, "sh", root, app, *command]

    def start_server(self, *around, namespaces=()):
        words = self.words(self.folder / "app", *around, "/app/server", namespaces=namespaces)
        self.server = subprocess.Popen([os.fspath(word) for word in words], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask("+ keep_a 3 100")

    def ask(self, line):
        self.server.stdin.write(line + "\n")
        self.server.stdin.flush()
        answer = self.server.stdout.readline().strip()
        assert answer == "ok", answer

    def neighbour(self, *command, around=()):
        """A command in a container that has seep, beside the server's."""
        return run_plain(self.words(BUILD, "env", "-u", "SEEP_DIR", *around, *command))

    def pid(self):
        """The server's, as the pod sees it."""
        done = self.neighbour("sh", "-c", "grep -l '^server$' /proc/[0-9]*/comm")
        return wait_until(lambda: done.stdout.decode().split("/")[2], "the server")

    def doctor(self, **how):
        done = self.neighbour("/app/seep", "doctor", "--json", self.pid(), **how)
        assert done.stderr == b"", done.stderr
        attach = json.loads(done.stdout)["attach"]
        return attach["possible"], {check["code"]: check for check in attach["checks"]}

    def report(self, pid):
        done = self.neighbour("/app/seep", "report", "--json", "--symbols", f"/proc/{pid}/root", pid)
        assert done.status == 0, done.stderr
        return read_report(done.stdout)

    def close(self):
        if self.server:
            self.server.stdin.close()
            self.server.wait(LIMIT_S)
        self.pause.kill()
        self.pause.wait(LIMIT_S)


@pytest.fixture
def pod(seep):
    made = Pod(seep)
    yield made
    made.close()


AS_USER = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--bounding-set=-all",
           "--inh-caps=-all")
AS_POD_ROOT = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-all")


def blocks_of(report, function):
    return sum(context["live_blocks"] for context in report["contexts"]
               if any(frame["function"] == function for frame in context["frames"]))


def test_doctor_sees_from_beside_that_attaching_works(pod):
    pod.start_server(*AS_USER)
    possible, findings = pod.doctor()
    assert possible, findings
    assert {code for code, found in findings.items() if found["result"] != "ok"} <= {"group", "confinement"}


def test_without_the_capability_the_words_say_which(pod):
    pod.start_server(*AS_USER)
    possible, findings = pod.doctor(around=AS_POD_ROOT)
    assert not possible
    assert "CAP_SYS_PTRACE" in findings["rights"]["sentence"]
    assert "--profile=general" in findings["rights"]["advice"]


def test_that_capability_alone_is_too_little(pod):
    """The library is written by way of a descriptor, which is its user's."""
    pod.start_server(*AS_USER)
    possible, findings = pod.doctor(around=("setpriv", "--bounding-set=-all,+sys_ptrace", "--inh-caps=-all"))
    assert not possible and "CAP_DAC_OVERRIDE" in findings["rights"]["advice"]


def test_as_the_same_user_no_capability_is_needed(pod):
    pod.start_server(*AS_USER)
    assert pod.doctor(around=AS_USER)[0]


@NEEDS_ATTACH
@pytest.mark.parametrize("namespaces", [(), ("--time", "--boottime=100000"), ("--ipc", "--uts", "--cgroup")])
def test_who_is_attached_to_from_beside_is_recorded_and_named(pod, namespaces):
    pod.start_server(*AS_USER, namespaces=namespaces)
    pid = pod.pid()
    done = pod.neighbour("/app/seep", "attach", pid)
    assert done.status == 0, done.stderr
    pod.ask("+ keep_b 40 1000")
    report = pod.report(pid)
    assert report["process"]["exe"] == "/app/server"
    assert blocks_of(report, "keep_b") == 40
    assert blocks_of(report, "keep_a") == 0
    # Its ledger lies in its own file system, and is its user's.
    root = f"/proc/{pid}/root"
    listed = pod.neighbour("sh", "-c", f"stat -c '%u %n' {root}/dev/shm/seep-{USER}/*.ledger")
    assert listed.stdout.decode().split()[0] == str(USER), listed.stderr


@NEEDS_ATTACH
def test_a_root_that_is_read_only_is_enough(pod):
    pod.start_server("sh", "-c", 'mount -o remount,ro / && umount /tmp && exec "$@"', "sh", *AS_USER)
    pid = pod.pid()
    assert pod.doctor()[0]
    done = pod.neighbour("/app/seep", "attach", pid)
    assert done.status == 0, done.stderr
    pod.ask("+ keep_b 9 100")
    assert blocks_of(pod.report(pid), "keep_b") == 9


@NEEDS_ATTACH
def test_the_recording_is_saved_beside(pod):
    pod.start_server(*AS_USER)
    pid = pod.pid()
    assert pod.neighbour("/app/seep", "attach", pid).status == 0
    pod.ask("+ keep_b 7 500")
    script = f"/app/seep save {pid} --symbols /proc/{pid}/root -o /tmp/run.seep >&2 && cat /tmp/run.seep"
    done = pod.neighbour("sh", "-c", script)
    assert done.status == 0, done.stderr
    saved = pod.folder / "run.seep"
    saved.write_bytes(done.stdout)
    assert blocks_of(pod.seep.load(saved), "keep_b") == 7


@NEEDS_ATTACH
def test_a_stretch_of_time_is_recorded_from_beside(pod):
    pod.start_server(*AS_USER)
    pid = pod.pid()
    root = f"/proc/{pid}/root"
    attach = f"/app/seep attach {pid} --for 1s --symbols {root} -o /tmp/run.seep >&2"
    watching = subprocess.Popen(
        [os.fspath(word) for word in pod.words(BUILD, "env", "-u", "SEEP_DIR", "sh", "-c",
                                               f"{attach} && cat /tmp/run.seep")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    maps = f"/proc/{pid}/maps"
    wait_until(lambda: b".ledger" in pod.neighbour("cat", maps).stdout, "the ledger")
    pod.ask("+ keep_b 7 500")
    recording, said = watching.communicate(timeout=LIMIT_S)
    assert watching.returncode == 0, said
    saved = pod.folder / "run.seep"
    saved.write_bytes(recording)
    assert blocks_of(pod.seep.load(saved), "keep_b") == 7
    assert b".ledger" not in pod.neighbour("cat", maps).stdout
    assert pod.neighbour("ls", "-A", f"{root}/dev/shm/seep-{USER}").stdout == b""


@NEEDS_ATTACH
@pytest.mark.parametrize("scope", [0, 1, 2])
def test_no_setting_for_files_in_memory_stands_in_the_way(pod, scope):
    setting = pathlib.Path("/proc/sys/vm/memfd_noexec")
    if not setting.exists():
        pytest.skip("this kernel has no vm.memfd_noexec")
    assert pod.neighbour("sh", "-c", f"echo {scope} > {setting}").status == 0
    pod.start_server(*AS_USER)
    done = pod.neighbour("/app/seep", "attach", pod.pid())
    assert done.status == 0, done.stderr


@NEEDS_ATTACH
def test_user_namespaces_are_no_hindrance_to_who_is_above(pod):
    """Root there is an ordinary user here."""
    pod.start_server(*AS_USER, "unshare", "--user", "--map-root-user")
    pid = pod.pid()
    assert pod.doctor()[0]
    done = pod.neighbour("/app/seep", "attach", pid)
    assert done.status == 0, done.stderr
    pod.ask("+ keep_b 5 100")
    assert blocks_of(pod.report(pid), "keep_b") == 5
    # By the number that its user has there.
    root = f"/proc/{pid}/root"
    assert pod.neighbour("ls", f"{root}/dev/shm/seep-0").status == 0


# Enters a filter that answers so to some calls and so to the others, and is the program then.
UNDER_FILTER = """
import ctypes, os, struct, sys
calls, *answers = (list(map(int, word.split(","))) for word in sys.argv[1:4])
jumps = [(0x15, len(calls) - at, 0, call) for at, call in enumerate(calls)]
(answer,), (others,) = answers
code = [(0x20, 0, 0, 0), *jumps, (6, 0, 0, others), (6, 0, 0, answer)]
code = b"".join(struct.pack("HBBI", *item) for item in code)
buffer = ctypes.create_string_buffer(code, len(code))
program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
os.execv(sys.argv[4], sys.argv[4:])
"""
MEMFD_CREATE, GETCWD = 319, 79
KILL, DENY, ALLOW = 0x80000000, 0x00050001, 0x7FFF0000


def under_filter(calls, answer, others=ALLOW):
    return ["/usr/bin/python3", "-c", UNDER_FILTER, ",".join(map(str, calls)), str(answer), str(others)]


# To begin, to do what it is told, and to end.
PROGRAMS_OWN = ("execve access arch_prctl set_tid_address set_robust_list rseq getrandom lseek write "
                "restart_syscall exit_group")


@NEEDS_ATTACH
@pytest.mark.parametrize("call, answer, said", [
    (MEMFD_CREATE, KILL, b"kills for the system call memfd_create"),
    (GETCWD, KILL, b"kills for the system call getcwd"),
    (MEMFD_CREATE, DENY, b"denies the system call memfd_create"),
    (GETCWD, DENY, None),
])
def test_a_filter_that_would_kill_is_read_first(pod, call, answer, said):
    pod.start_server(*under_filter([call], answer))
    pid = pod.pid()
    assert pod.doctor()[1]["seccomp"]["result"] == "note"
    done = pod.neighbour("/app/seep", "attach", pid)
    assert (done.status == 0) == (said is None) and (said or b"") in done.stderr, done.stderr
    pod.ask("+ keep_b 5 100")


@NEEDS_ATTACH
def test_no_call_is_made_but_those_that_filters_are_asked_for(pod):
    """All others kill, so that one which is missing in the list ends the process."""
    listed = re.findall(r"^\t(?:CALL|NEEDED)\w*\((\w+)", (SOURCE / "src/target/attach_filters.c").read_text(), re.M)
    header = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"__NR_(\w+) (\d+)", header)}
    calls = {numbers[name] for name in [*listed, *PROGRAMS_OWN.split()]}
    pod.start_server(*under_filter(sorted(calls), ALLOW, KILL))
    pid = pod.pid()
    for count in 1, 2:
        done = pod.neighbour("/app/seep", "attach", pid)
        assert done.status == 0, done.stderr
        pod.ask("+ keep_b 20000 100")
        pod.ask("- keep_b 20000")
        pod.ask("+ keep_b 5 100")
        assert blocks_of(pod.report(pid), "keep_b") == 5
        pod.ask("- keep_b 5")
        assert pod.neighbour("/app/seep", "detach", pid).status == 0
        pod.ask(f"+ keep_a {count} 100")


@NEEDS_ATTACH
def test_a_filter_that_cannot_be_read_is_a_problem(pod):
    pod.start_server(*under_filter([GETCWD], DENY))
    pid = pod.pid()
    around = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all"]
    possible, findings = pod.doctor(around=around)
    assert not possible and findings["seccomp"]["result"] == "problem"
    done = pod.neighbour("/app/seep", "attach", pid, around=around)
    assert done.status != 0 and b"--profile=sysadmin" in done.stderr
    pod.ask("+ keep_b 5 100")


@NEEDS_ATTACH
def test_where_doctor_says_no_attach_says_the_same_and_changes_nothing(pod):
    pod.start_server(*AS_USER)
    pid = pod.pid()
    done = pod.neighbour("/app/seep", "attach", pid, around=AS_POD_ROOT)
    assert done.status != 0 and b"CAP_SYS_PTRACE" in done.stderr
    pod.ask("+ keep_b 5 100")
    assert b"seep" not in pod.neighbour("cat", f"/proc/{pid}/maps").stdout
