# SPDX-License-Identifier: BSD-3-Clause
"""The test matrix as data: tables of jobs (TOML), expanded to single jobs, one per combination of their columns.

A table [[job]] describes what runs and what must come out. Columns that take a list give one job per entry:

    substrate  the MPI below: "openmpi", "mpich", or "none" for programs that have none; one that the build lacks is
               left out; default all, and "none" where library is
    processes  how many; default 1
    library    how Intersession gets in: "linked", "preloaded", or "none" (the MPI below alone); default "linked"
    nodes      1 is this machine under its own mpirun, more are simulated (tests/cluster); default 1
    launcher   "mpirun" (Open MPI's), "hydra" (MPICH's mpiexec), "slurm_pmi2" or "slurm_pmix" (srun of a Slurm that the job
               starts, tests/slurm; one application, and the nodes are simulated) or "none" (started directly);
               default the substrate's own
    transport  how the messages of sessions go, a row of transports.py; default "auto"

The other keys hold for all of them:

    program      a program of the same folder, or a path if it has a slash; {build} and {source} are replaced
    name         default: the program, and its first argument if that is a word (the scenario)
    arguments    list of texts; {processes}, {nodes}, {substrate}, {library}, {launcher}, {build}, {programs} and {source} are
                 replaced, here and in patterns; {start} is the command of the substrate's own launcher
    apps         instead of processes and arguments, several programs in one job: [{processes, program, arguments}, ...]
    launch       list of words for what is asked of the launcher: "round_the_nodes" (rank 1 is on the second node),
                 "survivors_go_on" (a process that dies does not end the job), "over_a_port" (hydra alone: PMI_PORT, not PMI_FD)
    environment  table; variables for all processes
    tools        libraries to preload in front of Intersession (targets of the build)
    behind       libraries to preload behind it, in front of the MPI (targets of the build)
    cluster      further options for tests/cluster, e.g. ["--shm", "1m"]
    timeout      seconds, default 30
    exit         expected exit code of the launcher, a number or "nonzero"; default 0. A job that is expected to end badly
                 may leave shared memory that the next job removes
    interrupts   true: the job kills processes of jobs that it starts itself, whose shared memory stays until the last
                 of these jobs. If jobs share a /dev/shm, no other job that leaves shared memory runs meanwhile
    may_end      regular expression: where it is found in the output, the job has ended badly as it may, and nothing else is asked
    passes       how many processes must print "test passed": a number or "all" (the default)
    output       regular expressions that must be found in the output (^ and $ match at lines)
    forbidden    regular expressions that must not
    serial       true: never beside other tests
    in_turn      true: each combination of the other columns runs over one substrate, neighbours over different ones, and the first over
                 one that the name picks. For what lies below all MPIs (lines, providers, room for messages), and where each entry of a
                 column still meets each MPI
    world        true: the program uses the world model, so the job is left out over several nodes of a substrate whose own
                 world fails there
"""
import dataclasses
import itertools
import pathlib
import shlex
import tomllib
import zlib
from typing import Any, Iterator

from launchers import LAUNCHERS, NONE, OWN_LAUNCHER, WORLD_FAILS_OVER_NODES
from transports import AUTO, TRANSPORTS

_COLUMNS = ("library", "substrate", "processes", "nodes", "launcher", "transport")
_LIBRARIES = ("linked", "preloaded", "none")
_LAUNCHERS = (*LAUNCHERS, NONE)


@dataclasses.dataclass
class App:
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
    behind: list[str] = dataclasses.field(default_factory=list)
    cluster: list[str] = dataclasses.field(default_factory=list)
    timeout: float = 30
    exit: int | str = 0
    interrupts: bool = False
    may_end: str = ""
    passes: int | str = "all"
    output: list[str] = dataclasses.field(default_factory=list)
    forbidden: list[str] = dataclasses.field(default_factory=list)
    serial: bool = False

    @property
    def processes(self) -> int:
        return sum(app.processes for app in self.apps)

    @property
    def variables(self) -> dict[str, str]:
        """What all processes get in their environment."""
        return {**TRANSPORTS[self.transport], **self.environment}

    @property
    def ends_badly(self) -> bool:
        return self.exit != 0 or bool(self.may_end)

    @property
    def leaves_files(self) -> bool:
        """True if /dev/shm may hold files of this job that no process uses, for a part of its time."""
        return self.ends_badly or self.interrupts

    @property
    def expected_passes(self) -> int:
        return self.processes if self.passes == "all" else int(self.passes)


class BadTable(Exception):
    """The table is wrong; the text says which job and what."""


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _fill_in(value: Any, words: dict[str, Any]) -> Any:
    """Replaces {word} in texts, also inside lists and tables; other braces stay as they are."""
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
    words = dict(words, processes=job.processes, nodes=job.nodes, library=job.library, substrate=job.substrate,
                 launcher=job.launcher, transport=job.transport, start=_own_start(job.substrate))
    for app in job.apps:
        app.program, app.arguments = _fill_in(app.program, words), _fill_in(app.arguments, words)
    for field in ("output", "forbidden", "environment"):
        setattr(job, field, _fill_in(getattr(job, field), words))
    substrate = f"{job.substrate}." if job.substrate != "none" else ""
    job.name = f"{stem}.{substrate}{job.library}.p{job.processes}" + (f".n{job.nodes}" if job.nodes > 1 else "")
    job.name += f".{job.launcher}" if job.launcher != OWN_LAUNCHER.get(job.substrate) else ""
    job.name += f".{job.transport}" if job.transport != AUTO else ""
    return job


def _check(job: Job) -> None:
    if job.library not in _LIBRARIES:
        raise BadTable(f"library is one of {', '.join(_LIBRARIES)}, not {job.library}")
    if job.substrate not in OWN_LAUNCHER:
        raise BadTable(f"substrate is one of {', '.join(OWN_LAUNCHER)}, not {job.substrate}")
    if job.substrate == "none" and job.library != "none":
        raise BadTable("without a substrate there is no library of ours")
    if job.launcher not in _LAUNCHERS:
        raise BadTable(f"launcher is one of {', '.join(_LAUNCHERS)}, not {job.launcher}")
    if job.transport not in TRANSPORTS:
        raise BadTable(f"transport is one of {', '.join(TRANSPORTS)}, not {job.transport}")
    if job.launcher == NONE and (job.processes != 1 or job.nodes != 1):
        raise BadTable("without a launcher there is one process on one node")
    if job.launcher != NONE and (unknown := set(job.launch) - set(LAUNCHERS[job.launcher].words)):
        raise BadTable(f"launch has no word {', '.join(sorted(unknown))}")
    if not all(app.program for app in job.apps):
        raise BadTable("no program is named")


def _all_combinations(given: dict[str, list[Any]], needs_world: bool, built: list[str]) -> Iterator[dict[str, Any]]:
    for library in given.get("library", ["linked"]):
        for substrate in given.get("substrate", ["none"] if library == "none" else built):
            if substrate in OWN_LAUNCHER and substrate not in ("none", *built):
                continue
            rest = itertools.product(given.get("processes", [1]), given.get("nodes", [1]),
                                     given.get("launcher", [OWN_LAUNCHER.get(substrate, NONE)]), given.get("transport", [AUTO]))
            for processes, nodes, *others in rest:
                if needs_world and nodes > 1 and substrate in WORLD_FAILS_OVER_NODES:
                    continue
                yield dict(zip(_COLUMNS, (library, substrate, processes, nodes, *others)))


def _in_turn(combinations: list[dict[str, Any]], given: dict[str, list[Any]], name: str) -> list[dict[str, Any]]:
    """Of those combinations that are alike but for the MPI below, one: as on a chequerboard, so that each entry of a column meets all MPIs."""
    others = {column: entries for column, entries in given.items() if column != "substrate"}
    alike: dict[tuple[int, ...], list[dict[str, Any]]] = {}
    for choice in combinations:
        alike.setdefault(tuple(entries.index(choice[column]) for column, entries in others.items()), []).append(choice)
    first = zlib.crc32(name.encode())
    return [choices[(first + sum(places)) % len(choices)] for places, choices in alike.items()]


def _combinations(row: dict[str, Any], built: list[str]) -> list[dict[str, Any]]:
    """The combinations that run of the row's columns, which are taken out of it."""
    needs_world, goes_round = row.pop("world", False), row.pop("in_turn", False)
    given = {column: _as_list(row.pop(column)) for column in _COLUMNS if column in row}
    combinations = list(_all_combinations(given, needs_world, built))
    return _in_turn(combinations, given, str(row.get("name") or row.get("program"))) if goes_round else combinations


def expand(row: dict[str, Any], words: dict[str, Any]) -> list[Job]:
    """All jobs of one table. words["substrates"]: those that the build has."""
    row = dict(row)
    try:
        made = [_make(row, columns, words) for columns in _combinations(row, words["substrates"])]
        for job in made:
            _check(job)
    except (TypeError, KeyError, BadTable) as error:
        raise BadTable(f"job {row.get('name') or row.get('program')}: {error}") from error
    return made


def load(path: pathlib.Path, words: dict[str, Any] | None = None) -> list[Job]:
    """All jobs of a file, in its order. Raises BadTable where the file is wrong, or two jobs have one name."""
    with open(path, "rb") as source:
        table = tomllib.load(source)
    if unknown := set(table) - {"job"}:
        raise BadTable(f"{path}: only [[job]] tables belong here, not {', '.join(sorted(unknown))}")
    found = [job for row in table.get("job", []) for job in expand(row, words or {})]
    names = [job.name for job in found]
    for name in names:
        if names.count(name) > 1:
            raise BadTable(f"{path}: two jobs are called {name}")
    return found
