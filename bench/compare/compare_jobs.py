# SPDX-License-Identifier: BSD-3-Clause
"""Runs the jobs of bench/compare and parses their output."""
import collections
import dataclasses
import itertools
import re
import tempfile
import time

import measuring
import natives

# docs/developer/benchmarking.md describes the parts.
PARTS = (
    "messages",
    "threads",
    "collectives",
    "nonblocking",
    "persistent",
    "no_single_copy",
    "oversubscribed",
    "ring_exchange",
    "first_use",
    "startup",
    "internode_messages",
    "internode_collectives",
    "fabric",
)
_OF_ALL = ("collectives", "nonblocking", "persistent", "no_single_copy")
WORLD, PRELOADED, OURS, LIBRARY = "world", "world, preloaded", "sessions", "library's session"
PROVIDER_MATCHING = "sessions, provider matching"
CORE_TO_CORE, RAW_TCP, RAW_LIBFABRIC = "core to core", "raw TCP", "raw libfabric"
_RAW_SYSTEMS = {RAW_TCP, RAW_LIBFABRIC}

# Processes in "oversubscribed".
OVERSUBSCRIBED = 16

# Factor for the time of one row. Between nodes, and with more processes than cores, the first
# thousand messages of a pair would be a large part of a row: they set up connections and take page
# faults, at a cost that differs between systems (docs/developer/benchmarking.md). With several
# threads, the kernel needs time to spread the threads over the cores.
_LONGER_ROWS = 8

# The path between nodes if no provider is named, and the providers of libfabric that send reliable
# datagrams to another machine.
TCP_CONNECTIONS = "TCP connections"
PROVIDERS = ("tcp;ofi_rxm", "sockets", "udp;ofi_rxd")

# Disables single copy in our library, for "no_single_copy".
_NO_SINGLE_COPY = ("INTERSESSION_SINGLE_COPY", "0")

# Requests provider matching; a process prints the text if the provider cannot match messages.
_MATCHING = {"INTERSESSION_MATCHING": "provider"}
_DOES_NOT_MATCH = "is not up to matching messages here"

Row = collections.namedtuple("Row", "part what bytes processes nodes")
# One repetition. core_latency: nanoseconds of one cache-line hand-over between the two processes
# just before and after the row; None if not measured.
Figure = collections.namedtuple("Figure", "microseconds core_latency", defaults=[None])

_ROW = re.compile(r"(\w+),([^\n]+?),(\d+),([\d.]+)(?:,([\d.]+))?")
_PHASE = re.compile(r"(\w+) max_ms ([\d.]+) mean_ms [\d.]+")
_PHASES = {
    "world_init": "until the world communicator exists",
    "session_init": "MPI_Session_init",
    "self_comm": "self communicator",
    "world_comm": "world communicator",
    "session_total": "until the world communicator exists",
}

# The row that is compared with the core-to-core latency of the same two processes.
_SHORTEST = Row("messages", "latency", 8, 2, 1)

# Runs of two processes in each repetition: their rows vary with the distance of their cores.
_RUNS_OF_TWO = 3

# Why a system does not run between nodes whose MPI_Finalize may hang there.
_HANGS = (
    "its own MPI_Finalize hangs in some jobs on simulated nodes "
    "(docs/decisions/0021-mpich-between-nodes.md)"
)

_TOO_SLOW = "without cross-memory attach its eight processes on two cores take more than 300 s"

# Suffix of the names of rows between nodes, in a part that has equal rows on one node.
BETWEEN_NODES = " between nodes"

# Two figures are compared if their core-to-core latencies differ by at most this factor.
_SIMILAR = 1.5

# Parts that run the rows of another part.
_ROWS = {"internode_messages": "messages", "internode_collectives": "collectives"}

# First part of the name of a part's program, if it is not "compare"; the second is the model.
_PROGRAMS = {"startup": "startup", "threads": "threads"}
_SOURCES = [
    "compare/compare_session.c",
    "startup/startup_session.c",
    "compare/threads_session.c",
]


@dataclasses.dataclass(frozen=True)
class JobShape:
    """Part, number of processes and nodes, and path of a job."""

    part: str
    processes: int
    nodes: int
    path: str = ""  # between nodes; only in "fabric"

    @property
    def cores(self):
        """Return how processes are bound; a launcher may bind all threads of one to one core."""
        return (
            measuring.OWN_CORES
            if self.nodes > 1 or self.part == "threads"
            else measuring.AS_LAUNCHED
        )

    def __str__(self):
        return f"{self.part}, {self.processes} processes on {self.nodes} node(s)" + (
            f" over {self.path}" if self.path else ""
        )


@dataclasses.dataclass(frozen=True)
class System:
    name: str
    bench: measuring.Bench
    model: str  # the last part of the names of its programs
    parts: tuple = PARTS
    paths: tuple = ()  # over which it runs in "fabric"; empty: all
    preload: bool = False  # preload our library into a program that does not use it
    variables: dict = dataclasses.field(default_factory=dict)  # environment of its processes
    unless: str = ""  # text on standard error if the variables have no effect
    finalizes_over_nodes: bool = True

    def is_in(self, shape):
        return (
            shape.part in self.parts
            and (shape.part != "no_single_copy" or self.can_disable_single_copy())
            and (shape.nodes == 1 or self.finalizes_over_nodes)
            and (not shape.path or not self.paths or shape.path in self.paths)
        )

    def can_disable_single_copy(self):
        """True if the system has a setting for it, and still ends in time."""
        return self.name == OURS or bool(self.bench.mpi.no_single_copy)

    def program(self, part):
        return f"{_PROGRAMS.get(part, 'compare')}_{self.model}"


@dataclasses.dataclass
class Measured:
    """Figures of all jobs.

    values[row][system] holds one figure for each repetition, None if the job failed.
    """

    systems: list
    values: dict = dataclasses.field(
        default_factory=lambda: collections.defaultdict(lambda: collections.defaultdict(list))
    )
    failures: list = dataclasses.field(default_factory=list)
    # (system, where, why) of combinations that never run
    left_out: list = dataclasses.field(default_factory=list)

    def add(self, row, system, repetition, figure):
        series = self.values[row][system]
        series += [None] * (repetition - len(series)) + [figure]

    def _repetitions(self, row, system):
        return self.values.get(row, {}).get(system, [])

    def figures(self, row, system):
        return [figure for figure in self._repetitions(row, system) if figure is not None]

    def series(self, row, system):
        return [figure.microseconds for figure in self.figures(row, system)]

    def ratios(self, row, ours, theirs):
        return self.ratios_between((row, ours), (row, theirs))

    def ratios_between(self, first, second):
        """Return ratios of the figures of two (row, system) pairs.

        Figures are compared within repetitions in which both jobs succeeded with similar
        core-to-core latency; if there are none, across repetitions with similar latency; if there
        are none either, within all repetitions.
        """
        paired = [
            (a, b)
            for a, b in zip(self._repetitions(*first), self._repetitions(*second))
            if a is not None and b is not None
        ]
        crossed = itertools.product(self.figures(*first), self.figures(*second))
        pairs = (
            [pair for pair in paired if _are_similar(*pair)]
            or [pair for pair in crossed if _are_similar(*pair)]
            or paired
        )
        return [a.microseconds / b.microseconds for a, b in pairs if b.microseconds]

    def core_latencies(self):
        """Return all measured core-to-core latencies, in nanoseconds."""
        return [
            figure.core_latency
            for systems in self.values.values()
            for figures in systems.values()
            for figure in figures
            if figure and figure.core_latency
        ]


def _are_similar(a, b):
    """True if both figures have a core-to-core latency, and these are similar."""
    latencies = (a.core_latency, b.core_latency)
    return all(latencies) and max(latencies) <= _SIMILAR * min(latencies)


def is_row(line):
    """True if a line of output is a row."""
    return bool(_ROW.fullmatch(line) or _PHASE.match(line))


def rows_of(text, shape):
    """Yield (row, figure) of a job's output."""
    over = (
        f" over {shape.path}"
        if shape.path
        else BETWEEN_NODES
        if shape.part == "threads" and shape.nodes > 1
        else ""
    )
    row = lambda what, size: Row(shape.part, what + over, size, shape.processes, shape.nodes)
    for line in (text or "").splitlines():
        if match := _ROW.fullmatch(line):
            yield row(match[2], int(match[3])), Figure(
                float(match[4]), float(match[5]) if match[5] else None
            )
        elif match := _PHASE.match(line):
            if match[1] in _PHASES:
                yield row(_PHASES[match[1]], 0), Figure(float(match[2]) * 1e3)


def systems_of(bench, options):
    """Return all systems, in the order in which they run.

    The raw systems are first: if they fail on a path, no other system runs there. Systems that are
    compared with each other are neighbours.
    """
    found = [
        System(RAW_TCP, bench, "raw", parts=("fabric",), paths=(TCP_CONNECTIONS,)),
        System(RAW_LIBFABRIC, bench, "raw", parts=("fabric",), paths=options.providers),
        System(
            PRELOADED, bench, "world", parts=("messages", "collectives", "startup"), preload=True
        ),
        System(WORLD, bench, "world", finalizes_over_nodes=bench.mpi.finalizes_over_nodes),
        System(OURS, bench, "session"),
        System(
            PROVIDER_MATCHING,
            bench,
            "session",
            parts=("fabric",),
            paths=options.providers,
            variables=_MATCHING,
            unless=_DOES_NOT_MATCH,
        ),
        System(LIBRARY, bench, "library", parts=("ring_exchange",)),
    ]
    for native in natives.find(options, _SOURCES):
        found.append(
            System(
                f"native sessions ({native.mpi.title})",
                native,
                "session",
                finalizes_over_nodes=native.mpi.finalizes_over_nodes,
            )
        )
    return found


def left_out(systems, shapes):
    """Return (system, where, why) of combinations that may not end."""
    parts = ", ".join(dict.fromkeys(shape.part for shape in shapes if shape.nodes > 1))
    found = [
        (system.name, f"between nodes ({parts})", _HANGS)
        for system in systems
        if parts and not system.finalizes_over_nodes
    ]
    if any(shape.part == "no_single_copy" for shape in shapes):
        found += [
            (system.name, "no_single_copy", _TOO_SLOW)
            for system in systems
            if "no_single_copy" in system.parts and not system.can_disable_single_copy()
        ]
    return found


def check_parts(parts, parser):
    """End the command if the list has an unknown part."""
    unknown = set(parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--parts has {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")


def shapes_of(options):
    """Return the shapes of the chosen parts."""
    counts = [int(word) for word in options.processes.split(",")]
    shapes = {
        "messages": [(count, 1) for count in counts if count % 2 == 0],
        "threads": [(2, 1), (1, 1), (2, 2)],
        **{part: [(count, 1) for count in counts] for part in (*_OF_ALL, "first_use", "startup")},
        "oversubscribed": [(OVERSUBSCRIBED, 1)],
        "ring_exchange": [(count, 1) for count in counts if count > 2],
        "internode_messages": [(2, 2)],
        "internode_collectives": [(2, 2), (4, 2)],
        "fabric": [(2, 2, path) for path in (TCP_CONNECTIONS, *options.providers)],
    }
    return [JobShape(part, *shape) for part in options.parts.split(",") for shape in shapes[part]]


def _run_over_path(system, shape, milliseconds):
    """Return the output of one job over one path between nodes."""
    is_connection = shape.path == TCP_CONNECTIONS
    if system.model == "raw":
        with tempfile.TemporaryDirectory() as folder:
            path = "connection" if is_connection else shape.path
            return system.bench.run(
                shape.processes,
                "raw_pingpong",
                path,
                folder,
                milliseconds,
                nodes=shape.nodes,
                cores=shape.cores,
            )
    variables = (
        system.variables
        if is_connection
        else {**system.variables, "INTERSESSION_PROVIDER": shape.path}
    )
    return system.bench.run(
        shape.processes,
        system.program(shape.part),
        shape.part,
        milliseconds,
        nodes=shape.nodes,
        variables=variables,
        cores=shape.cores,
        unless=system.unless,
    )


def _is_oversubscribed(shape):
    """True if the job has more processes than cores; nodes share the cores of the machine."""
    return shape.part == "oversubscribed" or 1 < shape.nodes < shape.processes


def _variables(mpi, shape):
    """Return the environment that the shape requires."""
    if _is_oversubscribed(shape):
        return dict(filter(None, [mpi.yields]))
    return dict([*mpi.no_single_copy, _NO_SINGLE_COPY] if shape.part == "no_single_copy" else [])


def _run(system, shape, options):
    """Return the output of one job."""
    is_longer = shape.part in ("oversubscribed", "threads", "internode_messages", "fabric")
    milliseconds = options.milliseconds * (_LONGER_ROWS if is_longer else 1)
    if shape.path:
        return _run_over_path(system, shape, milliseconds)
    if shape.part == "startup":
        return system.bench.run(
            shape.processes, system.program(shape.part), nodes=shape.nodes, preload=system.preload
        )
    rows = _ROWS.get(shape.part, shape.part)
    return system.bench.run(
        shape.processes,
        system.program(shape.part),
        rows,
        milliseconds,
        *(["more"] if options.full else []),
        nodes=shape.nodes,
        preload=system.preload,
        cores=shape.cores,
        variables=_variables(system.bench.mpi, shape),
    )


def _measure_at(shape, systems, measured, repetition, options):
    """Run all systems in turn, backwards in odd repetitions; skip systems that failed there."""
    failed = {name for name, where, _ in measured.failures if where == shape}
    if failed & _RAW_SYSTEMS:
        return
    here = [system for system in systems if system.is_in(shape) and system.name not in failed]
    for system in here if repetition % 2 == 0 else reversed(here):
        try:
            text = _run(system, shape, options)
        except measuring.JobFailed as failure:
            measured.failures.append((system.name, shape, str(failure)))
            system.bench.progress(f"{system.name} does not run here")
            if system.name in _RAW_SYSTEMS:
                return
            continue
        for row, figure in rows_of(text, shape):
            measured.add(row, system.name, repetition, figure)
            if row == _SHORTEST and system.name == OURS and figure.core_latency:
                measured.add(
                    row,
                    CORE_TO_CORE,
                    repetition,
                    Figure(figure.core_latency / 1e3, figure.core_latency),
                )


def _runs(shape, options):
    """Return how often a shape runs in one repetition."""
    is_of_two = shape.processes == 2 and shape.part in (
        "messages",
        *_OF_ALL,
        "internode_messages",
        "internode_collectives",
        "fabric",
    )
    return _RUNS_OF_TWO if not options.quick and (is_of_two or shape.part == "threads") else 1


def measure(bench, options):
    """Run all repetitions of all shapes with all systems; return what was measured."""
    return measure_systems(systems_of(bench, options), bench, options)


def measure_systems(systems, bench, options):
    """Run all repetitions of all shapes with these systems; return what was measured."""
    shapes = shapes_of(options)
    measured = Measured([system.name for system in systems], left_out=left_out(systems, shapes))
    started = time.monotonic()
    for repetition in range(options.repetitions):
        for number, shape in enumerate(shapes):
            bench.progress(
                f"{shape} ({number + 1} of {len(shapes)}), "
                f"repetition {repetition + 1} of {options.repetitions}; "
                f"{time.monotonic() - started:.0f} s so far"
            )
            runs = _runs(shape, options)
            for run in range(runs):
                _measure_at(shape, systems, measured, repetition * runs + run, options)
    for system in systems:
        if isinstance(system.bench, natives.Native):
            system.bench.close()
    return measured
