# SPDX-License-Identifier: BSD-3-Clause
"""Finds the files that a job leaves in /dev/shm."""
import contextlib
import fcntl
import os
import time

import kernel

DIRECTORY = "/dev/shm"
# Seconds from the release of the last lock to the removal of the file, on a busy machine.
_LONGEST_REMOVAL = 1.0


def seclude() -> bool:
    """Mount a private /dev/shm for the caller and its children; False if the kernel refuses."""
    if os.geteuid() != 0:
        return False
    try:
        kernel.unshare(kernel.CLONE_NEWNS, "mount")
        kernel.make_mounts_private()
        kernel.mount("tmpfs", DIRECTORY, "tmpfs", options="mode=1777")
    except kernel.Forbidden:
        return False
    return True


def _identity(path: str) -> tuple[int, int, int, int]:
    """Return owner, device and inode of a file."""
    status = os.lstat(path)
    return status.st_uid, os.major(status.st_dev), os.minor(status.st_dev), status.st_ino


def _locked() -> set[tuple[int, int, int]]:
    """Return device and inode of every file on which a process holds a lock."""
    with open("/proc/locks", encoding="ascii") as locks:
        words = [word.split(":") for line in locks for word in line.split() if word.count(":") == 2]
    return {(int(major, 16), int(minor, 16), int(inode)) for major, minor, inode in words}


class SharedMemory:
    """The shared memory of one job, distinguished from files of other jobs in the same directory.

    A file on which a process holds a lock is in use. A file without a lock may be the leftover of
    another job that is expected to leave files. Such a job holds a lock on the directory while it
    runs, so at most one of them runs at a time.
    """

    def __init__(self, directory: str, is_private: bool, leaves_files: bool) -> None:
        self._directory, self._is_private, self._leaves_files = directory, is_private, leaves_files
        self._lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if leaves_files:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._before = self._unused()

    def __del__(self) -> None:
        os.close(self._lock)

    def _unused(self) -> dict[str, tuple[int, int, int, int]]:
        """Return name and identity of the files of this user on which no process holds a lock."""
        found = {}
        for name in os.listdir(self._directory):
            if name.startswith("intersession"):
                with contextlib.suppress(FileNotFoundError):
                    found[name] = _identity(f"{self._directory}/{name}")
        locked = _locked()
        unused = {}
        for name, identity in found.items():
            # A process removes its file before it releases the lock. So a file that still exists
            # and is not among the locked ones had no lock when the locks were read.
            with contextlib.suppress(FileNotFoundError):
                if (
                    identity[0] == os.geteuid()
                    and identity[1:] not in locked
                    and _identity(f"{self._directory}/{name}") == identity
                ):
                    unused[name] = identity
        return unused

    def _new(self) -> list[str]:
        return sorted(
            f"{self._directory}/{name}"
            for name, identity in self._unused().items()
            if self._before.get(name) != identity
        )

    def left_behind(self) -> list[str]:
        """Return the files that the job has left, after all its processes have ended."""
        left = self._new()
        if self._is_private or self._leaves_files or not left:
            return left
        # Wait for another job that may own the file: it removes its files before it ends.
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        end = time.monotonic() + _LONGEST_REMOVAL
        while (left := self._new()) and time.monotonic() < end:
            time.sleep(0.02)
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        return left
