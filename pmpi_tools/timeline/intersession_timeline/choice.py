# SPDX-License-Identifier: BSD-3-Clause
"""Which processes a picture shows when there are too many for it."""
from .reading import Process


def time_in_sessions(process: Process) -> int:
    """What it has spent in calls of sessions and creations, all together."""
    return sum(span.length for span in process.spans if span.kind == "call" and span.of in ("session", "creation"))


def choose(processes: list[Process], lanes: int) -> list[Process]:
    """The slowest half, the fastest quarter, and as many as there is room for evenly between; in the order given. At least one."""
    lanes = max(lanes, 1)
    if len(processes) <= lanes:
        return processes
    by_time = sorted(range(len(processes)), key=lambda at: -time_in_sessions(processes[at]))
    fast = lanes // 4
    slow = lanes - lanes // 2
    room = lanes - slow - fast
    between = by_time[slow:len(by_time) - fast]
    chosen = {*by_time[:slow], *by_time[len(by_time) - fast:], *(between[number * len(between) // room] for number in range(room))}
    return [processes[at] for at in sorted(chosen)]
