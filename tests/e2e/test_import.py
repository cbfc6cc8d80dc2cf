# SPDX-License-Identifier: MIT
"""`seep import`: files by the real producers give the producers' totals and stacks."""

import collections
import csv
import gzip
import json
import os
import random
import re
import subprocess

import pytest

import harness
from harness import BUILD, LIMIT_S, check_truth, need, parse_truth, program, site

GO_PROGRAM = """
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
)

type pool struct{ kept [][]byte }

var last []byte

//go:noinline
func (p *pool) keep(n int) {
	for i := 0; i < n; i++ {
		p.kept = append(p.kept, make([]byte, 1000))
	}
}

//go:noinline
func churn(n int) {
	for i := 0; i < n; i++ {
		last = make([]byte, 5000+8*(i%10))
	}
	last = nil
}

func main() {
	runtime.MemProfileRate, _ = strconv.Atoi(os.Args[2])
	p := &pool{}
	p.keep(1000)
	churn(20000)
	runtime.GC()
	runtime.GC()
	file, _ := os.Create(os.Args[1])
	pprof.Lookup("heap").WriteTo(file, 0)
	file.Close()
	runtime.KeepAlive(p)
}
"""
TCMALLOC = "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4"
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
INTERPRET = "/usr/lib/heaptrack/libexec/heaptrack_interpret"
FIGURES = ("allocs", "alloc_bytes", "live_blocks", "live_bytes")


def call(*words, cwd, **env):
    done = subprocess.run([str(w) for w in words], cwd=cwd, env={**os.environ, **env},
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S,
                          check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode(errors="replace")


def need_file(path):
    assert os.path.exists(path), f"{path} is not installed"
    return path


def imported(seep, path, *options):
    """The document of the recording that `seep import` makes of this file."""
    out = seep.directory / f"{path.name}.seep"
    done = seep.command("import", "-q", "-f", *options, path, "-o", out)
    assert (done.status, done.stdout, done.stderr) == (0, b"", b""), done.stderr.decode()
    done = seep.command("report", "--json", out)
    assert done.status == 0, done.stderr.decode()
    report = harness.read_report(done.stdout)
    for key in harness.SUMMED:
        assert report["totals"][key] in (None, sum(c[key] for c in report["contexts"])), key
    assert report["scan"]["method"] is None and report["leaks"] == []
    assert report["process"]["pid"] is None and report["process"]["status"] is None
    return report


def codes(report):
    return [line["code"] for line in report["unseen"]]


def stacks(report, keys=FIGURES):
    """The figures by the names of a stack, innermost first."""
    found = collections.Counter()
    for context in report["contexts"]:
        names = tuple(f["function"] or "?" for f in context["frames"])
        for key in keys:
            if context[key]:
                found[names, key] += context[key]
    return found


def sums_by(report, key):
    found = collections.Counter()
    for context in report["contexts"]:
        found[context[key]] += context["alloc_bytes"]
    return found


# ---- pprof -------------------------------------------------------------------------------------


def go_profile(folder, rate):
    need("go")
    (folder / "main.go").write_text(GO_PROGRAM)
    cache = BUILD / "go-cache"
    call("go", "build", "-o", "go-work", "main.go", cwd=folder, GOCACHE=str(cache), GO111MODULE="off",
         GOFLAGS="")
    call("./go-work", "heap.pb.gz", rate, cwd=folder)
    return folder / "heap.pb.gz"


def pprof_raw(path):
    """Samples by the names of a stack, as `go tool pprof -raw` lists them."""
    text = call("go", "tool", "pprof", "-raw", path, cwd=path.parent)
    samples, rest = text.split("Samples:\n")[1].split("Locations\n")
    names, lines = {}, rest.split("Mappings\n")[0].splitlines()
    types = samples.splitlines()[0].split()
    for line in lines:
        if found := re.match(r" *(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*)", line):
            at = names.setdefault(int(found[1]), [])
            line = found[2]
        if line.split():
            at.append(re.sub(r" \S+:\d+ s=\d+(\(.*\))?$", "", line.strip()))
    keys = [{"alloc_objects": "allocs", "alloc_space": "alloc_bytes",
             "inuse_objects": "live_blocks", "inuse_space": "live_bytes",
             "objects": "live_blocks", "space": "live_bytes"}[t.split("/")[0]] for t in types]
    found = collections.Counter()
    for line in samples.splitlines()[1:]:
        if not (parts := re.match(r" *([-\d ]+): ([\d ]*)$", line)):
            continue
        stack = tuple(n for i in parts[2].split() for n in names[int(i)])
        for key, value in zip(keys, parts[1].split()):
            if int(value):
                found[stack, key] += int(value)
    return found


@pytest.mark.parametrize("rate", ["1", "524288"])
def test_a_heap_profile_of_go_has_the_figures_that_pprof_gives(seep, rate):
    path = go_profile(seep.directory, rate)
    report = imported(seep, path)
    assert stacks(report) == pprof_raw(path)
    assert ("sampled" in codes(report)) == (rate != "1")
    assert codes(report)[0] == "imported" and "one-moment" in codes(report)
    assert report["totals"]["peak_bytes"] is None and report["totals"]["temporary"] is None
    assert report["process"]["exe"].endswith("go-work")
    if rate == "1":
        assert report["totals"]["live_bytes"] >= 1000 * 1000
        text = seep.command("report", "heap.pb.gz.seep", cwd=seep.directory).stdout.decode()
        assert "main.(*pool).keep" in text and "peak" not in text.split("\n\n")[1]


def test_a_profile_that_pprof_unpacked_is_the_same(seep):
    path = go_profile(seep.directory, "1")
    plain = seep.directory / "plain"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert stacks(imported(seep, plain)) == stacks(imported(seep, path))


# ---- tcmalloc and jemalloc ----------------------------------------------------------------------


def run_foreign(folder, **env):
    """The program's truth, by the functions that text of one word names."""
    return parse_truth(call(program("foreign"), cwd=folder, **env))


def tcmalloc_profile(folder):
    truth = run_foreign(folder, LD_PRELOAD=need_file(TCMALLOC), HEAPPROFILE=str(folder / "heap"))
    (path,) = folder.glob("heap.*.heap")
    return path, truth


def google_totals(tool, path, folder):
    """What the producer's own tool counts in all."""
    found = {}
    for key, option in zip(FIGURES, ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")):
        text = call(tool, "--text", "--show_bytes", f"--{option}", program("foreign"), path,
                    cwd=folder)
        found[key] = int(re.search(r"Total: (\d+)", text)[1])
    return found


def test_a_profile_of_tcmalloc_has_the_producers_totals(seep):
    path, truth = tcmalloc_profile(seep.directory)
    report = imported(seep, path)
    assert google_totals("google-pprof", path, seep.directory) == {
        key: report["totals"][key] for key in FIGURES}
    check_truth(report, truth, ignore=("temporary", "peak_bytes"))
    assert report["process"]["exe"] == str(program("foreign"))
    assert "sampled" not in codes(report)


def test_a_profile_of_tcmalloc_through_pprof_is_the_same(seep):
    path, truth = tcmalloc_profile(seep.directory)
    proto = seep.directory / "heap.pb.gz"
    call("go", "tool", "pprof", "-proto", "-output", proto, program("foreign"), path,
         cwd=seep.directory)
    report = imported(seep, proto)
    assert {k: report["totals"][k] for k in FIGURES} == {
        k: imported(seep, path)["totals"][k] for k in FIGURES}
    check_truth(report, truth, ignore=("temporary", "peak_bytes"))


def jemalloc_profile(folder, conf):
    truth = run_foreign(folder, LD_PRELOAD=need_file(JEMALLOC),
                        MALLOC_CONF=f"prof:true,prof_final:true,prof_prefix:{folder}/heap,{conf}")
    (path,) = folder.glob("heap.*.heap")
    return path, truth


@pytest.mark.parametrize("conf", ["lg_prof_sample:0", "lg_prof_sample:12"])
def test_a_profile_of_jemalloc_has_the_figures_that_jeprof_gives(seep, conf):
    path, truth = jemalloc_profile(seep.directory, f"prof_accum:true,{conf}")
    report = imported(seep, path)
    for key, want in google_totals("jeprof", path, seep.directory).items():
        # jeprof adds fractions, and we whole numbers.
        assert abs(report["totals"][key] - want) <= len(report["contexts"]), key
    assert ("sampled" in codes(report)) == (conf != "lg_prof_sample:0")
    if conf == "lg_prof_sample:0":
        for name, want in truth.sites.items():
            have = site(report, name)
            # It counts what it gave, not what was asked for.
            assert (have["allocs"], have["live_blocks"]) == (want["allocs"], want["live_blocks"])


def test_what_jemalloc_does_not_accumulate_is_unknown(seep):
    path, _ = jemalloc_profile(seep.directory, "prof_accum:false,lg_prof_sample:0")
    report = imported(seep, path)
    assert "no-frees" in codes(report)
    assert report["totals"]["allocs"] is None and report["totals"]["frees"] is None
    text = seep.command("report", f"{path.name}.seep", cwd=seep.directory).stdout.decode()
    out = f"{path.name}.seep"
    for words in (["folded", "--by", "peak"], ["dhat"], ["heaptrack"]):
        done = seep.command("export", out, "-o", "out", "--to", *words, cwd=seep.directory)
        assert done.status == 2 and b"the profile does not know" in done.stderr
    massif = seep.command("export", out, "--to", "massif", cwd=seep.directory).stdout.decode()
    assert "heap_tree=peak" not in massif and "heap_tree=detailed" in massif
    rows = list(csv.DictReader(seep.command("export", out, "--to", "csv", cwd=seep.directory)
                               .stdout.decode().splitlines()))
    for row in rows:
        assert row["live_bytes"] and not any(
            row[key] for key in ("allocs", "frees", "peak_blocks", "peak_bytes", "temporary"))
    again = seep.directory / "again.pb.gz"
    assert seep.command("export", out, "--to", "pprof", "-o", again,
                        cwd=seep.directory).status == 0
    have = imported(seep, again)
    for key in ("allocs", "frees", "peak_bytes", "temporary"):
        assert have["totals"][key] is None, key
    assert have["totals"]["live_bytes"] == report["totals"]["live_bytes"]
    assert "freed," not in text and "allocations" not in text.split("\n\n")[1]


# ---- heaptrack ----------------------------------------------------------------------------------


def heaptrack_profile(folder, name):
    """A run's file, and the figures that heaptrack gives for it."""
    need("heaptrack")
    # Without --raw it would open its window.
    call("heaptrack", "--raw", "-o", "track", program(name), cwd=folder)
    done = subprocess.run(f"zstd -dc track.raw.zst | {INTERPRET} | zstd -qc > track.zst",
                          shell=True, cwd=folder, capture_output=True, check=True)
    return folder / "track.zst", [
        int(re.search(rf"^\t{what}:\s+(\d+)", done.stderr.decode(), re.M)[1])
        for what in ("allocations", "leaked allocations", "temporary allocations")]


def heaptrack_stacks(path, cost):
    """Folded stacks of heaptrack_print, innermost first."""
    out = path.parent / f"folded-{cost}"
    call("heaptrack_print", "--disable-builtin-suppressions", "--disable-embedded-suppressions",
         "--shorten-templates=0", "--flamegraph-cost-type", cost, "-F", out, "-f", path, cwd=path.parent)
    found = collections.Counter()
    for line in out.read_text(errors="replace").splitlines():
        stack, value = line.rsplit(" ", 1)
        if int(value):
            names = [re.sub(r" \([^()]*\)$", "", n) for n in stack.rstrip(";").split(";")]
            found[tuple(reversed(names))] += int(value)
    return found


@pytest.mark.parametrize("name", ["foreign", "peak_sawtooth"])
def test_a_run_under_heaptrack_has_the_figures_that_heaptrack_gives(seep, name):
    path, said = heaptrack_profile(seep.directory, name)
    report = imported(seep, path)
    totals = report["totals"]
    assert said == [totals[key] for key in ("allocs", "live_blocks", "temporary")]
    for cost, key in (("allocations", "allocs"), ("leaked", "live_bytes"), ("peak", "peak_bytes")):
        assert sum(heaptrack_stacks(path, cost).values()) == totals[key], cost
    assert codes(report) == ["imported"]
    assert report["timeline"] and (totals["peak_at_ns"] or 0) <= report["process"]["end_ns"]
    assert sum(b["allocs"] for b in totals["size_histogram"]) == totals["allocs"]
    assert report["process"]["exe"] == str(program(name))


def test_sites_under_heaptrack_have_the_programs_own_truth(seep):
    path, _ = heaptrack_profile(seep.directory, "foreign")
    truth = run_foreign(seep.directory)
    check_truth(imported(seep, path), truth)


def test_stacks_under_heaptrack_are_those_that_heaptrack_prints(seep):
    path, _ = heaptrack_profile(seep.directory, "foreign")
    report = imported(seep, path)
    for cost, key in (("allocations", "allocs"), ("temporary", "temporary"), ("peak", "peak_bytes")):
        want, have = collections.Counter(), collections.Counter()
        for stack, value in heaptrack_stacks(path, cost).items():
            want[tuple(n for n in stack if n.startswith("work::"))] += value
        for context in report["contexts"]:
            names = [f["function"] or "" for f in context["frames"]]
            have[tuple(n for n in names if n.startswith("work::"))] += context[key]
        del want[()], have[()]
        assert +have == want, cost


def test_a_recording_and_an_import_join_in_a_diff(seep):
    path, _ = heaptrack_profile(seep.directory, "foreign")
    imported(seep, path)
    recordings = seep.record([program("foreign")])
    done = seep.command("diff", "--json", "--by", "allocs", recordings.path, f"{path}.seep")
    assert done.status == 0, done.stderr.decode()
    changes = json.loads(done.stdout)
    for change in changes["changes"]:
        names = [changes["frames"][i]["function"] for i in change["frames"]]
        # Recursion is folded in recordings only.
        assert not any((n or "").startswith("work::") for n in names) or (
            "work::tree::grow(int)" in names), names
    assert changes["after"]["pid"] is None


def test_plain_and_gzipped_files_of_heaptrack_are_the_same(seep):
    path, _ = heaptrack_profile(seep.directory, "foreign")
    plain = seep.directory / "plain"
    plain.write_bytes(subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout)
    packed = seep.directory / "packed.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert stacks(imported(seep, plain)) == stacks(imported(seep, packed)) == stacks(
        imported(seep, path))
    assert [c["hash"] for c in imported(seep, plain)["contexts"]] == [
        c["hash"] for c in imported(seep, path)["contexts"]]


# ---- our own ------------------------------------------------------------------------------------


def without_allocator(sums):
    found = collections.Counter()
    for (names, key), value in sums.items():
        found[names[names[:1] in (("malloc",), ("calloc",)):], key] += value
    return found


@pytest.mark.parametrize("form", ["pprof", "jemalloc"])
def test_what_is_exported_comes_back_with_the_figures_of_all_stacks(seep, form):
    recordings = seep.record([program("export_cxx")], options=["--by-thread"])
    path = seep.directory / "exported"
    assert seep.command("export", recordings.path, "--to", form, "-o", path).status == 0
    want, have = recordings.main(), imported(seep, path)
    figures = FIGURES + (("peak_blocks", "peak_bytes", "temporary") if form == "pprof" else ())
    # Some of ours begin in the C library's own calloc.
    assert without_allocator(stacks(have, figures)) == without_allocator(stacks(want, figures))
    assert any(not c["frames"] for c in want["contexts"]) == any(
        not c["frames"] for c in have["contexts"])
    assert have["process"]["exe"] == want["process"]["exe"]
    assert "sampled" not in codes(have) and "mended" not in codes(have)
    assert ("one-moment" in codes(have)) == (form == "jemalloc")
    if form == "pprof":
        for key in ("kind", "thread"):
            assert sums_by(have, key) == sums_by(want, key)


def test_an_export_for_heaptrack_comes_back_with_its_totals(seep):
    recordings = seep.record([program("export_cxx")])
    path = seep.directory / "exported.gz"
    assert seep.command("export", recordings.path, "--to", "heaptrack", "-o", path).status == 0
    want, have = recordings.main()["totals"], imported(seep, path)["totals"]
    for key in ("allocs", "live_bytes", "peak_bytes", "temporary"):
        assert have[key] == want[key], key


# ---- the command --------------------------------------------------------------------------------

HEAP_V2 = """heap_v2/0
  t*: 3: 300 [9: 900]
@ 0x1010 0x1020
  t*: 3: 300 [9: 900]
  t0: 3: 300 [9: 900]

MAPPED_LIBRARIES:
00001000-00002000 r-xp 00000000 00:00 1 /none/program
"""


def test_the_name_is_that_of_the_file_and_what_exists_is_kept(seep):
    folder = seep.directory
    (folder / "sub").mkdir()
    (folder / "sub" / "a.heap").write_text(HEAP_V2)
    done = seep.command("import", "sub/a.heap", cwd=folder)
    assert (done.status, done.stdout) == (0, b"")
    assert "Live when last seen 300 B in 3 blocks; 9 allocations" in done.stderr.decode()
    assert "pid" not in done.stderr.decode() and "exited" not in done.stderr.decode()
    before = (folder / "a.heap.seep").read_bytes()
    done = seep.command("import", "-q", "sub/a.heap", cwd=folder)
    assert done.status == 2 and "a.heap.seep" in done.stderr.decode()
    assert (folder / "a.heap.seep").read_bytes() == before
    assert seep.command("import", "-q", "--force", "sub/a.heap", cwd=folder).status == 0
    (folder / "link").symlink_to("sub/a.heap")
    done = seep.command("import", "-q", "-f", "link", "-o", "sub/a.heap", cwd=folder)
    assert done.status == 2 and "sub/a.heap is the profile that is read" in done.stderr.decode()
    assert (folder / "sub" / "a.heap").read_text() == HEAP_V2


def test_a_format_that_is_asked_for_overrules_the_content(seep):
    (seep.directory / "a.heap").write_text(HEAP_V2)
    done = seep.command("import", "--from", "heaptrack", "a.heap", cwd=seep.directory)
    assert done.status == 2
    assert "a.heap: not read as heaptrack: line 1: " in done.stderr.decode()
    assert seep.command("import", "-q", "--from=jemalloc", "a.heap", cwd=seep.directory).status == 0


def test_commands_that_read_recordings_say_what_imports_it(seep):
    for name in ("a.heap", "b.heap"):
        (seep.directory / name).write_text(HEAP_V2)
    for words in (["report", "a.heap"], ["diff", "a.heap", "b.heap"], ["leaks", "a.heap"],
                  ["export", "a.heap", "--to", "csv"], ["query", "a.heap", "SELECT 1"],
                  ["check", "a.heap", "b.heap"], ["check", "--baseline", "a.heap", "b.heap"]):
        done = seep.command(*words, cwd=seep.directory)
        assert done.status == 2
        assert '"seep import a.heap" makes a recording of it' in done.stderr.decode(), words
    (seep.directory / "other").write_text("nothing of the kind\n")
    assert "import" not in seep.command("report", "other", cwd=seep.directory).stderr.decode()


def test_what_is_no_profile_is_refused_and_nothing_is_written(seep):
    folder = seep.directory
    cases = {
        "empty": b"",
        "text": b"hello\n",
        "cut.heap": HEAP_V2.encode()[:60],
        "cut.gz": gzip.compress(HEAP_V2.encode())[:-9],
        "raw": b"v 10400 3\nx 4 /a/b\n",
        "old": b"v 10000 1\n",
        "cpu.pb": bytes.fromhex("0a040801100212002205080310041a00") + b"\x32\x00" + b"".join(
            b"\x32" + bytes([len(s)]) + s for s in (b"samples", b"count", b"cpu", b"ns")),
    }
    for name, data in cases.items():
        (folder / name).write_bytes(data)
        done = seep.command("import", name, cwd=folder)
        assert done.status == 2, name
        assert len(done.stderr.splitlines()) == 1 and name in done.stderr.decode()
        assert not (folder / f"{name}.seep").exists()


def test_a_bomb_is_refused_soon(seep):
    bomb = seep.directory / "bomb.gz"
    # 768 MB of an empty string table, in under a megabyte.
    bomb.write_bytes(b"".join(gzip.compress(b"\x32\x00" * (32 << 20)) for _ in range(12)))
    assert bomb.stat().st_size < 1 << 20
    done = seep.command("import", "--from=pprof", bomb.name, cwd=seep.directory)
    assert done.status == 2
    assert "it holds more than 512 MB, which is the most that is read" in done.stderr.decode()


def assert_proper(done, folder, before):
    """Success, or one sentence and nothing written; nothing in it can steer a terminal."""
    text = done.stderr.decode()
    assert done.status in (0, 2) and done.stdout == b"", text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), text
    if done.status == 2:
        assert text.startswith("seep import: ") and text.count("\n") == 1, text
        assert sorted(os.listdir(folder)) == before
    else:
        os.unlink(folder / "changed.seep")


@pytest.mark.parametrize("kind", ["pprof", "heaptrack", "jemalloc"])
def test_real_files_that_were_cut_or_changed_do_no_harm(seep, kind):
    folder = seep.directory / "work"
    folder.mkdir()
    if kind == "pprof":
        path = go_profile(seep.directory, "1")
        data = gzip.decompress(path.read_bytes())
    elif kind == "heaptrack":
        path, _ = heaptrack_profile(seep.directory, "foreign")
        data = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout
    else:
        path, _ = jemalloc_profile(seep.directory, "lg_prof_sample:0")
        data = path.read_bytes()
    chance = random.Random(kind)
    (folder / "changed").write_bytes(b"")
    before = sorted(os.listdir(folder))
    for turn in range(40):
        changed = bytearray(data if turn % 4 else path.read_bytes())
        if turn % 2:
            del changed[chance.randrange(len(changed)):]
        for _ in range(turn % 5):
            if changed:
                changed[chance.randrange(len(changed))] = chance.randrange(256)
        (folder / "changed").write_bytes(changed)
        done = seep.command("import", "-q", "--from", kind, "changed", cwd=folder)
        assert_proper(done, folder, before)


def test_what_is_no_regular_file_is_refused_at_once(seep):
    folder = seep.directory
    os.mkfifo(folder / "pipe")
    (folder / "sparse").touch()
    os.truncate(folder / "sparse", 1 << 40)
    for name in ("pipe", "/dev/zero", "/dev/null", ".", "sparse", "none"):
        done = seep.command("import", name, "-o", "out.seep", cwd=folder)
        assert done.status == 2 and done.stderr.count(b"\n") == 1, done.stderr
        assert not (folder / "out.seep").exists()


def test_hostile_names_do_not_reach_the_terminal(seep):
    name = "\x1b[31m\u202eevil\x07</script>"
    text = f"v 10400 3\nX ./{name!r}\ns {len(name.encode()):x} {name}\ni 1 1 1 1 5\nt 1 0\na a 1\n+ 0\n"
    (seep.directory / "file").write_text(text)
    done = seep.command("import", "file", cwd=seep.directory)
    assert done.status == 0, done.stderr
    report = seep.command("report", "file.seep", cwd=seep.directory)
    assert report.status == 0
    for shown in (done.stderr, report.stdout):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown.decode())
    assert b"evil" in report.stdout
