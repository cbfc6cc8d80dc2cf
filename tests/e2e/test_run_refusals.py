# SPDX-License-Identifier: MIT
"""`seep run` refuses, before the start, what it could not record."""

import os
import struct
import subprocess

import pytest

from harness import RUNTIME, SEEP, need, need_open_to_others, run_plain
from running import TRUE


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


def cut(held):
    return lambda data: data.__delitem__(slice(held, None))


def set_object_type(data):
    data[16] = 1


@pytest.mark.fast
@pytest.mark.parametrize(
    "edit, words",
    [(cut(size), "a damaged ELF file") for size in (64, 200, 800)]
    + [(set_object_type, "an ELF file, but not a program")],
    ids=["header", "segments", "loader", "object"],
)
def test_what_the_kernel_does_not_execute_ends_as_without_seep(seep, edit, words):
    path = edit_true(seep.directory, "edited", edit)
    plain = run_plain(["bash", "-c", '"$0"', path])
    done = seep.command("run", path, cwd=seep.directory)
    assert done.status == plain.status == 126
    assert done.stderr.decode() == f"seep run: {path} is {words}\n"


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
    need_open_to_others(path, SEEP)
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
    for name, target in (("dangling", "nowhere"), ("link", there), ("out", "/proc/self/fd/1")):
        (seep.directory / name).symlink_to(target)
    os.mkfifo(seep.directory / "pipe")
    cases = [
        (["-o", "dangling"], {}, b"dangling is a symbolic link"),
        (["-f", "-o", "link"], {}, b"link is a symbolic link"),
        (["-f", "-o", "out"], {}, b"out is a symbolic link"),
        (["-f", "--json=dangling"], {}, b"dangling is a symbolic link"),
        (["-f", "--json=pipe"], {}, b"pipe exists and is not a regular file"),
        (["-o", "no/such/folder/x"], {}, b"no/such/folder"),
        (["-o", there], {}, b"--force"),
        (["-o", seep.directory], {}, b"not a regular file"),
        (["-o", "-"], {}, b"cannot be written to standard output"),
        (["--json=-"], {}, b"--json=-: standard output belongs to the program"),
        ([], {"SEEP_LIB": "/no/such/library"}, b"/no/such/library"),
        ([], {"SEEP_DIR": "/no/such/folder"}, b"/no/such/folder"),
        ([], {"SEEP_DIR": str(open_dir)}, b"other users have access"),
    ]
    for options, env, word in cases:
        env = {**seep.environment(), **env}
        done = run_plain([SEEP, "run", *options, *touch], cwd=seep.directory, env=env)
        assert done.status in (2, 125), done
        assert word in done.stderr
        assert done.stderr.count(b"\n") == 1
    assert not marker.exists() and not list(seep.directory.glob("*.d"))
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


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_program_with_leak_sanitizer_is_refused(seep, compiler):
    source = seep.directory / "leak.c"
    source.write_text("int main(void) { return 0; }\n")
    program = seep.directory / "leak"
    built = run_plain([need(compiler), "-fsanitize=leak", source, "-o", program])
    assert built.status == 0, built.stderr.decode()
    done = seep.command("run", program)
    assert done.status == 125
    assert b"is built with LeakSanitizer" in done.stderr
    doctor = seep.command("doctor", program)
    assert b"LeakSanitizer, which replaces malloc itself" in b" ".join(doctor.stdout.split())
