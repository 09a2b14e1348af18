# SPDX-License-Identifier: BSD-3-Clause
"""What bench/compare has measured over sizes, as lines: a figure of latency and one of bandwidth, and one of all collectives of so many
processes."""
import statistics

import line_plot

_COLUMNS = 4
_PLACES = {"messages": "one node", "nodes": "two nodes"}
# What is told of messages, in which unit, and how it comes of microseconds.
_CURVES = {"latency": ("µs", lambda size, took: took), "bandwidth": ("GB/s", lambda size, took: size / took / 1e3)}


def _panel(measured, rows, title, unit="µs", value=lambda size, took: took):
    lines = []
    rows = sorted((row for row in rows if row.bytes), key=lambda row: row.bytes)   # 0 is nowhere on a logarithmic axis
    for system in measured.systems:
        points = []
        for row in rows:
            if values := [value(row.bytes, took) for took in measured.series(row, system) if took]:
                points.append(line_plot.Point(row.bytes, statistics.median(values), min(values), max(values)))
        if len(points) > 1:
            lines.append(line_plot.Line(system, points))
    return line_plot.Panel(title, unit, lines)


def _of_messages(measured):
    for part, where in _PLACES.items():
        for what, (unit, value) in _CURVES.items():
            rows = [row for row in measured.values if (row.part, row.what, row.processes) == (part, what, 2)]
            yield f"{part}-{what}", [_panel(measured, rows, f"{what}, {where}", unit, value)]


def _of_collectives(measured):
    all_rows = [row for row in measured.values if row.part == "collectives"]
    for processes in sorted({row.processes for row in all_rows}):
        rows = [row for row in all_rows if row.processes == processes]
        names = dict.fromkeys(row.what for row in rows)
        yield f"collectives-{processes}", [_panel(measured, [row for row in rows if row.what == name], name) for name in names]


def draw_all(measured):
    """(what it is called, SVG text)"""
    for word, panels in (*_of_messages(measured), *_of_collectives(measured)):
        if filled := [panel for panel in panels if panel.lines]:
            yield word, line_plot.draw(filled, _COLUMNS)
