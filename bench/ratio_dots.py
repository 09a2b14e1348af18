# SPDX-License-Identifier: BSD-3-Clause
"""Ratios as an SVG file: a dot each, with its spread, on a logarithmic axis around 1."""
import dataclasses

import axis
import svg

_ROW, _LEFT, _WIDTH, _TOP, _RIGHT, _BELOW = 16, 330, 460, 60, 70, 40
_TICKS = (0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 100)
_GOOD, _BAD = "#228833", "#ee6677"


@dataclasses.dataclass
class Dot:
    label: str
    ratio: float
    low: float
    high: float


def _bounds(dots):
    low, high = min(dot.low for dot in dots), max(dot.high for dot in dots)
    return min(low, 0.5) / 1.1, max(high, 2) * 1.1


def draw(title, dots):
    """The SVG text; less than 1 is better."""
    low, high = _bounds(dots)
    place = lambda ratio: _LEFT + _WIDTH * axis.share(ratio, low, high)
    width, height = _LEFT + _WIDTH + _RIGHT, _TOP + _ROW * len(dots) + _BELOW
    out = [*svg.head(width, height), svg.text(12, 22, title, "start", 14)]
    for tick in (tick for tick in _TICKS if low <= tick <= high):
        x = place(tick)
        out += [svg.line(x, _TOP - 6, x, height - _BELOW, "#000" if tick == 1 else "#ddd"), svg.text(x, _TOP - 12, f"{tick:g}", size=11),
                svg.text(x, height - _BELOW + 16, f"{tick:g}", size=11)]
    for i, dot in enumerate(dots):
        y = _TOP + _ROW * i + _ROW / 2
        colour = _GOOD if dot.ratio <= 1 else _BAD
        words = f"{dot.label}: {dot.ratio:.3g} ({dot.low:.3g}–{dot.high:.3g})"
        out += [svg.text(_LEFT - 8, y + 4, dot.label, "end", 10), svg.line(place(dot.low), y, place(dot.high), y, colour),
                svg.circle(place(dot.ratio), y, 4, colour, words), svg.text(width - _RIGHT + 8, y + 4, f"{dot.ratio:.2f}", "start", 10)]
    return "\n".join(out) + "\n</svg>\n"
