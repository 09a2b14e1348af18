# SPDX-License-Identifier: BSD-3-Clause
"""The jobs of bench/compare: which systems run what, and the figures in what they print."""
import collections
import dataclasses
import re
import time

import measuring
import natives

# What a job measures, and on how many processes; "nodes" is "messages" with each process on a node of its own.
PARTS = ("messages", "collectives", "rings", "startup", "nodes")
WORLD, PRELOADED, OURS, LIBRARY, RAW = "world", "world, preloaded", "sessions", "library's session", "raw"

Row = collections.namedtuple("Row", "part what bytes processes nodes")
_ROW = re.compile(r"(\w+),([^\n]+),(\d+),([\d.]+)")
_PHASE = re.compile(r"(\w+) max_ms ([\d.]+) mean_ms [\d.]+")
_PHASES = {"world_init": "until there is a communicator of all", "session_init": "MPI_Session_init", "self_comm": "self", "world_comm": "world", "dup": "first dup",
           "session_total": "until there is a communicator of all"}
_SOURCES = ["compare_session.c", "startup_session.c"]
_RAW = re.compile(r"a bare word, one way +best +[\d.]+ +median +([\d.]+) ns")


@dataclasses.dataclass(frozen=True)
class System:
    name: str
    bench: measuring.Bench
    program: str              # of rows
    startup: str = ""         # of phases; empty: none
    parts: tuple = PARTS
    preload: bool = False     # our library into a program that does not use it


@dataclasses.dataclass
class Measured:
    """values[row][system] holds microseconds, one for each repetition; None where a job did not go well."""
    systems: list
    values: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    failures: list = dataclasses.field(default_factory=list)

    def add(self, row, system, repetition, value):
        series = self.values[row][system]
        series += [None] * (repetition - len(series)) + [value]

    def series(self, row, system):
        return [value for value in self.values[row].get(system, []) if value is not None]

    def ratios(self, row, ours, theirs):
        """Of the repetitions in which both went well."""
        pairs = zip(self.values[row].get(ours, []), self.values[row].get(theirs, []))
        return [a / b for a, b in pairs if a is not None and b]


def rows_of(text, part, processes, nodes):
    """(row, microseconds) of a job's output."""
    for line in (text or "").splitlines():
        if match := _ROW.fullmatch(line):
            yield Row(part, match[2], int(match[3]), processes, nodes), float(match[4])
        elif match := _PHASE.match(line):
            if match[1] in _PHASES:
                yield Row(part, _PHASES[match[1]], 0, processes, nodes), float(match[2]) * 1e3


def _parts_of(mpi):
    """All that its own library can end."""
    return PARTS if mpi.ends_over_nodes else tuple(part for part in PARTS if part != "nodes")


def systems_of(bench, options):
    found = [System(WORLD, bench, "compare_world", "startup_world", _parts_of(bench.mpi)), System(OURS, bench, "compare_session", "startup_session"),
             System(PRELOADED, bench, "compare_world", parts=("messages",), preload=True),
             System(LIBRARY, bench, "compare_library", parts=("rings",))]
    for native in natives.find(options, _SOURCES):
        found.append(System(f"native sessions ({native.mpi.title})", native, "compare_session", "startup_session", _parts_of(native.mpi)))
    return found


def places_of(options):
    """(part, processes, nodes)"""
    counts = [int(word) for word in options.processes.split(",")]
    places = {"messages": [(count, 1) for count in counts if count % 2 == 0], "collectives": [(count, 1) for count in counts],
              "rings": [(count, 1) for count in counts if count > 2], "startup": [(count, 1) for count in counts], "nodes": [(2, 2)]}
    return [(part, *place) for part in options.parts.split(",") for place in places[part]]


def _run(system, part, processes, nodes, options):
    if part == "startup":
        return system.bench.run(processes, system.startup, nodes=nodes) if system.startup else ""
    rows = "messages" if part == "nodes" else part
    return system.bench.run(processes, system.program, rows, options.milliseconds, nodes=nodes, preload=system.preload)


def _bare_word(bench):
    """Microseconds in which a cache line goes from one core to another, where there are two."""
    match = _RAW.search(bench.run_alone(bench.options.build / "bench" / "transport_pingpong"))
    return float(match[1]) / 1e3


def measure(bench, options):
    systems = systems_of(bench, options)
    measured = Measured([system.name for system in systems])
    places = places_of(options)
    started = time.monotonic()
    lost = set()   # what has failed in a place does not run there again
    for repetition in range(options.repetitions):
        for number, place in enumerate(places):
            part, processes, nodes = place
            bench.progress(f"{part}, {processes} processes on {nodes} node(s) ({number + 1} of {len(places)}), repetition {repetition + 1} of "
                           f"{options.repetitions}; {time.monotonic() - started:.0f} s so far")
            here = [system for system in systems if part in system.parts and (system, place) not in lost]
            for system in here if repetition % 2 == 0 else reversed(here):
                try:
                    text = _run(system, part, processes, nodes, options)
                except measuring.JobFailed as failure:
                    lost.add((system, place))
                    measured.failures.append((system.name, place, str(failure)))
                    bench.progress(f"{system.name} does not run here")
                    continue
                for row, microseconds in rows_of(text, part, processes, nodes):
                    measured.add(row, system.name, repetition, microseconds)
            if part == "messages" and processes == 2:
                measured.add(Row(part, "latency", 8, 2, 1), RAW, repetition, _bare_word(bench))
    for system in systems:
        if isinstance(system.bench, natives.Native):
            system.bench.close()
    return measured
