# SPDX-License-Identifier: BSD-3-Clause
"""Makes the command line and the environment of a job."""
import dataclasses
import os
import pathlib

from jobs import App, Job
from launchers import LAUNCHERS, NONE, OWN_LAUNCHER
from processes import MARK
from transports import NODE_OPTIONS

_TESTS = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class BuildDirs:
    """The build folder, and the folder in it with the programs of the table."""

    build: pathlib.Path
    programs: pathlib.Path

    def library(self, job: Job) -> str:
        return str(self.build / "lib" / f"libintersession-{job.substrate}.so")

    def _of_substrate(self, job: Job) -> pathlib.Path:
        return self.programs if job.substrate == "none" else self.programs / job.substrate

    def program(self, app: App, job: Job) -> str:
        """Return the path of a program; it is built for each substrate and `library`."""
        return (
            app.program
            if "/" in app.program
            else str(self._of_substrate(job) / job.library / app.program)
        )

    def tool(self, name: str, job: Job) -> str:
        return name if "/" in name else str(self._of_substrate(job) / f"lib{name}.so")


def _program_words(job: Job, app: App, dirs: BuildDirs) -> list[str]:
    return [dirs.program(app, job), *app.arguments]


def _preloads(job: Job, dirs: BuildDirs) -> list[str]:
    """Return the libraries to preload, in the order of symbol lookup."""
    ours = [dirs.library(job)] if job.library == "preloaded" else []
    return (
        [dirs.tool(name, job) for name in job.tools]
        + ours
        + [dirs.tool(name, job) for name in job.tools_after]
    )


def _launched(job: Job, dirs: BuildDirs) -> list[str]:
    launcher = LAUNCHERS[job.launcher]
    program, preloads = launcher.program, _preloads(job, dirs)
    if (
        job.library == "preloaded"
        and launcher.preloading
        and OWN_LAUNCHER[job.substrate] == job.launcher
    ):
        program = str(dirs.build / "bin" / launcher.preloading)
        preloads.remove(dirs.library(job))
    variables = {**job.variables, **({"LD_PRELOAD": ":".join(preloads)} if preloads else {})}
    # Options for all applications; the launcher needs them once per application.
    common = [word for name, value in variables.items() for word in launcher.variable(name, value)]
    command = [
        program,
        *launcher.options,
        *(option for word in job.launch for option in launcher.words[word]),
    ]
    for number, app in enumerate(job.apps):
        command += [":"] if number else []
        command += [*common, "-n", str(app.processes), *_program_words(job, app, dirs)]
    return command


def missing_launcher(job: Job) -> str:
    """Return the first program that the launcher needs and this machine lacks, or an empty text."""
    return "" if job.launcher == NONE else LAUNCHERS[job.launcher].missing()


def command_of(job: Job, dirs: BuildDirs) -> list[str]:
    """Return the command that runs a job."""
    words = _program_words(job, job.apps[0], dirs) if job.launcher == NONE else _launched(job, dirs)
    if job.nodes > 1 or job.cluster or (job.launcher != NONE and LAUNCHERS[job.launcher].in_nodes):
        # Files of a failed job vanish with the file systems of the nodes.
        clean = [] if job.can_fail else ["--expect-clean", "intersession*"]
        words = [
            str(_TESTS / "cluster" / "cluster"),
            "--nodes",
            str(job.nodes),
            *clean,
            *NODE_OPTIONS.get(job.transport, []),
            *job.cluster,
            "--",
            *words,
        ]
    return words


def next_job_of(dirs: BuildDirs) -> list[str]:
    """Return the command of a short job that must remove the files of a failed job before it.

    Empty if the build has no program for it.
    """
    return [
        str(program)
        for program in sorted((dirs.build / "tests" / "mpi").glob("*/linked/hello"))[:1]
    ]


def environment_of(job: Job, dirs: BuildDirs, mark: str, scratch: str) -> dict[str, str]:
    """Return the environment of the launcher, or of the process if there is no launcher.

    Variables for applications are options of the launcher.
    """
    environment = dict(os.environ)
    environment.update({MARK: mark, "TMPDIR": scratch})
    if job.launcher == NONE:
        environment.update(job.variables)
        if preloads := _preloads(job, dirs):
            environment["LD_PRELOAD"] = ":".join(preloads)
    else:
        environment.update(LAUNCHERS[job.launcher].environment)
    return environment
