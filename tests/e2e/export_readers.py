# SPDX-License-Identifier: MIT
"""What heaptrack_print, ms_print, callgrind_annotate and dh_view.html say is in a file; and what a
report's contexts are called there. A stack is a tuple, innermost first."""

import base64
import json
import pathlib
import re
import subprocess

import harness
from export_clients import addresses, browse, name_of, no_stack, raw_name, shown, sums


def run(*words, **how):
    """Its output; a word on standard error is a failure too."""
    done = subprocess.run([str(word) for word in words], capture_output=True, check=False,
                          timeout=harness.LIMIT_S, **how)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode(errors="replace")
    return done.stdout.decode()


def number(text):
    return int(text.replace(",", ""))


# ---- the report ------------------------------------------------------------------------------


def file_of(report, frame):
    """Below the program's folder."""
    return frame["file"].removeprefix(f"{report['process']['cwd']}/")


def valgrind_frame(report, frame):
    """As massif and DHAT have it."""
    address = frame["address"] if frame["module"] is None else frame["offset"]
    place = ""
    if frame["file"]:
        place = f" ({file_of(report, frame)}{':%d' % frame['line'] if frame['line'] else ''})"
    elif frame["module"]:
        place = f" (in {frame['module']})"
    return f"0x{address:X}: {raw_name(frame)}{place}"


def valgrind_stack(report, context):
    return tuple(valgrind_frame(report, f) for f in context["frames"]) or (no_stack(context),)


# ---- heaptrack -------------------------------------------------------------------------------

HEAPTRACK = ("heaptrack_print", "-t", "0", "--disable-builtin-suppressions",
             "--disable-embedded-suppressions")
HEAPTRACK_NEW = ("operator new(unsigned long)", "operator new[](unsigned long)")
HEAPTRACK_COSTS = {"allocations": "allocs", "temporary": "temporary", "leaked": "live_bytes",
                   "peak": "peak_bytes"}


def heaptrack_addresses(context):
    """It leaves out operator new at the inner end, and what is further out than main where no
    call was inlined at that address."""
    found = addresses(context)
    while found and found[0][0]["function"] in HEAPTRACK_NEW:
        found.pop(0)
    for i, at in enumerate(found):
        if at[0]["function"] in ("main", "__libc_start_main"):
            return found[:i + 1]
    return found


def heaptrack_frames(context):
    """Lines of heaptrack_print."""
    lines = []
    for at in heaptrack_addresses(context):
        for i, frame in enumerate(at):
            lines.append(name_of(frame).strip())
            if frame["file"]:
                lines.append(f"at {shown(frame['file'])}:{frame['line'] or 0}")
            elif i > 0:
                lines.append("at :0")
            if i == 0:
                lines.append(f"in {shown(frame['module'] or '??')}")
    return tuple(lines) if context["frames"] else (no_stack(context), "in ??")


def heaptrack_line(context):
    """A line of its flame graph: outermost address first, but of each the inlined calls first."""
    names = []
    for at in reversed(heaptrack_addresses(context)):
        for i, frame in enumerate(at):
            file = shown(frame["file"] or "").rsplit("/", 1)[-1]
            names.append(name_of(frame) + (f" ({file})" if frame["file"] or i > 0 else ""))
    if not context["frames"]:
        names = [no_stack(context)]
    return "".join(f"{name};" for name in names)


def heaptrack_costs(path, folder, cost):
    """By line of the flame graph."""
    out = folder / f"{cost}.flame"
    run(*HEAPTRACK, "-a", 0, "-p", 0, "-T", 0, "-F", out, "--flamegraph-cost-type", cost, path)
    return sums((line.rpartition(" ")[0], int(line.rpartition(" ")[2]))
                for line in out.read_text().splitlines())


def heaptrack_calls(path):
    """Allocations by the lines of its stacks, and the totals."""
    text = run(*HEAPTRACK, "-m", 0, "-n", 10**6, "-a", 1, "-p", 0, "-T", 0, path)
    pairs = []
    for block in text.split("FUNCTIONS\n")[1].split("\n\n"):
        head, *lines = block.strip("\n").splitlines() or [""]
        if " peak consumption from" in head:
            pairs.append((tuple(line.strip() for line in lines), int(head.split()[0])))
    totals = dict(re.findall(r"^([a-z A-Z()]+): ([0-9.]+\w*)", text, re.M))
    return sums(pairs), totals


def heaptrack_bytes(value):
    """As it prints them."""
    for unit in ("B", "K", "M", "G"):
        if value < 1000:
            return f"{value}B" if unit == "B" else f"{value:.2f}{unit}"
        value /= 1000
    raise ValueError(value)


# ---- massif ----------------------------------------------------------------------------------


def massif(path):
    """Snapshots: time, bytes, and own bytes by stack where there is a tree; which is the peak."""
    text = run("ms_print", "--threshold=0", path)
    peak = int(re.search(r"Detailed snapshots: \[.*?(\d+) \(peak\)", text)[1])
    snapshots, open_nodes = [], []
    for line in text.splitlines():
        row = re.match(r" *(\d+) +([\d,]+) +([\d,]+) +([\d,]+) +0 +0$", line)
        node = re.match(r"([| ]*)(?:->)?\d+\.\d+% \(([\d,]+)B\) (.*)$", line)
        if row:
            assert number(row[3]) == number(row[4])
            snapshots.append((number(row[2]), number(row[3]), {}))
        elif node:
            depth, value = len(node[1]) // 2 + ("->" in line[:len(node[1]) + 2]), number(node[2])
            open_nodes[depth:] = [node[3]]
            tree = snapshots[-1][2]
            tree[tuple(open_nodes[1:])] = tree.get(tuple(open_nodes[1:]), 0) + value
            if depth > 0:
                tree[tuple(open_nodes[1:-1])] -= value
    return snapshots, peak


def massif_stack(report, context):
    return tuple(shown(text).replace("#", "＃") for text in valgrind_stack(report, context))


# ---- callgrind -------------------------------------------------------------------------------


def callgrind(path, *options):
    """Event names, totals; figures by function; callers of each function with theirs."""
    text = run("callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", "--tree=caller",
               *options, path, cwd="/")
    names = re.search(r"^Events shown: +(.*)$", text, re.M)[1].split()
    columns = r"^ *" + r" +".join([r"([\d,]+|\.)"] * len(names)) + r" +(PROGRAM TOTALS|[*<] +.*?)( \(calculated\))?$"
    functions, calls, callers, total = {}, {}, [], None
    for line in text.splitlines():
        row = re.match(columns, line)
        if not row:
            continue
        *values, what, _ = row.groups()
        values = [0 if v == "." else number(v) for v in values]
        if what == "PROGRAM TOTALS":
            total = values
        elif what[0] == "<":
            callers.append((re.match(r"< (.*) \([\d,]+x\)( \[.*\])?$", what)[1], values))
        else:
            name = re.match(r"\*  (.*?)( \[[^\]]*\])?$", what)[1]
            functions[name] = values
            calls.update({(caller, name): v for caller, v in callers})
            callers = []
    return names, total, functions, calls


def callgrind_name(report, frame):
    file = "???"
    if frame["file"] is not None:
        file = shown(file_of(report, frame)) or file
    elif frame["function"] is not None and frame["module"]:
        file = shown(frame["module"].rsplit("/", 1)[-1])
    return f"{file}:{name_of(frame)}"


def callgrind_names(report, context):
    """Outermost first."""
    names = [callgrind_name(report, f) for f in reversed(context["frames"])]
    return ["???:(root)", *(names or [f"???:{no_stack(context)}"])]


# ---- DHAT ------------------------------------------------------------------------------------

VIEWER = pathlib.Path("/usr/libexec/valgrind/dh_view.html")

# The viewer's own page and script. A file is given to it as a person's choice is.
CHOOSE = """<script>
window.addEventListener("load", () => {
  const bytes = Uint8Array.from(atob("%s"), c => c.charCodeAt(0));
  const chosen = new DataTransfer();
  chosen.items.add(new File([bytes], "chosen.json"));
  gInput.files = chosen.files;
  gInput.dispatchEvent(new Event("change"));
  const timer = setInterval(() => {
    if (!gRoot || !gMainDiv.textContent.includes("}"))
      return;
    clearInterval(timer);
    const out = document.createElement("pre");
    out.id = "tree";
    out.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(
      { root: gRoot, text: gMainDiv.textContent, frames: gData.ftbl }))));
    document.body.append(out);
  }, 50);
});
</script>
"""


def dhat(path, folder):
    """What the viewer shows of a file, in Chromium, and the tree that it made of it."""
    page = folder / "dh_view.html"
    page.write_text(VIEWER.read_text().replace(
        "</body>", CHOOSE % base64.b64encode(path.read_bytes()).decode() + "</body>", 1))
    for name in ("dh_view.js", "dh_view.css"):
        (folder / name).write_bytes((VIEWER.parent / name).read_bytes())
    shown_page = browse(folder, f"file://{page}")
    found = re.search(rb'<pre id="tree">([^<]+)</pre>', shown_page)
    assert found, re.sub(rb"<script.*?</script>", b"", shown_page, flags=re.S)[-2000:]
    return json.loads(base64.b64decode(found[1]))


DHAT_VALUES = {"_totalBytes": "alloc_bytes", "_totalBlocks": "allocs", "_atTGmaxBytes": "peak_bytes",
               "_atTGmaxBlocks": "peak_blocks", "_atTEndBytes": "live_bytes",
               "_atTEndBlocks": "live_blocks"}


def dhat_stacks(tree):
    """Each stack with its values: the leaves of the viewer's tree."""
    todo = [((), tree["root"])]
    while todo:
        stack, node = todo.pop()
        stack += tuple(tree["frames"][i] for i in node["_frames"])
        if node.get("_kids"):
            todo.extend((stack, kid) for kid in node["_kids"])
        else:
            assert stack[0] == "[root]"
            yield stack[1:], [node[key] for key in DHAT_VALUES]
