# SPDX-License-Identifier: BSD-3-Clause
"""Selects the data of bench/compare's figures and draws them.

Lines over message sizes: latency and bandwidth, and all collectives of one number of processes.
Dots: the ratios of all rows of a part.
"""
import statistics

import figures
from compare_jobs import OURS, PRELOADED, PROVIDER_MATCHING, RAW_LIBFABRIC, RAW_TCP, WORLD

_COLUMNS = 4
_PLACES = {"messages": "one node", "internode_messages": "two nodes"}
# Row, unit, and conversion from bytes and microseconds.
_CURVES = {
    "latency": ("µs", lambda size, microseconds: microseconds),
    "bandwidth": ("GB/s", lambda size, microseconds: size / microseconds / 1e3),
}
# Pairs of systems whose ratio is drawn in each part that has both, and the suffix of the file.
_RATIOS = (
    (OURS, WORLD, "world"),
    (PRELOADED, WORLD, "preloaded"),
    (OURS, RAW_TCP, "tcp"),
    (OURS, RAW_LIBFABRIC, "libfabric"),
    (PROVIDER_MATCHING, RAW_LIBFABRIC, "provider_matching"),
)


def _panel(measured, rows, title, unit="µs", value=lambda size, microseconds: microseconds):
    lines = []
    # a logarithmic axis has no 0
    rows = sorted((row for row in rows if row.bytes), key=lambda row: row.bytes)
    for system in measured.systems:
        points = []
        for row in rows:
            if values := [value(row.bytes, us) for us in measured.series(row, system) if us]:
                points.append(
                    figures.Point(row.bytes, statistics.median(values), min(values), max(values))
                )
        if len(points) > 1:
            lines.append(figures.Line(system, points))
    return figures.Panel(title, unit, lines)


def _of_messages(measured):
    for part, place in _PLACES.items():
        for what, (unit, value) in _CURVES.items():
            rows = [
                row
                for row in measured.values
                if (row.part, row.what, row.processes) == (part, what, 2)
            ]
            yield f"{part}-{what}", [_panel(measured, rows, f"{what}, {place}", unit, value)]


def _of_collectives(measured):
    all_rows = [row for row in measured.values if row.part == "collectives"]
    for processes in sorted({row.processes for row in all_rows}):
        rows = [row for row in all_rows if row.processes == processes]
        names = dict.fromkeys(row.what for row in rows)
        yield f"collectives-{processes}", [
            _panel(measured, [row for row in rows if row.what == name], name) for name in names
        ]


def panels(measured):
    """Yield (name, panels) of each figure of lines."""
    for name, all_panels in (*_of_messages(measured), *_of_collectives(measured)):
        if filled := [panel for panel in all_panels if panel.lines]:
            yield name, filled


def ratios(measured, part, ours, other):
    """Return the ratios of two systems in all rows of a part."""
    found = []
    for row in (row for row in measured.values if row.part == part):
        if values := measured.ratios(row, ours, other):
            size = figures.measuring.size_text(row.bytes, "B") if row.bytes else ""
            label = ", ".join(filter(None, (row.what, size, f"{row.processes} processes")))
            found.append(figures.Ratio(label, statistics.median(values), min(values), max(values)))
    return found


def draw_all(measured, titles, parts=None):
    """Yield (name, figure) of the figures of these parts (None: all). titles: by part."""
    native = [(OURS, name, "native") for name in measured.systems if name.startswith("native")]
    for part in dict.fromkeys(
        row.part for row in measured.values if parts is None or row.part in parts
    ):
        for ours, other, suffix in (*_RATIOS, *native):
            if found := ratios(measured, part, ours, other):
                title = f"{titles[part]}: time of {ours} / {other}"
                yield f"{part}-{suffix}", figures.draw_ratios(title, found)
    for name, filled in panels(measured):
        if parts is None or name.split("-")[0] in parts:
            yield name, figures.draw_lines(filled, _COLUMNS)
