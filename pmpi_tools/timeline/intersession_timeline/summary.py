# SPDX-License-Identifier: BSD-3-Clause
"""Makes the summary for the terminal."""
import collections
import statistics
import textwrap

from .clocks import creations
from .phases import PHASES
from .reading import Process, Span

_MOST_CREATIONS = 10
Entry = tuple[Process, Span]


def time_text(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if nanoseconds >= size:
            return (
                f"{nanoseconds / size:.3g} {unit}"
                if nanoseconds < 1000 * size
                else f"{nanoseconds / size:.0f} {unit}"
            )
    return f"{nanoseconds / 1e3:.3g} µs"


def _row(name: str, entries: list[Entry]) -> list[str]:
    process, slowest = max(entries, key=lambda entry: entry[1].length)
    held = f", until rank {slowest.peer}" if slowest.peer >= 0 else ""
    bad = [
        f"{count} {state}"
        for state in ("failed", "unfinished")
        if (count := sum(span.state == state for _, span in entries))
    ]
    lengths = [span.length for _, span in entries]
    return [
        name,
        str(len(entries)),
        time_text(statistics.median(lengths)),
        time_text(max(lengths)),
        process.name + held + "".join(f"; {text}" for text in bad),
    ]


def _table(title: str, rows: list[list[str]]) -> list[str]:
    rows = [[title, "count", "median", "maximum", "slowest process"], *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return [
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  "
        f"{row[3]:>{widths[3]}}  {row[4]}"
        for row in rows
    ]


def _by_name(processes: list[Process], kind: str) -> dict[str, list[Entry]]:
    found = collections.defaultdict(list)
    for process in processes:
        for span in process.spans:
            if span.kind == kind:
                found[span.name].append((process, span))
    return found


def _phases(processes: list[Process]) -> list[str]:
    found = _by_name(processes, "phase")
    if not found:
        return ["no phases: the MPI library has reported none (Intersession reports them)"]
    order = [*PHASES, *(name for name in found if name not in PHASES)]
    return _table("phase", [_row(name, found[name]) for name in order if name in found])


def _creations(processes: list[Process]) -> list[str]:
    """Return one line for each creation, with its last caller, for which the others waited."""
    lines = []
    for (call, tag, _, _), entries in creations(processes).items():
        if len(entries) < 2:
            continue
        entries.sort(key=lambda entry: entry[1].begin)
        (_, first), (late, last) = entries[0], entries[-1]
        end = max(span.end for _, span in entries)
        lines.append(
            (
                end - first.begin,
                f'{call} "{tag}", {len(entries)} processes: {time_text(end - first.begin)}; last '
                f"caller: {late.name}, {time_text(last.begin - first.begin)} after the first; "
                f"{time_text(end - last.begin)} after its call",
            )
        )
    lines.sort(key=lambda line: -line[0])
    shown = [text for _, text in lines[:_MOST_CREATIONS]]
    return shown + (
        [f"and {len(lines) - len(shown)} faster creations"] if len(lines) > len(shown) else []
    )


def summary_of(processes: list[Process], remarks: list[str]) -> str:
    hosts = {process.host for process in processes}
    whole = max(span.end for process in processes for span in process.spans)
    lines = [
        f"{len(processes)} {'process' if len(processes) == 1 else 'processes'} on "
        f"{len(hosts)} {'node' if len(hosts) == 1 else 'nodes'}, "
        f"{time_text(whole)} from the first call to the last",
        "",
    ]
    lines += _phases(processes) + [""]
    calls = _by_name(processes, "call")
    lines += _table("call", [_row(name, entries) for name, entries in calls.items()])
    creations = _creations(processes)
    if creations:
        lines += ["", *creations]
    if remarks:
        lines += [""]
    for remark in remarks:
        lines += textwrap.wrap(
            remark, 120, initial_indent="note: ", subsequent_indent="      ", break_long_words=False
        )
    return "\n".join(lines) + "\n"
