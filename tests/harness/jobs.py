# SPDX-License-Identifier: BSD-3-Clause
"""Reads job tables (TOML) and expands them to single jobs, one for each combination of columns.

A table [[job]] describes a job and its expected result. A column that has a list gives one job for
each entry:

    substrate  the native MPI: "openmpi", "mpich", or "none" for programs without one; a substrate
               that the build lacks is left out; default: all, or "none" if library is "none"
    processes  number of processes; default 1
    library    how the program uses Intersession: "linked", "preloaded", or "none" (only the native
               MPI); default "linked"
    nodes      1: this machine; more: simulated nodes (tests/cluster); default 1
    launcher   "mpirun" (Open MPI), "hydra" (mpiexec of MPICH), "slurm_pmi2", "slurm_pmix" or
               "slurm_none" (srun --mpi=..., of a Slurm that the job starts, tests/slurm; one
               application, simulated nodes), "slurm_mpirun" or "slurm_hydra" (in its salloc), or
               "none" (the process is started directly); default: the launcher of the substrate
    transport  transport of session messages, a row of transports.py; default "auto"

The other keys apply to all combinations:

    program      a program of the same folder, or a path if it contains a slash; {build} and
                 {source} are replaced
    name         default: the program, and its first argument if that is an identifier (the
                 scenario)
    arguments    list of texts; {processes}, {nodes}, {substrate}, {library}, {launcher}, {build},
                 {programs} and {source} are replaced, also in patterns; {start} is the command of
                 the launcher of the substrate
    apps         several programs in one job, instead of processes and arguments:
                 [{processes, program, arguments}, ...]
    launch       list of options of the launcher: "cyclic" (distribute ranks cyclically over the
                 nodes), "continue_after_death" (the death of a process does not end the job),
                 "pmi_port" (only hydra: PMI_PORT instead of PMI_FD)
    environment  table; variables for all processes
    tools        libraries to preload before Intersession (targets of the build)
    tools_after  libraries to preload after Intersession, before the MPI (targets of the build)
    cluster      further options for tests/cluster, e.g. ["--shm", "1m"]
    timeout      in seconds; default 30
    exit         expected exit code of the launcher, a number or "nonzero"; default 0. A job that is
                 expected to fail may leave shared memory, which the next job removes
    interrupts   true: the job starts jobs itself and kills their processes; their shared memory
                 remains until the last of these jobs. If jobs share a /dev/shm, no other job that
                 leaves shared memory runs at the same time
    may_fail     regular expression: if it matches the output, the job may fail, and other results
                 are not checked
    passes       number of processes that must print "test passed", or "all" (default)
    output       regular expressions that must match the output (^ and $ match at lines)
    forbidden    regular expressions that must not match the output
    serial       true: run while no other test runs
    long         true: the job is a long test (scripts/test-long, label "long"), which scripts/test
                 leaves out
    alternate_substrates
                 true: scripts/test runs each combination of the other columns over one substrate,
                 alternately; the first substrate depends on the name. The other combinations are
                 long tests
    mpi_before   "openmpi 5": the job is left out over this MPI library from this version on
    world        true: the program uses the world model; the job is left out over several nodes of a
                 substrate whose world model fails there
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import shlex
import zlib
from typing import Any, Iterator

import toml_file
from launchers import LAUNCHERS, NONE, OWN_LAUNCHER, WORLD_FAILS_OVER_NODES
from transports import AUTO, TRANSPORTS

_COLUMNS = ("library", "substrate", "processes", "nodes", "launcher", "transport")
_LIBRARIES = ("linked", "preloaded", "none")
_LAUNCHERS = (*LAUNCHERS, NONE)


@dataclasses.dataclass
class App:
    """One program of a job, with its processes and arguments."""

    program: str
    processes: int = 1
    arguments: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Job:
    """One job, all columns chosen. The fields are those of the table."""

    name: str
    apps: list[App]
    library: str = "linked"
    substrate: str = "none"
    nodes: int = 1
    launcher: str = "mpirun"
    transport: str = AUTO
    launch: list[str] = dataclasses.field(default_factory=list)
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    tools: list[str] = dataclasses.field(default_factory=list)
    tools_after: list[str] = dataclasses.field(default_factory=list)
    cluster: list[str] = dataclasses.field(default_factory=list)
    timeout: float = 30
    exit: int | str = 0
    interrupts: bool = False
    may_fail: str = ""
    passes: int | str = "all"
    output: list[str] = dataclasses.field(default_factory=list)
    forbidden: list[str] = dataclasses.field(default_factory=list)
    serial: bool = False
    long: bool = False

    @property
    def processes(self) -> int:
        return sum(app.processes for app in self.apps)

    @property
    def variables(self) -> dict[str, str]:
        """Variables for the environment of all processes."""
        return {**TRANSPORTS[self.transport], **self.environment}

    @property
    def can_fail(self) -> bool:
        """True if the job must or may fail; it may then leave shared memory."""
        return self.exit != 0 or bool(self.may_fail)

    @property
    def leaves_files(self) -> bool:
        """True if /dev/shm may temporarily have files of this job that no process uses."""
        return self.can_fail or self.interrupts

    @property
    def expected_passes(self) -> int:
        return self.processes if self.passes == "all" else int(self.passes)


class BadTable(Exception):
    """The table is wrong; the text names the job and the error."""


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _fill_in(value: Any, words: dict[str, Any]) -> Any:
    """Replace {word} in texts, also inside lists and tables; leave other braces unchanged."""
    if isinstance(value, str):
        for word, replacement in words.items():
            value = value.replace("{" + word + "}", str(replacement))
        return value
    if isinstance(value, list):
        return [_fill_in(item, words) for item in value]
    if isinstance(value, dict):
        return {key: _fill_in(item, words) for key, item in value.items()}
    return value


def _own_start(substrate: str) -> str:
    launcher = LAUNCHERS.get(OWN_LAUNCHER.get(substrate, NONE))
    return shlex.join(launcher.start()) if launcher else ""


def _make(row: dict[str, Any], columns: dict[str, Any], words: dict[str, Any]) -> Job:
    row = dict(row)
    apps = row.pop("apps", None)
    program, arguments = row.pop("program", ""), row.pop("arguments", [])
    if apps is None:
        apps = [{"program": program, "processes": columns["processes"], "arguments": arguments}]
    elif arguments or program:
        raise BadTable("a job has either apps or a program with arguments")
    scenario = [word for word in apps[0].get("arguments", [])[:1] if word.isidentifier()]
    stem = row.pop("name", None) or ".".join([apps[0]["program"], *scenario])
    fields = {key: value for key, value in columns.items() if key != "processes"}
    job = Job(name="", apps=[App(**app) for app in apps], **fields, **row)
    words = dict(
        words,
        processes=job.processes,
        nodes=job.nodes,
        library=job.library,
        substrate=job.substrate,
        launcher=job.launcher,
        transport=job.transport,
        start=_own_start(job.substrate),
    )
    for app in job.apps:
        app.program, app.arguments = _fill_in(app.program, words), _fill_in(app.arguments, words)
    for field in ("output", "forbidden", "environment"):
        setattr(job, field, _fill_in(getattr(job, field), words))
    substrate = f"{job.substrate}." if job.substrate != "none" else ""
    job.name = f"{stem}.{substrate}{job.library}.p{job.processes}" + (
        f".n{job.nodes}" if job.nodes > 1 else ""
    )
    job.name += f".{job.launcher}" if job.launcher != OWN_LAUNCHER.get(job.substrate) else ""
    job.name += f".{job.transport}" if job.transport != AUTO else ""
    return job


def _check(job: Job) -> None:
    if job.library not in _LIBRARIES:
        raise BadTable(f"library is one of {', '.join(_LIBRARIES)}, not {job.library}")
    if job.substrate not in OWN_LAUNCHER:
        raise BadTable(f"substrate is one of {', '.join(OWN_LAUNCHER)}, not {job.substrate}")
    if job.substrate == "none" and job.library != "none":
        raise BadTable(f"substrate none: library {job.library} needs a substrate; use none")
    if job.launcher not in _LAUNCHERS:
        raise BadTable(f"launcher is one of {', '.join(_LAUNCHERS)}, not {job.launcher}")
    if job.transport not in TRANSPORTS:
        raise BadTable(f"transport is one of {', '.join(TRANSPORTS)}, not {job.transport}")
    if job.launcher == NONE and (job.processes != 1 or job.nodes != 1):
        raise BadTable("without a launcher there is one process on one node")
    if job.launcher != NONE and (unknown := set(job.launch) - set(LAUNCHERS[job.launcher].words)):
        raise BadTable(f"launch has no word {', '.join(sorted(unknown))}")
    if not all(app.program for app in job.apps):
        raise BadTable("no program; set program or apps")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def substrates_from(text: str) -> dict[str, Any]:
    """Return the words "substrates" and "versions" of "openmpi@4.1.4;mpich"."""
    named = [entry.partition("@") for entry in text.split(";")]
    return {
        "substrates": [name for name, _, _ in named],
        "versions": {name: version for name, _, version in named if version},
    }


def _is_before(limit: str, substrate: str, versions: dict[str, str]) -> bool:
    """True unless the substrate is the one of the limit, in this version or a later one."""
    name, least = limit.split()
    return name != substrate or _numbers(versions.get(name, "0")) < _numbers(least)


def _all_combinations(
    given: dict[str, list[Any]], needs_world: bool, built: list[str]
) -> Iterator[dict[str, Any]]:
    for library in given.get("library", ["linked"]):
        for substrate in given.get("substrate", ["none"] if library == "none" else built):
            if substrate in OWN_LAUNCHER and substrate not in ("none", *built):
                continue
            rest = itertools.product(
                given.get("processes", [1]),
                given.get("nodes", [1]),
                given.get("launcher", [OWN_LAUNCHER.get(substrate, NONE)]),
                given.get("transport", [AUTO]),
            )
            for processes, nodes, *others in rest:
                if needs_world and nodes > 1 and substrate in WORLD_FAILS_OVER_NODES:
                    continue
                yield dict(zip(_COLUMNS, (library, substrate, processes, nodes, *others)))


def _first_in_turn(
    combinations: list[dict[str, Any]], given: dict[str, list[Any]], name: str
) -> list[dict[str, Any]]:
    """Keep one of the combinations that differ only in the substrate.

    Neighbouring combinations get different substrates, as on a chequerboard, so that each entry of
    a column is tested over all substrates.
    """
    others = {column: entries for column, entries in given.items() if column != "substrate"}
    alike: dict[tuple[int, ...], list[dict[str, Any]]] = {}
    for choice in combinations:
        alike.setdefault(
            tuple(entries.index(choice[column]) for column, entries in others.items()), []
        ).append(choice)
    first = zlib.crc32(name.encode())
    return [choices[(first + sum(places)) % len(choices)] for places, choices in alike.items()]


def _combinations(
    row: dict[str, Any], built: list[str], versions: dict[str, str]
) -> list[tuple[dict[str, Any], bool]]:
    """Return the row's combinations that run, each with whether it is a long test.

    The columns are removed from the row.
    """
    needs_world, alternate_substrates = row.pop("world", False), row.pop(
        "alternate_substrates", False
    )
    is_long = row.pop("long", False)
    limit = row.pop("mpi_before", "")
    given = {column: _as_list(row.pop(column)) for column in _COLUMNS if column in row}
    combinations = [
        choice
        for choice in _all_combinations(given, needs_world, built)
        if not limit or _is_before(limit, choice["substrate"], versions)
    ]
    name = str(row.get("name") or row.get("program"))
    short = _first_in_turn(combinations, given, name) if alternate_substrates else combinations
    return [(choice, is_long or choice not in short) for choice in combinations]


def expand(row: dict[str, Any], words: dict[str, Any]) -> list[Job]:
    """Return all jobs of one row. words has those of substrates_from()."""
    row = dict(row)
    try:
        combinations = _combinations(row, words["substrates"], words.get("versions", {}))
        made = [
            _make({**row, "long": is_long}, columns, words) for columns, is_long in combinations
        ]
        for job in made:
            _check(job)
    except (TypeError, KeyError, BadTable) as error:
        raise BadTable(f"job {row.get('name') or row.get('program')}: {error}") from error
    return made


def load(path: pathlib.Path, words: dict[str, Any] | None = None) -> list[Job]:
    """Return all jobs of a file, in order.

    Raise BadTable if the file is wrong, or two jobs have the same name.
    """
    table = toml_file.load(path)
    if unknown := set(table) - {"job"}:
        raise BadTable(f"{path}: only [[job]] tables belong here, not {', '.join(sorted(unknown))}")
    found = [job for row in table.get("job", []) for job in expand(row, words or {})]
    names = [job.name for job in found]
    for name in names:
        if names.count(name) > 1:
            raise BadTable(f"{path}: two jobs are called {name}")
    return found
