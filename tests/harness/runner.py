# SPDX-License-Identifier: BSD-3-Clause
"""Runs one job until its end or time-out, and checks its output, exit code and leftovers."""
import contextlib
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from typing import Iterator

import kernel
import processes
import shared_memory
from commands import BuildDirs, command_of, environment_of, missing_launcher, next_job_of
from jobs import Job
from launchers import LAUNCHERS

SKIP = 77


def _say(text: str) -> None:
    print(text, flush=True)


@contextlib.contextmanager
def _started(job: Job, dirs: BuildDirs, mark: str) -> Iterator[subprocess.Popen]:
    """Start the job as a child process; at the end, kill all its processes and delete its files."""
    scratch = tempfile.mkdtemp(prefix="intersession-job.")
    try:
        yield subprocess.Popen(
            command_of(job, dirs),
            env=environment_of(job, dirs, mark, scratch),
            start_new_session=True,
            stdin=subprocess.PIPE,  # never ends: docs/decisions/0023-pmi1-under-hydra.md
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=kernel.die_with_parent,
        )
    finally:
        processes.kill(mark)
        shutil.rmtree(scratch, ignore_errors=True)


def _follow(child: subprocess.Popen, seconds: float) -> tuple[str, bool]:
    """Print the output as it arrives. Return all of it, and True if the child ended in time."""
    output, end, is_open = b"", time.monotonic() + seconds, True
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while time.monotonic() < end and (is_open or child.poll() is None):
            ready = selector.select(0.05) if is_open else time.sleep(0.01)
            if ready:
                chunk = os.read(child.stdout.fileno(), 65536)
                is_open = bool(chunk)
                output += chunk
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
                if not is_open:
                    selector.unregister(child.stdout)
            elif child.poll() is not None:
                break  # a remaining process may hold the pipe open; it is reported later
    return output.decode(errors="replace"), child.poll() is not None


def _untangled(output: str) -> str:
    """Return the output with each "test passed" on a line of its own.

    MPICH makes standard output unbuffered, so puts() writes text and line break separately, and
    other output may come between.
    """
    return re.sub(r"(test passed)(?=.)", r"\1\n", re.sub(r"(?<=.)(test passed)", r"\n\1", output))


def _expected_exits(job: Job) -> tuple[int, ...]:
    has_deaths = "continue_after_death" in job.launch and job.launcher in LAUNCHERS
    return (
        LAUNCHERS[job.launcher].exits_after_deaths
        if job.exit == 0 and has_deaths
        else (int(job.exit),)
    )


def _complaints(job: Job, code: int, output: str) -> list[str]:
    """Return one line for each error in the exit code and the output of the job."""
    if job.may_fail and code != 0 and re.search(job.may_fail, output, re.MULTILINE):
        return []
    wrong = []
    if job.exit == "nonzero" and code == 0:
        wrong.append("exit code 0 where an error was expected")
    elif job.exit != "nonzero" and code not in _expected_exits(job):
        wrong.append(f"exit code {code}, expected {job.exit}")
    passes = len(re.findall(r"^test passed$", output, re.MULTILINE))
    if passes != job.expected_passes:
        wrong.append(f"{passes} processes printed 'test passed', expected {job.expected_passes}")
    wrong += [
        f"not in the output: {wanted}"
        for wanted in job.output
        if not re.search(wanted, output, re.MULTILINE)
    ]
    wrong += [
        f"must not be in the output: {bad}"
        for bad in job.forbidden
        if re.search(bad, output, re.MULTILINE)
    ]
    return wrong


def _run_next_job(dirs: BuildDirs, left: list[str]) -> list[str]:
    """Start the job that must remove these files, and return what went wrong."""
    command = next_job_of(dirs)
    if not command:
        return [f"this build has no program whose start removes {', '.join(left)}"]
    _say("run-job: the next job must remove " + ", ".join(left))
    try:
        done = subprocess.run(command, timeout=60, check=False, stdout=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return ["the next job still runs after 60 s"]
    return [f"the next job ended with exit code {done.returncode}"] if done.returncode != 0 else []


def is_of_mpirun(description: str) -> bool:
    """True for a process of Open MPI's launcher, or one that starts such processes.

    The description is that of processes.describe(); its command is empty while the process exits.
    """
    command = (
        r"(\S*/)?(mpirun\S*|prterun|orted|prted|\S*sh -c +(orted|prted)"
        r"|\S*python\S* \S*/cluster/cluster)"
    )
    return re.match(rf"[0-9]+: *({command}( |$)|$)", description) is not None


def _only_mpirun_is_left(job: Job, mark: str, output: str) -> bool:
    """True if the job is complete and only processes of mpirun remain.

    After the death of a process on one of several nodes, mpirun of Open MPI 4.1 may not end, with
    or without Intersession (docs/user/survivors.md).
    """
    if job.launcher != "mpirun" or "continue_after_death" not in job.launch or job.nodes == 1:
        return False
    return not _complaints(job, 0, _untangled(output)) and all(
        is_of_mpirun(processes.describe(pid)) for pid in processes.find(mark)
    )


def run(job: Job, dirs: BuildDirs) -> int:
    """Run the job and print errors. Return 0, 1, or 77 if this machine cannot run the job."""

    def give_up(number: int, _: object) -> None:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, give_up)
    if missing := missing_launcher(job):
        _say(f"skipped: {missing} is not installed")
        return SKIP
    mark = uuid.uuid4().hex
    memory = shared_memory.SharedMemory(
        shared_memory.DIRECTORY, shared_memory.seclude(), job.leaves_files
    )
    _say("run-job: " + " ".join(command_of(job, dirs)))
    with _started(job, dirs, mark) as child:
        output, ended = _follow(child, job.timeout)
        if not ended and _only_mpirun_is_left(job, mark, output):
            _say(
                f"run-job: after {job.timeout:g} s all processes of the job have ended, "
                "but mpirun has not; killing mpirun"
            )
            processes.kill(mark)
            exit_code = 0
        elif not ended:
            _say(
                f"run-job: still running after {job.timeout:g} s; the stacks of all its processes:"
            )
            _say(processes.stacks(mark))
            _say(f"run-job: FAILED: {job.name}: timed out after {job.timeout:g} s")
            return 1
        else:
            exit_code = child.returncode
        # Daemons on other nodes may end a little after the launcher.
        wrong = [
            f"still running: {processes.describe(pid)}"
            for pid in processes.wait_until_gone(mark, min(10, job.timeout))
        ]
    if job.can_fail and (left := memory.left_behind()):
        wrong += _run_next_job(dirs, left)
    wrong += [f"left behind: {path}" for path in memory.left_behind()]
    if exit_code == SKIP and not wrong and re.search(r"skipped: \S", output):
        return SKIP
    wrong += _complaints(job, exit_code, _untangled(output))
    for what in wrong:
        _say(f"run-job: FAILED: {job.name}: {what}")
    return 1 if wrong else 0
