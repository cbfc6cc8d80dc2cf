# SPDX-License-Identifier: MIT
"""From samples to medians, quartiles and ratios, and those as a page of tables."""

import os
import statistics

from measuring import BEFORE, TIERS
from peers import PEERS
from workloads import ROWS


def quartiles(values):
    if len(values) == 1:
        return [values[0]] * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def median(values):
    return statistics.median(values)


def derive(samples, base):
    """What is relative to the plain run of the same round, and is no ratio."""
    for number, sample in samples.items():
        plain = base.get(number)
        if plain and "rss_bytes" in sample and sample is not plain:
            own = sample["rss_bytes"] - plain["rss_bytes"]
            sample["own_bytes"] = own
            if plain.get("heap_bytes"):  # glibc's own figure
                sample["own_share"] = own / plain["heap_bytes"]
            if "threads" in sample:
                sample["own_per_thread"] = own / sample["threads"]


def ratios(samples, base, key):
    return [s[key] / base[n][key] for n, s in samples.items() if n in base and base[n].get(key)]


def summarise(row, rounds):
    """Medians of each variant, and medians with quartiles of its ratios to its base."""
    out = {}
    for variant in rounds.variants:
        samples, base = rounds.samples[variant.name], rounds.samples[variant.base]
        derive(samples, base)
        entry = {"rounds": len(samples), "base": variant.base, "small": variant.small}
        if variant.name in rounds.failed:
            entry["failed"] = rounds.failed[variant.name]
        if samples:
            keys = set.intersection(*(set(s) for s in samples.values()))
            entry["median"] = {k: median([s[k] for s in samples.values()]) for k in sorted(keys)}
        for name, key in (("ratio", row.key), ("cpu_ratio", "cpu_ns")):
            found = ratios(samples, base, key) if samples and key in entry["median"] else []
            if found and variant.name != variant.base:
                entry[name] = quartiles(found)
        out[variant.name] = entry
    return out


# ---- cells -----------------------------------------------------------------------------------


def show_plain(row, entry):
    value = entry["median"][row.key]
    if row.key == "requests_per_s":
        return f"{value:,.0f}/s"
    if row.figure:
        return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    return f"{value / 1e9:.2f} s" if value >= 1e9 else f"{value / 1e6:,.1f} ms"


def show_ratio(entry, with_quartiles=True, of="ratio"):
    if not entry or of not in entry:
        return "–"
    low, middle, high = entry[of]
    digits = 2 if middle < 20 else 0
    shown = f"{middle:.{digits}f}"
    return f"{shown} ({low:.{digits}f}–{high:.{digits}f})" if with_quartiles else shown


def show_cpu(entry):
    return show_ratio(entry, of="cpu_ratio")


GOALS = {"time": "time ≤", "cpu": "CPU ≤", "rate": "rate ≥"}


def show_goal(row, which):
    goal = row.goal[which]
    return "–" if goal is None else f"{GOALS[row.goal_of]} {goal:.2f}"


def show_title(row):
    # 16 threads on 2 cores measure the scheduler as well.
    return row.title + (" †" if row.threads > os.cpu_count() else "")


class Notes:
    """Why a cell is empty, numbered in the order of the cells."""

    def __init__(self):
        self.texts = []

    def mark(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return f"[{self.texts.index(text) + 1}]"

    def lines(self):
        return [f"{i}. {text}" for i, text in enumerate(self.texts, 1)]


# ---- tables ----------------------------------------------------------------------------------


def table(head, rows):
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(cells) + " |" for cells in rows),
        "",
    ]


def time_rows(result):
    return {name: e for name, e in result["rows"].items() if not ROWS[name].columns}


def seep_table(result):
    rows = []
    for name, entry in time_rows(result).items():
        row, s = ROWS[name], entry["summary"]
        if "median" not in s["plain"]:
            rows.append([show_title(row), f"failed: {s['plain'].get('failed')}", *["–"] * 4])
            continue
        seep = s.get("seep")
        shown = show_ratio(seep)
        if seep and "failed" in seep:
            shown = f"failed: {seep['failed']}"
        rows.append([show_title(row), show_plain(row, s["plain"]), shown, show_cpu(seep),
                     show_goal(row, 0), show_goal(row, 1)])  # fmt: skip
    head = ["work", "plain", "seep / plain (quartiles)", "of CPU time (quartiles)", "first goal",
            "aim"]  # fmt: skip
    return table(head, rows) if rows else []


def before_table(result):
    """This build beside another one: ratios of wall and CPU time of the same round."""
    rows = []
    for name, entry in time_rows(result).items():
        seep, before = entry["summary"].get("seep"), entry["summary"].get(BEFORE)
        if before:
            rows.append([show_title(ROWS[name]), show_ratio(before), show_ratio(seep),
                         show_cpu(before), show_cpu(seep)])  # fmt: skip
    head = ["ratio to plain", "before", "seep", "before, of CPU time", "seep, of CPU time"]
    return table(head, rows) if rows else []


def tiers_table(result):
    """By CPU time, or by the rate that a row is measured by, with goals."""
    rows = []
    for name, entry in time_rows(result).items():
        row, s = ROWS[name], entry["summary"]
        of = "ratio" if row.goal_of == "rate" or row.figure else "cpu_ratio"
        cells = [show_ratio(s.get("seep"), of=of)]
        for tier, goal in zip(TIERS, row.tier_goals):
            cells.append(show_ratio(s.get(tier), of=of) + (f"; goal {goal:.2f}" if goal else ""))
        cells += [show_ratio(s.get(peer), False, of) for peer in result["peers"]]
        if any(tier in s for tier in TIERS):
            rows.append([show_title(row), *cells])
    head = ["of CPU time; redis: of the rate", "exact", *TIERS,
            *(peer_head(result, peer) for peer in result["peers"])]  # fmt: skip
    return table(head, rows) if rows else []


def peer_cell(name, peer, entry, notes):
    if peer in ROWS[name].without:
        return notes.mark(f"Not measured: {ROWS[name].without[peer]}.")
    found = entry["summary"].get(peer)
    if not found:
        return "–"
    if "failed" in found:
        return notes.mark(f"{PEERS[peer].title}, {name}: {found['failed']}.")
    return show_ratio(found, False) + (" ¹" if found["rounds"] == 1 else "")


def peer_head(result, peer):
    return PEERS[peer].title + (" *" if PEERS[peer].small and small_legend(result) else "")


def peer_table(result, notes):
    peers = result["peers"]
    rows = []
    for name, entry in time_rows(result).items():
        cells = [peer_cell(name, peer, entry, notes) for peer in peers]
        rows.append([show_title(ROWS[name]), show_ratio(entry["summary"].get("seep"), False),
                     *cells])  # fmt: skip
    head = ["ratio to plain", "seep", *(peer_head(result, peer) for peer in peers)]
    return table(head, rows) if rows and peers else []


def figure_cell(entry, key, divisor, digits):
    value = entry.get("median", {}).get(key)
    return "–" if value is None else f"{value / divisor:,.{digits}f}"


def figure_table(name, entry, notes):
    """A line per variant, one column per figure."""
    row = ROWS[name]
    rows = []
    for variant, found in entry["summary"].items():
        title = PEERS[variant].title if variant in PEERS else variant
        if found["small"] and not entry["quick"] and variant in PEERS:
            title += " *"
        if variant == "plain-small":
            title = f"plain, {row.small} *"
        if "failed" in found:
            title += " " + notes.mark(f"{title}, {name}: {found['failed']}.")
        rows.append([title, *(figure_cell(found, *(c[0], *c[2:])) for c in row.columns)])
    for peer, why in row.without.items():
        if peer in entry["peers"]:
            title = f"{PEERS[peer].title} {notes.mark(f'Not measured: {why}.')}"
            rows.append([title, *["–"] * len(row.columns)])
    head = ["", *(c[1] for c in row.columns)]
    return [f"### {show_title(row)}", "", *table(head, rows), row.about, ""]


def small_legend(result):
    small = [f"`{n}`: {ROWS[n].small}" for n in time_rows(result) if ROWS[n].small]
    if result["quick"] or not small or not any(PEERS[p].small for p in result["peers"]):
        return []
    return [
        "\\* On a small input, since it is too slow for the full one, against a plain run of the "
        f"same small input ({'; '.join(small)}).",
        "",
    ]


def commands_legend(result):
    """What the rows of --command are."""
    lines = []
    for name, row in ((n, ROWS[n]) for n in result["rows"] if ROWS[n].line):
        by = f"by `{row.figure.pattern}`, of which more is better" if row.figure else "whole runs"
        lines.append(f"* `{name}`: `{row.line}`, {by}.")
    return [*lines, ""] if lines else []


def machine_table(result):
    facts = dict(result["machine"])
    facts["rounds"] = (
        f"{result['rounds']} after {result['warm_up']} that is dropped, peers "
        f"{result['peer_rounds']} at most; fewer where a row took longer than "
        f"{result['row_seconds']:.0f} s, or a peer longer than {result['peer_seconds']:.0f} s"
    )
    facts["others on the machine"] = f"{100 * result['neighbours']:.0f} % of its CPU time"
    return table(["", ""], [[k, str(v)] for k, v in facts.items()])


def peers_legend(result):
    rows = [
        [PEERS[p].title, PEERS[p].package, result["versions"][p], PEERS[p].does]
        for p in result["peers"]
    ]
    lines = table(["", "package", "version", "what was measured"], rows) if rows else []
    return lines + [f"{PEERS[p].title}: not measured, {why}.\n" for p, why in
                    result["missing"].items()]  # fmt: skip


INTRO = """\
*What does recording with seep cost, beside not recording and beside others, on one machine?*

Written by `make bench`; [docs/internals/speed.md](../docs/internals/speed.md) says where the time goes. In every round
each variant runs once, in turns. A ratio is to the plain run of the same round; shown are medians,
in brackets quartiles. Everything that is on by default is on: full stacks, peak by stack, temporaries,
histogram. seep is preloaded without a recorder, except where the end of a program is timed.
"""

LEGEND = """\
† Oversubscribed: more threads than cores, so the scheduler is measured as well.
¹ One run only.
"""


REDIS = """\
redis: 300,000 requests of each of five kinds, 20 connections, 8 requests at a time; client and \
server share the cores. CPU time is the server's. It brings an allocator of its own, jemalloc."""


def page(result):
    notes = Notes()
    seep, peers = seep_table(result), peer_table(result, notes)
    own = []
    for name, entry in result["rows"].items():
        if ROWS[name].columns:
            own += figure_table(name, entry, notes)
    lines = ["# Results", "", *INTRO.splitlines(), ""]
    if result["quick"]:
        lines += ["**A quick run on small inputs: a check of the script, not a measurement.**", ""]
    if result["neighbours"] > 0.1:
        lines += ["**The machine was not quiet: others used "
                  f"{100 * result['neighbours']:.0f} % of it meanwhile.**", ""]  # fmt: skip
    lines += ["## The machine", "", *machine_table(result)]
    if seep:
        lines += ["## Time", "", *seep, *LEGEND.splitlines()[:1], ""]
        if "redis" in result["rows"]:
            lines += [REDIS, ""]
        lines += commands_legend(result)
    if before := before_table(result):
        lines += ["## Beside the build before", "", *before]
    if tiers := tiers_table(result):
        lines += ["## Tiers", "", *tiers]
    if peers:
        lines += ["## Beside others", "", *peers, *LEGEND.splitlines()[1:], ""]
        lines += small_legend(result)
    if own:
        lines += ["## Latency, memory, fork, end, symbols", "", *own]
    if notes.texts:
        lines += ["## Why cells are empty", "", *notes.lines(), ""]
    if result["peers"] or result["missing"]:
        lines += ["## Who was measured", "", *peers_legend(result)]
    while lines[-1] == "":
        lines.pop()
    return "\n".join(lines) + "\n"
