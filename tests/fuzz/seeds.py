# SPDX-License-Identifier: MIT
"""Seeds for the fuzzers: what real programs leave behind, made small enough to be changed often."""

import gzip
import os
import pathlib
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile
import time

PAGE = 4096
TABLES = 9
TABLE_AT = 120  # in struct ledger_header
FIXED = 4 * PAGE  # in front of the tables
STATE_AT = 2 * PAGE
FILE_BYTES_AT = 16

# Runs of more than this are killed: a seed of a program in the middle of its work.
PROGRAM_S = 4

# What has threads, forks and depth is killed at several moments.
KILLED = ["thread_storm", "fork_storm", "recursion", "threads_cross", "squeeze", "busy_truth"]
KILL_AFTER_S = [0.02, 0.1, 0.4]

CODE = """
struct tree { struct tree *left, *right; long weight; };
static inline __attribute__((always_inline)) long twice(long x) { return x * 2 + 1; }
static inline __attribute__((always_inline)) long deeper(long x) { return twice(x) ^ twice(x + 3); }
__attribute__((noinline)) long walk(struct tree *t, long depth)
{
	if (!t || depth > 40)
		return deeper(depth);
	return walk(t->left, depth + 1) + walk(t->right, depth + 1) + deeper(t->weight);
}
static __attribute__((noinline)) long hidden(long *values, int count)
{
	long sum = 0;
	for (int i = 0; i < count; i++)
		sum += deeper(values[i]);
	return sum;
}
long entry(struct tree *t, long *values) { return walk(t, 0) + hidden(values, 7); }
"""
CODE_CXX = """
namespace outer { template <class T> struct Box { T value; T get() const { return value * 3; }
template <class U> T mix(U other) { return get() + static_cast<T>(other); } };
namespace { long secret(long x) { Box<long> b{x}; return b.mix(2.5f); } } }
extern "C" long entry(long x) { outer::Box<int> b{int(x)}; auto f = [&](long y) {
return outer::secret(y) + b.mix(y); }; return f(x) + f(x + 1); }
"""
GO = """
package main
import ("os"; "runtime"; "runtime/pprof")
var kept [][]byte
func keep(n int) { for i := 0; i < n; i++ { kept = append(kept, make([]byte, 100 + i)) } }
func main() {
	runtime.MemProfileRate = 1
	keep(5)
	runtime.GC()
	file, _ := os.Create(os.Args[2])
	pprof.Lookup(os.Args[1]).WriteTo(file, 0)
	file.Close()
}
"""
# How the small ELF files are built: compiler, language, flags. Missing compilers are left out.
ZOO = [
    ("gcc", "c", "-g -O2"),
    ("gcc", "c", "-g -O0 -gdwarf-4"),
    ("gcc", "c", "-g -O2 -gdwarf-3"),
    ("gcc", "c", "-g -O2 -gdwarf-2 -gstrict-dwarf"),
    ("gcc", "c", "-g -O2 -gz=zlib"),
    ("gcc", "c", "-g -O2 -gz=zlib"),
    ("gcc", "c", "-g -O2 -gz=zstd"),
    ("gcc", "c", "-g -O2 -gdwarf64"),
    ("gcc", "c", "-g -O2 -flto"),
    ("gcc", "c", "-g -O2 -gsplit-dwarf"),
    ("gcc", "c", "-g -O2 -ffunction-sections"),
    ("gcc", "c", "-O2"),
    ("g++", "c++", "-g -O2"),
    ("g++", "c++", "-g -O1 -fdebug-types-section"),
    ("g++", "c++", "-g1 -O2"),
    ("clang", "c", "-g -O2"),
    ("clang", "c", "-g -O2 -gdwarf-4"),
    ("clang", "c", "-g -O2 -gsplit-dwarf"),
    ("clang++", "c++", "-g -O1"),
    ("clang++", "c++", "-gline-tables-only -O2"),
]
LINK = ("-shared -nostdlib -fPIC -fno-stack-protector -Wl,--build-id=0x5ee95eed"
        " -Wl,-z,max-page-size=4096 -Wl,-z,noseparate-code -Wl,-Ttext=0x1000").split()


# ---- ledgers ---------------------------------------------------------------------------------


def pack_ledger(path):
    """The ledger's bytes with its tables moved together: what is promised but unused is left out."""
    with open(path, "rb") as file:
        fixed = bytearray(file.read(FIXED))
        if len(fixed) < FIXED or fixed[:7] != b"SEEPLDG":
            return None
        parts = []
        end = FIXED
        for table in range(TABLES):
            at = TABLE_AT + 24 * table
            item_bytes, _, offset, capacity = struct.unpack_from("<IIQQ", fixed, at)
            reserved, ready = struct.unpack_from("<QQ", fixed, STATE_AT + 16 * table)
            count = min(reserved, ready, capacity)
            file.seek(offset)
            data = file.read(count * item_bytes)
            room = -(-max(len(data), 1) // PAGE) * PAGE
            struct.pack_into("<IIQQ", fixed, at, item_bytes, 0, end, room // item_bytes)
            struct.pack_into("<QQ", fixed, STATE_AT + 16 * table, count, room // item_bytes)
            parts.append(data.ljust(room, b"\0"))
            end += room
    struct.pack_into("<Q", fixed, FILE_BYTES_AT, end)
    return bytes(fixed) + b"".join(parts)


def program_paths(build):
    return sorted(p for p in (build / "programs").iterdir()
                  if p.is_file() and os.access(p, os.X_OK) and p.suffix != ".so")


def watched(build, folder, path, seconds):
    """Run a program under the library alone; a ledger is then left, whichever way it ends."""
    environment = {**os.environ, "LD_PRELOAD": str(build / "libseep.so"), "SEEP_DIR": str(folder),
                   "SEEP_OPTIONS": "verify=97"}
    with subprocess.Popen([path], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            # A copy of the ledger in the middle of its growth, before the end.
            yield from packed(folder)
            os.killpg(process.pid, signal.SIGKILL)
    yield from packed(folder)


def packed(folder):
    for path in folder.glob("*.ledger"):
        data = pack_ledger(path)
        if data:
            yield data


def ledgers(build, limit):
    """Ledgers of every program of the tests: ended, killed, and while they grow."""
    runs = [(path, PROGRAM_S) for path in program_paths(build)]
    runs += [(build / "programs" / name, after) for name in KILLED for after in KILL_AFTER_S]
    for path, seconds in runs:
        with tempfile.TemporaryDirectory(prefix="seep-seeds-", dir="/dev/shm") as folder:
            for data in watched(build, pathlib.Path(folder), path, seconds):
                if len(data) <= limit:
                    yield data


# ---- recordings ------------------------------------------------------------------------------


def pack_recording(path):
    """The same rows on small pages: fewer bytes, and more of them pointers."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA page_size = 512")
        db.execute("VACUUM")
    db.close()
    return path.read_bytes()


def thin_out(path, keep):
    """Fewer contexts, and what only the others named."""
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM context WHERE id > ?", (keep,))
        db.execute("DELETE FROM epoch WHERE context > ?", (keep,))
        last, = db.execute("SELECT coalesce(max(leaf), 0) FROM context").fetchone()
        db.execute("DELETE FROM segment WHERE id > ?", (last,))
        last, = db.execute("SELECT coalesce(max(value), 0) FROM segment, json_tree(frames)"
                           " WHERE atom IS NOT NULL").fetchone()
        db.execute("DELETE FROM frame WHERE id > ?", (last,))
    db.close()


def recordings(build, limit):
    for path in program_paths(build):
        with tempfile.TemporaryDirectory(prefix="seep-seeds-", dir="/dev/shm") as name:
            folder = pathlib.Path(name)
            words = [build / "seep", "run", "-q", "-o", folder / "run.seep", "--", path]
            environment = {**os.environ, "SEEP_DIR": name}
            with subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  start_new_session=True) as process:
                try:
                    process.wait(3 * PROGRAM_S)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
            for found in sorted(folder.glob("*.seep"))[:3]:
                thin_out(found, 40)
                data = pack_recording(found)
                if len(data) <= limit:
                    yield data


# ---- unwind data and ELF files ---------------------------------------------------------------


def sections(data):
    """Name, type, address, offset and size of an ELF file's sections."""
    start, = struct.unpack_from("<Q", data, 40)
    count, names_at = struct.unpack_from("<HH", data, 60)
    heads = [struct.unpack_from("<IIQQQQ", data, start + 64 * i) for i in range(count)]
    names = heads[names_at][4]
    for name, kind, _, address, offset, size in heads:
        end = data.index(b"\0", names + name)
        yield data[names + name:end].decode(), kind, address, offset, size


def unwind_data(data, limit):
    """.eh_frame_hdr and .eh_frame as linked, after the eight bytes that choose a pc."""
    found = {name: rest for name, *rest in sections(data)}
    if ".eh_frame_hdr" not in found or ".eh_frame" not in found:
        return
    _, hdr_address, hdr_offset, _ = found[".eh_frame_hdr"]
    _, address, offset, size = found[".eh_frame"]
    module = data[hdr_offset:offset + size]
    if address < hdr_address or len(module) > limit or module[3] != 0x3b:
        return
    count, = struct.unpack_from("<I", module, 8)
    for index in {0, count // 3, count // 2, max(count - 1, 0)}:
        start, = struct.unpack_from("<i", module, 12 + 8 * index)
        for delta, flags in ((1, 2), (9, 3), (20, 2)):
            yield struct.pack("<q", start + delta)[:7] + bytes([flags]) + module
    # Without the table: every entry is looked at.
    start, = struct.unpack_from("<i", module, 12)
    yield struct.pack("<q", start + 1)[:7] + b"\2" + module[:3] + b"\xff" + module[4:]


def cfi(build, limit):
    for path in [*program_paths(build), *(build / "programs").glob("*.so")]:
        if path.suffix != ".rs":
            yield from unwind_data(path.read_bytes(), limit)
    for data in elf_files(build, 1 << 20):
        if data.startswith(b"\x7fELF"):  # and no pair of files
            yield from unwind_data(data, limit)


def build_one(folder, number, compiler, language, flags):
    source = folder / f"seed.{'c' if language == 'c' else 'cc'}"
    source.write_text(CODE if language == "c" else CODE_CXX, encoding="ascii")
    out = folder / f"{number}.so"
    try:
        done = subprocess.run([compiler, *flags.split(), *LINK, "-o", out, source], cwd=folder,
                              capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return out if done.returncode == 0 and out.exists() else None


def two_files(first, second):
    first += bytes(-len(first) % 8)
    return b"TWO:" + struct.pack("<I", len(first)) + first + second


def split_pairs(folder):
    """A file and the split unit that it names, or a package of it."""
    source = folder / "seed.c"
    source.write_text(CODE, encoding="ascii")
    for compiler, version in (("gcc", 5), ("gcc", 4), ("clang", 5)):
        out = folder / "main.so"
        flags = ["-g", "-O2", f"-gdwarf-{version}", "-gsplit-dwarf", "-fPIC"]
        commands = [[compiler, *flags, "-c", "-o", "seed.o", source],
                    [compiler, *LINK, "-o", out, "seed.o"]]
        try:
            if any(subprocess.run(c, cwd=folder, capture_output=True, check=False).returncode
                   for c in commands):
                continue
        except FileNotFoundError:
            continue
        yield two_files(out.read_bytes(), (folder / "seed.dwo").read_bytes())
        for packer in ("dwp", "llvm-dwp-19", "llvm-dwp"):
            if shutil.which(packer) and subprocess.run(
                    [packer, "-e", out, "-o", "main.so.dwp"], cwd=folder, capture_output=True,
                    check=False).returncode == 0:
                yield two_files(out.read_bytes(), (folder / "main.so.dwp").read_bytes())
                break
        (folder / "seed.dwo").unlink()


def perf_maps(_build, _limit):
    yield b"10 20 LazyCompile:*one /a/b.js:1:2\n30 8 two\n28 10 over two\n"
    yield b"0 ffffffffffffffff all\nx\n\n40 zz bad\nffffffffffffffff 1 last"
    yield b"0x10 0x4 prefixed\r\n 20 4 blank\n20\t4\ttabs\n" + b"7 7 " + b"n" * 5000 + b"\n"


def suppressions(_build, _limit):
    yield b"# comment\nleak:load_rows\nleak:^app::*rows$\nleak:*.so\n\nhash:1111111111111111\n"
    yield (b"{\nname\nMemcheck:Leak\nmatch-leak-kinds: definite,indirect,possible,reachable,all,none\n"
           b"fun:_Znwm\n...\nfun:_ZN3app9load_rowsERSii\nobj:*/server\nsrc:load.cc:120\n}\n")
    yield b"{\nname\nMemcheck:Cond\nfun:x\n}\n{\nb\nHelgrind,Memcheck:Leak\nfun:*alloc\nobj:*\n}\n"
    yield b"race:x\n"
    yield b"leak:*\n"
    yield b"leak:a\0b\n" + b"leak:" + b"l" * 9000


# ---- profiles of other tools -----------------------------------------------------------------


def preloaded(build, library, **env):
    """What a program writes with this allocator in front of its own."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([build / "programs" / "foreign"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, cwd=folder,
                       env={**os.environ, "LD_PRELOAD": library, **env})
        for path in pathlib.Path(folder).glob("heap*"):
            yield path.read_bytes()


def without_most_modules(text, limit):
    """Its lines, and few of those that say where libraries are."""
    head, maps = text.split(b"MAPPED_LIBRARIES:\n")
    kept = [line for line in maps.splitlines(True) if b"r-xp" in line][:6]
    return (head + b"MAPPED_LIBRARIES:\n" + b"".join(kept))[:limit]


def jemalloc_files(build, limit):
    conf = "prof:true,prof_final:true,prof_prefix:heap,"
    for more in ("lg_prof_sample:0", "lg_prof_sample:8,prof_accum:true"):
        for text in preloaded(build, "libjemalloc.so.2", MALLOC_CONF=conf + more):
            yield without_most_modules(text, limit)
    for text in preloaded(build, "libtcmalloc.so.4", HEAPPROFILE="heap"):
        yield without_most_modules(text, limit)
        yield without_most_modules(text.replace(b"@ heapprofile", b"@ heap_v2/4096"), limit)
    yield b"heap_v2/524288\n@\n t*: 1: 8 [2: 16]\nMAPPED_LIBRARIES:\n1-2 r-xp 0 0:0 1 /a (deleted)\n"


def heaptrack_files(build, limit):
    raw = b""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["heaptrack", "--raw", "-o", "track", build / "programs" / "foreign"],
                       check=True, capture_output=True, cwd=folder)
        raw = subprocess.run("zstd -dc track.raw.zst", shell=True, check=True, cwd=folder,
                             capture_output=True).stdout
    text = subprocess.run(["/usr/lib/heaptrack/libexec/heaptrack_interpret"], input=raw,
                          check=True, capture_output=True).stdout
    yield text[:limit]
    # Each kind of line, fewer events.
    lines, events = [], 0
    for line in text.splitlines(True):
        events += line[:1] in b"+-"
        if events < 40 or line[:1] not in b"+-":
            lines.append(line)
    yield b"".join(lines)[:limit]
    yield raw[:limit]
    yield (b"v 10300 2\nX ./a b\nI 1000 10\ns /bin/a\ns f\ns g\ns a.c\nA\nS 1 leak:x\ni 10 1 2 4 5 3 4 6\n"
           b"i 20 1 3\ni 30 0\nt 1 0\nt 2 1\nt 3 2\na 10 1\na 0 3\n+ 0\nc a\nR 5\n- 0\n+ 1\n+ 1\n"
           b"c 14\n- 1\n# the end\n")
    # Recursion, inlined functions and allocation functions.
    yield (b"v 10400 3\nX ./a\nI 1000 10\ns 6 /bin/a\ns 1b operator new(unsigned long)\ns 4 walk\n"
           b"s 3 a.c\ns 4 help\ns 2a operator new[](unsigned long, std::align_val_t)\n"
           b"i 10 1 3 4 5\ni 11 1 5 4 7 3 4 8\ni 12 1 2\ni 13 1 6\ni 14 1 5 4 9\n"
           + b"".join(b"t %x %x\n" % (i % 2 + 1, i) for i in range(12))
           + b"t 3 c\nt 4 d\nt 5 c\nt 5 f\na 10 e\na 20 d\na 8 10\n" + b"+ 0\n+ 1\n+ 2\n- 1\n" * 3)


def pprof_files(build, limit):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "main.go").write_text(GO)
        subprocess.run(["go", "build", "-o", "work", "main.go"], check=True, cwd=folder,
                       env={**os.environ, "GOCACHE": str(build / "go-cache"), "GO111MODULE": "off"})
        for kind in ("heap", "allocs", "goroutine"):
            subprocess.run(["./work", kind, "out"], check=True, cwd=folder)
            yield gzip.decompress((folder / "out").read_bytes())[:limit]
        for index, text in enumerate(preloaded(build, "libtcmalloc.so.4", HEAPPROFILE="heap")):
            (folder / f"heap{index}").write_bytes(text)
            for symbolize in ("none", "local"):
                subprocess.run(["go", "tool", "pprof", f"-symbolize={symbolize}", "-proto", "-output",
                                "out", build / "programs" / "foreign", f"heap{index}"], check=True,
                               cwd=folder, capture_output=True)
                yield gzip.decompress((folder / "out").read_bytes())[:limit]


def variants(folder, path):
    """Of one file: with its debug information elsewhere, without symbols, and packed inside."""
    plain, debug, mini = (folder / f"variant.{kind}" for kind in ("plain", "debug", "mini"))
    for command in (
        ["objcopy", "--only-keep-debug", path, folder / "seed.debug"],
        ["strip", "-g", "-o", plain, path],
        ["objcopy", f"--add-gnu-debuglink={folder / 'seed.debug'}", plain],
        ["objcopy", "-S", "--keep-symbol=walk", path, debug],
        ["strip", "-o", mini, path],
    ):
        subprocess.run(command, check=False, capture_output=True)
    subprocess.run(["xz", "-kf", "--check=crc32", plain], check=False, capture_output=True)
    packed_symbols = plain.with_name(plain.name + ".xz")
    if packed_symbols.exists() and mini.exists():
        subprocess.run(["objcopy", f"--add-section=.gnu_debugdata={packed_symbols}", mini],
                       check=False, capture_output=True)
    return [p for p in (plain, debug, mini, folder / "seed.debug") if p.exists()]


def elf_files(_build, limit):
    with tempfile.TemporaryDirectory(prefix="seep-seeds-") as name:
        folder = pathlib.Path(name)
        for number, (compiler, language, flags) in enumerate(ZOO):
            path = build_one(folder, number, compiler, language, flags)
            if path is None:
                continue
            found = [path, *folder.glob("*.dwo")]
            found += variants(folder, path) if number in (0, 4, 12) else []
            for file in found:
                if file.stat().st_size <= limit:
                    yield file.read_bytes()
            for file in folder.glob("*.dwo"):
                file.unlink()
        yield from (data for data in split_pairs(folder) if len(data) <= limit)


def write_all(folder, items, progress):
    """Write seeds as numbered files; returns how many."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    began = time.monotonic()
    for data in items:
        (folder / f"seed-{count:04}").write_bytes(data)
        count += 1
    progress(f"{count} seeds in {time.monotonic() - began:.0f} s")
    return count
