# SPDX-License-Identifier: BSD-3-Clause
"""From a job of the matrix to the command line and environment that run it."""
import dataclasses
import os
import pathlib

from jobs import App, Job
from launchers import LAUNCHERS, NONE, OWN_LAUNCHER
from processes import MARK
from transports import NODE_OPTIONS

_TESTS = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Place:
    """Where things are: the build, and the folder of the table's programs in it."""
    build: pathlib.Path
    programs: pathlib.Path

    def library(self, job: Job) -> str:
        return str(self.build / "lib" / f"libintersession-{job.substrate}.so")

    def _of_substrate(self, job: Job) -> pathlib.Path:
        return self.programs if job.substrate == "none" else self.programs / job.substrate

    def program(self, app: App, job: Job) -> str:
        """Programs are built once per substrate and way to use the library."""
        return app.program if "/" in app.program else str(self._of_substrate(job) / job.library / app.program)

    def tool(self, name: str, job: Job) -> str:
        return name if "/" in name else str(self._of_substrate(job) / f"lib{name}.so")


def _program_words(job: Job, app: App, place: Place) -> list[str]:
    return [place.program(app, job), *app.arguments]


def _preloads(job: Job, place: Place) -> list[str]:
    """In the order in which they see a call."""
    ours = [place.library(job)] if job.library == "preloaded" else []
    return [place.tool(name, job) for name in job.tools] + ours + [place.tool(name, job) for name in job.behind]


def _launched(job: Job, place: Place) -> list[str]:
    launcher = LAUNCHERS[job.launcher]
    program, preloads = launcher.program, _preloads(job, place)
    if job.library == "preloaded" and launcher.preloading and OWN_LAUNCHER[job.substrate] == job.launcher:
        program = str(place.build / "bin" / launcher.preloading)
        preloads.remove(place.library(job))
    variables = {**job.variables, **({"LD_PRELOAD": ":".join(preloads)} if preloads else {})}
    # What every application of the job gets; the launcher takes these once per application.
    common = [word for name, value in variables.items() for word in launcher.variable(name, value)]
    command = [program, *launcher.options, *(option for word in job.launch for option in launcher.words[word])]
    for number, app in enumerate(job.apps):
        command += [":"] if number else []
        command += [*common, "-n", str(app.processes), *_program_words(job, app, place)]
    return command


def missing_launcher(job: Job) -> str:
    """The program of the launcher that this machine lacks, else nothing."""
    return "" if job.launcher == NONE else LAUNCHERS[job.launcher].missing()


def command_of(job: Job, place: Place) -> list[str]:
    words = _program_words(job, job.apps[0], place) if job.launcher == NONE else _launched(job, place)
    if job.nodes > 1 or job.cluster or (job.launcher != NONE and LAUNCHERS[job.launcher].in_nodes):
        # What a job leaves that ends badly goes with the nodes' file systems.
        clean = [] if job.ends_badly else ["--expect-clean", "intersession*"]
        words = [str(_TESTS / "cluster" / "cluster"), "--nodes", str(job.nodes), *clean, *NODE_OPTIONS.get(job.transport, []), *job.cluster,
                 "--", *words]
    return words


def next_job_of(place: Place) -> list[str]:
    """The next job on the machine, in its shortest form: it must remove what a job that ended badly has left. Empty if the build
    has no program for it."""
    return [str(program) for program in sorted((place.build / "tests" / "mpi").glob("*/linked/hello"))[:1]]


def environment_of(job: Job, place: Place, mark: str, scratch: str) -> dict[str, str]:
    """The launcher's environment. What the applications get goes through the launcher where there is one."""
    environment = dict(os.environ)
    environment.update({MARK: mark, "TMPDIR": scratch})
    if job.launcher == NONE:
        environment.update(job.variables)
        if preloads := _preloads(job, place):
            environment["LD_PRELOAD"] = ":".join(preloads)
    else:
        environment.update(LAUNCHERS[job.launcher].environment)
    return environment
