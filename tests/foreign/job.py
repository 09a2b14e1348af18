# SPDX-License-Identifier: BSD-3-Clause
"""Runs one test under the launcher of the MPI and evaluates it by the rules of the suite.

Kills remaining processes and removes remaining files in /dev/shm.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
import uuid
from typing import Iterator

import processes
import shared_memory
from launchers import LAUNCHERS, OWN_LAUNCHER

_SHARED_MEMORY = pathlib.Path(shared_memory.DIRECTORY)
# Names of shared memory of the MPI libraries and of Intersession.
_NAMES = re.compile(r"vader_segment|mpich_shar_tmp|ucx_shm|intersession|psm2_shm|osc_rdma")
_KEPT_BYTES = 1 << 20

PASS, FAIL, TIMEOUT = "pass", "fail", "time-out"
NOT_COMPILED, NOT_RUNNABLE = "does not compile", "not runnable"


@dataclasses.dataclass(frozen=True)
class Job:
    """The parameters of one run of a program."""

    name: str
    program: str
    processes: int
    arguments: tuple[str, ...]
    variables: dict[str, str]
    mpi: str
    limit: float
    verdict: str
    ignored: tuple[str, ...] = ()
    stacks: bool = False
    prefix: tuple[str, ...] = ()  # a command that runs the launcher, for example in other nodes


@dataclasses.dataclass(frozen=True)
class Outcome:
    result: str
    detail: str = ""
    seconds: float = 0.0


def _mapped() -> set[str]:
    """Return the files of /dev/shm that a process has mapped."""
    found = set()
    for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            found.update(
                re.findall(
                    rf"{_SHARED_MEMORY}/\S+", maps.read_text(encoding="utf-8", errors="replace")
                )
            )
    return found


def clean_shared_memory(since: float) -> None:
    """Remove files that jobs have left: unmapped files of this user, with known names, made since.

    Must not be called while a job runs, which may be about to map a file.
    """
    left = [path for path in _SHARED_MEMORY.iterdir() if _NAMES.match(path.name)]
    in_use = _mapped() if left else set()
    for path in left:
        with contextlib.suppress(OSError):
            status = path.stat()
            if (
                status.st_uid == os.geteuid()
                and status.st_mtime >= since
                and str(path) not in in_use
            ):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


_giving_up = threading.Event()


def give_up() -> None:
    """Stop the running jobs, from another thread."""
    _giving_up.set()


def _wait(child: subprocess.Popen, seconds: float) -> int | None:
    """Return the exit code, or None if the child has not ended in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not _giving_up.is_set():
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(min(1.0, max(0.0, end - time.monotonic())))
    return None


def _command(job: Job) -> list[str]:
    launcher = LAUNCHERS[OWN_LAUNCHER[job.mpi]]
    variables = [
        word for name, value in job.variables.items() for word in launcher.variable(name, value)
    ]
    # The kernel kills the launcher when this process ends; its processes end with it.
    return [
        "setpriv",
        "--pdeathsig",
        "KILL",
        *job.prefix,
        *launcher.start(),
        *variables,
        "-n",
        str(job.processes),
        job.program,
        *job.arguments,
    ]


@contextlib.contextmanager
def _started(job: Job, mark: str) -> Iterator[tuple[subprocess.Popen, pathlib.Path]]:
    """Start a job and yield it with its output file; at the end, kill all its processes."""
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="intersession-foreign."))
    environment = {**os.environ, processes.MARK: mark, "TMPDIR": str(scratch)}
    try:
        with (scratch / "output").open("wb") as output:
            yield subprocess.Popen(
                _command(job),
                env=environment,
                cwd=scratch,
                start_new_session=True,
                stdin=subprocess.PIPE,  # never ends: docs/decisions/0023-pmi1-under-hydra.md
                stdout=output,
                stderr=subprocess.STDOUT,
            ), scratch / "output"
    finally:
        processes.kill(mark)
        shutil.rmtree(scratch, ignore_errors=True)


def _lines(path: pathlib.Path, ignored: tuple[str, ...]) -> list[str]:
    text = path.read_bytes()[-_KEPT_BYTES:].decode(errors="replace")
    return [
        line
        for line in text.splitlines()
        if line.strip() and not any(re.search(bad, line) for bad in ignored)
    ]


def _is_good_news(line: str) -> bool:
    return bool(re.fullmatch(r"\s*(No [Ee]rrors|Test (Passed|Skipped))\s*", line))


def judge(verdict: str, code: int, lines: list[str]) -> Outcome:
    """Return the result by the suite's rules: any output besides " No Errors" is an error."""
    text = "\n".join(lines)
    if verdict in ("TestStatus", "TestErrFatal"):
        return (
            Outcome(PASS)
            if code != 0
            else Outcome(FAIL, "exit code 0 where an error was expected\n" + text)
        )
    must_fail = verdict == "TestStatusNoErrors"
    if any(re.fullmatch(r"\s*Test Skipped\s*", line) for line in lines):
        return Outcome(NOT_RUNNABLE, "the test itself reports that it cannot run")
    complaints = [line for line in lines if not _is_good_news(line)]
    if complaints:
        return Outcome(FAIL, f"exit code {code}\n" + "\n".join(complaints[:40]))
    if not any(re.fullmatch(r"\s*No [Ee]rrors\s*", line) for line in lines):
        return Outcome(FAIL, f'exit code {code}, and no "No Errors"')
    if (code != 0) != must_fail:
        return Outcome(FAIL, f"exit code {code}")
    return Outcome(PASS)


@dataclasses.dataclass(frozen=True)
class Ended:
    """The end of a job. `code` is None if the job was killed at its limit."""

    code: int | None
    lines: list[str]
    seconds: float
    stacks: str = ""


def run_to_end(job: Job) -> Ended:
    """Run the job to its end or its limit."""
    mark, clock = uuid.uuid4().hex, time.monotonic()
    with _started(job, mark) as (child, output):
        code, stacks = _wait(child, job.limit), ""
        if code is not None:
            processes.wait_until_gone(mark, 5)
        elif job.stacks:
            stacks = processes.stacks(mark)
        lines = _lines(output, job.ignored)
    return Ended(code, lines, round(time.monotonic() - clock, 2), stacks)


def run(job: Job) -> Outcome:
    """Run the job and judge it by the suite's rules."""
    ended = run_to_end(job)
    if ended.code is None:
        outcome = Outcome(
            TIMEOUT, "\n".join([f"after {job.limit:g} s", *ended.lines[:40], ended.stacks])
        )
    else:
        outcome = judge(job.verdict, ended.code, ended.lines)
    return dataclasses.replace(outcome, seconds=ended.seconds)
