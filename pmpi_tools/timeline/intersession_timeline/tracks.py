# SPDX-License-Identifier: BSD-3-Clause
"""Assigns spans to rows in which spans are disjoint or nested."""
from typing import Callable, Hashable, Iterable, TypeVar

from .reading import Span

Row = TypeVar("Row", bound=Hashable)


def rows_of(spans: Iterable[Span], first_row: Callable[[Span], Row]) -> list[tuple[Row, int, Span]]:
    """Return each span with its row: a name (e.g. the thread) and a level.

    The level is above 0 if the span partly overlaps spans of the lower levels.
    """
    open_spans: dict[tuple[Row, int], list[Span]] = {}
    placed = []
    for span in sorted(spans, key=lambda span: (span.begin, -span.end, span.kind)):
        name, level = first_row(span), 0
        while not _fits(open_spans.setdefault((name, level), []), span):
            level += 1
        open_spans[name, level].append(span)
        placed.append((name, level, span))
    return placed


def _fits(stack: list[Span], span: Span) -> bool:
    while stack and stack[-1].end <= span.begin:
        stack.pop()
    return not stack or stack[-1].end >= span.end
