# SPDX-License-Identifier: BSD-3-Clause
"""One time for all processes.

Processes of one machine (one boot: containers and simulated nodes, too) share the monotonic clock, and nothing is moved. Machines are
compared by their wall clocks, which each process has read beside the monotonic one, and which are as good as the machines' NTP. What
that gets wrong can show: nobody has a communicator before all members have begun to make it. Where a wall clock says otherwise, the
machine is moved by the least that puts it right, and that is told.
"""
import bisect
import collections

from .reading import Process, Span

Meeting = tuple[str, str, int, int]  # call, tag, how often before by this process, members


def _creations(process: Process) -> dict[Meeting, Span]:
    """Creations of communicators from groups that have ended well, by what their members have in common."""
    phases = [span for span in process.spans if span.kind == "phase" and span.of == "communicator"]
    begins = [span.begin for span in phases]
    seen: collections.Counter = collections.Counter()
    found = {}
    for span in process.spans:
        if span.kind == "call" and span.of == "creation":
            nth = seen[span.name, span.text]
            seen[span.name, span.text] += 1
            inside = phases[bisect.bisect_left(begins, span.begin):bisect.bisect_right(begins, span.end)]
            count = max((phase.members for phase in inside if phase.text == span.text), default=0)
            if span.state == "ended":
                found[span.name, span.text, nth, count] = span
    return found


def meetings(processes: list[Process]) -> dict[Meeting, list[tuple[Process, Span]]]:
    """Creations, each with the members that are known to have met in it."""
    met = collections.defaultdict(list)
    for process in processes:
        for key, span in _creations(process).items():
            met[key].append((process, span))
    return met


def _wall_offset(machine: list[Process]) -> int:
    """Of the process that has read its clocks most closely together."""
    best = min(machine, key=lambda process: process.clock_error_ns)
    return best.wall_ns - best.monotonic_ns


def _bounds(met: dict, reference: str, boot: str, shift: int) -> tuple[float, float]:
    """By how much the machine may be moved further, at least and at most, so that no creation ends before all have begun it. Only
    creations whose members are all known by number count: a tag may serve two groups at a time."""
    least, most = float("-inf"), float("inf")
    for (_, _, _, members), spans in met.items():
        if members != len(spans):
            continue
        here = [span for process, span in spans if process.boot == reference]
        there = [span for process, span in spans if process.boot == boot]
        if here and there:
            least = max(least, max(s.begin for s in here) - min(s.end for s in there) - shift)
            most = min(most, min(s.end for s in here) - max(s.begin for s in there) - shift)
    return least, most


def align(processes: list[Process]) -> list[str]:
    """Moves all spans to one clock that begins at 0; says how."""
    machines: dict[str, list[Process]] = collections.defaultdict(list)
    for process in processes:
        machines[process.boot].append(process)
    reference = processes[0].boot
    met = meetings(processes)
    shifts, remarks = {reference: 0}, []
    for boot, machine in machines.items():
        if boot == reference:
            continue
        shift = _wall_offset(machine) - _wall_offset(machines[reference])
        least, most = _bounds(met, reference, boot, shift)
        wrong = least if least > 0 else most if most < 0 else 0
        hosts = ", ".join(sorted({process.host for process in machine}))
        if least > most:
            remarks.append(f"the clock of {hosts} cannot be put right: creations contradict each other; times are by the wall clock")
            wrong = 0
        elif wrong:
            remarks.append(f"the wall clock of {hosts} is wrong by {abs(wrong) / 1e6:.3f} ms or more, as creations of communicators show; moved")
        shifts[boot] = shift + int(wrong)
    if len(machines) > 1:
        remarks.append(f"{len(machines)} machines, compared by their wall clocks: times of different machines are as good as those")
    _move(processes, shifts)
    return remarks


def _move(processes: list[Process], shifts: dict[str, int]) -> None:
    first = min(span.begin + shifts[process.boot] for process in processes for span in process.spans)
    for process in processes:
        for span in process.spans:
            span.begin += shifts[process.boot] - first
            span.end += shifts[process.boot] - first
