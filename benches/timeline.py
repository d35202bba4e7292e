#!/usr/bin/env python3
"""Draws what `background FOLDER timeline` (background.c) has measured: timeline.py < lines > docs/images/background.svg"""
import sys

COLOURS = {"compute": "#9ecae1", "copy": "#fdae6b", "write": "#e6550d", "sync": "#756bb1", "wait": "#de2d26"}
WIDTH, LEFT, LANE, GAP, TOP = 900, 120, 22, 30, 34

groups = []  # title, and lane, what, from, until of each
for line in sys.stdin.read().splitlines():
    if "\t" in line:
        lane, what, begin, end = line.split("\t")
        groups[-1][1].append((lane, what, float(begin), float(end)))
    elif line:
        groups.append((line, []))
longest = max(end for _, parts in groups for *_, end in parts)
scale = (WIDTH - LEFT - 20) / longest
out, y = [], TOP
for title, parts in groups:
    out.append(f'<text x="10" y="{y + 15}" font-weight="bold">{title}</text>')
    y += LANE
    for lane in dict.fromkeys(part[0] for part in parts):
        out.append(f'<text x="20" y="{y + 15}">{lane}</text>')
        for _, what, begin, end in (part for part in parts if part[0] == lane):
            x, width = LEFT + begin * scale, max((end - begin) * scale, 0.6)
            out.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LANE - 4}" fill="{COLOURS[what]}"/>')
        y += LANE
    y += GAP - LANE
step = 0.5 if longest < 6 else 1
for number in range(int(longest / step) + 1):
    x = LEFT + number * step * scale
    out.append(f'<path d="M{x:.1f} {y - 8}v5" stroke="#555"/><text x="{x:.1f}" y="{y + 10}" text-anchor="middle">{number * step:g} s</text>')
for number, (what, colour) in enumerate(COLOURS.items()):
    x = LEFT + 110 * number
    out.append(f'<rect x="{x}" y="10" width="14" height="14" fill="{colour}"/><text x="{x + 20}" y="22">{what}</text>')
height = y + 22
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">')
print(f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>', *out, "</svg>", sep="\n")
