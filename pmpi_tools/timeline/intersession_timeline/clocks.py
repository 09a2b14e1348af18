# SPDX-License-Identifier: BSD-3-Clause
"""Aligns the times of all processes.

Processes of one machine (equal boot id: also containers and simulated nodes) share the monotonic
clock. Machines are aligned by their wall clocks, which each process reads together with the
monotonic clock, and which are as accurate as NTP. Creations can reveal errors: a creation cannot
end at a member before all members have begun it. If wall clocks contradict this, the times of a
machine are shifted by the smallest amount that resolves the contradiction, with a remark.
"""
import bisect
import collections

from .reading import Process, Span

# call, tag, number of earlier ones in this process, members
Creation = tuple[str, str, int, int]


def _creations(process: Process) -> dict[Creation, Span]:
    """Return the successful creations from groups, by a key that is equal at all members."""
    phases = [span for span in process.spans if span.kind == "phase" and span.of == "communicator"]
    begins = [span.begin for span in phases]
    seen: collections.Counter = collections.Counter()
    found = {}
    for span in process.spans:
        if span.kind == "call" and span.of == "creation":
            nth = seen[span.name, span.text]
            seen[span.name, span.text] += 1
            inside = phases[
                bisect.bisect_left(begins, span.begin) : bisect.bisect_right(begins, span.end)
            ]
            count = max((phase.members for phase in inside if phase.text == span.text), default=0)
            if span.state == "ended":
                found[span.name, span.text, nth, count] = span
    return found


def creations(processes: list[Process]) -> dict[Creation, list[tuple[Process, Span]]]:
    """Return the creations, each with its known members."""
    found = collections.defaultdict(list)
    for process in processes:
        for key, span in _creations(process).items():
            found[key].append((process, span))
    return found


def _wall_offset(machine: list[Process]) -> int:
    """Return the offset of the process with the smallest error between its clocks."""
    best = min(machine, key=lambda process: process.clock_error_ns)
    return best.wall_ns - best.monotonic_ns


def _bounds(found: dict, reference: str, boot: str, shift: int) -> tuple[float, float]:
    """Return the smallest and largest further shift so that no creation ends before all begin it.

    Only creations whose number of members is known and complete count: two groups may use one tag
    at the same time.
    """
    least, most = float("-inf"), float("inf")
    for (_, _, _, members), spans in found.items():
        if members != len(spans):
            continue
        here = [span for process, span in spans if process.boot == reference]
        there = [span for process, span in spans if process.boot == boot]
        if here and there:
            least = max(least, max(s.begin for s in here) - min(s.end for s in there) - shift)
            most = min(most, min(s.end for s in here) - max(s.begin for s in there) - shift)
    return least, most


def align(processes: list[Process]) -> list[str]:
    """Shift all spans to one clock that begins at 0, and return remarks."""
    machines: dict[str, list[Process]] = collections.defaultdict(list)
    for process in processes:
        machines[process.boot].append(process)
    reference = processes[0].boot
    found = creations(processes)
    shifts, remarks = {reference: 0}, []
    for boot, machine in machines.items():
        if boot == reference:
            continue
        shift = _wall_offset(machine) - _wall_offset(machines[reference])
        least, most = _bounds(found, reference, boot, shift)
        wrong = least if least > 0 else most if most < 0 else 0
        hosts = ", ".join(sorted({process.host for process in machine}))
        if least > most:
            remarks.append(
                f"the clock of {hosts} cannot be corrected: creations contradict each other; "
                "its times use the wall clock"
            )
            wrong = 0
        elif wrong:
            remarks.append(
                f"the wall clock of {hosts} is wrong by {abs(wrong) / 1e6:.3f} ms or more, "
                "according "
                "to communicator creations; corrected"
            )
        shifts[boot] = shift + int(wrong)
    if len(machines) > 1:
        remarks.append(
            f"{len(machines)} machines, compared by their wall clocks: times of different machines "
            "are only as accurate as these clocks"
        )
    _move(processes, shifts)
    return remarks


def _move(processes: list[Process], shifts: dict[str, int]) -> None:
    first = min(
        span.begin + shifts[process.boot] for process in processes for span in process.spans
    )
    for process in processes:
        for span in process.spans:
            span.begin += shifts[process.boot] - first
            span.end += shifts[process.boot] - first
