# SPDX-License-Identifier: BSD-3-Clause
"""Selects the processes of a picture if there are too many."""
from .reading import Process


def time_in_sessions(process: Process) -> int:
    """Return the total time of a process in calls of sessions and creations."""
    return sum(
        span.length
        for span in process.spans
        if span.kind == "call" and span.of in ("session", "creation")
    )


def choose(processes: list[Process], tracks: int) -> list[Process]:
    """Return at most `tracks` processes, in the given order, and at least one.

    These are the slowest half, the fastest quarter, and others evenly between.
    """
    tracks = max(tracks, 1)
    if len(processes) <= tracks:
        return processes
    by_time = sorted(range(len(processes)), key=lambda at: -time_in_sessions(processes[at]))
    fast = tracks // 4
    slow = tracks - tracks // 2
    space = tracks - slow - fast
    between = by_time[slow : len(by_time) - fast]
    chosen = {
        *by_time[:slow],
        *by_time[len(by_time) - fast :],
        *(between[number * len(between) // space] for number in range(space)),
    }
    return [processes[at] for at in sorted(chosen)]
