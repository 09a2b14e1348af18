# SPDX-License-Identifier: BSD-3-Clause
"""The jobs of bench/compare: which systems run what, and the figures in what they print."""
import collections
import dataclasses
import itertools
import re
import tempfile
import time

import measuring
import natives

# What a job measures, and on how many processes; "nonblocking" and "persistent" are of collectives that are started and waited for; "copied" is of what is long, where no process may
# read another's memory; "first" is of what is the first of its kind in a job; "crowded" is of more processes than cores, all of which give theirs away as they wait; "nodes" is "messages" with each process
# on a node of its own, "spanning" is "collectives" of two nodes with one process each, and with two; "fabric" is a few rows of "nodes", over each of the ways
# that there are between nodes, beside what lies below.
PARTS = ("messages", "threads", "collectives", "nonblocking", "persistent", "copied", "crowded", "rings", "first", "startup", "nodes", "spanning", "fabric")
_OF_ALL = ("collectives", "nonblocking", "persistent", "copied")
WORLD, PRELOADED, OURS, LIBRARY = "world", "world, preloaded", "sessions", "library's session"
MATCHED = "sessions, matched by the provider"
RAW, RAW_CONNECTION, RAW_LIBFABRIC = "raw", "raw TCP", "raw libfabric"
_RAW_WAYS = {RAW_CONNECTION, RAW_LIBFABRIC}

# Processes in "crowded".
CROWD = 16

# The first thousand messages of two processes take longer than all others, and not equally with every system: a connection's, and those whose
# memory is met first. Between nodes, and where processes wait for cores, they would be a large part of a row (docs/compare.md); so would be the time
# until the system has put two threads on two cores.
_LONGER_WHERE_FEW_FIT = 8

# The way between nodes where no provider is named, and the providers of libfabric that carry ordered datagrams to another machine.
CONNECTIONS = "TCP connections"
PROVIDERS = ("tcp;ofi_rxm", "sockets", "udp;ofi_rxd")

# Ours, in "copied".
_COPIES = ("INTERSESSION_SINGLE_COPY", "0")

# How that system is asked for, and what it says over a provider that cannot do that: then we match, as in the other row.
_MATCHING = {"INTERSESSION_MATCHING": "provider"}
_DOES_NOT_MATCH = "is not up to matching messages here"

Row = collections.namedtuple("Row", "part what bytes processes nodes")
# One repetition's. word: nanoseconds that a bare word took between the two processes just then; None where none was taken.
Figure = collections.namedtuple("Figure", "microseconds word", defaults=[None])

_ROW = re.compile(r"(\w+),([^\n]+?),(\d+),([\d.]+)(?:,([\d.]+))?")
_PHASE = re.compile(r"(\w+) max_ms ([\d.]+) mean_ms [\d.]+")
_PHASES = {"world_init": "until there is a communicator of all", "session_init": "MPI_Session_init", "self_comm": "self", "world_comm": "world",
           "session_total": "until there is a communicator of all"}

# What a system's short messages are held against: the word that its own two processes handed back and forth at that time.
_SHORTEST = Row("messages", "latency", 8, 2, 1)

# Two processes, whose rows differ with how far they are apart, run so many times as often.
_TIMES_OF_TWO = 3

# Why a system does not run between nodes whose MPI_Finalize may hang there.
_HANGS = "its own MPI_Finalize hangs in some jobs on simulated nodes (docs/measurements.md, \"MPICH 4.0.2 (ch4:ucx) between nodes\")"

# Why one does not run where all is copied.
_SPINS = "without cross-memory attach its eight processes on two cores take more than 300 s"

# What rows of a part are called that has the same ones on one node.
BETWEEN_NODES = " between nodes"

# Two figures are compared where their processes were as far from each other, as far as bare words tell.
_ALIKE = 1.5

# A part whose rows are those of another one.
_ROWS = {"nodes": "messages", "spanning": "collectives"}

# The program of a part is called after it where others do not do, and after what runs it.
_PROGRAMS = {"startup": "startup", "threads": "threads"}
_SOURCES = ["compare_session.c", "startup_session.c", "threads_session.c"]


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a job runs."""
    part: str
    processes: int
    nodes: int
    way: str = ""   # between nodes, in "fabric" alone

    @property
    def cores(self):
        """A launcher may bind a process to one core, which would be too few for several threads."""
        return measuring.OWN_CORES if self.nodes > 1 or self.part == "threads" else measuring.AS_LAUNCHED

    def __str__(self):
        return f"{self.part}, {self.processes} processes on {self.nodes} node(s)" + (f" over {self.way}" if self.way else "")


@dataclasses.dataclass(frozen=True)
class System:
    name: str
    bench: measuring.Bench
    model: str                # how its programs reach each other: the end of their names
    parts: tuple = PARTS
    ways: tuple = ()          # over which it runs in "fabric"; empty: all
    preload: bool = False     # our library into a program that does not use it
    variables: dict = dataclasses.field(default_factory=dict)   # for its processes
    unless: str = ""          # what these say where the variables do not do as they should
    ends_over_nodes: bool = True

    def is_in(self, place):
        return (place.part in self.parts and (place.part != "copied" or self.can_copy()) and (place.nodes == 1 or self.ends_over_nodes)
                and (not place.way or not self.ways or place.way in self.ways))

    def can_copy(self):
        return self.name == OURS or bool(self.bench.mpi.copies)

    def program(self, part):
        return f"{_PROGRAMS.get(part, 'compare')}_{self.model}"


@dataclasses.dataclass
class Measured:
    """values[row][system] holds figures, one for each repetition; None where a job did not go well."""
    systems: list
    values: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    failures: list = dataclasses.field(default_factory=list)
    left_out: list = dataclasses.field(default_factory=list)   # (system, where, why) of what is not tried at all

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

    def ratios_between(self, one, other):
        """Of two rows' systems, in the repetitions in which both went well, and where bare words were taken, those were alike. If there is no
        such repetition, of all figures with words alike, of whatever repetitions; and if there are none of those, of all repetitions."""
        own = [(a, b) for a, b in zip(self._repetitions(*one), self._repetitions(*other)) if a is not None and b is not None]
        crossed = itertools.product(self.figures(*one), self.figures(*other))
        pairs = [pair for pair in own if _are_alike(*pair)] or [pair for pair in crossed if _are_alike(*pair)] or own
        return [a.microseconds / b.microseconds for a, b in pairs if b.microseconds]

    def words(self):
        """All bare words that were taken, in nanoseconds."""
        return [figure.word for systems in self.values.values() for figures in systems.values() for figure in figures if figure and figure.word]


def _are_alike(one, other):
    return bool(one.word and other.word) and max(one.word, other.word) <= _ALIKE * min(one.word, other.word)


def is_row(line):
    return bool(_ROW.fullmatch(line) or _PHASE.match(line))


def rows_of(text, place):
    """(row, figure) of a job's output."""
    over = f" over {place.way}" if place.way else BETWEEN_NODES if place.part == "threads" and place.nodes > 1 else ""
    row = lambda what, size: Row(place.part, what + over, size, place.processes, place.nodes)
    for line in (text or "").splitlines():
        if match := _ROW.fullmatch(line):
            yield row(match[2], int(match[3])), Figure(float(match[4]), float(match[5]) if match[5] else None)
        elif match := _PHASE.match(line):
            if match[1] in _PHASES:
                yield row(_PHASES[match[1]], 0), Figure(float(match[2]) * 1e3)


def systems_of(bench, options):
    """What lies below first: where that does not run, nothing does. What is compared with each other runs one right after the other."""
    found = [System(RAW_CONNECTION, bench, "raw", parts=("fabric",), ways=(CONNECTIONS,)),
             System(RAW_LIBFABRIC, bench, "raw", parts=("fabric",), ways=options.providers),
             System(PRELOADED, bench, "world", parts=("messages", "collectives", "startup"), preload=True),
             System(WORLD, bench, "world", ends_over_nodes=bench.mpi.ends_over_nodes), System(OURS, bench, "session"),
             System(MATCHED, bench, "session", parts=("fabric",), ways=options.providers, variables=_MATCHING, unless=_DOES_NOT_MATCH),
             System(LIBRARY, bench, "library", parts=("rings",))]
    for native in natives.find(options, _SOURCES):
        found.append(System(f"native sessions ({native.mpi.title})", native, "session", ends_over_nodes=native.mpi.ends_over_nodes))
    return found


def left_out(systems, places):
    """(system, where, why) of what is not tried, as the system's own library may not end there."""
    parts = ", ".join(dict.fromkeys(place.part for place in places if place.nodes > 1))
    found = [(system.name, f"between nodes ({parts})", _HANGS) for system in systems if parts and not system.ends_over_nodes]
    if any(place.part == "copied" for place in places):
        found += [(system.name, "copied", _SPINS) for system in systems if "copied" in system.parts and not system.can_copy()]
    return found


def places_of(options):
    counts = [int(word) for word in options.processes.split(",")]
    places = {"messages": [(count, 1) for count in counts if count % 2 == 0], "threads": [(2, 1), (1, 1), (2, 2)], **{part: [(count, 1) for count in counts] for part in (*_OF_ALL, "first", "startup")},
              "crowded": [(CROWD, 1)], "rings": [(count, 1) for count in counts if count > 2], "nodes": [(2, 2)], "spanning": [(2, 2), (4, 2)],
              "fabric": [(2, 2, way) for way in (CONNECTIONS, *options.providers)]}
    return [Place(part, *place) for part in options.parts.split(",") for place in places[part]]


def _run_over(system, place, milliseconds):
    """Over one way between nodes."""
    is_connection = place.way == CONNECTIONS
    if system.model == "raw":
        with tempfile.TemporaryDirectory() as folder:
            way = "connection" if is_connection else place.way
            return system.bench.run(place.processes, "raw_pingpong", way, folder, milliseconds, nodes=place.nodes, cores=place.cores)
    variables = system.variables if is_connection else {**system.variables, "INTERSESSION_PROVIDER": place.way}
    return system.bench.run(place.processes, system.program(place.part), place.part, milliseconds, nodes=place.nodes, variables=variables,
                            cores=place.cores, unless=system.unless)


def _is_crowded(place):
    """Nodes share the machine's cores: several processes of one are more than it has."""
    return place.part == "crowded" or 1 < place.nodes < place.processes


def _variables(mpi, place):
    settings = [mpi.yields] if _is_crowded(place) else [*mpi.copies, _COPIES] if place.part == "copied" else []
    return dict(filter(None, settings))


def _run(system, place, options):
    is_longer = place.part in ("crowded", "threads", "nodes", "fabric")
    milliseconds = options.milliseconds * (_LONGER_WHERE_FEW_FIT if is_longer else 1)
    if place.way:
        return _run_over(system, place, milliseconds)
    if place.part == "startup":
        return system.bench.run(place.processes, system.program(place.part), nodes=place.nodes, preload=system.preload)
    rows = _ROWS.get(place.part, place.part)
    return system.bench.run(place.processes, system.program(place.part), rows, milliseconds, *(["more"] if options.full else []),
                            nodes=place.nodes, preload=system.preload, cores=place.cores, variables=_variables(system.bench.mpi, place))


def _measure_at(place, systems, measured, repetition, options):
    """All systems in turn. What has failed in a place does not run there again."""
    lost = {name for name, where, _ in measured.failures if where == place}
    if lost & _RAW_WAYS:
        return
    here = [system for system in systems if system.is_in(place) and system.name not in lost]
    for system in here if repetition % 2 == 0 else reversed(here):
        try:
            text = _run(system, place, options)
        except measuring.JobFailed as failure:
            measured.failures.append((system.name, place, str(failure)))
            system.bench.progress(f"{system.name} does not run here")
            if system.name in _RAW_WAYS:
                return
            continue
        for row, figure in rows_of(text, place):
            measured.add(row, system.name, repetition, figure)
            if row == _SHORTEST and system.name == OURS and figure.word:
                measured.add(row, RAW, repetition, Figure(figure.word / 1e3, figure.word))


def _times(place, options):
    is_of_two = place.processes == 2 and place.part in ("messages", *_OF_ALL, "nodes", "spanning", "fabric")
    return _TIMES_OF_TWO if not options.quick and (is_of_two or place.part == "threads") else 1


def measure(bench, options):
    systems = systems_of(bench, options)
    places = places_of(options)
    measured = Measured([system.name for system in systems], left_out=left_out(systems, places))
    started = time.monotonic()
    for repetition in range(options.repetitions):
        for number, place in enumerate(places):
            bench.progress(f"{place} ({number + 1} of {len(places)}), repetition {repetition + 1} of {options.repetitions}; "
                           f"{time.monotonic() - started:.0f} s so far")
            times = _times(place, options)
            for time_here in range(times):
                _measure_at(place, systems, measured, repetition * times + time_here, options)
    for system in systems:
        if isinstance(system.bench, natives.Native):
            system.bench.close()
    return measured
