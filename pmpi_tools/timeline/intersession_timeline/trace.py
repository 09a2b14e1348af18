# SPDX-License-Identifier: BSD-3-Clause
"""Makes the trace for Perfetto and chrome://tracing (Trace Event Format, times in microseconds)."""
from .tracks import rows_of
from .reading import Process, Span

_ROWS_PER_THREAD = 16


def _arguments(span: Span) -> dict:
    known = {
        "state": span.state,
        "of": span.of,
        "number": span.number,
        "tag": span.text,
        "members": span.members or None,
        "peer": span.peer if span.peer >= 0 else None,
        "error code": span.code or None,
    }
    return {name: value for name, value in known.items() if value not in (None, "")}


def _events(at: int, process: Process) -> list[dict]:
    threads: dict[int, int] = {}
    rows = {}
    events = [
        {"ph": "M", "name": "process_name", "pid": at, "args": {"name": process.name}},
        {"ph": "M", "name": "process_sort_index", "pid": at, "args": {"sort_index": at}},
    ]
    for thread, level, span in rows_of(process.spans, lambda span: span.thread):
        number = threads.setdefault(thread, len(threads))
        row = number * _ROWS_PER_THREAD + min(level, _ROWS_PER_THREAD - 1)
        rows[row] = f"thread {thread}" + (" (overlapping)" if level else "")
        events.append(
            {
                "ph": "X",
                "name": span.name,
                "cat": span.kind,
                "pid": at,
                "tid": row,
                "ts": span.begin / 1e3,
                "dur": span.length / 1e3,
                "args": _arguments(span),
            }
        )
    events += [
        {"ph": "M", "name": "thread_name", "pid": at, "tid": row, "args": {"name": name}}
        for row, name in sorted(rows.items())
    ]
    return events


def trace_of(processes: list[Process], remarks: list[str]) -> dict:
    """Return the trace, to be written as JSON."""
    return {
        "displayTimeUnit": "ms",
        "otherData": {
            "program": processes[0].program,
            "remarks": remarks,
            "clock": "monotonic clocks; machines are compared by their wall clocks",
        },
        "traceEvents": [
            event for at, process in enumerate(processes) for event in _events(at, process)
        ],
    }
