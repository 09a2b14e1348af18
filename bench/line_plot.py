# SPDX-License-Identifier: BSD-3-Clause
"""Lines over sizes as an SVG file: one panel or several, both axes logarithmic, told apart without colours as well."""
import dataclasses

import axis
import measuring
import svg

_DASHES = ("", "7 3", "2 2", "9 3 2 3", "4 4", "12 4")
_LEFT, _TOP, _BELOW, _RIGHT = 56, 34, 40, 18   # of a panel, around what is drawn
_LEGEND = 34
_WIDE, _SMALL = (480, 300), (250, 170)         # what is drawn: of one panel, of several
_CLOSEST = 44                                  # two words below an axis


@dataclasses.dataclass
class Point:
    size: int
    value: float
    low: float
    high: float


@dataclasses.dataclass
class Line:
    name: str
    points: list[Point]


@dataclasses.dataclass
class Panel:
    title: str
    unit: str
    lines: list[Line]


@dataclasses.dataclass
class _Frame:
    """Where a panel's values are in the figure."""
    left: float
    top: float
    width: float
    height: float
    sizes: list
    low: float
    high: float

    @classmethod
    def around(cls, panel, left, top, width, height):
        points = [point for line in panel.lines for point in line.points]
        sizes = sorted({point.size for point in points})
        return cls(left, top, width, height, sizes, min(point.low for point in points) / 1.2, max(point.high for point in points) * 1.2)

    def x(self, size):
        return self.left + self.width * (axis.share(size, self.sizes[0], self.sizes[-1]) if len(self.sizes) > 1 else 0.5)

    def y(self, value):
        return self.top + self.height * (1 - axis.share(value, self.low, self.high))


def _axes(panel, frame):
    below = frame.top + frame.height
    for number in axis.round_numbers(frame.low, frame.high):
        y = frame.y(number)
        yield svg.line(frame.left, y, frame.left + frame.width, y, "#ddd")
        yield svg.text(frame.left - 5, y + 4, f"{number:g}", "end", 10)
    last = None
    for x, size in ((frame.x(size), size) for size in frame.sizes):
        yield svg.line(x, below, x, below + 4)
        if last is None or x - last >= _CLOSEST:
            yield svg.text(x, below + 16, measuring.size_text(size, "B"), size=10)
            last = x
    yield svg.line(frame.left, below, frame.left + frame.width, below)
    yield svg.line(frame.left, frame.top, frame.left, below)
    yield svg.text(frame.left + frame.width / 2, frame.top - 8, f"{panel.title} [{panel.unit}]", size=12)


def _line(line, unit, frame, look):
    colour, dashes = look
    yield svg.polyline([(frame.x(point.size), frame.y(point.value)) for point in line.points], colour, dashes)
    for point in line.points:
        x = frame.x(point.size)
        words = f"{line.name}, {measuring.size_text(point.size, 'B')}: {point.value:.3g} {unit} ({point.low:.3g}–{point.high:.3g})"
        yield svg.line(x, frame.y(point.low), x, frame.y(point.high), colour)
        yield svg.circle(x, frame.y(point.value), 2.5, colour, words)


def _legend(looks):
    """Its elements, and where it ends."""
    out, x, y = [], _LEFT, _LEGEND / 2
    for name, (colour, dashes) in looks.items():
        out += [svg.polyline([(x, y), (x + 28, y)], colour, dashes), svg.text(x + 34, y + 4, name, "start", 12)]
        x += 34 + 7 * len(name) + 22
    return out, x


def draw(panels, columns=1):
    """The SVG text. A system's line looks the same in all panels."""
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    looks = {name: (svg.COLOURS[i % len(svg.COLOURS)], _DASHES[i % len(_DASHES)]) for i, name in enumerate(names)}
    inner_width, inner_height = _WIDE if len(panels) == 1 else _SMALL
    width, height = _LEFT + inner_width + _RIGHT, _TOP + inner_height + _BELOW
    across = min(columns, len(panels))
    down = -(-len(panels) // across)
    legend, end = _legend(looks)
    out = [*svg.head(max(across * width, end), _LEGEND + down * height), *legend]
    for i, panel in enumerate(panels):
        frame = _Frame.around(panel, i % across * width + _LEFT, _LEGEND + i // across * height + _TOP, inner_width, inner_height)
        out += _axes(panel, frame)
        for line in panel.lines:
            out += _line(line, panel.unit, frame, looks[line.name])
    return "\n".join(out) + "\n</svg>\n"
