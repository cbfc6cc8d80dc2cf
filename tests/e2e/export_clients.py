# SPDX-License-Identifier: MIT
"""The programs that open what `seep export` writes, and what they say is in it."""

import base64
import collections
import csv
import io
import json
import re
import subprocess

import pytest

import harness

# The values of a sample, as pprof names them, and the keys of a context.
PPROF_VALUES = {
    "alloc_objects": "allocs",
    "alloc_space": "alloc_bytes",
    "inuse_objects": "live_blocks",
    "inuse_space": "live_bytes",
    "peak_objects": "peak_blocks",
    "peak_space": "peak_bytes",
    "temporary_objects": "temporary",
}
SPEEDSCOPE_VALUES = {
    "live bytes": "live_bytes",
    "bytes at the peak": "peak_bytes",
    "allocations": "allocs",
    "temporary allocations": "temporary",
    "allocated bytes": "alloc_bytes",
}
# What is tried with them; the newest that runs under this node.
SPEEDSCOPE = "speedscope@1.25.0"

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
NO_STACK = {False: "(no stack)", True: "(stacks met after the ledger was full)"}


def shown(text):
    """As exporters write text of the JSON document, in which bytes that are no UTF-8 are \\xNN."""

    def escape(match):
        named = {"\t": "\\t", "\n": "\\n"}
        return named.get(match[0]) or "".join(f"\\x{b:02x}" for b in match[0].encode())

    return CONTROLS.sub(escape, text.replace("\\x5c", "\\"))


def raw_name(frame):
    if frame["function"] is not None:
        return frame["function"] or "(unnamed)"
    if frame["module"] is None:
        return f"0x{frame['address']:x}"
    return f"{frame['module'].rsplit('/', 1)[-1]} + 0x{frame['offset']:x}"


def name_of(frame):
    return shown(raw_name(frame))


def no_stack(context):
    return NO_STACK["other" in context["flags"]]


def names_of(context):
    """Innermost first."""
    return [name_of(f) for f in context["frames"]] or [no_stack(context)]


def sums(pairs):
    """Counts by key, without those that are 0."""
    found = collections.Counter()
    for key, value in pairs:
        found[key] += value
    return {key: value for key, value in found.items() if value}


def run(*words, text=True, **how):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=text,
                          timeout=harness.LIMIT_S, check=False, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout


def browse(folder, page):
    """The document that Chromium makes of a page. It may print all of it, and not end."""
    words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
             f"--user-data-dir={folder / 'browser'}", "--virtual-time-budget=60000", "--dump-dom", page]
    try:
        return subprocess.run(words, capture_output=True, check=True, timeout=harness.LIMIT_S / 2).stdout
    except subprocess.TimeoutExpired as late:
        if not (late.stdout or b"").rstrip().endswith(b"</html>"):
            raise
        return late.stdout


# ---- go tool pprof ---------------------------------------------------------------------------


def pprof(*words):
    # Where it would look for symbols and keep its settings.
    return run("go", "tool", "pprof", "-symbolize=none", *words)


def pprof_raw(path):
    """The value names, and of each sample its values, locations' lines and labels."""
    text = pprof("-raw", path)
    head, rest = text.split("\nSamples:\n")
    samples, rest = rest.split("\nLocations\n", 1)
    locations, mappings = re.split(r"(?:^|\n)Mappings\n", rest)
    lines = {}
    for line in locations.splitlines():
        begin = re.match(r" +(\d+): 0x([0-9a-f]+) M=(\d+) (.*)$", line)
        if begin:
            last = lines[int(begin[1])] = (int(begin[2], 16), int(begin[3]), [begin[4]])
        else:
            last[2].append(line[13:])
    names, *rows = samples.splitlines()
    found = []
    for row in rows:
        values = re.match(r"([ 0-9-]+):([ 0-9]*)$", row)
        if values:
            found.append(([int(v) for v in values[1].split()],
                          [lines[int(i)] for i in values[2].split()], {}))
        else:
            found[-1][2].update(re.findall(r"(\w+):\[(.*?)\](?= |$)", row))
    return head, names.split(), found, mappings


def pprof_line(frame):
    return f"{name_of(frame)} {shown(frame['file'] or '')}:{frame['line'] or 0} s=0"


def addresses(context):
    """The frames by address, innermost first; of each the inlined ones first."""
    found, at = [], []
    for frame in context["frames"]:
        at.append(frame)
        if not frame["inlined"]:
            found.append(at)
            at = []
    assert not at
    return found


def pprof_total(path, value):
    done = pprof("-top", f"-sample_index={value}", "-unit=bytes", path)
    return int(re.search(r"Total samples = (\d+)", done)[1])


def pprof_traces(path, value):
    """Stacks, innermost first, with their values."""
    text = pprof("-traces", f"-sample_index={value}", "-unit=bytes", path)
    for block in re.split(r"^-+\+-+\n", text, flags=re.M)[1:]:
        rows = [row for row in block.splitlines() if not re.match(r" *\w+:  ", row)]
        if not rows:  # behind the last of them
            continue
        number, first = re.match(r" *(\d+)(?:B|bytes)?   (.*)$", rows[0]).groups()
        names = [row.strip().removesuffix(" (inline)") for row in [first, *rows[1:]]]
        yield tuple(names), int(number)


# ---- jeprof ----------------------------------------------------------------------------------


def jeprof(*words):
    return run("jeprof", *words)


def jeprof_total(program, path, value):
    text = jeprof("--text", "--show_bytes", f"--{value}", program, path)
    return int(re.search(r"^Total: (\d+) ", text, re.M)[1])


def short(name):
    """Without arguments, template arguments and namespaces: nm, addr2line and seep take these from
    different places of a file."""
    name = re.sub(r"<[0-9a-f]{16}>$", "", name)
    while (less := re.sub(r"\([^()]*\)(\s*const)?|<[^<>]*>|\[abi:\w+\]", "", name)) != name:
        name = less
    return re.split(r"::| ", name.strip())[-1]


def jeprof_stacks(program, path, value):
    """Stacks, outermost first, of addresses, each its names, outermost first; and their values."""
    for line in jeprof("--collapsed", f"--{value}", program, path).splitlines():
        names, count = line.rsplit(" ", 1)
        stack = []
        for name in names.split(";"):
            if name.endswith("[inline]"):
                stack[-1].append(short(name.removesuffix("[inline]")))
            else:
                stack.append([short(name)])
        yield stack, int(count)


# ---- folded, CSV -----------------------------------------------------------------------------


def folded(text):
    """Stacks, innermost first, with their values."""
    for line in text.splitlines():
        names, value = line.rsplit(" ", 1)
        yield tuple(reversed(names.split(";"))), int(value)


def csv_rows(data):
    assert data.endswith(b"\r\n")
    return list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True))


# ---- speedscope ------------------------------------------------------------------------------

# Speedscope's own page, which saves what it has loaded as soon as it has.
SAVE = """<script>
const made = URL.createObjectURL;
URL.createObjectURL = blob => {
  blob.text().then(text => {
    const out = document.createElement("pre");
    out.id = "saved";
    out.textContent = btoa(unescape(encodeURIComponent(text)));
    document.body.append(out);
  });
  return made.call(URL, blob);
};
const timer = setInterval(() => {
  if (document.getElementById("saved"))
    clearInterval(timer);
  else
    window.dispatchEvent(new KeyboardEvent("keydown", { key: "s", ctrlKey: true }));
}, 100);
</script>
"""


def fetch_speedscope(folder):
    """Its released files; without npm, or what npm asks, the test is skipped."""
    harness.need("npm")
    done = subprocess.run(["npm", "pack", "--silent", SPEEDSCOPE], cwd=folder, check=False,
                          capture_output=True, text=True, timeout=harness.LIMIT_S)
    if done.returncode != 0:
        pytest.skip(f"npm does not give {SPEEDSCOPE}")
    run("tar", "xzf", done.stdout.strip(), cwd=folder)
    release = folder / "package" / "dist" / "release"
    page = (release / "index.html").read_text()
    assert "<script src=" in page
    (release / "saves.html").write_text(page.replace("<script src=", SAVE + "<script src=", 1))
    return release


def speedscope(release, folder, path):
    """What speedscope saves after it has loaded a file, in Chromium."""
    data = base64.b64encode(path.read_bytes()).decode()
    loader = folder / "loader.js"
    loader.write_text(f"speedscope.loadFileFromBase64({json.dumps(path.name)}, {json.dumps(data)})")
    page = browse(folder, f"file://{release}/saves.html#localProfilePath={loader}")
    return json.loads(base64.b64decode(re.search(rb'<pre id="saved">([^<]+)</pre>', page)[1]))


def speedscope_stacks(profile, frames):
    """Stacks of a saved profile, innermost first, with their weights: it has the times at which
    each call begins and ends."""
    stack, before = [], profile["startValue"]
    for event in profile["events"]:
        if event["at"] > before:
            yield tuple(frames[i] for i in reversed(stack)), event["at"] - before
            before = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        else:
            assert stack.pop() == event["frame"]
    assert not stack
