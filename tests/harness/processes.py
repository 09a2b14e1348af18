# SPDX-License-Identifier: BSD-3-Clause
"""Finds, shows and kills the processes of a job.

The processes have a variable in their environment, by which they are found also if they are daemons
or in other namespaces.
"""
import os
import signal
import subprocess
import time

MARK = "INTERSESSION_TEST_JOB"
_LONGEST_EXECVE = 5.0  # seconds, on a busy machine
# PF_KTHREAD and PF_EXITING of the kernel's flags in /proc/PID/stat
_KERNEL_THREAD, _EXITING = 0x0020_0000, 0x4
_CLUSTER = os.path.join(
    os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "cluster", "cluster"
)


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as source:
            return source.read()
    except OSError:
        return b""


def _has_environment(pid: int) -> bool:
    """True if the process has an environment, or will have one after the current execve(2).

    During execve, env_end in /proc/PID/stat (proc(5)) is 0 or equals env_start, and a reader that
    opened environ before execve reads nothing. After execve the two are equal only if the
    environment is empty. Kernel threads and exiting processes have none.
    """
    words = _read(pid, "stat").rpartition(b")")[2].split()
    if len(words) < 49:
        return False
    state, flags, begin, end = words[0], int(words[6]), int(words[47]), int(words[48])
    if state in b"ZX" or flags & (_KERNEL_THREAD | _EXITING):
        return False
    return begin != end or end == 0 or state in b"RD"


def _environment(pid: int) -> list[bytes]:
    """Return the variables of a process; none if it has ended, or belongs to another user."""
    end = time.monotonic() + _LONGEST_EXECVE
    while True:
        try:
            with open(f"/proc/{pid}/environ", "rb") as source:
                variables = source.read()
        except OSError:
            return []
        if variables or not _has_environment(pid) or time.monotonic() > end:
            return variables.split(b"\0")
        time.sleep(0.001)


def find(job: str) -> list[int]:
    """Return the processes with MARK=job in their environment; zombies have no environment."""
    wanted = f"{MARK}={job}".encode()
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    return [pid for pid in pids if pid != os.getpid() and wanted in _environment(pid)]


def describe(pid: int) -> str:
    """Return pid and command line of a process."""
    return f"{pid}: " + _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()


def exiting() -> set[tuple[int, bytes]]:
    """Return process id and start time of the processes that are exiting, without zombies.

    Such a process has no environment any more, but may still have its files and their locks.
    """
    found = set()
    for name in os.listdir("/proc"):
        words = _read(int(name), "stat").rpartition(b")")[2].split() if name.isdigit() else []
        if len(words) > 19 and words[0] not in b"ZX" and int(words[6]) & _EXITING:
            found.add((int(name), words[19]))
    return found


def wait_until_gone(job: str, seconds: float) -> list[int]:
    """Wait until the processes of the job have ended, and return those that have not.

    Wait also for all processes that are exiting when the last one is gone: a killed process of the
    job may be one of them.
    """
    end = time.monotonic() + seconds
    while (living := find(job)) and time.monotonic() < end:
        time.sleep(0.02)
    ending = exiting()
    while (ending := ending & exiting()) and time.monotonic() < end:
        time.sleep(0.02)
    return living


def kill(job: str) -> None:
    """Kill the processes of the job, repeatedly, because a process may fork meanwhile."""
    end = time.monotonic() + 20
    while (living := find(job)) and time.monotonic() < end:
        for pid in living:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it ended meanwhile
        time.sleep(0.02)


def _debugger(pid: int) -> list[str]:
    """Return the command of gdb, in the PID namespace of the process.

    In another namespace, gdb cannot distinguish the threads.
    """
    inner = next(
        (
            line.split()[1:]
            for line in _read(pid, "status").decode().splitlines()
            if line.startswith("NSpid:")
        ),
        [],
    )
    gdb = [
        "gdb",
        "--batch",
        "--nx",
        "--quiet",
        "--init-eval-command=set auto-load python-scripts off",
        "--eval-command=thread apply all backtrace",
    ]
    if len(inner) > 1:
        return [
            "nsenter",
            f"--target={pid}",
            "--pid",
            "--mount",
            "--root",
            "--wd",
            *_user_namespace(pid),
            "--",
            *gdb,
            "--pid",
            inner[-1],
        ]
    return [*gdb, "--pid", str(pid)]


def _user_namespace(pid: int) -> list[str]:
    same = os.readlink(f"/proc/{pid}/ns/user") == os.readlink("/proc/self/ns/user")
    return [] if same else ["--user", "--preserve-credentials"]


def stacks(job: str) -> str:
    """Return the stacks of all threads of all processes of the job, as text."""
    parts = []
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in (MARK, "LD_PRELOAD", "DEBUGINFOD_URLS")
    }
    for pid in find(job):
        if os.fsencode(_CLUSTER) in _read(pid, "cmdline").split(b"\0"):
            continue  # a process of the simulated cluster, not of the job
        parts.append(f"=== stacks of {describe(pid)}")
        try:
            done = subprocess.run(
                _debugger(pid),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=60,
                check=False,
            )
            parts.append(done.stdout.decode(errors="replace"))
        except (OSError, subprocess.TimeoutExpired) as error:
            parts.append(f"no stacks: {error}")
    return "\n".join(parts)
