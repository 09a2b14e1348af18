# SPDX-License-Identifier: BSD-3-Clause
"""Runs the jobs of bench/startup and parses their output."""
import collections
import dataclasses
import re
import statistics
import tempfile
import time

import measuring
import natives

_SETTINGS = measuring.ROOT / "shim" / "base" / "settings.def"
_LINE = re.compile(
    r"([\w.]+) max_(ms|kib|count) ([\d.]+) mean_\2 ([\d.]+)(?: shared_kib ([\d.]+))?"
)


def offered(names):
    """Return the names that the description of INTERSESSION_EXCHANGE has."""
    row = re.search(r"^SETTING\(exchange,.*$", _SETTINGS.read_text(encoding="utf-8"), re.MULTILINE)[
        0
    ]
    return tuple(name for name in names if re.search(rf"\b{name}\b", row))


# How node leaders exchange addresses; the first is the default.
STRATEGIES = offered(("modex", "ring", "ifence", "fence", "world_fence"))


@dataclasses.dataclass(frozen=True)
class System:
    """A program with its settings."""

    name: str
    bench: measuring.Bench
    program: str
    arguments: tuple = ()
    leaves: bool = False  # over nodes, exit before MPI_Finalize
    settings: tuple = ()  # (name, value) of the environment
    over_nodes: bool = False  # runs over nodes only
    prints_counts: bool = False
    has_more: bool = True  # measures the first operations as well
    has_memory: bool = True


@dataclasses.dataclass
class Measured:
    """Values of all jobs.

    values[system, nodes, per_node, phase, quantity] has one value for each repetition.
    """

    systems: list = dataclasses.field(default_factory=list)
    shapes: list = dataclasses.field(default_factory=list)
    values: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    failures: list = dataclasses.field(default_factory=list)

    def series(self, system, shape, phase, quantity):
        """Return the values of all repetitions."""
        return self.values.get((system, *shape, phase, quantity), [])

    def middle(self, system, shape, phase, quantity):
        """Return the median, or None if it was not measured."""
        series = [
            value for value in self.series(system, shape, phase, quantity) if value is not None
        ]
        return statistics.median(series) if series else None

    def ratios(self, ours, theirs, shape, quantity="max_ms"):
        """Return ratios of two (system, phase) pairs in the repetitions in which both succeeded."""
        pairs = zip(
            self.series(ours[0], shape, ours[1], quantity),
            self.series(theirs[0], shape, theirs[1], quantity),
        )
        return [a / b for a, b in pairs if a is not None and b]


def systems_of(bench, options):
    """Return all systems, the native MPI first."""
    systems = [
        System("MPI_Init", bench, "startup_world", leaves=not bench.mpi.finalizes_over_nodes),
        System("sessions", bench, "startup_session", prints_counts=True),
        System("sparse sessions", bench, "startup_session", ("sparse",), prints_counts=True),
        System(
            "MPI_Init on sessions",
            bench,
            "startup_world",
            settings=(
                ("INTERSESSION_WORLD", "sessions"),
                ("LD_PRELOAD", str(bench.library)),
            ),
        ),
    ]
    for native in natives.find(options, ["startup/startup_session.c"]):
        systems.append(
            System(
                f"native sessions ({native.mpi.title})",
                native,
                "startup_session",
                leaves=not native.mpi.finalizes_over_nodes,
            )
        )
    for strategy in list(filter(None, options.strategies.split(",")))[1:]:
        systems.append(
            System(
                f"sessions, {strategy}",
                bench,
                "startup_session",
                settings=(("INTERSESSION_EXCHANGE", strategy),),
                over_nodes=True,
                prints_counts=True,
                has_more=False,
                has_memory=False,
            )
        )
    for provider in filter(None, options.providers.split(",")):
        systems.append(
            System(
                f"sessions, {provider}",
                bench,
                "startup_session",
                settings=(("INTERSESSION_PROVIDER", provider),),
                over_nodes=True,
                prints_counts=True,
            )
        )
    if options.work:
        for name, value in (
            ("work after MPI_Session_init", "false"),
            ("work while it starts", "true"),
        ):
            systems.append(
                System(
                    f"sessions, {name}",
                    bench,
                    "startup_session",
                    (f"work={options.work}",),
                    settings=(("INTERSESSION_START_BESIDE", value),),
                    has_more=False,
                    has_memory=False,
                )
            )
    return systems


def _launcher(bench):
    """Return the system that measures the memory of the launcher's client; PMIx only."""
    return System("launcher's client", bench, "startup_launcher")


def _run(measured, system, shape, arguments):
    """Return the output of one job; if it fails, what it printed until then."""
    nodes, per_node = shape
    try:
        return system.bench.run(
            nodes * per_node,
            system.program,
            *system.arguments,
            *arguments,
            nodes=nodes,
            leaves=system.leaves and nodes > 1,
            variables=dict(system.settings),
        )
    except measuring.JobFailed as failure:
        measured.failures.append((system.name, shape, str(failure)))
        return failure.output


def take(measured, system, shape, repetition, text):
    """Add the values of a job's output; return True if there are any.

    Repetitions without a value have None in the series.
    """
    has_figures = False
    for line in (text or "").splitlines():
        match = _LINE.fullmatch(line)
        if not match:
            continue
        has_figures = True
        phase, unit, largest, mean, shared = match.groups()
        for quantity, value in (
            (f"max_{unit}", largest),
            (f"mean_{unit}", mean),
            ("shared_kib", shared),
        ):
            if value is not None:
                series = measured.values[system, *shape, phase, quantity]
                series += [None] * (repetition - len(series)) + [float(value)]
    return has_figures


def _words_of(system, shape, options):
    """Return the arguments for the first operations.

    With many processes no first messages are sent: they would take longer than everything else.
    """
    return (
        ["more", f"peers={options.peers if shape[0] * shape[1] < options.many else 0}"]
        if system.has_more
        else []
    )


def _time_once(measured, system, shape, repetition, options):
    words = _words_of(system, shape, options)
    if system.prints_counts:
        words.append("counts")
    return take(measured, system.name, shape, repetition, _run(measured, system, shape, words))


def _memory_once(measured, system, shape, options):
    with tempfile.TemporaryDirectory(dir=options.build) as folder:
        words = [f"memory={folder}", *_words_of(system, shape, options)]
        return take(measured, system.name, shape, 0, _run(measured, system, shape, words))


def _runs_in(system, shape, options):
    """True if the system runs in the shape; variants of sessions do not run with many processes."""
    is_variant = system.settings and shape[0] * shape[1] >= options.many
    return not is_variant and (shape[0] > 1 or not system.over_nodes)


def measure(bench, shapes, options, keep):
    """Run all jobs; call keep(measured) after each shape, so that interrupted runs have results."""
    measured = Measured()
    systems = systems_of(bench, options)
    for each in {system.bench for system in systems}:
        each.timeout = options.timeout
    measured.systems = [system.name for system in systems]
    started = time.monotonic()
    for number, shape in enumerate(shapes):
        measured.shapes.append(shape)
        processes = shape[0] * shape[1]
        repetitions = min(
            options.repetitions,
            1
            if processes >= options.many
            else 3
            if processes >= options.few
            else options.repetitions,
        )
        failed = set()  # systems that do not run again in this shape
        for repetition in range(repetitions + 1):
            is_memory = repetition == repetitions
            what = "memory" if is_memory else f"{repetition + 1} of {repetitions}"
            bench.progress(
                f"{shape[0]} node(s) with {shape[1]} processes each "
                f"({number + 1} of {len(shapes)} shapes): {what}; "
                f"{time.monotonic() - started:.0f} s so far"
            )
            here = [
                s
                for s in systems
                if _runs_in(s, shape, options)
                and (s.has_memory if is_memory else s.name not in failed)
            ]
            if is_memory and bench.mpi.is_pmix:
                here.append(_launcher(bench))
            for system in here:
                went = (
                    _memory_once(measured, system, shape, options)
                    if is_memory
                    else _time_once(measured, system, shape, repetition, options)
                )
                if not went:
                    failed.add(system.name)
                    bench.progress(f"{system.name} does not run here")
        keep(measured)
    for system in systems:
        if isinstance(system.bench, natives.Native):
            system.bench.close()
    return measured
