# SPDX-License-Identifier: BSD-3-Clause
"""Runs one job: to its end or its time-out, then judges what it printed, how it ended, and what it left behind."""
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
from commands import Place, command_of, environment_of, missing_launcher, next_job_of
from jobs import Job
from launchers import LAUNCHERS

SKIP = 77


def _say(text: str) -> None:
    print(text, flush=True)


@contextlib.contextmanager
def _started(job: Job, place: Place, mark: str) -> Iterator[subprocess.Popen]:
    """The job as a child process; on leaving, whatever happened, nothing of it lives and its scratch folder is gone."""
    scratch = tempfile.mkdtemp(prefix="intersession-job.")
    try:
        yield subprocess.Popen(command_of(job, place), env=environment_of(job, place, mark, scratch), start_new_session=True,
                               stdin=subprocess.PIPE,  # that never ends: see docs/measurements.md on mpiexec.hydra
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=kernel.die_with_parent)
    finally:
        processes.kill(mark)
        shutil.rmtree(scratch, ignore_errors=True)


def _follow(child: subprocess.Popen, seconds: float) -> tuple[str, bool]:
    """Shows the output as it comes; answers all of it, and whether the child ended in time."""
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
                break  # a process that was left behind may hold the pipe open; it is reported as such
    return output.decode(errors="replace"), child.poll() is not None


def _untangled(output: str) -> str:
    """The output with every verdict on a line of its own, whatever came between a process's text and its end of line: MPICH
    takes the buffer of standard output away, and puts() then writes the two by themselves."""
    return re.sub(r"(test passed)(?=.)", r"\1\n", re.sub(r"(?<=.)(test passed)", r"\n\1", output))


def _expected_exits(job: Job) -> tuple[int, ...]:
    has_deaths = "survivors_go_on" in job.launch and job.launcher in LAUNCHERS
    return LAUNCHERS[job.launcher].exits_after_deaths if job.exit == 0 and has_deaths else (int(job.exit),)


def _complaints(job: Job, code: int, output: str) -> list[str]:
    """What is wrong with how the job ended and with what it printed."""
    if job.may_end and code != 0 and re.search(job.may_end, output, re.MULTILINE):
        return []
    wrong = []
    if job.exit == "nonzero" and code == 0:
        wrong.append("exit code 0 where an error was expected")
    elif job.exit != "nonzero" and code not in _expected_exits(job):
        wrong.append(f"exit code {code}, expected {job.exit}")
    passes = len(re.findall(r"^test passed$", output, re.MULTILINE))
    if passes != job.expected_passes:
        wrong.append(f"{passes} processes printed 'test passed', expected {job.expected_passes}")
    wrong += [f"not in the output: {wanted}" for wanted in job.output if not re.search(wanted, output, re.MULTILINE)]
    wrong += [f"must not be in the output: {bad}" for bad in job.forbidden if re.search(bad, output, re.MULTILINE)]
    return wrong


def _run_next_job(place: Place, left: list[str]) -> list[str]:
    """Start the job that must remove these files, and return what went wrong."""
    command = next_job_of(place)
    if not command:
        return [f"this build has no program whose start removes {', '.join(left)}"]
    _say("run-job: the next job must remove " + ", ".join(left))
    try:
        done = subprocess.run(command, timeout=60, check=False, stdout=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return ["the next job still runs after 60 s"]
    return [f"the next job ended with exit code {done.returncode}"] if done.returncode != 0 else []


def run(job: Job, place: Place) -> int:
    """Runs the job and says what was wrong. 0, 1, or 77 where the job says that this machine cannot run it."""
    def give_up(number: int, _: object) -> None:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, give_up)
    if missing := missing_launcher(job):
        _say(f"skipped: {missing} is not installed")
        return SKIP
    mark = uuid.uuid4().hex
    memory = shared_memory.SharedMemory(shared_memory.DIRECTORY, shared_memory.seclude(), job.leaves_files)
    _say("run-job: " + " ".join(command_of(job, place)))
    with _started(job, place, mark) as child:
        output, ended = _follow(child, job.timeout)
        if not ended:
            _say(f"run-job: still running after {job.timeout:g} s; the stacks of all its processes:")
            _say(processes.stacks(mark))
            _say(f"run-job: FAILED: {job.name}: timed out after {job.timeout:g} s")
            return 1
        # Daemons on other nodes may end a little after the launcher.
        wrong = [f"still running: {processes.describe(pid)}" for pid in processes.wait_until_gone(mark, 10)]
    if job.ends_badly and (left := memory.left_behind()):
        wrong += _run_next_job(place, left)
    wrong += [f"left behind: {path}" for path in memory.left_behind()]
    if child.returncode == SKIP and not wrong and re.search(r"skipped: \S", output):
        return SKIP
    wrong += _complaints(job, child.returncode, _untangled(output))
    for what in wrong:
        _say(f"run-job: FAILED: {job.name}: {what}")
    return 1 if wrong else 0
