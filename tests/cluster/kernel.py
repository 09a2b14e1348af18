# SPDX-License-Identifier: BSD-3-Clause
"""System calls for simulated nodes that Python 3.11 lacks: unshare(2), mount(2), prctl(2)."""
import ctypes
import errno
import os
import signal

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_NEWTIME = 0x00000080

MS_RDONLY = 0x1
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000


class Forbidden(Exception):
    """This machine does not allow an operation; the text names it."""


_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        raise Forbidden(f"{what}: {os.strerror(ctypes.get_errno())}")


def unshare(flags: int, what: str) -> None:
    """Move the caller to new namespaces; `what` names them in the error."""
    _check(_libc.unshare(flags), f"the kernel does not allow new {what} namespaces")


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    _check(
        _libc.mount(
            source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
        ),
        f"mount {kind or source} on {target}",
    )


def make_mounts_private() -> None:
    """Make later mounts of the caller invisible outside its mount namespace."""
    try:
        mount("none", "/", "", MS_REC | MS_PRIVATE)
    except Forbidden as error:
        if ctypes.get_errno() != errno.EINVAL:
            raise
        raise Forbidden(
            "the root directory is no mount point (of a chroot?), so its mounts cannot be made "
            "private; bind it onto itself first: mount --bind DIRECTORY DIRECTORY"
        ) from error


def set_clocks_ahead(seconds: int) -> None:
    """Create a time namespace for processes that enter `time_for_children` of the caller.

    CLOCK_MONOTONIC and CLOCK_BOOTTIME are ahead there (time_namespaces(7)); the time of day is not.
    """
    unshare(CLONE_NEWTIME, "time")
    with open("/proc/self/timens_offsets", "w", encoding="ascii") as offsets:
        offsets.write(f"monotonic {seconds} 0\nboottime {seconds} 0\n")


def set_hostname(name: str) -> None:
    raw = name.encode()
    _check(_libc.sethostname(raw, len(raw)), "set the host name")


def die_with_parent() -> None:
    """Make the kernel kill the caller when its parent process ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def become_root_of_user_namespace() -> None:
    """Create a user namespace in which the unprivileged caller is root."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER, "user")
    for path, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{path}", "w", encoding="ascii") as out:
            out.write(text)
