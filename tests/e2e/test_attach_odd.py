# SPDX-License-Identifier: MIT
"""`seep attach` to programs that do, or have, what hardly any other does: they are recorded or left
alone, and go on as they would have."""

import itertools
import json
import signal
import subprocess
import time

import pytest

from attach_target import Tally, attach, check_sums, children_of, detach, target, told_why
from harness import SEEP, SOURCE, need, program, run_plain
from running import wait_until

ROUNDS = 10

MODES = ["joins", "setids", "suspends", "forks", "vforks", "named", "space", "copied", "code", "bare",
         "null", "stacks", "mapped-stacks", "stacks-in-main", "jumps", "tables",
         "registers"]
BOTTOM_UP = ["setarch", "-L"]  # what is mapped later lies above


def attach_often(seep, *command, **how):
    with target(*command, **how) as process:
        tally = Tally(command[1])
        for _ in range(ROUNDS):
            assert tally.add(attach(seep, process.pid, "--deadline", "10s")), tally.text()
            process.ask("while it is recorded")
            report = seep.load(str(process.pid))
            check_sums(report)
            assert report["process"]["ended"] == "running"
            detach(seep, process.pid)
            process.ask("afterwards")
    print(tally.text())


@pytest.mark.parametrize("mode", MODES)
def test_it_goes_on_as_it_would_have(seep, mode):
    attach_often(seep, program("attach_odd"), mode)


@pytest.mark.parametrize("mode", ["space", "copied"])
def test_it_goes_on_wherever_libraries_lie(seep, mode):
    attach_often(seep, program("attach_odd"), mode, words=BOTTOM_UP)


def test_it_may_be_started_by_its_loader(seep):
    attach_often(seep, "/lib64/ld-linux-x86-64.so.2", program("attach_odd"), "files")


def test_it_may_confine_itself_later(seep):
    """A filter that kills for all but two calls: libseep.so makes none at the end."""
    with target(program("attach_odd"), "confines") as process:
        assert attach(seep, process.pid).attached
        process.ask("while it is recorded")


@pytest.mark.parametrize("words", [[], ["sh", "-c", 'exec "$@"', "sh"]], ids=["begins", "executes"])
def test_it_may_only_just_have_begun(seep, words):
    """Its loader loads the C library in that moment, or what is met there is still another program."""
    for number in range(20):
        with subprocess.Popen([*words, program("attach_odd"), "files"], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as run:
            time.sleep(number % 10 / 3000)
            attempt = attach(seep, run.pid, "--deadline", "10s")
            assert attempt.attached, attempt.reason
            run.stdin.close()
            assert run.wait() == 0


REFUSED = {"clockless": "vDSO", "leaderless": "first thread"}


@pytest.mark.parametrize("mode", REFUSED)
def test_it_is_left_alone(seep, mode):
    with target(program("attach_odd"), mode) as process:
        assert REFUSED[mode] in told_why(attach(seep, process.pid))
        process.ask("afterwards")


def test_the_child_of_a_vfork_is_not_taken_for_its_parent(seep):
    with target(program("attach_odd"), "vforks") as process:
        wait_until(lambda: children_of(process.pid), "a child")
        attempts = []
        while not any(f"its parent, {process.pid}" in told_why(attempt) for attempt in attempts):
            attempts += [attach(seep, child) for child in children_of(process.pid)]
            assert len(attempts) < 50, attempts


# ---- libraries of other names and shapes --------------------------------------------------------


def build(seep, source, name, *words):
    built = seep.directory / name
    done = run_plain([need("gcc"), "-shared", "-fPIC", "-O1", *words, source, "-o", built])
    assert done.status == 0, done.stderr.decode()
    return built


@pytest.mark.parametrize("name", ["libc.so.6-x", "libc-2.x-plugin.so", "libseep.so-other.so",
                                  "ld-linux-x86-64.so.x"])
def test_a_library_is_not_taken_for_another_by_its_name(seep, name):
    source = SOURCE / "tests" / "programs" / "lib_attach_plugin.c"
    attach_often(seep, program("attach_odd"), "files", build(seep, source, name))


def test_its_loader_may_have_no_room_for_thread_local_storage(seep):
    """Then each part would fail: it is asked once."""
    source = seep.directory / "tls.c"
    source.write_text('__thread __attribute__((tls_model("initial-exec"))) char bytes[BYTES] = { 1 };\n'
                      "char *address_of_bytes(void) { return bytes; }\n")
    fits, too_large = 16, 4096
    while too_large - fits > 16:
        middle = (fits + too_large) // 32 * 16
        library = build(seep, source, f"tls{middle}.so", f"-DBYTES={middle}")
        done = run_plain([program("attach_odd"), "files", library])
        fits, too_large = (middle, too_large) if done.status == 0 else (fits, middle)
    with target(program("attach_odd"), "files", seep.directory / f"tls{fits}.so") as process:
        done = seep.command("attach", "--json", str(process.pid))
        assert b"does not load libseep.so" in done.stderr
        assert json.loads(done.stdout)["tries"] < 100, done.stdout
        process.ask("afterwards")


ALLOCATOR = """
#include <stddef.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void __libc_free(void *);
static char is_locked;
static void lock(void)
{
	volatile int i;
	while (__atomic_test_and_set(&is_locked, __ATOMIC_ACQUIRE))
		;
	for (i = 0; i < 500; i++)
		;
}
static void unlock(void) { __atomic_clear(&is_locked, __ATOMIC_RELEASE); }
void *malloc(size_t n) { lock(); void *p = __libc_malloc(n); unlock(); return p; }
void free(void *p) { lock(); __libc_free(p); unlock(); }
void *calloc(size_t a, size_t b) { lock(); void *p = __libc_calloc(a, b); unlock(); return p; }
void *realloc(void *p, size_t n) { lock(); p = __libc_realloc(p, n); unlock(); return p; }
"""


@pytest.mark.parametrize("link", ["-Wl,-z,noseparate-code", "-fuse-ld=gold", "patchelf"])
def test_an_allocator_is_known_however_it_was_linked(seep, link):
    """Its symbols may lie beside its code, or behind their names."""
    source = seep.directory / "allocator.c"
    source.write_text(ALLOCATOR)
    built = build(seep, source, "liballocator.so", *([] if link == "patchelf" else [link]))
    if link == "patchelf":
        assert run_plain([need("patchelf"), "--set-rpath", "/nowhere" * 100, built]).status == 0
    attach_often(seep, program("attach_odd"), "files", env={"LD_PRELOAD": str(built)})


def test_a_program_that_is_its_own_allocator_waits(seep):
    """In a call that the kernel takes up again: poll() with a time."""
    source = seep.directory / "allocator.c"
    source.write_text(ALLOCATOR)
    programs = SOURCE / "tests" / "programs"
    built = seep.directory / "own"
    done = run_plain([need("gcc"), "-w", "-D_GNU_SOURCE", f"-I{programs}", f"-I{SOURCE / 'src'}",
                      programs / "attach_odd.c", source, "-o", built, "-pthread", "-ldl"])
    assert done.status == 0, done.stderr.decode()
    attach_often(seep, built, "confines")


def make_half(seep, process):
    """Attach, and kill who does in the middle: when there is a ledger that nobody may see yet."""
    for step in range(20, 200):
        run_plain([program("kill_at"), str(step), str(process.pid), "0", SEEP, "attach", str(process.pid)],
                  env=seep.environment())
        if any(name.endswith(".new") for name in seep.ledgers()):
            return
        seep.command("detach", "--deadline", "10s", str(process.pid))
    raise AssertionError("there was no such moment")


def test_of_an_attach_that_was_cut_short_nothing_stays(seep):
    def half_made():
        return [name for name in seep.ledgers() if name.endswith(".new")]

    with target(program("attach_ends"), "child") as process:
        make_half(seep, process)
        child = int(process.ask("fork"))
        # A child knows nothing of it, and is not recorded.
        assert "not recorded" in seep.command("detach", str(child)).stderr.decode()
        assert attach(seep, child).attached
        time.sleep(0.02)
        assert seep.load(str(child))["totals"]["allocs"] > 0
        detach(seep, child)
        # Nor what the other seep was told: this one's options are those that count.
        assert attach(seep, process.pid, "--tier", "counts").attached and not half_made()
        process.ask("work")
        report = seep.load(str(process.pid))
        assert report["totals"]["allocs"] > 0 and report["process"]["tier"] == "counts"
        detach(seep, process.pid)
        make_half(seep, process)
        assert "not recorded" in seep.command("detach", str(process.pid)).stderr.decode() and not half_made()
        make_half(seep, process)
    assert not half_made()


@pytest.mark.parametrize("number", [0, signal.SIGALRM], ids=["alone", "signalled"])
def test_who_attaches_may_be_killed_at_any_step(seep, number):
    """Its handler may lie on what leads a thread astray, when the next comes."""
    with target(program("attach_odd"), "registers") as process:
        words = [str(process.pid), str(int(number)), SEEP, "attach", str(process.pid)]
        half_made = 0
        for step in itertools.count(1):
            killed = run_plain([program("kill_at"), str(step), *words], env=seep.environment())
            half_made += sum(name.endswith(".new") for name in seep.ledgers())
            attempt = attach(seep, process.pid, "--deadline", "10s")
            assert attempt.attached or "already" in told_why(attempt), f"step {step}: {attempt.reason}"
            process.ask("while it is recorded")
            assert seep.load(str(process.pid))["totals"]["allocs"] > 0, f"step {step}"
            detach(seep, process.pid)
            process.ask("afterwards")
            assert not any(name.endswith(".new") for name in seep.ledgers()), f"step {step}"
            if killed.status:
                break
        assert killed.status == 1 and step > 50 and half_made > 0
