# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the preload does not affect a process without sessions.

Threads, descriptors and mappings are equal with and without the preload. INTERSESSION_TEST_BUILD is
the build folder, INTERSESSION_TEST_SUBSTRATE the native MPI.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

_BUILD = pathlib.Path(os.environ["INTERSESSION_TEST_BUILD"])
_SUBSTRATE = os.environ["INTERSESSION_TEST_SUBSTRATE"]
_LAUNCHER = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.hydra"}[_SUBSTRATE]
_LIBRARY = str((_BUILD / f"lib/libintersession-{_SUBSTRATE}.so").resolve())
_WORLD_ONLY = str(_BUILD / f"tests/mpi/unchanged/{_SUBSTRATE}/none/world_only")
# Libraries that Intersession may load: those that a C++ library needs.
_OF_THE_COMPILER = (
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libm.so.6",
    "libgcc_s.so.1",
    "libc.so.6",
    "ld-linux-x86-64.so.2",
)


def output_of(command: list[str], **environment: str) -> str:
    full = dict(
        os.environ,
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        OMPI_MCA_hwloc_base_binding_policy="none",
        **environment,
    )
    done = subprocess.run(
        command, env=full, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def is_of_the_job(line: str) -> bool:
    """True for files of the native MPI whose names differ from run to run."""
    return " mapping " in line and any(
        part in line
        for part in (
            "/ompi.",
            "/pmix-",
            "vader_segment",
            "/dev/shm/osc",
            "/dev/shm/ucx_shm_posix",
            "/dev/shm/mpich_shar_tmp",
        )
    )


def nameless(line: str) -> str:
    """Remove the suffix that UCX appends to the names of its shared memory."""
    return re.sub(r"(descriptor /dev/shm/ucx_shm_posix_)\w+", r"\1", line)


def states_of(launcher: list[str], processes: int) -> list[collections.Counter]:
    """Return the record of each process of a run."""
    with tempfile.TemporaryDirectory() as folder:
        output_of([*launcher, "-n", str(processes), _WORLD_ONLY, folder])
        notes = [
            pathlib.Path(folder, str(rank)).read_text(encoding="utf-8").splitlines()
            for rank in range(processes)
        ]
    return [
        collections.Counter(nameless(line) for line in lines if not is_of_the_job(line))
        for lines in notes
    ]


def take_mapped(lines: collections.Counter) -> set[str]:
    """Remove the mapped files from the lines, and return them."""
    with_paths = [line for line in lines if " mapping " in line]
    for line in with_paths:
        del lines[line]
    return {line.split(" mapping ")[1] for line in with_paths}


class Unchanged(unittest.TestCase):
    def test_an_mpi_program_without_sessions_is_unchanged(self) -> None:
        for processes in (1, 3):
            plain = states_of([_LAUNCHER], processes)
            preloaded = states_of(
                [str(_BUILD / "bin/intersession-run"), "--mpi", _SUBSTRATE], processes
            )
            for rank in range(processes):
                with self.subTest(processes=processes, rank=rank):
                    new = take_mapped(preloaded[rank]) - take_mapped(plain[rank])
                    self.assertEqual(
                        {path for path in new if os.path.basename(path) not in _OF_THE_COMPILER},
                        {_LIBRARY},
                    )
                    self.assertEqual(preloaded[rank], plain[rank])
                    self.assertEqual(plain[rank]["wrong 0"], 1)

    def test_programs_without_mpi_are_unchanged(self) -> None:
        for command in (
            ["/bin/true"],
            ["/bin/sh", "-c", "exec 3</dev/null; /bin/echo hello | /bin/cat"],
            ["/bin/ls", "/"],
        ):
            self.assertEqual(output_of(command, LD_PRELOAD=_LIBRARY), output_of(command))

    def test_python_is_unchanged(self) -> None:
        script = """if True:
            import os
            print(sorted(os.listdir("/proc/self/task")).__len__())
            fds = [f"/proc/self/fd/{n}" for n in (0, 1, 2)]
            print(sorted(os.readlink(fd) for fd in fds if os.path.exists(fd))[:1])
            print(len(os.listdir("/proc/self/fd")))
            maps = {line.split()[5] for line in open("/proc/self/maps") if line.count("/")}
            print(*sorted(maps), sep="\\n")
        """
        plain = output_of([sys.executable, "-c", script]).splitlines()
        preloaded = output_of([sys.executable, "-c", script], LD_PRELOAD=_LIBRARY).splitlines()
        new = {
            line
            for line in set(preloaded) - set(plain)
            if os.path.basename(line) not in _OF_THE_COMPILER
        }
        self.assertEqual(new, {_LIBRARY})
        self.assertEqual(preloaded[:3], plain[:3])

    def test_needs_no_library_with_slow_constructors(self) -> None:
        """The NEEDED list has neither PMIx nor libfabric, whose constructors take long."""
        needed = subprocess.run(
            ["readelf", "-d", _LIBRARY], capture_output=True, text=True, check=True
        ).stdout
        for name in ("libpmix", "libfabric", "libmpi", "libhwloc", "libstdc++"):
            self.assertNotIn(name, needed)


if __name__ == "__main__":
    unittest.main()
