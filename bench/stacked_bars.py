# SPDX-License-Identifier: BSD-3-Clause
"""Stacked bars in groups as an SVG file, made of nothing but text."""
import dataclasses
import math
from xml.sax.saxutils import escape

_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222222")
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


def _steps(top):
    """About five round numbers up to the top."""
    unit = 10.0 ** math.floor(math.log10(top))
    step = next(step for step in (unit / 5, unit / 2, unit, 2 * unit) if top / step <= 6)
    return [i * step for i in range(int(top / step) + 1)]


def _text(x, y, words, anchor="middle", size=12, turned=False):
    turn = f' transform="rotate(-60 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{turn}>{escape(words)}</text>'


def _rectangle(x, y, width, height, colour, title=""):
    inside = f"<title>{escape(title)}</title>" if title else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}">{inside}</rect>'


def _line(x1, y1, x2, y2, colour="#000"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _bar(bar, x, scale, colours):
    base = _TOP + _HEIGHT
    for name, value in bar.parts.items():
        if value <= 0:
            continue
        base -= value * scale
        yield _rectangle(x, base, _BAR - 3, value * scale, colours[name], f"{bar.label}: {name} {value:.3g}")
    if bar.most is not None:
        y = _TOP + _HEIGHT - bar.most * scale
        middle = x + (_BAR - 3) / 2
        yield _line(middle, base, middle, y)
        yield _line(middle - 4, y, middle + 4, y)
    yield _text(x + _BAR / 2 + 4, _TOP + _HEIGHT + 12, bar.label, "end", 10, turned=True)


def draw(title, unit, groups, order=()):
    """The SVG text of a figure with one axis, in this unit, for all groups. Parts that are in the order have the same colours in all
    figures with that order."""
    bars = [bar for group in groups for bar in group.bars]
    all_names = list(dict.fromkeys([*order, *(name for bar in bars for name in bar.parts)]))
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(all_names)}
    names = [name for name in all_names if any(name in bar.parts for bar in bars)]
    top = max([max(sum(bar.parts.values()), bar.most or 0) for bar in bars], default=0) or 1
    scale = _HEIGHT / top
    inner = sum(len(group.bars) * _BAR + _GAP for group in groups)
    width, height = max(_LEFT + inner + _LEGEND, _NARROWEST), _TOP + _HEIGHT + _BELOW
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif">', _rectangle(0, 0, width, height, "#fff"), _text(_LEFT, 22, title, "start", 14)]
    for step in _steps(top):
        y = _TOP + _HEIGHT - step * scale
        out += [_line(_LEFT, y, _LEFT + inner, y, "#ddd"), _text(_LEFT - 6, y + 4, f"{step:g}", "end", 11)]
    out.append(f'<text x="18" y="{_TOP + _HEIGHT / 2}" font-size="12" text-anchor="middle" '
               f'transform="rotate(-90 18 {_TOP + _HEIGHT / 2})">{escape(unit)}</text>')
    x = _LEFT + _GAP / 2
    for group in groups:
        start = x
        for bar in group.bars:
            out += _bar(bar, x, scale, colours)
            x += _BAR
        out.append(_text((start + x) / 2, height - 8, group.label))
        x += _GAP
    out.append(_line(_LEFT, _TOP + _HEIGHT, _LEFT + inner, _TOP + _HEIGHT))
    for i, name in enumerate(reversed(names)):
        y = _TOP + 10 + 18 * i
        out += [_rectangle(_LEFT + inner + 14, y, 12, 12, colours[name]), _text(_LEFT + inner + 32, y + 10, name, "start")]
    return "\n".join(out) + "\n</svg>\n"
