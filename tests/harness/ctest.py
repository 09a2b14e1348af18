# SPDX-License-Identifier: BSD-3-Clause
"""Prints the jobs of a table as commands of CTest, for CMake to include."""
import os
import pathlib

from commands import BuildDirs
from jobs import Job

# Time to print the stacks of all processes after the time-out of the job.
_GRACE_SECONDS = 120


def _quote(word: object) -> str:
    """Return a CMake bracket argument, in which nothing is interpreted."""
    return f"[==[{word}]==]"


def commands_for(
    matrix: list[Job], prefix: str, table: pathlib.Path, dirs: BuildDirs, run_job: str
) -> str:
    """Return the CTest commands for all jobs. A label of each is <prefix><table>."""
    cores = os.cpu_count() or 1
    lines = []
    for job in matrix:
        name = _quote(f"{prefix}{job.name}")
        command = [
            run_job,
            "--table",
            table,
            "--programs",
            dirs.programs,
            "--build",
            dirs.build,
            job.name,
        ]
        lines.append(f"add_test({name} {' '.join(_quote(word) for word in command)})")
        lines.append(
            f"set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77 "
            f"LABELS {_quote(f'mpi;{prefix}{table.stem}' + (';long' if job.long else ''))} "
            f"TIMEOUT {job.timeout + _GRACE_SECONDS:g} PROCESSORS {min(job.processes, cores)}"
            f"{' RUN_SERIAL TRUE' if job.serial else ''})"
        )
    return "\n".join(lines)
