# SPDX-License-Identifier: BSD-3-Clause
"""Draws the figures of the benchmark commands as SVG files, with matplotlib.

Equal data gives equal files with one version of matplotlib: ids are hashed with a fixed salt, and
the files have no date. Labels are text elements, not outlines.
"""

import dataclasses
import pathlib

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot, ticker  # noqa: E402

import measuring  # noqa: E402

matplotlib.rcParams.update(
    {
        "svg.hashsalt": "intersession",
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#dddddd",
    }
)

# Colours that colour-blind readers can distinguish (Paul Tol, "bright"); styles for print.
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222222")
_STYLES = (("--", "o"), ("-.", "s"), ("-", "^"), (":", "D"))
_AT_MOST_1, _ABOVE_1 = "#228833", "#ee6677"
_RATIO_TICKS = (0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 100)
_MOST_SIZE_LABELS = {1: 11, 4: 5}  # that fit below an axis, by the number of columns


@dataclasses.dataclass
class Point:
    """Median, least and largest value of one message size."""

    size: int
    value: float
    low: float
    high: float


@dataclasses.dataclass
class Line:
    """The points of one system."""

    name: str
    points: list[Point]


@dataclasses.dataclass
class Panel:
    """One pair of axes of a figure."""

    title: str
    unit: str
    lines: list[Line]


@dataclasses.dataclass
class Ratio:
    """Median, least and largest ratio of one row."""

    label: str
    ratio: float
    low: float
    high: float


@dataclasses.dataclass
class Bar:
    """A stacked bar; `largest` is marked above it: the largest value of one process."""

    label: str
    parts: dict[str, float]  # from the bottom
    largest: float | None = None


@dataclasses.dataclass
class Group:
    """Bars with one label below them."""

    label: str
    bars: list[Bar]


def save(figure, path: pathlib.Path) -> None:
    """Write a figure as an SVG file, and free it."""
    figure.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


def _whiskers(axes, xs, points, colour):
    """Draw vertical lines from the least to the largest value."""
    axes.vlines(xs, [p.low for p in points], [p.high for p in points], color=colour, linewidth=1)


def _draw_panel(axes, panel, looks, columns):
    sizes = sorted({point.size for line in panel.lines for point in line.points})
    for line in panel.lines:
        colour, (style, marker) = looks[line.name]
        xs = [point.size for point in line.points]
        axes.plot(
            xs,
            [point.value for point in line.points],
            color=colour,
            linestyle=style,
            marker=marker,
            markersize=3.5,
            linewidth=1.5,
            label=line.name,
        )
        _whiskers(axes, xs, line.points, colour)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    most = _MOST_SIZE_LABELS[1 if columns == 1 else 4]
    shown = sizes[:: -(-len(sizes) // most)]
    axes.set_xticks(shown, [measuring.size_text(size, "B") for size in shown])
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    low, high = axes.get_ylim()
    digits = (1, 2, 5) if high / low < 1000 else (1,)
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=digits, numticks=12))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.set_title(f"{panel.title} [{panel.unit}]")


def draw_lines(panels: list[Panel], columns: int = 1):
    """Return a figure of values over message sizes, both axes logarithmic.

    A system has one colour and one line style in all panels.
    """
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    looks = {
        name: (COLOURS[i % len(COLOURS)], _STYLES[i % len(_STYLES)]) for i, name in enumerate(names)
    }
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    width, height = (6.4, 4.2) if len(panels) == 1 else (3.2 * columns, 2.5 * rows + 0.4)
    figure, grid = pyplot.subplots(rows, columns, figsize=(width, height), squeeze=False)
    for axes, panel in zip(grid.flat, panels):
        _draw_panel(axes, panel, looks, columns)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_axis_off()
    handles = {}
    for axes in grid.flat:
        for handle, name in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(name, handle)
    figure.subplots_adjust(wspace=0.35, hspace=0.35, top=0.95)
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="lower left",
        bbox_to_anchor=(0.1, 0.95 + 0.3 / height),
        ncol=len(names) if columns > 1 else 2,
        frameon=False,
    )
    return figure


def draw_ratios(title: str, ratios: list[Ratio]):
    """Return a figure with one dot for each ratio and its spread; less than 1 is better."""
    figure, axes = pyplot.subplots(figsize=(8, 0.19 * len(ratios) + 1))
    rows = range(len(ratios))
    colours = [_AT_MOST_1 if each.ratio <= 1 else _ABOVE_1 for each in ratios]
    axes.hlines(rows, [each.low for each in ratios], [each.high for each in ratios], color=colours)
    axes.scatter([each.ratio for each in ratios], rows, color=colours, s=18, zorder=3)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    low, high = min(each.low for each in ratios), max(each.high for each in ratios)
    axes.set_xlim(min(low, 0.5) / 1.1, max(high, 2) * 1.1)
    ticks = [tick for tick in _RATIO_TICKS if axes.get_xlim()[0] <= tick <= axes.get_xlim()[1]]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.tick_params(axis="x", labeltop=True)
    axes.set_yticks(rows, [each.label for each in ratios])
    axes.set_ylim(len(ratios) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    values = axes.secondary_yaxis("right")
    values.set_yticks(rows, [f"{each.ratio:.2f}" for each in ratios])
    values.tick_params(length=0)
    axes.set_title(title, loc="left")
    return figure


def _draw_group(axes, group, names, colours):
    places = range(len(group.bars))
    bottoms = [0.0] * len(group.bars)
    for name in names:
        # a step may also reduce the memory of a process: no bar for it
        heights = [max(bar.parts.get(name, 0), 0) for bar in group.bars]
        if any(heights):
            axes.bar(places, heights, 0.8, bottoms, color=colours[name], label=name)
            bottoms = [bottom + height for bottom, height in zip(bottoms, heights)]
    marked = [place for place in places if group.bars[place].largest is not None]
    if marked:
        largest = [group.bars[place].largest for place in marked]
        axes.vlines(marked, [bottoms[place] for place in marked], largest, color="black")
        axes.scatter(marked, largest, marker="_", color="black", s=30, label="largest process")
    labels = [bar.label for bar in group.bars]
    axes.set_xticks(places, labels, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.7, len(group.bars) - 0.3)
    axes.set_ylim(bottom=0)
    axes.grid(axis="x", visible=False)
    axes.set_title(group.label)


def draw_bars(title: str, unit: str, groups: list[Group], order: tuple[str, ...] = ()):
    """Return a figure of stacked bars; each group has a panel with an axis of its own.

    Parts named in `order` have the same colours in all figures with that order.
    """
    bars = [bar for group in groups for bar in group.bars]
    names = list(dict.fromkeys([*order, *(name for bar in bars for name in bar.parts)]))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    columns = min(4, len(groups))
    rows = -(-len(groups) // columns)
    width = 0.5 + 0.3 * max(len(group.bars) for group in groups)
    height = 2.9 * rows
    figure, grid = pyplot.subplots(
        rows, columns, figsize=(max(1.9, width) * columns * 1.25, height), squeeze=False
    )
    for axes, group in zip(grid.flat, groups):
        _draw_group(axes, group, names, colours)
    for axes in list(grid.flat)[len(groups) :]:
        axes.set_axis_off()
    for row in grid:
        row[0].set_ylabel(unit)
    handles = {}
    for axes in grid.flat:
        for handle, name in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(name, handle)
    figure.subplots_adjust(wspace=0.35, hspace=0.95, top=1 - 0.6 / height, left=0.08, right=0.99)
    figure.suptitle(title, x=0.08, y=1, ha="left", fontsize=10)
    figure.legend(
        handles.values(), handles.keys(), loc="center left", bbox_to_anchor=(1, 0.6), frameon=False
    )
    return figure
