#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws a terminal's screen as SVG: draw.py < screen > screen.svg, where the screen is what
`tmux capture-pane -e -p -N` says. Knows what seep uses: bold, dim, reversed, and eight colours."""

import html
import itertools
import re
import sys
import unicodedata

WIDTH, HEIGHT = 8.4, 18  # of a cell, at 14 px
BACK, FORE = "#1c1e22", "#d6d8dc"
COLOURS = ["#1c1e22", "#f0716b", "#7bc275", "#e5c07b", "#6cb0f2", "#c586e0", "#66c2cd", "#d6d8dc"]
# From the bottom of a cell, in eighths.
BARS = " ▁▂▃▄▅▆▇█"
PART = re.compile(r"\x1b\[([\d;]*)m|\x1b\([B0]|([^\x1b]+)")


def cells_of(line, look):
    """The line's characters, each with how it looks; and how the next one begins."""
    cells = []
    for found in PART.finditer(line):
        if found.group(2):
            cells += [(char, dict(look)) for char in found.group(2)]
            continue
        for code in [int(c or 0) for c in (found.group(1) or "").split(";")]:
            if code == 0:
                look.clear()
            elif code in (1, 2, 7):
                look[code] = True
            elif code == 22:
                look.pop(1, None), look.pop(2, None)
            elif code == 27:
                look.pop(7, None)
            elif 30 <= code <= 37:
                look["colour"] = COLOURS[code - 30]
            elif code == 39:
                look.pop("colour", None)
    return cells


def runs_of(cells):
    """Neighbours that look alike, together: (column, text, look)."""
    column, runs = 0, []
    for char, look in cells:
        if runs and runs[-1][2] == look:
            runs[-1][1].append(char)
        else:
            runs.append((column, [char], look))
        column += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return [(at, "".join(chars), look) for at, chars, look in runs]


def draw_bars(text, x, y, fore):
    """Block characters, which fonts leave gaps between."""
    for char, same in itertools.groupby(text):
        width = len(list(same)) * WIDTH
        high = BARS.index(char) * HEIGHT / 8
        if high:
            yield (f'<rect x="{x:.1f}" y="{y + HEIGHT - high:.2f}" width="{width:.1f}" '
                   f'height="{high:.2f}" fill="{fore}"/>')
        x += width


def draw(lines, columns):
    width, height = columns * WIDTH + 16, len(lines) * HEIGHT + 16
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
           'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">')
    yield f'<rect width="100%" height="100%" rx="6" fill="{BACK}"/>'
    look = {}
    for row, line in enumerate(lines):
        for column, text, style in runs_of(cells_of(line, look)):
            x, y = 8 + column * WIDTH, 8 + row * HEIGHT
            fore, back = style.get("colour", FORE), None
            if 7 in style:
                fore, back = BACK, fore
                yield (f'<rect x="{x:.1f}" y="{y}" width="{len(text) * WIDTH:.1f}" '
                       f'height="{HEIGHT}" fill="{back}"/>')
            if not text.strip():
                continue
            if set(text) <= set(BARS):
                yield from draw_bars(text, x, y, fore)
                continue
            weight = ' font-weight="bold"' if 1 in style else ""
            faint = ' opacity="0.6"' if 2 in style else ""
            # No-break spaces: browsers differ in what keeps others from being drawn as one.
            kept = html.escape(text).replace(" ", "\u00a0")
            yield (f'<text x="{x:.1f}" y="{y + 14}" fill="{fore}" '
                   f'textLength="{len(text) * WIDTH:.1f}"{weight}{faint}>{kept}</text>')
    yield "</svg>"


def main():
    lines = sys.stdin.read().split("\n")[:-1]
    plain = [re.sub(r"\x1b\[[\d;]*m|\x1b\([B0]", "", line) for line in lines]
    print("\n".join(draw(lines, max(map(len, plain), default=80))))


if __name__ == "__main__":
    main()
