# SPDX-License-Identifier: BSD-3-Clause
"""Stacked bars in groups as an SVG file, made of nothing but text."""
import dataclasses

import axis
import svg

_LEFT, _TOP, _HEIGHT, _BELOW, _LEGEND = 70, 40, 300, 165, 190
_NARROWEST = 820   # for the title
_BAR, _GAP = 18, 26


@dataclasses.dataclass
class Bar:
    label: str
    parts: dict[str, float]       # what is stacked, from below
    most: float | None = None     # a mark above it all: of the slowest process, of the largest


@dataclasses.dataclass
class Group:
    label: str
    bars: list[Bar]


def _bar(bar, x, scale, colours):
    base = _TOP + _HEIGHT
    for name, value in bar.parts.items():
        if value <= 0:
            continue
        base -= value * scale
        yield svg.rectangle(x, base, _BAR - 3, value * scale, colours[name], f"{bar.label}: {name} {value:.3g}")
    if bar.most is not None:
        y = _TOP + _HEIGHT - bar.most * scale
        middle = x + (_BAR - 3) / 2
        yield svg.line(middle, base, middle, y)
        yield svg.line(middle - 4, y, middle + 4, y)
    yield svg.text(x + _BAR / 2 + 4, _TOP + _HEIGHT + 12, bar.label, "end", 10, turned=-60)


def draw(title, unit, groups, order=()):
    """The SVG text of a figure with one axis, in this unit, for all groups. Parts that are in the order have the same colours in all
    figures with that order."""
    bars = [bar for group in groups for bar in group.bars]
    all_names = list(dict.fromkeys([*order, *(name for bar in bars for name in bar.parts)]))
    colours = {name: svg.COLOURS[i % len(svg.COLOURS)] for i, name in enumerate(all_names)}
    names = [name for name in all_names if any(name in bar.parts for bar in bars)]
    top = max([max(sum(bar.parts.values()), bar.most or 0) for bar in bars], default=0) or 1
    scale = _HEIGHT / top
    inner = sum(len(group.bars) * _BAR + _GAP for group in groups)
    width, height = max(_LEFT + inner + _LEGEND, _NARROWEST), _TOP + _HEIGHT + _BELOW
    out = [*svg.head(width, height), svg.text(_LEFT, 22, title, "start", 14)]
    for step in axis.steps(top):
        y = _TOP + _HEIGHT - step * scale
        out += [svg.line(_LEFT, y, _LEFT + inner, y, "#ddd"), svg.text(_LEFT - 6, y + 4, f"{step:g}", "end", 11)]
    out.append(svg.text(18, _TOP + _HEIGHT / 2, unit, turned=-90))
    x = _LEFT + _GAP / 2
    for group in groups:
        start = x
        for bar in group.bars:
            out += _bar(bar, x, scale, colours)
            x += _BAR
        out.append(svg.text((start + x) / 2, height - 8, group.label))
        x += _GAP
    out.append(svg.line(_LEFT, _TOP + _HEIGHT, _LEFT + inner, _TOP + _HEIGHT))
    for i, name in enumerate(reversed(names)):
        y = _TOP + 10 + 18 * i
        out += [svg.rectangle(_LEFT + inner + 14, y, 12, 12, colours[name]), svg.text(_LEFT + inner + 32, y + 10, name, "start")]
    return "\n".join(out) + "\n</svg>\n"
