# SPDX-License-Identifier: BSD-3-Clause
"""Draws the picture: a track for each process, with phases in front of calls, on one time axis.

The picture is SVG without scripts and fonts.
"""
import itertools
import xml.etree.ElementTree as ElementTree

from . import phases
from .choice import choose
from .tracks import rows_of
from .reading import Process, Span
from .summary import time_text
from .time_axis import GAP_WIDTH, TimeAxis

_WIDTH, _LEFT, _RIGHT = 1200.0, 150.0, 1180.0
_CALL_HEIGHT, _PHASE_HEIGHT, _GAP, _NODE_GAP = 13.0, 13.0, 5.0, 8.0
_LEGEND_COLUMN, _LEGEND_ROW = 255.0, 16.0
_LETTER = 5.4  # approximate width of a small letter, to decide if a name fits into its box
_THIN = 0.6  # minimum width of a box
_STYLE = (
    "text{font-family:sans-serif;fill:#222}.small{font-size:9px}.label{font-size:11px}"
    ".title{font-size:15px;font-weight:bold}"
    ".axis{stroke:#ddd;stroke-width:1}.failed{stroke:#d00;stroke-width:1.5}"
    ".unfinished{stroke:#000;stroke-dasharray:3 2}"
)


class _Canvas:
    """Builds SVG elements, with rounded numbers."""

    def __init__(self) -> None:
        self.root = ElementTree.Element(
            "svg", xmlns="http://www.w3.org/2000/svg", width=f"{_WIDTH:g}"
        )
        ElementTree.SubElement(self.root, "style").text = _STYLE
        ElementTree.SubElement(self.root, "rect", width="100%", height="100%", fill="#fff")

    def add(self, tag: str, **attributes: object) -> ElementTree.Element:
        words = {
            name.rstrip("_").replace("_", "-"): f"{value:.2f}".rstrip("0").rstrip(".")
            if isinstance(value, float)
            else str(value)
            for name, value in attributes.items()
        }
        return ElementTree.SubElement(self.root, tag, words)

    def text(self, x: float, y: float, words: str, style: str, **attributes: object) -> None:
        self.add("text", x=x, y=y, class_=style, **attributes).text = words

    def finish(self, height: float) -> str:
        self.root.set("height", f"{height:g}")
        self.root.set("viewBox", f"0 0 {_WIDTH:g} {height:g}")
        ElementTree.indent(self.root, " ")
        return ElementTree.tostring(self.root, encoding="unicode") + "\n"


def _hint(span: Span, process: Process) -> str:
    tag = f' "{span.text}"' if span.text else ""
    held = f", ended by rank {span.peer}" if span.peer >= 0 else ""
    state = "" if span.state == "ended" else f", {span.state}"
    times = f"{time_text(span.length)} from {time_text(span.begin)}"
    return f"{span.name}{tag}: {times}, {process.name}{held}{state}"


def _box(
    canvas: _Canvas,
    axis: TimeAxis,
    span: Span,
    process: Process,
    y: float,
    height: float,
    fill: str,
) -> None:
    left, right = axis.place(span.begin), axis.place(span.end)
    box = canvas.add(
        "rect",
        x=left,
        y=y,
        width=max(right - left, _THIN),
        height=height,
        fill=fill,
        **({} if span.state == "ended" else {"class_": span.state}),
    )
    ElementTree.SubElement(box, "title").text = _hint(span, process)
    short = span.name.removeprefix("MPI_")
    if span.kind == "call" and len(short) * _LETTER < right - left:
        canvas.text(left + 2, y + _CALL_HEIGHT - 3.5, short, "small")


class _Track:
    """The track of a thread: its calls, and in front as many rows of phases as overlap."""

    def __init__(self, process: Process, label: str, spans: list[Span]):
        self.process = process
        self._label = label
        self._calls = [span for span in spans if span.kind == "call"]
        self._phases = rows_of((span for span in spans if span.kind == "phase"), lambda _: 0)
        self._rows = 1 + max((level for _, level, _ in self._phases), default=-1)
        self.height = _CALL_HEIGHT + _PHASE_HEIGHT * self._rows

    def draw(self, canvas: _Canvas, axis: TimeAxis, y: float) -> None:
        canvas.text(_LEFT - 8, y + self.height / 2 + 4, self._label, "label", text_anchor="end")
        for span in self._calls:
            _box(
                canvas,
                axis,
                span,
                self.process,
                y,
                self.height,
                phases.CALLS.get(span.of, phases.UNKNOWN_CALL),
            )
        for _, level, span in self._phases:
            _box(
                canvas,
                axis,
                span,
                self.process,
                y + _CALL_HEIGHT + level * _PHASE_HEIGHT,
                _PHASE_HEIGHT - 1,
                phases.colour_of(span.name),
            )


def _tracks_of(process: Process) -> list[_Track]:
    """Return one track for each thread that calls MPI.

    Phases of threads that do not call MPI are in the track of the first one.
    """
    callers = list(dict.fromkeys(span.thread for span in process.spans if span.kind == "call"))
    first = callers[0] if callers else 0
    by_thread: dict[int, list[Span]] = {thread: [] for thread in callers or [first]}
    for span in process.spans:
        by_thread[span.thread if span.thread in by_thread else first].append(span)
    return [
        _Track(process, process.name if thread == first else f"thread {thread}", spans)
        for thread, spans in by_thread.items()
    ]


def _legend(canvas: _Canvas, processes: list[Process], y: float) -> float:
    there = {span.name for process in processes for span in process.spans if span.kind == "phase"}
    entries = [
        (phases.colour_of(name), f"{name}: {phases.words_of(name)}")
        for name in [*phases.PHASES, *sorted(there - phases.PHASES.keys())]
        if name in there
    ]
    kinds = {span.of for process in processes for span in process.spans if span.kind == "call"}
    entries += [
        (colour, f"calls: {kind}") for kind, colour in phases.CALLS.items() if kind in kinds
    ]
    columns = int((_RIGHT - _LEFT) // _LEGEND_COLUMN)
    for number, (colour, words) in enumerate(entries):
        x, row = _LEFT + number % columns * _LEGEND_COLUMN, y + number // columns * _LEGEND_ROW
        canvas.add(
            "rect",
            x=x,
            y=row,
            width=11.0,
            height=11.0,
            fill=colour,
            stroke="#999",
            stroke_width=0.5,
        )
        canvas.text(x + 16, row + 9.5, words, "label")
    return y + -(-len(entries) // columns) * _LEGEND_ROW


def _grid(canvas: _Canvas, axis: TimeAxis, top: float, bottom: float) -> None:
    for x, time in axis.ticks():
        canvas.add("line", x1=x, x2=x, y1=top, y2=bottom, class_="axis")
        canvas.text(x, bottom + 13, time_text(time) if time else "0", "small", text_anchor="middle")


def _cuts(canvas: _Canvas, axis: TimeAxis, top: float, bottom: float) -> None:
    for x, length in axis.gaps():
        middle = x + GAP_WIDTH / 2
        canvas.add(
            "rect",
            x=x + 4,
            y=top,
            width=GAP_WIDTH - 8,
            height=bottom - top,
            fill="#fff",
            stroke="#bbb",
            stroke_dasharray="2 2",
        )
        canvas.text(
            middle + 3,
            (top + bottom) / 2,
            f"{time_text(length)} omitted",
            "small",
            text_anchor="middle",
            transform=f"rotate(-90 {middle + 3:g} {(top + bottom) / 2:g})",
        )


def _title(processes: list[Process], shown: list[Process]) -> str:
    program = processes[0].program.rsplit("/", 1)[-1]
    nodes = len({process.host for process in processes})
    text = (
        f"{program}: {len(processes)} {'process' if len(processes) == 1 else 'processes'} on "
        f"{nodes} {'node' if nodes == 1 else 'nodes'}"
    )
    return (
        text
        if len(shown) == len(processes)
        else f"{text}; {len(shown)} shown: the slowest, the fastest, and some between"
    )


def picture_of(processes: list[Process], tracks: int) -> str:
    """Return the SVG file, with at most `tracks` tracks."""
    shown = choose(processes, tracks)
    canvas, axis = _Canvas(), TimeAxis(shown, _LEFT, _RIGHT)
    canvas.text(_LEFT, 22, _title(processes, shown), "title")
    top = y = _legend(canvas, shown, 34) + 8
    placed = []
    for number, (_, group) in enumerate(itertools.groupby(shown, key=lambda process: process.host)):
        y += _NODE_GAP if number else 0
        for track in itertools.chain.from_iterable(map(_tracks_of, group)):
            placed.append((track, y))
            y += track.height + _GAP
    _grid(canvas, axis, top, y)
    for track, at in placed:
        track.draw(canvas, axis, at)
    _cuts(canvas, axis, top, y)
    return canvas.finish(y + 24)
