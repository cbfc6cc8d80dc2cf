# SPDX-License-Identifier: MIT
"""`seep attach` from a container beside the one of the process, as `kubectl debug --target` starts it: both
see the same processes, and each has a root file system, /tmp and /dev/shm of its own.
"""

import json
import os
import pathlib
import subprocess

import pytest

from harness import BUILD, LIMIT_S, SEEP, program, read_report, run_plain
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
    listed = pod.neighbour("sh", "-c", f"stat -c '%u %n' /proc/{pid}/root/dev/shm/seep-{USER}/*.ledger")
    assert listed.stdout.decode().split()[0] == str(USER), listed.stderr


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
    assert pod.neighbour("ls", f"/proc/{pid}/root/dev/shm/seep-0").status == 0


@NEEDS_ATTACH
def test_where_doctor_says_no_attach_says_the_same_and_changes_nothing(pod):
    pod.start_server(*AS_USER)
    pid = pod.pid()
    done = pod.neighbour("/app/seep", "attach", pid, around=AS_POD_ROOT)
    assert done.status != 0 and b"CAP_SYS_PTRACE" in done.stderr
    pod.ask("+ keep_b 5 100")
    assert b"seep" not in pod.neighbour("cat", f"/proc/{pid}/maps").stdout
