# SPDX-License-Identifier: MIT
"""Who is measured beside seep: the one list of tools, how each is put in front of a program, and
how we see afterwards that it was there. A library that did not load is very fast."""

import dataclasses
import pathlib
import re
import shutil
import subprocess
from typing import Callable

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
SAMPLE_BYTES = "524288"  # of the samplers, as of seep's tiers


def preloaded(library, command):
    # env(1) sets it for the program alone, not for a profiler around it.
    return ["env", f"LD_PRELOAD={library}", *command]


# Each wraps a command: what is run, and what is added to its environment. @directory is the run's.


def wrap_heaptrack(command, directory, _work):
    return ["heaptrack", "-r", "-o", directory / "trace", *command], {}


def wrap_heaptrack_whole(command, directory, _work):
    return ["heaptrack", "-o", directory / "trace", *command], {}


def wrap_gperftools(command, directory, _work):
    library = LIBRARIES / "libtcmalloc.so.4"
    return preloaded(library, command), {"HEAPPROFILE": str(directory / "profile")}


def wrap_jemalloc(command, directory, _work):
    options = f"prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:{directory}/profile"
    return preloaded(LIBRARIES / "libjemalloc.so.2", command), {"MALLOC_CONF": options}


def wrap_allocator(library):
    def wrap(command, _directory, _work):
        return preloaded(LIBRARIES / library, command), {}

    return wrap


def wrap_gperftools_sampled(command, directory, work):
    library = LIBRARIES / "libtcmalloc.so.4"
    more = {"TCMALLOC_SAMPLE_PARAMETER": SAMPLE_BYTES, "HEAP_SAMPLE": f"{directory}/sample"}
    # In this order, or malloc stays glibc's.
    return preloaded(f"{library} {work.preload('heap_sample.cc', library)}", command), more


def wrap_jemalloc_sampled(command, directory, _work):
    rate = int(SAMPLE_BYTES).bit_length() - 1
    options = f"prof:true,prof_accum:true,lg_prof_sample:{rate},prof_final:true"
    more = {"MALLOC_CONF": f"{options},prof_prefix:{directory}/profile"}
    return preloaded(LIBRARIES / "libjemalloc.so.2", command), more


def wrap_lsan(command, directory, work):
    # Leaks of the program are found, and are no failure here. verbosity shows that it ran.
    options = f"exitcode=0:verbosity=1:log_path={directory}/log"
    if work.leak:
        return command, {"LSAN_OPTIONS": options}
    return preloaded(LIBRARIES / "liblsan.so.0", command), {"LSAN_OPTIONS": options}


def wrap_valgrind(tool, *options):
    def wrap(command, directory, _work):
        out = [o.replace("OUT", str(directory / "profile")) for o in options]
        log = f"--log-file={directory}/log"
        return ["valgrind", f"--tool={tool}", log, *out, *command], {}

    return wrap


def library_version(name):
    """The version of a package that is installed, as Debian has it."""

    def version():
        said = subprocess.run(
            ["dpkg-query", "-W", "-f=${Version}", name], capture_output=True, text=True, check=False
        )
        return said.stdout.strip() or "unknown"

    return version


def has_library(name):
    def why_not():
        return None if (LIBRARIES / name).exists() else f"{name} is not there"

    return why_not


def has_command(name):
    def why_not():
        return None if shutil.which(name) else f"{name} is not there"

    return why_not


def gperftools_why_not():
    header = pathlib.Path("/usr/include/gperftools/malloc_extension.h")
    return has_library("libtcmalloc.so.4")() or (
        None if header.exists() else "libgoogle-perftools-dev is not installed"
    )


def jemalloc_why_not():
    """Debian builds it with --enable-prof; another distribution may not."""
    missing = has_library("libjemalloc.so.2")()
    if missing:
        return missing
    said = subprocess.run(
        ["env", f"LD_PRELOAD={LIBRARIES}/libjemalloc.so.2", "MALLOC_CONF=prof:true", "true"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if re.search(r"prof|Invalid conf", said.stderr):
        return "libjemalloc was built without --enable-prof"
    return None


def left(pattern, text=None):
    """A proof: the run left a file of that name that is not empty, and has the text in it."""

    def proof(directory):
        for path in directory.rglob(pattern):
            if path.stat().st_size > 0 and (text is None or text in path.read_bytes()):
                return True
        return False

    return proof


def left_ledger(directory):
    return any(ledger.stat().st_blocks > 0 for ledger in directory.rglob("*.ledger"))


@dataclasses.dataclass(frozen=True)
class Peer:
    title: str
    wrap: Callable
    proof: Callable
    why_not: Callable  # None when it is there, else why it cannot be measured
    version: Callable
    package: str
    does: str  # what is compared, as the legend says it
    small: bool = False  # always on the small input, beside a plain run of the small input
    leak: bool = False  # our own programs are built for it
    bare: Callable | None = None  # the same allocator that records nothing: what it is compared with
    whole: Callable | None = None  # the tool from start to prompt, if that is more than wrap


def valgrind(title, options, proof, does):
    return Peer(title, wrap_valgrind(*options), proof, has_command("valgrind"),
                library_version("valgrind"), "valgrind", does, small=True)  # fmt: skip


PEERS = {
    "heaptrack": Peer(
        "heaptrack", wrap_heaptrack, left("trace*"), has_command("heaptrack"),
        library_version("heaptrack"), "heaptrack",
        "every event with its full stack into a log, uninterpreted (`-r`)",
        whole=wrap_heaptrack_whole,
    ),
    "gperftools": Peer(
        "gperftools", wrap_gperftools, left("profile*.heap"), has_library("libtcmalloc.so.4"),
        library_version("libgoogle-perftools4"), "libgoogle-perftools4",
        "libtcmalloc with `HEAPPROFILE`: exact, at most 32 frames, another allocator", small=True,
    ),
    "jemalloc": Peer(
        "jemalloc exact", wrap_jemalloc, left("profile*.heap"), jemalloc_why_not,
        library_version("libjemalloc2"), "libjemalloc2",
        "`prof:true,lg_prof_sample:0`: exact, another allocator, a page or more for every block",
        small=True,
    ),
    "gperftools_sampled": Peer(
        "gperftools sampled", wrap_gperftools_sampled, left("sample", b"heap_v2"),
        gperftools_why_not, library_version("libgoogle-perftools4"), "libgoogle-perftools4",
        "libtcmalloc with `TCMALLOC_SAMPLE_PARAMETER=524288`: a sample, beside the same allocator without",
        bare=wrap_allocator("libtcmalloc.so.4"),
    ),
    "jemalloc_sampled": Peer(
        "jemalloc sampled", wrap_jemalloc_sampled, left("profile*.heap"), jemalloc_why_not,
        library_version("libjemalloc2"), "libjemalloc2",
        "`prof:true,lg_prof_sample:19`: a sample, beside the same allocator without",
        bare=wrap_allocator("libjemalloc.so.2"),
    ),
    "lsan": Peer(
        "LeakSanitizer", wrap_lsan, left("log*", b"root region"), has_library("liblsan.so.0"),
        library_version("liblsan0"), "liblsan0",
        "our own programs built with `-fsanitize=leak`, others with it preloaded; stacks by frame "
        "pointer, so they are short in programs without; the scan at the end included where the "
        "whole program is timed", leak=True,
    ),
    "memcheck": valgrind(
        "memcheck", ("memcheck", "--leak-check=full"), left("log*", b"ERROR SUMMARY"),
        "`valgrind --leak-check=full`",
    ),
    "massif": valgrind(
        "massif", ("massif", "--massif-out-file=OUT"), left("profile*"),
        "`valgrind --tool=massif`: samples of the heap by stack",
    ),
    "dhat": valgrind(
        "dhat", ("dhat", "--dhat-out-file=OUT"), left("profile*"),
        "`valgrind --tool=dhat`: every block by stack, with accesses",
    ),
}  # fmt: skip
