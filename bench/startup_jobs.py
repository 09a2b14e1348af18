# SPDX-License-Identifier: BSD-3-Clause
"""The jobs of bench/startup: what runs where, and the figures in what it prints."""
import collections
import dataclasses
import re
import statistics
import tempfile
import time

import measuring
import natives

_SETTINGS = measuring.ROOT / "shim" / "base" / "settings.def"
_LINE = re.compile(r"([\w.]+) max_(ms|kib|count) ([\d.]+) mean_\2 ([\d.]+)(?: shared_kib ([\d.]+))?")


def offered(names):
    """Those that the setting's own description names."""
    row = re.search(r"^SETTING\(exchange,.*$", _SETTINGS.read_text(encoding="utf-8"), re.MULTILINE)[0]
    return tuple(name for name in names if re.search(rf"\b{name}\b", row))


# How node roots can learn each other's addresses; the first is the one without a setting.
STRATEGIES = offered(("modex", "ring", "ifence", "fence", "world_fence"))


@dataclasses.dataclass(frozen=True)
class System:
    """Something that starts up."""
    name: str
    bench: measuring.Bench
    program: str
    arguments: tuple = ()
    leaves: bool = False      # over nodes: before MPI's own end
    settings: tuple = ()      # (name, value) of the environment
    over_nodes: bool = False  # only there it differs from others
    tells_counts: bool = False
    has_more: bool = True     # also what one does next
    has_memory: bool = True


@dataclasses.dataclass
class Measured:
    """values[system, nodes, per_node, phase, quantity] holds a value a repetition, in the order of the repetitions."""
    systems: list = dataclasses.field(default_factory=list)
    places: list = dataclasses.field(default_factory=list)
    values: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))
    failures: list = dataclasses.field(default_factory=list)

    def series(self, system, place, phase, quantity):
        return self.values.get((system, *place, phase, quantity), [])

    def middle(self, system, place, phase, quantity):
        """The median, or None where it was not measured."""
        series = [value for value in self.series(system, place, phase, quantity) if value is not None]
        return statistics.median(series) if series else None

    def ratios(self, ours, theirs, place, quantity="max_ms"):
        """(system, phase) each; of the repetitions in which both went well."""
        pairs = zip(self.series(ours[0], place, ours[1], quantity), self.series(theirs[0], place, theirs[1], quantity))
        return [a / b for a, b in pairs if a is not None and b]


def systems_of(bench, options):
    """All that are compared, the MPI below first."""
    systems = [System("MPI_Init", bench, "startup_world", leaves=not bench.mpi.ends_over_nodes),
               System("sessions", bench, "startup_session", tells_counts=True),
               System("sparse sessions", bench, "startup_session", ("sparse",), tells_counts=True)]
    for native in natives.find(options, ["startup_session.c"]):
        systems.append(System(f"native sessions ({native.mpi.title})", native, "startup_session", leaves=not native.mpi.ends_over_nodes))
    for strategy in list(filter(None, options.strategies.split(",")))[1:]:
        systems.append(System(f"sessions, {strategy}", bench, "startup_session", settings=(("INTERSESSION_EXCHANGE", strategy),),
                              over_nodes=True, tells_counts=True, has_more=False, has_memory=False))
    for provider in filter(None, options.providers.split(",")):
        systems.append(System(f"sessions, {provider}", bench, "startup_session", settings=(("INTERSESSION_PROVIDER", provider),),
                              over_nodes=True, tells_counts=True))
    if options.work:
        for name, value in (("work after MPI_Session_init", "false"), ("work while it starts", "true")):
            systems.append(System(f"sessions, {name}", bench, "startup_session", (f"work={options.work}",),
                                  settings=(("INTERSESSION_START_BESIDE", value),), has_more=False, has_memory=False))
    return systems


def _launcher(bench):
    """What the launcher's client holds by itself: memory only, and only where it is PMIx."""
    return System("launcher's client", bench, "startup_launcher")


def _run(measured, system, place, arguments):
    """The output of one job, or of its beginning where it did not go well, which is noted."""
    nodes, per_node = place
    try:
        return system.bench.run(nodes * per_node, system.program, *system.arguments, *arguments, nodes=nodes,
                                leaves=system.leaves and nodes > 1, variables=dict(system.settings))
    except measuring.JobFailed as failure:
        measured.failures.append((system.name, place, str(failure)))
        return failure.output


def take(measured, system, place, repetition, text):
    """The figures of an output, one more value for each; a repetition without a value leaves a hole in its place. Answers whether
    there were any."""
    has_figures = False
    for line in (text or "").splitlines():
        match = _LINE.fullmatch(line)
        if not match:
            continue
        has_figures = True
        phase, unit, largest, mean, shared = match.groups()
        for quantity, value in ((f"max_{unit}", largest), (f"mean_{unit}", mean), ("shared_kib", shared)):
            if value is not None:
                series = measured.values[system, *place, phase, quantity]
                series += [None] * (repetition - len(series)) + [float(value)]
    return has_figures


def _words_of(system, place, options):
    """First messages to others are left out where they would take longer than everything else."""
    return ["more", f"peers={options.peers if place[0] * place[1] < options.many else 0}"] if system.has_more else []


def _time_once(measured, system, place, repetition, options):
    words = _words_of(system, place, options)
    if system.tells_counts:
        words.append("counts")
    return take(measured, system.name, place, repetition, _run(measured, system, place, words))


def _memory_once(measured, system, place, options):
    with tempfile.TemporaryDirectory(dir=options.build) as folder:
        words = [f"memory={folder}", *_words_of(system, place, options)]
        return take(measured, system.name, place, 0, _run(measured, system, place, words))


def _runs_in(system, place, options):
    """Of many processes no variants of sessions."""
    is_variant = system.settings and place[0] * place[1] >= options.many
    return not is_variant and (place[0] > 1 or not system.over_nodes)


def measure(bench, places, options, keep):
    """keep(measured) is called after each place, so that a run that is ended early has not been for nothing."""
    measured = Measured()
    systems = systems_of(bench, options)
    for each in {system.bench for system in systems}:
        each.timeout = options.timeout
    measured.systems = [system.name for system in systems]
    started = time.monotonic()
    for number, place in enumerate(places):
        measured.places.append(place)
        processes = place[0] * place[1]
        repetitions = min(options.repetitions, 1 if processes >= options.many else 3 if processes >= options.few else options.repetitions)
        lost = set()   # what has failed here does not run here again
        for repetition in range(repetitions + 1):
            is_memory = repetition == repetitions
            what = "memory" if is_memory else f"{repetition + 1} of {repetitions}"
            bench.progress(f"{place[0]} node(s) with {place[1]} processes each ({number + 1} of {len(places)} places): {what}; "
                           f"{time.monotonic() - started:.0f} s so far")
            here = [s for s in systems if _runs_in(s, place, options) and (s.has_memory if is_memory else s.name not in lost)]
            if is_memory and bench.mpi.is_pmix:
                here.append(_launcher(bench))
            for system in here:
                went = _memory_once(measured, system, place, options) if is_memory else \
                    _time_once(measured, system, place, repetition, options)
                if not went:
                    lost.add(system.name)
                    bench.progress(f"{system.name} does not run here")
        keep(measured)
    for system in systems:
        if isinstance(system.bench, natives.Native):
            system.bench.close()
    return measured
