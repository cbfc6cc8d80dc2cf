# SPDX-License-Identifier: MIT
"""What looking at a process, or at files, that lie about themselves costs: memory and time belong to
whoever looks."""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import pytest

from harness import SEEP, program
from running import launch


# In a small process: what a fork of a large one has resident counts as its child's.
MEASURE = """
import os, subprocess, sys
tool = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(tool.pid, 0)
open(sys.argv[1], "w").write(f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss >> 10}")
"""


def cost_of(seep, *words):
    """How a command of seep's ends, what it prints, and the MB that it took at most."""
    cost = seep.directory / "cost"
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, cost, SEEP, *words], env={**os.environ, **seep.environment()},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
    )  # fmt: skip
    status, megabytes = map(int, cost.read_text().split())
    return status, done.stdout.decode(errors="replace"), megabytes


@pytest.fixture
def in_memory(seep):
    """Ledgers in a tmpfs, where a hole that is read through a mapping becomes memory."""
    seep.ledger_dir = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield seep
    shutil.rmtree(seep.ledger_dir)


@pytest.mark.parametrize("lie", [["blocks", "16"], ["claims"], ["reserves"]])
@pytest.mark.parametrize("words", [["leaks"], ["report"], ["top", "--once"]])
def test_a_process_that_lies_costs_little(in_memory, lie, words):
    seep = in_memory
    with launch(seep, program("hostile_target"), *lie) as target:
        assert target.stdout.read(1) == b"."
        began = time.monotonic()
        status, text, megabytes = cost_of(seep, *words, str(target.pid))
        assert time.monotonic() - began < 20
        assert status == (2 if "Not scanned" in text and words[0] == "leaks" else 0), text
        assert megabytes < 256
        assert sum(f.stat().st_blocks * 512 for f in seep.ledger_dir.iterdir()) < 64 << 20
        target.communicate(b"", timeout=20)


def sections_of(image):
    """{name: (offset in the file of its header, header)} of a 64-bit ELF file."""
    shoff, = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    headers = [list(struct.unpack_from("<IIQQQQIIQQ", image, shoff + i * size)) for i in range(count)]
    text = image[headers[names][4]:headers[names][4] + headers[names][5]]
    return {text[h[0]:].split(b"\0")[0].decode(): (shoff + i * size, h) for i, h in enumerate(headers)}


def inflate_strings(path):
    """Make its .debug_str one of 1 GB of zeros, compressed to 1 MB."""
    image = bytearray(path.read_bytes())
    at, header = sections_of(image)[".debug_str"]
    packer, zeros = zlib.compressobj(9), bytes(1 << 20)
    packed = b"".join(packer.compress(zeros) for _ in range(1024)) + packer.flush()
    header[2] |= 0x800  # SHF_COMPRESSED
    header[4], header[5] = len(image), 24 + len(packed)
    struct.pack_into("<IIQQQQIIQQ", image, at, *header)
    path.write_bytes(image + struct.pack("<IIQQ", 1, 0, 1 << 30, 1) + packed)


def link_to_nothing(path):
    """Have it name a debug file of 8 TB, all of it a hole."""
    subprocess.run(["objcopy", "--strip-debug", "--remove-section=.note.gnu.build-id", path], check=True)
    debug = path.parent / "far.debug"
    debug.write_bytes(path.read_bytes())
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", path], check=True)
    os.truncate(debug, 8 << 40)


@pytest.mark.parametrize("lie", [inflate_strings, link_to_nothing])
def test_a_file_that_lies_costs_little(seep, tmp_path, lie):
    copy = tmp_path / "hostile_target"
    shutil.copy(program("hostile_target"), copy)
    lie(copy)
    began = time.monotonic()
    status, text, megabytes = cost_of(seep, "run", "--", copy)
    assert time.monotonic() - began < 20
    assert status == 2, text  # the program's own
    assert megabytes < 256
