# SPDX-License-Identifier: BSD-3-Clause
"""Maps times to positions; the axis omits long times without a record in any process."""
import bisect
import dataclasses
import math

from .reading import Process

# A time without records is omitted if it is longer than this part of all times with records.
_IDLE = 0.1
GAP_WIDTH = 26.0
_TICKS = 8


@dataclasses.dataclass
class Stretch:
    """A part of the axis that is drawn to scale."""

    begin: int
    end: int
    at: float = 0.0  # its position in the picture


def _busy(processes: list[Process]) -> list[Stretch]:
    """Return the times with a record in any process."""
    stretches: list[Stretch] = []
    for begin, end in sorted(
        (span.begin, span.end) for process in processes for span in process.spans
    ):
        if stretches and begin <= stretches[-1].end:
            stretches[-1].end = max(stretches[-1].end, end)
        else:
            stretches.append(Stretch(begin, end))
    return stretches


class TimeAxis:
    """A piecewise linear axis between left and right."""

    def __init__(self, processes: list[Process], left: float, right: float):
        busy = _busy(processes)
        longest = _IDLE * max(1, sum(stretch.end - stretch.begin for stretch in busy))
        self.stretches = busy[:1]
        for stretch in busy[1:]:
            if stretch.begin - self.stretches[-1].end > longest:
                self.stretches.append(stretch)
            else:
                self.stretches[-1].end = stretch.end
        length = max(1, sum(stretch.end - stretch.begin for stretch in self.stretches))
        self.scale = (right - left - GAP_WIDTH * (len(self.stretches) - 1)) / length
        at = left
        for stretch in self.stretches:
            stretch.at = at
            at += (stretch.end - stretch.begin) * self.scale + GAP_WIDTH
        self._begins = [stretch.begin for stretch in self.stretches]

    def place(self, time: int) -> float:
        stretch = self.stretches[max(0, bisect.bisect_right(self._begins, time) - 1)]
        return stretch.at + (min(time, stretch.end) - stretch.begin) * self.scale

    def gaps(self) -> list[tuple[float, int]]:
        """Return (position, omitted time) of each gap."""
        return [
            (self.place(before.end), after.begin - before.end)
            for before, after in zip(self.stretches, self.stretches[1:])
        ]

    def ticks(self) -> list[tuple[float, int]]:
        """Return (position, time in nanoseconds) of the ticks, at round numbers."""
        length = sum(stretch.end - stretch.begin for stretch in self.stretches)
        step = 10 ** math.floor(math.log10(max(1, length / _TICKS)))
        step = next(step * factor for factor in (1, 2, 5, 10) if length / (step * factor) <= _TICKS)
        found = []
        for stretch in self.stretches:
            first = math.ceil(stretch.begin / step) * step
            found += [(self.place(time), time) for time in range(first, stretch.end + 1, step)]
        return found
