# SPDX-License-Identifier: BSD-3-Clause
"""The matrix in CTest's own language, for CMake to include."""
import os
import pathlib

from commands import Place
from jobs import Job

# Time for the stacks of all processes, beyond the job's own time-out.
_GRACE_SECONDS = 120


def _quote(word: object) -> str:
    """A CMake bracket argument: nothing inside is interpreted."""
    return f"[==[{word}]==]"


def commands_for(matrix: list[Job], prefix: str, table: pathlib.Path, place: Place, run_job: str) -> str:
    cores = os.cpu_count() or 1
    lines = []
    for job in matrix:
        name = _quote(f"{prefix}{job.name}")
        command = [run_job, "--table", table, "--programs", place.programs, "--build", place.build, job.name]
        lines.append(f"add_test({name} {' '.join(_quote(word) for word in command)})")
        lines.append(f"set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77 LABELS mpi "
                     f"TIMEOUT {job.timeout + _GRACE_SECONDS:g} PROCESSORS {min(job.processes, cores)}"
                     f"{' RUN_SERIAL TRUE' if job.serial else ''})")
    return "\n".join(lines)
