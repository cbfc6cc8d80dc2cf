# SPDX-License-Identifier: MIT
"""The probes otel_memory:alloc and :free of tier sampled, read as tracers do: by the kernel's uprobes."""

import ctypes
import os
import platform
import re
import struct
import subprocess

from attach_target import Target
from harness import RUNTIME, parse_truth, program

UPROBES = "/sys/bus/event_source/devices/uprobe/type"
PERF_EVENT_OPEN, ATTR_BYTES, INHERIT = 298, 128, 2


def probes():
    """Of the notes in the library: (name, offset in the file, number of arguments)."""
    notes = subprocess.run(["readelf", "-n", RUNTIME], stdout=subprocess.PIPE, text=True, check=True)
    found = re.findall(
        r"Provider: otel_memory\n\s+Name: (\w+)\n\s+Location: (0x\w+),.*\n\s+Arguments: (.*)",
        notes.stdout)
    return [(name, int(at, 16) - bias(), len(words.split())) for name, at, words in found]


def bias():
    """From an address in the library's code to its place in the file."""
    headers = subprocess.run(["readelf", "-lW", RUNTIME], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    offset, address = re.search(r"LOAD\s+(0x\w+) (0x\w+) .* R E ", headers).groups()
    return int(address, 16) - int(offset, 16)


def count_hits(pid, offset):
    """A descriptor that counts how often the process comes to that place; None: the kernel refuses."""
    with open(UPROBES, encoding="ascii") as file:
        kind = int(file.read())
    path = ctypes.create_string_buffer(os.fsencode(RUNTIME))
    attr = bytearray(ATTR_BYTES)
    struct.pack_into("<II", attr, 0, kind, ATTR_BYTES)
    struct.pack_into("<Q", attr, 40, INHERIT)
    struct.pack_into("<QQ", attr, 56, ctypes.addressof(path), offset)
    raw = (ctypes.c_char * ATTR_BYTES).from_buffer(attr)
    fd = ctypes.CDLL(None).syscall(PERF_EVENT_OPEN, raw, pid, -1, -1, 0)
    return fd if fd >= 0 else None


def test_probes_are_nops_with_their_arguments():
    with open(RUNTIME, "rb") as file:
        data = file.read()
    found = probes()
    assert {(name, count) for name, _, count in found} == {("alloc", 3), ("free", 1)}
    assert all(data[at] == 0x90 for _, at, _ in found)


def test_a_tracer_sees_what_is_taken(tmp_path):
    # At this rate all is taken.
    env = {"LD_PRELOAD": str(RUNTIME), "SEEP_DIR": str(tmp_path),
           "SEEP_OPTIONS": "tier=sampled:sample_rate=1"}
    target = Target(program("tier_steps"), env=env)
    try:
        target.ask("take")
        target.ask("give")
        fds = [(name, count_hits(target.pid, at)) for name, at, _ in probes()]
        if platform.machine() != "x86_64" or any(fd is None for _, fd in fds):
            return  # a container whose kernel lets nobody trace: the notes are what can be checked
        hits = dict.fromkeys(("alloc", "free"), 0)
        for word in ("take", "resize", "give"):
            target.ask(word)
        for name, fd in fds:
            hits[name] += struct.unpack("<Q", os.read(fd, 8))[0]
            os.close(fd)
        out = target.end()
    finally:
        target.close()
    truth = parse_truth("\n".join(x for x in out.splitlines() if x.startswith("truth ")))
    assert sum(site["allocs"] for site in truth.sites.values()) == 20000 + hits["alloc"]
    assert sum(site["frees"] for site in truth.sites.values()) == 20000 + hits["free"]
